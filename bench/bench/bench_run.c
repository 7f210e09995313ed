/* SPDX-License-Identifier: MIT
 *
 * bench_run.c: the measurement of one job. */
#include "bench/bench/bench_run.h"

#include "bench/bench/bench_bounds.h"
#include "bench/bench/bench_choice.h"
#include "bench/bench/bench_list.h"
#include "bench/bench/bench_prepare.h"
#include "bench/bench/bench_ratios.h"
#include "bench/bench/bench_workloads.h"
#include "bench/measure/clock.h"
#include "bench/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time in a round for scalar and autovec rows and their references together. */
static const double slow_round_s = 0.2;

/* A window of a layer: several steps of a decoder, so that there is one before it, not timed, that
 * leaves the weights where steps leave them; 0 is the usual one. */
static const double layer_window_s = 4e-3;
/* Share of the measuring time in which a core that is shared may be waited for. */
static const double patience = 0.7;

/* All that a job needs while it runs. */
typedef struct job_run {
    sattn_bench_job *job;
    const sattn_bench_setting *setting;
    sattn_workload *workloads; /* [n_data]; those that are not open hold nothing */
    int64_t begin_ns, cursor;
    sattn_bench_call *calls; /* [n_rows] */
    sattn_bounds bounds;
    sattn_measure_candidate
        *candidates;               /* of the rows that are ready; all parts of a step are one */
    sattn_measure_result *results; /* [n_candidates] */
    size_t n_candidates;
    sattn_bench_row **ready;
    size_t *candidate_of; /* [n_ready] */
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

/* ---- rows */

/* Marks the row of what the dispatcher takes for the shape if nothing is asked for. It is then
 * measured in that way, since such a call may run a second kernel on the last rows. */
static void mark_choice(const job_run *run)
{
    for (size_t r = 0; r < run->job->n_rows && !run->setting->forces; ++r) {
        sattn_bench_row *const row = &run->job->rows[r];
        row->chosen = sattn_bench_is_choice(row, &run->workloads[row->data].shape,
                                            &run->workloads[row->data].args);
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
        const sattn_bench_request request = {.workload = &run->workloads[row->data],
                                             .cursor = &run->cursor,
                                             .peers = run->setting->peers,
                                             .memory = &run->workloads[0].shared};
        sattn_workload_restore(&run->workloads[row->data]);
        sattn_bench_prepare(row, &request, slow_s, &run->calls[r]);
        run->calls[r].crew = run->setting->crew;
        if (row->state == SATTN_ROW_READY)
            run->ready[run->n_ready++] = row;
    }
}

static void prepare_window(void *context)
{
    const sattn_bench_call *const call = context;
    sattn_workload_restore(call->workload);
    sattn_crew_gather(call->crew, call->options.threads);
}

/* Of a part of a step, the row before it that is measured with it; else NULL. */
static const sattn_bench_row *measured_with(const job_run *run, size_t ready)
{
    const sattn_bench_row *const row = run->ready[ready];
    for (size_t r = 0; r < ready && row->variant->part; ++r) {
        const sattn_bench_row *const other = run->ready[r];
        if (other->variant->part && other->variant->needs == row->variant->needs &&
            other->threads == row->threads)
            return other;
    }
    return NULL;
}

static void add_candidate(job_run *run, const sattn_bench_row *row)
{
    sattn_measure_candidate *const candidate = &run->candidates[run->n_candidates++];
    sattn_bench_call *const call = &run->calls[row - run->job->rows];
    *candidate =
        (sattn_measure_candidate){.name = row->name,
                                  .call = sattn_bench_call_run,
                                  .run = row->variant->peer ? sattn_bench_call_window : NULL,
                                  .prepare = prepare_window,
                                  .context = call,
                                  .threads = row->threads};
    if (row->variant->part) {
        candidate->run = sattn_bench_call_parts;
        candidate->part_ns = call->decoder->part_ns;
        candidate->n_parts = SATTN_DECODER_PARTS;
    } else if (!row->variant->peer) { /* a peer is compared with us, not with what bounds it */
        sattn_bounds_work(&run->bounds, row, candidate->work);
    }
}

static void add_candidates(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        const sattn_bench_row *const other = measured_with(run, r);
        for (size_t o = 0; o < r && other; ++o)
            if (run->ready[o] == other)
                run->candidate_of[r] = run->candidate_of[o];
        if (other)
            continue;
        run->candidate_of[r] = run->n_candidates;
        add_candidate(run, run->ready[r]);
    }
}

/* ---- results */

/* A median above what the reference allows is the machine's doing, not the kernel's, where the
 * rounds do not agree on it: calls that skip their work are above it in all of them. So it is where
 * the reference has several threads and hardly ever got its CPUs, which the call may have done
 * without. */
static void forgive(sattn_measure_result *result, int threads)
{
    if (result->status == SATTN_MEASURE_ABOVE_PEAK &&
        (result->share[result->bound].low <= SATTN_MEASURE_SANE_SHARE ||
         (threads > 1 && result->taint.kept)))
        result->status = SATTN_MEASURE_TAINTED;
}

static void take_result(const job_run *run, sattn_bench_row *row,
                        const sattn_measure_result *result)
{
    const sattn_status called = run->calls[row - run->job->rows].status;
    row->measured = *result;
    forgive(&row->measured, row->threads);
    row->state = SATTN_ROW_MEASURED;
    const sattn_peer_call *const peer = run->calls[row - run->job->rows].peer;
    if (called != SATTN_OK) {
        row->state = peer ? SATTN_ROW_ABSENT : SATTN_ROW_FAILED;
        snprintf(row->why, sizeof row->why, "a call failed while it was timed: %.280s",
                 peer ? peer->why : sattn_status_string(called));
    } else if (!sattn_measure_valid(row->measured.status)) {
        row->state = peer ? SATTN_ROW_ABSENT : SATTN_ROW_FAILED;
        snprintf(row->why, sizeof row->why, "%s",
                 sattn_measure_status_string(row->measured.status));
    }
    const double amount = sattn_work_amount(&row->work);
    const double times = amount > 0 ? sattn_work_amount(&row->whole) / amount : 1;
    row->time_ns = row->measured.time_ns.median * times;
    row->bounded = row->measured.bound >= 0;
    for (size_t i = 0; i < run->bounds.count; ++i)
        row->kinds[i] = run->bounds.list[i].kind;
    if (row->bounded)
        row->bound = row->kinds[row->measured.bound];
}

/* Each row gets a result of its own. */
static void take_results(job_run *run)
{
    for (size_t r = 0; r < run->n_ready; ++r) {
        sattn_bench_row *const row = run->ready[r];
        sattn_measure_result *const result = &run->results[run->candidate_of[r]];
        sattn_measure_result of_part;
        if (!row->variant->part) {
            take_result(run, row, result);
            *result = (sattn_measure_result){0};
        } else if (sattn_measure_part(result, row->variant->part_number, &of_part)) {
            take_result(run, row, &of_part);
        } else {
            snprintf(run->job->error, sizeof run->job->error, "out of memory");
        }
    }
    sattn_measure_free(run->results, run->n_candidates);
    sattn_bench_set_ratios(run->job);
}

/* Seconds for the rounds. */
static double budget(const job_run *run)
{
    const double least = 0.05 * (double)run->n_candidates;
    if (run->setting->seconds > 0)
        return run->setting->seconds * (double)run->n_candidates;
    const double left = run->setting->job_seconds - (double)(sattn_now_ns() - run->begin_ns) * 1e-9;
    return left > least ? left : least;
}

static void measure(job_run *run)
{
    const sattn_bounds_request request = {.workload = &run->workloads[0],
                                          .read_isa = run->setting->read_isa,
                                          .cycles = run->setting->cycles,
                                          .cursor = &run->cursor,
                                          .crew = run->setting->crew};
    if (!sattn_bounds_open(&run->bounds, run->job, &request)) {
        snprintf(run->job->error, sizeof run->job->error, "out of memory");
        return;
    }
    add_candidates(run);
    const sattn_measure_plan plan = {.candidates = run->candidates,
                                     .n_candidates = run->n_candidates,
                                     .references = run->bounds.references,
                                     .n_references = run->bounds.count};
    const double budget_s = budget(run);
    const sattn_measure_options options = {.budget_s = budget_s,
                                           .patience_s = patience * budget_s,
                                           .window_s =
                                               run->job->task->is_layer ? layer_window_s : 0,
                                           .min_rounds = SATTN_STAT_LEAST,
                                           .progress = measuring,
                                           .progress_context = run,
                                           .is_stopped = sattn_stop_asked};
    if (sattn_measure(&plan, &options, run->results))
        take_results(run);
    else
        snprintf(run->job->error, sizeof run->job->error, "out of memory while measuring");
}

/* ---- the whole */

static bool allocate(job_run *run)
{
    const size_t n_rows = run->job->n_rows;
    if (n_rows == 0 || run->job->n_data == 0)
        return false;
    run->workloads = calloc(run->job->n_data, sizeof *run->workloads);
    run->calls = calloc(n_rows, sizeof *run->calls);
    run->candidates = calloc(n_rows, sizeof *run->candidates);
    run->results = calloc(n_rows, sizeof *run->results);
    run->ready = calloc(n_rows, sizeof *run->ready);
    run->candidate_of = calloc(n_rows, sizeof *run->candidate_of);
    return run->workloads && run->calls && run->candidates && run->results && run->ready &&
           run->candidate_of;
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
    free(run->candidate_of);
}

static void start_peers(const sattn_bench_job *job, const sattn_bench_setting *setting)
{
    for (size_t r = 0; r < job->n_rows; ++r)
        if (job->rows[r].variant->peer)
            sattn_bench_peers_start(setting->peers, job->rows[r].variant->cap);
}

void sattn_bench_run_job(sattn_bench_job *job, const sattn_bench_setting *setting)
{
    job_run run = {.job = job, .setting = setting, .begin_ns = sattn_now_ns()};
    report(&run, 0, "making inputs");
    start_peers(job, setting);
    for (size_t r = 0; r < job->n_rows; ++r)
        sattn_crew_gather(setting->crew, job->rows[r].threads);
    if (!allocate(&run)) {
        snprintf(job->error, sizeof job->error, "out of memory");
    } else if (sattn_bench_open_workloads(run.workloads, job, setting)) {
        mark_choice(&run);
        prepare_rows(&run);
        if (run.n_ready > 0)
            measure(&run);
    }
    free_all(&run);
    job->is_done = true;
}

bool sattn_bench_job_failed(const sattn_bench_job *job)
{
    bool failed = *job->error != '\0';
    for (size_t r = 0; r < job->n_rows; ++r)
        failed = failed || job->rows[r].state == SATTN_ROW_FAILED;
    return failed;
}
