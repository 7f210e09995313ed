/* SPDX-License-Identifier: MIT
 *
 * bench_bounds.c: makes the reference loops of a job (bench_bounds.h). */
#include "bench/bench/bench_bounds.h"

#include <stdlib.h>
#include <string.h>

/* Time to find the fastest way over the buffers. */
static const double choose_s = 0.1;

/* ---- running */

static void gather(void *context)
{
    sattn_bound *const bound = context;
    sattn_crew_gather(bound->crew, bound->team.n_threads);
}

static int64_t run(void *context, int64_t work)
{
    sattn_bound *const bound = context;
    if (bound->pieces == 0)
        return sattn_limit_team_run(&bound->team, work);
    for (int t = 0; t < bound->team.n_threads; ++t)
        bound->team.limits[t].next = (size_t)(*bound->cursor * bound->pieces);
    const int64_t done = sattn_limit_team_run(&bound->team, work);
    const int64_t next = (int64_t)bound->team.limits[0].next;
    /* A set that was begun is no longer cold. */
    *bound->cursor = (next + bound->pieces - 1) / bound->pieces % bound->n_sets;
    return done;
}

/* ---- the list */

static const sattn_bound *find(const sattn_bounds *bounds, sattn_limit_kind kind, const char *isa,
                               int threads)
{
    for (size_t i = 0; i < bounds->count; ++i) {
        const sattn_bound *const bound = &bounds->list[i];
        if (bound->kind == kind && bound->team.n_threads == threads &&
            (!isa || strcmp(bound->isa, isa) == 0))
            return bound;
    }
    return NULL;
}

/* Adds a loop, unless it is there or cannot run here. `bound` has what does not depend on it. */
static void add(sattn_bounds *bounds, const sattn_bound *wanted, int threads)
{
    if (bounds->count == SATTN_MEASURE_MAX_REFERENCES ||
        find(bounds, wanted->kind, wanted->isa, threads))
        return;
    sattn_bound *const bound = &bounds->list[bounds->count];
    *bound = *wanted;
    const sattn_limit_request request = {
        .kind = bound->kind,
        .isa = bound->isa,
        .buffers = bounds->buffers,
        .n_buffers = (size_t)(bound->n_sets * bound->pieces),
        .n_threads = threads,
    };
    if (!sattn_limit_team_open(&bound->team, &request))
        return;
    gather(bound);
    sattn_limit_team_choose(&bound->team, choose_s);
    bounds->references[bounds->count++] =
        (sattn_measure_reference){.name = sattn_limit_name(bound->kind),
                                  .run = run,
                                  .context = bound,
                                  .prepare = threads > 1 ? gather : NULL,
                                  .threads = threads,
                                  .is_unit = bound->kind == SATTN_LIMIT_CYCLE};
}

/* ---- buffers of loops over memory */

/* Whether the task streams K and V and leaves keys unread that no query can see. */
static bool reads_parts(const sattn_bench_task *task, const sattn_attention_args *args)
{
    return task->streamed == (SATTN_TENSOR_K | SATTN_TENSOR_V) &&
           sattn_readable_keys(args) <
               (double)args->batch * (double)args->n_kv_heads * (double)args->n_k;
}

static sattn_limit_buffer rows_of(const sattn_view *view, int64_t b, int64_t h, int64_t width,
                                  sattn_workload_keys keys)
{
    const float *const rows = (const float *)view->data + b * view->stride_b + h * view->stride_h;
    return (sattn_limit_buffer){.data = rows + keys.begin * view->stride_t,
                                .bytes = (size_t)((keys.end - keys.begin) * width) * sizeof *rows};
}

/* The readable rows of K and V, of each KV head. */
static void fill_parts(sattn_limit_buffer *buffer, const sattn_workload *workload, int64_t set)
{
    sattn_attention_args args = workload->args;
    sattn_workload_place(workload, set, &args);
    for (int64_t b = 0; b < args.batch; ++b)
        for (int64_t h = 0; h < args.n_kv_heads; ++h) {
            const sattn_workload_keys keys = sattn_workload_readable(&args, b);
            *buffer++ = rows_of(&args.k, b, h, args.d, keys);
            *buffer++ = rows_of(&args.v, b, h, args.d_v, keys);
        }
}

/* Returns how many there are of each set; 0: no memory. */
static int64_t fill_buffers(sattn_bounds *bounds, const sattn_bench_task *task,
                            const sattn_workload *workload)
{
    const bool by_parts = reads_parts(task, &workload->args);
    const int64_t pieces = by_parts ? 2 * workload->args.batch * workload->args.n_kv_heads : 1;
    bounds->buffers = calloc((size_t)(workload->n_sets * pieces), sizeof *bounds->buffers);
    for (int64_t s = 0; bounds->buffers && s < workload->n_sets; ++s) {
        sattn_limit_buffer *const buffer = &bounds->buffers[s * pieces];
        size_t unused;
        if (by_parts) {
            fill_parts(buffer, workload, s);
            continue;
        }
        buffer->data = sattn_workload_piece(workload, s, task->streamed, &buffer->bytes);
        if (task->memory == SATTN_LIMIT_COPY)
            buffer->to = sattn_workload_piece(workload, s, task->output, &unused);
    }
    return bounds->buffers ? pieces : 0;
}

/* ---- the whole */

bool sattn_bounds_open(sattn_bounds *bounds, const sattn_bench_job *job,
                       const sattn_bounds_request *request)
{
    const sattn_bench_task *const task = job->task;
    bounds->count = 0;
    const int64_t pieces = fill_buffers(bounds, task, request->workload);
    if (pieces == 0)
        return false;
    const sattn_bound cycle = {.kind = SATTN_LIMIT_CYCLE, .crew = request->crew};
    const sattn_bound memory = {.kind = task->memory,
                                .isa = request->read_isa,
                                .crew = request->crew,
                                .pieces = pieces,
                                .n_sets = request->workload->n_sets,
                                .cursor = request->cursor};
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        const sattn_bound compute = {
            .kind = task->compute, .isa = sattn_variant_isa(row->variant), .crew = request->crew};
        if (row->state != SATTN_ROW_READY)
            continue;
        add(bounds, &compute, row->threads);
        if (task->memory_always || job->phase != SATTN_PHASE_PREFILL)
            add(bounds, &memory, row->threads);
        if (request->cycles && task->compute == SATTN_LIMIT_EXP && row->threads == 1)
            add(bounds, &cycle, 1);
    }
    return true;
}

void sattn_bounds_close(sattn_bounds *bounds)
{
    for (size_t i = 0; i < bounds->count; ++i)
        sattn_limit_team_close(&bounds->list[i].team);
    free(bounds->buffers);
    bounds->buffers = NULL;
    bounds->count = 0;
}

void sattn_bounds_work(const sattn_bounds *bounds, const sattn_bench_row *row,
                       double work[SATTN_MEASURE_MAX_REFERENCES])
{
    const sattn_bench_task *const task = row->variant->op->task;
    const sattn_bound *const loops[] = {
        find(bounds, task->compute, sattn_variant_isa(row->variant), row->threads),
        find(bounds, task->memory, NULL, row->threads),
        find(bounds, SATTN_LIMIT_CYCLE, NULL, row->threads),
    };
    const double amount = sattn_work_amount(&row->work);
    const double works[] = {amount, row->work.bytes, amount};
    for (size_t l = 0; l < sizeof loops / sizeof loops[0]; ++l)
        if (loops[l])
            work[loops[l] - bounds->list] = works[l];
}
