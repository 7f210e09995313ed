/* SPDX-License-Identifier: MIT
 *
 * bounded.h: the lecture's equations in double precision, each number with how far a result of f32
 * may be from it.
 *
 * A layer is a chain of stages. Each stage here takes numbers that are already off by some amount,
 * says what that makes of its own results (its condition, from the data), and adds what the
 * arithmetic of kernels/contract.h may round; docs/numerics.md ("Layers") derives it. So a bound
 * of a whole layer follows by evaluation. It shares nothing with a kernel. */
#ifndef SATTN_TESTS_SUPPORT_BOUNDED_H
#define SATTN_TESTS_SUPPORT_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>

#define BOUNDED_U 0x1p-24 /* unit roundoff of f32 */

/* What n roundings in a row add up to, relatively. */
static inline double bounded_gamma(double n)
{
    return n * BOUNDED_U / (1 - n * BOUNDED_U);
}

/* [rows, columns], dense. */
typedef struct bounded {
    int64_t rows, columns;
    double *value, *error;
} bounded;

/* Weights as they lie, [n_out, n_in]. */
typedef struct bounded_map {
    const float *w, *bias; /* bias: [n_out] or NULL */
    int64_t n_in, n_out, stride;
} bounded_map;

/* What is made by these functions lives until it is freed with all that came after a mark. */
bounded bounded_new(int64_t rows, int64_t columns);
const void *bounded_mark(void);
void bounded_free_to(const void *mark);

/* Given numbers, off by nothing. */
bounded bounded_given(const float *x, int64_t rows, int64_t columns);
/* Rows [begin, begin + rows), or columns; the same memory or a copy. */
bounded bounded_rows(const bounded *x, int64_t begin, int64_t rows);
bounded bounded_columns(const bounded *x, int64_t begin, int64_t columns);
/* x's columns, then y's. */
bounded bounded_joined(const bounded *x, const bounded *y);

bounded bounded_linear(const bounded *x, const bounded_map *map);
/* x W for a W [n_in of x, columns] as it lies. */
bounded bounded_product(const bounded *x, const float *w, int64_t columns);
bounded bounded_sum(const bounded *x, const bounded *y);
bounded bounded_tanh(const bounded *x);
bounded bounded_mean_of_rows(const bounded *x);

/* Scores [q.rows, k.rows]: scale q . k, and v . tanh(q + k). */
bounded bounded_dots(const bounded *q, const bounded *k, double scale);
bounded bounded_alignments(const bounded *q, const bounded *k, const float *v);

/* Weights and outputs of a softmax attention over these scores, by `fused` or by a chain. */
typedef struct bounded_attention {
    bounded weights, outputs;
} bounded_attention;
bounded_attention bounded_attend(const bounded *scores, const bounded *values, bool causal);

/* A GRU's next state, of its gates' two maps. */
bounded bounded_gru(const bounded *gates_x, const bounded *gates_h, const bounded *h);

/* Compares rows of floats. Each must be within its bound; *worst, if larger, gets the largest share
 * of a bound that was used. Returns the index of the first that is beyond, or -1. */
int64_t bounded_compare(const bounded *want, const float *got, double *worst);

#endif
