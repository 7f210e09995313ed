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
#include "kernels/vec/score_plain.h"
#include "kernels/vec/softcap_plain.h"
#include "kernels/vec/vec_plain.h"

/* Keys [first, first + n) for one row. */
SATTN_INLINE void plain_block(const sattn_qk_args *a, float *s, const float *q, int64_t first,
                              int n)
{
    plain_scores(s + first, q, a->k + first * a->k_stride, a->k_stride, n, a->d);
    if (a->softcap != 0.0f)
        plain_softcap(s + first, n, a->softcap);
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
