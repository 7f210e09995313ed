/* SPDX-License-Identifier: MIT
 *
 * layer_args.h: calls that are no attention, by the tensors of a workload. So that workloads, their
 * sets and their parts are of one kind, these calls borrow the names of an attention's tensors:
 *
 *   additive  q, k as they are; v is the first row of V; S the scores
 *   linear    X is q, W is k, Y is the scores: n_q rows, n_k outputs, d inputs
 *   gru       gates_x is q, gates_h is k, h is v, the next state o: n_q = n_k rows, d = 3 d_v */
#ifndef SATTN_BENCH_OPS_LAYER_ARGS_H
#define SATTN_BENCH_OPS_LAYER_ARGS_H

#include "dispatch/shape_class.h"

sattn_alignment_args sattn_layer_alignment(const sattn_attention_args *args);
sattn_linear_weights sattn_layer_weights(const sattn_attention_args *args);
sattn_linear_rows sattn_layer_rows(const sattn_attention_args *args);
sattn_gate_args sattn_layer_gates(const sattn_attention_args *args);

/* The class of a call of an op that is neither an attention nor a step of one. */
sattn_shape_class sattn_layer_class(sattn_op op, const sattn_attention_args *args, bool is_packed,
                                    int threads);

#endif
