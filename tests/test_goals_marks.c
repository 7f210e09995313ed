/* SPDX-License-Identifier: MIT
 *
 * test_goals_marks.c: the mark of a goal follows from the numbers of its rows. */
#include "bench/bench/bench_goals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool levels_built(void)
{
    return sattn_isa_by_name("avx512") && sattn_isa_by_name("avx2");
}

/* 80 percent of the FMA loop, at both levels. */
static const sattn_goal share_goal = {.workload = "w",
                                      .op = "fused",
                                      .shape = "square-1024-d64",
                                      .cache = SATTN_WARM,
                                      .measure = SATTN_GOAL_FMA,
                                      .figures = {{80, 0, 0}, {80, 0, 0}}};

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
                             .is_done = true,
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
    sattn_goal goal = share_goal;
    goal.figures[0] = (sattn_goal_figures){80, 90, 0};
    goal.figures[1] = (sattn_goal_figures){70, 0, 0};
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
    const sattn_goal goal = share_goal;
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

/* What has not been run says nothing. */
static void test_not_run(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    const sattn_goal goal = share_goal;
    sattn_bench_row row = {.state = SATTN_ROW_PENDING};
    sattn_bench_job job = one_job(&row, 1, goal.shape, 0);
    const sattn_bench_jobs list = {&job, 1};
    const sattn_caches caches = {0};
    job.is_done = false;
    const sattn_goal_result r = sattn_goal_judge(&goal, 0, &list, &caches);
    assert_int_equal(r.mark, SATTN_MARK_NOT_ASKED);
    assert_string_equal(r.why, "");
}

/* More threads than there are CPUs: absent where the row of one thread was run, else not asked for.
 */
static void test_too_many_threads(void **state)
{
    (void)state;
    const bool is_usable = sattn_isa_by_name("avx512") &&
                           !(sattn_isa_by_name("avx512")->needs & ~sattn_cpu_this()->usable);
    if (!is_usable)
        skip();
    sattn_goal goal = share_goal;
    goal.measure = SATTN_GOAL_SPEEDUP;
    goal.figures[0] = (sattn_goal_figures){1.8, 0, 0};
    goal.figures[1] = (sattn_goal_figures){1.8, 0, 0};
    goal.threads = 1 << 20;
    sattn_bench_row row = {.state = SATTN_ROW_PENDING};
    sattn_bench_job job = one_job(&row, 1, goal.shape, 0);
    const sattn_bench_jobs list = {&job, 1};
    const sattn_caches caches = {0};
    set_share(&row, 0.8);
    const sattn_goal_result here = sattn_goal_judge(&goal, 0, &list, &caches);
    assert_int_equal(here.mark, SATTN_MARK_NOT_HERE);
    assert_true(*here.why != '\0');
    assert_int_equal(sattn_goal_judge(&goal, 1, &list, &caches).mark, SATTN_MARK_NOT_ASKED);
}

/* Hard numbers beside easy ones: by the ratios within rounds, whatever both shares spread. */
static void test_points_behind_easy(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    sattn_goal goal = share_goal;
    goal.measure = SATTN_GOAL_EASY;
    goal.data = "large30";
    goal.figures[0] = (sattn_goal_figures){-2, 0, 0};
    goal.figures[1] = (sattn_goal_figures){-2, 0, 0};
    static const sattn_data data[2] = {{.name = "normal"}, {.name = "large30"}};
    const struct {
        double low, high; /* slowdown */
        sattn_mark mark;
        bool is_open;
    } cases[] = {{1.00, 1.01, SATTN_MARK_REACHED, false},
                 {1.01, 1.03, SATTN_MARK_REACHED, true},
                 {1.02, 1.06, SATTN_MARK_BELOW, true},
                 {1.05, 1.06, SATTN_MARK_BELOW, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        sattn_bench_row rows[2] = {{.state = SATTN_ROW_PENDING}, {.data = 1}};
        sattn_bench_job job = one_job(rows, 2, goal.shape, 0);
        job.data = data;
        job.n_data = 2;
        double wild[8] = {0.6, 0.7, 0.75, 0.79, 0.81, 0.85, 0.9, 0.95}, slow[8];
        for (int i = 0; i < 8; ++i)
            slow[i] = cases[c].low + (cases[c].high - cases[c].low) * i / 7;
        set_share(&rows[0], 0.8);
        set_share(&rows[1], 0.5);
        rows[0].measured.share[0] = sattn_stat_of(wild, 8);
        rows[1].slowdown = sattn_stat_of(slow, 8);
        const sattn_bench_jobs list = {&job, 1};
        const sattn_caches caches = {0};
        const sattn_goal_result r = sattn_goal_judge(&goal, 0, &list, &caches);
        const double middle = 80 / ((cases[c].low + cases[c].high) / 2) - 80;
        assert_int_equal(r.mark, cases[c].mark);
        assert_true(r.is_open == cases[c].is_open && !r.is_wide);
        assert_true(r.value.median > middle - 0.01 && r.value.median < middle + 0.01);
        assert_true(r.value.p10 < r.value.median && r.value.p90 > r.value.median);
    }
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
    /* Widths of both add in squares: 3 and 4 are 5. The distance is -5, and its goal within that.
     */
    rows[0].measured.share[0] = (sattn_stat){0.80, 0.77, 0.83, 0.79, 0.81, 99};
    rows[1].measured.share[0] = (sattn_stat){0.85, 0.81, 0.89, 0.84, 0.86, 99};
    const sattn_caches caches = {0};
    const sattn_goal_result r = sattn_goal_judge(&goal, 0, &both, &caches);
    assert_true(r.value.p10 > -10.01 && r.value.p10 < -9.99);
    assert_true(r.value.p90 > -0.01 && r.value.p90 < 0.01);
    assert_true(r.is_open && r.is_wide && r.mark == SATTN_MARK_REACHED);
}

/* A figure for one level of cache is no figure for another. */
static void test_levels_of_cache(void **state)
{
    (void)state;
    if (!levels_built())
        skip();
    sattn_goal goal = share_goal;
    goal.figures[0] = (sattn_goal_figures){50, 0, 0};
    goal.figures[1] = (sattn_goal_figures){50, 0, 0};
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
    sattn_goal goal = share_goal;
    goal.measure = SATTN_GOAL_READ;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_of_shares),
        cmocka_unit_test(test_open_and_wide),
        cmocka_unit_test(test_not_run),
        cmocka_unit_test(test_too_many_threads),
        cmocka_unit_test(test_points_behind_easy),
        cmocka_unit_test(test_marks_of_points),
        cmocka_unit_test(test_levels_of_cache),
        cmocka_unit_test(test_tighter_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
