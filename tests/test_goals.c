/* SPDX-License-Identifier: MIT
 *
 * test_goals.c: the table of goals names what exists, preset limits runs what the table is about,
 * and the mark of a goal follows from the numbers of its rows. */
#include "bench/bench_goals.h"
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
        assert_int_equal(op->task->takes_arrays, shape->is_array);
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
            const bool is_less_better = goals[g].measure == SATTN_GOAL_NS;
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
            assert_int_equal(r.mark, SATTN_MARK_NOT_HERE); /* nothing has been run */
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

/* Peers stand beside every kind of data, on one thread, for each level; without peers nowhere. */
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
                assert_ptr_equal(variant->op, job->rows[0].variant->op);
            }
            for (int cap = 0; cap < SATTN_PEER_CAPS; ++cap)
                assert_int_equal(count[cap],
                                 peers ? SATTN_PEERS * job->n_data * levels_with(cap == 1) : 0);
        }
        sattn_bench_jobs_free(&list);
    }
}

/* ---- marks */

static sattn_stat stat_at(double value)
{
    double samples[8];
    for (int i = 0; i < 8; ++i)
        samples[i] = value * (1 + 1e-4 * i);
    return sattn_stat_of(samples, 8);
}

/* A row that has been measured, its share of the FMA loop being this. */
static void set_share(sattn_bench_row *row, double share)
{
    row->state = SATTN_ROW_MEASURED;
    for (int i = 0; i < SATTN_MEASURE_MAX_REFERENCES; ++i)
        row->measured.share[i] = sattn_stat_of(NULL, 0);
    row->kinds[0] = SATTN_LIMIT_FMA;
    row->measured.share[0] = stat_at(share);
}

static sattn_mark mark_of(const sattn_goal *goal, int isa, const sattn_bench_jobs *list)
{
    const sattn_caches caches = {.l2_bytes = 1 << 20, .l3_bytes = 32 << 20};
    return sattn_goal_judge(goal, isa, list, &caches).mark;
}

static sattn_bench_job one_job(sattn_bench_row *row, size_t n_rows, const char *shape, int isa)
{
    static const sattn_data data = {.name = "attention"};
    const sattn_shape *const s = sattn_shape_by_name(shape);
    for (size_t r = 0; r < n_rows; ++r) {
        row[r].variant = sattn_level_variant("fused", sattn_goal_isa(isa));
        row[r].threads = 1;
    }
    return (sattn_bench_job){.shape = s,
                             .task = &sattn_task_attention,
                             .data = &data,
                             .n_data = 1,
                             .cache = SATTN_WARM,
                             .rows = row,
                             .n_rows = n_rows};
}

static void test_marks_of_shares(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    const sattn_goal goal = {.workload = "w",
                             .op = "fused",
                             .shape = "square-1024-d64",
                             .cache = SATTN_WARM,
                             .measure = SATTN_GOAL_FMA,
                             .figures = {{80, 90, 0}, {70, 0, 0}}};
    const struct {
        double share;
        int isa;
        sattn_mark mark;
    } cases[] = {{0.79, 0, SATTN_MARK_BELOW},   {0.801, 0, SATTN_MARK_REACHED},
                 {0.95, 0, SATTN_MARK_STRETCH}, {0.69, 1, SATTN_MARK_BELOW},
                 {0.71, 1, SATTN_MARK_REACHED}, {0.99, 1, SATTN_MARK_REACHED}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        sattn_bench_row row = {.state = SATTN_ROW_PENDING};
        sattn_bench_job job = one_job(&row, 1, goal.shape, cases[c].isa);
        const sattn_bench_jobs list = {&job, 1};
        set_share(&row, cases[c].share);
        assert_int_equal(mark_of(&goal, cases[c].isa, &list), cases[c].mark);
        assert_int_equal(mark_of(&goal, 1 - cases[c].isa, &list),
                         (sattn_level_variant("fused", sattn_goal_isa(1 - cases[c].isa))->needs &
                          ~sattn_cpu_this()->usable)
                             ? SATTN_MARK_NOT_HERE
                             : SATTN_MARK_NOT_ASKED);
        row.state = SATTN_ROW_FAILED;
        assert_int_equal(mark_of(&goal, cases[c].isa, &list), SATTN_MARK_NOT_HERE);
    }
}

/* Open where the interval has the goal in it, wide where the rounds do not agree. */
static void test_open_and_wide(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    const sattn_goal goal = {.workload = "w",
                             .op = "fused",
                             .shape = "square-1024-d64",
                             .cache = SATTN_WARM,
                             .measure = SATTN_GOAL_FMA,
                             .figures = {{80, 0, 0}, {80, 0, 0}}};
    sattn_bench_row row = {.state = SATTN_ROW_PENDING};
    sattn_bench_job job = one_job(&row, 1, goal.shape, 0);
    const sattn_bench_jobs list = {&job, 1};
    const sattn_caches caches = {0};
    set_share(&row, 0.9);
    sattn_goal_result r = sattn_goal_judge(&goal, 0, &list, &caches);
    assert_true(!r.is_open && !r.is_wide);
    double samples[8] = {0.5, 0.6, 0.7, 0.79, 0.81, 0.9, 0.95, 0.99};
    row.measured.share[0] = sattn_stat_of(samples, 8);
    r = sattn_goal_judge(&goal, 0, &list, &caches);
    assert_true(r.is_open && r.is_wide && r.mark == SATTN_MARK_REACHED);
}

/* Distances are to the neighbour, in points of share; without it there is nothing to say. */
static void test_marks_of_points(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    const sattn_goal goal = {.workload = "w",
                             .op = "fused",
                             .shape = "square-1024-d40",
                             .cache = SATTN_WARM,
                             .measure = SATTN_GOAL_NEIGHBOUR,
                             .neighbour = "square-1024-d64",
                             .figures = {{-6, -3, 0}, {-6, -3, 0}}};
    sattn_bench_row rows[2] = {{.state = SATTN_ROW_PENDING}};
    sattn_bench_job jobs[2] = {one_job(&rows[0], 1, goal.shape, 0),
                               one_job(&rows[1], 1, goal.neighbour, 0)};
    const sattn_bench_jobs both = {jobs, 2}, alone = {jobs, 1};
    set_share(&rows[0], 0.80);
    set_share(&rows[1], 0.84);
    assert_int_equal(mark_of(&goal, 0, &both), SATTN_MARK_REACHED);
    assert_int_equal(mark_of(&goal, 0, &alone), SATTN_MARK_NOT_HERE);
    set_share(&rows[1], 0.81);
    assert_int_equal(mark_of(&goal, 0, &both), SATTN_MARK_STRETCH);
    set_share(&rows[1], 0.90);
    assert_int_equal(mark_of(&goal, 0, &both), SATTN_MARK_BELOW);
}

/* A figure for one level of cache is no figure for another. */
static void test_levels_of_cache(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    sattn_goal goal = {.workload = "w",
                       .op = "fused",
                       .shape = "square-1024-d64",
                       .cache = SATTN_WARM,
                       .measure = SATTN_GOAL_FMA,
                       .figures = {{50, 0, 0}, {50, 0, 0}}};
    sattn_bench_row row = {.state = SATTN_ROW_PENDING};
    sattn_bench_job job = one_job(&row, 1, goal.shape, 0);
    const sattn_bench_jobs list = {&job, 1};
    set_share(&row, 0.8);
    const struct {
        double bytes;
        bool is_l2, is_l3;
    } cases[] = {{1 << 19, true, false}, {1 << 21, false, true}, {1 << 25, false, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        row.whole.kv_bytes = cases[c].bytes;
        goal.level = SATTN_GOAL_ANYWHERE;
        assert_int_equal(mark_of(&goal, 0, &list), SATTN_MARK_REACHED);
        goal.level = SATTN_GOAL_L2;
        assert_int_equal(mark_of(&goal, 0, &list) == SATTN_MARK_REACHED, cases[c].is_l2);
        goal.level = SATTN_GOAL_L3;
        assert_int_equal(mark_of(&goal, 0, &list) == SATTN_MARK_REACHED, cases[c].is_l3);
    }
}

/* At avx2 what limits decides, at avx512 the read loop alone. */
static void test_tighter_bound(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    const sattn_goal goal = {.workload = "w",
                             .op = "fused",
                             .shape = "square-1024-d64",
                             .cache = SATTN_WARM,
                             .measure = SATTN_GOAL_READ,
                             .figures = {{80, 0, 0}, {80, 0, 0}}};
    for (int isa = 0; isa < SATTN_GOAL_ISAS; ++isa) {
        sattn_bench_row row = {.state = SATTN_ROW_PENDING};
        sattn_bench_job job = one_job(&row, 1, goal.shape, isa);
        const sattn_bench_jobs list = {&job, 1};
        set_share(&row, 0.9);
        row.kinds[3] = SATTN_LIMIT_READ;
        row.measured.share[3] = stat_at(0.6);
        assert_int_equal(mark_of(&goal, isa, &list),
                         isa == 1 ? SATTN_MARK_REACHED : SATTN_MARK_BELOW);
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
        cmocka_unit_test(test_table),           cmocka_unit_test(test_figures),
        cmocka_unit_test(test_neighbours),      cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_filter),          cmocka_unit_test(test_marks_of_shares),
        cmocka_unit_test(test_open_and_wide),   cmocka_unit_test(test_marks_of_points),
        cmocka_unit_test(test_levels_of_cache), cmocka_unit_test(test_tighter_bound),
        cmocka_unit_test(test_level_variants),  cmocka_unit_test(test_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
