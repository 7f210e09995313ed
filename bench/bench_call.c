/* SPDX-License-Identifier: MIT
 *
 * bench_call.c: what is timed is one call of a public function, as a user of the library makes it;
 * planning, where the task has a plan, and allocation are not in the time. */
#include "bench/bench_call.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORKSPACE_ALIGNMENT = 64 };

bool sattn_bench_call_open_step(sattn_bench_call *call, sattn_step step, char *why, size_t why_size)
{
    if (sattn_step_workspace_size(step, &call->args, &call->options, &call->workspace_size) ==
        SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

bool sattn_bench_call_open(sattn_bench_call *call, const sattn_workload *workload,
                           const sattn_attention_args *args, const sattn_variant *variant,
                           int64_t *cursor, char *why, size_t why_size)
{
    *call = (sattn_bench_call){
        .task = variant->op->task,
        .workload = workload,
        .args = *args,
        .options = {.kernels = *variant->kernels ? variant->kernels : NULL,
                    .isa = variant->isa,
                    .plan = variant->plan},
        .cursor = cursor,
    };
    if (!call->task->open(call, why, why_size))
        return false;
    const size_t size = (call->workspace_size / WORKSPACE_ALIGNMENT + 1) * WORKSPACE_ALIGNMENT;
    call->workspace = aligned_alloc(WORKSPACE_ALIGNMENT, size);
    if (!call->workspace) {
        snprintf(why, why_size, "out of memory for %zu bytes of workspace", size);
        sattn_bench_call_close(call);
        return false;
    }
    call->options.workspace = call->workspace;
    call->options.workspace_size = size;
    return true;
}

void sattn_bench_call_close(sattn_bench_call *call)
{
    sattn_plan_destroy(call->plan);
    free(call->workspace);
    *call = (sattn_bench_call){0};
}

void sattn_bench_call_run(void *context)
{
    sattn_bench_call *const call = context;
    if (call->workload->n_sets > 1) {
        sattn_workload_place(call->workload, *call->cursor, &call->args);
        if (++*call->cursor == call->workload->n_sets)
            *call->cursor = 0;
    }
    const sattn_status status = call->task->run(call);
    if (status != SATTN_OK)
        call->status = status;
}
