/* SPDX-License-Identifier: MIT
 *
 * choose.c: see choose.h. */
#include "dispatch/choose.h"

#include "dispatch/error.h"
#include "dispatch/share.h"

#include <stdio.h>
#include <string.h>

/* ---- the registry's order */

static const sattn_kernel *first_of(const sattn_selection *selection)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    return sattn_select(rows, count, selection);
}

static sattn_status choose_kernel(sattn_op op, sattn_phase phase, bool is_several,
                                  const sattn_overrides *overrides, const sattn_kernel **kernel)
{
    const sattn_selection selection = {
        .op = op, .phase = phase, .usable = overrides->usable, .is_several = is_several};
    const sattn_kernel *const forced = overrides->forced[op];
    *kernel = forced ? forced : first_of(&selection);
    if (*kernel)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_KERNEL, "no kernel of this build for %s can run here",
                      sattn_op_name(op));
}

sattn_status sattn_choose_kernel(sattn_op op, sattn_phase phase, const sattn_overrides *overrides,
                                 const sattn_kernel **kernel)
{
    return choose_kernel(op, phase, false, overrides, kernel);
}

int64_t sattn_prefill_tile_rows(const sattn_overrides *overrides)
{
    const sattn_selection selection = {
        .op = SATTN_OP_fused, .phase = SATTN_PHASE_PREFILL, .usable = overrides->usable};
    const sattn_kernel *const kernel = first_of(&selection);
    return kernel ? kernel->tile_rows : 0;
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

/* Most calls need not know the tile: it is looked for only where it can matter. */
static sattn_phase phase_of(const sattn_plan *plan, const sattn_overrides *overrides)
{
    const sattn_attention_args *const a = &plan->args;
    const sattn_phase phase = sattn_phase_of(plan->n_group, a->n_q);
    if (plan->computation != SATTN_COMPUTE_FUSED || phase == SATTN_PHASE_PREFILL ||
        plan->n_group * a->n_q < SATTN_FILLING_ROWS_MIN)
        return phase;
    return sattn_fused_phase(plan->n_group, a->n_q, sattn_prefill_tile_rows(overrides),
                             sattn_least_width(a));
}

/* The last rows of a prefill may get another kernel; one that was asked for by name does all. It is
 * the same for units of any number of rows, some of which leave few. */
static const sattn_kernel *rest_kernel_of(const sattn_plan *plan, const sattn_overrides *overrides)
{
    if (plan->computation != SATTN_COMPUTE_FUSED || plan->phase != SATTN_PHASE_PREFILL ||
        overrides->forced[SATTN_OP_fused])
        return NULL;
    const sattn_selection selection = {
        .op = SATTN_OP_fused, .phase = SATTN_PHASE_FEW_QUERY, .usable = overrides->usable};
    const sattn_kernel *const kernel = first_of(&selection);
    return kernel != plan->kernels[SATTN_OP_fused] ? kernel : NULL;
}

static sattn_status choose_by_order(sattn_plan *plan, const sattn_overrides *overrides)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        plan->kernels[op] = NULL;
        if (!computation_has_op(plan->computation, (sattn_op)op))
            continue;
        const sattn_status status = choose_kernel((sattn_op)op, plan->phase, plan->is_several,
                                                  overrides, &plan->kernels[op]);
        if (status != SATTN_OK)
            return status;
    }
    plan->rest_kernel = rest_kernel_of(plan, overrides);
    return SATTN_OK;
}

/* ---- the profile */

const sattn_profile_entry *sattn_profiled_entry(const sattn_overrides *overrides,
                                                const sattn_shape_class *shape_class)
{
    return overrides->profile
               ? sattn_profile_find(overrides->profile, shape_class, overrides->usable)
               : NULL;
}

/* Whether the names that the user gives leave a recipe its kernels. */
static bool names_allow(const sattn_overrides *overrides, const sattn_recipe *recipe)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (recipe->kernels[op] && overrides->forced[op] &&
            overrides->forced[op] != recipe->kernels[op])
            return false;
    return true;
}

/* What comes of an entry where no kernel is named: SATTN_DECIDED_BY_PROFILE, or why not. */
static sattn_decision judge_entry(const sattn_overrides *overrides,
                                  const sattn_profile_entry *entry)
{
    if (!overrides->profile)
        return SATTN_DECIDED_WITHOUT_PROFILE;
    if (!entry)
        return SATTN_DECIDED_WITHOUT_ENTRY;
    if (!entry->is_complete || entry->taken >= entry->n_tried)
        return SATTN_DECIDED_UNFINISHED;
    if (entry->taken == 0)
        return SATTN_DECIDED_DEFAULT;
    const sattn_recipe *const recipe = &entry->tried[entry->taken].recipe;
    if (sattn_recipe_needs(recipe) & ~overrides->usable)
        return SATTN_DECIDED_MISSING;
    return names_allow(overrides, recipe) ? SATTN_DECIDED_BY_PROFILE : SATTN_DECIDED_UNFIT;
}

static bool names_an_op(const sattn_overrides *overrides, sattn_computation computation)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (overrides->forced[op] && computation_has_op(computation, (sattn_op)op))
            return true;
    return false;
}

int sattn_threads_of_class(const sattn_options *options)
{
    return options && options->key_splits > 0 ? 1 : sattn_threads_asked(options);
}

sattn_shape_class sattn_plan_class(const sattn_plan *plan, const sattn_options *options)
{
    return sattn_class_of(&plan->args, plan->computation, sattn_threads_of_class(options));
}

/* Takes the profile's recipe for the plan, or says why there is none to take. */
static sattn_decision choose_by_profile(sattn_plan *plan, bool is_open,
                                        const sattn_overrides *overrides,
                                        const sattn_options *options)
{
    if (names_an_op(overrides, plan->computation))
        return SATTN_DECIDED_BY_NAME;
    if (!overrides->profile)
        return SATTN_DECIDED_WITHOUT_PROFILE;
    const sattn_shape_class shape_class = sattn_plan_class(plan, options);
    const sattn_profile_entry *const entry = sattn_profiled_entry(overrides, &shape_class);
    const sattn_decision decision = judge_entry(overrides, entry);
    if (decision != SATTN_DECIDED_BY_PROFILE)
        return decision;
    const sattn_recipe *const recipe = &entry->tried[entry->taken].recipe;
    const bool is_other = recipe->computation != plan->computation;
    if ((is_other && !is_open) ||
        (recipe->computation == SATTN_COMPUTE_CHAIN && plan->key_splits > 1))
        return SATTN_DECIDED_UNFIT;
    plan->computation = recipe->computation;
    memcpy(plan->kernels, recipe->kernels, sizeof plan->kernels);
    plan->rest_kernel = recipe->rest_kernel;
    plan->profile_splits = recipe->key_splits;
    return SATTN_DECIDED_BY_PROFILE;
}

sattn_status sattn_plan_choose(sattn_plan *plan, bool is_open, const sattn_overrides *overrides,
                               const sattn_options *options)
{
    sattn_status status = SATTN_OK;
    plan->key_splits = options ? options->key_splits : 0;
    plan->profile_splits = 0;
    plan->decision = choose_by_profile(plan, is_open, overrides, options);
    plan->phase = phase_of(plan, overrides);
    plan->is_several =
        sattn_are_several(sattn_cpu_this(), plan->phase, plan->n_group, plan->args.n_q);
    if (plan->decision != SATTN_DECIDED_BY_PROFILE)
        status = choose_by_order(plan, overrides);
    for (int op = 0; overrides->log && status == SATTN_OK && op < SATTN_OP_COUNT; ++op)
        if (plan->kernels[op])
            sattn_overrides_log(overrides, plan->phase, plan->is_several, plan->kernels[op],
                                plan->decision);
    return status;
}

sattn_status sattn_choose_apart(const sattn_shape_class *shape_class,
                                const sattn_overrides *overrides, const sattn_kernel **kernel,
                                sattn_decision *decision)
{
    sattn_status status = SATTN_OK;
    const sattn_op op = sattn_call_op(shape_class->call);
    const sattn_phase phase = sattn_class_phase(shape_class);
    const sattn_profile_entry *const entry = sattn_profiled_entry(overrides, shape_class);
    *decision = overrides->forced[op] ? SATTN_DECIDED_BY_NAME : judge_entry(overrides, entry);
    if (*decision == SATTN_DECIDED_BY_PROFILE)
        *kernel = entry->tried[entry->taken].recipe.kernels[op];
    else
        status = sattn_choose_kernel(op, phase, overrides, kernel);
    if (overrides->log && status == SATTN_OK)
        sattn_overrides_log(overrides, phase, false, *kernel, *decision);
    return status;
}

/* ---- what a plan has chosen */

int64_t sattn_plan_rest_rows(const sattn_plan *plan, int64_t n_q)
{
    if (!plan->rest_kernel)
        return 0;
    return sattn_rest_rows(plan->n_group, n_q, plan->kernels[SATTN_OP_fused]->tile_rows,
                           sattn_least_width(&plan->args));
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
