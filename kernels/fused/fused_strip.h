/* SPDX-License-Identifier: MIT
 *
 * fused_strip.h: the rows that a fused kernel works on together, and which keys each one sees.
 *
 * The heads of a GQA group share K and V, so their query rows are flattened into one list, row
 * r = (i - i0) * n_group + g, and cut into strips. Query-major order keeps the key ranges of a
 * strip close together, and lets few queries of a large group fill a strip: each K and V row that
 * is read serves the whole strip. */
#ifndef SATTN_KERNELS_FUSED_STRIP_H
#define SATTN_KERNELS_FUSED_STRIP_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"
#include "kernels/visibility.h"

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
    /* With ALiBi: what the distance to a key is multiplied by, minus the slope of the head, and
     * where the query stands among the keys. */
    float slope[SATTN_TILE_QUERIES_MAX];
    int64_t position[SATTN_TILE_QUERIES_MAX];
    /* What length, causal limit and window leave of the keys [j0, j1). A row that they leave none
     * has [j1, j0), which moves neither the first begin nor the last end. */
    int64_t key_begin[SATTN_TILE_QUERIES_MAX];
    int64_t key_end[SATTN_TILE_QUERIES_MAX];
    int64_t key_begin_min, key_begin_max;
    int64_t key_end_min, key_end_max;
} fused_strip;

static inline int64_t fused_row_count(const sattn_fused_args *a)
{
    return a->n_group * (a->i1 - a->i0);
}

static inline void fused_strip_row(fused_strip *s, const sattn_fused_args *a, int r, int64_t i,
                                   int64_t g)
{
    const sattn_key_range keys = sattn_visible_range(&a->visible, i);
    const int64_t begin = keys.begin > a->j0 ? keys.begin : a->j0;
    const int64_t end = keys.end < a->j1 ? keys.end : a->j1;
    s->q[r] = a->q + g * a->q_group_stride + i * a->q_stride;
    s->o[r] = a->o + g * a->o_group_stride + i * a->o_stride;
    s->mask_bool[r] = sattn_mask_bool_row(&a->visible, g, i);
    s->mask_add[r] = sattn_mask_add_row(&a->visible, g, i);
    s->stat[r] = g * a->stat_group_stride + i;
    if (a->visible.alibi_slopes) {
        s->slope[r] = -a->visible.alibi_slopes[g];
        s->position[r] = sattn_add_held(a->visible.causal_offset, i);
    }
    s->key_begin[r] = begin < end ? begin : a->j1;
    s->key_end[r] = begin < end ? end : a->j0;
    s->key_begin_min = s->key_begin[r] < s->key_begin_min ? s->key_begin[r] : s->key_begin_min;
    s->key_begin_max = s->key_begin[r] > s->key_begin_max ? s->key_begin[r] : s->key_begin_max;
    s->key_end_min = s->key_end[r] < s->key_end_min ? s->key_end[r] : s->key_end_min;
    s->key_end_max = s->key_end[r] > s->key_end_max ? s->key_end[r] : s->key_end_max;
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
    s->key_begin_min = s->key_end_min = INT64_MAX;
    s->key_begin_max = s->key_end_max = 0;
    for (int r = 0; r < n_lanes; ++r) {
        fused_strip_row(s, a, r, i, g);
        if (r + 1 < s->n_rows && ++g == a->n_group) {
            g = 0;
            ++i;
        }
    }
}

/* Where the bound `key` falls among the n keys from `first` on: 0 .. n. */
static inline int fused_place(int64_t key, int64_t first, int n)
{
    const int64_t place = key - first;
    return place < 0 ? 0 : place > n ? n : (int)place;
}

/* ALiBi of row r and the n keys from `first` on, of which none need be near; s[j * stride] is the
 * score of key first + j. */
static inline void fused_add_far(const fused_strip *strip, int r, float *s, int stride,
                                 int64_t first, int n)
{
    for (int j = 0; j < n; ++j, s += stride) {
        SATTN_KEEP_ORDER(); /* no vectors: in what is rare they would only take up room */
        *s = fmaf(strip->slope[r], sattn_alibi_distance(strip->position[r], first + j), *s);
    }
}

/* What the mask adds to the score of row r at element `at` of its mask row. */
static inline float fused_strip_bias(const fused_strip *s, int r, int64_t at)
{
    if (s->mask_bool[r])
        return s->mask_bool[r][at] ? 0.0f : -INFINITY;
    return s->mask_add[r][at];
}

/* True if row r's mask lets one of the n keys from j on through. */
static inline bool fused_strip_shows(const fused_strip *s, int r, int64_t j, int64_t n)
{
    unsigned shown = 0;
    for (int64_t u = 0; s->mask_bool[r] && u < n; ++u)
        shown |= s->mask_bool[r][j + u];
    for (int64_t u = 0; s->mask_add[r] && u < n; ++u)
        shown |= s->mask_add[r][j + u] != -INFINITY ? 1u : 0u;
    return shown != 0;
}

/* True if row r sees a key. If one of its scores is above -inf, or NaN, the sum of its weights says
 * so: the largest weighed 1 when m was last raised. Limits and mask tell in the rare other case, so
 * no kernel keeps account of what it saw. */
static inline bool fused_row_sees(const sattn_fused_args *a, const fused_strip *s, int r,
                                  float row_sum)
{
    const int64_t end = s->key_end[r];
    if (row_sum != 0.0f || s->key_begin[r] >= end)
        return row_sum != 0.0f;
    if (!a->visible.mask_bool && !a->visible.mask_add)
        return true;
    if (a->visible.mask_key_stride == 0)
        return fused_strip_shows(s, r, 0, 1);
    for (int64_t j = s->key_begin[r]; j < end; j += SATTN_KEY_BLOCK)
        if (fused_strip_shows(s, r, j, end - j < SATTN_KEY_BLOCK ? end - j : SATTN_KEY_BLOCK))
            return true;
    return false;
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
