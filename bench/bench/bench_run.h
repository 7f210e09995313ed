/* SPDX-License-Identifier: MIT
 *
 * bench_run.h: runs one job: makes its tensors, verifies every row, measures all of them. */
#ifndef SATTN_BENCH_BENCH_BENCH_RUN_H
#define SATTN_BENCH_BENCH_BENCH_RUN_H

#include "bench/bench/bench_rows.h"
#include "bench/measure/crew.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sattn_bench_setting {
    const char *dataset;
    double seconds;       /* of measuring, per row; 0: so that a job takes job_seconds in all */
    double job_seconds;   /* its preparation included */
    const char *read_isa; /* level of the loop that reads memory */
    bool forces;          /* every row names its kernel, else the dispatcher's choice does not */
    bool cycles;          /* count them too, where elements are counted */
    sattn_crew *crew;     /* of rows with several threads */
    sattn_bench_peers *peers;
    int64_t cache_bytes; /* of the last-level cache; 0: not known */
    void (*progress)(void *context, double done, const char *what); /* of this job */
    void *progress_context;
} sattn_bench_setting;

/* Fills the rows; what goes wrong is in their state and in job->error. */
void sattn_bench_run_job(sattn_bench_job *job, const sattn_bench_setting *setting);

/* Something of the job failed. */
bool sattn_bench_job_failed(const sattn_bench_job *job);

#endif
