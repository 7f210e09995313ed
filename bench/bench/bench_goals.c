/* SPDX-License-Identifier: MIT
 *
 * bench_goals.c: one job for all goals that are about the same task on the same shape, so that
 * what they compare is interleaved. */
#include "bench/bench/bench_goals.h"

#include "bench/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For all of them with all that they do beside measuring, and for one row. */
static const double all_seconds = 500, row_seconds = 4;

double sattn_bench_goals_seconds(const sattn_bench_jobs *list, size_t job, double passed)
{
    size_t rows = 0;
    for (size_t j = job; j < list->count; ++j)
        rows += list->jobs[j].n_rows;
    const double each = passed < all_seconds ? (all_seconds - passed) / (double)rows : 0;
    return (each < row_seconds ? each : row_seconds) * (double)list->jobs[job].n_rows;
}

static const sattn_bench_task *task_of(const sattn_goal *goal)
{
    return sattn_bench_op_by_name(goal->op)->task;
}

/* The goal's job, which is made if need be. */
static sattn_bench_job *job_of(sattn_bench_jobs *list, const sattn_goal *goal)
{
    const sattn_bench_task *const task = task_of(goal);
    const sattn_shape *const shape = sattn_shape_by_name(goal->shape);
    for (size_t j = 0; j < list->count; ++j)
        if (list->jobs[j].task == task && list->jobs[j].shape == shape &&
            list->jobs[j].cache == goal->cache)
            return &list->jobs[j];
    sattn_bench_job *const job = &list->jobs[list->count++];
    *job = (sattn_bench_job){
        .shape = shape,
        .task = task,
        .data = sattn_data_default(shape),
        .n_data = 1,
        .cache = goal->cache,
        .phase = sattn_bench_phase(shape),
        .run_shape = *shape,
    };
    return job;
}

/* Whether a goal, or what it is compared with, is about these rows of the job. */
static bool is_wanted(const sattn_bench_job *job, const sattn_goal *goal, size_t data, int threads)
{
    const bool same = goal->cache == job->cache && task_of(goal) == job->task &&
                      strcmp(goal->shape, job->shape->name) == 0;
    const bool same_data =
        data == 0 || (goal->data && strcmp(goal->data, job->data[data].name) == 0);
    return same && same_data && (threads == 1 || (data == 0 && goal->threads == threads));
}

/* Whether rows of a level may run. */
static bool is_asked(const sattn_bench_options *options, const char *isa, sattn_features usable)
{
    const sattn_isa *const level = sattn_isa_by_name(isa);
    return level && !(level->needs & ~usable) &&
           (!options->isas.count || sattn_name_list_has(&options->isas, isa));
}

/* Rows of one number of threads. */
static void add_rows(sattn_bench_job *job, const sattn_bench_options *options, int threads,
                     sattn_features usable, const sattn_bench_filter *filter)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
        for (size_t d = 0; d < job->n_data; ++d)
            for (size_t g = 0; g < n_goals; ++g) {
                const char *const isa = sattn_goal_isa(i);
                if (!is_wanted(job, &goals[g], d, threads))
                    continue;
                if (is_asked(options, isa, usable))
                    sattn_bench_add_row(job, sattn_level_variant(goals[g].op, isa), d, threads,
                                        filter);
                break;
            }
}

/* Peers of the levels that have rows, on easy numbers: that is what there are figures for. */
static void add_peers(sattn_bench_job *job, const sattn_bench_options *options,
                      sattn_features usable, const sattn_bench_filter *filter)
{
    const sattn_variant *const variant = job->n_rows > 0 ? job->rows[0].variant : NULL;
    if (!options->peers || !variant)
        return;
    const char *const op = variant->op->name;
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
        if (is_asked(options, sattn_goal_isa(i), usable))
            sattn_bench_add_peers(job, op, 0, sattn_goal_isa(i), filter);
}

static bool allocate_rows(sattn_bench_job *job)
{
    const size_t most = SATTN_GOAL_ISAS * job->n_data * (SATTN_THREAD_COUNTS_MOST + SATTN_PEERS);
    job->rows = calloc(most + 1, sizeof *job->rows);
    return job->rows != NULL;
}

/* Jobs with several threads come last: idle threads of a team may spin from then on. */
static void put_threads_last(sattn_bench_jobs *list, sattn_bench_jobs *sorted)
{
    sorted->count = 0;
    for (int several = 0; several < 2; ++several)
        for (size_t j = 0; j < list->count; ++j) {
            const sattn_bench_job *const job = &list->jobs[j];
            bool has_several = false;
            for (size_t r = 0; r < job->n_rows; ++r)
                has_several = has_several || job->rows[r].threads > 1;
            if (job->n_rows > 0 && has_several == (several == 1))
                sorted->jobs[sorted->count++] = *job;
        }
    for (size_t j = 0; j < list->count; ++j)
        if (list->jobs[j].n_rows == 0)
            free(list->jobs[j].rows);
}

static bool fill(const sattn_bench_options *options, sattn_features usable,
                 const sattn_bench_filter *filter, sattn_bench_jobs *list)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g) {
        sattn_bench_job *const job = job_of(list, &goals[g]);
        if (goals[g].data)
            job->data = sattn_data_scores(&job->n_data);
    }
    bool good = true;
    for (size_t j = 0; j < list->count; ++j) {
        good = good && allocate_rows(&list->jobs[j]);
        for (int t = 0; good && t < options->threads.n; ++t)
            add_rows(&list->jobs[j], options, options->threads.of[t], usable, filter);
        if (good)
            add_peers(&list->jobs[j], options, usable, filter);
    }
    return good;
}

int sattn_bench_select_goals(const sattn_bench_options *options, sattn_features usable,
                             const sattn_bench_filter *filter, sattn_bench_jobs *list)
{
    size_t n_goals;
    sattn_goals(&n_goals);
    sattn_bench_jobs all = {.jobs = calloc(n_goals, sizeof *all.jobs)};
    list->jobs = calloc(n_goals, sizeof *list->jobs);
    const bool good = all.jobs && list->jobs && fill(options, usable, filter, &all);
    if (good)
        put_threads_last(&all, list);
    else
        for (size_t j = 0; all.jobs && j < all.count; ++j)
            free(all.jobs[j].rows);
    free(all.jobs);
    if (!good) {
        fputs("simdattn bench: out of memory\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    if (list->count > 0)
        return SATTN_EXIT_GOOD;
    fputs("simdattn bench: no goal's row matches these options, or none of the levels that there"
          " are goals for can be used here, so nothing was run\n",
          stderr);
    return SATTN_EXIT_NOTHING;
}
