/* SPDX-License-Identifier: MIT
 *
 * fused_span.h: which keys of a block each half of a strip takes part in, for fused_prefill.h.
 *
 * The rows of a strip lie in two vectors, and limits move on with the rows: what the first vector
 * sees begins and ends no later than what the second sees. So a block is three runs of keys, of
 * which any may be empty: those of the first vector alone, those of both, those of the second
 * alone. A mask that hides keys at either end of a block from all rows of a vector shortens its
 * run; where a mask does so in another order, a run takes in keys that it hides.
 *
 *   keys      0 ............. both_begin ............. both_end ............. n_keys
 *   vector 0  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 *   vector 1                  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 */
#ifndef SATTN_KERNELS_FUSED_SPAN_H
#define SATTN_KERNELS_FUSED_SPAN_H

#include "kernels/fused/fused_strip.h"

/* Keys [begin, end) of a block and the rows of n_vec vectors from `vec` on. */
typedef struct fused_span {
    int vec, n_vec;
    int begin, end;
} fused_span;

typedef struct fused_block {
    int64_t first; /* absolute index of its first key */
    int n_keys;    /* 1 .. SATTN_KEY_BLOCK */
    int both_begin, both_end;
    /* A row sees the keys from limit_begin + its step on, up to limit_end + its step. */
    int limit_begin, limit_end;
    int sure_begin[2], sure_end[2]; /* limits hide none of these keys from any row of the vector */
    const float *k;                 /* row of the first key */
    const float *v;
    int64_t k_stride, v_stride, mask_key_stride;
} fused_block;

/* Absolute keys [begin, end) that the rows of each vector see between them. */
typedef struct fused_ranges {
    int64_t begin[2], end[2];
} fused_ranges;

static inline fused_ranges fused_strip_ranges(const fused_strip *strip, int lanes)
{
    fused_ranges ranges = {.begin = {INT64_MAX, INT64_MAX}, .end = {0, 0}};
    for (int vec = 0; vec * lanes < strip->n_lanes; ++vec) {
        ranges.begin[vec] = fused_row_keys(strip, vec * lanes).begin;
        ranges.end[vec] = fused_row_keys(strip, (vec + 1) * lanes - 1).end;
    }
    return ranges;
}

/* True if the mask lets one of the keys [begin, end) through to one of the rows of vector `vec`. */
static inline bool fused_vector_shows(const fused_strip *strip, int lanes, int vec,
                                      int64_t key_stride, int64_t begin, int64_t end)
{
    const int n_rows = strip->mask_is_shared ? 1 : lanes;
    const int64_t n = key_stride ? end - begin : 1;
    for (int r = vec * lanes; r < vec * lanes + n_rows; ++r)
        if (fused_strip_shows(strip, r, begin * key_stride, n))
            return true;
    return false;
}

/* The same for one key, but of the vector's first and last row only: a cheap look that finds most
 * keys which are seen. */
static inline bool fused_vector_shows_key(const fused_strip *strip, int lanes, int vec,
                                          int64_t key_stride, int64_t key)
{
    return fused_strip_bias(strip, vec * lanes, key * key_stride) != -INFINITY ||
           fused_strip_bias(strip, (vec + 1) * lanes - 1, key * key_stride) != -INFINITY;
}

/* Takes keys that the mask hides from all rows of vector `vec` off both ends of [*begin, *end), in
 * groups that start at multiples of 16. */
static inline void fused_trim(const fused_strip *strip, int lanes, int vec, int64_t key_stride,
                              int64_t *begin, int64_t *end)
{
    enum { GROUP = 16 };
    const bool is_begin_seen = fused_vector_shows_key(strip, lanes, vec, key_stride, *begin);
    const bool is_end_seen = fused_vector_shows_key(strip, lanes, vec, key_stride, *end - 1);
    if (!is_begin_seen && !is_end_seen &&
        !fused_vector_shows(strip, lanes, vec, key_stride, *begin, *end))
        *end = *begin;
    while (!is_end_seen && *begin < *end) {
        const int64_t group = (*end - 1) / GROUP * GROUP;
        const int64_t start = group > *begin ? group : *begin;
        if (fused_vector_shows(strip, lanes, vec, key_stride, start, *end))
            break;
        *end = start;
    }
    while (!is_begin_seen && *begin < *end) {
        const int64_t group = (*begin / GROUP + 1) * GROUP;
        const int64_t stop = group < *end ? group : *end;
        if (fused_vector_shows(strip, lanes, vec, key_stride, *begin, stop))
            break;
        *begin = stop;
    }
}

/* Where limits hide keys of the block. They are held where all its keys lie on the same side. */
static inline void fused_block_cut(fused_block *block, const fused_strip *strip, int lanes)
{
    const int64_t begin = strip->limits.begin - block->first;
    const int64_t end = strip->limits.end - block->first;
    block->limit_begin = (int)fused_held(begin, -SATTN_TILE_QUERIES_MAX, SATTN_KEY_BLOCK);
    block->limit_end = (int)fused_held(end, -SATTN_TILE_QUERIES_MAX, SATTN_KEY_BLOCK);
    for (int vec = 0; vec * lanes < strip->n_lanes; ++vec) {
        block->sure_begin[vec] = block->limit_begin + strip->step[(vec + 1) * lanes - 1];
        block->sure_end[vec] = block->limit_end + strip->step[vec * lanes];
    }
}

/* True if a limit hides one of the n keys from `at` on from a row of the span's vectors. */
static inline bool fused_keys_are_cut(const fused_block *block, const fused_span *span, int64_t at,
                                      int n)
{
    return at < block->sure_begin[span->vec + span->n_vec - 1] ||
           at + n > block->sure_end[span->vec];
}

/* The keys of the strip among [j, stop), which lie in one block: false if there are none. */
static inline bool fused_block_find(fused_block *block, const sattn_fused_args *a,
                                    const fused_strip *strip, const fused_ranges *ranges, int lanes,
                                    int64_t j, int64_t stop)
{
    int64_t begin[2], end[2];
    for (int vec = 0; vec < 2; ++vec) {
        begin[vec] = ranges->begin[vec] > j ? ranges->begin[vec] : j;
        end[vec] = ranges->end[vec] < stop ? ranges->end[vec] : stop;
        if ((a->visible.mask_bool || a->visible.mask_add) && begin[vec] < end[vec])
            fused_trim(strip, lanes, vec, a->visible.mask_key_stride, &begin[vec], &end[vec]);
    }
    if (begin[0] >= end[0])
        begin[0] = end[0] = begin[1];
    if (begin[1] >= end[1])
        begin[1] = end[1] = end[0];
    const int64_t first = begin[0] < begin[1] ? begin[0] : begin[1];
    const int64_t last = end[0] > end[1] ? end[0] : end[1];
    if (first >= last)
        return false;
    block->first = first;
    block->n_keys = (int)(last - first);
    block->both_begin = (int)(begin[1] - first);
    block->both_end = (int)((end[0] <= end[1] ? end[0] : last) - first);
    if (block->both_end < block->both_begin)
        block->both_end = block->both_begin;
    return true;
}

/* The keys that vector `vec` takes part in. */
static inline fused_span fused_block_span(const fused_block *block, int vec)
{
    return vec == 0 ? (fused_span){0, 1, 0, block->both_end}
                    : (fused_span){1, 1, block->both_begin, block->n_keys};
}

/* The keys that both vectors take part in, or all of one vector where the other has none. */
static inline fused_span fused_block_common(const fused_block *block)
{
    if (block->both_begin == block->n_keys || block->both_end == 0)
        return fused_block_span(block, block->both_end == 0 ? 1 : 0);
    return (fused_span){0, 2, block->both_begin, block->both_end};
}

#endif
