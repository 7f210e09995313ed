/* SPDX-License-Identifier: MIT
 *
 * score_group.h: a group of few rows against a block of keys, "lanes over features", the same for
 * all ISAs: scores of qk, and what `linear` needs, whose rows of X stand for queries and whose
 * outputs for keys.
 *
 * A score's bits must not depend on the rows and keys beside it. Hence every (row, key) pair has an
 * accumulator of its own that runs over the features in order, and every accumulator goes through
 * the same tree of additions, whatever the tile. */
#ifndef SATTN_KERNELS_VEC_SCORE_GROUP_H
#define SATTN_KERNELS_VEC_SCORE_GROUP_H

#include "kernels/vec/score_tile.h"

enum {
    SCORE_NEAR = 2 << 10, /* bytes to prefetch ahead where K may be in a cache ... */
    SCORE_FAR = 8 << 10,  /* ... and where it comes from memory */
    SCORE_BLOCK = 4096,   /* floats of K that stay in the first cache for all groups */
    SCORE_TILE = 16,      /* a multiple of every tile's keys */
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

/* Keys of a block that all groups of several meet while it is in the first cache, in tiles of so
 * many keys. */
static inline int64_t score_group_block(int64_t tile, int64_t d)
{
    const int64_t n_tiles = SCORE_BLOCK / (tile * d);
    return (n_tiles > 1 ? n_tiles : 1) * tile;
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
