/* SPDX-License-Identifier: MIT
 *
 * direct.h: attention that needs nothing around its kernel: one thread, one range of keys, no key
 * hidden, and neither a log-sum-exp nor arrays of batch entries or heads. All of it is known from
 * the plan but four addresses, so that a call costs little more than its kernel. What it computes
 * is what execute.c would, by the same kernels of the same arguments. */
#ifndef SATTN_DISPATCH_DIRECT_H
#define SATTN_DISPATCH_DIRECT_H

#include "dispatch/plan.h"

/* Whether a plan that is complete is of that kind. */
bool sattn_plan_is_direct(const sattn_plan *plan);

/* Runs a plan of that kind and returns true; or returns false, with nothing done, where anything
 * about the memory needs a closer look: it is missing, not aligned, too small, more than the plan
 * has, or first and last bytes do not show that it is apart. */
bool sattn_direct_run(const sattn_plan *plan, const sattn_pointers *pointers, void *workspace,
                      size_t workspace_size);

#endif
