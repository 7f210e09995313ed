/* SPDX-License-Identifier: MIT
 *
 * qk_plain.h: scores in plain C, the honest baseline of every hand-written kernel.
 *
 * One body, compiled twice: with vectorization off it is the strict scalar kernel, with the flags
 * of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good plain program
 * (`autovec`). So it does what such a program would: a strip of query rows, scaled once, shares
 * each block of K while it is in cache, and four keys share each read of q.
 *
 *   for each strip of up to QK_STRIP_ROWS rows
 *       q = scale * q
 *       for each block of up to SATTN_KEY_BLOCK keys, for each row
 *           s = q . k
 *           s = softcap * tanh(s / softcap)
 *
 * The keys of a rest run through the same chains as the others, so a score does not depend on its
 * place. */
#ifndef SATTN_KERNELS_QK_PLAIN_H
#define SATTN_KERNELS_QK_PLAIN_H

#include "kernels/qk/qk_strip.h"
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
    if (n > 1)
        s[1] = s1;
    if (n > 2)
        s[2] = s2;
    if (n > 3)
        s[3] = s3;
}

/* A capped score, or the score itself where the quotient is small. Chosen by bits: a compiler that
 * honours traps moves arithmetic that only one choice needs into a branch, and then does not
 * vectorise. */
SATTN_INLINE float plain_capped(float score, float softcap)
{
    const float share = score / softcap;
    const float capped = softcap * plain_tanh(share);
    const uint32_t is_small = fabsf(share) < QK_CAP_SMALL ? UINT32_MAX : 0;
    uint32_t bits, score_bits;
    memcpy(&bits, &capped, sizeof bits);
    memcpy(&score_bits, &score, sizeof score_bits);
    bits = (score_bits & is_small) | (bits & ~is_small);
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

SATTN_INLINE void plain_cap(float *s, int n, float softcap)
{
    PLAIN_SIMD()
    for (int j = 0; j < n; ++j)
        s[j] = plain_capped(s[j], softcap);
}

/* Keys [first, first + n) for one row. */
SATTN_INLINE void plain_block(const sattn_qk_args *a, float *s, const float *q, int64_t first,
                              int n)
{
    const float *const k = a->k + first * a->k_stride;
    for (int j = 0; j < n; j += PLAIN_KEYS)
        plain_score(s + first + j, q, k + j * a->k_stride, a->k_stride,
                    n - j < PLAIN_KEYS ? n - j : PLAIN_KEYS, a->d);
    if (a->softcap != 0.0f)
        plain_cap(s + first, n, a->softcap);
}

SATTN_INLINE void qk_plain(const sattn_qk_args *a)
{
    float *const q = a->scratch;
    const int64_t n_rows = qk_row_count(a);
    qk_strip strip;
    for (int64_t row = 0; row < n_rows; row += QK_STRIP_ROWS) {
        qk_strip_fill(&strip, a, row, QK_STRIP_ROWS);
        for (int r = 0; r < strip.n_rows; ++r) {
            PLAIN_SIMD()
            for (int64_t x = 0; x < a->d; ++x)
                q[r * a->d + x] = a->scale * strip.q[r][x];
        }
        for (int64_t first = a->j0; first < a->j1; first += SATTN_KEY_BLOCK) {
            const int64_t left = a->j1 - first;
            const int n = left < SATTN_KEY_BLOCK ? (int)left : SATTN_KEY_BLOCK;
            for (int r = 0; r < strip.n_rows; ++r)
                plain_block(a, strip.s[r], q + r * a->d, first, n);
        }
    }
}

#endif
