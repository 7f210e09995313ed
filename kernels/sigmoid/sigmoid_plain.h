/* SPDX-License-Identifier: MIT
 *
 * sigmoid_plain.h: sigmoid of an array in plain C, the honest baseline of every hand-written
 * kernel: a polynomial and a division without branches (kernels/vec/sigmoid.h), so that a compiler
 * can vectorise the loop. */
#ifndef SATTN_KERNELS_SIGMOID_PLAIN_H
#define SATTN_KERNELS_SIGMOID_PLAIN_H

#include "kernels/contract.h"
#include "kernels/vec/sigmoid_plain.h"

SATTN_INLINE void sigmoid_plain(const sattn_array_args *args)
{
    const float *const x = args->x;
    float *const y = args->y;
    const int64_t n = args->n;
    PLAIN_SIMD()
    for (int64_t i = 0; i < n; ++i)
        y[i] = plain_sigmoid(x[i]);
}

#endif
