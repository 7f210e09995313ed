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
 *
 * A score's bits must not depend on the rows and keys beside it. Hence every (row, key) pair has an
 * accumulator of its own that runs over the features in order, and every accumulator goes through
 * the same tree of additions, whatever the tile. */
#ifndef SATTN_KERNELS_QK_DECODE_H
#define SATTN_KERNELS_QK_DECODE_H

#include "kernels/qk/qk_strip.h"
#include "kernels/vec/score_tile.h"

enum {
    QK_DECODE_TILE = 16,      /* a multiple of every tile's keys */
    QK_DECODE_BLOCK = 4096,   /* floats of K that stay in the first cache for all groups */
    QK_DECODE_NEAR = 2 << 10, /* bytes to prefetch ahead where K may be in a cache ... */
    QK_DECODE_FAR = 8 << 10,  /* ... and where it comes from memory */
};

/* A group of rows against a block of keys. */
typedef struct qk_decode_group {
    const float *q;        /* [vectors of a row][n_rows][lanes], scaled, zeros behind d */
    float *s[SCORE_GROUP]; /* where the score of the block's first key goes */
    const float *k;        /* row of the first key */
    int64_t k_stride;
    int64_t ahead; /* bytes from a row of K to the one worth prefetching with it */
    int64_t d;
    int64_t n_keys; /* at least 1 */
    int n_rows;
} qk_decode_group;

typedef struct qk_decode_ops {
    int lanes;
    /* s[r][j] = q[r] . k[j] */
    void (*score)(const qk_decode_group *group);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
} qk_decode_ops;

/* rows[0 .. n_keys) of K from `first` on, of which n_left >= 1 exist; behind the last, that again.
 */
SATTN_INLINE void qk_decode_keys(const float *rows[SCORE_KEYS], const float *first, int64_t stride,
                                 int64_t n_left, const int n_keys)
{
    rows[0] = first;
    if (n_left >= n_keys) {
        SATTN_UNROLL(8)
        for (int i = 1; i < n_keys; ++i)
            rows[i] = rows[i - 1] + stride;
    } else {
        SATTN_UNROLL(8)
        for (int i = 1; i < n_keys; ++i)
            rows[i] = rows[i - 1] + (i < n_left ? stride : 0);
    }
}

static inline void qk_decode_pack(float *q, int64_t q_pitch, const qk_strip *strip, int lanes,
                                  int64_t d, float scale)
{
    for (int first = 0, n = 0; first < strip->n_rows; first += n) {
        n = score_group_rows(strip->n_rows, first);
        for (int r = 0; r < n; ++r) {
            const float *const from = strip->q[first + r];
            float *to = q + first * q_pitch + (int64_t)r * lanes;
            int64_t x = 0;
            for (; x + lanes <= d; x += lanes, to += n * lanes)
                for (int lane = 0; lane < lanes; ++lane)
                    to[lane] = scale * from[x + lane];
            for (int lane = 0; x < d && lane < lanes; ++lane)
                to[lane] = x + lane < d ? scale * from[x + lane] : 0.0f;
        }
    }
}

/* Tiles of several rows read K more slowly than memory brings it, and in an order that hardware
 * prefetchers do not all follow. So each line that is read prefetches the one that lies a number of
 * rows ahead; how far, in bytes. */
static inline int64_t qk_decode_ahead(const sattn_qk_args *a)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t enough = 256 * QK_DECODE_FAR / element; /* keys; more make no difference */
    const int64_t n_keys = a->j1 - a->j0 < enough ? a->j1 - a->j0 : enough;
    int64_t bytes = n_keys * a->d * element / 256; /* far from 2 MB on */
    bytes = bytes < QK_DECODE_NEAR ? QK_DECODE_NEAR : bytes;
    bytes = bytes > QK_DECODE_FAR ? QK_DECODE_FAR : bytes;
    const int64_t rows = (bytes + a->d * element - 1) / (a->d * element);
    return rows * a->k_stride * element;
}

/* Keys of a block: all, where one group of rows reads them once. */
static inline int64_t qk_decode_block(const sattn_qk_args *a, int64_t n_rows)
{
    if (n_rows <= SCORE_GROUP)
        return a->j1 - a->j0;
    const int64_t n_tiles = QK_DECODE_BLOCK / (QK_DECODE_TILE * a->d);
    return (n_tiles > 1 ? n_tiles : 1) * QK_DECODE_TILE;
}

static inline void qk_decode_strip(const sattn_qk_args *a, const qk_decode_ops *ops, const float *q,
                                   int64_t q_pitch, const qk_strip *strip)
{
    const int64_t block = qk_decode_block(a, strip->n_rows);
    qk_decode_group group = {.k_stride = a->k_stride, .ahead = qk_decode_ahead(a), .d = a->d};
    for (int64_t j = a->j0; j < a->j1; j += block) {
        group.k = a->k + j * a->k_stride;
        group.n_keys = a->j1 - j < block ? a->j1 - j : block;
        for (int r = 0; r < strip->n_rows; r += group.n_rows) {
            group.n_rows = score_group_rows(strip->n_rows, r);
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
        qk_decode_pack(q, q_pitch, &strip, ops->lanes, a->d, a->scale);
        qk_decode_strip(a, ops, q, q_pitch, &strip);
    }
}

#endif
