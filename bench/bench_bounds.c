/* SPDX-License-Identifier: MIT
 *
 * bench_bounds.c: makes the reference loops of a job (bench_bounds.h). */
#include "bench/bench_bounds.h"

#include <stdlib.h>
#include <string.h>

/* Time to find the fastest way over the buffers. */
static const double choose_s = 0.1;

static int64_t run_shared(void *context, int64_t work)
{
    sattn_shared_limit *const shared = context;
    shared->limit.next = (size_t)(*shared->cursor * shared->pieces);
    const int64_t done = sattn_limit_run(&shared->limit, work);
    const int64_t next = ((int64_t)shared->limit.next + shared->pieces - 1) / shared->pieces;
    *shared->cursor = next % shared->n_sets; /* a set that was begun is no longer cold */
    return done;
}

static int compute_of(const sattn_bounds *bounds, const char *isa)
{
    for (size_t i = 0; i < bounds->count; ++i)
        if (bounds->references[i].context == &bounds->compute[i] &&
            strcmp(bounds->compute[i].isa->name, isa) == 0)
            return (int)i;
    return -1;
}

static void add(sattn_bounds *bounds, sattn_limit_kind kind,
                int64_t (*run)(void *context, int64_t work), void *context)
{
    bounds->kinds[bounds->count] = kind;
    bounds->references[bounds->count++] =
        (sattn_measure_reference){sattn_limit_name(kind), run, context};
}

static void add_compute(sattn_bounds *bounds, const sattn_bench_job *job, size_t room)
{
    const sattn_limit_kind kind = job->task->compute;
    for (size_t r = 0; r < job->n_rows && bounds->count < room; ++r) {
        const char *const isa = sattn_variant_isa(job->rows[r].variant);
        sattn_limit *const limit = &bounds->compute[bounds->count];
        if (job->rows[r].state != SATTN_ROW_READY || compute_of(bounds, isa) >= 0)
            continue;
        const bool usable = kind == SATTN_LIMIT_EXP ? sattn_limit_init_exp(limit, isa)
                                                    : sattn_limit_init_fma(limit, isa);
        if (usable)
            add(bounds, kind, sattn_limit_run, limit);
    }
}

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

static bool fill_buffers(sattn_bounds *bounds, const sattn_bench_task *task,
                         const sattn_workload *workload)
{
    const bool by_parts = reads_parts(task, &workload->args);
    const int64_t pieces = by_parts ? 2 * workload->args.batch * workload->args.n_kv_heads : 1;
    bounds->memory.pieces = pieces;
    bounds->memory.n_sets = workload->n_sets;
    bounds->buffers = calloc((size_t)(workload->n_sets * pieces), sizeof *bounds->buffers);
    for (int64_t s = 0; bounds->buffers && s < workload->n_sets; ++s) {
        sattn_limit_buffer *const buffer = &bounds->buffers[s * pieces];
        size_t unused;
        if (by_parts) {
            fill_parts(buffer, workload, s);
            continue;
        }
        buffer->data = sattn_workload_piece(workload, s, task->streamed, &buffer->bytes);
        buffer->to = sattn_workload_piece(workload, s, task->output, &unused);
    }
    return bounds->buffers != NULL;
}

static void add_memory(sattn_bounds *bounds, const sattn_bench_task *task, const char *isa,
                       int64_t *cursor)
{
    const size_t count = (size_t)(bounds->memory.n_sets * bounds->memory.pieces);
    sattn_limit *const limit = &bounds->memory.limit;
    const bool usable = task->memory == SATTN_LIMIT_COPY
                            ? sattn_limit_init_copy(limit, isa, bounds->buffers, count)
                            : sattn_limit_init_read(limit, isa, bounds->buffers, count);
    if (!usable)
        return;
    bounds->memory.cursor = cursor;
    sattn_limit_choose(limit, choose_s);
    add(bounds, task->memory, run_shared, &bounds->memory);
}

bool sattn_bounds_open(sattn_bounds *bounds, const sattn_bench_job *job,
                       const sattn_workload *workload, const char *isa, int64_t *cursor)
{
    const sattn_bench_task *const task = job->task;
    const bool by_memory = task->memory_always || job->phase != SATTN_PHASE_PREFILL;
    bounds->count = 0;
    if (!fill_buffers(bounds, task, workload))
        return false;
    add_compute(bounds, job, SATTN_MEASURE_MAX_REFERENCES - (by_memory ? 1 : 0));
    if (by_memory)
        add_memory(bounds, task, isa, cursor);
    return true;
}

void sattn_bounds_close(sattn_bounds *bounds)
{
    free(bounds->buffers);
    bounds->buffers = NULL;
    bounds->count = 0;
}

void sattn_bounds_work(const sattn_bounds *bounds, const sattn_bench_row *row,
                       double work[SATTN_MEASURE_MAX_REFERENCES])
{
    const int compute = compute_of(bounds, sattn_variant_isa(row->variant));
    for (size_t i = 0; i < bounds->count; ++i)
        if (bounds->references[i].context == &bounds->memory)
            work[i] = row->work.bytes;
    if (compute >= 0)
        work[compute] = sattn_work_amount(&row->work);
}
