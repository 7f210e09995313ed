/* SPDX-License-Identifier: MIT
 *
 * bound.h: how far a correct f32 kernel may be from the oracle, element by element.
 *
 * An a-priori bound: it follows from the arithmetic that the kernel contract prescribes and from
 * the data (sizes of scores, weights and values, as the oracle finds them), not from any kernel's
 * output. docs/numerics.md derives it, with the same symbols. The unit is the unit roundoff of f32,
 * u = 2^-24. */
#ifndef SATTN_BENCH_VERIFY_BOUND_H
#define SATTN_BENCH_VERIFY_BOUND_H

#include "kernels/ref/ref.h"

#include <stdbool.h>
#include <stdint.h>

#define SATTN_UNIT_ROUNDOFF 0x1p-24

/* A weight below this, relative to the row's largest, may be anything from 0 on. */
#define SATTN_LEAST_WEIGHT 0x1p-126

/* Error of a softcap c tanh(s / c) in u of its value: 2 for s / c, 5 for tanh, 1 for the product.
 */
#define SATTN_SOFTCAP_ERROR 8.0

/* The oracle's own error, of the same row, is below this times the natural scale. */
#define SATTN_ORACLE_ERROR 0x1p-44

typedef struct sattn_bound_params {
    /* How much n roundings in a row may add up to. 0: n u / (1 - n u), which nothing exceeds.
     * Above 0: lambda sqrt(n) u + n u^2 / (1 - u), which holds with a high probability if rounding
     * errors are independent and have mean zero (Higham & Mary 2019); tighter for long sums. */
    double lambda;
    int64_t key_block;       /* keys summed from zero before they are added; 0: all keys at once */
    int64_t n_splits;        /* partial results merged, at least 1 */
    double lazy_threshold;   /* how far the reference value may trail the maximum, natural units */
    double exp_error;        /* relative error of the kernel's exp, in u */
    double underflow;        /* absolute error of an operation on numbers below FLT_MIN: 2^-149, or
                                2^-126 where the caller's control word flushes them to 0 */
    double weight_roundings; /* of a weight on its own, beyond a fused kernel's: 2 where weights are
                                normalised before they meet V */
    double scale_roundings;  /* relative error of the scale itself, in u: 0 if the caller gave it */
} sattn_bound_params;

/* What contract.h prescribes for a fused kernel, and for qk, softmax and av in a row, with the
 * worst case of every sum. */
sattn_bound_params sattn_bound_defaults(void);
sattn_bound_params sattn_bound_chain(void);

/* What n roundings in a row add up to, relatively; `lambda` as above. */
double sattn_bound_gamma(double lambda, double n);

/* The error of cap tanh(s / cap) of about `capped`, `delta` being that of s: its own, and what is
 * left of delta where tanh is flat. `slack` is what `capped` itself may be off by. */
double sattn_bound_capped(double cap, double capped, double slack, double delta);

/* What is added to the score of one key. */
typedef struct sattn_bound_bias {
    double alibi_slope; /* 0: off */
    int64_t position, key;
    double mask; /* 0: none */
} sattn_bound_bias;

/* -alibi_slope * |position - key| + mask. */
double sattn_bound_bias_of(const sattn_bound_bias *bias);
/* The error of a biased score of about `logit`, `delta` being that of the score alone. */
double sattn_bound_biased(const sattn_bound_bias *bias, double delta, double logit,
                          double underflow);

/* Whether scale q alone, or the score of q and k, may overflow on its way because of finite
 * features. Such a score may be anything, also where the features make a number, or a softcap does.
 * `size` is the score's sum_x |scale q_x k_x| as the oracle has it. */
bool sattn_query_may_overflow(const float *q, int64_t d, double scale);
bool sattn_dot_may_overflow(const float *q, const float *k, int64_t d, double scale, double size);
/* Both, of any visible key of a row. `row` is the oracle's finished result, with dot_sizes. */
bool sattn_row_may_overflow(const sattn_ref_row_args *args, const sattn_ref_row_result *row);

/* Fills bound[d_v] with the largest |o - oracle| for the row; +inf where the row's error cannot be
 * bounded. `row` is the oracle's finished result for `args`, with logits and dot_sizes; rows that
 * are NaN or see no key are not to be given. Returns the bound of the log-sum-exp. A row whose
 * scores may overflow is bounded as a mean of its values. */
double sattn_bound_row(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                       const sattn_bound_params *params, double *bound);

#endif
