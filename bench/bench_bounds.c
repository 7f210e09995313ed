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
    shared->limit.next = (size_t)*shared->cursor;
    const int64_t done = sattn_limit_run(&shared->limit, work);
    *shared->cursor = (int64_t)shared->limit.next;
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

static void add_memory(sattn_bounds *bounds, const sattn_bench_task *task,
                       const sattn_workload *workload, const char *isa, int64_t *cursor)
{
    const size_t n_sets = (size_t)workload->n_sets;
    sattn_limit *const limit = &bounds->memory.limit;
    for (size_t s = 0; s < n_sets; ++s) {
        sattn_limit_buffer *const buffer = &bounds->buffers[s];
        size_t unused;
        buffer->data = sattn_workload_piece(workload, (int64_t)s, task->streamed, &buffer->bytes);
        buffer->to = sattn_workload_piece(workload, (int64_t)s, task->output, &unused);
    }
    const bool usable = task->memory == SATTN_LIMIT_COPY
                            ? sattn_limit_init_copy(limit, isa, bounds->buffers, n_sets)
                            : sattn_limit_init_read(limit, isa, bounds->buffers, n_sets);
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
    bounds->buffers = calloc((size_t)workload->n_sets, sizeof *bounds->buffers);
    if (!bounds->buffers)
        return false;
    add_compute(bounds, job, SATTN_MEASURE_MAX_REFERENCES - (by_memory ? 1 : 0));
    if (by_memory)
        add_memory(bounds, task, workload, isa, cursor);
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
