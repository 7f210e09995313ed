/* SPDX-License-Identifier: MIT
 *
 * step_unit.c: one step of attention on the rows of a unit. */
#include "dispatch/step_unit.h"

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
    sattn_fill_missing(unit);
}

static void weigh_unit(const sattn_plan *plan, const sattn_unit *unit,
                       const sattn_unit_memory *memory)
{
    const bool has_keys = unit->n_k > 0; /* without, the tensors may be missing */
    const bool has_stats = unit->lse || unit->sinks;
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
                                     .row_max = has_stats ? memory->row_max : NULL,
                                     .row_sum = has_stats ? memory->row_sum : NULL,
                                     .stat_group_stride = unit->n_q,
                                     .scratch = memory->scratch};
    plan->kernels[SATTN_OP_softmax]->fn.softmax(&args);
    if (unit->sinks)
        sattn_weigh_sinks(&args, unit->sinks);
    if (unit->lse)
        sattn_write_lse(unit, memory->row_max, memory->row_sum);
}

static void average_unit(const sattn_plan *plan, const sattn_unit *unit,
                         const sattn_unit_memory *memory)
{
    const bool has_keys = unit->n_k > 0;
    const sattn_key_rows v = sattn_unit_v(unit);
    const sattn_av_args args = {.p = has_keys ? unit->scores_in : memory->scratch,
                                .v = v.data,
                                .o = unit->o,
                                .p_stride = has_keys ? unit->scores_in_stride : 0,
                                .v_stride = v.stride,
                                .o_stride = unit->o_stride,
                                .p_group_stride = has_keys ? unit->scores_in_group_stride : 0,
                                .o_group_stride = unit->o_group_stride,
                                .n_group = unit->n_group,
                                .i1 = unit->n_q,
                                .d_v = unit->d_v,
                                .visible = unit->visible,
                                .scratch = memory->scratch};
    sattn_average(plan, &args, (sattn_key_rows){unit->v, unit->v_stride}, &memory->repair);
}

void sattn_step_run(const sattn_plan *plan, const sattn_unit *rows, const sattn_unit_memory *memory)
{
    if (plan->computation == SATTN_COMPUTE_QK)
        score_unit(plan, rows, memory);
    else if (plan->computation == SATTN_COMPUTE_SOFTMAX)
        weigh_unit(plan, rows, memory);
    else
        average_unit(plan, rows, memory);
}
