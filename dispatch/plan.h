/* SPDX-License-Identifier: MIT
 *
 * plan.h: a checked call with its kernels chosen, its work shared out and its workspace laid out.
 */
#ifndef SATTN_DISPATCH_PLAN_H
#define SATTN_DISPATCH_PLAN_H

#include "dispatch/layout.h"
#include "dispatch/operands.h"
#include "dispatch/override.h"

struct sattn_plan {
    /* What the computation looks at; the pointers are those of the call that made the plan. */
    sattn_attention_args args;
    sattn_operand operands[SATTN_OPERAND_COUNT];
    sattn_computation computation;
    const sattn_kernel *kernels[SATTN_OP_COUNT]; /* NULL where it does without the op */
    const sattn_kernel *rest_kernel; /* few-query kernel for the last rows of a unit, or NULL */
    int key_splits;                  /* that options ask for; 0: to be chosen */
    int profile_splits;              /* the choice of the profile, if any; else 0 */
    sattn_phase phase;
    bool is_several; /* what sattn_are_several says */
    sattn_decision decision;
    float scale;
    int64_t n_group;
    bool may_hide;          /* some key may be hidden from some row, other than by n_k_valid */
    bool rows_are_followed; /* by the prefetchers of this CPU (cpu.h) */
    /* How the work is cut, as share.h says. */
    int workers;        /* threads, at most */
    int64_t block_rows; /* query rows of a head that are worked on at once; at least 1 */
    int64_t n_blocks;   /* of them in a unit; at least 1 */
    int64_t splits;     /* key ranges; 1 but for fused */
    bool parts_apart;   /* each range of a block is a task of its own */
    int64_t n_dense;    /* dense copies of K and V that there is room for */
    bool is_direct;     /* nothing is to be done but to run its kernels (direct.h) */
    int64_t kv_bytes;   /* that the call reads, where it is direct */
    sattn_workspace_layout layout;
    char names[384]; /* of the kernels that run; "" until sattn_plan_name_kernels */
};

/* Everything but the data pointers: checks, choice, shares, layout. */
sattn_status sattn_plan_make(sattn_plan *plan, sattn_computation computation,
                             const sattn_attention_args *args, const sattn_options *options);

/* The same for sattn_attention, by a fused kernel or a chain. */
sattn_status sattn_plan_make_attention(sattn_plan *plan, const sattn_attention_args *args,
                                       const sattn_options *options);

/* Shape and options of a call. Sets its operands. */
sattn_status sattn_plan_check(const sattn_attention_args *args, sattn_computation computation,
                              const sattn_options *options,
                              sattn_operand operands[SATTN_OPERAND_COUNT]);

/* Which of the two options or arguments ask for, fused if neither does (*is_open); refuses options
 * that do not fit. */
sattn_status sattn_choose_computation(const sattn_attention_args *args,
                                      const sattn_options *options, sattn_computation *computation,
                                      bool *is_open);

/* A plan of one worker that takes units whole, of plan->args, which have passed, with its kernels
 * chosen; no workspace yet. is_open as in sattn_plan_choose. */
sattn_status sattn_plan_begin(sattn_plan *plan, sattn_computation computation, bool is_open,
                              const sattn_overrides *overrides, const sattn_options *options);

/* Key ranges for so many keys where a number of them is asked for; else 1. */
int64_t sattn_splits_asked(int64_t n_k, int key_splits);

/* Threads that the options allow, at least 1. */
int sattn_threads_asked(const sattn_options *options);

/* Options alone, for a call that has no plan: exp, tanh. */
sattn_status sattn_options_check(const sattn_options *options);

#endif
