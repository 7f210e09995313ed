/* SPDX-License-Identifier: MIT
 *
 * call.c: what a call costs. The same small attention in four ways, run in turn: its kernels
 * alone, by sattn_plan_run, and by sattn_attention with all of its checks and the choice of
 * kernels, without a profile and with one in use; with a workspace, on one thread. What they differ
 * by is what the library adds to its kernels. */
#include "bench/bench/bench_call.h"

#include "dispatch/choose.h"
#include "dispatch/plan.h"

#include <stdio.h>

static bool open_plan(sattn_bench_call *call, char *why, size_t why_size)
{
    call->pointers = sattn_bench_call_pointers(&call->args);
    call->options.profile = sattn_profile_none(); /* all ways are to run the same kernels */
    return sattn_bench_call_open_plan(call, why, why_size);
}

/* Classes of calls with all numbers of keys and features, as many as a machine is tuned for; that
 * of the call among them. Of each, what the plan runs is what is to be taken. */
static sattn_profile *make_profile(const sattn_bench_call *call)
{
    enum { KEYS = 32, FEATURES = 16, CLASSES = KEYS * FEATURES };
    const sattn_plan *const plan = call->plan;
    sattn_overrides overrides;
    sattn_profile_entry entries[CLASSES];
    sattn_tried tried[2] = {{.is_admitted = true}, {.is_admitted = true}};
    sattn_recipe *const taken = &tried[1].recipe;
    if (sattn_overrides_get(&call->options, &overrides) != SATTN_OK)
        return NULL;
    taken->computation = plan->computation;
    taken->rest_kernel = plan->rest_kernel;
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        taken->kernels[op] = plan->kernels[op];
    for (int c = 0; c < CLASSES; ++c) {
        entries[c] = (sattn_profile_entry){.shape_class = sattn_plan_class(plan, &call->options),
                                           .usable = overrides.usable,
                                           .is_complete = true,
                                           .n_tried = 2,
                                           .tried = tried,
                                           .taken = 1};
        entries[c].shape_class.keys_log2 = c / FEATURES;
        entries[c].shape_class.d_log2 = c % FEATURES;
    }
    return sattn_profile_make(entries, CLASSES, "");
}

static bool use_profile(sattn_bench_call *call, char *why, size_t why_size)
{
    sattn_plan plan;
    call->profile = make_profile(call);
    call->options.profile = call->profile;
    if (call->profile &&
        sattn_plan_make_attention(&plan, &call->args, &call->options) == SATTN_OK &&
        (plan.decision == SATTN_DECIDED_BY_PROFILE || plan.decision == SATTN_DECIDED_BY_NAME))
        return true; /* SATTN_KERNEL comes first */
    snprintf(why, why_size, "its profile is not what decides");
    return false;
}

static bool begin(sattn_bench_call *call, char *why, size_t why_size)
{
    if (call->variant->way == SATTN_WAY_PROFILED)
        return use_profile(call, why, why_size);
    if (call->variant->way != SATTN_WAY_KERNEL ||
        sattn_kernel_calls_record(&call->kernel_calls, call->plan, &call->pointers, call->workspace,
                                  call->options.workspace_size))
        return true;
    snprintf(why, why_size, "the calls of its kernels could not be recorded");
    return false;
}

static sattn_status run(sattn_bench_call *call)
{
    switch (call->variant->way) {
    case SATTN_WAY_KERNEL:
        sattn_kernel_calls_repeat(&call->kernel_calls);
        return SATTN_OK;
    case SATTN_WAY_PLAN_RUN:
        return sattn_plan_run(call->plan, &call->pointers, call->workspace,
                              call->options.workspace_size);
    default:
        return sattn_attention(&call->args, &call->options);
    }
}

const sattn_bench_task sattn_task_call = {
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_O,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K | SATTN_TENSOR_V,
    .is_bare = true,
    .error_unit = "u sum p|v|",
    .work = sattn_attention_work,
    .open = open_plan,
    .begin = begin,
    .run = run,
    .verify = sattn_attention_verify,
};
