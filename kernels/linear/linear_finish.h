/* SPDX-License-Identifier: MIT
 *
 * linear_finish.h: what becomes of finished sums over the features, the same for all ISAs. */
#ifndef SATTN_KERNELS_LINEAR_FINISH_H
#define SATTN_KERNELS_LINEAR_FINISH_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

/* Sums of rows [i, i + n_rows) and outputs [o, o + n) of a call. */
typedef struct linear_sums {
    const float *sums; /* [n_rows][pitch] */
    int64_t pitch;     /* floats */
    int64_t i, o, n;
    int n_rows;
} linear_sums;

/* Outputs of one row: sums, plus the bias, and then plus what y holds, where these are asked for.
 */
SATTN_INLINE void linear_finish_row(float *restrict y, const float *restrict sums,
                                    const float *restrict bias, bool adds, int64_t n)
{
    if (bias && adds)
        for (int64_t o = 0; o < n; ++o) {
            const float sum = sums[o] + bias[o]; /* rounded, where FLT_EVAL_METHOD is not 0 too */
            y[o] += sum;
        }
    else if (bias)
        for (int64_t o = 0; o < n; ++o)
            y[o] = sums[o] + bias[o];
    else if (adds)
        for (int64_t o = 0; o < n; ++o)
            y[o] += sums[o];
    else
        for (int64_t o = 0; o < n; ++o)
            y[o] = sums[o];
}

SATTN_INLINE void linear_finish(const sattn_linear_args *a, const linear_sums *done)
{
    const float *const bias = a->bias ? a->bias + done->o : NULL;
    float *const y = a->y + done->i * a->y_stride + done->o;
    for (int r = 0; r < done->n_rows; ++r)
        linear_finish_row(y + r * a->y_stride, done->sums + r * done->pitch, bias, a->adds,
                          done->n);
}

#endif
