/* SPDX-License-Identifier: MIT
 *
 * choose.c: see choose.h. */
#include "dispatch/choose.h"

#include "dispatch/error.h"
#include "dispatch/override.h"
#include "dispatch/share.h"

#include <stdio.h>
#include <string.h>

sattn_status sattn_choose_kernel(sattn_op op, sattn_phase phase, const sattn_options *options,
                                 const sattn_kernel **kernel)
{
    sattn_overrides overrides;
    size_t count;
    const sattn_status status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    const sattn_kernel *const forced = overrides.forced[op];
    const sattn_selection selection = {.op = op,
                                       .phase = phase,
                                       .usable = overrides.usable,
                                       .forced = forced ? forced->name : NULL};
    const sattn_kernel *const rows = sattn_registry(&count);
    *kernel = sattn_select(rows, count, &selection);
    if (!*kernel)
        return sattn_fail(SATTN_ERR_KERNEL, "no kernel of this build for %s can run here",
                          sattn_op_name(op));
    sattn_overrides_log(&overrides, &selection, *kernel);
    return SATTN_OK;
}

sattn_status sattn_prefill_tile_rows(const sattn_options *options, int64_t *tile_rows)
{
    sattn_overrides overrides;
    size_t count;
    const sattn_status status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    const sattn_selection selection = {
        .op = SATTN_OP_fused, .phase = SATTN_PHASE_PREFILL, .usable = overrides.usable};
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_kernel *const kernel = sattn_select(rows, count, &selection);
    *tile_rows = kernel ? kernel->tile_rows : 0;
    return SATTN_OK;
}

static bool computation_has_op(sattn_computation computation, sattn_op op)
{
    switch (op) {
    case SATTN_OP_fused:
        return computation == SATTN_COMPUTE_FUSED;
    case SATTN_OP_qk:
        return computation == SATTN_COMPUTE_CHAIN || computation == SATTN_COMPUTE_QK;
    case SATTN_OP_softmax:
        return computation == SATTN_COMPUTE_CHAIN || computation == SATTN_COMPUTE_SOFTMAX;
    case SATTN_OP_av:
        return computation == SATTN_COMPUTE_CHAIN || computation == SATTN_COMPUTE_AV;
    default:
        return false;
    }
}

/* Of features, what counts for prefill kernels is the lesser of both widths. */
static int64_t least_width(const sattn_attention_args *a)
{
    return a->d < a->d_v ? a->d : a->d_v;
}

/* The last rows of a prefill may get another kernel; one that was asked for by name does all. */
static sattn_status choose_rest_kernel(sattn_plan *plan, const sattn_options *options)
{
    const sattn_status status =
        sattn_choose_kernel(SATTN_OP_fused, SATTN_PHASE_FEW_QUERY, options, &plan->rest_kernel);
    if (plan->rest_kernel == plan->kernels[SATTN_OP_fused])
        plan->rest_kernel = NULL;
    return status;
}

int64_t sattn_plan_rest_rows(const sattn_plan *plan, int64_t n_q)
{
    const sattn_attention_args *const a = &plan->args;
    if (!plan->rest_kernel)
        return 0;
    return sattn_rest_rows(plan->n_group, n_q, plan->kernels[SATTN_OP_fused]->tile_rows,
                           least_width(a));
}

/* Most calls need not know the tile: it is looked for only where it can matter. */
static sattn_status choose_phase(sattn_plan *plan, const sattn_options *options)
{
    const sattn_attention_args *const a = &plan->args;
    int64_t tile_rows = 0;
    sattn_status status = SATTN_OK;
    plan->phase = sattn_phase_of(plan->n_group, a->n_q);
    if (plan->computation == SATTN_COMPUTE_FUSED && plan->phase != SATTN_PHASE_PREFILL &&
        plan->n_group * a->n_q >= SATTN_FILLING_ROWS_MIN)
        status = sattn_prefill_tile_rows(options, &tile_rows);
    if (tile_rows > 0)
        plan->phase = sattn_fused_phase(plan->n_group, a->n_q, tile_rows, least_width(a));
    return status;
}

sattn_status sattn_plan_choose(sattn_plan *plan, const sattn_options *options)
{
    sattn_status status = choose_phase(plan, options);
    plan->rest_kernel = NULL;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        plan->kernels[op] = NULL;
        if (status == SATTN_OK && computation_has_op(plan->computation, (sattn_op)op))
            status = sattn_choose_kernel((sattn_op)op, plan->phase, options, &plan->kernels[op]);
    }
    if (status == SATTN_OK && plan->computation == SATTN_COMPUTE_FUSED &&
        plan->phase == SATTN_PHASE_PREFILL)
        status = choose_rest_kernel(plan, options);
    return status;
}

static void add_name(sattn_plan *plan, const sattn_kernel *kernel)
{
    const size_t used = strlen(plan->names);
    snprintf(plan->names + used, sizeof plan->names - used, "%s%s", used ? "," : "", kernel->name);
}

void sattn_plan_name_kernels(sattn_plan *plan)
{
    plan->names[0] = '\0';
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (plan->kernels[op])
            add_name(plan, plan->kernels[op]);
    if (sattn_plan_rest_rows(plan, plan->args.n_q) > 0)
        add_name(plan, plan->rest_kernel);
}

int64_t sattn_plan_tile_rows(const sattn_plan *plan)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (plan->kernels[op])
            return plan->kernels[op]->tile_rows;
    return 1;
}
