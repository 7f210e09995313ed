/* SPDX-License-Identifier: MIT
 *
 * layers.h: is the output of a whole layer right, whatever computed it? Where nothing is known of
 * what its parts have left, as of another library's, the layer is computed in double precision, and
 * each number carries how far one of f32 deviates from it, roundings taken as independent (Higham &
 * Mary 2019): bounds of the worst case, which each part of our own is held to, come to more than
 * the outputs themselves over four parts of 512 features. An output may be off by ten deviations.
 *
 * Errors are reported in u = 2^-24. */
#ifndef SATTN_BENCH_VERIFY_LAYERS_H
#define SATTN_BENCH_VERIFY_LAYERS_H

#include "bench/verify/compare.h"

/* A step of a decoder whose state, embedding and alignment are d wide. Weights are [out, in],
 * dense; that of the cell's input is [3 d, d + n_enc], its columns those of the embedding, then
 * those of the context. */
typedef struct sattn_verify_step {
    int64_t d, n_enc, n_k;
    const float *state, *embedded; /* [d] */
    const float *h, *keys;         /* [n_k, n_enc], [n_k, d] */
    const float *w_state, *v, *w_input, *w_hidden;
} sattn_verify_step;

/* Compares the next state, got[d]. False: no memory. */
bool sattn_verify_step_state(const sattn_verify_step *step, const float *got,
                             sattn_verify_result *result);

/* An attention over inputs x [n_k, d] of queries q [n_q, d], without biases. Maps are [d, d]; where
 * one is NULL, what it would map is taken as it is. Queries of a self-attention are its inputs; a
 * bilinear score q^T W x is a product of q with W x. */
typedef struct sattn_verify_layer {
    int64_t n_q, n_k, d, n_heads;
    bool causal; /* query i sees inputs 0 to i */
    const float *q, *x;
    const float *w_q, *w_k, *w_v, *w_o; /* of queries, keys, values and outputs */
    const float *v; /* [d]: scores are v . tanh(q + k), of one head; NULL: scale q . k */
    double scale;   /* 0: 1 / sqrt(d / n_heads) */
} sattn_verify_layer;

/* Compares some rows of the output, got[n_q, d]. False: no memory. */
bool sattn_verify_layer_rows(const sattn_verify_layer *layer, const float *got,
                             sattn_verify_result *result);

#endif
