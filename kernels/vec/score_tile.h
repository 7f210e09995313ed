/* SPDX-License-Identifier: MIT
 *
 * score_tile.h: what the score tiles of few query rows, "lanes over features", share on all ISAs.
 *
 * A tile is a group of rows of Q against a few keys. Q is packed, the vectors of the rows of a
 * group side by side: [vectors of a row][rows][lanes], zeros behind d. K is read where it lies.
 * Every (row, key) pair has an accumulator of its own, which takes the features in order. */
#ifndef SATTN_KERNELS_VEC_SCORE_TILE_H
#define SATTN_KERNELS_VEC_SCORE_TILE_H

#include "kernels/vec/fetch.h"
#include "kernels/vec/vec_base.h"

#include <stdint.h>

enum {
    SCORE_GROUP = 4, /* most rows that share a register tile */
    SCORE_KEYS = 8,  /* most keys of a tile */
};

/* How a tile prefetches the rows of K that come after its own. */
typedef enum score_fetch {
    SCORE_FETCH_NONE,
    SCORE_FETCH_BY_KEY,    /* from where each key is read */
    SCORE_FETCH_BY_OFFSET, /* from the start of each key, by one offset held in a register */
    SCORE_FETCH_STREAM,    /* line by line in the order in which they lie, whatever is read */
} score_fetch;

/* Rows of the group that starts at row r of n_rows: `most`, and the rest at the end, but a single
 * row is not left over where two groups can share the rows more evenly. */
static inline int score_group_rows(int n_rows, int r, int most)
{
    const int left = n_rows - r;
    if (left == most + 1)
        return most - 1;
    return left < most ? left : most;
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

/* Bytes from the place that score_fetch_line starts from to what it fetches at feature x. Compilers
 * that see through an offset would hold an address of its own for each key. */
SATTN_INLINE int64_t score_fetch_distance(int64_t x, int64_t ahead, const score_fetch fetch)
{
    if (fetch != SCORE_FETCH_BY_OFFSET)
        return ahead;
    int64_t offset = x * (int64_t)sizeof(float) + ahead;
    __asm__("" : "+r"(offset));
    return offset;
}

SATTN_INLINE void score_fetch_line(const float *key, int64_t x, int64_t distance,
                                   const score_fetch fetch)
{
    if (fetch == SCORE_FETCH_BY_KEY)
        vec_fetch(key + x, distance);
    if (fetch == SCORE_FETCH_BY_OFFSET)
        vec_fetch(key, distance);
}

#endif
