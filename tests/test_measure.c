/* SPDX-License-Identifier: MIT
 *
 * test_measure.c: what a measurement does and counts. No check depends on how long anything takes:
 * kernels count their calls, and rounds are limited by number or by a budget of next to nothing. */
#include "bench/measure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- order statistics */

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

/* ---- kernels that count */

typedef struct counter {
    int64_t calls, prepared;
    double value;
    int is_prepared; /* 1: no call since */
} counter;

static void count(void *context)
{
    counter *const c = context;
    ++c->calls;
    c->is_prepared = 0;
    for (int i = 0; i < 100; ++i) {
        c->value = c->value * 0.5 + 1;
        sattn_keep(c);
    }
}

static void prepare(void *context)
{
    counter *const c = context;
    ++c->prepared;
    c->is_prepared = 1;
}

static void count_slowly(void *context)
{
    const int64_t begin = sattn_now_ns();
    ++((counter *)context)->calls;
    while (sattn_now_ns() - begin < 500000)
        ;
}

static void no_op(void *context)
{
    (void)context;
}

static int64_t reference_run(void *context, int64_t work)
{
    counter *const c = context;
    for (int64_t i = 0; i < work; ++i) {
        c->value = c->value * 0.5 + 1;
        sattn_keep(c);
    }
    ++c->calls;
    return work;
}

static const sattn_measure_options short_run = {
    .budget_s = 1e-9, .window_s = 20e-6, .min_rounds = 6, .max_rounds = 6};

static void check_samples(const sattn_measure_result *r)
{
    assert_true(r->time_ns.n >= 1 && r->time_ns.n <= r->rounds);
    assert_int_equal(r->cpu_ns.n, r->time_ns.n);
    assert_true(r->calls_per_window >= 1 && r->empty_call_ns >= 0);
    assert_non_null(r->times);
    for (int i = 0; i < r->time_ns.n; ++i)
        assert_true(r->times[i] > 0 && isfinite(r->times[i]));
    double copy[64];
    assert_in_range(r->time_ns.n, 1, 64);
    memcpy(copy, r->times, (size_t)r->time_ns.n * sizeof copy[0]);
    assert_true(sattn_stat_of(copy, r->time_ns.n).median == r->time_ns.median);
}

/* ---- rounds */

static void test_own_contexts(void **state)
{
    (void)state;
    counter counters[2] = {{0}};
    counter untouched = {0};
    const sattn_measure_candidate candidates[] = {
        {.name = "a", .call = count, .prepare = prepare, .context = &counters[0]},
        {.name = "b", .call = count, .context = &counters[1]},
    };
    const sattn_measure_plan plan = {.candidates = candidates, .n_candidates = 2, .baseline = 0};
    sattn_measure_result results[2];
    assert_int_equal(sattn_measure(&plan, &short_run, results), 0);
    for (int c = 0; c < 2; ++c) {
        check_samples(&results[c]);
        assert_int_equal(results[c].rounds, 6);
        assert_true(counters[c].calls >= 6 * results[c].calls_per_window);
        assert_int_equal(results[c].bound, -1); /* no references */
        assert_int_equal(results[c].share[0].n, 0);
    }
    assert_true(counters[0].prepared >= 6 && counters[1].prepared == 0);
    assert_int_equal(counters[0].is_prepared, 0);
    assert_int_equal(untouched.calls, 0);
    sattn_measure_free(results, 2);
    assert_null(results[0].times);
}

/* The same kernel twice: both get a result, and the first is its own baseline. */
static void test_same_kernel_twice(void **state)
{
    (void)state;
    counter counters[2] = {{0}};
    const sattn_measure_candidate candidates[] = {
        {.name = "kernel", .call = count, .context = &counters[0]},
        {.name = "kernel", .call = count, .context = &counters[1]},
    };
    const sattn_measure_plan plan = {.candidates = candidates, .n_candidates = 2, .baseline = 0};
    sattn_measure_result results[2];
    assert_int_equal(sattn_measure(&plan, &short_run, results), 0);
    for (int c = 0; c < 2; ++c) {
        check_samples(&results[c]);
        assert_true(results[c].speedup.n >= 1 && results[c].speedup.median > 0);
        assert_true(isfinite(results[c].speedup.low) && isfinite(results[c].speedup.high));
    }
    assert_true(results[0].speedup.median == 1 && results[0].speedup.p90 == 1);
    sattn_measure_free(results, 2);

    sattn_measure_plan without = plan;
    without.baseline = 2;
    assert_int_equal(sattn_measure(&without, &short_run, results), 0);
    assert_int_equal(results[1].speedup.n, 0);
    assert_true(isnan(results[1].speedup.median));
    sattn_measure_free(results, 2);
}

static int rounds_with(const sattn_measure_options *options, void (*call)(void *))
{
    counter c = {0};
    const sattn_measure_candidate candidate = {.name = "k", .call = call, .context = &c};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1, .baseline = 1};
    sattn_measure_result result;
    assert_int_equal(sattn_measure(&plan, options, &result), 0);
    const int rounds = result.rounds;
    sattn_measure_free(&result, 1);
    return rounds;
}

static void test_number_of_rounds(void **state)
{
    (void)state;
    sattn_measure_options options = {.budget_s = 1e-9, .window_s = 20e-6};
    assert_int_equal(rounds_with(&options, count), 5); /* the default */
    options.min_rounds = 9;
    assert_int_equal(rounds_with(&options, count), 9);
    options.max_rounds = 3; /* fewer than the minimum: the minimum holds */
    assert_int_equal(rounds_with(&options, count), 9);
    options = (sattn_measure_options){.budget_s = 1e9, .window_s = 20e-6, .max_rounds = 12};
    assert_int_equal(rounds_with(&options, count), 12);
    /* one call takes longer than budget and window together */
    options = (sattn_measure_options){.budget_s = 1e-6, .window_s = 1e-6};
    assert_int_equal(rounds_with(&options, count_slowly), 5);
}

static void test_long_calls(void **state)
{
    (void)state;
    counter c = {0};
    const sattn_measure_candidate candidate = {.name = "k", .call = count_slowly, .context = &c};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    const sattn_measure_options options = {.budget_s = 1e-9, .window_s = 1e-6};
    sattn_measure_result result;
    assert_int_equal(sattn_measure(&plan, &options, &result), 0);
    check_samples(&result);
    assert_int_equal(result.calls_per_window, 1);
    assert_int_equal(c.calls, 1 + 1 + result.rounds); /* calibration, one round of warming up */
    sattn_measure_free(&result, 1);
}

static void test_nothing_to_measure(void **state)
{
    (void)state;
    const sattn_measure_plan plan = {.n_candidates = 0};
    assert_int_equal(sattn_measure(&plan, &short_run, NULL), 0);
}

typedef struct progress_log {
    int calls, falls;
    double last, least, most;
} progress_log;

static void note_progress(void *context, double done)
{
    progress_log *const log = context;
    log->falls += done < log->last;
    log->last = done;
    log->least = fmin(log->least, done);
    log->most = fmax(log->most, done);
    ++log->calls;
}

static void test_progress(void **state)
{
    (void)state;
    progress_log log = {0};
    sattn_measure_options options = short_run;
    options.progress = note_progress;
    options.progress_context = &log;
    rounds_with(&options, count);
    assert_int_equal(log.calls, 6 + 1);
    assert_int_equal(log.falls, 0);
    assert_true(log.least >= 0 && log.most <= 1 && log.last == 1);
}

/* ---- references, validity, taint */

static void test_references(void **state)
{
    (void)state;
    counter kernels[2] = {{0}}, loops[2] = {{0}};
    const sattn_measure_reference references[] = {{"first", reference_run, &loops[0]},
                                                  {"second", reference_run, &loops[1]}};
    const sattn_measure_candidate candidates[] = {
        {.name = "both", .call = count, .context = &kernels[0], .work = {1, 20}},
        {.name = "one", .call = count, .context = &kernels[1], .work = {0, 20}},
    };
    const sattn_measure_plan plan = {.candidates = candidates,
                                     .n_candidates = 2,
                                     .references = references,
                                     .n_references = 2,
                                     .baseline = 2};
    sattn_measure_result results[2];
    assert_int_equal(sattn_measure(&plan, &short_run, results), 0);
    assert_true(loops[0].calls >= 6 && loops[1].calls >= 12);
    for (int c = 0; c < 2; ++c) {
        const sattn_measure_result *const r = &results[c];
        check_samples(r);
        assert_int_equal(r->bound, 1); /* 20 times the work in the same time */
        assert_int_equal(r->share[1].n, r->time_ns.n);
        assert_int_equal(r->reference_rate[1].n, r->time_ns.n);
        assert_true(r->share[1].median > 0 && r->reference_rate[1].median > 0);
        assert_non_null(r->shares[1]);
        assert_int_equal(r->taint.windows, 6 * (1 + (c == 0 ? 2 : 1)));
        assert_in_range(r->taint.tainted, 0, r->taint.windows);
        assert_true(r->taint.switches >= -1 && r->taint.throttled >= -1);
        assert_true(r->taint.steal_ticks >= -1);
        assert_int_equal(r->status == SATTN_MEASURE_TAINTED, r->taint.kept);
    }
    assert_int_equal(results[0].share[0].n, results[0].time_ns.n);
    assert_int_equal(results[1].share[0].n, 0);
    assert_null(results[1].shares[0]);
    sattn_measure_free(results, 2);
    assert_null(results[0].shares[1]);
}

/* A kernel that does nothing and claims the work of one that does is never valid. */
static void test_no_op_that_claims_work(void **state)
{
    (void)state;
    counter loop = {0};
    void (*volatile hidden)(void *) = no_op;
    const sattn_measure_reference reference = {"loop", reference_run, &loop};
    const sattn_measure_candidate candidate = {.name = "no-op", .call = hidden, .work = {1e6}};
    const sattn_measure_plan plan = {
        .candidates = &candidate, .n_candidates = 1, .references = &reference, .n_references = 1};
    sattn_measure_result result;
    assert_int_equal(sattn_measure(&plan, &short_run, &result), 0);
    assert_false(sattn_measure_valid(result.status));
    sattn_measure_free(&result, 1);
}

/* Without any claim it is known by its time, the same as that of an empty call. A busy machine may
 * disturb one or the other, hence the second chances. */
static void test_no_op(void **state)
{
    (void)state;
    void (*volatile hidden)(void *) = no_op;
    const sattn_measure_candidate candidate = {.name = "no-op", .call = hidden};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    sattn_measure_status status = SATTN_MEASURE_OK;
    for (int i = 0; i < 20 && status != SATTN_MEASURE_TOO_FAST; ++i) {
        sattn_measure_result result;
        assert_int_equal(sattn_measure(&plan, &short_run, &result), 0);
        status = result.status;
        sattn_measure_free(&result, 1);
    }
    assert_int_equal(status, SATTN_MEASURE_TOO_FAST);
}

static void test_status_names(void **state)
{
    (void)state;
    for (int s = SATTN_MEASURE_OK; s <= SATTN_MEASURE_BAD_CLOCK; ++s) {
        const sattn_measure_status status = (sattn_measure_status)s;
        const char *const text = sattn_measure_status_string(status);
        const bool valid = status == SATTN_MEASURE_OK || status == SATTN_MEASURE_TAINTED;
        assert_true(sattn_measure_valid(status) == valid);
        assert_true((strncmp(text, "invalid", 7) != 0) == valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_of_few),
        cmocka_unit_test(test_stat_of_more),
        cmocka_unit_test(test_stat_of_wrong_samples),
        cmocka_unit_test(test_interval_coverage),
        cmocka_unit_test(test_own_contexts),
        cmocka_unit_test(test_same_kernel_twice),
        cmocka_unit_test(test_number_of_rounds),
        cmocka_unit_test(test_long_calls),
        cmocka_unit_test(test_nothing_to_measure),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_no_op_that_claims_work),
        cmocka_unit_test(test_no_op),
        cmocka_unit_test(test_status_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
