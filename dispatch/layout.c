/* SPDX-License-Identifier: MIT
 *
 * layout.c: see layout.h. */
#include "dispatch/layout.h"

#include "dispatch/attention_check.h"
#include "dispatch/chain.h"
#include "dispatch/checked.h"
#include "dispatch/dense.h"
#include "dispatch/error.h"

#include <inttypes.h>

/* Appends `floats` floats to the layout, on a cache line of their own. */
static size_t reserve(sattn_checked *size, sattn_checked floats)
{
    const int64_t at = size->value; /* a multiple of 64 */
    const sattn_checked bytes = sattn_checked_mul(floats, sattn_checked_of(sizeof(float)));
    *size = sattn_checked_add(*size, sattn_checked_add(bytes, sattn_checked_of(63)));
    size->value &= ~(int64_t)63;
    return (size_t)at;
}

/* Extents of at most 2^40 keep these sums within size_t. */
static size_t scratch_of(const sattn_plan *plan, int64_t n_columns)
{
    size_t largest = 0;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        if (!plan->kernels[op])
            continue;
        size_t bytes = plan->kernels[op]->extra_scratch;
        if (op == SATTN_OP_fused) {
            if (plan->rest_kernel && plan->rest_kernel->extra_scratch > bytes)
                bytes = plan->rest_kernel->extra_scratch;
            bytes += sattn_fused_scratch_bytes(plan->args.d, plan->args.d_v);
        }
        if (op == SATTN_OP_qk)
            bytes += sattn_qk_scratch_bytes(plan->args.d);
        if (op == SATTN_OP_softmax)
            bytes += sattn_softmax_scratch_bytes(n_columns);
        if (op == SATTN_OP_av)
            bytes += sattn_av_scratch_bytes(plan->args.d_v);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static sattn_checked product(int64_t a, int64_t b)
{
    return sattn_checked_mul(sattn_checked_of(a), sattn_checked_of(b));
}

static sattn_checked times(sattn_checked a, int64_t b)
{
    return sattn_checked_mul(a, sattn_checked_of(b));
}

static sattn_status too_large(void)
{
    return sattn_fail(SATTN_ERR_TOO_LARGE, "the workspace of these extents (n_q, n_k, d, d_v, head "
                                           "counts) has a size that overflows");
}

/* Row statistics and partial outputs: of a worker, or of a block. */
static void reserve_parts(sattn_plan *plan, sattn_checked *size)
{
    const sattn_attention_args *const a = &plan->args;
    const bool has_stats =
        plan->splits > 1 || (sattn_computation_weighs(plan->computation) && (a->lse || a->sinks));
    sattn_workspace_layout *const at = &plan->layout;
    at->row_max = at->row_sum = at->parts = (size_t)size->value;
    if (!has_stats)
        return;
    const sattn_checked rows = times(product(plan->n_group, plan->block_rows), plan->splits);
    at->row_max = reserve(size, rows);
    at->row_sum = reserve(size, rows);
    at->parts = (size_t)size->value;
    if (plan->splits > 1)
        reserve(size, times(rows, a->d_v));
}

/* The rest of a worker's memory. */
static void reserve_scratch(sattn_plan *plan, sattn_checked *size)
{
    const sattn_attention_args *const a = &plan->args;
    const bool is_chain = plan->computation == SATTN_COMPUTE_CHAIN;
    const int64_t n_columns = is_chain ? sattn_chain_columns(a, plan->block_rows) : a->n_k;
    const int64_t floats = (int64_t)(scratch_of(plan, n_columns) / sizeof(float));
    sattn_workspace_layout *const at = &plan->layout;
    at->scratch = reserve(size, sattn_checked_of(floats));
    at->scores = (size_t)size->value;
    if (is_chain && !(a->scores && a->scores_stage == SATTN_SCORES_PROBABILITIES))
        reserve(size,
                times(product(plan->n_group, plan->block_rows), sattn_chain_row_stride(n_columns)));
    at->q_copy = (size_t)size->value;
    if (plan->computation == SATTN_COMPUTE_FUSED && plan->may_hide && sattn_output_fits_queries(a))
        reserve(size, times(product(plan->n_group, plan->block_rows), a->d));
}

/* What a repair needs. */
static void reserve_repair(sattn_plan *plan, sattn_checked *size)
{
    const sattn_attention_args *const a = &plan->args;
    sattn_workspace_layout *const at = &plan->layout;
    at->v_copy = at->v_keys = at->repaired = (size_t)size->value;
    if (!plan->may_hide || plan->computation == SATTN_COMPUTE_SOFTMAX)
        return;
    at->v_copy = reserve(size, product(a->n_k, a->d_v));
    at->v_keys = reserve(size, product(a->n_k, sizeof(int64_t) / sizeof(float)));
    at->repaired = reserve(size, times(product(plan->n_group, plan->block_rows), a->d_v));
}

sattn_status sattn_layout_parts(sattn_plan *plan)
{
    sattn_workspace_layout *const at = &plan->layout;
    sattn_checked worker = {0, false}, block = {0, false}, shared = {0, false};
    reserve_scratch(plan, &worker);
    reserve_parts(plan, plan->parts_apart ? &block : &worker);
    reserve_repair(plan, &shared);
    if (worker.overflow || block.overflow || shared.overflow)
        return too_large();
    at->worker_size = (size_t)worker.value;
    at->block_size = (size_t)block.value;
    at->shared_size = (size_t)shared.value;
    at->n_dense = plan->n_dense;
    at->dense_size = plan->n_dense > 0 ? (size_t)sattn_dense_bytes(plan) : 0;
    return SATTN_OK;
}

sattn_status sattn_layout_places(sattn_workspace_layout *at, int64_t n_workers, int64_t n_blocks)
{
    sattn_checked size = product((int64_t)at->worker_size, n_workers);
    at->blocks = (size_t)size.value;
    size = sattn_checked_add(size, product((int64_t)at->block_size, n_blocks));
    at->pending = reserve(&size, product(n_blocks, sizeof(_Atomic int64_t) / sizeof(float)));
    at->shared = (size_t)size.value;
    size = sattn_checked_add(size, sattn_checked_of((int64_t)at->shared_size));
    at->dense = (size_t)size.value;
    size = sattn_checked_add(size, product((int64_t)at->dense_size, at->n_dense));
    if (size.overflow || size.value > PTRDIFF_MAX)
        return too_large();
    at->size = (size_t)size.value;
    return SATTN_OK;
}
