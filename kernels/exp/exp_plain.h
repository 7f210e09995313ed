/* SPDX-License-Identifier: MIT
 *
 * exp_plain.h: exp of an array in plain C, the honest baseline of every hand-written kernel: a
 * polynomial without branches (exp_full_poly.h), so that a compiler can vectorise the loop. */
#ifndef SATTN_KERNELS_EXP_PLAIN_H
#define SATTN_KERNELS_EXP_PLAIN_H

#include "kernels/contract.h"
#include "kernels/vec/vec_plain.h"

SATTN_INLINE void exp_plain(const sattn_array_args *args)
{
    const float *const x = args->x;
    float *const y = args->y;
    const int64_t n = args->n;
    PLAIN_SIMD()
    for (int64_t i = 0; i < n; ++i)
        y[i] = plain_exp_full(x[i]);
}

#endif
