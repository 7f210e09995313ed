/* SPDX-License-Identifier: MIT
 *
 * additive_tiles.h: the loops of additive alignment, "lanes over features", the same for all ISAs.
 *
 *   for each group of ADDITIVE_KEYS keys
 *       for each query
 *           S = v . tanh(q + K)   one accumulator per key, then a transposing reduction
 *
 * tanh is nearly all of the work, so what a tile has to do is to keep it fed: the keys of a group
 * share each load of q and v, and their chains overlap. The rows of K come from memory once, and
 * are in the first cache for every query but the first; what is read again is Q.
 *
 * A score's bits must not depend on the queries and keys beside it. Hence every accumulator takes
 * the features in order and goes through the same tree of additions, and a group that is not full
 * runs through the same steps. */
#ifndef SATTN_KERNELS_ADDITIVE_TILES_H
#define SATTN_KERNELS_ADDITIVE_TILES_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

enum { ADDITIVE_KEYS = 4 }; /* of a tile */

/* One query against the keys of a group. */
typedef struct additive_tile {
    const float *q;
    const float *k[ADDITIVE_KEYS]; /* behind the last key, that again */
    const float *v;
    int64_t d;
    float *s;   /* where the score of the first key goes */
    int n_keys; /* 1 .. ADDITIVE_KEYS */
} additive_tile;

typedef void additive_score_fn(const additive_tile *tile);

SATTN_INLINE void additive_tiles(const sattn_additive_args *a, additive_score_fn *score)
{
    additive_tile tile = {.v = a->v, .d = a->d};
    for (int64_t j = a->j0; j < a->j1; j += ADDITIVE_KEYS) {
        tile.n_keys = a->j1 - j < ADDITIVE_KEYS ? (int)(a->j1 - j) : ADDITIVE_KEYS;
        tile.k[0] = a->k + j * a->k_stride;
        SATTN_UNROLL(4)
        for (int r = 1; r < ADDITIVE_KEYS; ++r)
            tile.k[r] = tile.k[r - 1] + (r < tile.n_keys ? a->k_stride : 0);
        for (int64_t i = a->i0; i < a->i1; ++i) {
            tile.q = a->q + i * a->q_stride;
            tile.s = a->s + i * a->s_stride + j;
            score(&tile);
        }
    }
}

#endif
