/* SPDX-License-Identifier: MIT
 *
 * test_verify_float.c: the verifier before a plain f32 attention with softcap, ALiBi, mask, window
 * and sinks, each alone and all together. What is right has to be within the bound, and what has
 * one mistake beyond it. */
#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"
#include "kernels/contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { HQ = 4, HKV = 2, N_Q = 9, N_K = 300, D = 24, D_V = 5 };

enum { CAP = 1, ALIBI = 2, MASK = 4, WINDOW = 8, SINK = 16, CAUSAL = 32, ALL = 64 };

typedef enum mistake {
    NONE,
    SLOPE_SIGN,
    SLOPE_OF_ANOTHER_HEAD,
    SLOPE_WITHOUT_OFFSET,
    DISTANCE_SIGNED,
    CAP_LEFT_OUT,
    CAP_AFTER_BIAS,
    SINK_LEFT_OUT,
    SINK_OF_ANOTHER_HEAD,
    SINK_SCALED,
    LEFT_SHORT,
    LEFT_LONG,
    RIGHT_SHORT,
    RIGHT_LONG,
    MASK_CAPPED,
} mistake;

static float q[HQ * N_Q * D], k[HKV * N_K * D], v[HKV * N_K * D_V], o[HQ * N_Q * D_V];
static float lse[HQ * N_Q], mask[HQ * N_Q * N_K];
static float slopes[HQ], sinks[HQ];
static int64_t offset;

static const float scale = 0.3f;

typedef struct problem {
    sattn_attention_args args;
    bool fused_multiply_add;
    mistake mistake;
} problem;

static problem make_problem(unsigned what, uint64_t seed, float spread)
{
    for (uint64_t e = 0; e < sizeof q / sizeof *q; ++e)
        q[e] = spread * sattn_random_normal(seed, 1, e);
    for (uint64_t e = 0; e < sizeof k / sizeof *k; ++e)
        k[e] = sattn_random_normal(seed, 2, e);
    for (uint64_t e = 0; e < sizeof v / sizeof *v; ++e)
        v[e] = sattn_random_normal(seed, 3, e);
    for (uint64_t e = 0; e < sizeof mask / sizeof *mask; ++e)
        mask[e] = e % 7 == 3 ? -INFINITY : 3 * sattn_random_normal(seed, 4, e);
    for (int h = 0; h < HQ; ++h) {
        slopes[h] = ldexpf(1.0f + 0.1f * (float)h, -2 * h - 1);
        sinks[h] = h == 2 ? -INFINITY : 2.0f - 5.0f * (float)h;
    }
    offset = 180;
    problem p = {.args = {
                     .batch = 1,
                     .n_q_heads = HQ,
                     .n_kv_heads = HKV,
                     .n_q = N_Q,
                     .n_k = N_K,
                     .d = D,
                     .d_v = D_V,
                     .q = {q, SATTN_F32, 0, (int64_t)N_Q * D, D},
                     .k = {k, SATTN_F32, 0, (int64_t)N_K * D, D},
                     .v = {v, SATTN_F32, 0, (int64_t)N_K * D_V, D_V},
                     .o = {o, SATTN_F32, 0, (int64_t)N_Q * D_V, D_V},
                     .has_scale = true,
                     .scale = scale,
                     .softcap = what & CAP ? 1.5f : 0,
                     .causal = (what & CAUSAL) != 0,
                     .causal_offset = &offset,
                     .has_window = (what & WINDOW) != 0,
                     .window_left = 70,
                     .window_right = 20,
                     .alibi_slopes = what & ALIBI ? slopes : NULL,
                     .sinks = what & SINK ? sinks : NULL,
                     .lse = lse,
                     .lse_stride_h = N_Q,
                 }};
    if (what & MASK)
        p.args.mask = (sattn_mask){.kind = SATTN_MASK_ADDITIVE,
                                   .data = mask,
                                   .extent = {1, HQ, N_Q, N_K},
                                   .stride = {0, (int64_t)N_Q * N_K, N_K, 1}};
    return p;
}

/* ---- the attention under test */

static bool sees(const problem *p, int64_t i, int64_t j)
{
    const sattn_attention_args *const a = &p->args;
    const int64_t ahead = j - i - offset;
    const int64_t left = a->window_left - (p->mistake == LEFT_SHORT) + (p->mistake == LEFT_LONG);
    const int64_t right =
        a->window_right - (p->mistake == RIGHT_SHORT) + (p->mistake == RIGHT_LONG);
    if (a->causal && ahead > 0)
        return false;
    return !a->has_window || (ahead >= -left && ahead <= right);
}

static float capped(const problem *p, float score)
{
    const float cap = p->args.softcap;
    return cap != 0 && p->mistake != CAP_LEFT_OUT ? cap * tanhf(score / cap) : score;
}

static float with_alibi(const problem *p, int64_t h, int64_t i, int64_t j, float score)
{
    if (!p->args.alibi_slopes)
        return score;
    const int64_t position = p->mistake == SLOPE_WITHOUT_OFFSET ? i : i + offset;
    float distance = (float)(position > j ? position - j : j - position);
    if (p->mistake == DISTANCE_SIGNED)
        distance = (float)(position - j);
    float slope = slopes[p->mistake == SLOPE_OF_ANOTHER_HEAD ? h ^ 1 : h];
    if (p->mistake == SLOPE_SIGN)
        slope = -slope;
    if (p->fused_multiply_add)
        return fmaf(-slope, distance, score);
    return (float)((double)score - (double)slope * (double)distance);
}

static float logit(const problem *p, int64_t h, int64_t i, int64_t j)
{
    const float *const query = q + (h * N_Q + i) * D;
    const float *const key = k + (h / (HQ / HKV) * N_K + j) * D;
    float score = 0;
    for (int x = 0; x < D; ++x)
        score += scale * query[x] * key[x];
    const float bias = p->args.mask.kind != SATTN_MASK_NONE ? mask[(h * N_Q + i) * N_K + j] : 0;
    if (!sees(p, i, j) || bias == -INFINITY)
        return -INFINITY;
    if (p->mistake == MASK_CAPPED)
        return with_alibi(p, h, i, j, capped(p, score + bias));
    if (p->mistake == CAP_AFTER_BIAS)
        return capped(p, with_alibi(p, h, i, j, score) + bias);
    return with_alibi(p, h, i, j, capped(p, score)) + bias;
}

/* Online softmax over key blocks, rescaled lazily, and the sink as one more part at the end. */
static void attend(const problem *p, int64_t h, int64_t i)
{
    const float *const values = v + h / (HQ / HKV) * N_K * D_V;
    float m = -INFINITY, sum = 0, row[D_V] = {0};
    for (int64_t first = 0; first < N_K; first += SATTN_KEY_BLOCK) {
        const int64_t end = first + SATTN_KEY_BLOCK < N_K ? first + SATTN_KEY_BLOCK : N_K;
        float s[SATTN_KEY_BLOCK], top = -INFINITY, block_sum = 0, block[D_V] = {0};
        for (int64_t j = first; j < end; ++j) {
            s[j - first] = logit(p, h, i, j);
            top = fmaxf(top, s[j - first]);
        }
        if (top == -INFINITY)
            continue;
        if (top > m + SATTN_LAZY_THRESHOLD) {
            const float factor = expf(m - top);
            sum *= factor;
            for (int y = 0; y < D_V; ++y)
                row[y] *= factor;
            m = top;
        }
        for (int64_t j = first; j < end; ++j) {
            const float t = s[j - first] - m;
            const float weight = t < -62.3833f ? 0 : expf(t);
            block_sum += weight;
            for (int y = 0; y < D_V; ++y)
                block[y] += weight * values[j * D_V + y];
        }
        sum += block_sum;
        for (int y = 0; y < D_V; ++y)
            row[y] += block[y];
    }
    float factor = 1;
    if (p->args.sinks && p->mistake != SINK_LEFT_OUT) {
        float sink = sinks[p->mistake == SINK_OF_ANOTHER_HEAD ? h ^ 1 : h];
        if (p->mistake == SINK_SCALED)
            sink *= scale;
        const float top = fmaxf(m, sink);
        factor = expf(m - top);
        sum = sum * factor + expf(sink - top);
        m = top;
    }
    for (int y = 0; y < D_V; ++y)
        o[(h * N_Q + i) * D_V + y] = row[y] * factor / sum;
    lse[h * N_Q + i] = m + logf(sum);
}

static void attend_all(const problem *p)
{
    for (int64_t h = 0; h < HQ; ++h)
        for (int64_t i = 0; i < N_Q; ++i)
            attend(p, h, i);
}

static sattn_verify_result judge(const problem *p)
{
    static const sattn_verify_selection all_rows = {.all_rows = true};
    attend_all(p);
    sattn_verify_result result;
    const char *why = "";
    sattn_verify_result_init(&result);
    assert_int_equal(sattn_verify_attention(&p->args, &all_rows, NULL, &result, &why), SATTN_OK);
    assert_int_equal(result.n_elements, HQ * N_Q * (D_V + 1));
    return result;
}

static void test_right(void **state)
{
    (void)state;
    static const float spreads[] = {1, 8, 30};
    for (unsigned what = 0; what < ALL; ++what)
        for (unsigned s = 0; s < 3; ++s) {
            problem p = make_problem(what, what, spreads[s]);
            p.fused_multiply_add = (what / 2 + what / 8 + s) % 2 != 0;
            const sattn_verify_result result = judge(&p);
            char text[256];
            sattn_verify_describe(&result, text, sizeof text);
            if (!sattn_verify_passed(&result))
                fail_msg("%u, spread %g: %s", what, (double)spreads[s], text);
            assert_true(result.worst_error > 0.1 && result.worst_ratio > 0);
        }
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        mistake mistake;
        unsigned needs;
    } cases[] = {
        {SLOPE_SIGN, ALIBI},           {SLOPE_OF_ANOTHER_HEAD, ALIBI},
        {SLOPE_WITHOUT_OFFSET, ALIBI}, {DISTANCE_SIGNED, ALIBI},
        {CAP_LEFT_OUT, CAP},           {CAP_AFTER_BIAS, CAP | ALIBI},
        {SINK_LEFT_OUT, SINK},         {SINK_OF_ANOTHER_HEAD, SINK},
        {SINK_SCALED, SINK},           {LEFT_SHORT, WINDOW},
        {LEFT_LONG, WINDOW},           {RIGHT_SHORT, WINDOW},
        {RIGHT_LONG, WINDOW},          {MASK_CAPPED, CAP | MASK},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        for (int together = 0; together < 2; ++together) {
            problem p = make_problem(together ? ALL - 1 - CAUSAL : cases[c].needs, c, 2);
            p.mistake = cases[c].mistake;
            const sattn_verify_result result = judge(&p);
            if (result.n_failed < D_V)
                fail_msg("mistake %d: %d failed", (int)cases[c].mistake, (int)result.n_failed);
        }
}

/* Distances that f32 has no number for: they may be rounded once. */
static void test_far_positions(void **state)
{
    (void)state;
    static const int64_t offsets[] = {(INT64_C(1) << 24) + 1, -(INT64_C(1) << 25) - 77,
                                      (INT64_C(1) << 40) + 12345};
    for (size_t n = 0; n < sizeof offsets / sizeof offsets[0]; ++n) {
        problem p = make_problem(ALIBI | SINK, n, 1);
        offset = offsets[n];
        for (int h = 0; h < HQ; ++h) /* about -3 for the nearest key, and still different scores */
            slopes[h] = 3.0f / fabsf((float)offset);
        sattn_verify_result result = judge(&p);
        assert_true(sattn_verify_passed(&result));
        p.mistake = SLOPE_SIGN;
        result = judge(&p);
        assert_false(sattn_verify_passed(&result));
    }
    problem p = make_problem(ALIBI | MASK, 9, 1);
    const int64_t ends[] = {INT64_MAX, INT64_MIN};
    for (int n = 0; n < 2; ++n) { /* the sum of row and offset is held there */
        offset = ends[n];
        for (int h = 0; h < HQ; ++h)
            slopes[h] = 0x1p-61f;
        for (int64_t e = 0; e < HQ * N_Q * D_V; ++e)
            o[e] = 0.1f;
        sattn_verify_result result;
        sattn_verify_result_init(&result);
        const sattn_verify_selection all_rows = {.all_rows = true};
        assert_int_equal(sattn_verify_attention(&p.args, &all_rows, NULL, &result, NULL), SATTN_OK);
        assert_true(result.n_failed > 0 && isfinite(result.worst_bound));
    }
}

/* A score that may overflow on its way may be anything, and so its row a mean of the values, or
 * NaN; but no other row, and nothing beyond the values. */
static void test_overflow(void **state)
{
    (void)state;
    problem p = make_problem(CAP, 3, 1);
    p.args.softcap = 1e30f;
    q[2 * D + 1] = 1e30f; /* head 0, row 2 */
    q[2 * D + 5] = -1e30f;
    for (int x = 1; x < 6; x += 4)
        for (int j = 0; j < N_K; ++j)
            k[j * D + x] = 1e10f;
    const sattn_verify_selection all_rows = {.all_rows = true};
    for (int value = 0; value < 4; ++value) {
        const int row = value < 3 ? 2 : 3;
        const float wrong[] = {NAN, 0.5f, 100.0f, NAN};
        attend_all(&p);
        for (int y = 0; y < D_V; ++y)
            o[row * D_V + y] = wrong[value];
        sattn_verify_result result;
        sattn_verify_result_init(&result);
        assert_int_equal(sattn_verify_attention(&p.args, &all_rows, NULL, &result, NULL), SATTN_OK);
        assert_int_equal(result.n_failed, value < 2 ? 0 : D_V);
        assert_true(result.n_elements >= (int64_t)HQ * N_Q * D_V);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_far_positions),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
