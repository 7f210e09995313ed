/* SPDX-License-Identifier: MIT
 *
 * softmax_plain.h: the steps of softmax_rows.h in plain C, the honest baseline of every
 * hand-written kernel.
 *
 * One body, compiled twice: with vectorization off it is the strict scalar kernel, with the flags
 * of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good plain program
 * (`autovec`). It works by key blocks. A block that is whole and has no mask is read where it lies,
 * any other from a tile that is filled up at both ends; so maximum and sum of a block are folds of
 * 128 numbers by halves, loops of constant length without a carried value. By folds, since a
 * maximum over one variable is no reduction to a compiler that honours NaN, and since a sum over
 * one variable would depend on how many keys the block has, not only on which are visible. */
#ifndef SATTN_KERNELS_SOFTMAX_PLAIN_H
#define SATTN_KERNELS_SOFTMAX_PLAIN_H

#include "kernels/softmax/softmax_rows.h"

enum {
    PLAIN_LANES = 16, /* numbers that are left of a block's fold */
#ifdef PLAIN_SCALAR
    PLAIN_STEP = 1,
#else
    PLAIN_STEP = 16, /* weights are taken in multiples of so many */
#endif
};

SATTN_NOINLINE void plain_slope(const softmax_row *row, const softmax_cut *cut)
{
    const float *const raw = row->raw + cut->begin;
    float *const to = row->tile + (cut->begin - row->origin);
    const float slope = row->slope;
    const int32_t position = (int32_t)(row->position - cut->begin);
    const int32_t n = (int32_t)(cut->end - cut->begin);
    PLAIN_SIMD()
    for (int32_t j = 0; j < n; ++j)
        to[j] = plain_add_slope(raw[j], slope, fabsf((float)(position - j)));
}

/* Scores [begin, end) of the key block at column `block`, with bias and mask, -inf where hidden and
 * around them: in `tile`, or where they lie. At [j - block]. */
SATTN_INLINE const float *plain_scores(const softmax_row *row, int64_t block, int64_t begin,
                                       int64_t end, float *tile)
{
    const float *const s = softmax_scores(*row, block);
    const int first = (int)(begin - block);
    const int stop = (int)(end - block);
    if (row->mask == SOFTMAX_UNMASKED && first == 0 && stop == SATTN_KEY_BLOCK)
        return s;
    for (int j = 0; j < first; ++j)
        tile[j] = -INFINITY;
    for (int j = stop; j < SATTN_KEY_BLOCK; ++j)
        tile[j] = -INFINITY;
    if (row->mask == SOFTMAX_BOOL) {
        const uint8_t *const mask = row->mask_bool + block;
        PLAIN_SIMD()
        for (int j = first; j < stop; ++j)
            tile[j] = mask[j] != 0 ? s[j] : -INFINITY;
    } else if (row->mask == SOFTMAX_BIAS) {
        const float *const bias = row->mask_add + block;
        PLAIN_SIMD()
        for (int j = first; j < stop; ++j) {
            const float kept = bias[j] != -INFINITY ? s[j] : -INFINITY;
            tile[j] = kept + bias[j];
        }
    } else {
        const float shift = row->mask == SOFTMAX_SHIFT ? row->mask_add[0] : 0.0f;
        PLAIN_SIMD()
        for (int j = first; j < stop; ++j)
            tile[j] = s[j] + shift;
    }
    return tile;
}

/* into[k] = max(x[k], x[k + n]) for n numbers; a NaN may be passed over, or win. */
SATTN_INLINE void plain_fold_max(float *into, const float *x, int n)
{
    PLAIN_SIMD()
    for (int k = 0; k < n; ++k)
        into[k] = x[k] > x[k + n] ? x[k] : x[k + n];
}

SATTN_INLINE void plain_fold_sum(float *into, const float *x, int n)
{
    PLAIN_SIMD()
    for (int k = 0; k < n; ++k)
        into[k] = x[k] + x[k + n];
}

static inline float plain_maximum(const softmax_row *row, const softmax_cut *cut)
{
    float tile[SATTN_KEY_BLOCK], fold[SATTN_KEY_BLOCK / 2], top[PLAIN_LANES];
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        top[lane] = -INFINITY;
    for (int64_t j = cut->begin; j < cut->end;) {
        const int64_t block = j - j % SATTN_KEY_BLOCK;
        const int64_t next = block + SATTN_KEY_BLOCK;
        const int64_t stop = cut->end < next ? cut->end : next;
        const float *const s = plain_scores(row, block, j, stop, tile);
        plain_fold_max(fold, s, 64);
        plain_fold_max(fold, fold, 32);
        plain_fold_max(fold, fold, PLAIN_LANES);
        PLAIN_SIMD()
        for (int lane = 0; lane < PLAIN_LANES; ++lane)
            top[lane] = fold[lane] > top[lane] ? fold[lane] : top[lane];
        j = stop;
    }
    float max = -INFINITY;
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        max = top[lane] > max ? top[lane] : max;
    return max;
}

SATTN_INLINE void plain_weigh_keys(float *p, const float *s, float base, int n)
{
    PLAIN_SIMD()
    for (int j = 0; j < n; ++j)
        p[j] = plain_exp(s[j] - base);
}

/* Turns the tile's scores [begin, end) into weights, with 0 around them. */
SATTN_INLINE void plain_weigh_tile(float *tile, float base, int begin, int end)
{
    const int first = begin - begin % PLAIN_STEP;
    const int n = (end - first + PLAIN_STEP - 1) / PLAIN_STEP * PLAIN_STEP;
    for (int j = 0; j < first; ++j)
        tile[j] = 0.0f;
    plain_weigh_keys(tile + first, tile + first, base, n);
    for (int j = first + n; j < SATTN_KEY_BLOCK; ++j)
        tile[j] = 0.0f;
}

static inline float plain_weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    float tile[SATTN_KEY_BLOCK], fold[SATTN_KEY_BLOCK / 2], part[PLAIN_LANES];
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        part[lane] = 0.0f;
    for (int64_t j = cut->begin; j < cut->end;) {
        const int64_t block = j - j % SATTN_KEY_BLOCK;
        const int64_t next = block + SATTN_KEY_BLOCK;
        const int64_t stop = cut->end < next ? cut->end : next;
        const float *const s = plain_scores(row, block, j, stop, tile);
        const float *p = row->p + block;
        if (stop - j == SATTN_KEY_BLOCK) {
            plain_weigh_keys(row->p + block, s, base, SATTN_KEY_BLOCK);
        } else {
            plain_weigh_tile(tile, base, (int)(j - block), (int)(stop - block));
            memcpy(row->p + j, tile + (j - block), (size_t)(stop - j) * sizeof *tile);
            p = tile;
        }
        plain_fold_sum(fold, p, 64);
        plain_fold_sum(fold, fold, 32);
        plain_fold_sum(fold, fold, PLAIN_LANES);
        PLAIN_SIMD()
        for (int lane = 0; lane < PLAIN_LANES; ++lane)
            part[lane] += fold[lane];
        j = stop;
    }
    float sum = 0.0f;
    PLAIN_SIMD(reduction(+ : sum))
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        sum += part[lane];
    return sum;
}

static inline void plain_scale(const softmax_row *row, const softmax_cut *cut, float factor,
                               float least)
{
    float *const p = row->p;
    PLAIN_SIMD()
    for (int64_t j = cut->begin; j < cut->end; ++j) {
        const float kept = p[j] < least ? 0.0f : p[j];
        p[j] = kept * factor;
    }
}

SATTN_NOINLINE void plain_with_alibi(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {.lanes = 1,
                                    .slope = plain_slope,
                                    .maximum = plain_maximum,
                                    .weigh = plain_weigh,
                                    .scale = plain_scale};
    softmax_rows(args, &ops);
}

SATTN_INLINE void softmax_plain(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {
        .lanes = 1, .maximum = plain_maximum, .weigh = plain_weigh, .scale = plain_scale};
    if (args->visible.alibi_slopes)
        plain_with_alibi(args);
    else
        softmax_rows(args, &ops);
}

#endif
