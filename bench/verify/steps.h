/* SPDX-License-Identifier: MIT
 *
 * steps.h: is one row of a step's output right? The steps are qk, softmax, av, exp, tanh, sigmoid,
 * additive, linear and gru.
 *
 * Each function compares one row with an oracle in double precision and adds what it finds to a
 * sattn_verify_result, so that steps and whole attentions are reported alike. Bounds are a priori,
 * from the data and the kernel contract; docs/numerics.md derives them. A result that compared
 * nothing is not a pass. Errors are in these units (u = 2^-24):
 *
 *   qk       u * sum_x |scale q_x k_x|, capped scores in u * softcap where that is less
 *   softmax  u * the row's largest weight, that of a sink too
 *   av       u * sum_j p_j |v_j|
 *   exp      ULP: of the result, and of FLT_MIN below it
 *   tanh     ULP; so sigmoid
 *   additive u * sum_x |v_x tanh(q_x + k_x)|
 *   linear   u * (sum_x |w_x x_x| + |b| + |y|)
 *   gru      u * (|n| + |z (h - n)| + (|x_n| + |r h_n|) (1 - n^2) (1 - z))
 *
 * `at` names the row in reports; nothing is allocated. */
#ifndef SATTN_BENCH_VERIFY_STEPS_H
#define SATTN_BENCH_VERIFY_STEPS_H

#include "bench/verify/compare.h"
#include "kernels/contract.h"

#include <stdbool.h>
#include <stdint.h>

/* Scores of one query against n keys, got[n]. */
typedef struct sattn_verify_scores {
    const float *q; /* [d] */
    const float *k; /* [n, d] */
    int64_t k_stride, d, n;
    float scale;   /* as the kernel got it */
    float softcap; /* 0: off */
} sattn_verify_scores;

void sattn_verify_scores_row(const sattn_verify_scores *row, const float *got,
                             sattn_verify_place at, sattn_verify_result *result);

/* Additive scores of one query against n keys, got[n]. */
typedef struct sattn_verify_alignments {
    const float *q; /* [d] */
    const float *k; /* [n, d] */
    const float *v; /* [d] */
    int64_t k_stride, d, n;
    double tanh_ulp; /* largest error of the kernel's tanh, as its registry row states it */
} sattn_verify_alignments;

void sattn_verify_alignments_row(const sattn_verify_alignments *row, const float *got,
                                 sattn_verify_place at, sattn_verify_result *result);

/* Outputs of one row of a linear map, got[n_out]. */
typedef struct sattn_verify_map {
    const float *x;        /* [n_in] */
    const float *w;        /* [n_out, n_in] */
    const float *bias;     /* [n_out], or NULL */
    const float *added_to; /* [n_out] what the outputs held before, or NULL: they were not read */
    int64_t w_stride, n_in, n_out;
} sattn_verify_map;

void sattn_verify_map_row(const sattn_verify_map *row, const float *got, sattn_verify_place at,
                          sattn_verify_result *result);

/* The next state of one row of gated recurrent units, got[n_hidden]. */
typedef struct sattn_verify_gates {
    const float *gates_x, *gates_h; /* [3 n_hidden] */
    const float *h;                 /* [n_hidden] */
    int64_t n_hidden;
    double sigmoid_ulp, tanh_ulp; /* largest errors of the kernel's functions, as the registry
                                     states them of its siblings */
} sattn_verify_gates;

/* What an element may be off by, the oracle being exact. `state_gate` is its h_n. */
double sattn_verify_gates_error(const sattn_ref_gru_element *e, double state_gate, double h,
                                double sigmoid_ulp, double tanh_ulp);

void sattn_verify_gates_row(const sattn_verify_gates *row, const float *got, sattn_verify_place at,
                            sattn_verify_result *result);

/* Weights of one row, got[n_columns], from scores s[n_k], for query row i of head g of the group.
 * `row_max` and `row_sum` are the kernel's statistics of the row, or both NULL. */
typedef struct sattn_verify_weights {
    const float *s;
    int64_t n_columns;
    const sattn_visibility *visible;
    int64_t g, i;
    const float *lse;  /* the row's log-sum-exp, or NULL */
    const float *sink; /* one more score of the row, or NULL; kernels get none */
} sattn_verify_weights;

void sattn_verify_weights_row(const sattn_verify_weights *row, const float *got,
                              const float *row_max, const float *row_sum, sattn_verify_place at,
                              sattn_verify_result *result);

/* Outputs of one row, got[d_v], from weights p[n_k]. Where a hidden V row is not finite the output
 * may be NaN (contract.h); `repaired` says that dispatch has put that right. */
typedef struct sattn_verify_outputs {
    const float *p;
    const float *v; /* [n_k, d_v] */
    int64_t v_stride, d_v;
    const sattn_visibility *visible;
    int64_t g, i;
    bool repaired;
} sattn_verify_outputs;

void sattn_verify_outputs_row(const sattn_verify_outputs *row, const float *got,
                              sattn_verify_place at, sattn_verify_result *result);

/* Query row i of head g as the oracle wants it: what it sees, and the scores (or weights) at key 0.
 */
sattn_ref_scores sattn_verify_scores_of(const float *s, const sattn_visibility *visible, int64_t g,
                                        int64_t i);

/* y = f(x) for n numbers. The bound in ULP is the kernel's own, from its derivation or from what
 * its library promises. */
typedef enum sattn_verify_function {
    SATTN_VERIFY_EXP,
    SATTN_VERIFY_TANH,
    SATTN_VERIFY_SIGMOID,
} sattn_verify_function;

void sattn_verify_array(sattn_verify_function function, const float *x, const float *y, int64_t n,
                        double bound_ulp, sattn_verify_place at, sattn_verify_result *result);

#endif
