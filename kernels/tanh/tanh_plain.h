/* SPDX-License-Identifier: MIT
 *
 * tanh_plain.h: tanh of an array in plain C, the honest baseline of every hand-written kernel: a
 * polynomial without branches (tanh_poly.h), so that a compiler can vectorise the loop. */
#ifndef SATTN_KERNELS_TANH_PLAIN_H
#define SATTN_KERNELS_TANH_PLAIN_H

#include "kernels/contract.h"
#include "kernels/vec/vec_plain.h"

SATTN_INLINE void tanh_plain(const sattn_array_args *args)
{
    const float *const x = args->x;
    float *const y = args->y;
    const int64_t n = args->n;
    PLAIN_SIMD()
    for (int64_t i = 0; i < n; ++i)
        y[i] = plain_tanh(x[i]);
}

#endif
