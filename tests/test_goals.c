/* SPDX-License-Identifier: MIT
 *
 * test_goals.c: the table of goals names what exists, and preset limits runs what the table is
 * about. */
#include "bench/bench/bench_goals.h"
#include "bench/verbs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- the table */

static void test_table(void **state)
{
    (void)state;
    size_t n;
    const sattn_goal *const goals = sattn_goals(&n);
    assert_true(n >= 60);
    for (size_t g = 0; g < n; ++g) {
        const sattn_goal *const goal = &goals[g];
        const sattn_shape *const shape = sattn_shape_by_name(goal->shape);
        for (size_t other = 0; other < g; ++other)
            assert_string_not_equal(goal->workload, goals[other].workload);
        assert_non_null(shape);
        const sattn_bench_op *const op = sattn_bench_op_by_name(goal->op);
        assert_non_null(op);
        assert_int_equal(op->task->takes, shape->kind);
        assert_true(goal->cache == SATTN_WARM || goal->cache == SATTN_COLD);
        assert_true((goal->measure == SATTN_GOAL_EASY) == (goal->data != NULL));
        assert_true((goal->measure == SATTN_GOAL_NEIGHBOUR) == (goal->neighbour != NULL));
        assert_true(goal->measure != SATTN_GOAL_SPEEDUP || goal->threads > 1);
        if (goal->data)
            assert_true(sattn_input_from_name(goal->data) >= 0);
        if (goal->neighbour)
            assert_non_null(sattn_shape_by_name(goal->neighbour));
    }
}

/* A stretch is further than its goal; shares are percentages, distances are not above the easy
 * neighbour. */
static void test_figures(void **state)
{
    (void)state;
    size_t n;
    const sattn_goal *const goals = sattn_goals(&n);
    for (size_t g = 0; g < n; ++g)
        for (int isa = 0; isa < SATTN_GOAL_ISAS; ++isa) {
            const sattn_goal_figures *const f = &goals[g].figures[isa];
            const bool has_stretch = f->stretch < 0 || f->stretch > 0;
            const bool is_less_better = goals[g].measure == SATTN_GOAL_TIME;
            assert_true(f->goal < 0 || f->goal > 0);
            assert_true(!has_stretch ||
                        (is_less_better ? f->stretch < f->goal : f->stretch > f->goal));
            assert_true(f->peer == 0 || (f->peer >= 1 && f->peer < 3));
            if (goals[g].measure == SATTN_GOAL_FMA || goals[g].measure == SATTN_GOAL_READ)
                assert_true(f->goal > 0 && f->goal < 100 && f->stretch < 100);
            else if (strcmp(sattn_goal_unit(goals[g].measure), "points") == 0)
                assert_true(f->goal < 0);
        }
}

/* A neighbour is measured itself, in the same way. */
static void test_neighbours(void **state)
{
    (void)state;
    size_t n;
    const sattn_goal *const goals = sattn_goals(&n);
    for (size_t g = 0; g < n; ++g) {
        bool found = !goals[g].neighbour;
        for (size_t other = 0; other < n; ++other)
            found = found || (strcmp(goals[g].neighbour, goals[other].shape) == 0 &&
                              strcmp(goals[g].op, goals[other].op) == 0 &&
                              goals[g].cache == goals[other].cache);
        assert_true(found);
    }
}

/* ---- the jobs */

static sattn_bench_jobs select_with(const char *filter_text, int threads, bool peers)
{
    sattn_bench_options options = {.preset = SATTN_PRESET_LIMITS, .peers = peers};
    sattn_bench_filter filter;
    sattn_bench_jobs list = {0};
    sattn_thread_counts_add(&options.threads, 1);
    sattn_thread_counts_add(&options.threads, threads);
    assert_true(sattn_bench_filter_open(&filter, filter_text));
    const int code = sattn_bench_select_goals(&options, ~(sattn_features)0, &filter, &list);
    assert_int_equal(code, list.count > 0 ? SATTN_EXIT_GOOD : SATTN_EXIT_NOTHING);
    sattn_bench_filter_close(&filter);
    return list;
}

static bool levels_built(void)
{
    return sattn_isa_by_name("avx512") && sattn_isa_by_name("avx2");
}

/* Each goal has a row at each level; nothing runs twice; what has several threads comes last. */
static void test_jobs(void **state)
{
    (void)state;
    size_t n;
    const sattn_goal *const goals = sattn_goals(&n);
    if (!levels_built())
        skip();
    sattn_bench_jobs list = select_with(NULL, 2, false);
    const sattn_caches caches = {0};
    for (size_t g = 0; g < n; ++g)
        for (int isa = 0; isa < SATTN_GOAL_ISAS; ++isa) {
            const sattn_goal_result r = sattn_goal_judge(&goals[g], isa, &list, &caches);
            assert_non_null(r.row);
            assert_int_equal(r.row->threads, goals[g].threads ? goals[g].threads : 1);
            assert_int_equal(r.mark, SATTN_MARK_NOT_ASKED); /* nothing has been run */
            assert_true(!goals[g].neighbour || r.other);
        }
    bool had_several = false;
    for (size_t j = 0; j < list.count; ++j) {
        bool has_several = false;
        for (size_t r = 0; r < list.jobs[j].n_rows; ++r) {
            has_several = has_several || list.jobs[j].rows[r].threads > 1;
            for (size_t other = 0; other < r; ++other)
                assert_string_not_equal(list.jobs[j].rows[r].name, list.jobs[j].rows[other].name);
        }
        assert_true(has_several || !had_several);
        had_several = has_several;
    }
    assert_true(had_several);
    sattn_bench_jobs_free(&list);
}

/* Each goal's line is due once, when the last of its jobs is done; all are due in the end. */
static void test_ends(void **state)
{
    (void)state;
    size_t n, n_ended = 0;
    const sattn_goal *const goals = sattn_goals(&n);
    if (!levels_built())
        skip();
    sattn_bench_jobs list = select_with(NULL, 2, false);
    for (size_t j = 0; j < list.count; ++j) {
        assert_false(list.jobs[j].is_done);
        for (size_t g = 0; g < n; ++g)
            assert_false(sattn_goal_is_ended_by(&goals[g], &list, j));
        list.jobs[j].is_done = true;
        for (size_t g = 0; g < n; ++g) {
            if (!sattn_goal_is_ended_by(&goals[g], &list, j))
                continue;
            const sattn_caches caches = {0};
            const sattn_goal_result r = sattn_goal_judge(&goals[g], 0, &list, &caches);
            assert_int_equal(r.mark, SATTN_MARK_NOT_HERE); /* done without a number */
            ++n_ended;
        }
    }
    assert_int_equal(n_ended, n);
    sattn_bench_jobs_free(&list);
}

/* All jobs take less than ten minutes if each takes what it gets, or the first one far more; a
 * few rows do not take for ever. */
static void test_seconds(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    for (int peers = 0; peers < 2; ++peers)
        for (int late = 0; late < 2; ++late) {
            sattn_bench_jobs list = select_with(NULL, 2, peers == 1);
            double passed = 0;
            for (size_t j = 0; j < list.count; ++j) {
                const double part = sattn_bench_goals_seconds(&list, j, passed);
                assert_true(part > 0.3 * (double)list.jobs[j].n_rows);
                passed += late && j == 0 ? 100 : part;
            }
            assert_true(passed > 480 && passed < 570);
            sattn_bench_jobs_free(&list);
        }
    sattn_bench_jobs few = select_with("/vit-b32-50/", 1, false);
    assert_true(sattn_bench_goals_seconds(&few, 0, 0) < 10);
    assert_true(sattn_bench_goals_seconds(&few, 0, 1e6) == 0);
    sattn_bench_jobs_free(&few);
}

static void test_filter(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    sattn_bench_jobs list = select_with("^fused_avx2/vit-b32-50/", 1, false);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.jobs[0].n_rows, 1);
    assert_string_equal(list.jobs[0].rows[0].name, "fused_avx2/vit-b32-50/attention/warm/t1");
    sattn_bench_jobs_free(&list);
    list = select_with("nothing-is-called-so", 1, false);
    assert_int_equal(list.count, 0);
    sattn_bench_jobs_free(&list);
}

/* How many levels peers with such a cap (of those without one) can stand beside here. */
static size_t levels_with(bool has_cap)
{
    size_t n = 0;
    const char *cap;
    for (int isa = 0; isa < SATTN_GOAL_ISAS; ++isa)
        n += sattn_peers_match(sattn_goal_isa(isa), &cap) && (cap != NULL) == has_cap;
    return n;
}

/* Peers stand beside the first kind of data, on one thread, for each level; without peers nowhere.
 */
static void test_peers(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    for (int peers = 0; peers < 2; ++peers) {
        sattn_bench_jobs list = select_with(NULL, 2, peers == 1);
        for (size_t j = 0; j < list.count; ++j) {
            const sattn_bench_job *const job = &list.jobs[j];
            size_t count[SATTN_PEER_CAPS] = {0};
            for (size_t r = 0; r < job->n_rows; ++r) {
                const sattn_variant *const variant = job->rows[r].variant;
                if (!variant->peer)
                    continue;
                ++count[variant->cap != NULL];
                assert_int_equal(job->rows[r].threads, 1);
                assert_int_equal(job->rows[r].data, 0);
                assert_ptr_equal(variant->op, job->rows[0].variant->op);
            }
            for (int cap = 0; cap < SATTN_PEER_CAPS; ++cap)
                assert_int_equal(count[cap], peers ? SATTN_PEERS * levels_with(cap == 1) : 0);
        }
        sattn_bench_jobs_free(&list);
    }
}

/* ---- levels */

static void test_level_variants(void **state)
{
    (void)state;
    static const char *const ops[] = {"fused", "qk", "softmax", "av"};
    size_t n_isas;
    const sattn_isa *const isas = sattn_isas(&n_isas);
    for (size_t o = 0; o < 4; ++o)
        for (size_t i = 0; i < n_isas; ++i) {
            const sattn_variant *const v = sattn_level_variant(ops[o], isas[i].name);
            assert_true((v != NULL) == (isas[i].needs != SATTN_ISA_SCALAR));
            if (!v)
                continue;
            assert_ptr_equal(v, sattn_level_variant(ops[o], isas[i].name));
            assert_string_equal(v->op->name, ops[o]);
            assert_string_equal(v->isa, isas[i].name);
            assert_true(v->needs == isas[i].needs && v->kernels[0] == '\0');
            assert_null(sattn_variant_by_name(v->name)); /* no name of the command line */
        }
    assert_null(sattn_level_variant("exp", "avx2"));
    assert_null(sattn_level_variant("fused", "scalar"));
    assert_null(sattn_level_variant("fused", "mmx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_figures),
        cmocka_unit_test(test_neighbours),     cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_ends),           cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_filter),         cmocka_unit_test(test_peers),
        cmocka_unit_test(test_level_variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
