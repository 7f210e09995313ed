/* SPDX-License-Identifier: MIT
 *
 * layer_args.c: see layer_args.h. */
#include "bench/ops/layer_args.h"

static sattn_mut_view scores_of(const sattn_attention_args *a)
{
    return (sattn_mut_view){
        .data = a->scores, .stride_b = a->scores_stride_b, .stride_t = a->scores_stride_t};
}

sattn_alignment_args sattn_layer_alignment(const sattn_attention_args *a)
{
    return (sattn_alignment_args){.batch = a->batch,
                                  .n_q = a->n_q,
                                  .n_k = a->n_k,
                                  .d = a->d,
                                  .q = a->q,
                                  .k = a->k,
                                  .v = a->v.data,
                                  .scores = scores_of(a)};
}

sattn_linear_weights sattn_layer_weights(const sattn_attention_args *a)
{
    return (sattn_linear_weights){.n_in = a->d, .n_out = a->n_k, .w = a->k};
}

sattn_linear_rows sattn_layer_rows(const sattn_attention_args *a)
{
    return (sattn_linear_rows){.n_rows = a->n_q, .x = a->q, .y = scores_of(a)};
}

sattn_gate_args sattn_layer_gates(const sattn_attention_args *a)
{
    return (sattn_gate_args){.n_rows = a->n_q,
                             .n_hidden = a->d_v,
                             .gates_x = a->q,
                             .gates_h = a->k,
                             .h = a->v,
                             .next = a->o};
}

sattn_shape_class sattn_layer_class(sattn_op op, const sattn_attention_args *a, bool is_packed,
                                    int threads)
{
    switch (op) {
    case SATTN_OP_additive:
        return sattn_class_of_additive(a->n_q, a->n_k, a->d, a->n_k > 1 && a->k.stride_t != a->d,
                                       threads);
    case SATTN_OP_linear:
        return sattn_class_of_linear(a->n_q, a->n_k, a->d, is_packed, threads);
    case SATTN_OP_gru:
        return sattn_class_of_array(op, a->n_q * a->d_v, threads);
    default:
        return sattn_class_of_array(op, a->n_k, threads);
    }
}
