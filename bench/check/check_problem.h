/* SPDX-License-Identifier: MIT
 *
 * check_problem.h: one shape class with one kind of data, ready to be handed to any variant. */
#ifndef SATTN_BENCH_CHECK_CHECK_PROBLEM_H
#define SATTN_BENCH_CHECK_CHECK_PROBLEM_H

#include "bench/check/check.h"

typedef struct sattn_check_problem {
    const sattn_check_shape *shape;
    const char *data;
    sattn_attention_args args; /* of a whole attention; the scale is always given */
    int64_t n_scores;          /* batch * n_q_heads * n_q * n_k */
    float *scores, *weights;   /* the oracle's, rounded; once sattn_check_problem_steps ran */
    float *step;               /* output of qk and softmax, n_scores */
    void *memory, *mask;
    float *slopes_and_sinks; /* [2][n_q_heads] */
    int64_t *n_k_valid;
    /* The rows that steps are compared in; whole attentions use as many. */
    sattn_verify_place *rows;
    int64_t n_rows;
    bool all_rows;
    uint64_t seed;
} sattn_check_problem;

/* `kind` is ignored where the shape is a captured layer. Returns an exit code; `error` then says
 * what is wrong, and the problem holds nothing. */
int sattn_check_problem_open(sattn_check_problem *problem, const sattn_check_options *options,
                             const sattn_check_shape *shape, sattn_input_kind kind, char *error,
                             size_t error_size);
/* Computes what softmax and av read; false: out of memory. */
bool sattn_check_problem_steps(sattn_check_problem *problem);
void sattn_check_problem_close(sattn_check_problem *problem);

/* Tensors of one batch entry and head, at row 0, and what its rows see. */
const float *sattn_check_query(const sattn_check_problem *problem, int64_t b, int64_t h);
const float *sattn_check_key(const sattn_check_problem *problem, int64_t b, int64_t h);
const float *sattn_check_value(const sattn_check_problem *problem, int64_t b, int64_t h);
sattn_visibility sattn_check_visible(const sattn_check_problem *problem, int64_t b, int64_t h);
/* Row of one of the dense arrays [batch, n_q_heads, n_q, n_columns]. */
int64_t sattn_check_row(const sattn_check_problem *problem, sattn_verify_place at);

/* Every output becomes part of a NaN: what a variant leaves out shows. */
void sattn_check_poison(sattn_check_problem *problem);

#endif
