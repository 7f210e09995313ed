/* SPDX-License-Identifier: MIT
 *
 * test_tune_race.c: races on a clock of the test's own. No check depends on how long anything
 * really takes. */
#include "bench/tune/race.h"

#include "bench/verify/inputs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 6, WINDOW_CALLS = 10 };

/* A machine on which candidate c takes cost[c] ns, give or take `noise`, relative. */
typedef struct machine {
    size_t n;
    double cost[MOST];
    double noise;
    double drift;     /* clocks fall by so much with each window */
    double outliers;  /* share of windows that take five times as long and say nothing */
    double preempted; /* share of windows that take twice as long, and are tainted */
    double cold;      /* what the very first window costs besides */
    bool throttled;   /* from outside, now and then */
    uint64_t windows;
    uint64_t seed;
    double now;
    int timed[MOST]; /* windows of each */
    int stop_after;  /* windows; 0: never */
} machine;

static machine *stopping; /* is_stopped has no context */

static double chance(const machine *m, uint64_t stream)
{
    return sattn_random_uniform(m->seed, stream, m->windows);
}

static sattn_race_window time_window(void *context, size_t candidate)
{
    machine *const m = context;
    sattn_race_window window = {.ns = m->cost[candidate]};
    assert_true(candidate < m->n);
    window.ns *= 1 + m->noise * (2 * chance(m, 1) - 1);
    window.ns *= 1 + m->drift * (double)m->windows;
    if (chance(m, 2) < m->outliers)
        window.ns *= 5;
    window.is_tainted = chance(m, 3) < m->preempted;
    if (window.is_tainted)
        window.ns *= 2;
    if (m->windows == 0)
        window.ns += m->cold;
    m->now += window.ns * (double)WINDOW_CALLS;
    ++m->windows;
    ++m->timed[candidate];
    return window;
}

static double now_ns(void *context)
{
    return ((machine *)context)->now;
}

static bool was_disturbed(void *context)
{
    const machine *const m = context;
    return m->throttled && chance(m, 4) < 0.5;
}

static bool is_stopped(void)
{
    return stopping->stop_after > 0 && stopping->windows >= (uint64_t)stopping->stop_after;
}

static sattn_race_result run_ranked(machine *m, size_t incumbent, double budget_ns,
                                    const int *ranks)
{
    const sattn_race_track track = {.time = time_window,
                                    .now_ns = now_ns,
                                    .was_disturbed = was_disturbed,
                                    .is_stopped = is_stopped,
                                    .context = m};
    const sattn_race_options options = {.n_candidates = m->n,
                                        .incumbent = incumbent,
                                        .ranks = ranks,
                                        .seed = m->seed,
                                        .budget_ns = budget_ns};
    sattn_race_result result;
    stopping = m;
    assert_true(sattn_race_run(&track, &options, &result));
    assert_true(result.winner < m->n);
    assert_true(!result.is_tie || result.winner == incumbent);
    return result;
}

static const int in_order[MOST] = {0, 1, 2, 3, 4, 5};
static const double plenty = 1e12;

static sattn_race_result run(machine *m, size_t incumbent, double budget_ns)
{
    return run_ranked(m, incumbent, budget_ns, in_order);
}

static machine reversed(const machine *m)
{
    machine other = *m;
    for (size_t c = 0; c < m->n; ++c)
        other.cost[c] = m->cost[m->n - 1 - c];
    return other;
}

/* ---- what wins */

static void test_fastest_wins(void **state)
{
    (void)state;
    machine m = {.n = 4, .cost = {100, 90, 140, 300}, .noise = 0.02, .seed = 1};
    sattn_race_result r = run(&m, 0, plenty);
    assert_int_equal(r.winner, 1);
    assert_true(r.is_complete && !r.is_tie && !r.is_tainted);
    assert_true(r.margin > 0.08 && r.margin < 0.14); /* over the default, the next */
    assert_true(r.spread > 0 && r.spread < r.margin);
    assert_true(r.lanes[3].dropped && r.lanes[3].rounds < r.rounds);
    assert_true(m.timed[3] <= 5); /* hopeless: not timed on and on */
    assert_true(r.lanes[0].behind.median > 1.08 && r.lanes[1].behind.median <= 1);
    assert_true(r.lanes[1].time_ns.median > 85 && r.lanes[1].time_ns.median < 95);
    sattn_race_free(&r);
    assert_null(r.lanes);
}

static void test_default_wins(void **state)
{
    (void)state;
    machine m = {.n = 3, .cost = {120, 100, 130}, .noise = 0.02, .seed = 2};
    sattn_race_result r = run(&m, 1, plenty);
    assert_int_equal(r.winner, 1);
    assert_true(r.is_complete && !r.is_tie);
    assert_true(r.margin > 0.15);
    sattn_race_free(&r);
}

static void test_alone(void **state)
{
    (void)state;
    machine m = {.n = 1, .cost = {100}, .seed = 3};
    sattn_race_result r = run(&m, 0, plenty);
    assert_true(r.winner == 0 && r.is_complete && !r.is_tie);
    assert_true(isnan(r.margin) && isnan(r.spread)); /* over nothing */
    assert_true(r.lanes[0].time_ns.n >= SATTN_STAT_LEAST);
    sattn_race_free(&r);
}

/* Equal candidates: a tie, which the default keeps, wherever it stands. */
static void test_equal_is_tie(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; ++seed)
        for (size_t incumbent = 0; incumbent < 3; ++incumbent) {
            machine m = {.n = 3, .cost = {100, 100, 100}, .noise = 0.03, .seed = seed};
            sattn_race_result r = run(&m, incumbent, plenty);
            assert_true(r.is_tie && r.winner == incumbent);
            sattn_race_free(&r);
        }
}

/* A gain smaller than what rounds differ in is none, but for a series of chances in 40. */
static void test_margin_below_spread_is_tie(void **state)
{
    (void)state;
    int ties = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        machine m = {.n = 2, .cost = {100, 98}, .noise = 0.2, .seed = seed};
        sattn_race_result r = run(&m, 0, plenty);
        ties += r.is_tie && r.winner == 0;
        sattn_race_free(&r);
    }
    assert_true(ties >= 38);
}

/* Of two that are as good as equal and clear of the default the one of lesser rank. */
static void test_ranks(void **state)
{
    (void)state;
    static const int other_way[] = {2, 1, 0};
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        machine m = {.n = 3, .cost = {100, 80, 80.1}, .noise = 0.02, .seed = seed};
        machine same = m;
        sattn_race_result r = run(&m, 0, plenty);
        assert_true(r.winner == 1 && !r.is_tie && r.is_complete);
        sattn_race_free(&r);
        r = run_ranked(&same, 0, plenty, other_way);
        assert_true(r.winner == 2 && !r.is_tie);
        sattn_race_free(&r);
    }
}

/* ---- D16: order, cold starts, drift, outliers, neighbours */

static void test_reversed_order(void **state)
{
    (void)state;
    static const double costs[][4] = {
        {100, 90, 95, 130}, {100, 99, 101, 100}, {100, 120, 80, 80.5}, {100, 97, 96, 95}};
    static const int ranks_reversed[] = {3, 2, 1, 0};
    int winners = 0;
    for (size_t k = 0; k < sizeof costs / sizeof costs[0]; ++k)
        for (uint64_t seed = 1; seed <= 25; ++seed) {
            machine m = {.n = 4, .noise = 0.02, .seed = seed, .cold = 1e5};
            memcpy(m.cost, costs[k], sizeof costs[k]);
            machine other = reversed(&m);
            other.seed += 1000; /* and other noise */
            sattn_race_result r = run(&m, 0, plenty);
            sattn_race_result s = run_ranked(&other, 3, plenty, ranks_reversed);
            assert_true(r.is_tie || s.is_tie ||
                        m.cost[r.winner] <= (1 + 2 * SATTN_RACE_EQUAL) * other.cost[s.winner]);
            if (k == 0 || k == 2)
                assert_int_equal(r.winner, 3 - s.winner);
            winners += !r.is_tie;
            sattn_race_free(&r);
            sattn_race_free(&s);
        }
    assert_true(winners >= 50);
}

static void test_cold_first_candidate(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        machine m = {.n = 2, .cost = {100, 110}, .noise = 0.02, .seed = seed, .cold = 1e6};
        sattn_race_result r = run(&m, 1, plenty);
        assert_true(r.winner == 0 && !r.is_tie);
        assert_int_equal(m.timed[0], r.lanes[0].rounds + 1); /* the first round does not count */
        assert_true(r.lanes[0].time_ns.p90 < 120 && r.lanes[1].time_ns.p90 < 130);
        sattn_race_free(&r);
    }
}

static void test_drift(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        machine m = {.n = 3, .cost = {100, 93, 101}, .noise = 0.02, .drift = 0.003, .seed = seed};
        sattn_race_result r = run(&m, 0, plenty);
        assert_true(r.winner == 1 && !r.is_tie);
        sattn_race_free(&r);
        machine equal = {.n = 2, .cost = {100, 100}, .noise = 0.02, .drift = 0.003, .seed = seed};
        r = run(&equal, 0, plenty);
        assert_true(r.winner == 0 && r.is_tie);
        sattn_race_free(&r);
    }
}

/* Windows that say nothing, one in 25, keep the faster from winning in hardly any race, and make no
 * winner. */
static void test_outliers(void **state)
{
    (void)state;
    int winners = 0, ties = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        machine m = {.n = 3, .cost = {100, 85, 120}, .noise = 0.02, .outliers = 0.04, .seed = seed};
        sattn_race_result r = run(&m, 0, plenty);
        assert_true(r.is_tie || r.winner == 1);
        winners += r.winner == 1;
        sattn_race_free(&r);
        machine equal = {.n = 2, .cost = {100, 100}, .noise = 0.02, .outliers = 0.04, .seed = seed};
        r = run(&equal, 0, plenty);
        ties += r.is_tie && r.winner == 0;
        sattn_race_free(&r);
    }
    assert_true(winners >= 18 && ties == 20);
}

/* A neighbour that takes the core away: the same winner or a tie, and a mark. */
static void test_busy_neighbour(void **state)
{
    (void)state;
    int winners = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        machine m = {.n = 3, .cost = {100, 85, 120}, .noise = 0.02, .preempted = 0.3, .seed = seed};
        sattn_race_result r = run(&m, 0, plenty);
        assert_true(r.is_tie || r.winner == 1);
        assert_true(r.is_tainted);
        winners += r.winner == 1;
        sattn_race_free(&r);
        machine all = {.n = 2, .cost = {100, 100}, .noise = 0.02, .preempted = 0.9, .seed = seed};
        r = run(&all, 0, plenty);
        assert_true(r.is_tie && r.is_tainted);
        sattn_race_free(&r);
    }
    assert_true(winners >= 10);
    machine never = {.n = 2, .cost = {100, 80}, .noise = 0.02, .preempted = 1, .seed = 1};
    sattn_race_result r = run(&never, 0, plenty); /* no clean round at all: nothing is known */
    assert_true(r.is_tie && r.is_tainted && !r.is_complete);
    assert_true(r.rounds == SATTN_RACE_ROUNDS && r.lanes[0].time_ns.n == r.rounds);
    sattn_race_free(&r);
}

static void test_disturbed_from_outside(void **state)
{
    (void)state;
    machine m = {.n = 2, .cost = {100, 80}, .noise = 0.02, .throttled = true, .seed = 5};
    sattn_race_result r = run(&m, 0, plenty);
    assert_true(r.winner == 1 && r.is_tainted);
    assert_true(r.lanes[1].time_ns.n < r.rounds); /* clean rounds alone, as there are enough */
    sattn_race_free(&r);
    machine quiet = {.n = 2, .cost = {100, 80}, .noise = 0.02, .seed = 5};
    r = run(&quiet, 0, plenty);
    assert_true(r.winner == 1 && !r.is_tainted);
    sattn_race_free(&r);
}

/* ---- ends */

static void test_budget_too_small(void **state)
{
    (void)state;
    static const double budgets[] = {0, 1, 3000, 18000}; /* a round takes 1800 */
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; ++b) {
        machine m = {.n = 2, .cost = {100, 80}, .seed = 6};
        sattn_race_result r = run(&m, 0, budgets[b]);
        assert_true(r.winner == 0 && r.is_tie && !r.is_complete);
        assert_true(m.now <= budgets[b] + 2 * 1800);
        sattn_race_free(&r);
    }
}

static void test_budget_between(void **state)
{
    (void)state;
    machine m = {.n = 2, .cost = {100, 99}, .noise = 0.1, .seed = 7};
    sattn_race_result r = run(&m, 0, 4e4);
    assert_true(!r.is_complete && r.rounds >= SATTN_STAT_LEAST);
    assert_true(m.now <= 4e4);
    sattn_race_free(&r);
}

static void test_stopped(void **state)
{
    (void)state;
    machine m = {.n = 2, .cost = {100, 80}, .seed = 8, .stop_after = 6};
    sattn_race_result r = run(&m, 0, plenty);
    assert_true(!r.is_complete && r.winner == 0 && r.is_tie);
    assert_true(m.windows <= 8);
    sattn_race_free(&r);
}

/* The same seed gives the same race. */
static void test_seed(void **state)
{
    (void)state;
    machine a = {.n = 3, .cost = {100, 95, 105}, .noise = 0.05, .seed = 9};
    machine b = a;
    sattn_race_result r = run(&a, 0, plenty), s = run(&b, 0, plenty);
    assert_true(r.winner == s.winner && r.rounds == s.rounds && a.windows == b.windows);
    assert_memory_equal(a.timed, b.timed, sizeof a.timed);
    sattn_race_free(&r);
    sattn_race_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fastest_wins),
        cmocka_unit_test(test_default_wins),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_equal_is_tie),
        cmocka_unit_test(test_margin_below_spread_is_tie),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_reversed_order),
        cmocka_unit_test(test_cold_first_candidate),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_busy_neighbour),
        cmocka_unit_test(test_disturbed_from_outside),
        cmocka_unit_test(test_budget_too_small),
        cmocka_unit_test(test_budget_between),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
