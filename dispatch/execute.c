/* SPDX-License-Identifier: MIT
 *
 * execute.c: runs a plan: the loops over batch entries and KV heads; the fused kernel with key
 * splits, repair and log-sum-exp; single steps. A chain is in chain.c. */
#include "dispatch/attention_check.h"
#include "dispatch/chain.h"
#include "dispatch/error.h"
#include "dispatch/merge.h"

#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_ALIGNMENT = 64 };

/* What a unit of a fused kernel needs beside its arguments. */
typedef struct fused_context {
    const sattn_plan *plan;
    const sattn_unit_memory *memory; /* statistics of [splits] parts */
    float *parts;                    /* [splits][n_group][n_q][d_v] */
    float *q_copy;
    bool o_is_q;
} fused_context;

static sattn_fused_args fused_args_of(const sattn_plan *plan, const sattn_unit *unit,
                                      const sattn_unit_memory *memory)
{
    return (sattn_fused_args){.q = unit->q,
                              .k = unit->k,
                              .v = unit->v,
                              .o = unit->o,
                              .q_stride = unit->q_stride,
                              .k_stride = unit->k_stride,
                              .v_stride = unit->v_stride,
                              .o_stride = unit->o_stride,
                              .q_group_stride = unit->q_group_stride,
                              .o_group_stride = unit->o_group_stride,
                              .n_group = unit->n_group,
                              .i1 = unit->n_q,
                              .j1 = unit->visible.n_k,
                              .d = unit->d,
                              .d_v = unit->d_v,
                              .scale = plan->scale,
                              .visible = unit->visible,
                              .row_max = unit->lse ? memory->row_max : NULL,
                              .row_sum = unit->lse ? memory->row_sum : NULL,
                              .stat_group_stride = unit->n_q,
                              .scratch = memory->scratch};
}

/* Runs the kernel over n_splits key ranges, cut at multiples of the key block, and merges them. */
static void run_split(const fused_context *c, const sattn_fused_args *unit)
{
    const int64_t rows = unit->n_group * unit->i1, splits = c->plan->splits;
    const int64_t blocks = (unit->visible.n_k + SATTN_KEY_BLOCK - 1) / SATTN_KEY_BLOCK;
    const int64_t range = (blocks + splits - 1) / splits * SATTN_KEY_BLOCK;
    float *const row_max = c->memory->row_max, *const row_sum = c->memory->row_sum;
    for (int64_t part = 0; part < splits; ++part) {
        sattn_fused_args piece = *unit;
        piece.j0 = part * range < unit->visible.n_k ? part * range : unit->visible.n_k;
        piece.j1 = piece.j0 + range < unit->visible.n_k ? piece.j0 + range : unit->visible.n_k;
        piece.partial = true;
        piece.o = c->parts + part * rows * unit->d_v;
        piece.o_stride = unit->d_v;
        piece.o_group_stride = unit->i1 * unit->d_v;
        piece.row_max = row_max + part * rows;
        piece.row_sum = row_sum + part * rows;
        c->plan->kernels[SATTN_OP_fused]->fn.fused(&piece);
    }
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i) {
            const int64_t row = g * unit->i1 + i;
            sattn_merge_row(c->parts + row * unit->d_v, rows * unit->d_v, row_max + row,
                            row_sum + row, rows, splits, unit->d_v,
                            unit->o + g * unit->o_group_stride + i * unit->o_stride, row_max + row,
                            row_sum + row);
        }
}

static void run_fused(const fused_context *c, const sattn_fused_args *unit)
{
    if (c->plan->splits > 1)
        run_split(c, unit);
    else
        c->plan->kernels[SATTN_OP_fused]->fn.fused(unit);
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

static void repair_fused(const fused_context *c, const sattn_fused_args *unit,
                         const sattn_averaged *averaged)
{
    const sattn_repair_memory *const memory = &c->memory->repair;
    sattn_fused_args again = *unit;
    const int64_t n_keys = sattn_list_non_finite_keys(averaged, memory->v_keys);
    if (n_keys == 0) /* what is not finite comes from Q, K or the mask */
        return;
    if (c->o_is_q) {
        again.q = c->q_copy;
        again.q_stride = unit->d;
        again.q_group_stride = unit->i1 * unit->d;
    }
    sattn_copy_finite(averaged, memory->v_copy);
    again.v = memory->v_copy;
    again.v_stride = unit->d_v;
    again.o = memory->repaired;
    again.o_stride = unit->d_v;
    again.o_group_stride = unit->i1 * unit->d_v;
    run_fused(c, &again);
    sattn_take_repaired(averaged, memory->repaired, memory->v_keys, n_keys);
}

static void attend_fused(const fused_context *c, const sattn_unit *unit)
{
    const sattn_fused_args args = fused_args_of(c->plan, unit, c->memory);
    const bool hides = c->plan->may_hide && sattn_may_hide(&args.visible, args.i1);
    const sattn_averaged averaged = {.visible = &args.visible,
                                     .v = args.v,
                                     .o = args.o,
                                     .v_stride = args.v_stride,
                                     .o_stride = args.o_stride,
                                     .o_group_stride = args.o_group_stride,
                                     .n_group = args.n_group,
                                     .n_rows = args.i1,
                                     .d_v = args.d_v};
    if (hides && c->o_is_q)
        copy_queries(&args, c->q_copy);
    run_fused(c, &args);
    if (hides && sattn_output_is_suspect(&averaged))
        repair_fused(c, &args, &averaged);
    if (unit->lse)
        sattn_write_lse(unit, unit->lse, unit->n_q, c->memory->row_max, c->memory->row_sum);
}

static void score_unit(const sattn_plan *plan, const sattn_unit *unit,
                       const sattn_unit_memory *memory)
{
    const bool capped = plan->args.scores_stage == SATTN_SCORES_SOFTCAPPED;
    const sattn_qk_args args = {.q = unit->q,
                                .k = unit->k,
                                .s = unit->scores,
                                .q_stride = unit->q_stride,
                                .k_stride = unit->k_stride,
                                .s_stride = unit->scores_stride,
                                .q_group_stride = unit->q_group_stride,
                                .s_group_stride = unit->scores_group_stride,
                                .n_group = unit->n_group,
                                .i1 = unit->n_q,
                                .j1 = unit->visible.n_k,
                                .d = unit->d,
                                .scale = plan->scale,
                                .softcap = capped ? plan->args.softcap : 0.0f,
                                .scratch = memory->scratch};
    if (unit->visible.n_k > 0)
        plan->kernels[SATTN_OP_qk]->fn.qk(&args);
    sattn_fill_missing(unit, unit->scores, unit->n_q);
}

static void weigh_unit(const sattn_plan *plan, const sattn_unit *unit,
                       const sattn_unit_memory *memory)
{
    const bool has_keys = unit->n_k > 0; /* without, the tensors may be missing */
    const sattn_softmax_args args = {.s = has_keys ? unit->scores_in : memory->scratch,
                                     .p = has_keys ? unit->scores : memory->scratch,
                                     .s_stride = has_keys ? unit->scores_in_stride : 0,
                                     .p_stride = has_keys ? unit->scores_stride : 0,
                                     .s_group_stride = has_keys ? unit->scores_in_group_stride : 0,
                                     .p_group_stride = has_keys ? unit->scores_group_stride : 0,
                                     .n_group = unit->n_group,
                                     .i1 = unit->n_q,
                                     .n_columns = unit->n_k,
                                     .visible = unit->visible,
                                     .row_max = unit->lse ? memory->row_max : NULL,
                                     .row_sum = unit->lse ? memory->row_sum : NULL,
                                     .stat_group_stride = unit->n_q,
                                     .scratch = memory->scratch};
    plan->kernels[SATTN_OP_softmax]->fn.softmax(&args);
    if (unit->lse)
        sattn_write_lse(unit, unit->lse, unit->n_q, memory->row_max, memory->row_sum);
}

static void average_unit(const sattn_plan *plan, const sattn_unit *unit,
                         const sattn_unit_memory *memory)
{
    const bool has_keys = unit->n_k > 0;
    const sattn_av_args args = {.p = has_keys ? unit->scores_in : memory->scratch,
                                .v = unit->v,
                                .o = unit->o,
                                .p_stride = has_keys ? unit->scores_in_stride : 0,
                                .v_stride = unit->v_stride,
                                .o_stride = unit->o_stride,
                                .p_group_stride = has_keys ? unit->scores_in_group_stride : 0,
                                .o_group_stride = unit->o_group_stride,
                                .n_group = unit->n_group,
                                .i1 = unit->n_q,
                                .d_v = unit->d_v,
                                .visible = unit->visible,
                                .scratch = memory->scratch};
    sattn_average(plan, &args, &memory->repair);
}

static float *floats_at(unsigned char *workspace, size_t offset)
{
    return (float *)(void *)(workspace + offset);
}

void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *a, bool o_is_q,
                        unsigned char *workspace)
{
    const sattn_workspace_layout *const at = &plan->layout;
    const sattn_unit_memory memory = {
        .scores = floats_at(workspace, at->scores),
        .row_max = floats_at(workspace, at->row_max),
        .row_sum = floats_at(workspace, at->row_sum),
        .repair = {.v_copy = floats_at(workspace, at->v_copy),
                   .v_keys = (int64_t *)(void *)(workspace + at->v_keys),
                   .repaired = floats_at(workspace, at->repaired)},
        .scratch = workspace + at->scratch};
    const fused_context fused = {.plan = plan,
                                 .memory = &memory,
                                 .parts = floats_at(workspace, at->parts),
                                 .q_copy = floats_at(workspace, at->q_copy),
                                 .o_is_q = o_is_q};
    for (int64_t b = 0; b < a->batch; ++b)
        for (int64_t kv = 0; kv < a->n_kv_heads; ++kv) {
            const sattn_unit unit = sattn_unit_of(a, plan->n_group, b, kv);
            switch (plan->task) {
            case SATTN_TASK_FUSED:
                attend_fused(&fused, &unit);
                break;
            case SATTN_TASK_CHAIN:
                sattn_chain_run(plan, &unit, &memory);
                break;
            case SATTN_TASK_QK:
                score_unit(plan, &unit, &memory);
                break;
            case SATTN_TASK_SOFTMAX:
                weigh_unit(plan, &unit, &memory);
                break;
            case SATTN_TASK_AV:
                average_unit(plan, &unit, &memory);
                break;
            }
        }
}

sattn_status sattn_plan_run_args(const sattn_plan *plan, const sattn_attention_args *args,
                                 void *workspace, size_t workspace_size)
{
    bool o_is_q;
    if (sattn_attention_is_empty(args))
        return SATTN_OK;
    const sattn_status status = sattn_attention_check_data(args, plan->task, &o_is_q);
    if (status != SATTN_OK)
        return status;
    if (!workspace) {
        void *const own = aligned_alloc(WORKSPACE_ALIGNMENT, plan->layout.size);
        if (!own)
            return sattn_fail(SATTN_ERR_MEMORY, "could not allocate a workspace of %zu bytes",
                              plan->layout.size);
        sattn_plan_execute(plan, args, o_is_q, own);
        free(own);
        return SATTN_OK;
    }
    if ((uintptr_t)workspace % WORKSPACE_ALIGNMENT != 0)
        return sattn_fail(SATTN_ERR_WORKSPACE, "workspace = %p: expected a multiple of 64",
                          workspace);
    if (workspace_size < plan->layout.size)
        return sattn_fail(SATTN_ERR_WORKSPACE, "workspace_size = %zu: expected at least %zu",
                          workspace_size, plan->layout.size);
    sattn_plan_execute(plan, args, o_is_q, workspace);
    return SATTN_OK;
}
