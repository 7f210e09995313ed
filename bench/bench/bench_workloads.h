/* SPDX-License-Identifier: MIT
 *
 * bench_workloads.h: the tensors of a job. */
#ifndef SATTN_BENCH_BENCH_BENCH_WORKLOADS_H
#define SATTN_BENCH_BENCH_BENCH_WORKLOADS_H

#include "bench/bench/bench_run.h"

#include <stdbool.h>

/* Makes workloads[job->n_data], one for each kind of data, and notes their sizes in the job. False:
 * they are too large, unreadable, or there is no memory, and the job says which. Those that were
 * made are to be closed either way. */
bool sattn_bench_open_workloads(sattn_workload *workloads, sattn_bench_job *job,
                                const sattn_bench_setting *setting);

#endif
