/* SPDX-License-Identifier: MIT
 *
 * ragged.c: attention over sequences of different lengths. Each is what a call of its own would be:
 * its arguments, the kernels of its phase, its key ranges. The blocks of rows of all of them are
 * tasks of one team. */
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/ragged_check.h"
#include "dispatch/ragged_plan.h"
#include "dispatch/team.h"
#include "kernels/visibility.h"

typedef struct execution {
    const sattn_ragged_plan *p;
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
    const sattn_ragged_plan *const p = e->p;
    int64_t low = 0, high = p->n_sequences; /* first_tasks[low] <= index < first_tasks[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (e->first_tasks[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    const sattn_attention_args s = sattn_ragged_sequence(&p->args, &p->ragged, e->order[low]);
    const sattn_plan *const plan = sattn_ragged_plan_of(p, s.n_q);
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
static double cost_of(const sattn_ragged_plan *p, int64_t b)
{
    const int64_t n_q = sattn_ragged_queries(&p->ragged, b);
    if (n_q == 0)
        return 0;
    const int64_t rows = sattn_ragged_plan_of(p, n_q)->block_rows;
    return (double)(n_q < rows ? n_q : rows) * (double)sattn_ragged_keys(&p->ragged, b);
}

/* The costliest tasks first: those begun last should end together. Shell's sort, with the gaps of
 * Gonnet & Baeza-Yates: halved ones would be slow where prompts and single tokens alternate. */
static void order_sequences(const sattn_ragged_plan *p, int64_t *order)
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
        const sattn_attention_args s =
            sattn_ragged_sequence(&e->p->args, &e->p->ragged, e->order[at]);
        e->first_tasks[at + 1] = e->first_tasks[at] + sattn_ragged_tasks(e->p, e->order[at]);
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
    sattn_ragged_plan p;
    execution e = {.p = &p};
    sattn_status status = sattn_ragged_plan_make(&p, args, ragged, options);
    if (status != SATTN_OK || sattn_ragged_is_empty(&p))
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
    sattn_ragged_plan p;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = sattn_ragged_plan_make(&p, args, ragged, options);
    if (status == SATTN_OK)
        *size = p.size;
    return status;
}
