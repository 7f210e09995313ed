/* SPDX-License-Identifier: MIT
 *
 * fused_strip.h: the rows that a fused kernel works on together, and where each one's keys end.
 *
 * The heads of a GQA group share K and V, so their query rows are flattened into one list, row
 * r = (i - i0) * n_group + g, and cut into strips. Query-major order keeps the causal limits of a
 * strip close together, and lets few queries of a large group fill a strip: each K and V row that
 * is read serves the whole strip. */
#ifndef SATTN_KERNELS_FUSED_STRIP_H
#define SATTN_KERNELS_FUSED_STRIP_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

#include <math.h>

typedef struct fused_strip {
    int n_rows; /* rows that exist; entries up to n_lanes repeat the last of them */
    int n_lanes;
    bool mask_is_shared; /* every row has the same mask row */
    const float *q[SATTN_TILE_QUERIES_MAX];
    float *o[SATTN_TILE_QUERIES_MAX];
    const uint8_t *mask_bool[SATTN_TILE_QUERIES_MAX];
    const float *mask_add[SATTN_TILE_QUERIES_MAX];
    int64_t stat[SATTN_TILE_QUERIES_MAX]; /* index into row_max and row_sum */
    /* In [j0, j1]: keys from here on are hidden by the causal limit. */
    int64_t key_end[SATTN_TILE_QUERIES_MAX];
    int64_t key_end_min, key_end_max;
} fused_strip;

static inline int64_t fused_row_count(const sattn_fused_args *a)
{
    return a->n_group * (a->i1 - a->i0);
}

static inline int64_t fused_key_end(const sattn_fused_args *a, int64_t i)
{
    if (!a->visible.causal)
        return a->j1;
    /* offset is any int64_t, so i + offset + 1 may not fit; compare without forming it. */
    if (a->visible.causal_offset >= a->j1 - i)
        return a->j1;
    if (a->visible.causal_offset < a->j0 - i)
        return a->j0;
    return i + a->visible.causal_offset + 1;
}

/* Rows first .. first + n_lanes - 1 of the flattened list. */
static inline void fused_strip_fill(fused_strip *s, const sattn_fused_args *a, int64_t first,
                                    int n_lanes)
{
    const int64_t rest = fused_row_count(a) - first;
    int64_t i = a->i0 + first / a->n_group;
    int64_t g = first % a->n_group;
    s->n_lanes = n_lanes;
    s->n_rows = rest < n_lanes ? (int)rest : n_lanes;
    s->mask_is_shared =
        (a->visible.mask_group_stride == 0 || a->n_group == 1) && a->visible.mask_row_stride == 0;
    s->key_end_min = INT64_MAX;
    s->key_end_max = 0;
    for (int r = 0; r < n_lanes; ++r) {
        const int64_t mask_at = g * a->visible.mask_group_stride + i * a->visible.mask_row_stride;
        s->q[r] = a->q + g * a->q_group_stride + i * a->q_stride;
        s->o[r] = a->o + g * a->o_group_stride + i * a->o_stride;
        s->mask_bool[r] = a->visible.mask_bool ? a->visible.mask_bool + mask_at : NULL;
        s->mask_add[r] = a->visible.mask_add ? a->visible.mask_add + mask_at : NULL;
        s->stat[r] = g * a->stat_group_stride + i;
        s->key_end[r] = fused_key_end(a, i);
        if (s->key_end[r] < s->key_end_min)
            s->key_end_min = s->key_end[r];
        if (s->key_end[r] > s->key_end_max)
            s->key_end_max = s->key_end[r];
        if (r + 1 < s->n_rows && ++g == a->n_group) {
            g = 0;
            ++i;
        }
    }
}

/* What the mask adds to the score of row r at element `at` of its mask row. */
static inline float fused_strip_bias(const fused_strip *s, int r, int64_t at)
{
    if (s->mask_bool[r])
        return s->mask_bool[r][at] ? 0.0f : -INFINITY;
    return s->mask_add[r][at];
}

/* What a row's finished sums mean (contract.h, "Specials" and "Statistics"): stores the statistics
 * and returns the factor that turns the accumulated row into the output. `seen` tells whether any
 * key was visible; the caller writes +0 where it was not, since a hidden non-finite V row may have
 * spoilt the accumulated zeros. */
static inline float fused_row_finish(const sattn_fused_args *a, const fused_strip *s, int r,
                                     float row_max, float row_sum, bool seen)
{
    if (a->row_max)
        a->row_max[s->stat[r]] = row_max;
    if (a->row_sum)
        a->row_sum[s->stat[r]] = seen && row_sum == 0.0f ? 1.0f : row_sum;
    if (a->partial)
        return 1.0f;
    /* Visible but all -inf: 0 * (1 / 0) is the NaN that the contract asks for. */
    return 1.0f / row_sum;
}

#endif
