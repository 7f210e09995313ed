/* SPDX-License-Identifier: MIT
 *
 * ragged.c: attention over sequences of different lengths. Each is what a call of its own would be:
 * its arguments, the kernels of its phase, its key ranges. The blocks of rows of all of them are
 * tasks of one team. */
#include "dispatch/attention_check.h"
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/ragged_check.h"
#include "dispatch/share.h"
#include "dispatch/team.h"
#include "kernels/visibility.h"

enum { PHASES = 3 };

typedef struct ragged_plan {
    sattn_attention_args args;                   /* the call's, its tensors as one batch entry */
    sattn_operand operands[SATTN_OPERAND_COUNT]; /* of these */
    sattn_ragged ragged;
    int64_t n_sequences;
    sattn_overrides overrides;
    const sattn_options *options;
    int64_t tile_rows; /* of a fused prefill kernel; 0 for a chain */
    bool has_phase[PHASES];
    sattn_plan of_phase[PHASES]; /* for the most queries and keys of a sequence of the phase */
    int workers;
    size_t order, first_tasks, size; /* of the workspace: int64_t [n_sequences], the order of the
                                        sequences; [n_sequences + 1] in it; its bytes */
} ragged_plan;

static int64_t queries_of(const sattn_ragged *ragged, int64_t b)
{
    return ragged->q_starts[b + 1] - ragged->q_starts[b];
}

static int64_t keys_of(const sattn_ragged *ragged, int64_t b)
{
    return ragged->k_starts[b + 1] - ragged->k_starts[b];
}

static int phase_index(const ragged_plan *p, int64_t n_q)
{
    const sattn_attention_args *const a = &p->args;
    const sattn_phase phase =
        sattn_fused_phase(sattn_group_of(a), n_q, p->tile_rows, sattn_least_width(a));
    return phase == SATTN_PHASE_PREFILL ? 0 : phase == SATTN_PHASE_FEW_QUERY ? 1 : 2;
}

/* Row `row` of a tensor of n_rows rows, the stride of which is ignored where there is one. */
static const void *row_of(const void *data, int64_t n_rows, int64_t row, int64_t stride)
{
    return data && n_rows > 1 ? (const float *)data + row * stride : data;
}

/* Sequence b as a call of its own. */
static sattn_attention_args sequence_of(const sattn_attention_args *a, const sattn_ragged *ragged,
                                        int64_t b)
{
    sattn_attention_args s = *a;
    s.n_q = queries_of(ragged, b);
    s.n_k = keys_of(ragged, b);
    /* Without rows a sequence may start behind the last row, which has no address. */
    const int64_t q0 = s.n_q > 0 ? ragged->q_starts[b] : 0;
    const int64_t k0 = s.n_k > 0 ? ragged->k_starts[b] : 0;
    s.q.data = row_of(a->q.data, a->n_q, q0, a->q.stride_t);
    s.k.data = row_of(a->k.data, a->n_k, k0, a->k.stride_t);
    s.v.data = row_of(a->v.data, a->n_k, k0, a->v.stride_t);
    s.o.data = (void *)(uintptr_t)row_of(a->o.data, a->n_q, q0, a->o.stride_t);
    s.lse = a->lse ? a->lse + q0 : NULL;
    s.causal_offset = a->causal_offset ? a->causal_offset + b : NULL;
    return s;
}

/* No sequence has a query. */
static bool is_empty(const ragged_plan *p)
{
    bool has_queries = false;
    for (int64_t b = 0; b < p->n_sequences && !has_queries; ++b)
        has_queries = queries_of(&p->ragged, b) > 0;
    return !has_queries || sattn_attention_is_empty(&p->args);
}

/* The largest sequence of each phase; returns the work of all. */
static double survey(ragged_plan *p, sattn_computation computation, double *prefill_rows)
{
    double work = 0;
    for (int64_t b = 0; b < p->n_sequences; ++b) {
        const sattn_attention_args s = sequence_of(&p->args, &p->ragged, b);
        if (s.n_q == 0)
            continue;
        const int phase = phase_index(p, s.n_q);
        sattn_attention_args *const largest = &p->of_phase[phase].args;
        if (!p->has_phase[phase])
            *largest = s;
        p->has_phase[phase] = true;
        largest->n_q = s.n_q > largest->n_q ? s.n_q : largest->n_q;
        largest->n_k = s.n_k > largest->n_k ? s.n_k : largest->n_k;
        work += sattn_work_of(&s, computation);
        *prefill_rows += phase == 0 ? (double)s.n_q * (double)s.n_kv_heads : 0.0;
    }
    return work;
}

static int64_t tasks_of(const ragged_plan *p, int64_t b)
{
    const int64_t n_q = queries_of(&p->ragged, b);
    if (n_q == 0)
        return 0;
    const int64_t rows = p->of_phase[phase_index(p, n_q)].block_rows;
    return ((n_q - 1) / rows + 1) * p->args.n_kv_heads;
}

/* Kernels and blocks of each phase, and the number of workers. */
static sattn_status plan_phases(ragged_plan *p, sattn_computation computation, int threads,
                                double prefill_rows)
{
    for (int phase = 0; phase < PHASES; ++phase) {
        if (!p->has_phase[phase])
            continue;
        sattn_plan *const plan = &p->of_phase[phase];
        const sattn_status status =
            sattn_plan_begin(plan, computation, false, &p->overrides, p->options);
        if (status != SATTN_OK)
            return status;
        if (threads > 1 && phase == 0) {
            const int64_t rows =
                sattn_block_rows(prefill_rows, plan->n_group, sattn_plan_tile_rows(plan), threads);
            plan->block_rows = rows < plan->block_rows ? rows : plan->block_rows;
        }
    }
    int64_t tasks = 0;
    for (int64_t b = 0; b < p->n_sequences && tasks < threads; ++b)
        tasks += tasks_of(p, b);
    p->workers = tasks < threads ? (int)tasks : threads;
    p->workers = p->workers > 0 ? p->workers : 1;
    if (p->has_phase[0]) {
        p->of_phase[0].workers = p->workers;
        p->of_phase[0].n_dense =
            sattn_dense_count(&p->of_phase[0], p->n_sequences * p->args.n_kv_heads, 1);
    }
    return SATTN_OK;
}

/* A worker's memory serves sequences of all phases; there is one set of dense copies. */
static sattn_status lay_out(ragged_plan *p)
{
    size_t worker_size = 0, shared_size = 0;
    for (int phase = 0; phase < PHASES; ++phase) {
        sattn_workspace_layout *const at = &p->of_phase[phase].layout;
        const sattn_status status =
            p->has_phase[phase] ? sattn_layout_parts(&p->of_phase[phase]) : SATTN_OK;
        if (status != SATTN_OK)
            return status;
        worker_size = at->worker_size > worker_size ? at->worker_size : worker_size;
        shared_size = at->shared_size > shared_size ? at->shared_size : shared_size;
    }
    for (int phase = 0; phase < PHASES; ++phase) {
        sattn_workspace_layout *const at = &p->of_phase[phase].layout;
        at->worker_size = worker_size;
        at->shared_size = shared_size;
        at->dense_size = p->of_phase[0].layout.dense_size;
        at->n_dense = p->of_phase[0].layout.n_dense;
        const sattn_status status = sattn_layout_places(at, p->workers, 0);
        if (status != SATTN_OK)
            return status;
        p->order = at->size;
    }
    p->first_tasks = p->order + (size_t)p->n_sequences * sizeof(int64_t);
    p->size = (p->first_tasks + ((size_t)p->n_sequences + 1) * sizeof(int64_t) + 63) / 64 * 64;
    return SATTN_OK;
}

static sattn_status make_plan(ragged_plan *p, const sattn_attention_args *args,
                              const sattn_ragged *ragged, const sattn_options *options)
{
    sattn_computation computation;
    bool is_open; /* but all sequences are computed alike */
    double prefill_rows = 0;
    sattn_status status = sattn_ragged_check(args, ragged);
    if (status == SATTN_OK)
        status = sattn_choose_computation(args, options, &computation, &is_open);
    if (status != SATTN_OK)
        return status;
    *p = (ragged_plan){.args = *args,
                       .ragged = *ragged,
                       .n_sequences = args->batch,
                       .options = options,
                       .workers = 1};
    p->args.batch = 1;
    status = sattn_plan_check(&p->args, computation, options, p->operands);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &p->overrides);
    if (status != SATTN_OK)
        return status;
    if (is_empty(p)) { /* wrong options are refused all the same */
        p->of_phase[0].args = p->args;
        return sattn_plan_begin(&p->of_phase[0], computation, false, &p->overrides, options);
    }
    p->tile_rows = computation == SATTN_COMPUTE_FUSED ? sattn_prefill_tile_rows(&p->overrides) : 0;
    const double work = survey(p, computation, &prefill_rows);
    const int threads = sattn_threads_for(work, sattn_threads_asked(options));
    status = plan_phases(p, computation, threads, prefill_rows);
    return status == SATTN_OK ? lay_out(p) : status;
}

typedef struct execution {
    const ragged_plan *p;
    bool o_is_q;
    pthread_mutex_t *lock;
    int64_t kv_bytes; /* of all sequences */
    sattn_dense dense;
    unsigned char *workspace;
    int64_t *order, *first_tasks;
} execution;

static void run_task(void *context, int64_t index, int worker)
{
    execution *const e = context;
    const ragged_plan *const p = e->p;
    int64_t low = 0, high = p->n_sequences; /* first_tasks[low] <= index < first_tasks[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (e->first_tasks[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    const sattn_attention_args s = sequence_of(&p->args, &p->ragged, e->order[low]);
    const sattn_plan *const plan = &p->of_phase[phase_index(p, s.n_q)];
    const int64_t rows = plan->block_rows, n_blocks = (s.n_q - 1) / rows + 1;
    const int64_t at = index - e->first_tasks[low], rank = at % n_blocks;
    const int64_t i0 = (s.causal ? n_blocks - 1 - rank : rank) * rows;
    const int64_t kv = at / n_blocks;
    sattn_unit block = sattn_unit_of(&s, plan->n_group, 0, kv);
    block.n_rest = sattn_plan_rest_rows(plan, s.n_q);
    block.kv_bytes = e->kv_bytes;
    sattn_dense_copy *const copy =
        sattn_dense_enter(&e->dense, e->order[low] * s.n_kv_heads + kv, &block);
    if (n_blocks > 1)
        block = sattn_unit_rows(&block, i0, s.n_q - i0 < rows ? s.n_q : i0 + rows);
    const sattn_unit_memory memory =
        sattn_unit_memory_of(&plan->layout, e->workspace, worker, -1, e->lock);
    const int64_t splits =
        plan->computation == SATTN_COMPUTE_FUSED ? sattn_splits_asked(s.n_k, plan->key_splits) : 1;
    sattn_run_rows(plan, &block, splits, &memory, e->o_is_q);
    sattn_dense_leave(&e->dense, copy);
}

/* What a task of sequence b costs, to compare. */
static double cost_of(const ragged_plan *p, int64_t b)
{
    const int64_t n_q = queries_of(&p->ragged, b);
    if (n_q == 0)
        return 0;
    const int64_t rows = p->of_phase[phase_index(p, n_q)].block_rows;
    return (double)(n_q < rows ? n_q : rows) * (double)keys_of(&p->ragged, b);
}

/* The costliest tasks first: those begun last should end together. Shell's sort, with the gaps of
 * Gonnet & Baeza-Yates: halved ones would be slow where prompts and single tokens alternate. */
static void order_sequences(const ragged_plan *p, int64_t *order)
{
    const int64_t n = p->n_sequences;
    for (int64_t b = 0; b < n; ++b)
        order[b] = b;
    for (int64_t gap = n / 2; gap > 0 && p->workers > 1; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int64_t i = gap; i < n; ++i) {
            const int64_t moved = order[i];
            int64_t to = i;
            for (; to >= gap && cost_of(p, order[to - gap]) < cost_of(p, moved); to -= gap)
                order[to] = order[to - gap];
            order[to] = moved;
        }
}

static void run_plan(void *context, unsigned char *workspace)
{
    execution *const e = context;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    e->lock = e->p->workers > 1 ? &lock : NULL;
    e->workspace = workspace;
    e->order = (int64_t *)(void *)(workspace + e->p->order);
    e->first_tasks = (int64_t *)(void *)(workspace + e->p->first_tasks);
    order_sequences(e->p, e->order);
    e->first_tasks[0] = 0;
    e->kv_bytes = 0;
    for (int64_t at = 0; at < e->p->n_sequences; ++at) {
        const sattn_attention_args s = sequence_of(&e->p->args, &e->p->ragged, e->order[at]);
        e->first_tasks[at + 1] = e->first_tasks[at] + tasks_of(e->p, e->order[at]);
        e->kv_bytes = sattn_add_held(e->kv_bytes, s.n_q > 0 ? sattn_kv_bytes(&s) : 0);
    }
    sattn_dense_begin(&e->dense, &e->p->of_phase[0], workspace);
    sattn_team_run(e->p->workers, e->first_tasks[e->p->n_sequences], run_task, e);
    sattn_dense_end(&e->dense);
    pthread_mutex_destroy(&lock);
}

sattn_status sattn_attention_ragged(const sattn_attention_args *args, const sattn_ragged *ragged,
                                    const sattn_options *options)
{
    ragged_plan p;
    execution e = {.p = &p};
    sattn_status status = make_plan(&p, args, ragged, options);
    if (status != SATTN_OK || is_empty(&p))
        return status;
    const sattn_workspace used = sattn_workspace_used(
        options ? options->workspace : NULL, options ? options->workspace_size : 0, p.size);
    status = sattn_ragged_check_data(args, ragged, p.operands, &used, &e.o_is_q);
    return status == SATTN_OK ? sattn_with_workspace(&used, p.size, run_plan, &e) : status;
}

sattn_status sattn_attention_ragged_workspace_size(const sattn_attention_args *args,
                                                   const sattn_ragged *ragged,
                                                   const sattn_options *options, size_t *size)
{
    ragged_plan p;
    if (!size)
        return sattn_fail(SATTN_ERR_ARGUMENT, "size is NULL: expected where to put the size");
    const sattn_status status = make_plan(&p, args, ragged, options);
    *size = status == SATTN_OK ? p.size : 0;
    return status;
}
