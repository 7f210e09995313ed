/* SPDX-License-Identifier: MIT
 *
 * fused_decode_fetch.h: how fused_decode.h prefetches K and V.
 *
 * One row reads K and V from front to back, which hardware follows; what it gains by a hint is
 * little, and most where memory is far. Tiles of several rows read a few rows of K side by side and
 * V by parts of a row, an order that hardware loses. From a cache each line that is read prefetches
 * the one a little ahead of it. From memory a kernel with registers enough reads K and V from front
 * to back after all (`streams`), and goes on fetching in that way. One without fetches in an order
 * of its own: while K is scored, lines of K and V of the next keys in turn, and the same while V is
 * added up. So memory sees two streams, each from front to back, that hardly ever pause.
 *
 * Where K and V come from is guessed: a call that is repeated finds in a cache what one can hold of
 * it. So the bytes of the whole call decide, against a constant, since kernels know no cache. */
#ifndef SATTN_KERNELS_FUSED_DECODE_FETCH_H
#define SATTN_KERNELS_FUSED_DECODE_FETCH_H

#include "kernels/fused/fused_decode_state.h"

enum {
    FUSED_FETCH_HELD = 12 << 20, /* most bytes of a call's K and V that may all lie in a cache */
    FUSED_FETCH_NEAR = 2 << 10,  /* bytes ahead there, for one or two rows; twice that for more */
    FUSED_FETCH_FAR = 8 << 10,   /* and from memory */
    FUSED_FETCH_WIDE = 12 << 10, /* the same for groups of more than SCORE_GROUP rows */
};

typedef struct fused_decode_fetch {
    fused_fetch kind;
    bool is_far;              /* K and V are taken to come from memory */
    int64_t k_ahead, v_ahead; /* bytes from a row to the one prefetched with it */
    int64_t keys;             /* FUSED_FETCH_NEXT: from a block's first key to where it begins */
} fused_decode_fetch;

/* Whole rows that hold at least that many bytes. */
static inline int64_t fused_fetch_distance(int64_t bytes, int64_t width)
{
    const int64_t row = width * (int64_t)sizeof(float);
    return (bytes + row - 1) / row;
}

static inline fused_decode_fetch fused_decode_fetch_of(const sattn_fused_args *a,
                                                       const fused_decode_ops *ops,
                                                       const fused_strip *strip, int64_t block_keys)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t n_keys = strip->key_end_max - strip->key_begin_min;
    const int64_t own_bytes = n_keys * (a->d + a->d_v) * element;
    const bool wide = strip->n_rows > SCORE_GROUP && ops->group > SCORE_GROUP;
    const int64_t held = wide ? FUSED_FETCH_HELD / 3 : FUSED_FETCH_HELD;
    const bool far = (a->kv_bytes > 0 ? a->kv_bytes : own_bytes) > held;
    const bool several = strip->n_rows > 2;
    const int64_t near_bytes = several ? 2 * FUSED_FETCH_NEAR : FUSED_FETCH_NEAR;
    const int64_t far_bytes = wide ? FUSED_FETCH_WIDE : FUSED_FETCH_FAR;
    const int64_t bytes = far ? far_bytes : near_bytes;
    return (fused_decode_fetch){
        .kind = far && several ? FUSED_FETCH_NEXT : FUSED_FETCH_OWN,
        .is_far = far,
        .k_ahead = fused_fetch_distance(bytes, a->d) * a->k_stride * element,
        .v_ahead = fused_fetch_distance(bytes, a->d_v) * a->v_stride * element,
        .keys = block_keys / 2,
    };
}

/* The group of rows from `row` on, the `index`-th of its strip. The first group fetches for all;
 * with FUSED_FETCH_NEXT the first two, if both have the tiles for it, so that fetching never
 * pauses. */
static inline fused_decode_part fused_decode_part_of(const fused_decode_state *st,
                                                     const fused_decode_block *block, int row,
                                                     int index)
{
    const bool next = block->fetch == FUSED_FETCH_NEXT;
    const int shares = next && st->n_rows > 2 * SCORE_GROUP - 2 ? 2 : 1;
    fused_decode_part part = {.row = row,
                              .n_rows = fused_decode_group_rows(st, row),
                              .end = block->n_keys,
                              .fetch = FUSED_FETCH_OWN, /* of what is there already */
                              .share = index,
                              .shares = shares};
    if (index < shares) {
        part.fetch = block->fetch;
        part.is_far = block->is_far;
        part.k_ahead = block->k_ahead;
        part.v_ahead = block->v_ahead;
    }
    return part;
}

/* Where the score tiles of a part of one unit fetch K and V: half as many rows of each as the unit
 * has keys, by shares. */
typedef struct fused_fetch_rows {
    const float *k, *v;
    int64_t k_stride, v_stride;
    int left;
} fused_fetch_rows;

static inline fused_fetch_rows fused_fetch_rows_of(const fused_decode_block *block,
                                                   const fused_decode_part *part)
{
    const int n_rows = FUSED_DECODE_UNIT / 2 / part->shares;
    const int first = part->begin / 2 + part->share * n_rows;
    return (fused_fetch_rows){.k = block->k_next + first * block->k_stride,
                              .v = block->v_next + first * block->v_stride,
                              .k_stride = block->k_stride,
                              .v_stride = block->v_stride,
                              .left = n_rows};
}

/* Puts the rows that a tile of n_keys keys fetches behind these, as SCORE_FETCH_NEXT has it. A tile
 * with nothing to fetch asks for what is there. */
SATTN_INLINE void fused_fetch_next(fused_fetch_rows *next, const float **rows, const int n_keys)
{
    SATTN_UNROLL(2)
    for (int i = 0; i < n_keys; i += 2) {
        rows[n_keys + i] = next->left > 0 ? next->k : rows[i];
        rows[n_keys + i + 1] = next->left > 0 ? next->v : rows[i];
        next->k += next->k_stride;
        next->v += next->v_stride;
        --next->left;
    }
}

/* What an AV tile prefetches. */
typedef struct fused_fetch_lines {
    int64_t ahead;        /* FUSED_FETCH_OWN: bytes from a row of V to the one fetched with it */
    const float *k, *v;   /* FUSED_FETCH_NEXT: where K and V are fetched from in turn */
    int64_t width, done;  /* floats of a row, and of those the ones fetched; then come */
    int64_t k_gap, v_gap; /* floats up to the next row */
    int left;             /* rows; then only what is there */
} fused_fetch_lines;

/* While K was scored came what lies at k_next, half a block ahead; with V comes the half behind it.
 */
static inline fused_fetch_lines fused_fetch_lines_of(const fused_decode_state *st,
                                                     const fused_decode_block *block,
                                                     const fused_decode_part *part)
{
    const int half = block->n_keys / 2;
    const int n_rows = half / part->shares;
    const int first = half + part->share * n_rows;
    return (fused_fetch_lines){.k = block->k_next + first * block->k_stride,
                               .v = block->v_next + first * block->v_stride,
                               .width = st->d,
                               .k_gap = block->k_stride - st->d,
                               .v_gap = block->v_stride - st->d,
                               .left = n_rows};
}

SATTN_INLINE void fused_fetch_advance(fused_fetch_lines *lines, int64_t n)
{
    if (lines->left == 0)
        return;
    lines->k += n;
    lines->v += n;
    lines->done += n;
    if (lines->done >= lines->width) {
        lines->k += lines->k_gap;
        lines->v += lines->v_gap;
        lines->done = 0;
        --lines->left;
    }
}

#endif
