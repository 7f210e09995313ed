/* SPDX-License-Identifier: MIT
 *
 * test_verify_steps.c: the judges of qk, softmax, av, exp and tanh. Plain f32 loops must pass, each
 * wrong element must be found, and NaN, infinities and hidden places be told apart. */
#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { D = 24, N_K = 300, N_COLUMNS = 310, D_V = 70 };

static float q[D], k[N_K * D], s[N_K], p[N_COLUMNS], v[N_K * D_V], o[D_V], mask_add[N_K];
static uint8_t mask_bool[N_K];
static const sattn_verify_place here = {.batch = 1, .head = 2, .row = 3};

static void fill(uint64_t seed, float spread)
{
    for (int x = 0; x < D; ++x)
        q[x] = spread * sattn_random_normal(seed, 1, (uint64_t)x);
    for (int e = 0; e < N_K * D; ++e)
        k[e] = sattn_random_normal(seed, 2, (uint64_t)e);
    for (int e = 0; e < N_K * D_V; ++e)
        v[e] = sattn_random_normal(seed, 3, (uint64_t)e);
    for (int j = 0; j < N_K; ++j) {
        mask_bool[j] = j % 5 != 2;
        mask_add[j] = j % 7 == 3 ? -INFINITY : sattn_random_normal(seed, 4, (uint64_t)j);
    }
}

/* ---- what plain f32 loops make of it */

static void plain_scores(float scale, float softcap)
{
    for (int j = 0; j < N_K; ++j) {
        float sum = 0;
        for (int x = 0; x < D; ++x)
            sum += scale * q[x] * k[j * D + x];
        s[j] = softcap != 0 ? softcap * tanhf(sum / softcap) : sum;
    }
}

static bool sees(const sattn_visibility *visible, int64_t i, int64_t j)
{
    if (j >= visible->n_k || (visible->causal && j > i + visible->causal_offset))
        return false;
    if (visible->mask_bool && !visible->mask_bool[j])
        return false;
    return !visible->mask_add || visible->mask_add[j] != -INFINITY;
}

static float biased(const sattn_visibility *visible, int64_t i, int64_t j)
{
    float score = s[j];
    if (visible->alibi_slopes) {
        const int64_t position = i + visible->causal_offset;
        score = fmaf(-visible->alibi_slopes[0], (float)(position > j ? position - j : j - position),
                     score);
    }
    return visible->mask_add ? score + visible->mask_add[j] : score;
}

/* Returns the maximum and leaves the sum in *sum. */
static float plain_softmax(const sattn_visibility *visible, int64_t i, float *sum)
{
    float m = -INFINITY;
    for (int j = 0; j < N_K; ++j)
        if (sees(visible, i, j))
            m = fmaxf(m, biased(visible, i, j));
    float blocks[N_K / SATTN_KEY_BLOCK + 1] = {0};
    *sum = 0;
    for (int j = 0; j < N_COLUMNS; ++j) {
        p[j] = 0;
        if (sees(visible, i, j) && biased(visible, i, j) - m > -87.3365f)
            p[j] = expf(biased(visible, i, j) - m);
        blocks[(j < N_K ? j : 0) / SATTN_KEY_BLOCK] += p[j];
    }
    for (int b = 0; b <= N_K / SATTN_KEY_BLOCK; ++b)
        *sum += blocks[b];
    for (int j = 0; j < N_COLUMNS; ++j)
        p[j] = *sum > 0 ? p[j] / *sum : 0;
    return m;
}

static void plain_outputs(const sattn_visibility *visible, int64_t i)
{
    for (int y = 0; y < D_V; ++y) {
        float blocks[N_K / SATTN_KEY_BLOCK + 1] = {0};
        for (int j = 0; j < N_K; ++j)
            if (sees(visible, i, j))
                blocks[j / SATTN_KEY_BLOCK] += p[j] * v[j * D_V + y];
        o[y] = 0;
        for (int b = 0; b <= N_K / SATTN_KEY_BLOCK; ++b)
            o[y] += blocks[b];
    }
}

/* ---- judging them */

static sattn_verify_result judge_scores(float scale, float softcap)
{
    const sattn_verify_scores row = {
        .q = q, .k = k, .k_stride = D, .d = D, .n = N_K, .scale = scale, .softcap = softcap};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_scores_row(&row, s, here, &result);
    assert_int_equal(result.n_elements, N_K);
    return result;
}

static sattn_verify_result judge_weights(const sattn_visibility *visible, int64_t i, const float *m,
                                         const float *sum)
{
    const sattn_verify_weights row = {.s = s, .n_columns = N_COLUMNS, .visible = visible, .i = i};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_weights_row(&row, p, m, sum, here, &result);
    assert_true(result.n_elements >= N_COLUMNS);
    return result;
}

static sattn_verify_result judge_outputs(const sattn_visibility *visible, int64_t i, bool repaired)
{
    const sattn_verify_outputs row = {.p = p,
                                      .v = v,
                                      .v_stride = D_V,
                                      .d_v = D_V,
                                      .visible = visible,
                                      .i = i,
                                      .repaired = repaired};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_outputs_row(&row, o, here, &result);
    return result;
}

static sattn_verify_result judge_array(sattn_verify_function function, const float *x,
                                       const float *y, int64_t n, double bound_ulp)
{
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_array(function, x, y, n, bound_ulp, here, &result);
    assert_int_equal(result.n_elements, n);
    return result;
}

static const sattn_visibility all_keys = {.n_k = N_K, .mask_key_stride = 1};
static const float slope[1] = {0.3f};

static sattn_visibility masked(int what)
{
    sattn_visibility visible = all_keys;
    visible.causal = what & 1;
    visible.causal_offset = 190;
    if (what & 2)
        visible.mask_bool = mask_bool;
    if (what & 4)
        visible.mask_add = mask_add;
    if (what & 8)
        visible.alibi_slopes = slope;
    return visible;
}

/* ---- right results pass, with errors that are measured */

static void test_plain_loops(void **state)
{
    (void)state;
    static const float spreads[] = {1, 8, 30};
    for (int what = 0; what < 16; ++what) {
        if ((what & 6) == 6)
            continue;
        for (int spread = 0; spread < 3; ++spread) {
            const sattn_visibility visible = masked(what);
            fill((uint64_t)(10 * what + spread), spreads[spread]);
            plain_scores(0.2f, 0);
            sattn_verify_result result = judge_scores(0.2f, 0);
            assert_true(sattn_verify_passed(&result) && result.worst_error > 0.1);
            assert_true(result.worst_error_bound >= result.worst_error);
            float sum;
            const float m = plain_softmax(&visible, 5, &sum);
            result = judge_weights(&visible, 5, &m, &sum);
            assert_true(sattn_verify_passed(&result) && result.worst_ratio > 0);
            plain_outputs(&visible, 5);
            result = judge_outputs(&visible, 5, true);
            assert_true(sattn_verify_passed(&result));
            assert_true(result.worst_error > 0.1 || spread > 0); /* one key may have weight 1 */
            plain_scores(0.2f, 5.0f);
            result = judge_scores(0.2f, 5.0f);
            assert_true(sattn_verify_passed(&result) && result.worst_error > 0.1);
        }
    }
}

static void test_functions(void **state)
{
    (void)state;
    enum { N = 4000 };
    static float x[N], y[N];
    for (int e = 0; e < N; ++e) {
        x[e] = -110.0f + 0.05f * (float)e;
        y[e] = (float)exp((double)x[e]);
    }
    sattn_verify_result result = judge_array(SATTN_VERIFY_EXP, x, y, N, 0.5001);
    assert_true(sattn_verify_passed(&result));
    assert_true(result.worst_error > 0.4 && result.worst_error <= 0.5001);
    for (int e = 0; e < N; ++e)
        y[e] = (float)tanh((double)x[e]);
    result = judge_array(SATTN_VERIFY_TANH, x, y, N, 0.5001);
    assert_true(sattn_verify_passed(&result) && result.worst_error > 0.4);
}

static void test_special_arguments(void **state)
{
    (void)state;
    const float x[] = {NAN,        INFINITY,   -INFINITY,  0.0f,    -0.0f,
                       88.722832f, 88.722839f, -103.9720f, -104.0f, 1e-40f};
    enum { N = sizeof x / sizeof x[0] };
    float y[N];
    for (int e = 0; e < N; ++e)
        y[e] = (float)exp((double)x[e]);
    assert_true(isfinite(y[5]) && isinf(y[6]) && y[7] > 0 && y[8] == 0);
    sattn_verify_result result = judge_array(SATTN_VERIFY_EXP, x, y, N, 1);
    assert_true(sattn_verify_passed(&result));
    static const struct {
        int place;
        float wrong;
    } wrong_exp[] = {{0, 0},       {0, INFINITY}, {1, FLT_MAX},   {1, NAN},
                     {2, FLT_MIN}, {2, -0.0f},    {3, 1.000001f}, {5, INFINITY},
                     {6, FLT_MAX}, {7, FLT_MIN},  {8, 0x1p-149f}, {9, NAN}};
    for (size_t w = 0; w < sizeof wrong_exp / sizeof wrong_exp[0]; ++w) {
        const float good = y[wrong_exp[w].place];
        y[wrong_exp[w].place] = wrong_exp[w].wrong;
        result = judge_array(SATTN_VERIFY_EXP, x, y, N, 1);
        assert_int_equal(result.n_failed, 1);
        assert_int_equal(result.failed_at.column, wrong_exp[w].place);
        y[wrong_exp[w].place] = good;
    }
    for (int e = 0; e < N; ++e)
        y[e] = (float)tanh((double)x[e]);
    result = judge_array(SATTN_VERIFY_TANH, x, y, N, 1);
    assert_true(sattn_verify_passed(&result));
    static const struct {
        int place;
        float wrong;
    } wrong_tanh[] = {{0, 1}, {1, 0.9999999f}, {2, 1}, {3, -0.0f}, {4, 0.0f}, {9, 0}};
    for (size_t w = 0; w < sizeof wrong_tanh / sizeof wrong_tanh[0]; ++w) {
        const float good = y[wrong_tanh[w].place];
        y[wrong_tanh[w].place] = wrong_tanh[w].wrong;
        result = judge_array(SATTN_VERIFY_TANH, x, y, N, 1);
        assert_int_equal(result.n_failed, 1);
        y[wrong_tanh[w].place] = good;
    }
}

/* ---- wrong results fail, in the right place */

static void expect_failure_at(const sattn_verify_result *result, int64_t column)
{
    assert_int_equal(result->n_failed, 1);
    assert_int_equal(result->failed_at.column, column);
    assert_int_equal(result->failed_at.row, here.row);
}

static const float spoilers[] = {NAN, INFINITY, -INFINITY, FLT_MAX};
enum { N_SPOILERS = sizeof spoilers / sizeof spoilers[0] };

static void test_wrong_scores(void **state)
{
    (void)state;
    fill(7, 1);
    plain_scores(0.2f, 0);
    for (int j = 0; j < N_K; j += 13)
        for (int w = 0; w <= N_SPOILERS; ++w) {
            const float good = s[j];
            s[j] = w < N_SPOILERS ? spoilers[w] : good + 1e-5f;
            const sattn_verify_result result = judge_scores(0.2f, 0);
            expect_failure_at(&result, j);
            s[j] = good;
        }
}

static void test_wrong_weights(void **state)
{
    (void)state;
    for (int what = 0; what < 6; ++what) {
        const sattn_visibility visible = masked(what);
        float sum;
        fill(8, 1);
        plain_scores(0.2f, 0);
        const float m = plain_softmax(&visible, 5, &sum);
        for (int j = 0; j < N_COLUMNS; j += 11)
            for (int w = 0; w <= N_SPOILERS; ++w) {
                const float good = p[j];
                p[j] = w < N_SPOILERS ? spoilers[w] : good * 1.0001f + 1e-30f;
                const sattn_verify_result result = judge_weights(&visible, 5, &m, &sum);
                expect_failure_at(&result, j);
                p[j] = good;
            }
        const float wrong_m = m + 1e-3f * fabsf(m), wrong_sum = sum * 1.001f;
        sattn_verify_result result = judge_weights(&visible, 5, &wrong_m, &sum);
        assert_int_equal(result.n_failed, 2); /* the sum does not belong to that maximum either */
        result = judge_weights(&visible, 5, &m, &wrong_sum);
        expect_failure_at(&result, -1);
    }
}

/* A weight that must be 0 may not be the smallest normal number instead, and a hidden one not -0.
 */
static void test_vanished_weights(void **state)
{
    (void)state;
    const sattn_visibility visible = masked(1);
    float sum;
    memset(s, 0, sizeof s);
    s[10] = -87.3f;
    s[11] = -87.4f;
    s[12] = -INFINITY;
    const float m = plain_softmax(&visible, 5, &sum);
    sattn_verify_result result = judge_weights(&visible, 5, &m, &sum);
    assert_true(sattn_verify_passed(&result));
    assert_true(p[11] == 0 && p[12] == 0 && p[250] == 0);
    static const int columns[] = {11, 12, 250};
    for (int c = 0; c < 3; ++c) {
        p[columns[c]] = 0x1p-149f;
        result = judge_weights(&visible, 5, &m, &sum);
        expect_failure_at(&result, columns[c]);
        p[columns[c]] = 0;
    }
    p[250] = -0.0f;
    result = judge_weights(&visible, 5, &m, &sum);
    expect_failure_at(&result, 250);
}

/* A key far below the others has an error without bound, and no weight to spend it on. */
static void test_far_key(void **state)
{
    (void)state;
    const sattn_visibility visible = masked(4);
    float sum;
    fill(16, 1);
    mask_add[20] = mask_add[21] = -1e30f;
    plain_scores(0.2f, 0);
    const float m = plain_softmax(&visible, 5, &sum);
    sattn_verify_result result = judge_weights(&visible, 5, &m, &sum);
    assert_true(sattn_verify_passed(&result) && result.worst_bound < 1000);
    p[22] *= 1.0001f;
    result = judge_weights(&visible, 5, &m, &sum);
    expect_failure_at(&result, 22);
}

static void test_wrong_outputs(void **state)
{
    (void)state;
    for (int what = 0; what < 6; ++what) {
        const sattn_visibility visible = masked(what);
        float sum;
        fill(9, 1);
        plain_scores(0.2f, 0);
        plain_softmax(&visible, 5, &sum);
        plain_outputs(&visible, 5);
        for (int y = 0; y < D_V; ++y)
            for (int w = 0; w <= N_SPOILERS; ++w) {
                const float good = o[y];
                o[y] = w < N_SPOILERS ? spoilers[w] : good + 1e-4f;
                const sattn_verify_result result = judge_outputs(&visible, 5, false);
                expect_failure_at(&result, y);
                o[y] = good;
            }
    }
}

/* ---- rows of one value */

static void test_rows_of_nan(void **state)
{
    (void)state;
    const sattn_visibility visible = masked(3);
    static const float scores[] = {NAN, INFINITY};
    for (int c = 0; c < 2; ++c) {
        fill(11, 1);
        plain_scores(0.2f, 0);
        s[3] = scores[c];
        for (int j = 0; j < N_COLUMNS; ++j)
            p[j] = sees(&visible, 5, j) ? NAN : 0.0f;
        const float m = c ? INFINITY : NAN, sum = NAN;
        sattn_verify_result result = judge_weights(&visible, 5, &m, &sum);
        assert_true(sattn_verify_passed(&result) && result.n_measured == 0);
        p[4] = 1;
        result = judge_weights(&visible, 5, &m, &sum);
        expect_failure_at(&result, 4);
        p[4] = NAN;
        p[2] = NAN; /* hidden */
        result = judge_weights(&visible, 5, &m, &sum);
        expect_failure_at(&result, 2);
        p[2] = 0;
        const float finite = 1;
        result = judge_weights(&visible, 5, &finite, &finite);
        expect_failure_at(&result, -1);
    }
    for (int j = 0; j < N_K; ++j)
        s[j] = -INFINITY;
    const float m = -INFINITY, sum = 1, none = 0;
    sattn_verify_result result;
    for (int j = 0; j < N_COLUMNS; ++j)
        p[j] = sees(&visible, 5, j) ? NAN : 0.0f;
    result = judge_weights(&visible, 5, &m, &sum);
    assert_true(sattn_verify_passed(&result));
    result = judge_weights(&visible, 5, &m, &none);
    expect_failure_at(&result, -1);
}

static void test_rows_without_keys(void **state)
{
    (void)state;
    sattn_visibility visible = masked(1);
    visible.causal_offset = -6;
    fill(12, 1);
    plain_scores(0.2f, 0);
    memset(p, 0, sizeof p);
    memset(o, 0, sizeof o);
    const float m = -INFINITY, sum = 0, one = 1;
    sattn_verify_result result = judge_weights(&visible, 5, &m, &sum);
    assert_true(sattn_verify_passed(&result));
    result = judge_weights(&visible, 5, &m, &one);
    expect_failure_at(&result, -1);
    result = judge_outputs(&visible, 5, true);
    assert_true(sattn_verify_passed(&result) && result.n_elements == D_V);
    o[5] = -0.0f;
    result = judge_outputs(&visible, 5, true);
    expect_failure_at(&result, 5);
}

static void test_hidden_values(void **state)
{
    (void)state;
    const sattn_visibility visible = masked(2);
    float sum;
    fill(13, 1);
    plain_scores(0.2f, 0);
    plain_softmax(&visible, 5, &sum);
    plain_outputs(&visible, 5);
    v[7 * D_V + 66] = NAN; /* key 7 is hidden */
    sattn_verify_result result = judge_outputs(&visible, 5, true);
    assert_true(sattn_verify_passed(&result));
    o[66] = NAN;
    result = judge_outputs(&visible, 5, true);
    expect_failure_at(&result, 66);
    result = judge_outputs(&visible, 5, false);
    assert_true(sattn_verify_passed(&result));
    v[8 * D_V + 3] = INFINITY; /* key 8 is not */
    result = judge_outputs(&visible, 5, false);
    expect_failure_at(&result, 3);
    o[3] = INFINITY;
    result = judge_outputs(&visible, 5, false);
    assert_true(sattn_verify_passed(&result));
}

static void test_overflowing_scores(void **state)
{
    (void)state;
    fill(14, 1);
    q[0] = q[1] = 0x1p100f;
    plain_scores(1, 0);
    for (int x = 0; x < 2; ++x)
        k[17 * D + x] = x ? -0x1p60f : 0x1p60f;
    s[17] = NAN; /* inf - inf */
    sattn_verify_result result = judge_scores(1, 0);
    assert_true(sattn_verify_passed(&result));
    s[18] = NAN; /* large, but no sum on the way to it is too large */
    result = judge_scores(1, 0);
    expect_failure_at(&result, 18);
}

static void test_log_sum_exp(void **state)
{
    (void)state;
    const sattn_visibility visible = masked(4);
    float sum;
    fill(15, 1);
    plain_scores(0.2f, 0);
    const float m = plain_softmax(&visible, 5, &sum);
    float lse = m + logf(sum);
    const sattn_verify_weights row = {
        .s = s, .n_columns = N_COLUMNS, .visible = &visible, .i = 5, .lse = &lse};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    assert_true(sattn_verify_passed(&result));
    lse += 1e-3f;
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    expect_failure_at(&result, -1);
}

static void test_wrong_slopes(void **state)
{
    (void)state;
    static const float wrong_slopes[] = {-0.3f, 0.2999f, 0.0f};
    fill(17, 1);
    plain_scores(0.2f, 0);
    for (int w = 0; w < 3; ++w) {
        sattn_visibility visible = masked(8 + 4);
        float sum;
        visible.alibi_slopes = &wrong_slopes[w];
        plain_softmax(&visible, 5, &sum);
        visible.alibi_slopes = slope;
        sattn_verify_result result = judge_weights(&visible, 5, NULL, NULL);
        assert_true(result.n_failed > N_K / 4);
        visible.alibi_slopes = &wrong_slopes[w];
        result = judge_weights(&visible, 5, NULL, NULL);
        assert_true(sattn_verify_passed(&result));
    }
}

/* Weights that share their row with a sink, made of those that do not. */
static sattn_verify_result judge_with_sink(const sattn_visibility *visible, float sink, float used)
{
    float sum;
    const float m = plain_softmax(visible, 5, &sum), top = fmaxf(m, used);
    const float seen = sum * expf(m - top), all = seen + expf(used - top);
    for (int j = 0; j < N_K; ++j)
        p[j] *= seen / all;
    const float lse = top + logf(all);
    const sattn_verify_weights row = {
        .s = s, .n_columns = N_COLUMNS, .visible = visible, .i = 5, .lse = &lse, .sink = &sink};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    return result;
}

static void test_sinks(void **state)
{
    (void)state;
    static const float sinks[] = {-INFINITY, -90, -5, 0, 3, 20, 70};
    for (int what = 0; what < 16; what += 3)
        for (int n = 0; n < 7; ++n) {
            const sattn_visibility visible = masked(what & 2 ? what & ~4 : what);
            fill((uint64_t)(18 + what), 3);
            plain_scores(0.2f, 0);
            sattn_verify_result result = judge_with_sink(&visible, sinks[n], sinks[n]);
            assert_true(sattn_verify_passed(&result));
            result = judge_with_sink(&visible, 4, sinks[n]);
            assert_false(sattn_verify_passed(&result));
        }
    float lse = 1;
    const float sink = 1, nan = NAN;
    sattn_visibility visible = masked(1);
    visible.causal_offset = -6; /* sees no key */
    memset(p, 0, sizeof p);
    sattn_verify_weights row = {
        .s = s, .n_columns = N_COLUMNS, .visible = &visible, .i = 5, .lse = &lse, .sink = &sink};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    assert_true(sattn_verify_passed(&result));
    lse = nextafterf(1, 2);
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    expect_failure_at(&result, -1);
    row.sink = &nan;
    sattn_verify_result_init(&result);
    sattn_verify_weights_row(&row, p, NULL, NULL, here, &result);
    expect_failure_at(&result, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_loops),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_special_arguments),
        cmocka_unit_test(test_wrong_scores),
        cmocka_unit_test(test_wrong_weights),
        cmocka_unit_test(test_vanished_weights),
        cmocka_unit_test(test_far_key),
        cmocka_unit_test(test_wrong_outputs),
        cmocka_unit_test(test_rows_of_nan),
        cmocka_unit_test(test_rows_without_keys),
        cmocka_unit_test(test_hidden_values),
        cmocka_unit_test(test_overflowing_scores),
        cmocka_unit_test(test_log_sum_exp),
        cmocka_unit_test(test_wrong_slopes),
        cmocka_unit_test(test_sinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
