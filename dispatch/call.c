/* SPDX-License-Identifier: MIT
 *
 * call.c: see call.h. */
#include "dispatch/call.h"

static const struct {
    sattn_op op;
    sattn_computation computation;
} calls[SATTN_CALL_COUNT] = {
    [SATTN_CALL_ATTENTION] = {SATTN_OP_fused, SATTN_COMPUTE_FUSED},
    [SATTN_CALL_QK] = {SATTN_OP_qk, SATTN_COMPUTE_QK},
    [SATTN_CALL_SOFTMAX] = {SATTN_OP_softmax, SATTN_COMPUTE_SOFTMAX},
    [SATTN_CALL_AV] = {SATTN_OP_av, SATTN_COMPUTE_AV},
    [SATTN_CALL_EXP] = {SATTN_OP_exp, SATTN_COMPUTE_APART},
    [SATTN_CALL_TANH] = {SATTN_OP_tanh, SATTN_COMPUTE_APART},
    [SATTN_CALL_SIGMOID] = {SATTN_OP_sigmoid, SATTN_COMPUTE_APART},
    [SATTN_CALL_ADDITIVE] = {SATTN_OP_additive, SATTN_COMPUTE_APART},
    [SATTN_CALL_LINEAR] = {SATTN_OP_linear, SATTN_COMPUTE_APART},
    [SATTN_CALL_GRU] = {SATTN_OP_gru, SATTN_COMPUTE_APART},
};

sattn_call sattn_call_of_op(sattn_op op)
{
    int call = 0;
    while (call + 1 < SATTN_CALL_COUNT && calls[call].op != op)
        ++call;
    return (sattn_call)call;
}

sattn_op sattn_call_op(sattn_call call)
{
    return calls[call].op;
}

sattn_computation sattn_call_computation(sattn_call call)
{
    return calls[call].computation;
}

sattn_call sattn_call_of_computation(sattn_computation computation)
{
    for (int call = SATTN_CALL_QK; call <= SATTN_CALL_AV; ++call)
        if (calls[call].computation == computation)
            return (sattn_call)call;
    return SATTN_CALL_ATTENTION; /* fused or a chain */
}

const char *sattn_call_name(sattn_call call)
{
    return call == SATTN_CALL_ATTENTION ? "attention" : sattn_op_name(calls[call].op);
}
