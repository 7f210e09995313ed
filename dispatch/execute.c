/* SPDX-License-Identifier: MIT
 *
 * execute.c: runs a plan. A task is a block of query rows of one batch entry and KV head, or one
 * key range of it; attend.c, chain.c and step_unit.c do it. */
#include "dispatch/execute.h"

#include "dispatch/attend.h"
#include "dispatch/attention_check.h"
#include "dispatch/chain.h"
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/error.h"
#include "dispatch/step_unit.h"
#include "dispatch/team.h"

#include <stdlib.h>

void sattn_run_rows(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                    const sattn_unit_memory *memory, bool o_is_q)
{
    if (plan->computation == SATTN_COMPUTE_FUSED)
        sattn_attend(plan, rows, splits, memory, o_is_q);
    else if (plan->computation == SATTN_COMPUTE_CHAIN)
        sattn_chain_run(plan, rows, memory);
    else
        sattn_step_run(plan, rows, memory);
}

typedef struct execution {
    const sattn_plan *plan;
    const sattn_attention_args *args;
    bool o_is_q;
    pthread_mutex_t *lock; /* of the repair; NULL where there is one worker */
    int64_t kv_bytes;      /* of the call, where it is fused */
    sattn_dense dense;
    unsigned char *workspace;
} execution;

/* Task `index` of the call: unit by unit; of a causal unit the last block first, which sees most.
 */
static void run_task(void *context, int64_t index, int worker)
{
    execution *const e = context;
    const sattn_plan *const plan = e->plan;
    const int64_t n_parts = plan->parts_apart ? plan->splits : 1;
    const int64_t block = index / n_parts, part = index % n_parts;
    const int64_t unit_index = block / plan->n_blocks, rank = block % plan->n_blocks;
    const int64_t i0 = (plan->args.causal ? plan->n_blocks - 1 - rank : rank) * plan->block_rows;
    const int64_t left = plan->args.n_q - i0;
    sattn_unit rows = sattn_unit_of(e->args, plan->n_group, unit_index / plan->args.n_kv_heads,
                                    unit_index % plan->args.n_kv_heads);
    rows.n_rest = sattn_plan_rest_rows(plan, rows.n_q);
    rows.kv_bytes = e->kv_bytes;
    sattn_dense_copy *const copy = sattn_dense_enter(&e->dense, unit_index, &rows);
    if (plan->n_blocks > 1)
        rows = sattn_unit_rows(&rows, i0, i0 + (left < plan->block_rows ? left : plan->block_rows));
    const sattn_unit_memory memory = sattn_unit_memory_of(&plan->layout, e->workspace, worker,
                                                          plan->parts_apart ? block : -1, e->lock);
    if (plan->parts_apart)
        sattn_attend_part(plan, &rows, part, &memory, e->o_is_q);
    else
        sattn_run_rows(plan, &rows, plan->splits, &memory, e->o_is_q);
    sattn_dense_leave(&e->dense, copy);
}

/* `context` is an execution without its memory. */
static void run_in(void *context, unsigned char *workspace)
{
    execution *const e = context;
    const sattn_plan *const plan = e->plan;
    const int64_t n_blocks = e->args->batch * e->args->n_kv_heads * plan->n_blocks;
    const int64_t n_tasks = n_blocks * (plan->parts_apart ? plan->splits : 1);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    e->lock = plan->workers > 1 ? &lock : NULL;
    e->kv_bytes = plan->computation == SATTN_COMPUTE_FUSED ? sattn_kv_bytes(e->args) : 0;
    e->workspace = workspace;
    sattn_dense_begin(&e->dense, plan, workspace);
    if (plan->parts_apart)
        sattn_attend_expect_parts(plan, workspace, n_blocks);
    sattn_team_run(plan->workers, n_tasks, run_task, e);
    sattn_dense_end(&e->dense);
    pthread_mutex_destroy(&lock);
}

void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *args, bool o_is_q,
                        unsigned char *workspace)
{
    execution e;
    e.plan = plan;
    e.args = args;
    e.o_is_q = o_is_q;
    run_in(&e, workspace);
}

sattn_workspace sattn_workspace_used(void *memory, size_t size, size_t needed)
{
    return (sattn_workspace){memory, size < needed ? size : needed};
}

sattn_status sattn_with_workspace(const sattn_workspace *used, size_t needed,
                                  void (*run)(void *context, unsigned char *workspace),
                                  void *context)
{
    if (!used->memory) {
        /* Aligned by hand: aligned_alloc of glibc takes several times as long. */
        unsigned char *const own = malloc(needed + SATTN_WORKSPACE_ALIGNMENT - 1);
        if (!own)
            return sattn_fail(SATTN_ERR_MEMORY, "could not allocate a workspace of %zu bytes",
                              needed);
        const size_t beyond = (uintptr_t)own % SATTN_WORKSPACE_ALIGNMENT;
        run(context, own + (beyond > 0 ? SATTN_WORKSPACE_ALIGNMENT - beyond : 0));
        free(own);
        return SATTN_OK;
    }
    if ((uintptr_t)used->memory % SATTN_WORKSPACE_ALIGNMENT != 0)
        return sattn_fail(SATTN_ERR_WORKSPACE, "workspace = %p: expected a multiple of 64",
                          used->memory);
    if (used->size < needed)
        return sattn_fail(SATTN_ERR_WORKSPACE, "workspace_size = %zu: expected at least %zu",
                          used->size, needed);
    run(context, used->memory);
    return SATTN_OK;
}

/* Scores without columns, of any number of rows. */
static bool writes_nothing(const sattn_attention_args *a, sattn_computation computation)
{
    return a->n_k == 0 &&
           (computation == SATTN_COMPUTE_QK || (computation == SATTN_COMPUTE_SOFTMAX && !a->lse));
}

sattn_status sattn_plan_run_args(const sattn_plan *plan, const sattn_attention_args *args,
                                 void *workspace, size_t workspace_size)
{
    const size_t needed = plan->layout.size;
    const sattn_workspace used = sattn_workspace_used(workspace, workspace_size, needed);
    execution e; /* run_in sets the rest */
    e.plan = plan;
    e.args = args;
    if (sattn_attention_is_empty(args))
        return SATTN_OK;
    const sattn_status status =
        sattn_attention_check_data(args, plan->computation, plan->operands, &used, &e.o_is_q);
    if (status != SATTN_OK || writes_nothing(args, plan->computation))
        return status;
    return sattn_with_workspace(&used, needed, run_in, &e);
}
