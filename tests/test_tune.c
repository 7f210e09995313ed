/* SPDX-License-Identifier: MIT
 *
 * test_tune.c: which classes are tuned, that a kernel which is fast because it is wrong is never
 * chosen (D17), and how a run ends. No check depends on how long anything takes. */
#include "bench/measure/issue.h"
#include "bench/tune/regret.h"
#include "bench/tune/regret_shapes.h"
#include "bench/tune/tune_corners.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sattn_tune_options defaults(void)
{
    return (sattn_tune_options){.threads = {.of = {1}, .n = 1}, .budget_s = 1, .seed = 1};
}

static sattn_features usable(void)
{
    sattn_overrides overrides;
    assert_int_equal(sattn_overrides_get(NULL, &overrides), SATTN_OK);
    return overrides.usable;
}

static sattn_tune_jobs all_jobs(void)
{
    const sattn_tune_options options = defaults();
    sattn_tune_jobs jobs;
    assert_int_equal(sattn_tune_select(&options, usable(), &jobs), SATTN_EXIT_GOOD);
    return jobs;
}

/* ---- classes */

/* Every class of the presets models and decode, first, and no class twice. */
static void test_jobs_cover_the_models(void **state)
{
    (void)state;
    size_t n_shapes;
    int n_models = 0, n_covered = 0;
    const sattn_shape *const shapes = sattn_shapes(&n_shapes);
    sattn_tune_jobs jobs = all_jobs();
    for (size_t s = 0; s < n_shapes; ++s) {
        if (!(shapes[s].presets & (SATTN_PRESET_MODELS | SATTN_PRESET_DECODE)))
            continue;
        const sattn_shape_class c = sattn_tune_class_of(SATTN_OP_fused, &shapes[s], 1);
        size_t found = jobs.count;
        for (size_t j = 0; j < jobs.count; ++j)
            if (sattn_class_key(&jobs.jobs[j].shape_class) == sattn_class_key(&c))
                found = j;
        assert_true(found < jobs.count && jobs.jobs[found].tier == SATTN_TUNE_MODELS);
        ++n_models;
    }
    for (size_t j = 0; j < jobs.count; ++j) {
        n_covered += jobs.jobs[j].tier == SATTN_TUNE_MODELS ? jobs.jobs[j].n_shapes : 0;
        assert_true(j == 0 || jobs.jobs[j].tier >= jobs.jobs[j - 1].tier);
        assert_int_equal(jobs.jobs[j].usable, usable());
        for (size_t other = 0; other < j; ++other)
            assert_true(sattn_class_key(&jobs.jobs[j].shape_class) !=
                        sattn_class_key(&jobs.jobs[other].shape_class));
    }
    assert_true(n_models > 50 && n_covered == n_models);
    sattn_tune_jobs_free(&jobs);
}

static void test_every_op_has_jobs(void **state)
{
    (void)state;
    int of_op[SATTN_OP_COUNT] = {0}, strided = 0, lengths = 0;
    sattn_tune_jobs jobs = all_jobs();
    for (size_t j = 0; j < jobs.count; ++j) {
        ++of_op[jobs.jobs[j].op];
        strided += jobs.jobs[j].shape_class.is_strided;
        if (jobs.jobs[j].tier != SATTN_TUNE_LENGTHS)
            continue;
        ++lengths;
        assert_int_equal(jobs.jobs[j].shape_class.phase, SATTN_PHASE_DECODE);
    }
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        assert_true(of_op[op] > 0);
    assert_true(strided > 0 && lengths > 30);
    sattn_tune_jobs_free(&jobs);
}

/* What is measured of a shape is of its class, has work for all threads, and no more heads. */
static void test_part_is_of_the_class(void **state)
{
    (void)state;
    sattn_tune_jobs jobs = all_jobs();
    for (size_t j = 0; j < jobs.count; ++j) {
        for (int threads = 1; threads <= 2; ++threads) {
            sattn_tune_job job = jobs.jobs[j];
            job.threads = threads;
            const int64_t heads = sattn_tune_heads(&job), all = job.shape.n_kv_heads;
            assert_true(heads >= (all < threads ? all : threads) && heads <= all);
            sattn_shape part = job.shape;
            part.batch = 1;
            part.n_q_heads = heads * (part.n_q_heads / part.n_kv_heads);
            part.n_kv_heads = heads;
            const sattn_shape_class c = sattn_tune_class_of(job.op, &part, 1);
            if (!job.shape.is_interleaved) /* others are parts with the strides of all */
                assert_true(sattn_class_key(&c) == sattn_class_key(&jobs.jobs[j].shape_class));
        }
    }
    sattn_tune_jobs_free(&jobs);
}

/* Each class has its corners, of odd extents. */
static void test_corners(void **state)
{
    (void)state;
    sattn_tune_jobs jobs = all_jobs();
    for (size_t j = 0; j < jobs.count; ++j)
        for (int corner = 0; corner < SATTN_TUNE_CORNERS; ++corner) {
            const sattn_tune_job *const job = &jobs.jobs[j];
            sattn_shape s;
            assert_true(
                sattn_tune_corner(job, corner, &s)); /* which says that it is of the class */
            assert_true(s.batch == 1 && s.n_kv_heads <= 2);
            assert_true(s.n_k % 2 == 1 || job->shape_class.keys_log2 == 1);
            if (job->shape_class.d_log2 > 1)
                assert_int_equal(s.d % 2, 1);
        }
    sattn_tune_jobs_free(&jobs);
}

/* Elsewhere inside a class are shapes that are of it; and where queries are few, of them one that
 * caches hold and one that none does. */
static void test_inside(void **state)
{
    (void)state;
    sattn_tune_jobs jobs = all_jobs();
    int n_inside = 0;
    for (size_t j = 0; j < jobs.count; ++j) {
        const sattn_tune_job *const job = &jobs.jobs[j];
        double bytes[SATTN_TUNE_INSIDE] = {0};
        for (int which = 0; which < SATTN_TUNE_INSIDE; ++which) {
            sattn_tune_job inside;
            if (!sattn_tune_inside(job, which, &inside)) /* which says that it is of the class */
                continue;
            const sattn_shape *const s = &inside.shape;
            assert_int_equal(sattn_tune_heads(&inside), s->n_kv_heads);
            bytes[which] = 4.0 * (double)s->batch * (double)s->n_kv_heads * (double)s->n_k *
                           (double)(s->d + s->d_v);
            ++n_inside;
        }
        if (job->op == SATTN_OP_fused && job->shape_class.phase != SATTN_PHASE_PREFILL)
            assert_true(bytes[1] >= 80e6 && bytes[0] < bytes[1]);
    }
    assert_true((size_t)n_inside > 3 * jobs.count / 2);
    sattn_tune_jobs_free(&jobs);
}

static void test_only_what_is_asked_for(void **state)
{
    (void)state;
    char error[160];
    const char *const known[] = {"one-key", "array-64", "map-32x512-512-packed"};
    sattn_tune_options options = defaults();
    sattn_tune_jobs jobs;
    assert_true(sattn_name_list_set(&options.shapes, "one-key", known, 2, error, sizeof error));
    assert_int_equal(sattn_tune_select(&options, usable(), &jobs), SATTN_EXIT_GOOD);
    assert_int_equal(jobs.count, 1);
    assert_int_equal(jobs.jobs[0].op, SATTN_OP_fused);
    sattn_tune_jobs_free(&jobs);
    assert_true(sattn_name_list_set(&options.shapes, "array-64", known, 2, error, sizeof error));
    assert_int_equal(sattn_tune_select(&options, usable(), &jobs), SATTN_EXIT_GOOD);
    assert_int_equal(jobs.count, 3); /* exp, tanh and sigmoid */
    sattn_tune_jobs_free(&jobs);
    assert_true(sattn_name_list_set(&options.shapes, "map-32x512-512-packed", known, 3, error,
                                    sizeof error));
    assert_int_equal(sattn_tune_select(&options, usable(), &jobs), SATTN_EXIT_GOOD);
    assert_int_equal(jobs.count, 1);
    assert_int_equal(jobs.jobs[0].op, SATTN_OP_linear);
    assert_true(jobs.jobs[0].shape_class.is_packed);
    sattn_tune_jobs_free(&jobs);
    sattn_tune_options_free(&options);
}

/* ---- a clock of its own */

static const sattn_kernel *real_kernel; /* that fakes call */

/* Time that does not pass: all are judged, however slow the machine. */
static int64_t standing(void)
{
    return 0;
}

/* Nanoseconds of a call: of the default, and of the one fake in its first calls, then in all. */
static struct {
    double standard, fake;
    double first[2];
    bool is_tainted; /* the first two */
    int n;
} cost = {.standard = 100e3, .fake = 100e3};

static bool was_fake;

static void note_fake(const sattn_fused_args *args)
{
    was_fake = true;
    real_kernel->fn.fused(args);
}

static sattn_race_window time_by_cost(const sattn_measure_candidate *measured, int64_t calls)
{
    was_fake = false;
    for (int64_t call = 0; call < calls; ++call)
        measured->call(measured->context);
    if (!was_fake)
        return (sattn_race_window){.ns = cost.standard};
    const int n = cost.n++;
    return (sattn_race_window){.ns = n < 2 && cost.first[n] > 0 ? cost.first[n] : cost.fake,
                               .is_tainted = n < 2 && cost.is_tainted};
}

/* ---- D17 */

static void skip_tail(const sattn_fused_args *args)
{
    sattn_fused_args less = *args;
    less.j1 = less.j1 / 16 * 16;
    less.visible.n_k = less.j1;
    real_kernel->fn.fused(&less);
}

static void do_nothing(const sattn_fused_args *args)
{
    (void)args;
}

static sattn_tune_job job_of(const char *shape)
{
    return sattn_tune_job_of(SATTN_OP_fused, sattn_shape_by_name(shape), NULL, usable(), 1);
}

/* The default, and the fakes after it. */
static void with_fakes(const sattn_tune_job *job, sattn_tune_recipes *recipes, sattn_kernel *fakes,
                       size_t n_fakes)
{
    char error[256];
    assert_true(sattn_tune_list_recipes(job, recipes, error, sizeof error));
    real_kernel = recipes->list[0].kernels[SATTN_OP_fused];
    assert_non_null(real_kernel);
    for (size_t f = 0; f < n_fakes; ++f) {
        fakes[f].needs = real_kernel->needs;
        fakes[f].tile_rows = real_kernel->tile_rows;
        recipes->list[1 + f] = (sattn_recipe){.computation = SATTN_COMPUTE_FUSED};
        recipes->list[1 + f].kernels[SATTN_OP_fused] = &fakes[f];
    }
}

static sattn_tune_outcome tune(const sattn_tune_job *job, const sattn_tune_recipes *recipes,
                               size_t count, double max_error)
{
    sattn_tune_outcome outcome;
    const sattn_tune_setting setting = {
        .seconds = 1, .max_error = max_error, .seed = 1, .now_ns = standing, .time = time_by_cost};
    sattn_tune_run(job, recipes->list, count, &setting, &outcome);
    return outcome;
}

static void check_found_wrong(const sattn_tune_job *job, const sattn_tune_recipes *recipes,
                              bool by_corner)
{
    sattn_tune_outcome outcome = tune(job, recipes, 3, 0);
    assert_string_equal(outcome.error, "");
    assert_false(outcome.failed);
    assert_int_equal(outcome.entry.n_tried, 3);
    assert_int_equal(outcome.entry.taken, 0);
    assert_true(outcome.entry.tried[0].is_admitted);
    for (size_t c = 1; c < 3; ++c) {
        assert_false(outcome.entry.tried[c].is_admitted);
        assert_int_equal(outcome.notes[c].verdict, SATTN_TUNE_REJECTED);
        assert_non_null(strstr(outcome.notes[c].why, "wrong"));
    }
    if (by_corner) /* right where it is timed */
        assert_non_null(strstr(outcome.notes[2].why, "corner"));
    sattn_tune_outcome_free(&outcome);
}

/* What does nothing comes behind the default, whose output it must not be credited with. 128 keys
 * have no tail: only a corner of the class shows what is wrong. */
static void test_wrong_kernel_is_never_chosen(void **state)
{
    (void)state;
    static const char *const shapes[] = {"square-128-d64", "vit-b32-50", "one-key"};
    sattn_kernel fakes[] = {
        {.op = SATTN_OP_fused, .name = "sattn_fused_f32_nothing", .fn = {.fused = do_nothing}},
        {.op = SATTN_OP_fused, .name = "sattn_fused_f32_no_tail", .fn = {.fused = skip_tail}},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        const sattn_tune_job job = job_of(shapes[s]);
        sattn_tune_recipes recipes;
        with_fakes(&job, &recipes, fakes, 2);
        check_found_wrong(&job, &recipes, s == 0);
    }
}

static int64_t wrong_row; /* of a tile */

/* One row of each tile is a little off, neither the first nor the last. */
static void spoil_rows(const sattn_fused_args *args)
{
    real_kernel->fn.fused(args);
    for (int64_t i = args->i0; i < args->i1; ++i)
        for (int64_t g = 0; g < args->n_group; ++g)
            if ((i * args->n_group + g) % real_kernel->tile_rows == wrong_row)
                args->o[g * args->o_group_stride + i * args->o_stride] += 0.01f;
}

/* Whatever the seed, and whichever head of a group the row is of. */
static void test_wrong_rows_within_tiles(void **state)
{
    (void)state;
    static const char *const shapes[] = {"square-128-d64", "vit-b16-197", "gqa-384"};
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_rows", .fn = {.fused = spoil_rows}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        const sattn_tune_job job = job_of(shapes[s]);
        sattn_tune_recipes recipes;
        with_fakes(&job, &recipes, &fake, 1);
        wrong_row = real_kernel->tile_rows / 2 + (int64_t)s - 1;
        if (real_kernel->tile_rows < 8) /* plain C takes one row after the other */
            continue;
        sattn_tune_outcome outcome = tune(&job, &recipes, 2, 0);
        assert_true(outcome.entry.tried[0].is_admitted);
        assert_int_equal(outcome.notes[1].verdict, SATTN_TUNE_REJECTED);
        assert_non_null(strstr(outcome.notes[1].why, "wrong"));
        assert_null(strstr(outcome.notes[1].why, "corner")); /* it is seen where it is timed */
        sattn_tune_outcome_free(&outcome);
    }
}

/* Between the tiles that are compared whole, and away from the edges of others. */
static void spoil_the_middle(const sattn_fused_args *args)
{
    real_kernel->fn.fused(args);
    for (int64_t i = 83; i < 89 && args->i1 == 197; ++i)
        args->o[i * args->o_stride] += 0.01f;
}

/* Of the other rows some are compared, and with each seed others. */
static void test_seed_chooses_rows(void **state)
{
    (void)state;
    enum { SEEDS = 12 };
    const sattn_tune_job job = job_of("vit-b16-197");
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_middle", .fn = {.fused = spoil_the_middle}};
    sattn_tune_recipes recipes;
    int n_found = 0;
    with_fakes(&job, &recipes, &fake, 1);
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        sattn_tune_field field;
        char error[256];
        assert_true(sattn_tune_field_open(&field, &job, recipes.list, 2, error, sizeof error));
        field.time = time_by_cost;
        field.seed = seed;
        assert_true(sattn_tune_admit(&field, 0));
        n_found += field.list[1].verdict == SATTN_TUNE_REJECTED;
        sattn_tune_field_close(&field);
    }
    assert_in_range(n_found, 1, SEEDS - 1);
}

/* ---- what is slow */

static void run_often(const sattn_fused_args *args)
{
    for (int time = 0; time < 50; ++time)
        real_kernel->fn.fused(args);
}

/* What is fifty times as slow as the default is admitted where its time is the question. */
static void test_must_race(void **state)
{
    (void)state;
    const sattn_tune_job job = job_of("vit-b32-50");
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_fake", .fn = {.fused = run_often}};
    sattn_tune_recipes recipes;
    sattn_tune_field field;
    char error[256];
    with_fakes(&job, &recipes, &fake, 1);
    assert_true(sattn_tune_field_open(&field, &job, recipes.list, 2, error, sizeof error));
    field.list[1].must_race = true;
    assert_true(sattn_tune_admit(&field, 0));
    assert_int_equal(field.list[0].verdict, SATTN_TUNE_ADMITTED);
    assert_int_equal(field.list[1].verdict, SATTN_TUNE_ADMITTED);
    sattn_tune_field_close(&field);
}

/* ---- first calls */

static void check_first_calls(sattn_tune_verdict verdict, int most_probes)
{
    const sattn_tune_job job = job_of("vit-b32-50");
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_fake", .fn = {.fused = note_fake}};
    const sattn_tune_setting setting = {
        .seconds = 1, .seed = 1, .now_ns = standing, .time = time_by_cost};
    sattn_tune_recipes recipes;
    sattn_tune_outcome outcome;
    with_fakes(&job, &recipes, &fake, 1);
    recipes.list[1].rest_kernel = recipes.list[0].rest_kernel;
    sattn_tune_run(&job, recipes.list, 2, &setting, &outcome);
    assert_string_equal(outcome.error, "");
    assert_int_equal(outcome.notes[1].verdict, verdict);
    if (verdict == SATTN_TUNE_TOO_SLOW)
        assert_true(outcome.entry.tried[1].samples >= 2 &&
                    outcome.entry.tried[1].samples <= most_probes);
    sattn_tune_outcome_free(&outcome);
}

/* One unlucky call sets nothing aside, nor do preempted ones; what is slow each time is. */
static void test_unlucky_first_call(void **state)
{
    (void)state;
    cost.n = 0, cost.standard = cost.fake = 65e3, cost.first[0] = 744e3;
    check_first_calls(SATTN_TUNE_ADMITTED, 0);
    cost.n = 0, cost.first[1] = 200e3;
    check_first_calls(SATTN_TUNE_ADMITTED, 0);
    cost.n = 0, cost.first[0] = cost.first[1] = 744e3, cost.is_tainted = true;
    check_first_calls(SATTN_TUNE_ADMITTED, 0);
    cost.n = 0, cost.first[0] = cost.first[1] = 0, cost.is_tainted = false, cost.fake = 744e3;
    check_first_calls(SATTN_TUNE_TOO_SLOW, 2);
    cost.n = 0, cost.fake = 130e3;
    check_first_calls(SATTN_TUNE_TOO_SLOW, SATTN_TUNE_PROBES);
}

/* ---- the rest of a class */

/* What becomes elsewhere of a fake that has won on the shape of the job. */
static sattn_tune_outcome confirmed_as(const sattn_tune_job *job, const sattn_tune_job *elsewhere)
{
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_fake", .fn = {.fused = note_fake}};
    const sattn_tune_setting setting = {
        .seconds = 1, .seed = 1, .now_ns = standing, .time = time_by_cost};
    sattn_tune_recipes recipes;
    with_fakes(job, &recipes, &fake, 1);
    recipes.list[1].rest_kernel = recipes.list[0].rest_kernel;
    sattn_tried tried[2] = {{.recipe = recipes.list[0], .is_admitted = true},
                            {.recipe = recipes.list[1], .is_admitted = true}};
    sattn_tune_outcome outcome = {.entry = {.shape_class = job->shape_class,
                                            .usable = job->usable,
                                            .is_complete = true,
                                            .n_tried = 2,
                                            .tried = tried,
                                            .taken = 1}};
    sattn_tune_confirm(elsewhere, &setting, &outcome);
    outcome.entry.tried = NULL;
    return outcome;
}

static sattn_tune_outcome confirmed(const sattn_tune_job *job)
{
    return confirmed_as(job, job);
}

/* What takes twice as long as the default elsewhere is not taken; what takes less is. */
static void test_winner_has_to_hold_elsewhere(void **state)
{
    (void)state;
    const sattn_tune_job job = job_of("vit-b32-50");
    cost.standard = 100e3, cost.fake = 200e3;
    const sattn_tune_outcome slow = confirmed(&job);
    assert_true(slow.entry.taken == 0 && slow.entry.is_complete);
    assert_int_equal(slow.entry.kept, SATTN_KEPT_SLOWER_ELSEWHERE);
    assert_non_null(strstr(slow.kept, "100 % slower at B=1 H=2 Tq="));
    cost.fake = 50e3;
    const sattn_tune_outcome fast = confirmed(&job);
    assert_true(fast.entry.taken == 1 && fast.entry.is_complete);
    assert_string_equal(fast.kept, "");
}

/* Where the calls are refused elsewhere, another run would be no wiser: the default stays, and that
 * is final. */
static void test_refused_elsewhere(void **state)
{
    (void)state;
    const sattn_tune_job job = job_of("vit-b32-50");
    cost.standard = 100e3, cost.fake = 50e3;
    sattn_tune_job refused = job;
    refused.isa = "no-such-level";
    const sattn_tune_outcome outcome = confirmed_as(&job, &refused);
    assert_true(outcome.entry.taken == 0 && outcome.entry.is_complete);
    assert_int_equal(outcome.entry.kept, SATTN_KEPT_UNCONFIRMED);
    assert_non_null(strstr(outcome.kept, "is faster here, but"));
    assert_non_null(strstr(outcome.kept, "no-such-level"));
}

/* ---- ends of a run */

/* Only what is measured to stay within it is admitted, be it the default. */
static void test_max_error(void **state)
{
    (void)state;
    const sattn_tune_job job = job_of("vit-b32-50");
    sattn_tune_recipes recipes;
    char error[256];
    assert_true(sattn_tune_list_recipes(&job, &recipes, error, sizeof error));
    sattn_tune_outcome none = tune(&job, &recipes, recipes.count, 1e-6);
    assert_non_null(strstr(none.error, "nothing was admitted"));
    assert_true(none.is_none_admitted);
    assert_false(none.failed); /* not exact enough is not wrong */
    for (size_t c = 0; c < none.entry.n_tried; ++c) {
        assert_false(none.entry.tried[c].is_admitted);
        assert_non_null(strstr(none.notes[c].why, "--max-error"));
    }
    sattn_tune_outcome_free(&none);
    sattn_tune_outcome all = tune(&job, &recipes, recipes.count, 0);
    const double least = all.entry.tried[0].error;
    assert_true(least > 0 && least <= all.entry.tried[0].error_bound);
    sattn_tune_outcome_free(&all);
    sattn_tune_outcome exact = tune(&job, &recipes, recipes.count, least);
    assert_string_equal(exact.error, "");
    assert_true(exact.entry.tried[exact.entry.taken].error <= least);
    assert_true(exact.entry.max_error >= least && exact.entry.max_error <= least);
    sattn_tune_outcome_free(&exact);
}

static bool always(void)
{
    return true;
}

static int n_calls;

static void count_call(const sattn_fused_args *args)
{
    ++n_calls;
    real_kernel->fn.fused(args);
}

static sattn_tune_outcome tune_counted(const sattn_tune_setting *setting)
{
    const sattn_tune_job job = job_of("vit-b32-50");
    sattn_kernel fake = {
        .op = SATTN_OP_fused, .name = "sattn_fused_f32_counted", .fn = {.fused = count_call}};
    sattn_tune_recipes recipes;
    sattn_tune_outcome outcome;
    with_fakes(&job, &recipes, &fake, 1);
    recipes.list[1].rest_kernel = recipes.list[0].rest_kernel;
    n_calls = 0;
    sattn_tune_run(&job, recipes.list, 2, setting, &outcome);
    return outcome;
}

/* Stopped at once: nothing is called any more, and the class is not complete. */
static void test_stopped(void **state)
{
    (void)state;
    const sattn_tune_setting setting = {.seconds = 60, .is_stopped = always};
    sattn_tune_outcome outcome = tune_counted(&setting);
    assert_string_equal(outcome.error, "");
    assert_true(!outcome.entry.is_complete && outcome.entry.taken == 0 && outcome.rounds == 0);
    assert_int_equal(n_calls, 0);
    sattn_tune_outcome_free(&outcome);
}

static int64_t fake_ns, tick_ns;

static int64_t ticking(void)
{
    return fake_ns += tick_ns;
}

/* Judging candidates ends when their time does, whatever it is that takes long. */
static void test_out_of_time(void **state)
{
    (void)state;
    const sattn_tune_setting setting = {.seconds = 1, .now_ns = ticking};
    for (tick_ns = 1100000000; tick_ns > 100000000; tick_ns /= 2) {
        sattn_tune_outcome outcome = tune_counted(&setting);
        assert_string_equal(outcome.error, "");
        assert_false(outcome.failed);
        assert_true(!outcome.entry.is_complete && outcome.rounds == 0);
        assert_int_equal(outcome.notes[1].verdict, SATTN_TUNE_PENDING);
        sattn_tune_outcome_free(&outcome);
    }
}

static int shared_looks; /* at the core, from now on, that find another thread on it */

static double width_of_script(void)
{
    return shared_looks-- > 0 ? 3 : 6;
}

static int64_t script_ns;

static int64_t now_of_script(void)
{
    return script_ns;
}

static int64_t later(void)
{
    return script_ns += SATTN_ISSUE_FRESH_NS;
}

/* Tunes where so many looks at a core that was free before find another thread on it. Looks are all
 * that takes time. */
static sattn_tune_outcome tune_beside_another(int looks)
{
    const sattn_issue_source script = {.width = width_of_script, .now_ns = later};
    const sattn_tune_setting setting = {.seconds = 24, .now_ns = now_of_script};
    sattn_issue_begin(&script);
    shared_looks = 0;
    for (int i = 0; i < SATTN_ISSUE_WIDEST; ++i)
        sattn_issue_width();
    shared_looks = looks;
    const sattn_tune_outcome outcome = tune_counted(&setting);
    sattn_issue_begin(NULL);
    assert_string_equal(outcome.error, "");
    assert_true(outcome.rounds > 0);
    return outcome;
}

/* A race begins when the core is free, since no other window would count. There is patience for so
 * many looks, and all windows of one that does not wait are a small part of them. */
static void test_race_waits_for_a_free_core(void **state)
{
    (void)state;
    sattn_tune_outcome outcome = tune_beside_another(10000);
    assert_true(shared_looks < 0);
    sattn_tune_outcome_free(&outcome);
}

/* On a core that is never free it is run all the same, and says so. */
static void test_race_on_a_shared_core(void **state)
{
    (void)state;
    sattn_tune_outcome outcome = tune_beside_another(INT_MAX);
    assert_true(outcome.entry.is_tainted);
    sattn_tune_outcome_free(&outcome);
}

/* ---- shapes of --verify */

static bool is_corner(int64_t n)
{
    const int64_t below = n - 1;
    return (n & below) == 0 || (below & (below - 1)) == 0;
}

static void test_regret_shapes(void **state)
{
    (void)state;
    size_t count, n_named;
    int of_phase[SATTN_PHASE_ALL] = {0}, of_mask[SATTN_MASK_CLASS_COUNT] = {0};
    int of_op[SATTN_OP_COUNT] = {0}, strided = 0, groups = 0;
    const sattn_regret_shape *const shapes = sattn_regret_shapes(&count);
    const sattn_shape *const named = sattn_shapes(&n_named);
    assert_true(count >= 40);
    for (size_t i = 0; i < count; ++i) {
        const sattn_shape *const s = &shapes[i].shape;
        const sattn_shape_class c = sattn_tune_class_of(shapes[i].op, s, 1);
        assert_false(is_corner(s->n_k));
        assert_true(s->kind == SATTN_SHAPE_ARRAY || s->n_q == 1 ||
                    !is_corner(s->n_q * (s->n_q_heads / s->n_kv_heads)));
        ++of_op[shapes[i].op];
        ++of_mask[c.mask];
        ++of_phase[c.phase];
        strided += c.is_strided;
        groups += c.group > 1;
        for (size_t n = 0; n < n_named; ++n)
            assert_string_not_equal(s->name, named[n].name);
        for (size_t other = 0; other < i; ++other)
            assert_string_not_equal(s->name, shapes[other].shape.name);
    }
    assert_true(of_phase[SATTN_PHASE_PREFILL] && of_phase[SATTN_PHASE_FEW_QUERY] &&
                of_phase[SATTN_PHASE_DECODE]);
    for (int mask = 0; mask < SATTN_MASK_CLASS_COUNT; ++mask)
        assert_true(of_mask[mask] > 0);
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        assert_true(of_op[op] > 0);
    assert_true(strided >= 3 && groups >= 5);
}

/* A race of the default, 0, against 1, which takes 0.9 times as long. */
static sattn_regret_row raced(size_t chosen, int rounds, bool is_complete)
{
    sattn_tune_candidate candidates[2] = {{.variant = {.isa = NULL}}};
    const sattn_tune_field field = {.list = candidates, .count = 2};
    const int lane_of[2] = {0, 1};
    sattn_race_lane lanes[2] = {
        {.time_ns = {.median = 100}, .behind = {1.11, 1.10, 1.12, 1.10, 1.12, rounds}},
        {.time_ns = {.median = 90}, .behind = {1, 1, 1, 1, 1, rounds}}};
    const sattn_race_result race = {
        .winner = 1, .rounds = rounds, .is_complete = is_complete, .spread = 0.02, .lanes = lanes};
    sattn_regret_row row = {.turn = 1};
    sattn_regret_take_race(&row, &field, lane_of, chosen, &race);
    return row;
}

/* A race of a few rounds has decided nothing, and is not counted as one without regret. */
static void test_regret_of_undecided(void **state)
{
    (void)state;
    sattn_regret_row rows[] = {raced(0, SATTN_RACE_LEAST - 1, false), raced(0, 0, false)};
    const sattn_regret_run run = {.rows = rows, .count = 2};
    assert_false(rows[0].is_decided || rows[1].is_decided);
    assert_true(*rows[0].error == '\0' && *rows[1].error == '\0'); /* too little time is no error */
    assert_int_equal(sattn_regret_summarise(&run, true).n, 0);
    assert_int_equal(sattn_regret_summarise(&run, true).n_undecided, 2);
    assert_int_equal(sattn_regret_exit_code(&run), SATTN_EXIT_NOTHING);
    rows[1].turn = 0;
    assert_int_equal(sattn_regret_summarise(&run, true).n_undecided, 1);
    assert_int_equal(sattn_regret_summarise(&run, true).n_waiting, 1);
    assert_int_equal(sattn_regret_exit_code(&run), SATTN_EXIT_NOTHING);
    rows[0] = raced(0, SATTN_RACE_LEAST, false);
    rows[1] = raced(0, SATTN_RACE_LEAST - 1, true);
    assert_int_equal(sattn_regret_summarise(&run, true).n, 2);
    assert_int_equal(sattn_regret_exit_code(&run), SATTN_EXIT_GOOD);
    snprintf(rows[1].error, sizeof rows[1].error, "wrong");
    assert_int_equal(sattn_regret_exit_code(&run), SATTN_EXIT_FAILED);
}

/* That of the winner is what its ratio to the next differs in, not that to itself. */
/* Each row once, in an order that follows from the seed and goes neither way. */
static void test_regret_order(void **state)
{
    (void)state;
    enum { ROWS = 50, SEEDS = 20 };
    size_t orders[SEEDS][ROWS] = {{0}}, again[ROWS] = {0};
    for (int seed = 0; seed < SEEDS; ++seed) {
        bool is_there[ROWS] = {false};
        int rises = 0;
        sattn_regret_shuffle(orders[seed], ROWS, (uint64_t)seed);
        sattn_regret_shuffle(again, ROWS, (uint64_t)seed);
        assert_memory_equal(orders[seed], again, sizeof again);
        for (int turn = 0; turn < ROWS; ++turn) {
            const size_t row = orders[seed][turn];
            assert_true(row < ROWS && !is_there[row]);
            is_there[row] = true;
            rises += turn > 0 && row > orders[seed][turn - 1];
        }
        assert_in_range(rises, ROWS / 4, ROWS - ROWS / 4);
        assert_true(seed == 0 || memcmp(orders[seed], orders[seed - 1], sizeof again) != 0);
    }
}

static void test_regret_noise(void **state)
{
    (void)state;
    const sattn_regret_row behind = raced(0, 20, true), ahead = raced(1, 20, true);
    assert_true(fabs(behind.with.regret - 0.11) < 1e-12 && behind.with.beyond > 0);
    assert_true(fabs(behind.with.noise - 0.01) < 1e-12); /* half of p90 less p10 */
    assert_true(fabs(ahead.with.regret) < 1e-12 && fabs(ahead.with.noise - 0.02) < 1e-12);
    assert_true(!(ahead.with.beyond > 0) && ahead.without.beyond > 0);
}

/* On a clock of the test's own: rows that take twice their share, as where verifying takes long,
 * leave the rest out, and only the last exceeds the budget. */
static void test_regret_keeps_its_budget(void **state)
{
    (void)state;
    const double budgets[] = {1e-3, 1, 3, 30, 600};
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; ++b) {
        double now = 0, last = 0;
        size_t made = 0;
        for (; made < 54; ++made) {
            const double share = sattn_regret_share_s(budgets[b] - now, 54 - made);
            if (!(share > 0))
                break;
            last = share;
            assert_true(now < budgets[b] && share <= budgets[b] - now);
            assert_true(share >= fmin(0.5, budgets[b] - now)); /* or no race decides anything */
            now += 2 * share;
        }
        assert_true(now <= budgets[b] + last);
        assert_true(budgets[b] < 10 ? made < 54 && made > 0 : made > 20);
    }
}

static void test_regret_summary(void **state)
{
    (void)state;
    sattn_regret_row rows[21];
    memset(rows, 0, sizeof rows);
    for (int r = 0; r < 21; ++r) {
        rows[r].turn = 1;
        rows[r].is_decided = r != 20;
        rows[r].with.regret = r < 18 ? 0 : 0.01 * r;
        rows[r].with.beyond = r == 19 ? 0.1 : 0;
        rows[r].without.regret = 0.01 * (19 - r);
    }
    const sattn_regret_run run = {.rows = rows, .count = 21};
    const sattn_regret_summary with = sattn_regret_summarise(&run, true);
    assert_int_equal(with.n, 20);
    assert_int_equal(with.n_beyond, 1);
    assert_int_equal(with.n_undecided, 1);
    assert_int_equal(sattn_regret_exit_code(&run), SATTN_EXIT_GOOD);
    assert_true(fabs(with.median) < 1e-12 && fabs(with.p95 - 0.18) < 1e-12);
    assert_true(fabs(with.worst - 0.19) < 1e-12 && fabs(with.worst_beyond - 0.1) < 1e-12);
    const sattn_regret_summary without = sattn_regret_summarise(&run, false);
    assert_true(fabs(without.median - 0.1) < 1e-12 && fabs(without.worst - 0.19) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_cover_the_models),
        cmocka_unit_test(test_every_op_has_jobs),
        cmocka_unit_test(test_part_is_of_the_class),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_only_what_is_asked_for),
        cmocka_unit_test(test_wrong_kernel_is_never_chosen),
        cmocka_unit_test(test_wrong_rows_within_tiles),
        cmocka_unit_test(test_seed_chooses_rows),
        cmocka_unit_test(test_must_race),
        cmocka_unit_test(test_unlucky_first_call),
        cmocka_unit_test(test_winner_has_to_hold_elsewhere),
        cmocka_unit_test(test_refused_elsewhere),
        cmocka_unit_test(test_max_error),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_out_of_time),
        cmocka_unit_test(test_race_waits_for_a_free_core),
        cmocka_unit_test(test_race_on_a_shared_core),
        cmocka_unit_test(test_regret_shapes),
        cmocka_unit_test(test_regret_of_undecided),
        cmocka_unit_test(test_regret_order),
        cmocka_unit_test(test_regret_noise),
        cmocka_unit_test(test_regret_keeps_its_budget),
        cmocka_unit_test(test_regret_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
