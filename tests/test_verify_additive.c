/* SPDX-License-Identifier: MIT
 *
 * test_verify_additive.c: the oracle and the judge of additive alignment. Plain f32 loops must
 * pass, each wrong score must be found, and what is not finite be told apart. */
#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { D = 40, N_K = 60 };

static float q[D], k[N_K * D], v[D], s[N_K];
static const sattn_verify_place here = {.batch = 1, .head = 2, .row = 3};

static void fill(uint64_t seed, float spread)
{
    for (int x = 0; x < D; ++x) {
        q[x] = spread * sattn_random_normal(seed, 1, (uint64_t)x);
        v[x] = sattn_random_normal(seed, 2, (uint64_t)x);
    }
    for (int e = 0; e < N_K * D; ++e)
        k[e] = spread * sattn_random_normal(seed, 3, (uint64_t)e);
}

static void plain_scores(void)
{
    for (int j = 0; j < N_K; ++j) {
        s[j] = 0;
        for (int x = 0; x < D; ++x)
            s[j] += v[x] * (float)tanh((double)(q[x] + k[j * D + x]));
    }
}

static sattn_verify_result judge(void)
{
    const sattn_verify_alignments row = {
        .q = q, .k = k, .v = v, .k_stride = D, .d = D, .n = N_K, .tanh_ulp = 0.5};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_alignments_row(&row, s, here, &result);
    assert_int_equal(result.n_elements, N_K);
    return result;
}

static void expect_failure_at(const sattn_verify_result *result, int column)
{
    assert_int_equal(result->n_failed, 1);
    assert_int_equal(result->failed_at.column, column);
    assert_int_equal(result->failed_at.row, here.row);
}

/* N36, by hand. */
static void test_example(void **state)
{
    (void)state;
    static const float query[2] = {1.5f, -1.0f}, key[2] = {1.0f, 1.0f}, weights[2] = {1.0f, 2.0f};
    double size;
    const double score = sattn_ref_additive(query, key, weights, 2, &size);
    assert_true(fabs(score - 0.9866143) < 1e-7);
    assert_true(fabs(size - 0.9866143) < 1e-7);
    const double other = sattn_ref_additive(query, query, weights, 2, &size);
    assert_true(fabs(other - (tanh(3) - 2 * tanh(2))) < 1e-15);
    assert_true(fabs(size - (tanh(3) + 2 * tanh(2))) < 1e-15);
}

static void test_plain_loops(void **state)
{
    (void)state;
    static const float spreads[] = {1e-38f, 1e-20f, 0.01f, 1.0f, 30.0f, 1e30f};
    for (int i = 0; i < 6; ++i) {
        fill((uint64_t)i, spreads[i]);
        plain_scores();
        const sattn_verify_result result = judge();
        assert_true(sattn_verify_passed(&result));
    }
}

static void test_wrong_scores(void **state)
{
    (void)state;
    static const float spoilers[] = {NAN, INFINITY, -INFINITY, FLT_MAX};
    fill(7, 1);
    plain_scores();
    for (int j = 0; j < N_K; j += 7)
        for (int w = 0; w < 6; ++w) {
            const float good = s[j];
            s[j] = w < 4 ? spoilers[w] : good + (w == 4 ? 2e-4f : -2e-4f);
            const sattn_verify_result result = judge();
            expect_failure_at(&result, j);
            s[j] = good;
        }
}

/* A feature left out, or that of another key in its place. */
static void test_wrong_features(void **state)
{
    (void)state;
    fill(9, 1);
    plain_scores();
    for (int x = 0; x < D; x += 3) {
        const float good = s[5];
        s[5] -= v[x] * (float)tanh((double)(q[x] + k[5 * D + x]));
        sattn_verify_result result = judge();
        expect_failure_at(&result, 5);
        s[5] += v[x] * (float)tanh((double)(q[x] + k[6 * D + x]));
        result = judge();
        expect_failure_at(&result, 5);
        s[5] = good;
    }
}

static void test_not_finite(void **state)
{
    (void)state;
    fill(11, 1);
    k[3 * D + 2] = NAN;
    k[4 * D + 2] = INFINITY;
    plain_scores();
    assert_true(isnan(s[3]) && isfinite(s[4]));
    sattn_verify_result result = judge();
    assert_true(sattn_verify_passed(&result));
    s[3] = 1;
    result = judge();
    expect_failure_at(&result, 3);
    s[3] = NAN;
    s[4] -= 2 * v[2]; /* a tanh of -1 */
    result = judge();
    expect_failure_at(&result, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),      cmocka_unit_test(test_plain_loops),
        cmocka_unit_test(test_wrong_scores), cmocka_unit_test(test_wrong_features),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
