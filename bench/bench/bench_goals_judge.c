/* SPDX-License-Identifier: MIT
 *
 * bench_goals_judge.c: what a run showed of a goal. */
#include "bench/bench/bench_goals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Clocks in GHz at which the picoseconds of goals.c say something. */
#define CLOCK_LEAST 3.0
#define CLOCK_MOST  4.5

/* Of a spread: 10th to 90th percentile, relative to the median, or in points. */
#define WIDE        0.15
#define WIDE_POINTS 8.0

/* Of the row's largest weight, in its unit of 2^-24. */
#define SOFTMAX_ERROR (6e-7 * 16777216.0)

const char *sattn_mark_name(sattn_mark mark)
{
    static const char *const names[SATTN_MARKS] = {
        [SATTN_MARK_NOT_ASKED] = "",      [SATTN_MARK_NOT_HERE] = "absent",
        [SATTN_MARK_BELOW] = "below",     [SATTN_MARK_REACHED] = "goal",
        [SATTN_MARK_STRETCH] = "stretch",
    };
    return names[mark];
}

/* ---- rows */

static const sattn_bench_job *job_of(const sattn_bench_jobs *list, const sattn_goal *goal,
                                     const char *shape)
{
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        if (strcmp(job->shape->name, shape) == 0 && job->cache == goal->cache && job->n_rows > 0 &&
            strcmp(job->rows[0].variant->op->name, goal->op) == 0)
            return job;
    }
    return NULL;
}

static const sattn_bench_row *row_of(const sattn_bench_job *job, const sattn_goal_result *result,
                                     const char *data, int threads)
{
    for (size_t r = 0; job && r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        const bool same_data = data ? strcmp(job->data[row->data].name, data) == 0 : row->data == 0;
        if (same_data && row->threads == threads && !row->variant->peer &&
            strcmp(sattn_variant_isa(row->variant), sattn_goal_isa(result->isa)) == 0)
            return row;
    }
    return NULL;
}

bool sattn_goal_is_ended_by(const sattn_goal *goal, const sattn_bench_jobs *list, size_t job)
{
    const sattn_bench_job *const own = job_of(list, goal, goal->shape);
    const sattn_bench_job *const near =
        goal->neighbour ? job_of(list, goal, goal->neighbour) : NULL;
    const sattn_bench_job *const now = &list->jobs[job];
    const bool is_done = own && own->is_done && (!near || near->is_done);
    return is_done && (own == now || near == now);
}

/* ---- values */

static sattn_stat share_of(const sattn_bench_row *row, sattn_limit_kind kind)
{
    for (size_t i = 0; i < SATTN_MEASURE_MAX_REFERENCES; ++i)
        if (row->kinds[i] == kind && row->measured.share[i].n > 0)
            return row->measured.share[i];
    return sattn_stat_of(NULL, 0);
}

/* Cycles per nanosecond beside the row, which is there or not; NaN: not measured. */
static double clock_of(const sattn_bench_row *row)
{
    for (size_t i = 0; row && i < SATTN_MEASURE_MAX_REFERENCES; ++i)
        if (row->kinds[i] == SATTN_LIMIT_CYCLE && row->measured.share[i].n > 0)
            return row->measured.reference_rate[i].median * 1e-9;
    return (double)NAN;
}

static sattn_stat percent_of_fma(const sattn_bench_row *row)
{
    return sattn_stat_scaled(share_of(row, SATTN_LIMIT_FMA), 100);
}

/* At avx2 the tighter of both bounds. */
static sattn_stat percent_of_read(sattn_goal_result *result)
{
    const sattn_stat fma = percent_of_fma(result->row);
    const sattn_stat read = sattn_stat_scaled(share_of(result->row, SATTN_LIMIT_READ), 100);
    const bool is_avx2 = strcmp(sattn_goal_isa(result->isa), "avx2") == 0;
    result->bound = SATTN_LIMIT_READ;
    if (!is_avx2 || fma.n == 0 || fma.median <= read.median)
        return read;
    result->bound = SATTN_LIMIT_FMA;
    return fma;
}

/* From easy data in the same rounds: what the slowdown, by ratios within them, makes of its share.
 * So noise that both sides have alike is not in the distance. */
static sattn_stat behind_easy(const sattn_goal_result *result)
{
    const sattn_stat *const slowdown = &result->row->slowdown;
    const double easy = result->other ? percent_of_fma(result->other).median : (double)NAN;
    if (slowdown->n == 0 || !isfinite(easy))
        return sattn_stat_of(NULL, 0);
    return (sattn_stat){.median = easy * (1 / slowdown->median - 1),
                        .p10 = easy * (1 / slowdown->p90 - 1),
                        .p90 = easy * (1 / slowdown->p10 - 1),
                        .low = easy * (1 / slowdown->high - 1),
                        .high = easy * (1 / slowdown->low - 1),
                        .n = slowdown->n};
}

/* From another job's row. Their noise is independent, so widths add in squares, to either side. */
static sattn_stat behind_neighbour(const sattn_goal_result *result)
{
    const sattn_stat a = percent_of_fma(result->row);
    const sattn_stat b = result->other ? percent_of_fma(result->other) : sattn_stat_of(NULL, 0);
    if (a.n == 0 || b.n == 0)
        return sattn_stat_of(NULL, 0);
    const double middle = a.median - b.median;
    return (sattn_stat){.median = middle,
                        .p10 = middle - hypot(a.median - a.p10, b.p90 - b.median),
                        .p90 = middle + hypot(a.p90 - a.median, b.median - b.p10),
                        .low = middle - hypot(a.median - a.low, b.high - b.median),
                        .high = middle + hypot(a.high - a.median, b.median - b.low),
                        .n = a.n < b.n ? a.n : b.n};
}

static sattn_stat value_of(sattn_goal_result *result)
{
    const sattn_bench_row *const row = result->row;
    switch (result->goal->measure) {
    case SATTN_GOAL_FMA:
        result->bound = SATTN_LIMIT_FMA;
        return percent_of_fma(row);
    case SATTN_GOAL_READ:
        return percent_of_read(result);
    case SATTN_GOAL_EASY:
        return behind_easy(result);
    case SATTN_GOAL_NEIGHBOUR:
        return behind_neighbour(result);
    case SATTN_GOAL_PER_CYCLE:
        return share_of(row, SATTN_LIMIT_CYCLE);
    case SATTN_GOAL_TIME:
        return sattn_stat_scaled(row->measured.time_ns, 1e3 / row->work.elements);
    case SATTN_GOAL_SPEEDUP:
        break;
    }
    return row->over_one_thread;
}

/* ---- the mark */

/* Whether K and V lie where the goal wants them. */
static bool is_at_level(sattn_goal_result *result, const sattn_caches *caches)
{
    const double bytes = result->row->whole.kv_bytes;
    const double l2 = (double)caches->l2_bytes, l3 = (double)caches->l3_bytes;
    const bool wants_l2 = result->goal->level == SATTN_GOAL_L2;
    if (result->goal->level == SATTN_GOAL_ANYWHERE || (wants_l2 && bytes <= l2) ||
        (!wants_l2 && l2 > 0 && bytes > l2 && bytes <= l3 / 2))
        return true;
    snprintf(result->why, sizeof result->why,
             "its %.1f MB are not in the %s-level cache of this CPU", bytes / 1e6,
             wants_l2 ? "second" : "third");
    return false;
}

static bool is_clock_right(sattn_goal_result *result)
{
    const double clock = result->clock_ghz;
    if (result->goal->measure != SATTN_GOAL_TIME || (clock >= CLOCK_LEAST && clock <= CLOCK_MOST))
        return true;
    if (isfinite(clock))
        snprintf(result->why, sizeof result->why,
                 "the figure is for a clock of %.1f GHz, and this core ran at %.1f GHz",
                 SATTN_GOAL_CLOCK, clock);
    else
        snprintf(result->why, sizeof result->why,
                 "the figure is for a clock of %.1f GHz, and none was measured beside it",
                 SATTN_GOAL_CLOCK);
    return false;
}

static bool is_reached(const sattn_goal_result *result, double figure)
{
    const double value = result->value.median;
    return result->goal->measure == SATTN_GOAL_TIME ? value <= figure : value >= figure;
}

static bool is_in_points(const sattn_goal_result *result)
{
    return result->goal->measure == SATTN_GOAL_EASY ||
           result->goal->measure == SATTN_GOAL_NEIGHBOUR;
}

/* A distance is small beside what it is a distance of, which drifts: it is open as far as the
 * rounds spread. Elsewhere the interval of the median tells. */
static bool is_open(const sattn_goal_result *result)
{
    const sattn_stat *const value = &result->value;
    const double goal = result->goal->figures[result->isa].goal;
    if (is_in_points(result))
        return value->p10 < goal && goal < value->p90;
    return sattn_stat_side(value, goal) == SATTN_SIDE_OPEN;
}

static bool is_wide(const sattn_goal_result *result)
{
    const sattn_stat *const value = &result->value;
    return value->p90 - value->p10 > (is_in_points(result) ? WIDE_POINTS : WIDE * value->median);
}

static sattn_mark mark_of(sattn_goal_result *result)
{
    const sattn_goal_figures *const figures = &result->goal->figures[result->isa];
    const bool is_softmax = strcmp(result->goal->op, "softmax") == 0;
    if (is_softmax && result->row->verified.worst_error > SOFTMAX_ERROR) {
        snprintf(result->why, sizeof result->why, "its error is above 6e-7 of the largest weight");
        return SATTN_MARK_BELOW;
    }
    if (!is_reached(result, figures->goal))
        return SATTN_MARK_BELOW;
    const bool has_stretch = figures->stretch < 0 || figures->stretch > 0;
    return has_stretch && is_reached(result, figures->stretch) ? SATTN_MARK_STRETCH
                                                               : SATTN_MARK_REACHED;
}

/* Without a value: why there is none. Rows of more threads than there are CPUs are left out, but
 * not the one beside them. */
static void explain(sattn_goal_result *result, const sattn_bench_job *job)
{
    const char *const isa = sattn_goal_isa(result->isa);
    const int threads = result->goal->threads ? result->goal->threads : 1;
    const sattn_isa *const level = sattn_isa_by_name(isa);
    const bool has_level = level && !(level->needs & ~sattn_cpu_this()->usable);
    if (!job || !job->is_done) {
        result->mark = SATTN_MARK_NOT_ASKED;
        return;
    }
    if (!has_level)
        snprintf(result->why, sizeof result->why, "no %s here", isa);
    else if (!result->row &&
             (!result->other || sattn_threads_usable(threads, result->why, sizeof result->why)))
        result->mark = SATTN_MARK_NOT_ASKED;
    else if (result->row && *job->skipped)
        snprintf(result->why, sizeof result->why, "%.150s", job->skipped);
    else if (result->row && result->row->state != SATTN_ROW_MEASURED)
        snprintf(result->why, sizeof result->why, "failed: %.140s",
                 *job->error ? job->error : result->row->why);
    else if (result->row)
        snprintf(result->why, sizeof result->why, "what it is compared with was not measured");
}

sattn_goal_result sattn_goal_judge(const sattn_goal *goal, int isa, const sattn_bench_jobs *list,
                                   const sattn_caches *caches)
{
    sattn_goal_result result = {
        .goal = goal, .isa = isa, .mark = SATTN_MARK_NOT_HERE, .value = sattn_stat_of(NULL, 0)};
    const sattn_bench_job *const job = job_of(list, goal, goal->shape);
    const sattn_bench_job *const near = job_of(list, goal, goal->neighbour ? goal->neighbour : "");
    result.row = row_of(job, &result, goal->data, goal->threads ? goal->threads : 1);
    result.other = row_of(goal->neighbour ? near : job, &result, NULL, 1);
    result.clock_ghz = clock_of(result.row);
    if (result.row && result.row->state == SATTN_ROW_MEASURED)
        result.value = value_of(&result);
    if (result.value.n == 0) {
        explain(&result, job);
        return result;
    }
    if (!is_at_level(&result, caches) || !is_clock_right(&result))
        return result;
    result.mark = mark_of(&result);
    result.is_open = is_open(&result);
    result.is_wide = is_wide(&result);
    return result;
}
