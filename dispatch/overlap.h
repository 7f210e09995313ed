/* SPDX-License-Identifier: MIT
 *
 * overlap.h: memory that a call writes must not meet other memory of the call. */
#ifndef SATTN_DISPATCH_OVERLAP_H
#define SATTN_DISPATCH_OVERLAP_H

#include "dispatch/operands.h"

/* The memory that a caller gave a call to work in. */
typedef struct sattn_workspace {
    void *memory; /* or NULL */
    size_t size;  /* bytes */
} sattn_workspace;

/* Each output against each input and the other outputs, and the workspace against all, for operands
 * that have passed their checks and lie at `data`. Two pairs may coincide: o and q of an attention,
 * if o_is_q, and scores and scores_in of a softmax. */
sattn_status sattn_overlap_check(const sattn_attention_args *args, sattn_computation computation,
                                 const sattn_operand operands[SATTN_OPERAND_COUNT],
                                 const void *const data[SATTN_OPERAND_COUNT],
                                 const sattn_workspace *workspace, bool o_is_q);

/* Refuses an array of an input, of `bytes` bytes, that an output overlaps. */
sattn_status sattn_overlap_check_array(const sattn_attention_args *args,
                                       const sattn_operand operands[SATTN_OPERAND_COUNT],
                                       const char *name, const void *array, int64_t bytes);

#endif
