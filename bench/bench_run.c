/* SPDX-License-Identifier: MIT
 *
 * bench_run.c: the measurement of one job. Its references are a multiply-add loop of each ISA level
 * among the rows and, for shapes with few query rows, a loop that reads the same K and V; the one
 * that takes longer for the row's work is its bound. */
#define _POSIX_C_SOURCE 200809L /* sysconf */

#include "bench/bench_run.h"

#include "bench/bench_prepare.h"
#include "bench/limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time in a round for scalar and autovec rows and their references together. */
static const double slow_round_s = 0.2;
/* Time to find the fastest way to read the buffers. */
static const double choose_s = 0.1;

/* The loop that reads walks over the same sets in the same order as the kernels: after a kernel the
 * next sets are cold, the last ones are not. */
typedef struct shared_read {
    sattn_limit limit;
    int64_t *cursor;
} shared_read;

static int64_t run_shared_read(void *context, int64_t work)
{
    shared_read *const read = context;
    read->limit.next = (size_t)*read->cursor;
    const int64_t done = sattn_limit_run(&read->limit, work);
    *read->cursor = (int64_t)read->limit.next;
    return done;
}

/* All that a job needs while it runs. */
typedef struct job_run {
    sattn_bench_job *job;
    const sattn_bench_setting *setting;
    sattn_workload workload;
    int64_t cursor;
    sattn_bench_call *calls; /* [n_rows] */
    sattn_limit_buffer *buffers;
    sattn_limit fma[SATTN_MEASURE_MAX_REFERENCES];
    shared_read read;
    sattn_measure_reference references[SATTN_MEASURE_MAX_REFERENCES];
    size_t n_references;
    sattn_measure_candidate *candidates; /* of the rows that are ready */
    sattn_measure_result *results;
    sattn_bench_row **ready;
    size_t n_ready;
} job_run;

static void report(const job_run *run, double done, const char *what)
{
    char text[96];
    snprintf(text, sizeof text, "%s, %s: %s", run->job->shape->name,
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
static bool fits_memory(const job_run *run, size_t bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0 || (double)bytes <= (double)pages * (double)page / 4)
        return true;
    snprintf(run->job->skipped, sizeof run->job->skipped,
             "%.0f MB of buffers would take more than a quarter of the memory",
             (double)bytes / 1e6);
    return false;
}

static bool open_workload(job_run *run)
{
    sattn_bench_job *const job = run->job;
    const size_t cold = cold_bytes(run);
    if (!fits_memory(run, cold))
        return false;
    if (!sattn_workload_open(&run->workload, job->shape, run->setting->dataset, cold, job->error,
                             sizeof job->error)) {
        job->unreadable = job->shape->real_layer >= 0;
        return false;
    }
    job->run_shape = run->workload.shape;
    job->work = sattn_work_of(&run->workload.args);
    job->n_sets = run->workload.n_sets;
    job->set_bytes = run->workload.set_bytes;
    return true;
}

static void mark_choice(job_run *run)
{
    sattn_plan *plan;
    if (sattn_plan_create(&plan, &run->workload.args, NULL) != SATTN_OK)
        return; /* the rows will say why */
    for (size_t r = 0; r < run->job->n_rows; ++r)
        run->job->rows[r].chosen =
            strcmp(run->job->rows[r].kernel->name, sattn_plan_kernel(plan)) == 0;
    sattn_plan_destroy(plan);
}

static void prepare_rows(job_run *run)
{
    sattn_bench_job *const job = run->job;
    int n_slow = 0;
    for (size_t r = 0; r < job->n_rows; ++r)
        n_slow += job->rows[r].kind != SATTN_ROW_HAND;
    const double slow_s = n_slow > 0 ? slow_round_s / (2 * n_slow) : 0;
    for (size_t r = 0; r < job->n_rows; ++r) {
        report(run, preparing * (double)r / (double)job->n_rows, "verifying");
        sattn_bench_prepare(&job->rows[r], &run->workload, &run->cursor, slow_s, &run->calls[r]);
        if (job->rows[r].state == SATTN_ROW_READY)
            run->ready[run->n_ready++] = &job->rows[r];
    }
}

/* ---- references */

static int reference_of(const job_run *run, const char *isa)
{
    for (size_t i = 0; i < run->n_references; ++i)
        if (run->references[i].context == &run->fma[i] && strcmp(run->fma[i].isa->name, isa) == 0)
            return (int)i;
    return -1;
}

static void add_references(job_run *run)
{
    const bool reads = run->job->phase != SATTN_PHASE_PREFILL;
    const size_t room = SATTN_MEASURE_MAX_REFERENCES - (reads ? 1 : 0);
    for (size_t r = 0; r < run->n_ready && run->n_references < room; ++r) {
        const char *const isa = sattn_isa_name(run->ready[r]->kernel->needs);
        sattn_limit *const limit = &run->fma[run->n_references];
        if (reference_of(run, isa) >= 0 || !sattn_limit_init_fma(limit, isa))
            continue;
        run->references[run->n_references++] =
            (sattn_measure_reference){sattn_limit_name(SATTN_LIMIT_FMA), sattn_limit_run, limit};
    }
    if (!reads)
        return;
    for (int64_t s = 0; s < run->workload.n_sets; ++s)
        run->buffers[s].data = sattn_workload_kv(&run->workload, s, &run->buffers[s].bytes);
    run->read.cursor = &run->cursor;
    if (!sattn_limit_init_read(&run->read.limit, run->setting->read_isa, run->buffers,
                               (size_t)run->workload.n_sets))
        return;
    sattn_limit_choose(&run->read.limit, choose_s);
    run->references[run->n_references++] =
        (sattn_measure_reference){sattn_limit_name(SATTN_LIMIT_READ), run_shared_read, &run->read};
}

static void add_candidates(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        const sattn_bench_row *const row = run->ready[r];
        const size_t index = (size_t)(row - run->job->rows);
        sattn_measure_candidate *const candidate = &run->candidates[r];
        *candidate = (sattn_measure_candidate){
            .name = row->name, .call = sattn_bench_call_run, .context = &run->calls[index]};
        const int fma = reference_of(run, sattn_isa_name(row->kernel->needs));
        if (fma >= 0)
            candidate->work[fma] = row->work.flops;
        for (size_t i = 0; i < run->n_references; ++i)
            if (run->references[i].context == &run->read)
                candidate->work[i] = row->work.bytes;
    }
}

/* ---- results */

static const sattn_bench_row *baseline_of(const job_run *run, const sattn_bench_row *row,
                                          sattn_row_kind kind)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        const sattn_bench_row *const other = run->ready[r];
        if (other->kind != kind || other->state != SATTN_ROW_MEASURED)
            continue;
        if (kind == SATTN_ROW_SCALAR || other->kernel->needs == row->kernel->needs)
            return other;
    }
    return NULL;
}

/* How often `row` does the work of `other` in the other's time. */
static sattn_stat speedup(const sattn_bench_row *row, const sattn_bench_row *other)
{
    if (!other)
        return sattn_stat_of(NULL, 0);
    const sattn_stat by_time = sattn_measure_ratio(&row->measured, &other->measured);
    const bool works = row->work.flops > 0 && other->work.flops > 0;
    return sattn_stat_scaled(by_time, works ? row->work.flops / other->work.flops : 1);
}

/* A median above what the reference allows is the machine's doing, not the kernel's, where the
 * rounds do not agree on it: calls that skip their work are above it in all of them. */
static void forgive(sattn_measure_result *result)
{
    if (result->status == SATTN_MEASURE_ABOVE_PEAK &&
        result->share[result->bound].low <= SATTN_MEASURE_SANE_SHARE)
        result->status = SATTN_MEASURE_TAINTED;
}

static void take_results(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        sattn_bench_row *const row = run->ready[r];
        const size_t index = (size_t)(row - run->job->rows);
        row->measured = run->results[r];
        forgive(&row->measured);
        row->state = SATTN_ROW_MEASURED;
        if (run->calls[index].status != SATTN_OK) {
            row->state = SATTN_ROW_FAILED;
            snprintf(row->why, sizeof row->why, "a call failed while it was timed: %s",
                     sattn_status_string(run->calls[index].status));
        } else if (!sattn_measure_valid(row->measured.status)) {
            row->state = SATTN_ROW_FAILED;
            snprintf(row->why, sizeof row->why, "%s",
                     sattn_measure_status_string(row->measured.status));
        }
        const double share_done = row->work.flops > 0 ? run->job->work.flops / row->work.flops : 1;
        row->time_ns = row->measured.time_ns.median * share_done;
        if (row->measured.bound >= 0)
            row->bound = run->references[row->measured.bound].name;
    }
    for (size_t r = 0; r < run->n_ready; ++r) {
        sattn_bench_row *const row = run->ready[r];
        if (row->state != SATTN_ROW_MEASURED)
            continue;
        row->over_scalar = speedup(row, baseline_of(run, row, SATTN_ROW_SCALAR));
        row->autovec = baseline_of(run, row, SATTN_ROW_AUTOVEC);
        row->over_autovec = speedup(row, row->autovec);
    }
}

static void measure(job_run *run)
{
    add_references(run);
    add_candidates(run);
    const sattn_measure_plan plan = {.candidates = run->candidates,
                                     .n_candidates = run->n_ready,
                                     .references = run->references,
                                     .n_references = run->n_references};
    const sattn_measure_options options = {.budget_s = run->setting->seconds * (double)run->n_ready,
                                           .min_rounds = SATTN_STAT_LEAST,
                                           .progress = measuring,
                                           .progress_context = run};
    if (sattn_measure(&plan, &options, run->results))
        take_results(run);
    else
        snprintf(run->job->error, sizeof run->job->error, "out of memory while measuring");
}

void sattn_bench_run_job(sattn_bench_job *job, const sattn_bench_setting *setting)
{
    job_run run = {.job = job, .setting = setting};
    report(&run, 0, "making inputs");
    if (!open_workload(&run))
        return;
    run.calls = calloc(job->n_rows, sizeof *run.calls);
    run.candidates = calloc(job->n_rows, sizeof *run.candidates);
    run.results = calloc(job->n_rows, sizeof *run.results);
    run.ready = calloc(job->n_rows, sizeof *run.ready);
    run.buffers = calloc((size_t)run.workload.n_sets, sizeof *run.buffers);
    if (run.calls && run.candidates && run.results && run.ready && run.buffers) {
        mark_choice(&run);
        prepare_rows(&run);
        if (run.n_ready > 0)
            measure(&run);
    } else {
        snprintf(job->error, sizeof job->error, "out of memory");
    }
    for (size_t r = 0; run.calls && r < job->n_rows; ++r)
        sattn_bench_call_close(&run.calls[r]);
    free(run.calls);
    free(run.candidates);
    free(run.results);
    free(run.ready);
    free(run.buffers);
    sattn_workload_close(&run.workload);
}

bool sattn_bench_job_failed(const sattn_bench_job *job)
{
    bool failed = *job->error != '\0';
    for (size_t r = 0; r < job->n_rows; ++r)
        failed = failed || job->rows[r].state == SATTN_ROW_FAILED;
    return failed;
}
