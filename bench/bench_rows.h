/* SPDX-License-Identifier: MIT
 *
 * bench_rows.h: what a run of `simdattn bench` consists of. A job is one shape with cold or warm
 * buffers; its rows are the kernels that are measured on it, interleaved. */
#ifndef SATTN_BENCH_BENCH_ROWS_H
#define SATTN_BENCH_BENCH_ROWS_H

#include "bench/bench_options.h"
#include "bench/measure/measure.h"
#include "bench/verify/compare.h"
#include "bench/workload.h"
#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>

enum { SATTN_ROW_NAME_SIZE = 192, SATTN_ROW_TEXT_SIZE = 320 };

/* Scalar and autovec rows are what the others are compared with. */
typedef enum sattn_row_kind { SATTN_ROW_HAND, SATTN_ROW_AUTOVEC, SATTN_ROW_SCALAR } sattn_row_kind;

typedef enum sattn_row_state {
    SATTN_ROW_PENDING,
    SATTN_ROW_READY,    /* verified, not yet measured */
    SATTN_ROW_MEASURED, /* the numbers below are good */
    SATTN_ROW_FAILED,   /* wrong, refused or invalid: see `why` */
} sattn_row_state;

typedef struct sattn_bench_row {
    char name[SATTN_ROW_NAME_SIZE];
    const sattn_kernel *kernel;
    sattn_row_kind kind;
    bool chosen; /* by the dispatcher, for this shape */
    sattn_row_state state;
    char why[SATTN_ROW_TEXT_SIZE]; /* of a failure */

    /* What was run of the shape, and the same in words ("" for all of it). */
    int64_t n_kv_heads, n_rows;
    char part[64];
    sattn_work work; /* of what was run */

    sattn_verify_result verified;
    sattn_measure_result measured;
    double time_ns; /* of the whole shape: measured, or scaled up by the work */
    /* How often this row is as fast, by the ratios within rounds and the work of both; n is 0 where
     * there is nothing to compare with. */
    sattn_stat over_scalar, over_autovec;
    const struct sattn_bench_row *autovec; /* the row of over_autovec, or NULL */
    const char *bound; /* name of the reference that limits it, NULL: none was measured */
} sattn_bench_row;

typedef struct sattn_bench_job {
    const sattn_shape *shape;
    sattn_cache_state cache;
    sattn_phase phase;
    sattn_bench_row *rows;
    size_t n_rows;
    char error[SATTN_ROW_TEXT_SIZE];   /* why the whole job failed, or "" */
    char skipped[SATTN_ROW_TEXT_SIZE]; /* why it was not run, which is no failure, or "" */
    bool unreadable;                   /* the error is about input */

    /* Known after the run: sizes as run, and the whole call's work. */
    sattn_shape run_shape;
    sattn_work work;
    int64_t n_sets;
    size_t set_bytes;
} sattn_bench_job;

typedef struct sattn_bench_jobs {
    sattn_bench_job *jobs;
    size_t count;
} sattn_bench_jobs;

/* Makes the list that the options ask for; `usable` are the features that kernels may use. Returns
 * an exit code, and unless it is 0 a sentence has gone to stderr. */
int sattn_bench_select(const sattn_bench_options *options, sattn_features usable,
                       sattn_bench_jobs *list);
void sattn_bench_jobs_free(sattn_bench_jobs *list);

/* Prints the list: all about shapes and rows, or the bare names of the rows. */
void sattn_bench_print_list(const sattn_bench_jobs *list, bool bare);

/* What the numbers of the part that a measured row ran are multiplied by for the whole shape. */
double sattn_bench_row_scale(const sattn_bench_row *row);

/* Name of the inputs that a shape is run on. */
const char *sattn_data_name(const sattn_shape *shape);
const char *sattn_cache_name(sattn_cache_state cache);

#endif
