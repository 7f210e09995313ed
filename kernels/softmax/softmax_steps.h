/* SPDX-License-Identifier: MIT
 *
 * softmax_steps.h: the steps of a softmax that an ISA supplies. */
#ifndef SATTN_KERNELS_SOFTMAX_STEPS_H
#define SATTN_KERNELS_SOFTMAX_STEPS_H

#include "kernels/softmax/softmax_row.h"

/* Lines of P are fetched by so many bytes before they are stored to. Else stores wait in the store
 * buffer for lines of the second-level cache, and loads of S wait for those among them whose
 * addresses have the same 12 lowest bits. */
enum { SOFTMAX_AHEAD = 2048 };

/* One step each of up to three rows of n keys, all of them visible; a NULL: none. */
typedef struct softmax_turn {
    int64_t n;         /* at least the lanes of a vector */
    const float *next; /* max = the largest of these scores, as `maximum` */
    const float *s;    /* with p */
    float *p;          /* p = exp(s - base) and sum = sum p, as `weigh` */
    float *done;       /* done = factor * done, as `scale` */
    float base, factor;
    float max, sum;
} softmax_turn;

/* The same for up to three runs of flat_rows rows, back to back. */
typedef struct softmax_flat {
    int64_t n;         /* columns, at least the lanes of a vector */
    const float *next; /* its maxima are left in scratch, and in row_max */
    float *row_max;    /* NULL, or an entry per row */
    const float *s;    /* with p */
    float *p;          /* the weights, by the maxima that the call before left */
    float *row_sum;    /* as row_max, of p; the factors by which to divide are left in scratch */
    float *done;       /* divided, by the factors that the call before left */
    void *scratch;     /* as in sattn_softmax_args; the call without p and done prepares it */
} softmax_flat;

/* The steps of a row, or of one chunk of it: the keys of `cut`. */
typedef struct softmax_ops {
    int lanes; /* by which rows are cut */
    /* tile = raw + slope * distance, of a row that is_near; NULL: without ALiBi */
    void (*slope)(const softmax_row *row, const softmax_cut *cut);
    /* The largest of the visible scores, NaN passed over; -inf if there is none. */
    float (*maximum)(const softmax_row *row, const softmax_cut *cut);
    /* p = exp(s - base), +0 where hidden; returns their sum. Where vectors are stored whole, +0
     * also comes to stand beside the keys, within the row. */
    float (*weigh)(const softmax_row *row, const softmax_cut *cut, float base);
    /* p = factor * p, and +0 where p < least (least 0: nowhere) */
    void (*scale)(const softmax_row *row, const softmax_cut *cut, float factor, float least);
    void (*flat)(const softmax_flat *flat); /* NULL: no such form */
    int flat_rows;
    int64_t flat_columns;             /* at most */
    void (*turn)(softmax_turn *turn); /* NULL: no such form */
} softmax_ops;

/* What weights are taken relative to: the maximum, but (-inf) - (-inf) would be NaN. */
SATTN_INLINE float softmax_base(float max)
{
    return max == -INFINITY ? 0.0f : max;
}

#endif
