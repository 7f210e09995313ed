/* SPDX-License-Identifier: MIT
 *
 * bench_call.c: what is timed is sattn_plan_run, as a user of the library calls it: the loops over
 * batch and heads, merges and checks of the output are in the time, allocation is not. */
#include "bench/bench_call.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORKSPACE_ALIGNMENT = 64 };

bool sattn_bench_call_open(sattn_bench_call *call, const sattn_workload *workload,
                           const sattn_attention_args *args, const char *kernel, int64_t *cursor,
                           char *why, size_t why_size)
{
    *call = (sattn_bench_call){.workload = workload, .cursor = cursor};
    const sattn_options options = {.kernels = kernel};
    if (sattn_plan_create(&call->plan, args, &options) != SATTN_OK) {
        snprintf(why, why_size, "%s", sattn_last_error());
        return false;
    }
    call->first = sattn_workload_pointers(workload, 0);
    call->workspace_size = sattn_plan_workspace_size(call->plan);
    const size_t size = (call->workspace_size / WORKSPACE_ALIGNMENT + 1) * WORKSPACE_ALIGNMENT;
    call->workspace = aligned_alloc(WORKSPACE_ALIGNMENT, size);
    if (call->workspace)
        return true;
    snprintf(why, why_size, "out of memory for %zu bytes of workspace", size);
    sattn_bench_call_close(call);
    return false;
}

void sattn_bench_call_close(sattn_bench_call *call)
{
    sattn_plan_destroy(call->plan);
    free(call->workspace);
    *call = (sattn_bench_call){0};
}

static void advance(sattn_pointers *pointers, size_t bytes)
{
    pointers->q = (const char *)pointers->q + bytes;
    pointers->k = (const char *)pointers->k + bytes;
    pointers->v = (const char *)pointers->v + bytes;
    pointers->o = (char *)pointers->o + bytes;
}

void sattn_bench_call_run(void *context)
{
    sattn_bench_call *const call = context;
    sattn_pointers pointers = call->first;
    advance(&pointers, (size_t)*call->cursor * call->workload->set_bytes);
    if (++*call->cursor == call->workload->n_sets)
        *call->cursor = 0;
    const sattn_status status =
        sattn_plan_run(call->plan, &pointers, call->workspace, call->workspace_size);
    if (status != SATTN_OK)
        call->status = status;
}
