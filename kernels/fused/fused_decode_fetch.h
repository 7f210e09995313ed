/* SPDX-License-Identifier: MIT
 *
 * fused_decode_fetch.h: how fused_decode.h prefetches K and V.
 *
 * The first group of rows prefetches what lies some rows ahead; later groups find K and V in a
 * cache. Memory is fastest where that goes from front to back, in one stream that hardly ever
 * pauses: line by line in the order in which they lie (fetch.h), whatever a tile reads meanwhile,
 * or with each line the one ahead of it, where a tile reads in that order itself.
 * Tiles of outputs may take V from a cache by columns, and then prefetch it so.
 *
 * From memory that is further ahead than from a cache, where what is fetched too early is lost
 * again when K and V change places. Where they come from is guessed: a call that is repeated finds
 * in a cache what one can hold of it. So the bytes of the whole call decide, against a constant,
 * since kernels know no cache.
 *
 * Cores whose own prefetchers follow rows need less of it. From a cache such a core needs none for
 * a lone row, if each vector of K and V is part of one line. And it need not have so many lines on
 * their way that those which meet in a set of the first cache push one another out before they are
 * read, as they do where rows lie a page apart. */
#ifndef SATTN_KERNELS_FUSED_DECODE_FETCH_H
#define SATTN_KERNELS_FUSED_DECODE_FETCH_H

#include "kernels/fused/fused_decode_state.h"

enum {
    FUSED_FETCH_HELD = 12 << 20, /* most bytes of a call's K and V that may all lie in a cache */
    FUSED_FETCH_NEAR = 2 << 10,  /* bytes ahead there, for rows that read in order; else twice */
    FUSED_FETCH_FAR = 8 << 10,   /* and from memory */
    FUSED_FETCH_WIDE = 12 << 10, /* the same for groups of more than SCORE_GROUP rows */
    FUSED_FETCH_PAGE = 4 << 10,  /* bytes that lines lie apart which meet in the first cache */
    FUSED_FETCH_MEET = 6,        /* most rows ahead that do, where the core follows rows */
};

typedef struct fused_decode_fetch {
    bool is_far;              /* K and V are taken to come from memory */
    bool is_followed;         /* they need no prefetching */
    int64_t k_ahead, v_ahead; /* bytes from a row to the one prefetched with it */
} fused_decode_fetch;

/* Whole rows that hold at least that many bytes. */
static inline int64_t fused_fetch_distance(int64_t bytes, int64_t width)
{
    const int64_t row = width * (int64_t)sizeof(float);
    return (bytes + row - 1) / row;
}

/* So many bytes ahead, in whole rows; where the core follows rows, no more than may meet in a set.
 */
static inline int64_t fused_fetch_ahead(const sattn_fused_args *a, int64_t bytes, int64_t width,
                                        int64_t stride)
{
    const int64_t apart = stride * (int64_t)sizeof(float);
    const int64_t n = fused_fetch_distance(bytes, width);
    /* The largest power of two that divides both is 1 << shift. */
    const int shift = __builtin_ctzll((uint64_t)(apart | FUSED_FETCH_PAGE));
    const int64_t most = FUSED_FETCH_MEET * (FUSED_FETCH_PAGE >> shift);
    return (a->rows_are_followed && n > most ? most : n) * apart;
}

static inline bool fused_fetch_begin_with_lines(const float *rows, int64_t stride)
{
    return ((uintptr_t)rows | (uintptr_t)stride * sizeof(float)) % VEC_LINE == 0;
}

static inline fused_decode_fetch fused_decode_fetch_of(const sattn_fused_args *a,
                                                       const fused_decode_ops *ops,
                                                       const fused_strip *strip)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t n_keys = strip->key_end_max - strip->key_begin_min;
    const int64_t own_bytes = n_keys * (a->d + a->d_v) * element;
    const bool wide = strip->n_rows > SCORE_GROUP && ops->group > SCORE_GROUP;
    const int64_t held = wide ? FUSED_FETCH_HELD / 3 : FUSED_FETCH_HELD;
    const bool far = (a->kv_bytes > 0 ? a->kv_bytes : own_bytes) > held;
    const bool several = strip->n_rows > ops->in_order;
    const int64_t near_bytes = several ? 2 * FUSED_FETCH_NEAR : FUSED_FETCH_NEAR;
    const int64_t far_bytes = wide ? FUSED_FETCH_WIDE : FUSED_FETCH_FAR;
    const int64_t bytes = far ? far_bytes : near_bytes;
    return (fused_decode_fetch){
        .is_far = far,
        .is_followed = a->rows_are_followed && !far && strip->n_rows == 1 &&
                       fused_fetch_begin_with_lines(a->k, a->k_stride) &&
                       fused_fetch_begin_with_lines(a->v, a->v_stride),
        .k_ahead = fused_fetch_ahead(a, bytes, a->d, a->k_stride),
        .v_ahead = fused_fetch_ahead(a, bytes, a->d_v, a->v_stride),
    };
}

/* A group of n_rows rows from `row` on, and the keys of a block that it meets in the turn that
 * begins with key `begin`. The first group prefetches for all. */
static inline fused_decode_part fused_decode_part_of(const fused_decode_block *block, int row,
                                                     int n_rows, int begin, int turn)
{
    fused_decode_part part = {
        .row = row,
        .n_rows = n_rows,
        .begin = begin,
        .end = begin + turn < block->n_keys ? begin + turn : block->n_keys,
    };
    if (row == 0) {
        part.is_far = block->is_far;
        part.is_followed = block->is_followed;
        part.k_ahead = block->k_ahead;
        part.v_ahead = block->v_ahead;
    }
    return part;
}

#endif
