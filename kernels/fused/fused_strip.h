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
    bool mask_is_shared;                  /* every row has the same mask row */
    int64_t first_query;                  /* i of the first row */
    int32_t step[SATTN_TILE_QUERIES_MAX]; /* queries that the row is further on than the first */
    int64_t head[SATTN_TILE_QUERIES_MAX]; /* g of the row */
    const float *q[SATTN_TILE_QUERIES_MAX];
    float *o[SATTN_TILE_QUERIES_MAX];
    /* Where there is a mask: the mask row of its kind, NULL of the other. */
    const uint8_t *mask_bool[SATTN_TILE_QUERIES_MAX];
    const float *mask_add[SATTN_TILE_QUERIES_MAX];
    /* With ALiBi: what the distance to a key is multiplied by, minus the slope of the head, and
     * where the query stands among the keys. */
    float slope[SATTN_TILE_QUERIES_MAX];
    int64_t position[SATTN_TILE_QUERIES_MAX];
    /* A row sees what lies in [j0, j1) of the keys from limits.begin + step to limits.end + step.
     */
    sattn_key_range limits;
    int64_t j0, j1;
    int64_t key_begin_min, key_begin_max;
    int64_t key_end_min, key_end_max;
} fused_strip;

static inline int64_t fused_row_count(const sattn_fused_args *a)
{
    return a->n_group * (a->i1 - a->i0);
}

/* `value`, but at least `low` and at most `high`. */
static inline int64_t fused_held(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* What length, causal limit and window leave row r of the keys, maybe none. From row to row neither
 * end ever moves back. */
static inline sattn_key_range fused_row_keys(const fused_strip *s, int r)
{
    return (sattn_key_range){fused_held(s->limits.begin + s->step[r], s->j0, s->j1),
                             fused_held(s->limits.end + s->step[r], s->j0, s->j1)};
}

/* Limits move on by one key per query, so those of the strip's first row tell all others. They are
 * held where, a strip further on, they still lie before all keys, and behind them. */
static inline void fused_strip_limit(fused_strip *s, const sattn_fused_args *a)
{
    const sattn_key_range limits = sattn_limits(&a->visible, s->first_query);
    s->limits.begin = fused_held(limits.begin, -SATTN_TILE_QUERIES_MAX, a->j1);
    s->limits.end = fused_held(limits.end, -SATTN_TILE_QUERIES_MAX, a->j1);
    s->j0 = a->j0;
    s->j1 = a->j1;
    const sattn_key_range first = fused_row_keys(s, 0);
    const sattn_key_range last = fused_row_keys(s, s->n_lanes - 1);
    s->key_begin_min = first.begin;
    s->key_begin_max = last.begin;
    s->key_end_min = first.end;
    s->key_end_max = last.end;
}

static inline void fused_strip_bend(fused_strip *s, const sattn_fused_args *a)
{
    for (int r = 0; r < s->n_lanes; ++r) {
        s->slope[r] = -a->visible.alibi_slopes[s->head[r]];
        s->position[r] = sattn_add_held(a->visible.causal_offset, s->first_query + s->step[r]);
    }
}

static inline void fused_strip_mask(fused_strip *s, const sattn_fused_args *a)
{
    s->mask_is_shared =
        (a->visible.mask_group_stride == 0 || a->n_group == 1) && a->visible.mask_row_stride == 0;
    for (int r = 0; r < s->n_lanes; ++r) {
        const int64_t i = s->first_query + s->step[r];
        s->mask_bool[r] = sattn_mask_bool_row(&a->visible, s->head[r], i);
        s->mask_add[r] = sattn_mask_add_row(&a->visible, s->head[r], i);
    }
}

/* Rows first .. first + n_lanes - 1 of the flattened list: all heads of a query, then the next
 * query's. */
static inline void fused_strip_fill(fused_strip *s, const sattn_fused_args *a, int64_t first,
                                    int n_lanes)
{
    const int64_t rest = fused_row_count(a) - first;
    const int64_t last_head = a->n_group - 1;
    int64_t g = first % a->n_group;
    int step = 0;
    s->first_query = a->i0 + first / a->n_group;
    s->n_lanes = n_lanes;
    s->n_rows = rest < n_lanes ? (int)rest : n_lanes;
    const float *q = a->q + g * a->q_group_stride + s->first_query * a->q_stride;
    float *o = a->o + g * a->o_group_stride + s->first_query * a->o_stride;
    for (int r = 0; r < n_lanes; ++r) {
        s->step[r] = step;
        s->head[r] = g;
        s->q[r] = q;
        s->o[r] = o;
        if (r + 1 >= s->n_rows)
            continue;
        const bool is_last = g == last_head;
        q += is_last ? a->q_stride - last_head * a->q_group_stride : a->q_group_stride;
        o += is_last ? a->o_stride - last_head * a->o_group_stride : a->o_group_stride;
        g = is_last ? 0 : g + 1;
        step += is_last;
    }
    fused_strip_limit(s, a);
    if (a->visible.alibi_slopes)
        fused_strip_bend(s, a);
    if (a->visible.mask_bool || a->visible.mask_add)
        fused_strip_mask(s, a);
}

/* Where the bound `key` falls among the n keys from `first` on: 0 .. n. */
static inline int fused_place(int64_t key, int64_t first, int n)
{
    return (int)fused_held(key - first, 0, n);
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
    const sattn_key_range keys = fused_row_keys(s, r);
    if (row_sum != 0.0f || keys.begin >= keys.end)
        return row_sum != 0.0f;
    if (!a->visible.mask_bool && !a->visible.mask_add)
        return true;
    if (a->visible.mask_key_stride == 0)
        return fused_strip_shows(s, r, 0, 1);
    for (int64_t j = keys.begin; j < keys.end; j += SATTN_KEY_BLOCK)
        if (fused_strip_shows(s, r, j, fused_held(keys.end - j, 0, SATTN_KEY_BLOCK)))
            return true;
    return false;
}

/* What a row's finished sums mean (contract.h, "Specials" and "Statistics"). `seen` tells whether
 * any key was visible; the caller writes +0 where it was not, since a hidden non-finite V row may
 * have spoilt the accumulated zeros. */
static inline void fused_row_statistics(const sattn_fused_args *a, const fused_strip *s, int r,
                                        float row_max, float row_sum, bool seen)
{
    const int64_t at = s->head[r] * a->stat_group_stride + s->first_query + s->step[r];
    if (a->row_max)
        a->row_max[at] = row_max;
    if (a->row_sum)
        a->row_sum[at] = seen && row_sum == 0.0f ? 1.0f : row_sum;
}

/* What turns an accumulated row into the output. Where all that is visible is -inf, 0 * (1 / 0) is
 * the NaN that the contract asks for. */
static inline float fused_row_factor(const sattn_fused_args *a, float row_sum)
{
    return a->partial ? 1.0f : 1.0f / row_sum;
}

/* Both. */
static inline float fused_row_finish(const sattn_fused_args *a, const fused_strip *s, int r,
                                     float row_max, float row_sum, bool seen)
{
    fused_row_statistics(a, s, r, row_max, row_sum, seen);
    return fused_row_factor(a, row_sum);
}

#endif
