/* SPDX-License-Identifier: MIT
 *
 * goals.h: figures that kernels are meant to reach, by workload and ISA. docs/benchmarking.md says
 * where they come from. They are printed beside what was measured, and asserted nowhere. */
#ifndef SATTN_BENCH_BENCH_GOALS_H
#define SATTN_BENCH_BENCH_GOALS_H

#include "bench/bench/bench_options.h"
#include "bench/limits/limits.h"

#include <stddef.h>

/* GHz */
#define SATTN_GOAL_CLOCK 3.5

/* What a figure is. */
typedef enum sattn_goal_measure {
    SATTN_GOAL_FMA,       /* percent of the FMA loop */
    SATTN_GOAL_READ,      /* percent of the read loop; at avx2, whose multiply-adds may be what
                             limits, of the tighter bound */
    SATTN_GOAL_EASY,      /* points of FMA share above (below: negative) the job's easy data */
    SATTN_GOAL_NEIGHBOUR, /* points of FMA share above another shape's */
    SATTN_GOAL_PER_CYCLE, /* elements per cycle */
    SATTN_GOAL_TIME,      /* picoseconds per element, at a clock of about SATTN_GOAL_CLOCK: the less
                             the better */
    SATTN_GOAL_SPEEDUP,   /* over one thread */
} sattn_goal_measure;

/* Where K and V must lie for the figure to mean anything. */
typedef enum sattn_goal_level {
    SATTN_GOAL_ANYWHERE,
    SATTN_GOAL_L2, /* at most the second-level cache */
    SATTN_GOAL_L3, /* more than that, and at most half of the third-level cache */
} sattn_goal_level;

/* 0: there is none. */
typedef struct sattn_goal_figures {
    double goal, stretch;
    double peer; /* speed-up over the best peer */
} sattn_goal_figures;

enum { SATTN_GOAL_ISAS = 2 };

typedef struct sattn_goal {
    const char *workload;
    const char *op, *shape;
    sattn_cache_state cache;
    sattn_goal_measure measure;
    sattn_goal_figures figures[SATTN_GOAL_ISAS]; /* in the order of sattn_goal_isa */
    const char *data;                            /* kind of input; NULL: the shape's own */
    const char *neighbour;                       /* shape */
    sattn_goal_level level;
    int threads; /* 0 is 1 */
} sattn_goal;

const sattn_goal *sattn_goals(size_t *count);

/* "avx512", "avx2" */
const char *sattn_goal_isa(int isa);

/* "%", "points", "elements/cycle", "ps/element", "x" */
const char *sattn_goal_unit(sattn_goal_measure measure);

/* "87/91", or "87" where there is no stretch: no more digits than the table has. */
enum { SATTN_GOAL_TEXT_SIZE = 32 };
void sattn_goal_print(const sattn_goal_figures *figures, char *text, size_t size);

#endif
