/* SPDX-License-Identifier: MIT
 *
 * kernel_calls.h: the calls of kernels that a run of a fused plan consists of, to be made again
 * without anything around them: what is left of the run's time is what the library adds. */
#ifndef SATTN_BENCH_OPS_KERNEL_CALLS_H
#define SATTN_BENCH_OPS_KERNEL_CALLS_H

#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct sattn_kernel_call {
    sattn_fused_fn *kernel;
    sattn_fused_args args; /* as the run made them, with its pointers */
} sattn_kernel_call;

typedef struct sattn_kernel_calls {
    sattn_kernel_call *calls;
    size_t n, room;
} sattn_kernel_calls;

/* Runs a plan of one thread and notes its calls, in their order. False: it is refused, or out of
 * memory. To be freed either way. */
bool sattn_kernel_calls_record(sattn_kernel_calls *calls, const sattn_plan *plan,
                               const sattn_pointers *pointers, void *workspace,
                               size_t workspace_size);
void sattn_kernel_calls_free(sattn_kernel_calls *calls);

static inline void sattn_kernel_calls_repeat(const sattn_kernel_calls *calls)
{
    for (size_t c = 0; c < calls->n; ++c)
        calls->calls[c].kernel(&calls->calls[c].args);
}

#endif
