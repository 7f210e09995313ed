/* SPDX-License-Identifier: MIT
 *
 * linear_finish.h: what is done with finished sums over the features, the same for all ISAs. */
#ifndef SATTN_KERNELS_LINEAR_FINISH_H
#define SATTN_KERNELS_LINEAR_FINISH_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

/* Outputs [first, first + n) of row i from their sums: plus the bias, and then plus what y holds,
 * where these are asked for. */
SATTN_INLINE void linear_finish(const sattn_linear_args *a, const float *restrict sums, int64_t i,
                                int64_t first, int64_t n)
{
    float *restrict const y = a->y + i * a->y_stride + first;
    const float *const bias = a->bias ? a->bias + first : NULL;
    if (bias && a->adds)
        for (int64_t o = 0; o < n; ++o)
            y[o] += sums[o] + bias[o];
    else if (bias)
        for (int64_t o = 0; o < n; ++o)
            y[o] = sums[o] + bias[o];
    else if (a->adds)
        for (int64_t o = 0; o < n; ++o)
            y[o] += sums[o];
    else
        for (int64_t o = 0; o < n; ++o)
            y[o] = sums[o];
}

#endif
