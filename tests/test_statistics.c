/* SPDX-License-Identifier: MIT
 *
 * test_statistics.c: order statistics, their interval, and what may be concluded from it. */
#include "bench/measure/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_stat(sattn_stat s, int n, double median, double p10, double p90)
{
    assert_int_equal(s.n, n);
    assert_true(fabs(s.median - median) < 1e-12);
    assert_true(fabs(s.p10 - p10) < 1e-12);
    assert_true(fabs(s.p90 - p90) < 1e-12);
    assert_true(s.low <= s.median && s.median <= s.high);
}

static void test_stat_of_few(void **state)
{
    (void)state;
    const sattn_stat none = sattn_stat_of(NULL, 0);
    assert_int_equal(none.n, 0);
    assert_true(isnan(none.median) && isnan(none.p10) && isnan(none.p90));
    assert_true(isnan(none.low) && isnan(none.high));
    double one[] = {7};
    expect_stat(sattn_stat_of(one, 1), 1, 7, 7, 7);
    double two[] = {4, 2};
    const sattn_stat pair = sattn_stat_of(two, 2);
    expect_stat(pair, 2, 3, 2.2, 3.8);
    assert_true(pair.low == 2 && pair.high == 4);
    double five[] = {5, 1, 4, 2, 3};
    const sattn_stat all = sattn_stat_of(five, 5);
    expect_stat(all, 5, 3, 1.4, 4.6);
    assert_true(all.low == 1 && all.high == 5); /* the whole range */
    assert_true(five[0] == 1 && five[4] == 5);  /* sorted in place */
}

static void test_stat_of_more(void **state)
{
    (void)state;
    double even[] = {9, 1, 8, 2, 7, 3, 6, 4};
    expect_stat(sattn_stat_of(even, 8), 8, 5, 1.7, 8.3);
    double odd[] = {10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5};
    expect_stat(sattn_stat_of(odd, 11), 11, 5, 1, 9);
    double ties[] = {2, 1, 2, 2, 1, 2, 2};
    expect_stat(sattn_stat_of(ties, 7), 7, 2, 1, 2);
    double same[20];
    for (int i = 0; i < 20; ++i)
        same[i] = -0.5;
    const sattn_stat s = sattn_stat_of(same, 20);
    expect_stat(s, 20, -0.5, -0.5, -0.5);
    assert_true(s.low == -0.5 && s.high == -0.5);
}

/* An infinite sample or a NaN stands behind all numbers and leaves the statistics before it alone.
 */
static void test_stat_of_wrong_samples(void **state)
{
    (void)state;
    const double wrong[] = {(double)INFINITY, (double)NAN};
    for (int w = 0; w < 2; ++w)
        for (int at = 0; at < 11; ++at) {
            double samples[11];
            for (int i = 0; i < 11; ++i)
                samples[i] = i;
            samples[at] = wrong[w];
            samples[10] = at == 10 ? wrong[w] : at;
            const sattn_stat s = sattn_stat_of(samples, 11);
            assert_true(s.median == 5 && s.p10 == 1 && s.p90 == 9);
            assert_true(!isfinite(samples[10]));
        }
    double all[] = {(double)NAN, (double)NAN, (double)NAN};
    assert_true(isnan(sattn_stat_of(all, 3).median));
    double infinite[] = {(double)INFINITY, 1, (double)INFINITY};
    assert_true(isinf(sattn_stat_of(infinite, 3).median));
}

/* The median is between the order statistics of rank l and n + 1 - l unless fewer than l of n fair
 * coins show heads, or fewer than l tails. */
static void test_interval_coverage(void **state)
{
    (void)state;
    enum { MOST = 300 };
    double samples[MOST];
    for (int n = 6; n <= MOST; ++n) {
        for (int i = 0; i < n; ++i)
            samples[i] = i;
        const sattn_stat s = sattn_stat_of(samples, n);
        assert_true(s.low + s.high == n - 1);
        double chance = pow(0.5, n), outside = 0;
        for (int heads = 0; heads <= (int)s.low; ++heads) {
            outside += 2 * chance;
            chance *= (double)(n - heads) / (heads + 1);
        }
        assert_true(outside <= 0.05 && (n < 20 || outside > 0.01));
    }
}

static void test_scaled(void **state)
{
    (void)state;
    double samples[] = {1, 2, 3, 4, 5, 6, 7};
    const sattn_stat stat = sattn_stat_of(samples, 7);
    const sattn_stat half = sattn_stat_scaled(stat, 0.5);
    expect_stat(half, 7, 2, stat.p10 / 2, stat.p90 / 2);
    assert_true(half.low == stat.low / 2 && half.high == stat.high / 2);
    const sattn_stat none = sattn_stat_scaled(sattn_stat_of(NULL, 0), 0.5);
    assert_true(none.n == 0 && isnan(none.median));
}

/* Nothing is concluded from an interval that holds the line, touches it, or is none. */
static void test_side(void **state)
{
    (void)state;
    const double nan = (double)NAN;
    const struct {
        sattn_stat stat;
        sattn_side side;
    } cases[] = {
        {{.median = 0.9, .low = 0.85, .high = 0.95, .n = 20}, SATTN_SIDE_BELOW},
        {{.median = 1.1, .low = 1.05, .high = 1.15, .n = 20}, SATTN_SIDE_ABOVE},
        {{.median = 0.9, .low = 0.7, .high = 1.05, .n = 20}, SATTN_SIDE_OPEN},
        {{.median = 1.1, .low = 0.95, .high = 1.3, .n = 20}, SATTN_SIDE_OPEN},
        {{.median = 0.9, .low = 0.8, .high = 1, .n = 20}, SATTN_SIDE_OPEN},
        {{.median = 1.1, .low = 1, .high = 1.2, .n = 20}, SATTN_SIDE_OPEN},
        {{.median = 0.5, .low = 0.4, .high = 0.6, .n = 6}, SATTN_SIDE_BELOW},
        {{.median = 0.5, .low = 0.4, .high = 0.6, .n = 5}, SATTN_SIDE_OPEN},
        {{.median = 2, .low = 1.9, .high = 2.1, .n = 5}, SATTN_SIDE_OPEN},
        {{.median = nan, .low = nan, .high = nan, .n = 0}, SATTN_SIDE_OPEN},
        {{.median = 2, .low = nan, .high = nan, .n = 20}, SATTN_SIDE_OPEN},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        assert_int_equal(sattn_stat_side(&cases[c].stat, 1), cases[c].side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_of_few),
        cmocka_unit_test(test_stat_of_more),
        cmocka_unit_test(test_stat_of_wrong_samples),
        cmocka_unit_test(test_interval_coverage),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
