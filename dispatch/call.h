/* SPDX-License-Identifier: MIT
 *
 * call.h: the kinds of calls, each with its op and what it is computed by. */
#ifndef SATTN_DISPATCH_CALL_H
#define SATTN_DISPATCH_CALL_H

#include "dispatch/operands.h"
#include "dispatch/registry.h"

/* What is called; an attention may be run fused or as a chain. */
typedef enum sattn_call {
    SATTN_CALL_ATTENTION,
    SATTN_CALL_QK,
    SATTN_CALL_SOFTMAX,
    SATTN_CALL_AV,
    SATTN_CALL_EXP,
    SATTN_CALL_TANH,
    SATTN_CALL_SIGMOID,
    SATTN_CALL_ADDITIVE,
    SATTN_CALL_LINEAR,
    SATTN_CALL_GRU,
    SATTN_CALL_COUNT
} sattn_call;

/* The call of an op, and what it is computed by: of an attention the fused op. */
sattn_call sattn_call_of_op(sattn_op op);
sattn_op sattn_call_op(sattn_call call);
sattn_computation sattn_call_computation(sattn_call call);
/* Of a computation of an attention or a step of it. */
sattn_call sattn_call_of_computation(sattn_computation computation);
/* "attention", else the name of the op. */
const char *sattn_call_name(sattn_call call);

#endif
