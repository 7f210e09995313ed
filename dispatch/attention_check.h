/* SPDX-License-Identifier: MIT
 *
 * attention_check.h: everything that can be wrong with the arguments of an attention call or of one
 * of its steps. Nothing but argument structs and the small arrays per batch entry and head is read.
 * A computation looks only at the fields that it needs. */
#ifndef SATTN_DISPATCH_ATTENTION_CHECK_H
#define SATTN_DISPATCH_ATTENTION_CHECK_H

#include "dispatch/overlap.h"

/* Extents, strides, types, values. Pointers are not looked at. Sets the operands. */
sattn_status sattn_attention_check_shape(const sattn_attention_args *args,
                                         sattn_computation computation,
                                         sattn_operand operands[SATTN_OPERAND_COUNT]);

/* Pointers, values per batch entry and head, and overlap, for arguments whose shape has passed with
 * these operands. Sets *o_is_q where the output of an attention takes the place of its queries. */
sattn_status sattn_attention_check_data(const sattn_attention_args *args,
                                        sattn_computation computation,
                                        const sattn_operand operands[SATTN_OPERAND_COUNT],
                                        const sattn_workspace *workspace, bool *o_is_q);

/* True where o has the shape and the strides of q, so that it may lie exactly on it. */
bool sattn_output_fits_queries(const sattn_attention_args *args);

/* True where nothing is to be computed: no batch entry, head or query. */
static inline bool sattn_attention_is_empty(const sattn_attention_args *args)
{
    return args->batch == 0 || args->n_q_heads == 0 || args->n_q == 0;
}

/* The causal offset of batch entry b, given its number of valid keys. */
static inline int64_t sattn_causal_offset(const sattn_attention_args *args, int64_t b, int64_t n_k)
{
    return args->causal_offset ? args->causal_offset[b] : n_k - args->n_q;
}

#endif
