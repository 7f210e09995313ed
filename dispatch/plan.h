/* SPDX-License-Identifier: MIT
 *
 * plan.h: a checked attention call with its kernel chosen and its workspace laid out. */
#ifndef SATTN_DISPATCH_PLAN_H
#define SATTN_DISPATCH_PLAN_H

#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

/* Where each part of the workspace begins, in bytes; used for one work unit (batch entry and KV
 * head) after the other. */
typedef struct sattn_workspace_layout {
    size_t scratch;  /* the kernel's */
    size_t row_max;  /* [splits][n_group][n_q] */
    size_t row_sum;  /* [splits][n_group][n_q] */
    size_t parts;    /* [splits][n_group][n_q][d_v] unnormalised outputs; only with splits > 1 */
    size_t q_copy;   /* [n_group][n_q][d]; only where o may be q and a key may be hidden */
    size_t v_copy;   /* [n_k][d_v]; only where a key may be hidden, as are the next two */
    size_t v_keys;   /* [n_k] int64_t, the keys whose V row is not finite */
    size_t repaired; /* [n_group][n_q][d_v] */
    size_t size;
} sattn_workspace_layout;

struct sattn_plan {
    sattn_attention_args args; /* its pointers are those of the call that made the plan */
    const sattn_kernel *kernel;
    float scale;
    int64_t n_group;
    int64_t splits;
    bool may_hide; /* some key may be hidden from some row by mask or causal limit */
    sattn_workspace_layout layout;
};

/* Everything but the data pointers: checks, choice, layout. */
sattn_status sattn_plan_make(sattn_plan *plan, const sattn_attention_args *args,
                             const sattn_options *options);

/* Runs with the pointers in plan->args; they have been checked. `workspace` is 64-byte aligned and
 * of layout.size bytes. */
void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *args, bool o_is_q,
                        unsigned char *workspace);

#endif
