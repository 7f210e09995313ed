/* SPDX-License-Identifier: MIT
 *
 * linear_plain.h: a linear map in plain C, the honest baseline of every hand-written kernel.
 *
 * One body, compiled twice, as qk_plain.h is: with vectorization off it is the strict scalar
 * kernel, with the flags of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good
 * plain program (`autovec`).
 *
 *   for each block of up to LINEAR_BLOCK outputs, for each row
 *       sums = x . w, four outputs at a time
 *       y = sums + b, or y += sums + b
 *
 * So a block of W is read once for all rows. Its packed form, one output after the other and one
 * feature after the other, is W with dense rows. */
#ifndef SATTN_KERNELS_LINEAR_PLAIN_H
#define SATTN_KERNELS_LINEAR_PLAIN_H

#include "kernels/contract.h"
#include "kernels/linear/linear_finish.h"
#include "kernels/vec/score_plain.h"

enum { LINEAR_BLOCK = 128 };

SATTN_INLINE void linear_plain(const sattn_linear_args *a)
{
    const float *const w = a->packed ? a->packed : a->w;
    const int64_t w_stride = a->packed ? a->n_in : a->w_stride;
    linear_sums done = {.sums = a->scratch, .n_rows = 1};
    for (done.o = a->o0; done.o < a->o1; done.o += LINEAR_BLOCK) {
        const int64_t left = a->o1 - done.o;
        done.n = left < LINEAR_BLOCK ? left : LINEAR_BLOCK;
        for (done.i = a->i0; done.i < a->i1; ++done.i) {
            plain_scores(a->scratch, a->x + done.i * a->x_stride, w + done.o * w_stride, w_stride,
                         (int)done.n, a->n_in);
            linear_finish(a, &done);
        }
    }
}

#endif
