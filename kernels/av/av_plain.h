/* SPDX-License-Identifier: MIT
 *
 * av_plain.h: O = P V in plain C, the honest baseline of every hand-written kernel.
 *
 * One body, compiled twice: with vectorization off it is the strict scalar kernel, with the flags
 * of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good plain program
 * (`autovec`). So it does what such a program would: a strip of query rows shares each block of V
 * while it is in cache, and four keys share each read of the output row.
 *
 *   for each strip of up to PLAIN_ROWS rows
 *       for each block of up to SATTN_KEY_BLOCK keys, for each row
 *           the weights of the keys between the row's limits, 0 where the mask hides
 *           o += p V, from zero, added once
 *
 * Rows of very many keys have a second level of sums (av_span.h). */
#ifndef SATTN_KERNELS_AV_PLAIN_H
#define SATTN_KERNELS_AV_PLAIN_H

#include "kernels/av/av_span.h"
#include "kernels/vec/vec_plain.h"
#include "kernels/visibility.h"

#include <math.h>

enum { PLAIN_ROWS = SATTN_TILE_QUERIES_MAX };

/* A row of the flattened group: head r % n_group, query i0 + r / n_group. */
typedef struct plain_row {
    const float *p;
    float *o;
    float *to; /* where sums go: o, or in the later spans the row's part */
    const uint8_t *mask_bool;
    const float *mask_add;
    sattn_key_range keys;
} plain_row;

/* Each copies the weights of n keys, 0 for those that the mask hides, and returns whether it lets
 * one through. */
SATTN_INLINE bool plain_hide_bool(float *to, const float *p, const uint8_t *mask,
                                  int64_t mask_stride, int64_t n)
{
    uint32_t any = 0;
    if (mask_stride == 0) {
        any = *mask;
        for (int64_t j = 0; j < n; ++j)
            to[j] = any ? p[j] : 0.0f;
    } else {
        PLAIN_SIMD(reduction(| : any))
        for (int64_t j = 0; j < n; ++j) {
            to[j] = mask[j] != 0 ? p[j] : 0.0f;
            any |= mask[j];
        }
    }
    return any != 0;
}

SATTN_INLINE bool plain_hide_add(float *to, const float *p, const float *mask, int64_t mask_stride,
                                 int64_t n)
{
    uint32_t any = 0;
    if (mask_stride == 0) {
        any = *mask != -INFINITY ? 1u : 0u;
        for (int64_t j = 0; j < n; ++j)
            to[j] = any ? p[j] : 0.0f;
    } else {
        PLAIN_SIMD(reduction(| : any))
        for (int64_t j = 0; j < n; ++j) {
            to[j] = mask[j] != -INFINITY ? p[j] : 0.0f;
            any |= mask[j] != -INFINITY ? 1u : 0u;
        }
    }
    return any != 0;
}

/* o += p V over n keys */
SATTN_INLINE void plain_accumulate(float *o, float *part, const float *p, const float *v,
                                   int64_t v_stride, int64_t n, int64_t d_v)
{
    for (int64_t y = 0; y < d_v; ++y)
        part[y] = 0.0f;
    int64_t j = 0;
    for (; j + 4 <= n; j += 4, v += 4 * v_stride) {
        const float *const v1 = v + v_stride;
        const float *const v2 = v1 + v_stride;
        const float *const v3 = v2 + v_stride;
        const float p0 = p[j], p1 = p[j + 1], p2 = p[j + 2], p3 = p[j + 3];
        PLAIN_SIMD()
        for (int64_t y = 0; y < d_v; ++y) {
            float sum = plain_multiply_add(p0, v[y], part[y]);
            sum = plain_multiply_add(p1, v1[y], sum);
            sum = plain_multiply_add(p2, v2[y], sum);
            part[y] = plain_multiply_add(p3, v3[y], sum);
        }
    }
    for (; j < n; ++j, v += v_stride) {
        const float weight = p[j];
        PLAIN_SIMD()
        for (int64_t y = 0; y < d_v; ++y)
            part[y] = plain_multiply_add(weight, v[y], part[y]);
    }
    PLAIN_SIMD()
    for (int64_t y = 0; y < d_v; ++y)
        o[y] += part[y];
}

/* The part of the block that lies between the row's limits. */
SATTN_INLINE void plain_block(const sattn_av_args *a, plain_row *row, sattn_key_range block)
{
    const int64_t first = row->keys.begin > block.begin ? row->keys.begin : block.begin;
    const int64_t end = row->keys.end < block.end ? row->keys.end : block.end;
    if (first >= end)
        return;
    float *const packed = a->scratch;
    float *const sum = packed + SATTN_KEY_BLOCK;
    const int64_t stride = a->visible.mask_key_stride;
    const float *p = row->p + first;
    bool visible = true;
    if (row->mask_bool)
        visible = plain_hide_bool(packed, p, row->mask_bool + first * stride, stride, end - first);
    else if (row->mask_add)
        visible = plain_hide_add(packed, p, row->mask_add + first * stride, stride, end - first);
    if (!visible)
        return;
    p = row->mask_bool || row->mask_add ? packed : p;
    plain_accumulate(row->to, sum, p, a->v + first * a->v_stride, a->v_stride, end - first, a->d_v);
}

/* From the second span on, sums go to the rows' parts, which begin at 0. */
static inline void plain_split(const sattn_av_args *a, plain_row *rows, int64_t n_rows)
{
    const int64_t stride = av_part_stride(a->d_v);
    float *const parts = (float *)a->scratch + SATTN_KEY_BLOCK + stride;
    for (int64_t r = 0; r < n_rows; ++r) {
        rows[r].to = parts + r * stride;
        for (int64_t y = 0; y < a->d_v; ++y)
            rows[r].to[y] = 0.0f;
    }
}

static inline void plain_carry(const sattn_av_args *a, const plain_row *rows, int64_t n_rows)
{
    for (int64_t r = 0; r < n_rows; ++r)
        av_carry(rows[r].o, rows[r].to, a->d_v);
}

SATTN_INLINE void plain_strip(const sattn_av_args *a, plain_row *rows, int64_t first_row,
                              int64_t n_rows)
{
    sattn_key_range all = {a->visible.n_k, 0};
    for (int64_t r = 0; r < n_rows; ++r) {
        plain_row *const row = &rows[r];
        const int64_t i = a->i0 + (first_row + r) / a->n_group;
        const int64_t g = (first_row + r) % a->n_group;
        row->p = a->p + g * a->p_group_stride + i * a->p_stride;
        row->o = a->o + g * a->o_group_stride + i * a->o_stride;
        row->to = row->o;
        row->mask_bool = sattn_mask_bool_row(&a->visible, g, i);
        row->mask_add = sattn_mask_add_row(&a->visible, g, i);
        row->keys = sattn_visible_range(&a->visible, i);
        if (row->keys.begin < row->keys.end) {
            all.begin = row->keys.begin < all.begin ? row->keys.begin : all.begin;
            all.end = row->keys.end > all.end ? row->keys.end : all.end;
        }
        for (int64_t y = 0; y < a->d_v; ++y)
            row->o[y] = 0.0f;
    }
    bool has_parts = false;
    for (int64_t j = all.begin; j < all.end;) {
        if (j % AV_SPAN == 0 && j > all.begin) {
            if (has_parts)
                plain_carry(a, rows, n_rows);
            else
                plain_split(a, rows, n_rows);
            has_parts = true;
        }
        const int64_t next = (j / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        for (int64_t r = 0; r < n_rows; ++r)
            plain_block(a, &rows[r], (sattn_key_range){j, next});
        j = next;
    }
    if (has_parts)
        plain_carry(a, rows, n_rows);
}

SATTN_INLINE void av_plain(const sattn_av_args *a)
{
    plain_row rows[PLAIN_ROWS];
    const int64_t n_rows = a->n_group * (a->i1 - a->i0);
    for (int64_t first = 0; first < n_rows; first += PLAIN_ROWS)
        plain_strip(a, rows, first, n_rows - first < PLAIN_ROWS ? n_rows - first : PLAIN_ROWS);
}

#endif
