/* SPDX-License-Identifier: MIT
 *
 * plan.c: makes plans: checks the shape, chooses the kernels, lays out the workspace. */
#include "dispatch/plan.h"

#include "dispatch/attention_check.h"
#include "dispatch/chain.h"
#include "dispatch/checked.h"
#include "dispatch/error.h"
#include "dispatch/override.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

sattn_status sattn_options_check(const sattn_options *options)
{
    if (!options)
        return SATTN_OK;
    if (options->threads < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "options.threads = %d: expected 0 or more",
                          options->threads);
    if (options->threads > 1)
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "options.threads = %d: this version runs on the calling thread alone",
                          options->threads);
    if (options->profile)
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "options.profile is set: this version reads no profile");
    if (options->key_splits < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "options.key_splits = %d: expected 0 or more",
                          options->key_splits);
    if (options->plan && strcmp(options->plan, "fused") != 0 && strcmp(options->plan, "chain") != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "options.plan = \"%.40s\": expected \"fused\", \"chain\" or NULL",
                          options->plan);
    return SATTN_OK;
}

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

static bool task_has_op(sattn_task task, sattn_op op)
{
    switch (op) {
    case SATTN_OP_fused:
        return task == SATTN_TASK_FUSED;
    case SATTN_OP_qk:
        return task == SATTN_TASK_CHAIN || task == SATTN_TASK_QK;
    case SATTN_OP_softmax:
        return task == SATTN_TASK_CHAIN || task == SATTN_TASK_SOFTMAX;
    case SATTN_OP_av:
        return task == SATTN_TASK_CHAIN || task == SATTN_TASK_AV;
    default:
        return false;
    }
}

static sattn_status choose_kernels(sattn_plan *plan, const sattn_options *options)
{
    const sattn_phase phase = sattn_phase_of(plan->n_group, plan->args.n_q);
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        if (!task_has_op(plan->task, (sattn_op)op))
            continue;
        const sattn_status status =
            sattn_choose_kernel((sattn_op)op, phase, options, &plan->kernels[op]);
        if (status != SATTN_OK)
            return status;
        const size_t used = strlen(plan->names);
        snprintf(plan->names + used, sizeof plan->names - used, "%s%s", used ? "," : "",
                 plan->kernels[op]->name);
    }
    return SATTN_OK;
}

/* With the default offset a single query sees every key that exists. */
static bool may_hide(const sattn_attention_args *a, sattn_task task)
{
    return sattn_task_sees(task) && (a->mask.kind != SATTN_MASK_NONE || a->has_window ||
                                     (a->causal && (a->causal_offset || a->n_q > 1)));
}

/* Appends `floats` floats to the layout, on a cache line of their own. */
static size_t reserve(sattn_checked *size, sattn_checked floats)
{
    const int64_t at = size->value;
    const sattn_checked bytes = sattn_checked_mul(floats, sattn_checked_of(sizeof(float)));
    *size = sattn_checked_add(*size, sattn_checked_add(bytes, sattn_checked_of(63)));
    size->value &= ~(int64_t)63;
    return (size_t)at;
}

/* Extents that have passed check_extents_fit keep these sums within size_t. */
static size_t scratch_of(const sattn_plan *plan, int64_t n_columns)
{
    size_t largest = 0;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        if (!plan->kernels[op])
            continue;
        size_t bytes = plan->kernels[op]->extra_scratch;
        if (op == SATTN_OP_fused)
            bytes += sattn_fused_scratch_bytes(plan->args.d, plan->args.d_v);
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

static sattn_status check_extents_fit(const sattn_plan *plan)
{
    const int64_t most = (int64_t)1 << 40;
    const sattn_attention_args *const a = &plan->args;
    const bool fused = plan->task == SATTN_TASK_FUSED;
    const bool has_qk = plan->kernels[SATTN_OP_qk], has_av = plan->kernels[SATTN_OP_av];
    const struct {
        const char *name;
        int64_t value;
        bool counts;
    } extents[] = {
        {"d", a->d, fused || has_qk},
        {"d_v", a->d_v, fused || has_av},
        {"n_k", a->n_k, has_qk || plan->kernels[SATTN_OP_softmax]}, /* where scores are stored */
    };
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i)
        if (extents[i].counts && extents[i].value > most)
            return sattn_fail(SATTN_ERR_TOO_LARGE, "%s = %" PRId64 ": expected at most 2^40",
                              extents[i].name, extents[i].value);
    return SATTN_OK;
}

static sattn_checked product(int64_t a, int64_t b)
{
    return sattn_checked_mul(sattn_checked_of(a), sattn_checked_of(b));
}

static sattn_status lay_out(sattn_plan *plan)
{
    const sattn_attention_args *const a = &plan->args;
    const bool chain = plan->task == SATTN_TASK_CHAIN, fused = plan->task == SATTN_TASK_FUSED;
    const sattn_checked none = {0, false};
    const sattn_status status = check_extents_fit(plan);
    if (status != SATTN_OK)
        return status;
    if (chain)
        plan->block_rows =
            sattn_chain_block_rows(a, plan->n_group, plan->kernels[SATTN_OP_qk]->tile_rows);
    const int64_t n_columns = chain ? sattn_chain_columns(a, plan->block_rows) : a->n_k;
    const bool stores_scores =
        chain && !(a->scores && a->scores_stage == SATTN_SCORES_PROBABILITIES);
    const bool has_lse = a->lse && plan->task != SATTN_TASK_QK && plan->task != SATTN_TASK_AV;
    const bool repairs = plan->may_hide && plan->task != SATTN_TASK_SOFTMAX;
    const sattn_checked rows = product(plan->n_group, chain ? plan->block_rows : a->n_q);
    const sattn_checked outputs = sattn_checked_mul(rows, sattn_checked_of(a->d_v));
    const sattn_checked splits = sattn_checked_of(plan->splits);
    const sattn_checked stats =
        has_lse || plan->splits > 1 ? sattn_checked_mul(rows, splits) : none;
    const bool copies_q = fused && repairs && sattn_output_fits_queries(a);
    sattn_checked size = none;
    plan->layout.scratch =
        reserve(&size, sattn_checked_of((int64_t)(scratch_of(plan, n_columns) / sizeof(float))));
    plan->layout.scores = reserve(
        &size, stores_scores
                   ? sattn_checked_mul(rows, sattn_checked_of(sattn_chain_row_stride(n_columns)))
                   : none);
    plan->layout.row_max = reserve(&size, stats);
    plan->layout.row_sum = reserve(&size, stats);
    plan->layout.parts =
        reserve(&size, plan->splits > 1 ? sattn_checked_mul(outputs, splits) : none);
    plan->layout.q_copy =
        reserve(&size, copies_q ? sattn_checked_mul(rows, sattn_checked_of(a->d)) : none);
    plan->layout.v_copy = reserve(&size, repairs ? product(a->n_k, a->d_v) : none);
    plan->layout.v_keys =
        reserve(&size, repairs ? product(a->n_k, sizeof(int64_t) / sizeof(float)) : none);
    plan->layout.repaired = reserve(&size, repairs ? outputs : none);
    if (size.overflow || size.value > PTRDIFF_MAX)
        return sattn_fail(SATTN_ERR_TOO_LARGE, "the workspace of these extents (n_q, n_k, d, d_v, "
                                               "head counts) has a size that overflows");
    plan->layout.size = (size_t)size.value;
    return SATTN_OK;
}

/* More ranges than key blocks would only be empty. */
static int64_t splits_of(int64_t n_k, const sattn_options *options)
{
    const int64_t blocks = n_k > SATTN_KEY_BLOCK ? (n_k - 1) / SATTN_KEY_BLOCK + 1 : 1;
    const int64_t asked = options && options->key_splits > 0 ? options->key_splits : 1;
    return asked < blocks ? asked : blocks;
}

sattn_status sattn_plan_make(sattn_plan *plan, sattn_task task, const sattn_attention_args *args,
                             const sattn_options *options)
{
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    sattn_status status = sattn_attention_check_shape(args, task);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK && task == SATTN_TASK_CHAIN && options && options->key_splits > 1)
        status = sattn_fail(SATTN_ERR_UNSUPPORTED,
                            "options.key_splits = %d: a chain does not cut its keys; expected 0 "
                            "or 1",
                            options->key_splits);
    if (status != SATTN_OK)
        return status;
    *plan = (sattn_plan){.args = *args, .task = task, .may_hide = may_hide(args, task)};
    plan->n_group = args->n_q_heads > 0 ? args->n_q_heads / args->n_kv_heads : 1;
    plan->scale = args->has_scale ? args->scale : (float)(1.0 / sqrt((double)args->d));
    plan->splits = task == SATTN_TASK_FUSED ? splits_of(args->n_k, options) : 1;
    status = choose_kernels(plan, options);
    return status == SATTN_OK ? lay_out(plan) : status;
}

sattn_status sattn_plan_make_attention(sattn_plan *plan, const sattn_attention_args *args,
                                       const sattn_options *options)
{
    const char *const field = args ? sattn_field_for_chain(args) : NULL;
    const char *const asked = options ? options->plan : NULL;
    const bool chain = asked ? strcmp(asked, "chain") == 0 : field != NULL;
    const sattn_task task = chain ? SATTN_TASK_CHAIN : SATTN_TASK_FUSED;
    if (!chain && asked && field) {
        const sattn_status status = sattn_options_check(options);
        if (status != SATTN_OK)
            return status;
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "options.plan = \"fused\": %s is set, which only a chain computes; "
                          "expected \"chain\" or NULL",
                          field);
    }
    return sattn_plan_make(plan, task, args, options);
}
