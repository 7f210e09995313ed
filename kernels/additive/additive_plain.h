/* SPDX-License-Identifier: MIT
 *
 * additive_plain.h: additive alignment in plain C, the honest baseline of every hand-written
 * kernel.
 *
 * One body, compiled twice: with vectorization off it is the strict scalar kernel, with the flags
 * of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good plain program
 * (`autovec`). A block of keys stays in cache for all queries; a score is one reduction over the
 * features, with the tanh of tanh_poly.h in it. */
#ifndef SATTN_KERNELS_ADDITIVE_PLAIN_H
#define SATTN_KERNELS_ADDITIVE_PLAIN_H

#include "kernels/contract.h"
#include "kernels/vec/vec_plain.h"

/* v . tanh(q + k) */
SATTN_INLINE float plain_alignment(const float *q, const float *k, const float *v, int64_t d)
{
    float score = 0.0f;
    PLAIN_SIMD(reduction(+ : score))
    for (int64_t x = 0; x < d; ++x)
        score = plain_multiply_add(v[x], plain_tanh(q[x] + k[x]), score);
    return score;
}

SATTN_INLINE void additive_plain(const sattn_additive_args *a)
{
    for (int64_t first = a->j0; first < a->j1; first += SATTN_KEY_BLOCK) {
        const int64_t end = a->j1 - first < SATTN_KEY_BLOCK ? a->j1 : first + SATTN_KEY_BLOCK;
        for (int64_t i = a->i0; i < a->i1; ++i) {
            const float *const q = a->q + i * a->q_stride;
            float *const s = a->s + i * a->s_stride;
            for (int64_t j = first; j < end; ++j)
                s[j] = plain_alignment(q, a->k + j * a->k_stride, a->v, a->d);
        }
    }
}

#endif
