/* SPDX-License-Identifier: MIT
 *
 * kernel_calls.c: the run is that of a copy of the plan, whose kernels note their arguments before
 * they do their work. So nothing has to know how arguments are made, and they cannot differ. */
#include "bench/ops/kernel_calls.h"

#include "dispatch/plan.h"

#include <stdlib.h>

/* Of the run that is being recorded: kernels are told nothing but their arguments. */
static struct {
    sattn_kernel_calls *calls;
    sattn_fused_fn *kernel, *rest_kernel;
    bool is_complete;
} run;

static void record(sattn_fused_fn *kernel, const sattn_fused_args *args)
{
    sattn_kernel_calls *const all = run.calls;
    if (all->n == all->room) {
        const size_t room = all->room ? 2 * all->room : 1;
        sattn_kernel_call *const more = realloc(all->calls, room * sizeof *more);
        run.is_complete = run.is_complete && more;
        all->calls = more ? more : all->calls;
        all->room = more ? room : all->room;
    }
    if (all->n < all->room)
        all->calls[all->n++] = (sattn_kernel_call){kernel, *args};
    kernel(args);
}

static void record_kernel(const sattn_fused_args *args)
{
    record(run.kernel, args);
}

static void record_rest_kernel(const sattn_fused_args *args)
{
    record(run.rest_kernel, args);
}

bool sattn_kernel_calls_record(sattn_kernel_calls *calls, const sattn_plan *plan,
                               const sattn_pointers *pointers, void *workspace,
                               size_t workspace_size)
{
    sattn_plan recorded = *plan;
    sattn_kernel kernel = *plan->kernels[SATTN_OP_fused];
    sattn_kernel rest = plan->rest_kernel ? *plan->rest_kernel : kernel;
    *calls = (sattn_kernel_calls){0};
    run.calls = calls;
    run.kernel = kernel.fn.fused;
    run.rest_kernel = rest.fn.fused;
    run.is_complete = true;
    kernel.fn.fused = record_kernel;
    rest.fn.fused = record_rest_kernel;
    recorded.kernels[SATTN_OP_fused] = &kernel;
    recorded.rest_kernel = plan->rest_kernel ? &rest : NULL;
    return sattn_plan_run(&recorded, pointers, workspace, workspace_size) == SATTN_OK &&
           run.is_complete;
}

void sattn_kernel_calls_free(sattn_kernel_calls *calls)
{
    free(calls->calls);
    *calls = (sattn_kernel_calls){0};
}
