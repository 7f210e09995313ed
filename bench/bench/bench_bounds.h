/* SPDX-License-Identifier: MIT
 *
 * bench_bounds.h: the reference loops of a job: one that computes what the task is made of, for
 * each ISA level among its rows, and one that reads or copies the same memory, where that may be
 * what limits it; both for each number of threads. The one that takes longest for a row's work is
 * the row's bound. */
#ifndef SATTN_BENCH_BENCH_BENCH_BOUNDS_H
#define SATTN_BENCH_BENCH_BENCH_BOUNDS_H

#include "bench/bench/bench_rows.h"
#include "bench/limits/limit_team.h"
#include "bench/measure/crew.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One loop. Those over memory walk over the same sets in the same order as the calls: after a call
 * the next sets are cold, the last ones are not. */
typedef struct sattn_bound {
    sattn_limit_kind kind;
    const char *isa;
    sattn_limit_team team;
    sattn_crew *crew;
    int64_t pieces; /* buffers of a set, one after the other; 0: not over memory */
    int64_t n_sets;
    int64_t *cursor;
} sattn_bound;

typedef struct sattn_bounds {
    sattn_bound list[SATTN_MEASURE_MAX_REFERENCES];
    sattn_measure_reference references[SATTN_MEASURE_MAX_REFERENCES];
    size_t count;
    sattn_limit_buffer *buffers; /* [n_sets][pieces] */
} sattn_bounds;

typedef struct sattn_bounds_request {
    const sattn_workload *workload; /* that of the job's first data */
    const char *read_isa;           /* level of the loops over memory */
    bool cycles;                    /* count cycles too, for tasks that count elements */
    int64_t *cursor;                /* the calls' own */
    sattn_crew *crew;
} sattn_bounds_request;

/* Chooses and calibrates the loops for the rows that are ready. False: no memory. To be closed
 * either way; `bounds` must stay where it is while references run. */
bool sattn_bounds_open(sattn_bounds *bounds, const sattn_bench_job *job,
                       const sattn_bounds_request *request);
void sattn_bounds_close(sattn_bounds *bounds);

/* Fills the work of one call of the row in the unit of each reference. */
void sattn_bounds_work(const sattn_bounds *bounds, const sattn_bench_row *row,
                       double work[SATTN_MEASURE_MAX_REFERENCES]);

#endif
