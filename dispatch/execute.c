/* SPDX-License-Identifier: MIT
 *
 * execute.c: runs a plan: the loops over batch entries and KV heads, key splits, repair, lse. */
#include "dispatch/attention_check.h"
#include "dispatch/merge.h"
#include "dispatch/plan.h"
#include "dispatch/repair.h"

#include <string.h>

/* What a work unit needs beside its kernel arguments. */
typedef struct unit_context {
    const sattn_plan *plan;
    float *row_max, *row_sum; /* [splits][n_group][n_q] */
    float *parts;             /* [splits][n_group][n_q][d_v] */
    float *q_copy, *v_copy, *repaired;
    int64_t *v_keys;
    bool o_is_q;
} unit_context;

/* data + offset floats, where data may be NULL for a tensor without rows. */
static const float *float_at(const void *data, int64_t offset)
{
    return data ? (const float *)data + offset : NULL;
}

static void set_mask(sattn_fused_args *unit, const sattn_attention_args *a, int64_t b, int64_t head)
{
    const sattn_mask *const mask = &a->mask;
    int64_t stride[4];
    if (mask->kind == SATTN_MASK_NONE || !mask->data)
        return;
    for (int axis = 0; axis < 4; ++axis)
        stride[axis] = mask->extent[axis] > 1 ? mask->stride[axis] : 0;
    const int64_t at = b * stride[0] + head * stride[1];
    if (mask->kind == SATTN_MASK_BOOL)
        unit->mask_bool = (const uint8_t *)mask->data + at;
    else
        unit->mask_add = (const float *)mask->data + at;
    unit->mask_group_stride = stride[1];
    unit->mask_row_stride = stride[2];
    unit->mask_key_stride = stride[3];
}

/* The work unit of batch entry b and KV head `kv`: the query heads of its group. */
static sattn_fused_args unit_of(const sattn_plan *plan, const sattn_attention_args *a, int64_t b,
                                int64_t kv, void *scratch)
{
    const int64_t head = kv * plan->n_group;
    const int64_t n_k = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    /* The stride of an extent of 1 or 0 may hold anything. */
    const bool one_row = a->n_q == 1, one_key = n_k <= 1, one_head = plan->n_group == 1;
    sattn_fused_args unit = {
        .q = float_at(a->q.data, (a->batch > 1 ? b * a->q.stride_b : 0) +
                                     (a->n_q_heads > 1 ? head * a->q.stride_h : 0)),
        .k = float_at(a->k.data, (a->batch > 1 ? b * a->k.stride_b : 0) +
                                     (a->n_kv_heads > 1 ? kv * a->k.stride_h : 0)),
        .v = float_at(a->v.data, (a->batch > 1 ? b * a->v.stride_b : 0) +
                                     (a->n_kv_heads > 1 ? kv * a->v.stride_h : 0)),
        .o = (float *)a->o.data + (a->batch > 1 ? b * a->o.stride_b : 0) +
             (a->n_q_heads > 1 ? head * a->o.stride_h : 0),
        .q_stride = one_row ? 0 : a->q.stride_t,
        .k_stride = one_key ? 0 : a->k.stride_t,
        .v_stride = one_key ? 0 : a->v.stride_t,
        .o_stride = one_row ? 0 : a->o.stride_t,
        .q_group_stride = one_head ? 0 : a->q.stride_h,
        .o_group_stride = one_head ? 0 : a->o.stride_h,
        .n_group = plan->n_group,
        .i1 = a->n_q,
        .j1 = n_k,
        .n_k = n_k,
        .d = a->d,
        .d_v = a->d_v,
        .scale = plan->scale,
        .causal = a->causal,
        .causal_offset = a->causal ? sattn_causal_offset(a, b, n_k) : 0,
        .stat_group_stride = a->n_q,
        .scratch = scratch,
    };
    set_mask(&unit, a, b, head);
    return unit;
}

/* Runs the kernel over n_splits key ranges, cut at multiples of the key block, and merges them. */
static void run_split(const unit_context *c, const sattn_fused_args *unit)
{
    const int64_t rows = unit->n_group * unit->i1, splits = c->plan->splits;
    const int64_t blocks = (unit->n_k + SATTN_KEY_BLOCK - 1) / SATTN_KEY_BLOCK;
    const int64_t range = (blocks + splits - 1) / splits * SATTN_KEY_BLOCK;
    for (int64_t part = 0; part < splits; ++part) {
        sattn_fused_args piece = *unit;
        piece.j0 = part * range < unit->n_k ? part * range : unit->n_k;
        piece.j1 = piece.j0 + range < unit->n_k ? piece.j0 + range : unit->n_k;
        piece.partial = true;
        piece.o = c->parts + part * rows * unit->d_v;
        piece.o_stride = unit->d_v;
        piece.o_group_stride = unit->i1 * unit->d_v;
        piece.row_max = c->row_max + part * rows;
        piece.row_sum = c->row_sum + part * rows;
        c->plan->kernel->fn.fused(&piece);
    }
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i) {
            const int64_t row = g * unit->i1 + i;
            sattn_merge_row(c->parts + row * unit->d_v, rows * unit->d_v, c->row_max + row,
                            c->row_sum + row, rows, splits, unit->d_v,
                            unit->o + g * unit->o_group_stride + i * unit->o_stride,
                            c->row_max + row, c->row_sum + row);
        }
}

static void run_unit(const unit_context *c, const sattn_fused_args *unit)
{
    if (c->plan->splits > 1)
        run_split(c, unit);
    else
        c->plan->kernel->fn.fused(unit);
}

/* Keeps the queries of a unit whose output takes their place: the repair needs them again. */
static void copy_queries(const sattn_fused_args *unit, float *copy)
{
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i)
            memcpy(copy + (g * unit->i1 + i) * unit->d,
                   unit->q + g * unit->q_group_stride + i * unit->q_stride,
                   (size_t)unit->d * sizeof(float));
}

static void repair_unit(const unit_context *c, const sattn_fused_args *unit)
{
    sattn_fused_args again = *unit;
    const int64_t n_keys = sattn_list_non_finite_keys(unit, c->v_keys);
    if (n_keys == 0) /* what is not finite comes from Q, K or the mask */
        return;
    if (c->o_is_q) {
        again.q = c->q_copy;
        again.q_stride = unit->d;
        again.q_group_stride = unit->i1 * unit->d;
    }
    sattn_copy_finite(unit, c->v_copy);
    again.v = c->v_copy;
    again.v_stride = unit->d_v;
    again.o = c->repaired;
    again.o_stride = unit->d_v;
    again.o_group_stride = unit->i1 * unit->d_v;
    run_unit(c, &again);
    sattn_take_repaired(unit, c->repaired, c->v_keys, n_keys);
}

static void write_lse(const unit_context *c, const sattn_fused_args *unit, float *lse,
                      int64_t lse_stride_h)
{
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i) {
            const int64_t row = g * unit->i1 + i;
            lse[g * lse_stride_h + i] = sattn_log_sum_exp(c->row_max[row], c->row_sum[row]);
        }
}

void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *a, bool o_is_q,
                        unsigned char *workspace)
{
    const sattn_workspace_layout *const at = &plan->layout;
    const unit_context context = {.plan = plan,
                                  .row_max = (float *)(void *)(workspace + at->row_max),
                                  .row_sum = (float *)(void *)(workspace + at->row_sum),
                                  .parts = (float *)(void *)(workspace + at->parts),
                                  .q_copy = (float *)(void *)(workspace + at->q_copy),
                                  .v_copy = (float *)(void *)(workspace + at->v_copy),
                                  .v_keys = (int64_t *)(void *)(workspace + at->v_keys),
                                  .repaired = (float *)(void *)(workspace + at->repaired),
                                  .o_is_q = o_is_q};
    for (int64_t b = 0; b < a->batch; ++b)
        for (int64_t kv = 0; kv < a->n_kv_heads; ++kv) {
            sattn_fused_args unit = unit_of(plan, a, b, kv, workspace + at->scratch);
            const bool hides = plan->may_hide && sattn_unit_may_hide(&unit);
            if (a->lse) {
                unit.row_max = context.row_max;
                unit.row_sum = context.row_sum;
            }
            if (hides && o_is_q)
                copy_queries(&unit, context.q_copy);
            run_unit(&context, &unit);
            if (hides && sattn_unit_output_is_suspect(&unit))
                repair_unit(&context, &unit);
            if (a->lse)
                write_lse(&context, &unit,
                          a->lse + (a->batch > 1 ? b * a->lse_stride_b : 0) +
                              (a->n_q_heads > 1 ? kv * plan->n_group * a->lse_stride_h : 0),
                          a->lse_stride_h);
        }
}
