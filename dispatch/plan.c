/* SPDX-License-Identifier: MIT
 *
 * plan.c: makes plans: checks the shape, chooses the kernel, lays out the workspace. */
#include "dispatch/plan.h"

#include "dispatch/attention_check.h"
#include "dispatch/checked.h"
#include "dispatch/error.h"
#include "dispatch/override.h"

#include <math.h>

static sattn_status check_options(const sattn_options *options)
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
    return SATTN_OK;
}

static sattn_status choose_kernel(sattn_plan *plan, const sattn_options *options)
{
    sattn_overrides overrides;
    size_t count;
    const sattn_status status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    const sattn_kernel *const forced = overrides.forced[SATTN_OP_fused];
    const sattn_selection selection = {.op = SATTN_OP_fused,
                                       .phase = sattn_phase_of(plan->n_group, plan->args.n_q),
                                       .usable = overrides.usable,
                                       .forced = forced ? forced->name : NULL};
    const sattn_kernel *const rows = sattn_registry(&count);
    plan->kernel = sattn_select(rows, count, &selection);
    if (!plan->kernel)
        return sattn_fail(SATTN_ERR_KERNEL, "no kernel of this build can run here");
    sattn_overrides_log(&overrides, &selection, plan->kernel);
    return SATTN_OK;
}

/* With the default offset a single query sees every key that exists. */
static bool may_hide(const sattn_attention_args *a)
{
    return a->mask.kind != SATTN_MASK_NONE || (a->causal && (a->causal_offset || a->n_q > 1));
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

static sattn_status lay_out(sattn_plan *plan)
{
    const sattn_attention_args *const a = &plan->args;
    const sattn_checked none = {0, false};
    const sattn_checked rows =
        sattn_checked_mul(sattn_checked_of(plan->n_group), sattn_checked_of(a->n_q));
    const sattn_checked outputs = sattn_checked_mul(rows, sattn_checked_of(a->d_v));
    const sattn_checked queries = sattn_checked_mul(rows, sattn_checked_of(a->d));
    const sattn_checked values =
        sattn_checked_mul(sattn_checked_of(a->n_k), sattn_checked_of(a->d_v));
    const sattn_checked keys = sattn_checked_mul(sattn_checked_of(a->n_k),
                                                 sattn_checked_of(sizeof(int64_t) / sizeof(float)));
    const sattn_checked splits = sattn_checked_of(plan->splits);
    const sattn_checked stats = a->lse || plan->splits > 1 ? sattn_checked_mul(rows, splits) : none;
    const bool copies_q = plan->may_hide && sattn_output_fits_queries(a);
    sattn_checked size = none;
    const int64_t extent_max = (int64_t)1 << 40;
    if (a->d > extent_max || a->d_v > extent_max)
        return sattn_fail(SATTN_ERR_TOO_LARGE, "d or d_v: expected at most 2^40");
    const size_t scratch = sattn_fused_scratch_bytes(a->d, a->d_v) + plan->kernel->extra_scratch;
    plan->layout.scratch = reserve(&size, sattn_checked_of((int64_t)(scratch / sizeof(float))));
    plan->layout.row_max = reserve(&size, stats);
    plan->layout.row_sum = reserve(&size, stats);
    plan->layout.parts =
        reserve(&size, plan->splits > 1 ? sattn_checked_mul(outputs, splits) : none);
    plan->layout.q_copy = reserve(&size, copies_q ? queries : none);
    plan->layout.v_copy = reserve(&size, plan->may_hide ? values : none);
    plan->layout.v_keys = reserve(&size, plan->may_hide ? keys : none);
    plan->layout.repaired = reserve(&size, plan->may_hide ? outputs : none);
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

sattn_status sattn_plan_make(sattn_plan *plan, const sattn_attention_args *args,
                             const sattn_options *options)
{
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    sattn_status status = sattn_attention_check_shape(args);
    if (status == SATTN_OK)
        status = check_options(options);
    if (status != SATTN_OK)
        return status;
    *plan = (sattn_plan){.args = *args, .may_hide = may_hide(args)};
    plan->n_group = args->n_q_heads > 0 ? args->n_q_heads / args->n_kv_heads : 1;
    plan->scale = args->has_scale ? args->scale : (float)(1.0 / sqrt((double)args->d));
    plan->splits = splits_of(args->n_k, options);
    status = choose_kernel(plan, options);
    return status == SATTN_OK ? lay_out(plan) : status;
}
