/* SPDX-License-Identifier: MIT
 *
 * bench_goals.h: the jobs of preset limits, and what they showed of each goal. */
#ifndef SATTN_BENCH_BENCH_BENCH_GOALS_H
#define SATTN_BENCH_BENCH_BENCH_GOALS_H

#include "bench/bench/bench_rows.h"
#include "bench/bench/goals.h"
#include "bench/environment/caches.h"

#include <stdbool.h>

/* Makes the list: as sattn_bench_select, for the goals' shapes. */
int sattn_bench_select_goals(const sattn_bench_options *options, sattn_features usable,
                             const sattn_bench_filter *filter, sattn_bench_jobs *list);

/* A job's part, by its rows, of the time that is left for all when `passed` seconds are over. */
double sattn_bench_goals_seconds(const sattn_bench_jobs *list, size_t job, double passed);

typedef enum sattn_mark {
    SATTN_MARK_NOT_ASKED, /* its row was not among those to run, or has not been run yet */
    SATTN_MARK_NOT_HERE,  /* not measurable here, for the reason in `why` */
    SATTN_MARK_BELOW,
    SATTN_MARK_REACHED,
    SATTN_MARK_STRETCH, /* that too */
    SATTN_MARKS,
} sattn_mark;

/* One goal at one ISA. */
typedef struct sattn_goal_result {
    const sattn_goal *goal;
    int isa; /* of sattn_goal_isa */
    sattn_mark mark;
    sattn_stat value; /* in the unit of the goal's measure; n is 0 where there is none */
    bool is_open;  /* noise reaches over the goal: in points the spread, else the 95 % interval */
    bool is_wide;  /* the spread is too large for the mark to mean much */
    char why[160]; /* it is not measurable, or below in spite of its value; or "" */
    const sattn_bench_row *row, *other; /* measured, and what it is compared with; or NULL */
    sattn_limit_kind bound;             /* of a percentage */
    double clock_ghz;                   /* beside the row; NaN: not measured */
} sattn_goal_result;

sattn_goal_result sattn_goal_judge(const sattn_goal *goal, int isa, const sattn_bench_jobs *list,
                                   const sattn_caches *caches);

/* Whether all rows of the goal have been run, the last of them in this job. */
bool sattn_goal_is_ended_by(const sattn_goal *goal, const sattn_bench_jobs *list, size_t job);

/* "goal", "stretch", "below", "absent", "" */
const char *sattn_mark_name(sattn_mark mark);

#endif
