/* SPDX-License-Identifier: MIT
 *
 * score_group.h: a group of few rows against a block of keys, "lanes over features", the same for
 * all ISAs: scores of qk, and what `linear` needs, whose rows of X stand for queries and whose
 * outputs for keys.
 *
 * A score's bits must not depend on the rows and keys beside it. Hence every (row, key) pair has an
 * accumulator of its own that runs over the features in order, and every accumulator goes through
 * the same tree of additions, whatever the tile. */
#ifndef SATTN_KERNELS_SCORE_GROUP_H
#define SATTN_KERNELS_SCORE_GROUP_H

#include "kernels/vec/score_tile.h"

enum {
    SCORE_NEAR = 2 << 10, /* bytes to prefetch ahead where K may be in a cache ... */
    SCORE_FAR = 8 << 10,  /* ... and where it comes from memory */
};

/* A group of rows against a block of keys. */
typedef struct score_group {
    const float *q;        /* [vectors of a row][n_rows][lanes], scaled, zeros behind d */
    float *s[SCORE_GROUP]; /* where the score of the block's first key goes */
    const float *k;        /* row of the first key */
    int64_t k_stride;
    int64_t ahead; /* bytes from a row of K to the one worth prefetching with it */
    int64_t d;
    int64_t n_keys; /* at least 1 */
    int n_rows;
} score_group;

/* rows[0 .. n_keys) of K from `first` on, of which n_left >= 1 exist; behind the last, that again.
 */
SATTN_INLINE void score_group_keys(const float *rows[SCORE_KEYS], const float *first,
                                   int64_t stride, int64_t n_left, const int n_keys)
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

/* Packs scale * rows[..] for the groups, of at most `most` rows, of a strip: the one that starts
 * with row r at q + r * q_pitch. */
static inline void score_group_pack(float *q, int64_t q_pitch, const float *const *rows, int n_rows,
                                    int most, int lanes, int64_t d, float scale)
{
    for (int first = 0, n = 0; first < n_rows; first += n) {
        n = score_group_rows(n_rows, first, most);
        for (int r = 0; r < n; ++r) {
            const float *const from = rows[first + r];
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
static inline int64_t score_group_ahead(int64_t n_keys, int64_t d, int64_t k_stride)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t enough = 256 * SCORE_FAR / element; /* keys; more make no difference */
    n_keys = n_keys < enough ? n_keys : enough;
    int64_t bytes = n_keys * d * element / 256; /* far from 2 MB on */
    bytes = bytes < SCORE_NEAR ? SCORE_NEAR : bytes;
    bytes = bytes > SCORE_FAR ? SCORE_FAR : bytes;
    const int64_t rows = (bytes + d * element - 1) / (d * element);
    return rows * k_stride * element;
}

#endif
