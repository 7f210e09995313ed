/* SPDX-License-Identifier: MIT
 *
 * av_tiles.h: O = P V by register tiles of rows x columns of V, the same loops for all ISAs.
 *
 * The lanes of a vector are neighbouring columns of V, which is how they lie in memory: each weight
 * is broadcast to one vector of V after the other, and nothing is rearranged.
 *
 *   for each strip of rows
 *       for each piece of V, some blocks of up to SATTN_KEY_BLOCK keys, that a cache holds
 *           for each tile of rows
 *               for each block of the piece, for each group of columns
 *                   sum P V over the keys that some row of the tile may see, in registers, from 0
 *                   O = 0 + sum the first time, O += sum from then on
 *
 * P is large, read once, and may come from far. So its rows are read as far as V allows before the
 * next ones begin, and what comes next of it can be prefetched.
 *
 * Rows of very many keys have a second level of sums (av_span.h).
 *
 * Where a row does not see all keys of its tile, its weights are copied with 0 for the hidden ones;
 * else P is read in place. Adding 0 * v changes nothing but the sign of a sum that is 0, and that
 * sign ends where the sum is added to an O which started from +0: the first tile stores 0 + sum. So
 * a row's bits depend on its own weights and visible keys, whatever tile it is in. */
#ifndef SATTN_KERNELS_AV_TILES_H
#define SATTN_KERNELS_AV_TILES_H

#include "kernels/av/av_span.h"
#include "kernels/av/av_strip.h"
#include "kernels/vec/fetch.h"
#include "kernels/vec/vec_base.h"
#include "kernels/visibility.h"

#include <string.h>

enum {
    AV_TILE_ROWS = 8,          /* most rows of a tile */
    AV_FETCH_ROWS = 16,        /* most rows with which V is prefetched, and ... */
    AV_FETCH_FROM = 768 << 10, /* ... fewest bytes of V */
    AV_FETCH_NEAR = 2 << 10,   /* bytes to prefetch ahead where V may be in a cache ... */
    AV_FETCH_FAR = 8 << 10,    /* ... and where it comes from memory */
};

/* What one call of an ISA's step works on. */
typedef struct av_tile {
    int n_rows;            /* 1 .. AV_TILE_ROWS */
    int n_keys;            /* 1 .. SATTN_KEY_BLOCK */
    bool is_first;         /* O holds nothing yet */
    const float *const *p; /* [n_rows] rows of weights, that of the tile's first key at [p_at] */
    int64_t p_at;
    const float *next;     /* weights of the next tile, from its first key on; NULL: not known */
    int64_t next_stride;   /* from row to row of them */
    float *const *o;       /* [n_rows] rows of O, or their parts */
    const float *v;        /* row of the first key */
    int64_t v_stride, d_v; /* elements */
    int64_t fetch;         /* bytes of V to prefetch ahead, or 0 */
    float *sum;            /* [d_v + 16] working memory */
} av_tile;

/* Weights of one row, and what it sees of n keys: at most [begin, end), less what a mask hides. */
typedef struct av_row {
    const float *p;
    const uint8_t *mask_bool; /* NULL, or of n keys, as the weights */
    const float *mask_add;    /* the same */
    int n, begin, end;        /* 0 <= begin <= end <= n */
} av_row;

typedef struct av_ops {
    int strip_rows;  /* rows that share a piece of V while it is in cache */
    int piece_bytes; /* most of V that a second-level cache of such cores holds beside weights */
    /* rows of the next tile, where n_left rows of the strip are left */
    int (*tile_rows)(int n_left);
    /* to[0 .. n) = weights, 0 for hidden keys; may write up to SATTN_KEY_BLOCK floats. Returns
     * whether a key is visible. */
    bool (*copy)(float *to, const av_row *row);
    void (*accumulate)(const av_tile *tile);
} av_ops;

/* Tiles read V in pieces of rows, an order that hardware prefetchers lose. So where V does not fit
 * a second-level cache and rows are few, each line of V that is read prefetches another; how far
 * ahead, in bytes. Only in the first tile of a strip: the others find V in the cache. */
static inline int64_t av_fetch_ahead(const sattn_av_args *a, int64_t n_rows)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t enough = 512 * AV_FETCH_FAR / element; /* keys; more make no difference */
    const int64_t n_keys = a->visible.n_k < enough ? a->visible.n_k : enough;
    const int64_t bytes = n_keys * a->d_v * element;
    const int64_t ahead = bytes / 512; /* grows from near at 1 MB to far at 4 MB */
    if (n_rows > AV_FETCH_ROWS || bytes < AV_FETCH_FROM)
        return 0;
    return ahead < AV_FETCH_NEAR ? AV_FETCH_NEAR : ahead > AV_FETCH_FAR ? AV_FETCH_FAR : ahead;
}

/* Rows of the next tile where tiles have 8, 4, 3, 2 or 1: 5 and 6 are dealt out evenly. */
static inline int av_tile_rows_of_8(int n_left)
{
    if (n_left >= 8)
        return 8;
    return n_left == 5 || n_left == 6 ? 3 : n_left > 4 ? 4 : n_left;
}

/* Weights of row r for `keys`: in place if it sees them all, else copied to `to`. Sets *any if
 * it sees one. */
SATTN_INLINE const float *av_weights(const av_ops *ops, av_strip *s, int r, float *to,
                                     sattn_key_range keys, bool *any)
{
    const sattn_key_range range = s->keys[r];
    const float *const p = s->p[r] + keys.begin;
    if (!s->has_mask && range.begin <= keys.begin && range.end >= keys.end) {
        *any = true;
        return p;
    }
    const int n = (int)(keys.end - keys.begin);
    const int64_t from = range.begin - keys.begin;
    const int64_t until = range.end - keys.begin;
    const int begin = from < 0 ? 0 : from > n ? n : (int)from;
    const int end = until < begin ? begin : until > n ? n : (int)until;
    const av_row row = {.p = p,
                        .mask_bool = s->mask_bool[r] ? s->mask_bool[r] + keys.begin : NULL,
                        .mask_add = s->mask_add[r] ? s->mask_add[r] + keys.begin : NULL,
                        .n = n,
                        .begin = begin,
                        .end = end};
    const bool seen = ops->copy(to, &row);
    s->seen[r] = s->seen[r] || seen;
    *any = *any || seen;
    return to;
}

/* From the first to the last key of the block that some row of the tile may see. */
static inline sattn_key_range av_tile_keys(const av_strip *s, int first_row, int n_rows,
                                           sattn_key_range block)
{
    sattn_key_range keys = {block.end, block.begin};
    for (int r = first_row; r < first_row + n_rows; ++r) {
        const sattn_key_range row = s->keys[r];
        if (row.begin >= block.end || row.end <= block.begin)
            continue;
        keys.begin = row.begin < keys.begin ? row.begin : keys.begin;
        keys.end = row.end > keys.end ? row.end : keys.end;
    }
    keys.begin = keys.begin < block.begin ? block.begin : keys.begin;
    keys.end = keys.end > block.end ? block.end : keys.end;
    return keys;
}

/* Working memory holds copies of a tile's weights, then sums of one row, then parts. */
static inline float *av_sums(const sattn_av_args *a)
{
    return (float *)a->scratch + AV_TILE_ROWS * SATTN_KEY_BLOCK;
}

static inline int64_t av_weights_stride(const sattn_av_args *a)
{
    return a->n_group > 1 ? a->p_group_stride : a->p_stride;
}

/* Weights that are met after those of a tile of n_rows rows for a block of a piece. */
static inline const float *av_next_weights(const av_strip *s, int first_row, int n_rows,
                                           sattn_key_range block, sattn_key_range piece)
{
    if (block.end < piece.end)
        return s->p[first_row] + block.end;
    if (first_row + n_rows < s->n_rows)
        return s->p[first_row + n_rows] + piece.begin;
    if (piece.end < s->some.end)
        return s->p[0] + piece.end;
    return s->next ? s->next + s->some.begin : NULL;
}

/* A tile whose rows do not all see the whole block. */
SATTN_INLINE void av_tile_cut(const sattn_av_args *a, const av_ops *ops, av_strip *s, int first_row,
                              int n_rows, sattn_key_range block, const float *next)
{
    const sattn_key_range keys = av_tile_keys(s, first_row, n_rows, block);
    if (keys.begin >= keys.end)
        return;
    float *const copies = a->scratch;
    const float *p[AV_TILE_ROWS];
    bool any = false;
    for (int r = 0; r < n_rows; ++r)
        p[r] = av_weights(ops, s, first_row + r, copies + r * SATTN_KEY_BLOCK, keys, &any);
    if (!any)
        return;
    const av_tile tile = {.n_rows = n_rows,
                          .n_keys = (int)(keys.end - keys.begin),
                          .is_first = !s->is_stored[first_row],
                          .p = p,
                          .p_at = 0,
                          .next = next,
                          .next_stride = av_weights_stride(a),
                          .o = s->to + first_row,
                          .v = a->v + keys.begin * a->v_stride,
                          .v_stride = a->v_stride,
                          .d_v = a->d_v,
                          .fetch = first_row == 0 ? s->fetch : 0,
                          .sum = av_sums(a)};
    s->is_stored[first_row] = true;
    ops->accumulate(&tile);
}

SATTN_INLINE void av_tile_whole(const sattn_av_args *a, const av_ops *ops, av_strip *s,
                                int first_row, int n_rows, sattn_key_range block, const float *next)
{
    const av_tile tile = {.n_rows = n_rows,
                          .n_keys = (int)(block.end - block.begin),
                          .is_first = !s->is_stored[first_row],
                          .p = s->p + first_row,
                          .p_at = block.begin,
                          .next = next,
                          .next_stride = av_weights_stride(a),
                          .o = s->to + first_row,
                          .v = a->v + block.begin * a->v_stride,
                          .v_stride = a->v_stride,
                          .d_v = a->d_v,
                          .fetch = first_row == 0 ? s->fetch : 0,
                          .sum = av_sums(a)};
    s->is_stored[first_row] = true;
    ops->accumulate(&tile);
}

/* Keys of a piece of V: so many blocks that spans are whole pieces. */
static inline int64_t av_piece_keys(const av_ops *ops, int64_t d_v)
{
    int64_t keys = SATTN_KEY_BLOCK;
    while (keys < AV_SPAN && 2 * keys * d_v * (int64_t)sizeof(float) <= ops->piece_bytes)
        keys *= 2;
    return keys;
}

/* From the second span on, sums go to the rows' parts, which begin at 0. */
static inline void av_strip_split(const sattn_av_args *a, const av_ops *ops, av_strip *s)
{
    const int64_t stride = av_part_stride(a->d_v);
    const size_t row_bytes = (size_t)a->d_v * sizeof(float);
    float *const parts = av_sums(a) + stride + 16;
    for (int r = 0, n = 0; r < s->n_rows; r += n) {
        n = ops->tile_rows(s->n_rows - r);
        for (int row = r; row < r + n; ++row) {
            s->to[row] = parts + row * stride;
            memset(s->to[row], 0, row_bytes);
            if (!s->is_stored[r])
                memset(s->o[row], 0, row_bytes);
        }
        s->is_stored[r] = true;
    }
    s->has_parts = true;
}

static inline void av_strip_carry(const sattn_av_args *a, const av_strip *s)
{
    for (int r = 0; r < s->n_rows; ++r)
        av_carry(s->o[r], s->to[r], a->d_v);
}

/* The blocks of a piece for one tile of rows. */
SATTN_INLINE void av_piece_rows(const sattn_av_args *a, const av_ops *ops, av_strip *s,
                                int first_row, int n_rows, sattn_key_range piece)
{
    for (int64_t j = piece.begin; j < piece.end;) {
        const int64_t next = (j / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        const sattn_key_range block = {j, next < piece.end ? next : piece.end};
        const bool whole = !s->has_mask && s->all.begin <= block.begin && s->all.end >= block.end;
        const float *const weights = av_next_weights(s, first_row, n_rows, block, piece);
        if (whole)
            av_tile_whole(a, ops, s, first_row, n_rows, block, weights);
        else
            av_tile_cut(a, ops, s, first_row, n_rows, block, weights);
        j = block.end;
    }
}

SATTN_INLINE void av_strip_run(const sattn_av_args *a, const av_ops *ops, av_strip *s)
{
    const int64_t piece_keys = av_piece_keys(ops, a->d_v);
    for (int64_t j = s->some.begin; j < s->some.end;) {
        if (j % AV_SPAN == 0 && j > s->some.begin) {
            if (s->has_parts)
                av_strip_carry(a, s);
            else
                av_strip_split(a, ops, s);
        }
        const int64_t next = (j / piece_keys + 1) * piece_keys;
        const sattn_key_range piece = {j, next < s->some.end ? next : s->some.end};
        for (int r = 0, n = 0; r < s->n_rows; r += n) {
            n = ops->tile_rows(s->n_rows - r);
            av_piece_rows(a, ops, s, r, n, piece);
        }
        j = piece.end;
    }
    if (s->has_parts)
        av_strip_carry(a, s);
    for (int r = 0; r < s->n_rows; ++r)
        if (!s->seen[r])
            memset(s->o[r], 0, (size_t)a->d_v * sizeof *s->o[r]);
}

SATTN_INLINE void av_run(const sattn_av_args *a, const av_ops *ops)
{
    const int64_t n_rows = a->n_group * (a->i1 - a->i0);
    av_strip strip;
    strip.fetch = av_fetch_ahead(a, n_rows);
    for (int64_t first = 0; first < n_rows; first += ops->strip_rows) {
        const int64_t left = n_rows - first;
        av_strip_fill(&strip, a, first, left < ops->strip_rows ? (int)left : ops->strip_rows);
        av_strip_run(a, ops, &strip);
    }
}

#endif
