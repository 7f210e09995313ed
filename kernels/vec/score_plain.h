/* SPDX-License-Identifier: MIT
 *
 * score_plain.h: scores of one query row in plain C. A score's bits do not depend on its place. */
#ifndef SATTN_KERNELS_VEC_SCORE_PLAIN_H
#define SATTN_KERNELS_VEC_SCORE_PLAIN_H

#include "kernels/vec/vec_plain.h"

enum { PLAIN_KEYS = 4 }; /* that share a read of q */

/* s[j] = q . k_j for n = 1 .. 4 keys. Behind the last, that again: one loop for every rest gives
 * every score the same chain of additions. */
SATTN_INLINE void plain_score(float *s, const float *q, const float *k, int64_t k_stride, int n,
                              int64_t d)
{
    const float *const k1 = k + (n > 1 ? k_stride : 0);
    const float *const k2 = k1 + (n > 2 ? k_stride : 0);
    const float *const k3 = k2 + (n > 3 ? k_stride : 0);
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    PLAIN_SIMD(reduction(+ : s0, s1, s2, s3))
    for (int64_t x = 0; x < d; ++x) {
        s0 = plain_multiply_add(q[x], k[x], s0);
        s1 = plain_multiply_add(q[x], k1[x], s1);
        s2 = plain_multiply_add(q[x], k2[x], s2);
        s3 = plain_multiply_add(q[x], k3[x], s3);
    }
    s[0] = s0;
    if (n > 3) {
        s[1] = s1;
        s[2] = s2;
        s[3] = s3;
        return;
    }
    if (n > 1)
        s[1] = s1;
    if (n > 2)
        s[2] = s2;
}

/* s[j] = q . k_j for n keys */
SATTN_INLINE void plain_scores(float *s, const float *q, const float *k, int64_t k_stride, int n,
                               int64_t d)
{
    for (int j = 0; j < n; j += PLAIN_KEYS)
        plain_score(s + j, q, k + j * k_stride, k_stride, n - j < PLAIN_KEYS ? n - j : PLAIN_KEYS,
                    d);
}

#endif
