/* SPDX-License-Identifier: MIT
 *
 * qk_decode.h: scores of few query rows, "lanes over features", the same for all ISAs.
 *
 * With few rows, transposing K would not pay. Here the lanes of a vector hold neighbouring features
 * of one row of K, which is how they lie in memory; nothing but Q is rearranged. K comes from
 * memory once, and each vector of it serves a group of up to four rows while it is in a register,
 * and all groups of a strip while its block of keys is in the first cache.
 *
 *   for each strip of rows
 *       Q = scale * Q, the vectors of a group of rows side by side
 *       for each block of keys, for each group
 *           S = Q K^T             one accumulator per (row, key), then a transposing reduction
 *           S = softcap * tanh(S / softcap)
 */
#ifndef SATTN_KERNELS_QK_DECODE_H
#define SATTN_KERNELS_QK_DECODE_H

#include "kernels/qk/qk_strip.h"
#include "kernels/vec/score_group.h"

typedef struct qk_decode_ops {
    int lanes;
    /* s[r][j] = q[r] . k[j] */
    void (*score)(const score_group *group);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
} qk_decode_ops;

static inline void qk_decode_strip(const sattn_qk_args *a, const qk_decode_ops *ops, const float *q,
                                   int64_t q_pitch, const qk_strip *strip)
{
    /* One group of rows reads all keys, once. */
    const int64_t block =
        strip->n_rows <= SCORE_GROUP ? a->j1 - a->j0 : score_group_block(SCORE_TILE, a->d);
    score_group group = {.k_stride = a->k_stride,
                         .ahead = score_group_ahead(a->j1 - a->j0, a->d, a->k_stride),
                         .d = a->d};
    for (int64_t j = a->j0; j < a->j1; j += block) {
        group.k = a->k + j * a->k_stride;
        group.n_keys = a->j1 - j < block ? a->j1 - j : block;
        for (int r = 0; r < strip->n_rows; r += group.n_rows) {
            group.n_rows = score_group_rows(strip->n_rows, r, SCORE_GROUP);
            group.q = q + r * q_pitch;
            for (int i = 0; i < group.n_rows; ++i)
                group.s[i] = strip->s[r + i] + j;
            ops->score(&group);
            for (int i = 0; a->softcap != 0.0f && i < group.n_rows; ++i)
                ops->cap(group.s[i], group.n_keys, a->softcap);
        }
    }
}

static inline void qk_decode(const sattn_qk_args *a, const qk_decode_ops *ops)
{
    const int64_t n_rows = qk_row_count(a);
    const int64_t q_pitch = (a->d + ops->lanes - 1) / ops->lanes * ops->lanes;
    float *const q = a->scratch;
    qk_strip strip;
    for (int64_t row = 0; row < n_rows; row += QK_STRIP_ROWS) {
        qk_strip_fill(&strip, a, row, QK_STRIP_ROWS);
        score_group_pack(q, q_pitch, strip.q, strip.n_rows, SCORE_GROUP, ops->lanes, a->d,
                         a->scale);
        qk_decode_strip(a, ops, q, q_pitch, &strip);
    }
}

#endif
