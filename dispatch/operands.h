/* SPDX-License-Identifier: MIT
 *
 * operands.h: the tensors of a call, each with its name, extents and strides, and their memory. */
#ifndef SATTN_DISPATCH_OPERANDS_H
#define SATTN_DISPATCH_OPERANDS_H

#include "dispatch/region.h"
#include "dispatch/simdattn.h"

/* What is run for a call: sattn_attention in either way, or one of its steps. */
typedef enum sattn_computation {
    SATTN_COMPUTE_FUSED,
    SATTN_COMPUTE_CHAIN,
    SATTN_COMPUTE_QK,
    SATTN_COMPUTE_SOFTMAX,
    SATTN_COMPUTE_AV,
    SATTN_COMPUTE_APART, /* exp to gru: not of such arguments, and so of no plan */
} sattn_computation;

static inline bool sattn_computes_attention(sattn_computation computation)
{
    return computation == SATTN_COMPUTE_FUSED || computation == SATTN_COMPUTE_CHAIN;
}

/* Visibility beyond n_k_valid: mask, causal limit, window. */
static inline bool sattn_computation_sees(sattn_computation computation)
{
    return computation != SATTN_COMPUTE_QK;
}

/* Makes weights of scores: ALiBi, sinks. */
static inline bool sattn_computation_weighs(sattn_computation computation)
{
    return sattn_computes_attention(computation) || computation == SATTN_COMPUTE_SOFTMAX;
}

/* Leaves nothing in the fields that the computation does not look at. */
void sattn_computation_narrow(sattn_computation computation, sattn_attention_args *args);

typedef enum sattn_operand_id {
    SATTN_OPERAND_Q,
    SATTN_OPERAND_K,
    SATTN_OPERAND_V,
    SATTN_OPERAND_SCORES_IN,
    SATTN_OPERAND_LSE,
    SATTN_OPERAND_SCORES,
    SATTN_OPERAND_O,
    SATTN_OPERAND_COUNT
} sattn_operand_id;

/* [batch, heads, rows, columns], innermost stride 1. */
typedef struct sattn_operand {
    const char *name;                     /* "q", "scores" */
    const char *pointer;                  /* the field that holds its address: "q.data", "scores" */
    int64_t stride_b, stride_h, stride_t; /* elements */
    int64_t batch, heads, rows, columns;
    int64_t bytes; /* from its first to its last, once it has passed its check; 0: there are none */
    sattn_dtype dtype;
    char separator; /* between name and "stride_t" in the names of its stride fields */
    bool used;      /* the computation looks at it */
    bool needed;    /* the computation cannot do without its memory */
    bool written;   /* an output */
} sattn_operand;

/* All operands of the call. Those that the computation does not look at are not `used`, and have
 * nothing else but 0 bytes. */
void sattn_operands_of(const sattn_attention_args *args, sattn_computation computation,
                       sattn_operand operands[SATTN_OPERAND_COUNT]);

/* Type and strides; an output must not share memory with itself. Sets `bytes`. */
sattn_status sattn_operand_check(sattn_operand *operand);

/* Where each operand lies, in this run. */
void sattn_operands_locate(const sattn_attention_args *args, const void *data[SATTN_OPERAND_COUNT]);

/* Refuses extents and strides (elements) that reach beyond the address space, from the first to one
 * past the last element of `axes` strided axes and one of `columns` elements: so many bytes, if no
 * extent is 0. */
sattn_status sattn_check_span(const char *name, const int64_t *extents, const int64_t *strides,
                              int axes, int64_t columns, int64_t element_size, int64_t *bytes);

/* Bytes from one index of an axis to the next; the stride of an extent of 1 is ignored, so it may
 * hold anything. */
static inline int64_t sattn_step_of(int64_t extent, int64_t stride, int64_t element_size)
{
    return extent > 1 ? stride * element_size : 0;
}

/* The memory of an operand that has passed its check. Strides of a tensor that the computation does
 * not use have not been looked at. */
static inline sattn_region sattn_operand_region(const sattn_operand *t, const void *data)
{
    if (!t->used || t->batch == 0 || t->heads == 0 || t->rows == 0)
        return (sattn_region){0};
    return (sattn_region){.base = (uintptr_t)data,
                          .extent = {t->batch, t->heads, t->rows},
                          .step = {sattn_step_of(t->batch, t->stride_b, 4),
                                   sattn_step_of(t->heads, t->stride_h, 4),
                                   sattn_step_of(t->rows, t->stride_t, 4)},
                          .run = t->columns * 4};
}

#endif
