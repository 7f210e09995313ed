/* SPDX-License-Identifier: MIT
 *
 * bench_rows.h: what a run of `simdattn bench` consists of. A job is one task on one shape with
 * cold or warm buffers; its rows are the variants that are measured on it, interleaved, each on
 * every kind of data that the job has. */
#ifndef SATTN_BENCH_BENCH_BENCH_ROWS_H
#define SATTN_BENCH_BENCH_BENCH_ROWS_H

#include "bench/bench/bench_filter.h"
#include "bench/bench/bench_options.h"
#include "bench/bench/bench_peers.h"
#include "bench/measure/measure.h"
#include "bench/ops/ops.h"
#include "bench/verify/compare.h"
#include "bench/workload.h"
#include "dispatch/recipe.h"

#include <stdbool.h>
#include <stddef.h>

enum { SATTN_ROW_NAME_SIZE = 192, SATTN_ROW_TEXT_SIZE = 320 };

typedef enum sattn_row_state {
    SATTN_ROW_PENDING,
    SATTN_ROW_READY,    /* verified, not yet measured */
    SATTN_ROW_MEASURED, /* the numbers below are good */
    SATTN_ROW_FAILED,   /* wrong, refused or invalid: see `why` */
    SATTN_ROW_ABSENT,   /* a peer that is not here, declines or is wrong: see `why`; no failure */
} sattn_row_state;

typedef struct sattn_bench_row {
    char name[SATTN_ROW_NAME_SIZE];
    const sattn_variant *variant;
    int threads;    /* that a call may use */
    size_t data;    /* which of the job's */
    bool is_ranked; /* by the dispatcher at the variant's level, for this shape */
    bool chosen;    /* by the dispatcher, for this shape; its calls name no kernel */
    /* That a call runs, as a comma list; what a peer picked. */
    char kernels[SATTN_RECIPE_TEXT];
    sattn_row_state state;
    char version[SATTN_ROW_TEXT_SIZE]; /* of a peer's library, else "" */
    char why[SATTN_ROW_TEXT_SIZE];     /* of a failure or absence */

    /* What was run of the shape, and the same in words ("" for all of it). */
    int64_t n_kv_heads, n_rows;
    char part[64];
    sattn_work work;  /* of what was run */
    sattn_work whole; /* of the whole shape */

    sattn_verify_result verified;
    sattn_measure_result measured;
    double time_ns; /* of the whole shape: measured, or scaled up by the work */
    /* How often this row is as fast, by the ratios within rounds and the work of both; n is 0 where
     * there is nothing to compare with. */
    sattn_stat over_scalar, over_autovec;
    sattn_stat over_fused;                 /* of a chain: over the fused kernel of its level */
    sattn_stat over_kernel_ns;             /* of op call: time beyond that of the kernels alone */
    sattn_stat of_step;                    /* of a part of a decoder's step: its share of it */
    sattn_stat over_one_thread;            /* of several threads: over the same variant on one */
    const struct sattn_bench_row *autovec; /* the row of over_autovec, or NULL */
    sattn_stat over_peer;                  /* over the fastest peer of the same level */
    const struct sattn_bench_row *peer;    /* that one, or NULL */
    /* Time of the whole shape over that of the same variant on the job's first, easy data; n is 0
     * on that data itself. */
    sattn_stat slowdown;
    bool bounded;                                         /* a reference was measured: */
    sattn_limit_kind bound;                               /* the one that limits it */
    sattn_limit_kind kinds[SATTN_MEASURE_MAX_REFERENCES]; /* of the references of `measured` */
} sattn_bench_row;

typedef struct sattn_bench_job {
    const sattn_shape *shape;
    const sattn_bench_task *task;
    const sattn_data *data; /* [n_data] */
    size_t n_data;
    sattn_cache_state cache;
    sattn_phase phase;
    sattn_bench_row *rows;
    size_t n_rows;
    char error[SATTN_ROW_TEXT_SIZE];   /* why the whole job failed, or "" */
    char skipped[SATTN_ROW_TEXT_SIZE]; /* why it was not run, which is no failure, or "" */
    bool unreadable;                   /* the error is about input */

    /* Known after the run. */
    bool is_done;          /* it was run, or skipped */
    sattn_shape run_shape; /* sizes as run */
    int64_t n_sets;
    size_t set_bytes;
} sattn_bench_job;

typedef struct sattn_bench_jobs {
    sattn_bench_job *jobs;
    size_t count;
} sattn_bench_jobs;

/* Of the units of a shape, whichever kernel runs them. */
sattn_phase sattn_bench_phase(const sattn_shape *shape);

/* Adds a row, if the filter lets its name through; `rows` must have room for it. */
void sattn_bench_add_row(sattn_bench_job *job, const sattn_variant *variant, size_t data,
                         int threads, const sattn_bench_filter *filter);

/* Adds rows of all peers that can stand beside kernels of a level, on one thread. */
void sattn_bench_add_peers(sattn_bench_job *job, const char *op, size_t data, const char *isa,
                           const sattn_bench_filter *filter);

/* Makes the list that the options ask for; `usable` are the features that kernels may use. Returns
 * an exit code, and unless it is 0 a sentence has gone to stderr. */
int sattn_bench_select(const sattn_bench_options *options, sattn_features usable,
                       sattn_bench_jobs *list);
void sattn_bench_jobs_free(sattn_bench_jobs *list);

/* What the numbers of the part that a measured row ran are multiplied by for the whole shape. */
double sattn_bench_row_scale(const sattn_bench_row *row);

const char *sattn_cache_name(sattn_cache_state cache);

#endif
