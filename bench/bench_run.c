/* SPDX-License-Identifier: MIT
 *
 * bench_run.c: the measurement of one job. */
#define _POSIX_C_SOURCE 200809L /* sysconf */

#include "bench/bench_run.h"

#include "bench/bench_bounds.h"
#include "bench/bench_prepare.h"
#include "bench/bench_ratios.h"
#include "dispatch/override.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time in a round for scalar and autovec rows and their references together. */
static const double slow_round_s = 0.2;

/* All that a job needs while it runs. */
typedef struct job_run {
    sattn_bench_job *job;
    const sattn_bench_setting *setting;
    sattn_workload *workloads; /* [n_data]; those that are not open hold nothing */
    int64_t cursor;
    sattn_bench_call *calls; /* [n_rows] */
    sattn_bounds bounds;
    sattn_measure_candidate *candidates; /* of the rows that are ready */
    sattn_measure_result *results;
    sattn_bench_row **ready;
    size_t n_ready;
} job_run;

static void report(const job_run *run, double done, const char *what)
{
    char text[160], ops[64];
    sattn_bench_job_ops(run->job, ops, sizeof ops);
    snprintf(text, sizeof text, "%s, %s, %s: %s", ops, run->job->shape->name,
             sattn_cache_name(run->job->cache), what);
    if (run->setting->progress)
        run->setting->progress(run->setting->progress_context, done, text);
}

/* Share of a job's time that goes by before measuring begins; only for the time left. */
static const double preparing = 0.3;

static void measuring(void *context, double done)
{
    report(context, preparing + (1 - preparing) * done, "measuring");
}

/* ---- sizes */

/* All sets of a cold job together: what leaves nothing of a set in the cache when its turn comes
 * again. 0 for a warm job. */
static size_t cold_bytes(const job_run *run)
{
    const int64_t unknown = (int64_t)64 << 20;
    const int64_t cache = run->setting->cache_bytes > 0 ? run->setting->cache_bytes : unknown;
    return run->job->cache == SATTN_COLD ? 4 * (size_t)cache : 0;
}

/* More than a quarter of the memory is not taken. */
static bool fits_memory(const job_run *run, double bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0 || bytes <= (double)pages * (double)page / 4)
        return true;
    snprintf(run->job->skipped, sizeof run->job->skipped,
             "%.0f MB of buffers would take more than a quarter of the memory", bytes / 1e6);
    return false;
}

static bool open_workloads(job_run *run)
{
    sattn_bench_job *const job = run->job;
    for (size_t d = 0; d < job->n_data; ++d) {
        const sattn_workload_request request = {.shape = job->shape,
                                                .data = &job->data[d],
                                                .tensors = job->task->tensors,
                                                .scores_in = job->task->scores_in,
                                                .spread = job->task->spread,
                                                .dataset = run->setting->dataset,
                                                .cold_bytes = cold_bytes(run)};
        const double all = (double)sattn_workload_bytes(&request) * (double)job->n_data;
        if (!fits_memory(run, all))
            return false;
        if (!sattn_workload_open(&run->workloads[d], &request, job->error, sizeof job->error)) {
            job->unreadable = job->shape->real_layer >= 0;
            return false;
        }
    }
    if (job->n_data > 1 && !sattn_workload_share(run->workloads, job->n_data)) {
        snprintf(job->error, sizeof job->error, "out of memory");
        return false;
    }
    job->run_shape = run->workloads[0].shape;
    job->n_sets = run->workloads[0].n_sets;
    job->set_bytes = run->workloads[0].set_bytes;
    return true;
}

/* ---- rows */

/* What the dispatcher takes for the shape if no kernel is asked for. */
static void mark_choice(job_run *run)
{
    sattn_overrides overrides;
    size_t count;
    const sattn_kernel *const kernels = sattn_registry(&count);
    if (sattn_overrides_get(NULL, &overrides) != SATTN_OK)
        return;
    for (size_t r = 0; r < run->job->n_rows; ++r) {
        sattn_bench_row *const row = &run->job->rows[r];
        const sattn_kernel *const kernel = sattn_kernel_by_name(row->variant->name);
        if (!kernel)
            continue;
        const sattn_kernel *const forced = overrides.forced[kernel->op];
        const sattn_selection selection = {.op = kernel->op,
                                           .phase = run->job->phase,
                                           .usable = overrides.usable,
                                           .forced = forced ? forced->name : NULL};
        row->chosen = sattn_select(kernels, count, &selection) == kernel;
    }
}

static void prepare_rows(job_run *run)
{
    sattn_bench_job *const job = run->job;
    int n_slow = 0;
    for (size_t r = 0; r < job->n_rows; ++r)
        n_slow += sattn_bench_may_cut(&job->rows[r]);
    const double slow_s = n_slow > 0 ? slow_round_s / (2 * n_slow) : 0;
    for (size_t r = 0; r < job->n_rows; ++r) {
        sattn_bench_row *const row = &job->rows[r];
        report(run, preparing * (double)r / (double)job->n_rows, "verifying");
        sattn_workload_restore(&run->workloads[row->data]);
        sattn_bench_prepare(row, &run->workloads[row->data], &run->cursor, slow_s, &run->calls[r]);
        if (row->state == SATTN_ROW_READY)
            run->ready[run->n_ready++] = row;
    }
}

static void restore(void *context)
{
    sattn_workload_restore(((const sattn_bench_call *)context)->workload);
}

static void add_candidates(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        const sattn_bench_row *const row = run->ready[r];
        sattn_measure_candidate *const candidate = &run->candidates[r];
        *candidate = (sattn_measure_candidate){.name = row->name,
                                               .call = sattn_bench_call_run,
                                               .prepare = run->job->n_data > 1 ? restore : NULL,
                                               .context = &run->calls[row - run->job->rows]};
        sattn_bounds_work(&run->bounds, row, candidate->work);
    }
}

/* ---- results */

/* A median above what the reference allows is the machine's doing, not the kernel's, where the
 * rounds do not agree on it: calls that skip their work are above it in all of them. */
static void forgive(sattn_measure_result *result)
{
    if (result->status == SATTN_MEASURE_ABOVE_PEAK &&
        result->share[result->bound].low <= SATTN_MEASURE_SANE_SHARE)
        result->status = SATTN_MEASURE_TAINTED;
}

static void take_result(const job_run *run, sattn_bench_row *row,
                        const sattn_measure_result *result)
{
    const sattn_status called = run->calls[row - run->job->rows].status;
    row->measured = *result;
    forgive(&row->measured);
    row->state = SATTN_ROW_MEASURED;
    if (called != SATTN_OK) {
        row->state = SATTN_ROW_FAILED;
        snprintf(row->why, sizeof row->why, "a call failed while it was timed: %s",
                 sattn_status_string(called));
    } else if (!sattn_measure_valid(row->measured.status)) {
        row->state = SATTN_ROW_FAILED;
        snprintf(row->why, sizeof row->why, "%s",
                 sattn_measure_status_string(row->measured.status));
    }
    const double amount = sattn_work_amount(&row->work);
    const double times = amount > 0 ? sattn_work_amount(&row->whole) / amount : 1;
    row->time_ns = row->measured.time_ns.median * times;
    row->bounded = row->measured.bound >= 0;
    if (row->bounded)
        row->bound = run->bounds.kinds[row->measured.bound];
}

static void take_results(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r)
        take_result(run, run->ready[r], &run->results[r]);
    sattn_bench_set_ratios(run->job);
}

static void measure(job_run *run)
{
    if (!sattn_bounds_open(&run->bounds, run->job, &run->workloads[0], run->setting->read_isa,
                           &run->cursor)) {
        snprintf(run->job->error, sizeof run->job->error, "out of memory");
        return;
    }
    add_candidates(run);
    const sattn_measure_plan plan = {.candidates = run->candidates,
                                     .n_candidates = run->n_ready,
                                     .references = run->bounds.references,
                                     .n_references = run->bounds.count};
    const sattn_measure_options options = {.budget_s = run->setting->seconds * (double)run->n_ready,
                                           .min_rounds = SATTN_STAT_LEAST,
                                           .progress = measuring,
                                           .progress_context = run};
    if (sattn_measure(&plan, &options, run->results))
        take_results(run);
    else
        snprintf(run->job->error, sizeof run->job->error, "out of memory while measuring");
}

/* ---- the whole */

static bool allocate(job_run *run)
{
    const size_t n_rows = run->job->n_rows;
    run->workloads = calloc(run->job->n_data, sizeof *run->workloads);
    run->calls = calloc(n_rows, sizeof *run->calls);
    run->candidates = calloc(n_rows, sizeof *run->candidates);
    run->results = calloc(n_rows, sizeof *run->results);
    run->ready = calloc(n_rows, sizeof *run->ready);
    return run->workloads && run->calls && run->candidates && run->results && run->ready;
}

static void free_all(job_run *run)
{
    sattn_bounds_close(&run->bounds);
    for (size_t r = 0; run->calls && r < run->job->n_rows; ++r)
        sattn_bench_call_close(&run->calls[r]);
    for (size_t d = run->job->n_data; run->workloads && d-- > 0;)
        sattn_workload_close(&run->workloads[d]);
    free(run->workloads);
    free(run->calls);
    free(run->candidates);
    free(run->results);
    free(run->ready);
}

void sattn_bench_run_job(sattn_bench_job *job, const sattn_bench_setting *setting)
{
    job_run run = {.job = job, .setting = setting};
    report(&run, 0, "making inputs");
    if (!allocate(&run)) {
        snprintf(job->error, sizeof job->error, "out of memory");
    } else if (open_workloads(&run)) {
        mark_choice(&run);
        prepare_rows(&run);
        if (run.n_ready > 0)
            measure(&run);
    }
    free_all(&run);
}

bool sattn_bench_job_failed(const sattn_bench_job *job)
{
    bool failed = *job->error != '\0';
    for (size_t r = 0; r < job->n_rows; ++r)
        failed = failed || job->rows[r].state == SATTN_ROW_FAILED;
    return failed;
}
