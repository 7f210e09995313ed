/* SPDX-License-Identifier: MIT
 *
 * plan.h: a checked call with its kernels chosen and its workspace laid out. */
#ifndef SATTN_DISPATCH_PLAN_H
#define SATTN_DISPATCH_PLAN_H

#include "dispatch/operands.h"
#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

/* Where each part of the workspace begins, in bytes; used for one work unit (batch entry and KV
 * head) after the other. A part that the task has no use for has no bytes. [rows] are the query
 * rows of a head that are worked on at once: block_rows in a chain, else n_q. */
typedef struct sattn_workspace_layout {
    size_t scratch;  /* the kernels', one at a time */
    size_t scores;   /* [n_group][rows][..] of a chain, rows at sattn_chain_row_stride */
    size_t row_max;  /* [splits][n_group][rows] */
    size_t row_sum;  /* [splits][n_group][rows] */
    size_t parts;    /* [splits][n_group][n_q][d_v] unnormalised outputs; only with splits > 1 */
    size_t q_copy;   /* [n_group][n_q][d]; fused, where o may be q and a key may be hidden */
    size_t v_copy;   /* [n_k][d_v]; only where a key may be hidden, as are the next two */
    size_t v_keys;   /* [n_k] int64_t, the keys whose V row is not finite */
    size_t repaired; /* [n_group][rows][d_v] */
    size_t size;
} sattn_workspace_layout;

struct sattn_plan {
    sattn_attention_args args; /* its pointers are those of the call that made the plan */
    sattn_task task;
    const sattn_kernel *kernels[SATTN_OP_COUNT]; /* NULL where the task does without the op */
    char names[384];                             /* of these kernels, a comma list */
    float scale;
    int64_t n_group;
    int64_t splits;     /* 1 but for fused */
    int64_t block_rows; /* query rows of a head that a chain takes at once */
    bool may_hide;      /* some key may be hidden from some row, other than by n_k_valid */
    sattn_workspace_layout layout;
};

/* Everything but the data pointers: checks, choice, layout. */
sattn_status sattn_plan_make(sattn_plan *plan, sattn_task task, const sattn_attention_args *args,
                             const sattn_options *options);

/* The same for sattn_attention, by a fused kernel or a chain. */
sattn_status sattn_plan_make_attention(sattn_plan *plan, const sattn_attention_args *args,
                                       const sattn_options *options);

/* Options alone, for a call that has no plan: exp, tanh. */
sattn_status sattn_options_check(const sattn_options *options);

/* The kernel of one op for these overrides. */
sattn_status sattn_choose_kernel(sattn_op op, sattn_phase phase, const sattn_options *options,
                                 const sattn_kernel **kernel);

/* Checks the pointers of `args`, then runs in `workspace`, or in an allocation if that is NULL. */
sattn_status sattn_plan_run_args(const sattn_plan *plan, const sattn_attention_args *args,
                                 void *workspace, size_t workspace_size);

/* Runs with pointers that have been checked. `workspace` is 64-byte aligned and of layout.size
 * bytes. */
void sattn_plan_execute(const sattn_plan *plan, const sattn_attention_args *args, bool o_is_q,
                        unsigned char *workspace);

#endif
