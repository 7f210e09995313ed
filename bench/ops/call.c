/* SPDX-License-Identifier: MIT
 *
 * call.c: what a call costs. The same small attention in three ways, run in turn: its kernels
 * alone, by sattn_plan_run, and by sattn_attention with all of its checks and the choice of
 * kernels; with a workspace, on one thread. What they differ by is what the library adds to its
 * kernels. */
#include "bench/bench_call.h"

#include "dispatch/plan.h"

#include <stdio.h>

static bool open_plan(sattn_bench_call *call, char *why, size_t why_size)
{
    call->pointers = sattn_bench_call_pointers(&call->args);
    return sattn_bench_call_open_plan(call, why, why_size);
}

static bool record(sattn_bench_call *call, char *why, size_t why_size)
{
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
    .begin = record,
    .run = run,
    .verify = sattn_attention_verify,
};
