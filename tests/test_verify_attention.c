/* SPDX-License-Identifier: MIT
 *
 * test_verify_attention.c: how the verifier maps a call's arguments to rows.
 *
 * Every test says in dense tables which keys a row sees, with which bias and which KV head; a plain
 * double loop over these tables makes the output that the verifier is then given, through the
 * arguments that should mean the same. */
#include "bench/verify/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { B = 2, HQ = 6, HKV_MAX = 6, N_Q = 3, N_K = 5, D = 2, D_V = 3 };

typedef struct problem {
    int n_kv_heads;
    float q[B][HQ][N_Q][D], k[B][HKV_MAX][N_K][D], v[B][HKV_MAX][N_K][D_V];
    /* what the call should mean */
    int kv_of[HQ];
    bool visible[B][HQ][N_Q][N_K];
    double bias[B][HQ][N_Q][N_K];
    double scale, softcap;
    double sink[HQ]; /* -inf: none */
    /* its result */
    float o[B][HQ][N_Q][D_V], lse[B][HQ][N_Q];
    sattn_attention_args args;
} problem;

static float noise(int *counter)
{
    *counter = (*counter * 37 + 11) % 101;
    return (float)*counter / 50 - 1;
}

/* Everything is visible, head h reads KV head h / (HQ / n_kv_heads). */
static void make_problem(problem *p, int n_kv_heads)
{
    int counter = 1;
    *p = (problem){.n_kv_heads = n_kv_heads, .scale = 1 / sqrt(D)};
    for (int h = 0; h < HQ; ++h)
        p->sink[h] = -INFINITY;
    for (int b = 0; b < B; ++b) {
        for (int h = 0; h < HQ; ++h) {
            p->kv_of[h] = h * n_kv_heads / HQ;
            for (int i = 0; i < N_Q; ++i) {
                for (int x = 0; x < D; ++x)
                    p->q[b][h][i][x] = noise(&counter);
                for (int j = 0; j < N_K; ++j)
                    p->visible[b][h][i][j] = true;
            }
        }
        for (int h = 0; h < HKV_MAX; ++h)
            for (int j = 0; j < N_K; ++j) {
                for (int x = 0; x < D; ++x)
                    p->k[b][h][j][x] = noise(&counter);
                for (int y = 0; y < D_V; ++y)
                    p->v[b][h][j][y] = noise(&counter) + (float)(10 * h + j);
            }
    }
    p->args = (sattn_attention_args){
        .batch = B,
        .n_q_heads = HQ,
        .n_kv_heads = n_kv_heads,
        .n_q = N_Q,
        .n_k = N_K,
        .d = D,
        .d_v = D_V,
        .q = {p->q, SATTN_F32, (int64_t)HQ * N_Q * D, (int64_t)N_Q * D, D},
        .k = {p->k, SATTN_F32, (int64_t)HKV_MAX * N_K * D, (int64_t)N_K * D, D},
        .v = {p->v, SATTN_F32, (int64_t)HKV_MAX * N_K * D_V, (int64_t)N_K * D_V, D_V},
        .o = {p->o, SATTN_F32, (int64_t)HQ * N_Q * D_V, (int64_t)N_Q * D_V, D_V},
        .lse = p->lse[0][0],
        .lse_stride_b = (int64_t)HQ * N_Q,
        .lse_stride_h = N_Q,
    };
}

/* One row by the definition. */
static void solve_row(problem *p, int b, int h, int i)
{
    const int kv = p->kv_of[h];
    double weight[N_K] = {0}, sum = exp(p->sink[h]);
    for (int j = 0; j < N_K; ++j) {
        double score = 0;
        if (!p->visible[b][h][i][j])
            continue;
        for (int x = 0; x < D; ++x)
            score += (double)p->q[b][h][i][x] * (double)p->k[b][kv][j][x];
        score *= p->scale;
        if (p->softcap != 0)
            score = p->softcap * tanh(score / p->softcap);
        weight[j] = exp(score + p->bias[b][h][i][j]);
        sum += weight[j];
    }
    for (int y = 0; y < D_V; ++y) {
        double o = 0;
        for (int j = 0; j < N_K; ++j)
            if (weight[j] > 0)
                o += weight[j] / sum * (double)p->v[b][kv][j][y];
        p->o[b][h][i][y] = (float)o;
    }
    p->lse[b][h][i] = (float)log(sum);
}

static void solve(problem *p)
{
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < HQ; ++h)
            for (int i = 0; i < N_Q; ++i)
                solve_row(p, b, h, i);
}

static const sattn_verify_selection all_rows = {.all_rows = true};

static sattn_verify_result verify(const problem *p)
{
    sattn_verify_result result;
    const char *why = NULL;
    sattn_verify_result_init(&result);
    assert_int_equal(sattn_verify_attention(&p->args, &all_rows, NULL, &result, &why), SATTN_OK);
    assert_string_equal(why, "");
    assert_int_equal(result.n_rows, B * HQ * N_Q);
    assert_int_equal(result.n_elements, B * HQ * N_Q * (D_V + 1));
    return result;
}

static void expect_pass(problem *p)
{
    solve(p);
    const sattn_verify_result result = verify(p);
    char text[256];
    sattn_verify_describe(&result, text, sizeof text);
    if (!sattn_verify_passed(&result))
        fail_msg("%s", text);
}

/* ---- places */

static void test_every_place(void **state)
{
    (void)state;
    problem p;
    make_problem(&p, 2);
    expect_pass(&p);
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < HQ; ++h)
            for (int i = 0; i < N_Q; ++i)
                for (int y = -1; y < D_V; ++y) {
                    float *const element = y < 0 ? &p.lse[b][h][i] : &p.o[b][h][i][y];
                    const float right = *element;
                    const float wrong[] = {right + 0.01f, NAN, INFINITY, -INFINITY};
                    for (int w = 0; w < 4; ++w) {
                        *element = wrong[w];
                        const sattn_verify_result result = verify(&p);
                        assert_int_equal(result.n_failed, 1);
                        assert_int_equal(result.failed_at.batch, b);
                        assert_int_equal(result.failed_at.head, h);
                        assert_int_equal(result.failed_at.row, i);
                        assert_int_equal(result.failed_at.column, y);
                    }
                    *element = right;
                }
}

static void test_head_groups(void **state)
{
    (void)state;
    problem p;
    for (int n_kv_heads = 1; n_kv_heads <= HKV_MAX; ++n_kv_heads) {
        if (HQ % n_kv_heads != 0)
            continue;
        make_problem(&p, n_kv_heads);
        expect_pass(&p);
        if (n_kv_heads == 1 || n_kv_heads == HQ)
            continue;
        for (int h = 0; h < HQ; ++h) /* dealt out instead of grouped */
            p.kv_of[h] = h % n_kv_heads;
        solve(&p);
        const sattn_verify_result result = verify(&p);
        assert_false(sattn_verify_passed(&result));
    }
}

/* Rows apart, heads side by side, and NaN in the gaps. */
static void test_strides(void **state)
{
    (void)state;
    static float q[B][N_Q][HQ][D + 1], v[B][HKV_MAX][N_K][D_V + 2], o[B][N_Q][HQ][D_V];
    problem p;
    make_problem(&p, 3);
    solve(&p);
    for (int b = 0; b < B; ++b) {
        for (int h = 0; h < HQ; ++h)
            for (int i = 0; i < N_Q; ++i) {
                memcpy(q[b][i][h], p.q[b][h][i], sizeof p.q[b][h][i]);
                memcpy(o[b][i][h], p.o[b][h][i], sizeof p.o[b][h][i]);
                q[b][i][h][D] = NAN;
            }
        for (int h = 0; h < HKV_MAX; ++h)
            for (int j = 0; j < N_K; ++j) {
                memcpy(v[b][h][j], p.v[b][h][j], sizeof p.v[b][h][j]);
                v[b][h][j][D_V] = v[b][h][j][D_V + 1] = NAN;
            }
    }
    p.args.q = (sattn_view){q, SATTN_F32, (int64_t)N_Q * HQ * (D + 1), D + 1, HQ * (D + 1)};
    p.args.o = (sattn_mut_view){o, SATTN_F32, (int64_t)N_Q * HQ * D_V, D_V, HQ * D_V};
    p.args.v =
        (sattn_view){v, SATTN_F32, (int64_t)HKV_MAX * N_K * (D_V + 2), N_K * (D_V + 2), D_V + 2};
    const sattn_verify_result result = verify(&p);
    assert_true(sattn_verify_passed(&result));
    o[1][2][4][1] += 0.5f;
    const sattn_verify_result wrong = verify(&p);
    assert_int_equal(wrong.n_failed, 1);
    assert_int_equal(wrong.failed_at.head, 4);
    assert_int_equal(wrong.failed_at.row, 2);

    make_problem(&p, 3);
    p.args.k.stride_t = p.args.v.stride_t = 0; /* one key, repeated */
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < HKV_MAX; ++h)
            for (int j = 1; j < N_K; ++j) {
                memcpy(p.k[b][h][j], p.k[b][h][0], sizeof p.k[b][h][j]);
                memcpy(p.v[b][h][j], p.v[b][h][0], sizeof p.v[b][h][j]);
            }
    expect_pass(&p);
}

/* The stride of an extent of 1 does not count. */
static void test_ignored_strides(void **state)
{
    (void)state;
    problem p;
    make_problem(&p, 1);
    p.args.k.stride_h = p.args.v.stride_h = INT64_MAX;
    expect_pass(&p);
}

/* ---- masks */

static void set_mask(problem *p, const sattn_mask *mask, int form)
{
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < HQ; ++h)
            for (int i = 0; i < N_Q; ++i)
                for (int j = 0; j < N_K; ++j) {
                    const int64_t at = (form & 8 ? b * mask->stride[0] : 0) +
                                       (form & 4 ? h * mask->stride[1] : 0) +
                                       (form & 2 ? i * mask->stride[2] : 0) + (form & 1 ? j : 0);
                    if (mask->kind == SATTN_MASK_BOOL) {
                        p->visible[b][h][i][j] = ((const uint8_t *)mask->data)[at] != 0;
                    } else {
                        const float bias = ((const float *)mask->data)[at];
                        p->visible[b][h][i][j] = bias > -INFINITY;
                        p->bias[b][h][i][j] = bias > -INFINITY ? (double)bias : 0;
                    }
                }
}

/* Each extent is 1 or full; rows are padded. */
static void test_mask_broadcast(void **state)
{
    (void)state;
    static float bias[B * HQ * N_Q * (N_K + 2)];
    static uint8_t attend[B * HQ * N_Q * (N_K + 2)];
    int counter = 5;
    for (size_t n = 0; n < sizeof attend; ++n) {
        const float value = noise(&counter);
        bias[n] = value < -0.3f ? -INFINITY : 2 * value;
        attend[n] = value < -0.3f ? 0 : (uint8_t)(1 + n % 255);
    }
    for (int form = 0; form < 16; ++form)
        for (int additive = 0; additive < 2; ++additive) {
            problem p;
            make_problem(&p, 2);
            p.args.mask = (sattn_mask){
                .kind = additive ? SATTN_MASK_ADDITIVE : SATTN_MASK_BOOL,
                .data = additive ? (const void *)bias : (const void *)attend,
                .extent = {form & 8 ? B : 1, form & 4 ? HQ : 1, form & 2 ? N_Q : 1,
                           form & 1 ? N_K : 1},
                .stride = {(int64_t)HQ * N_Q * (N_K + 2), (int64_t)N_Q * (N_K + 2), N_K + 2, 1},
            };
            set_mask(&p, &p.args.mask, form);
            for (int dim = 0; dim < 3; ++dim)
                if (p.args.mask.extent[dim] == 1)
                    p.args.mask.stride[dim] = INT64_MAX; /* does not count */
            expect_pass(&p);
        }
}

/* ---- causal limits, lengths, windows */

/* i + offset, kept within what these small extents can tell apart. */
static int64_t position(int i, int64_t offset)
{
    return offset > 100 ? 100 : offset < -100 ? -100 : i + offset;
}

static void set_visible(problem *p, const int64_t *valid, const int64_t *offset)
{
    const sattn_attention_args *const a = &p->args;
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < HQ; ++h)
            for (int i = 0; i < N_Q; ++i)
                for (int64_t j = 0; j < N_K; ++j) {
                    const int64_t self = position(i, offset[b]);
                    bool sees = j < valid[b];
                    if (a->causal)
                        sees = sees && j <= self;
                    if (a->has_window && a->window_left >= 0 && a->window_left < 100)
                        sees = sees && j >= self - a->window_left;
                    if (a->has_window && a->window_right >= 0 && a->window_right < 100)
                        sees = sees && j <= self + a->window_right;
                    p->visible[b][h][i][j] = sees;
                }
}

static void test_causal_offsets(void **state)
{
    (void)state;
    static const int64_t offsets[][B] = {{0, 0},  {2, 2},   {-1, 1},           {1, -3},
                                         {4, -2}, {50, -9}, {INT64_MIN, 3},    {0, INT64_MAX},
                                         {-4, 4}, {-5, 5},  {INT64_MIN + 2, 1}};
    const int64_t full[B] = {N_K, N_K};
    for (size_t n = 0; n < sizeof offsets / sizeof offsets[0]; ++n) {
        problem p;
        make_problem(&p, 2);
        p.args.causal = true;
        p.args.causal_offset = offsets[n];
        set_visible(&p, full, offsets[n]);
        expect_pass(&p);
    }
}

/* Keys beyond a length are not touched; without an offset the last query sees the last key. */
static void test_lengths(void **state)
{
    (void)state;
    for (int64_t first = 0; first <= N_K; ++first)
        for (int causal = 0; causal < 2; ++causal) {
            problem p;
            const int64_t valid[B] = {first, N_K - first};
            const int64_t offset[B] = {valid[0] - N_Q, valid[1] - N_Q};
            make_problem(&p, 2);
            p.args.causal = causal != 0;
            p.args.n_k_valid = valid;
            set_visible(&p, valid, offset);
            solve(&p);
            for (int b = 0; b < B; ++b)
                for (int h = 0; h < HKV_MAX; ++h)
                    for (int64_t j = valid[b]; j < N_K; ++j)
                        p.k[b][h][j][0] = p.v[b][h][j][D_V - 1] = NAN;
            const sattn_verify_result result = verify(&p);
            assert_true(sattn_verify_passed(&result));
        }
}

static void test_windows(void **state)
{
    (void)state;
    static const int64_t sizes[] = {-1, 0, 1, 3, INT64_MAX};
    static const int64_t offsets[][B] = {{2, 2}, {-1, 4}, {INT64_MAX, INT64_MIN}};
    const int64_t full[B] = {N_K, N_K};
    for (int n = 0; n < 5 * 5 * 3 * 2; ++n) {
        problem p;
        make_problem(&p, 3);
        p.args.causal = n % 2 != 0;
        p.args.has_window = true;
        p.args.window_left = sizes[n / 2 % 5];
        p.args.window_right = sizes[n / 10 % 5];
        p.args.causal_offset = offsets[n / 50];
        /* sums that overflow belong to the verifier's own saturation, not to these tables */
        if (n / 50 == 2 && (p.args.window_left == INT64_MAX || p.args.window_right == INT64_MAX))
            continue;
        set_visible(&p, full, offsets[n / 50]);
        expect_pass(&p);
    }
}

static void test_scale(void **state)
{
    (void)state;
    static const float scales[] = {0, 1, -1, 0.25f};
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; ++s) {
        problem p;
        make_problem(&p, 2);
        p.args.has_scale = true;
        p.args.scale = scales[s];
        p.scale = (double)scales[s];
        expect_pass(&p);
        p.args.has_scale = false; /* then it is not this one */
        const sattn_verify_result result = verify(&p);
        assert_false(sattn_verify_passed(&result));
    }
}

static void test_softcap(void **state)
{
    (void)state;
    problem p;
    make_problem(&p, 2);
    p.args.softcap = 0.5f;
    p.softcap = 0.5;
    expect_pass(&p);
    p.args.softcap = 0;
    const sattn_verify_result result = verify(&p);
    assert_false(sattn_verify_passed(&result));
}

/* Each query head has its slope, each batch entry its offset: the one given, or what follows from
 * its length. */
static void test_alibi(void **state)
{
    (void)state;
    static const float slopes[HQ] = {0.5f, 0.25f, -0.5f, 0, 2, 0.125f};
    static const int64_t given[B] = {7, -2};
    static const int64_t valid[B] = {N_K, 3};
    for (int what = 0; what < 8; ++what) {
        problem p;
        make_problem(&p, 3);
        p.args.causal = (what & 1) != 0;
        p.args.causal_offset = what & 2 ? given : NULL;
        p.args.n_k_valid = what & 4 ? valid : NULL;
        p.args.alibi_slopes = slopes;
        int64_t offset[B], n_k[B];
        for (int b = 0; b < B; ++b) {
            n_k[b] = what & 4 ? valid[b] : N_K;
            offset[b] = what & 2 ? given[b] : n_k[b] - N_Q;
        }
        set_visible(&p, n_k, offset);
        for (int b = 0; b < B; ++b)
            for (int h = 0; h < HQ; ++h)
                for (int i = 0; i < N_Q; ++i)
                    for (int j = 0; j < N_K; ++j)
                        p.bias[b][h][i][j] = -(double)slopes[h] * fabs((double)(i + offset[b] - j));
        expect_pass(&p);
        p.args.alibi_slopes = slopes + 1; /* of the next head */
        p.args.n_q_heads = HQ - 1;
        p.args.n_kv_heads = HQ - 1;
        p.args.k.stride_h = p.args.v.stride_h = 0;
        sattn_verify_result result;
        sattn_verify_result_init(&result);
        sattn_verify_attention(&p.args, &all_rows, NULL, &result, NULL);
        assert_false(sattn_verify_passed(&result));
    }
}

static void test_sinks(void **state)
{
    (void)state;
    static const float sinks[HQ] = {1, -2, -INFINITY, 0, 30, -40};
    const int64_t none[B] = {0, N_K}, offset[B] = {0, 0};
    problem p;
    make_problem(&p, 2);
    p.args.sinks = sinks;
    for (int h = 0; h < HQ; ++h)
        p.sink[h] = (double)sinks[h];
    expect_pass(&p);
    p.args.n_k_valid = none; /* the first batch entry: rows of +0, and the sink as log-sum-exp */
    set_visible(&p, none, offset);
    expect_pass(&p);
    assert_true(p.lse[0][0][0] == 1 && p.lse[0][4][2] == 30 && p.lse[0][2][1] == -INFINITY);
    p.lse[0][1][1] = nextafterf(-2, 0);
    sattn_verify_result result = verify(&p);
    assert_int_equal(result.n_failed, 1);
    solve(&p);
    p.args.sinks = NULL;
    result = verify(&p);
    assert_false(sattn_verify_passed(&result));
}

/* ---- what it does not verify, and what is nothing */

static void test_unsupported(void **state)
{
    (void)state;
    float memory[1] = {0};
    for (int what = 0; what < 5; ++what) {
        problem p;
        sattn_verify_result result;
        const char *why = NULL;
        make_problem(&p, 2);
        solve(&p);
        if (what == 0)
            p.args.q.dtype = SATTN_F16;
        else if (what == 1)
            p.args.k.dtype = SATTN_BF16;
        else if (what == 2)
            p.args.v.dtype = SATTN_BF16;
        else if (what == 3)
            p.args.o.dtype = SATTN_F16;
        else
            p.args.scores = memory;
        sattn_verify_result_init(&result);
        assert_int_equal(sattn_verify_attention(&p.args, &all_rows, NULL, &result, &why),
                         SATTN_ERR_UNSUPPORTED);
        assert_true(why && why[0] != '\0');
        assert_false(sattn_verify_passed(&result));
        assert_int_equal(sattn_verify_attention(&p.args, &all_rows, NULL, &result, NULL),
                         SATTN_ERR_UNSUPPORTED);
    }
}

static void test_empty_calls(void **state)
{
    (void)state;
    for (int what = 0; what < 3; ++what) {
        problem p;
        sattn_verify_result result;
        make_problem(&p, 2);
        solve(&p);
        if (what == 0)
            p.args.batch = 0;
        else if (what == 1)
            p.args.n_q_heads = p.args.n_kv_heads = 0;
        else
            p.args.n_q = 0;
        sattn_verify_result_init(&result);
        assert_int_equal(sattn_verify_attention(&p.args, &all_rows, NULL, &result, NULL), SATTN_OK);
        assert_int_equal(result.n_elements, 0);
        assert_false(sattn_verify_passed(&result));
    }
    problem p;
    make_problem(&p, 2);
    memset(p.visible, 0, sizeof p.visible);
    solve(&p);
    p.args.n_k = 0; /* no keys at all: rows of +0 */
    p.args.k.data = p.args.v.data = NULL;
    const sattn_verify_result result = verify(&p);
    assert_true(sattn_verify_passed(&result));
    p.o[1][5][2][0] = -0.0f;
    const sattn_verify_result wrong = verify(&p);
    assert_int_equal(wrong.n_failed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_place),    cmocka_unit_test(test_head_groups),
        cmocka_unit_test(test_strides),        cmocka_unit_test(test_ignored_strides),
        cmocka_unit_test(test_mask_broadcast), cmocka_unit_test(test_causal_offsets),
        cmocka_unit_test(test_lengths),        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_scale),          cmocka_unit_test(test_softcap),
        cmocka_unit_test(test_alibi),          cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_unsupported),    cmocka_unit_test(test_empty_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
