/* SPDX-License-Identifier: MIT
 *
 * ragged_plan.h: the plan of a ragged batch: the kernels, blocks and memory of each phase that its
 * sequences have. */
#ifndef SATTN_DISPATCH_RAGGED_PLAN_H
#define SATTN_DISPATCH_RAGGED_PLAN_H

#include "dispatch/plan.h"

enum { SATTN_PHASES = 4 }; /* of which few queries may be several rows or not */

typedef struct sattn_ragged_plan {
    sattn_attention_args args;                   /* the call's, its tensors as one batch entry */
    sattn_operand operands[SATTN_OPERAND_COUNT]; /* of these */
    sattn_ragged ragged;
    int64_t n_sequences;
    sattn_overrides overrides;
    const sattn_options *options;
    int64_t tile_rows; /* of a fused prefill kernel; 0 for a chain */
    bool has_phase[SATTN_PHASES];
    sattn_plan of_phase[SATTN_PHASES]; /* for the most queries and keys of a sequence of the phase;
                                          prefill first */
    int workers;
    size_t order, first_tasks, size; /* of the workspace: int64_t [n_sequences], the order of the
                                        sequences; [n_sequences + 1] in it; its bytes */
} sattn_ragged_plan;

/* All but the data pointers, as sattn_plan_make. */
sattn_status sattn_ragged_plan_make(sattn_ragged_plan *plan, const sattn_attention_args *args,
                                    const sattn_ragged *ragged, const sattn_options *options);

/* No sequence has a query. */
bool sattn_ragged_is_empty(const sattn_ragged_plan *plan);

static inline int64_t sattn_ragged_queries(const sattn_ragged *ragged, int64_t b)
{
    return ragged->q_starts[b + 1] - ragged->q_starts[b];
}

static inline int64_t sattn_ragged_keys(const sattn_ragged *ragged, int64_t b)
{
    return ragged->k_starts[b + 1] - ragged->k_starts[b];
}

/* Sequence b as a call of its own. */
sattn_attention_args sattn_ragged_sequence(const sattn_attention_args *args,
                                           const sattn_ragged *ragged, int64_t b);

/* The plan for a sequence of so many queries. */
const sattn_plan *sattn_ragged_plan_of(const sattn_ragged_plan *plan, int64_t n_q);

/* Blocks of rows of all heads of sequence b. */
int64_t sattn_ragged_tasks(const sattn_ragged_plan *plan, int64_t b);

#endif
