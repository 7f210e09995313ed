/* SPDX-License-Identifier: MIT
 *
 * test_issue.c: what becomes of widths of the core. They come from a script here, and no time goes
 * by but what the script says. */
#include "bench/measure/issue.h"

#include "bench/bench/bench_places.h"
#include "bench/measure/measure.h"
#include "bench/tune/tune_class.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const double wide = 5.5, narrow = 3.6;

/* ---- the script */

static struct {
    double width;
    int64_t now_ns;
    int64_t step_ns; /* what goes by with each look at the time */
    int probes;
    int busy; /* probes from now on that find a shared core */
} core;

static double width_of_script(void)
{
    ++core.probes;
    return core.busy-- > 0 ? narrow : core.width;
}

static int64_t now_of_script(void)
{
    return core.now_ns += core.step_ns;
}

static const sattn_issue_source script = {.width = width_of_script, .now_ns = now_of_script};

static int begin(void **state)
{
    (void)state;
    memset(&core, 0, sizeof core);
    core.width = wide;
    sattn_issue_begin(&script);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sattn_issue_begin(NULL);
    return 0;
}

/* Looks at the core once for each, when what was seen before has aged. */
static void see(double width, int times)
{
    core.width = width;
    for (int i = 0; i < times; ++i) {
        core.now_ns += SATTN_ISSUE_FRESH_NS;
        assert_true(sattn_issue_width() == width);
    }
}

/* ---- what is known of the free core */

static void test_first_widths_say_nothing(void **state)
{
    (void)state;
    see(wide, SATTN_ISSUE_WIDEST - 1);
    assert_false(sattn_issue_is_shared(narrow));
    see(wide, 1);
    assert_true(sattn_issue_is_shared(narrow));
    assert_false(sattn_issue_is_shared(0.85 * wide));
    assert_false(sattn_issue_is_shared(wide));
    assert_false(sattn_issue_is_shared(0)); /* not known */
}

static void test_look_before_all(void **state)
{
    (void)state;
    core.step_ns = SATTN_ISSUE_FRESH_NS;
    sattn_issue_learn((int64_t)4 * SATTN_ISSUE_WIDEST * SATTN_ISSUE_FRESH_NS);
    assert_true(sattn_issue_is_shared(narrow) && !sattn_issue_is_shared(wide));
}

static void test_runs_begin_with_a_look(void **state)
{
    (void)state;
    const sattn_thread_counts one = {.of = {1}, .n = 1};
    sattn_places places;
    core.step_ns = SATTN_ISSUE_FRESH_NS;
    sattn_places_begin(&places, &one);
    sattn_places_end(&places);
    assert_true(core.probes >= SATTN_ISSUE_WIDEST);
}

/* A core that begins shared is known as soon as it has been free for a few looks. */
static void test_free_core_comes_late(void **state)
{
    (void)state;
    see(narrow, 1000);
    assert_false(sattn_issue_is_shared(narrow));
    see(wide, SATTN_ISSUE_WIDEST);
    assert_true(sattn_issue_is_shared(narrow));
    see(narrow, 1000);
    assert_true(sattn_issue_is_shared(narrow) && !sattn_issue_is_shared(wide));
}

/* An interrupt among the cycles that are counted makes a width too great. */
static void test_few_great_widths_count_for_nothing(void **state)
{
    (void)state;
    see(wide, 100);
    see(3 * wide, SATTN_ISSUE_WIDEST - 1);
    see(wide, 100);
    assert_false(sattn_issue_is_shared(wide));
    assert_true(sattn_issue_is_shared(narrow));
}

static void test_young_width_stands_for_the_next(void **state)
{
    (void)state;
    see(wide, 1);
    core.width = narrow;
    const int64_t seen_ns = core.now_ns;
    core.now_ns = seen_ns + SATTN_ISSUE_FRESH_NS - 1;
    assert_true(sattn_issue_width() == wide && core.probes == 1);
    core.now_ns = seen_ns + SATTN_ISSUE_FRESH_NS;
    assert_true(sattn_issue_width() == narrow && core.probes == 2);
}

static void test_lesser(void **state)
{
    (void)state;
    assert_true(sattn_issue_lesser(2, 3) == 2 && sattn_issue_lesser(3, 2) == 2);
    assert_true(sattn_issue_lesser(0, 3) == 3 && sattn_issue_lesser(3, 0) == 3);
    assert_true(sattn_issue_lesser(0, 0) == 0);
}

/* The probe itself: a number that a core can have, or none. Where others are at work any one look
 * may have been disturbed; of so many, of some microseconds each, one was not. */
static void test_this_core(void **state)
{
    (void)state;
    enum { LOOKS = 100000 };
    double width = 0;
    sattn_issue_begin(NULL);
    for (int look = 0; look < LOOKS && !(width > 0); ++look) {
        width = sattn_issue_width();
        assert_true(isfinite(width) && width >= 0);
    }
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(width > 0);
#endif
}

/* ---- windows */

/* What the core is while a window lasts, and from then on. */
typedef struct change {
    double to;
} change;

static void change_core(void *context)
{
    core.now_ns += SATTN_ISSUE_FRESH_NS;
    core.width = ((const change *)context)->to;
}

static int64_t change_core_for(void *context, int64_t work)
{
    change_core(context);
    return work;
}

static void test_both_ends_of_windows(void **state)
{
    (void)state;
    const double before[] = {wide, wide, narrow, narrow}, after[] = {wide, narrow, wide, narrow};
    for (int i = 0; i < 4; ++i) {
        change to = {after[i]};
        int64_t done;
        sattn_measure_candidate calls = {.name = "k", .call = change_core, .context = &to};
        sattn_measure_reference loop = {.name = "l", .run = change_core_for, .context = &to};
        const double least = fmin(before[i], after[i]);
        see(before[i], 1);
        assert_true(sattn_run_calls(&calls, 1).width == least);
        see(before[i], 1);
        assert_true(sattn_run_reference(&loop, 1, &done).width == least);
        const int probes = core.probes; /* of several threads one core says nothing */
        calls.threads = loop.threads = 2;
        assert_true(sattn_run_calls(&calls, 1).width == 0);
        assert_true(sattn_run_reference(&loop, 1, &done).width == 0);
        assert_int_equal(core.probes, probes);
    }
}

static void test_tune_takes_no_shared_window(void **state)
{
    (void)state;
    change to = {narrow};
    const sattn_measure_candidate calls = {.name = "k", .call = change_core, .context = &to};
    see(wide, SATTN_ISSUE_WIDEST);
    assert_true(sattn_tune_time_calls(&calls, 1).is_tainted);
}

/* ---- rounds */

enum { ROUNDS = 20, MIN_ROUNDS = 5, BEFORE_ROUNDS = 2 }; /* calibration and warm-up */

/* A kernel of another process, so that the time of a window is what it says: a second on a free
 * core, two on a shared one. */
typedef struct kernel {
    double widths[ROUNDS]; /* of the core at the end of each round */
    int windows;
} kernel;

static sattn_window run_kernel(void *context, int64_t calls)
{
    kernel *const k = context;
    const int round = k->windows++ - BEFORE_ROUNDS;
    core.now_ns += SATTN_ISSUE_FRESH_NS;
    if (round >= 0 && round < ROUNDS)
        core.width = k->widths[round];
    const int64_t ns = (core.width == narrow ? 2000000000 : 1000000000) * calls;
    return (sattn_window){.ns = ns, .cpu_ns = ns, .thread_ns = ns};
}

static sattn_measure_result measure(kernel *k, int threads)
{
    const sattn_measure_candidate candidate = {
        .name = "k", .run = run_kernel, .context = k, .threads = threads};
    const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
    const sattn_measure_options options = {
        .budget_s = 1e9, .window_s = 1e-3, .min_rounds = MIN_ROUNDS, .max_rounds = ROUNDS};
    sattn_measure_result result;
    assert_true(sattn_measure(&plan, &options, &result));
    assert_int_equal(result.rounds, ROUNDS);
    return result;
}

static void fill(kernel *k, int from, int to, double width)
{
    for (int i = from; i < to; ++i)
        k->widths[i] = width;
}

/* Whether nothing but the core disturbed it, as steal can at any time. */
static bool is_quiet(const sattn_measure_result *r)
{
    return r->taint.throttled <= 0 && r->taint.steal_ticks <= 0;
}

/* The core is shared at the end of a round, and so at the beginning of the next. */
static void test_shared_rounds_are_left_out(void **state)
{
    (void)state;
    kernel k = {.windows = 0};
    fill(&k, 0, ROUNDS, wide);
    k.widths[3] = narrow;
    sattn_measure_result r = measure(&k, 1);
    assert_int_equal(r.taint.shared, 2);
    assert_true(r.taint.tainted >= 2 && r.taint.windows == ROUNDS);
    assert_true(r.round_tainted[3] && r.round_tainted[4]);
    if (is_quiet(&r)) {
        assert_int_equal(r.taint.tainted, 2);
        assert_true(r.status == SATTN_MEASURE_OK && r.time_ns.n == ROUNDS - 2);
        assert_true(r.time_ns.low == 1e9 && r.time_ns.high == 1e9);
    }
    sattn_measure_free(&r, 1);
}

static void test_rounds_are_judged_at_the_end(void **state)
{
    (void)state;
    enum { BUSY = 6 };
    kernel k = {.windows = 0};
    core.width = narrow;
    fill(&k, 0, BUSY, narrow);
    fill(&k, BUSY, ROUNDS, wide);
    sattn_measure_result r = measure(&k, 1);
    assert_int_equal(r.taint.shared, BUSY + 1);
    for (int i = 0; i <= BUSY; ++i)
        assert_true(r.round_tainted[i]);
    if (is_quiet(&r))
        assert_true(r.status == SATTN_MEASURE_OK && r.time_ns.high == 1e9);
    sattn_measure_free(&r, 1);
}

static void test_too_few_free_rounds(void **state)
{
    (void)state;
    kernel k = {.windows = 0};
    see(wide, SATTN_ISSUE_WIDEST);
    fill(&k, 0, ROUNDS, narrow);
    k.widths[0] = k.widths[1] = k.widths[2] = wide;
    sattn_measure_result r = measure(&k, 1);
    assert_int_equal(r.taint.shared, ROUNDS - 3);
    assert_true(r.taint.kept && r.status == SATTN_MEASURE_TAINTED);
    assert_int_equal(r.time_ns.n, ROUNDS);
    sattn_measure_free(&r, 1);
}

/* ---- waiting for a free core */

static bool always(void)
{
    return true;
}

static void test_free_core_is_awaited(void **state)
{
    (void)state;
    const int64_t hour_ns = (int64_t)3600 * 1000000000;
    see(wide, SATTN_ISSUE_WIDEST);
    core.step_ns = SATTN_ISSUE_FRESH_NS;
    core.probes = 0;
    assert_true(sattn_issue_await(hour_ns, NULL) == 0 && core.probes == 1);
    core.busy = 40;
    assert_true(sattn_issue_await(hour_ns, NULL) > 0 && core.busy < 0);
    core.busy = 1000000;
    const int64_t most_ns = (int64_t)10 * SATTN_ISSUE_FRESH_NS;
    const int64_t waited_ns = sattn_issue_await(most_ns, NULL);
    assert_true(waited_ns >= most_ns && waited_ns < 2 * most_ns && core.busy > 0);
    assert_true(sattn_issue_await(hour_ns, always) == 0);
    core.probes = 0;
    assert_true(sattn_issue_await(0, NULL) == 0 && core.probes == 0);
}

/* A round begins on a free core while there is patience; then it begins as it may. */
static void test_rounds_wait(void **state)
{
    (void)state;
    for (int patient = 0; patient < 2; ++patient) {
        kernel k = {.windows = 0};
        const sattn_measure_candidate candidate = {.name = "k", .run = run_kernel, .context = &k};
        const sattn_measure_plan plan = {.candidates = &candidate, .n_candidates = 1};
        const sattn_measure_options options = {.budget_s = 1e9,
                                               .patience_s = patient ? 3600 : 0,
                                               .min_rounds = MIN_ROUNDS,
                                               .max_rounds = ROUNDS};
        sattn_measure_result r;
        fill(&k, 0, ROUNDS, wide);
        core.busy = 0;
        see(wide, SATTN_ISSUE_WIDEST);
        core.step_ns = SATTN_ISSUE_FRESH_NS;
        core.busy = 200;
        assert_true(sattn_measure(&plan, &options, &r));
        assert_int_equal(r.taint.shared > 0, !patient);
        sattn_measure_free(&r, 1);
    }
}

static void test_several_threads_are_not_known(void **state)
{
    (void)state;
    kernel k = {.windows = 0};
    see(wide, SATTN_ISSUE_WIDEST);
    fill(&k, 0, ROUNDS, narrow);
    sattn_measure_result r = measure(&k, 2);
    assert_int_equal(r.taint.shared, -1);
    sattn_measure_free(&r, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_widths_say_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_look_before_all, begin, end),
        cmocka_unit_test_setup_teardown(test_runs_begin_with_a_look, begin, end),
        cmocka_unit_test_setup_teardown(test_free_core_comes_late, begin, end),
        cmocka_unit_test_setup_teardown(test_few_great_widths_count_for_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_young_width_stands_for_the_next, begin, end),
        cmocka_unit_test_setup_teardown(test_lesser, begin, end),
        cmocka_unit_test_setup_teardown(test_this_core, begin, end),
        cmocka_unit_test_setup_teardown(test_both_ends_of_windows, begin, end),
        cmocka_unit_test_setup_teardown(test_tune_takes_no_shared_window, begin, end),
        cmocka_unit_test_setup_teardown(test_shared_rounds_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(test_rounds_are_judged_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(test_too_few_free_rounds, begin, end),
        cmocka_unit_test_setup_teardown(test_free_core_is_awaited, begin, end),
        cmocka_unit_test_setup_teardown(test_rounds_wait, begin, end),
        cmocka_unit_test_setup_teardown(test_several_threads_are_not_known, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
