/* SPDX-License-Identifier: MIT
 *
 * execute.h: runs a plan, in the caller's workspace or in one of its own. */
#ifndef SATTN_DISPATCH_EXECUTE_H
#define SATTN_DISPATCH_EXECUTE_H

#include "dispatch/attention_check.h"
#include "dispatch/rows.h"

enum { SATTN_WORKSPACE_ALIGNMENT = 64 };

/* Checks the pointers of `args`, then runs in `workspace`, or in an allocation if that is NULL. */
sattn_status sattn_plan_run_args(const sattn_plan *plan, const sattn_attention_args *args,
                                 void *workspace, size_t workspace_size);

/* Runs with pointers that have been checked. `workspace` is 64-byte aligned and of layout.size
 * bytes. */
void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *args, bool o_is_q,
                        unsigned char *workspace);

/* Of the caller's workspace, what a call that needs so many bytes uses. */
sattn_workspace sattn_workspace_used(void *memory, size_t size, size_t needed);

static inline sattn_workspace sattn_workspace_of(const sattn_options *options, size_t needed)
{
    return options ? sattn_workspace_used(options->workspace, options->workspace_size, needed)
                   : (sattn_workspace){NULL, 0};
}

/* What a worker of a kernel needs, given the op's bound: whole cache lines. */
static inline size_t sattn_scratch_size(const sattn_kernel *kernel, size_t bound)
{
    return (bound + kernel->extra_scratch + 63) & ~(size_t)63;
}

/* `run` gets that workspace, or an allocation if there is none. Refuses one that is too small. */
sattn_status sattn_with_workspace(const sattn_workspace *used, size_t needed,
                                  void (*run)(void *context, unsigned char *workspace),
                                  void *context);

/* The rows of a block by whatever the plan runs. `splits` as in the plan, or fewer. */
void sattn_run_rows(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                    const sattn_unit_memory *memory, bool o_is_q);

#endif
