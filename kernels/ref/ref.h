/* SPDX-License-Identifier: MIT
 *
 * ref.h: the oracle, one query row of attention in double precision, whole and in its steps, and
 * the operations around it.
 *
 * It says what is right, so it is written to be read and shares nothing with the kernels: no tiles,
 * no online softmax, no vector code. It covers all of what the public call can ask of one row. */
#ifndef SATTN_KERNELS_REF_H
#define SATTN_KERNELS_REF_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "the oracle needs IEEE arithmetic: build it without -ffast-math or -Ofast"
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* One query row against the keys [key_begin, key_end); keys outside are never read. All strides are
 * in elements. A score or a logit, biased by ALiBi and then by the mask, that f32 has no number for
 * is infinite, as in a kernel. */
typedef struct sattn_ref_row_args {
    const float *q; /* [d]          */
    const float *k; /* [.., d],   row 0 is key 0 */
    const float *v; /* [.., d_v], row 0 is key 0 */
    int64_t k_stride, v_stride;
    int64_t d, d_v;
    int64_t key_begin, key_end; /* what length, causal limit and window leave; may be empty */
    double scale;
    double softcap;           /* 0 = off */
    double alibi_slope;       /* -alibi_slope * |position - j| is added; 0 = off */
    int64_t position;         /* of the query among the keys, i + causal_offset; any int64_t */
    const uint8_t *mask_bool; /* NULL, or the row's entry of key 0; nonzero = attend */
    const float *mask_add;    /* NULL, or the same, additive; -inf hides */
    int64_t mask_key_stride;  /* 1, or 0 = broadcast */
    bool has_sink;            /* one more logit, with a value row of zeros */
    double sink;
} sattn_ref_row_args;

/* Arrays are the caller's. `weights` is the working memory; the optional ones may be NULL. */
typedef struct sattn_ref_row_result {
    double *o;         /* [d_v] the output row */
    double *magnitude; /* [d_v] sum_k p_k |v_k|, the natural scale of an output's error */
    double *weights;   /* [key_end - key_begin] p_k, 0 for hidden keys */
    double *logits;    /* optional, as weights: scaled, softcapped, biased; -inf for hidden keys */
    double *dot_sizes; /* optional, as weights: sum_x |scale q_x k_x|; 0 for hidden keys */
    double lse;        /* of the visible logits and the sink; -inf if all are, or there is none */
    double max_logit;  /* over the visible keys and the sink; -inf if there is none */
    int64_t n_visible; /* keys; the sink does not count */
    bool is_nan;       /* the row's logits make every element NaN */
} sattn_ref_row_result;

/* No visible key: o is +0. A NaN or +inf logit, or none above -inf although keys are visible:
 * is_nan, and o is NaN. Else o_y = sum_k p_k v_ky over the visible keys, by IEEE rules where V is
 * not finite. */
void sattn_ref_row(const sattn_ref_row_args *args, sattn_ref_row_result *result);

/* The score of one key: scale q . k, softcapped where softcap is not 0. *size gets
 * sum_x |scale q_x k_x|. */
double sattn_ref_score(const float *q, const float *k, int64_t d, double scale, double softcap,
                       double *size);

/* One row of finished scores with what hides and biases them; fields as in sattn_ref_row_args. */
typedef struct sattn_ref_scores {
    const float *s; /* at key 0 */
    int64_t key_begin, key_end;
    double alibi_slope;
    int64_t position;
    const uint8_t *mask_bool;
    const float *mask_add;
    int64_t mask_key_stride;
    bool has_sink;
    double sink;
} sattn_ref_scores;

/* Whether the mask lets key j through, and its score plus bias; -inf where it is hidden. */
bool sattn_ref_scores_visible(const sattn_ref_scores *row, int64_t j);
double sattn_ref_logit(const sattn_ref_scores *row, int64_t j);

/* What turns a logit into a weight: p = exp(logit - max) / sum. */
typedef struct sattn_ref_softmax {
    double max; /* over the visible keys and the sink; -inf if there is none */
    double sum; /* of exp(logit - max), the sink's too; 0 where max is -inf or is_nan */
    int64_t n_visible;
    bool is_nan; /* a NaN or +inf logit, or none above -inf although keys are visible */
} sattn_ref_softmax;

sattn_ref_softmax sattn_ref_softmax_of(const sattn_ref_scores *row);

/* n columns, at most SATTN_REF_COLUMNS, of sum_j p_j v_j over the visible keys, and the same of
 * |p_j v_j|. The row's s are the weights p_j; v is at key 0. Without a visible key both are 0. */
enum { SATTN_REF_COLUMNS = 64 };
void sattn_ref_average(const sattn_ref_scores *row, const float *v, int64_t v_stride, int n,
                       double *o, double *magnitude);

/* One output of a linear map, x . w + *bias + *added_to; each of the last two may be NULL. *size
 * gets the sum of the sizes of all terms, sum_k |x_k w_k| + |*bias| + |*added_to|. */
double sattn_ref_linear(const float *x, const float *w, int64_t n_in, const float *bias,
                        const float *added_to, double *size);

/* The additive score of one query and one key: v . tanh(q + k). *size gets
 * sum_x |v_x tanh(q_x + k_x)|. */
double sattn_ref_additive(const float *q, const float *k, const float *v, int64_t d, double *size);

/* One element of a GRU step (contract.h, gru), and the numbers on its way. */
typedef struct sattn_ref_gru_element {
    double reset_sum, update_sum, candidate_sum; /* what sigmoid, sigmoid and tanh are taken of */
    double reset, update, candidate;             /* r, z, n */
    double y;
} sattn_ref_gru_element;

/* gates_x and gates_h are the element's own three numbers, in the order r, z, n. A gate too small
 * for f32 is 0, so that its product with an infinity is a NaN, as in a kernel. */
sattn_ref_gru_element sattn_ref_gru(const float gates_x[3], const float gates_h[3], float h);

/* Whether the row's mask lets key j, of [key_begin, key_end), through. */
static inline bool sattn_ref_is_visible(const sattn_ref_row_args *args, int64_t j)
{
    const int64_t at = j * args->mask_key_stride;
    if (args->mask_bool && args->mask_bool[at] == 0)
        return false;
    return !args->mask_add || args->mask_add[at] != -INFINITY;
}

#endif
