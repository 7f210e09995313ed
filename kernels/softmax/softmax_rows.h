/* SPDX-License-Identifier: MIT
 *
 * softmax_rows.h: softmax by rows, for all ISAs.
 *
 *   for each row, with the keys that length, causal limit and window leave it
 *       for each chunk of up to SOFTMAX_CHUNK keys
 *           s = s - slope |position - j|       with ALiBi, into a tile
 *           m_c = max s                        with bias and mask as s is read
 *           p = exp(s - m_c), l_c = sum p      the same, and once more
 *       m = max m_c,  l = sum exp(m_c - m) l_c
 *       for each chunk
 *           p = p * exp(m_c - m) / l
 *
 * A chunk stays in the first-level cache between its maximum and its weights, so memory is passed
 * twice however long the row; a row of one chunk is the plain three-pass softmax. One exp per score
 * is cheaper than an online softmax, which needs a second one or rescales as it goes (Milakov &
 * Gimelshein 2018, algorithms 2 and 3). Chunks begin at multiples of SOFTMAX_CHUNK and l_c is
 * summed by absolute key index, so hidden keys, at either end or in between, change no bits: a
 * chunk without a visible key has l_c = 0 and exp(-inf) = 0.
 *
 * Rows that see every key, and have no bias, go a shorter way (softmax_whole.h).
 *
 * An ISA supplies the steps (softmax_steps.h). */
#ifndef SATTN_KERNELS_SOFTMAX_ROWS_H
#define SATTN_KERNELS_SOFTMAX_ROWS_H

#include "kernels/contract.h"
#include "kernels/softmax/softmax_whole.h"
#include "kernels/vec/vec_plain.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    SOFTMAX_CHUNK = 4096, /* keys; scores and weights of a chunk are 16 KiB each */
    SOFTMAX_TILE = SOFTMAX_CHUNK + SATTN_KEY_BLOCK, /* floats, of the chunk and a tail */
    SOFTMAX_RING = 4, /* rows: the three under way, as a power of two */
};

/* Two steps with mask and ALiBi as arguments, constants once inlined. */
typedef float softmax_maximum_fn(softmax_row row, softmax_cut cut, const softmax_mask mask,
                                 const bool has_alibi);
typedef float softmax_weigh_fn(softmax_row row, softmax_cut cut, float base,
                               const softmax_mask mask, const bool has_alibi);

SATTN_INLINE float softmax_maximum_by_mask(softmax_maximum_fn *maximum_of, const softmax_row *row,
                                           const softmax_cut *cut, const bool has_alibi)
{
    switch (row->mask) {
    case SOFTMAX_BOOL:
        return maximum_of(*row, *cut, SOFTMAX_BOOL, has_alibi);
    case SOFTMAX_BIAS:
        return maximum_of(*row, *cut, SOFTMAX_BIAS, has_alibi);
    case SOFTMAX_SHIFT:
        return maximum_of(*row, *cut, SOFTMAX_SHIFT, has_alibi);
    default:
        return maximum_of(*row, *cut, SOFTMAX_UNMASKED, has_alibi);
    }
}

SATTN_INLINE float softmax_weigh_by_mask(softmax_weigh_fn *weigh_of, const softmax_row *row,
                                         const softmax_cut *cut, float base, const bool has_alibi)
{
    switch (row->mask) {
    case SOFTMAX_BOOL:
        return weigh_of(*row, *cut, base, SOFTMAX_BOOL, has_alibi);
    case SOFTMAX_BIAS:
        return weigh_of(*row, *cut, base, SOFTMAX_BIAS, has_alibi);
    case SOFTMAX_SHIFT:
        return weigh_of(*row, *cut, base, SOFTMAX_SHIFT, has_alibi);
    default:
        return weigh_of(*row, *cut, base, SOFTMAX_UNMASKED, has_alibi);
    }
}

/* ALiBi of the keys [begin, end), of which none need be near. */
SATTN_INLINE void softmax_slope_keys(const softmax_row *row, float *to, int64_t begin, int64_t end)
{
    for (int64_t j = begin; j < end; ++j) {
        SATTN_KEEP_ORDER(); /* no vectors: in what is rare they would only take up room */
        const float distance = sattn_alibi_distance(row->position, j);
        to[j - begin] = plain_add_slope(row->raw[j], row->slope, distance);
    }
}

SATTN_NOINLINE void softmax_slope_far(const softmax_row *row, const softmax_cut *cut)
{
    const int64_t end = cut->has_tail ? cut->body_end : cut->end;
    softmax_slope_keys(row, row->tile + (cut->begin - row->origin), cut->begin, end);
    if (cut->has_tail) {
        const int64_t begin = cut->tail > cut->begin ? cut->tail : cut->begin;
        float *const tail = row->tile + (cut->body_end - row->origin);
        softmax_slope_keys(row, tail + (begin - cut->tail), begin, cut->end);
    }
}

/* The maximum of a cut, whose scores lie where row->s says from then on. */
SATTN_INLINE float softmax_maximum(const softmax_ops *ops, softmax_row *row, const softmax_cut *cut)
{
    if (ops->slope) {
        row->origin = cut->begin - cut->begin % SATTN_KEY_BLOCK;
        if (row->is_near)
            ops->slope(row, cut);
        else
            softmax_slope_far(row, cut);
    }
    return ops->maximum(row, cut);
}

/* Maximum and sum of one chunk. */
typedef struct softmax_chunk {
    float max, sum;
} softmax_chunk;

/* A row whose sum is NaN or 0. Among its visible scores are NaN or +inf, or all are -inf: it is NaN
 * wherever a key is visible. Or none is visible, and its weights are the 0 that they should be. */
SATTN_NOINLINE void softmax_row_spoil(softmax_row *row)
{
    bool seen = false;
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        const bool is_visible = softmax_is_visible(row, j);
        row->p[j] = is_visible ? NAN : 0.0f;
        seen |= is_visible;
    }
    if (seen && row->sum == 0.0f)
        row->sum = 1.0f;
}

/* What is left once the weights are divided by their sum. */
SATTN_INLINE void softmax_row_finish(const sattn_softmax_args *a, softmax_row *row)
{
    if (!(row->sum > 0.0f))
        softmax_row_spoil(row);
    if (row->keys.begin > 0)
        memset(row->p, 0, (size_t)row->keys.begin * sizeof *row->p);
    if (row->keys.end < row->n_columns)
        memset(row->p + row->keys.end, 0,
               (size_t)(row->n_columns - row->keys.end) * sizeof *row->p);
    if (a->row_max)
        a->row_max[row->stat] = row->max + 0.0f; /* one zero for both, whichever came first */
    if (a->row_sum)
        a->row_sum[row->stat] = row->sum;
}

/* Rows [i_first, i1) of every head, of one chunk each. A step ends in a chain of dependent
 * operations (a reduction over lanes, a division), so the steps of three successive rows are taken
 * in turns: each then finds finished what it depends on. */
SATTN_INLINE void softmax_rows_short(const sattn_softmax_args *a, const softmax_ops *ops,
                                     int64_t i_first)
{
    const int64_t n_rows = i_first < a->i1 ? a->n_group * (a->i1 - i_first) : 0;
    softmax_row rows[SOFTMAX_RING];
    int64_t g = 0;
    int64_t i = i_first;
    for (int64_t r = 0; r < n_rows + 2 && n_rows > 0; ++r) {
        softmax_row *const opened = &rows[r % SOFTMAX_RING];
        softmax_row *const weighed = &rows[(r + SOFTMAX_RING - 1) % SOFTMAX_RING];
        softmax_row *const divided = &rows[(r + SOFTMAX_RING - 2) % SOFTMAX_RING];
        if (r > 0 && r <= n_rows && weighed->keys.begin < weighed->keys.end)
            weighed->sum = ops->weigh(weighed, &weighed->keys, softmax_base(weighed->max));
        if (r < n_rows) {
            softmax_row_open(opened, a, g, i, ops->lanes, ops->slope != NULL);
            if (opened->keys.begin < opened->keys.end)
                opened->max = softmax_maximum(ops, opened, &opened->keys);
            if (++i == a->i1) {
                i = i_first;
                ++g;
            }
        }
        if (r >= 2) {
            if (divided->sum > 0.0f)
                ops->scale(divided, &divided->keys, 1.0f / divided->sum, 0.0f);
            softmax_row_finish(a, divided);
        }
    }
}

/* The row's keys in the c-th chunk of all keys. */
SATTN_INLINE softmax_cut softmax_chunk_cut(const softmax_row *row, int64_t c, int lanes)
{
    const int64_t begin = c * SOFTMAX_CHUNK;
    const int64_t end = begin + SOFTMAX_CHUNK;
    return softmax_cut_of(row->n_columns, row->keys.begin > begin ? row->keys.begin : begin,
                          row->keys.end < end ? row->keys.end : end, lanes);
}

/* A row of any length; it has a key. The last chunk is divided first, while cache still holds it.
 */
SATTN_INLINE void softmax_row_long(const softmax_ops *ops, softmax_row *row, softmax_chunk *chunks)
{
    const int64_t first = row->keys.begin / SOFTMAX_CHUNK;
    const int64_t n_chunks = (row->keys.end - 1) / SOFTMAX_CHUNK - first + 1;
    for (int64_t c = 0; c < n_chunks; ++c) {
        const softmax_cut cut = softmax_chunk_cut(row, first + c, ops->lanes);
        const float max = softmax_maximum(ops, row, &cut);
        chunks[c].max = max;
        chunks[c].sum = ops->weigh(row, &cut, softmax_base(max));
        row->max = max > row->max ? max : row->max;
    }
    const float base = softmax_base(row->max);
    double sum = 0.0;
    for (int64_t c = 0; c < n_chunks; ++c)
        sum += (double)plain_exp(chunks[c].max - base) * (double)chunks[c].sum;
    row->sum = (float)sum;
    for (int64_t c = n_chunks - 1; c >= 0 && row->sum > 0.0f; --c) {
        const softmax_cut cut = softmax_chunk_cut(row, first + c, ops->lanes);
        const float share = plain_exp(chunks[c].max - base);
        /* A weight above 2^-126 of the chunk's largest, but not of the row's, is 0. */
        ops->scale(row, &cut, share * (1.0f / row->sum), FLT_MIN / share);
    }
}

SATTN_INLINE void softmax_rows_long(const sattn_softmax_args *a, const softmax_ops *ops)
{
    float *const tile = a->scratch;
    for (int64_t g = 0; g < a->n_group; ++g) {
        for (int64_t i = a->i0; i < a->i1; ++i) {
            softmax_row row;
            softmax_row_open(&row, a, g, i, ops->lanes, ops->slope != NULL);
            if (row.keys.begin < row.keys.end)
                softmax_row_long(ops, &row, (softmax_chunk *)(void *)(tile + SOFTMAX_TILE));
            softmax_row_finish(a, &row);
        }
    }
}

SATTN_INLINE void softmax_rows(const sattn_softmax_args *a, const softmax_ops *ops)
{
    if (a->n_columns > SOFTMAX_CHUNK)
        softmax_rows_long(a, ops);
    else if (softmax_is_whole(a, ops))
        softmax_rows_whole(a, ops, softmax_is_flat(a, ops) ? softmax_rows_flat(a, ops) : a->i0);
    else
        softmax_rows_short(a, ops, a->i0);
}

#endif
