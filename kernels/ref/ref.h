/* SPDX-License-Identifier: MIT
 *
 * ref.h: the oracle, one query row of attention in double precision.
 *
 * It says what is right, so it is written to be read and shares nothing with the kernels: no tiles,
 * no online softmax, no vector code. It covers all of what the public call can ask of one row. */
#ifndef SATTN_KERNELS_REF_REF_H
#define SATTN_KERNELS_REF_REF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* One query row against the keys [key_begin, key_end); keys outside are never read. All strides are
 * in elements. */
typedef struct sattn_ref_row_args {
    const float *q; /* [d]          */
    const float *k; /* [.., d],   row 0 is key 0 */
    const float *v; /* [.., d_v], row 0 is key 0 */
    int64_t k_stride, v_stride;
    int64_t d, d_v;
    int64_t key_begin, key_end; /* what length, causal limit and window leave; may be empty */
    double scale;
    double softcap;           /* 0 = off */
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

/* Whether the row's mask lets key j, of [key_begin, key_end), through. */
static inline bool sattn_ref_is_visible(const sattn_ref_row_args *args, int64_t j)
{
    const int64_t at = j * args->mask_key_stride;
    if (args->mask_bool && args->mask_bool[at] == 0)
        return false;
    return !args->mask_add || args->mask_add[at] != -INFINITY;
}

#endif
