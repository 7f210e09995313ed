/* SPDX-License-Identifier: MIT
 *
 * bench_workloads.c: how large the tensors of a job are, and where they lie. */
#define _POSIX_C_SOURCE 200809L /* sysconf */

#include "bench/bench/bench_workloads.h"

#include <stdio.h>
#include <unistd.h>

/* All sets of a cold job together: what leaves nothing of a set in the cache when its turn comes
 * again. 0 for a warm job. */
static size_t cold_bytes(const sattn_bench_job *job, int64_t cache_bytes)
{
    const int64_t unknown = (int64_t)64 << 20;
    const int64_t cache = cache_bytes > 0 ? cache_bytes : unknown;
    return job->cache == SATTN_COLD ? 4 * (size_t)cache : 0;
}

/* More than a quarter of the memory is not taken. */
static bool fits_memory(sattn_bench_job *job, double bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0 || bytes <= (double)pages * (double)page / 4)
        return true;
    snprintf(job->skipped, sizeof job->skipped,
             "%.0f MB of buffers would take more than a quarter of the memory", bytes / 1e6);
    return false;
}

static bool has_peers(const sattn_bench_job *job)
{
    for (size_t r = 0; r < job->n_rows; ++r)
        if (job->rows[r].variant->peer)
            return true;
    return false;
}

bool sattn_bench_open_workloads(sattn_workload *workloads, sattn_bench_job *job,
                                const sattn_bench_setting *setting)
{
    for (size_t d = 0; d < job->n_data; ++d) {
        const sattn_workload_request request = {.shape = job->shape,
                                                .data = &job->data[d],
                                                .tensors = job->task->tensors,
                                                .scores_in = job->task->scores_in,
                                                .spread = job->task->spread,
                                                .dataset = setting->dataset,
                                                .cold_bytes = cold_bytes(job, setting->cache_bytes),
                                                .is_shared = has_peers(job) && job->n_data == 1};
        const double all = (double)sattn_workload_bytes(&request) * (double)job->n_data;
        if (!fits_memory(job, all))
            return false;
        if (!sattn_workload_open(&workloads[d], &request, job->error, sizeof job->error)) {
            job->unreadable = job->shape->real_layer >= 0;
            return false;
        }
    }
    if (job->n_data > 1 && !sattn_workload_share(workloads, job->n_data, has_peers(job))) {
        snprintf(job->error, sizeof job->error, "out of memory");
        return false;
    }
    job->run_shape = workloads[0].shape;
    job->n_sets = workloads[0].n_sets;
    job->set_bytes = workloads[0].set_bytes;
    return true;
}
