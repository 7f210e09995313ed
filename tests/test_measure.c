/* SPDX-License-Identifier: MIT
 *
 * test_measure.c: what a measurement does and counts. No check depends on how long anything takes:
 * kernels count their calls, and rounds are limited by number or by a budget of next to nothing. */
#include "bench/measure/measure.h"

#include "bench/measure/clock.h"
#include "bench/measure/rounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    const sattn_measure_plan plan = {.candidates = candidates, .n_candidates = 2};
    sattn_measure_result results[2];
    assert_true(sattn_measure(&plan, &short_run, results));
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

/* The same kernel twice: both get a result, and each can be compared with the other and with
 * itself. */
static void test_same_kernel_twice(void **state)
{
    (void)state;
    counter counters[2] = {{0}};
    const sattn_measure_candidate candidates[] = {
        {.name = "kernel", .call = count, .context = &counters[0]},
        {.name = "kernel", .call = count, .context = &counters[1]},
    };
    const sattn_measure_plan plan = {.candidates = candidates, .n_candidates = 2};
    sattn_measure_result results[2];
    assert_true(sattn_measure(&plan, &short_run, results));
    for (int c = 0; c < 2; ++c) {
        check_samples(&results[c]);
        const sattn_stat ratio = sattn_measure_ratio(&results[c], &results[1 - c]);
        assert_true(ratio.n >= 1 && ratio.median > 0);
        assert_true(isfinite(ratio.low) && isfinite(ratio.high));
        const sattn_stat self = sattn_measure_ratio(&results[c], &results[c]);
        assert_true(self.median == 1 && self.p10 == 1 && self.p90 == 1);
    }
    sattn_measure_free(results, 2);
}

/* Ratios are taken within rounds, of the clean ones while there are enough. */
static void test_ratio(void **state)
{
    (void)state;
    enum { ROUNDS = 8 };
    double fast[ROUNDS], slow[ROUNDS];
    bool fast_tainted[ROUNDS] = {false}, slow_tainted[ROUNDS] = {false};
    for (int i = 0; i < ROUNDS; ++i) {
        fast[i] = 1 + i; /* a drift that the pairs do not see */
        slow[i] = 2 * fast[i];
    }
    fast[0] = 1000;
    slow[5] = 1000;
    fast_tainted[0] = slow_tainted[5] = true;
    sattn_measure_result a = {
        .rounds = ROUNDS, .min_rounds = 6, .round_times = fast, .round_tainted = fast_tainted};
    sattn_measure_result b = {
        .rounds = ROUNDS, .min_rounds = 6, .round_times = slow, .round_tainted = slow_tainted};
    sattn_stat ratio = sattn_measure_ratio(&a, &b);
    assert_int_equal(ratio.n, 6);
    assert_true(ratio.p10 == 2 && ratio.median == 2 && ratio.p90 == 2);
    ratio = sattn_measure_ratio(&b, &a);
    assert_true(ratio.n == 6 && ratio.median == 0.5);
    sattn_stat difference = sattn_measure_difference(&b, &a); /* of 2, 3, 4, 5, 7 and 8 */
    assert_true(difference.n == 6 && difference.low == 2 && difference.high == 8);
    assert_true(difference.median == 4.5 && sattn_measure_difference(&a, &b).median == -4.5);
    slow_tainted[7] = true; /* too few clean ones: all count */
    ratio = sattn_measure_ratio(&a, &b);
    assert_int_equal(ratio.n, ROUNDS);
    assert_true(ratio.median == 2 && ratio.low < 1 && ratio.high > 100);
    difference = sattn_measure_difference(&b, &a);
    assert_true(difference.n == ROUNDS && difference.high == 994);
    a.rounds = b.rounds = 0;
    assert_int_equal(sattn_measure_ratio(&a, &b).n, 0);
    assert_int_equal(sattn_measure_difference(&a, &b).n, 0);
}

/* Windows of a thousand nanoseconds for a call, of which two parts say that they took 300 and 200;
 * so they have results of their own, over the same rounds. */
typedef struct part_teller {
    int64_t part_ns[2];
} part_teller;

static sattn_window tell_parts(void *context, int64_t calls)
{
    part_teller *const teller = context;
    teller->part_ns[0] = 300 * calls;
    teller->part_ns[1] = 200 * calls;
    return (sattn_window){.ns = 1000 * calls, .cpu_ns = 1000 * calls, .thread_ns = 1000 * calls};
}

static void test_parts(void **state)
{
    (void)state;
    part_teller teller;
    const sattn_measure_candidate candidate = {.name = "whole",
                                               .run = tell_parts,
                                               .context = &teller,
                                               .part_ns = teller.part_ns,
                                               .n_parts = 2};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    sattn_measure_result whole, parts[2];
    assert_true(sattn_measure(&plan, &short_run, &whole));
    assert_null(whole.round_parts[2]);
    for (int p = 0; p < 2; ++p) {
        assert_true(sattn_measure_part(&whole, p, &parts[p]));
        assert_true(parts[p].status == whole.status && parts[p].bound == -1);
        assert_int_equal(parts[p].rounds, whole.rounds);
        assert_int_equal(parts[p].time_ns.n, whole.time_ns.n);
        assert_true(parts[p].time_ns.median == (p == 0 ? 300 : 200));
        assert_true(parts[p].times[0] == parts[p].time_ns.median);
    }
    assert_true(sattn_measure_ratio(&whole, &parts[0]).median == 0.3);
    assert_true(sattn_measure_ratio(&parts[1], &parts[0]).median == 1.5);
    sattn_measure_free(parts, 2);
    assert_null(parts[0].round_times);
    sattn_measure_free(&whole, 1);
    assert_null(whole.round_parts[0]);
}

static int rounds_with(const sattn_measure_options *options, void (*call)(void *))
{
    counter c = {0};
    const sattn_measure_candidate candidate = {.name = "k", .call = call, .context = &c};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    sattn_measure_result result;
    assert_true(sattn_measure(&plan, options, &result));
    const int rounds = result.rounds;
    sattn_measure_free(&result, 1);
    return rounds;
}

static bool always(void)
{
    return true;
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
    options.is_stopped = always; /* what was begun is still worth a result */
    assert_int_equal(rounds_with(&options, count), 5);
    /* one call takes longer than budget and window together */
    options = (sattn_measure_options){.budget_s = 1e-6, .window_s = 1e-6};
    assert_int_equal(rounds_with(&options, count_slowly), 5);
}

/* Twice the time, if it may be enough. */
static void test_worth_more_rounds(void **state)
{
    (void)state;
    const struct {
        int clean;
        double spent;
        bool worth;
    } cases[] = {
        {6, 1, false},  {5, 1, true},    {2, 1, true},    {1, 1, false},    {0, 1, false},
        {3, 1.3, true}, {3, 1.4, false}, {5, 1.99, true}, {5, 2.01, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        assert_int_equal(sattn_rounds_worth_more(cases[c].clean, 6, cases[c].spent),
                         cases[c].worth);
}

static void test_long_calls(void **state)
{
    (void)state;
    counter c = {0};
    const sattn_measure_candidate candidate = {.name = "k", .call = count_slowly, .context = &c};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    const sattn_measure_options options = {.budget_s = 1e-9, .window_s = 1e-6};
    sattn_measure_result result;
    assert_true(sattn_measure(&plan, &options, &result));
    check_samples(&result);
    assert_int_equal(result.calls_per_window, 1);
    assert_int_equal(c.calls, 1 + 1 + result.rounds); /* calibration, one round of warming up */
    sattn_measure_free(&result, 1);
}

static void test_nothing_to_measure(void **state)
{
    (void)state;
    const sattn_measure_plan plan = {.n_candidates = 0};
    assert_true(sattn_measure(&plan, &short_run, NULL));
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
    const sattn_measure_reference references[] = {
        {.name = "first", .run = reference_run, .context = &loops[0]},
        {.name = "second", .run = reference_run, .context = &loops[1]}};
    const sattn_measure_candidate candidates[] = {
        {.name = "both", .call = count, .context = &kernels[0], .work = {1, 20}},
        {.name = "one", .call = count, .context = &kernels[1], .work = {0, 20}},
    };
    const sattn_measure_plan plan = {
        .candidates = candidates, .n_candidates = 2, .references = references, .n_references = 2};
    sattn_measure_result results[2];
    assert_true(sattn_measure(&plan, &short_run, results));
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
        assert_true(r->taint.steal_ticks >= -1 && r->taint.shared >= -1);
        assert_int_equal(r->status == SATTN_MEASURE_TAINTED, r->taint.kept);
    }
    assert_int_equal(results[0].share[0].n, results[0].time_ns.n);
    assert_int_equal(results[1].share[0].n, 0);
    assert_null(results[1].shares[0]);
    sattn_measure_free(results, 2);
    assert_null(results[0].shares[1]);
}

/* What only counts in other units bounds nothing, however large its share is. */
static void test_units_bound_nothing(void **state)
{
    (void)state;
    counter kernel = {0}, loops[2] = {{0}};
    const sattn_measure_reference references[] = {
        {.name = "bound", .run = reference_run, .context = &loops[0], .prepare = prepare},
        {.name = "unit", .run = reference_run, .context = &loops[1], .is_unit = true}};
    const sattn_measure_candidate candidate = {
        .name = "k", .call = count, .context = &kernel, .work = {1, 1e9}};
    const sattn_measure_plan plan = {
        .candidates = &candidate, .n_candidates = 1, .references = references, .n_references = 2};
    sattn_measure_result result;
    assert_true(sattn_measure(&plan, &short_run, &result));
    assert_int_equal(result.bound, 0);
    assert_true(sattn_measure_valid(result.status));
    assert_true(result.share[1].median > result.share[0].median);
    assert_true(loops[0].prepared >= 6 && loops[1].prepared == 0);
    sattn_measure_free(&result, 1);
}

/* Of several threads each must be away for a switch to matter, and waiting is no preemption. */
static void test_preempted_threads(void **state)
{
    (void)state;
    const struct {
        sattn_window window;
        bool preempted;
    } cases[] = {
        {{.ns = 1000, .cpu_ns = 1000, .thread_ns = 1000, .threads = 1}, false},
        {{.ns = 1000, .cpu_ns = 900, .thread_ns = 900, .switches = 1, .threads = 1}, true},
        {{.ns = 1000, .cpu_ns = 900, .thread_ns = 900, .switches = -1}, true},
        {{.ns = 1000, .cpu_ns = 2000, .thread_ns = 1000, .switches = 3, .threads = 2}, false},
        {{.ns = 1000, .cpu_ns = 1500, .thread_ns = 1000, .switches = 1, .threads = 2}, true},
        {{.ns = 1000, .cpu_ns = 1500, .thread_ns = 1000, .switches = 0, .threads = 2}, false},
        {{.ns = 1000, .cpu_ns = 1500, .thread_ns = 1000, .switches = -1, .threads = 2}, false},
        {{.ns = 1000, .cpu_ns = 1500, .threads = 2, .all_work = true}, true},
        {{.ns = 1000, .cpu_ns = 1900, .threads = 2, .all_work = true}, false},
        {{.ns = 1000, .cpu_ns = 500, .thread_ns = 500, .threads = 1, .all_work = true}, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        assert_int_equal(sattn_window_preempted(&cases[c].window), cases[c].preempted);
}

/* A kernel that does nothing and claims the work of one that does is never valid. */
static void test_no_op_that_claims_work(void **state)
{
    (void)state;
    counter loop = {0};
    void (*volatile hidden)(void *) = no_op;
    const sattn_measure_reference reference = {
        .name = "loop", .run = reference_run, .context = &loop};
    const sattn_measure_candidate candidate = {.name = "no-op", .call = hidden, .work = {1e6}};
    const sattn_measure_plan plan = {
        .candidates = &candidate, .n_candidates = 1, .references = &reference, .n_references = 1};
    sattn_measure_result result;
    assert_true(sattn_measure(&plan, &short_run, &result));
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
        assert_true(sattn_measure(&plan, &short_run, &result));
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
        cmocka_unit_test(test_own_contexts),
        cmocka_unit_test(test_same_kernel_twice),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_number_of_rounds),
        cmocka_unit_test(test_worth_more_rounds),
        cmocka_unit_test(test_long_calls),
        cmocka_unit_test(test_nothing_to_measure),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_units_bound_nothing),
        cmocka_unit_test(test_preempted_threads),
        cmocka_unit_test(test_no_op_that_claims_work),
        cmocka_unit_test(test_no_op),
        cmocka_unit_test(test_status_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
