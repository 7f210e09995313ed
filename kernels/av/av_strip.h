/* SPDX-License-Identifier: MIT
 *
 * av_strip.h: rows of P and O that share each block of V while it is in cache, and what they see.
 *
 * The query rows of all heads that share V are one list, row r = (i - i0) * n_group + g, so that
 * causal limits of neighbours are close together and few queries of a large group fill a tile. */
#ifndef SATTN_KERNELS_AV_STRIP_H
#define SATTN_KERNELS_AV_STRIP_H

#include "kernels/visibility.h"

#include <math.h>

typedef struct av_strip {
    int n_rows;
    bool has_mask;
    bool has_parts;       /* sums go to the rows' parts */
    int64_t fetch;        /* bytes, of the first tile */
    sattn_key_range some; /* from the first to the last key that some row may see */
    sattn_key_range all;  /* keys that all rows may see; may be empty */
    const float *p[SATTN_TILE_QUERIES_MAX];
    const float *next; /* p of the first row of the next strip, or NULL */
    float *o[SATTN_TILE_QUERIES_MAX];
    float *to[SATTN_TILE_QUERIES_MAX]; /* where sums go: o, or the row's part */
    /* NULL, or the mask row. A mask that is the same for all keys leaves or empties the range. */
    const uint8_t *mask_bool[SATTN_TILE_QUERIES_MAX];
    const float *mask_add[SATTN_TILE_QUERIES_MAX];
    sattn_key_range keys[SATTN_TILE_QUERIES_MAX];
    bool seen[SATTN_TILE_QUERIES_MAX];      /* a key is visible */
    bool is_stored[SATTN_TILE_QUERIES_MAX]; /* the tile that begins with this row was stored */
} av_strip;

static inline bool av_mask_hides(const sattn_visibility *visible, int64_t g, int64_t i)
{
    const uint8_t *const mask_bool = sattn_mask_bool_row(visible, g, i);
    const float *const mask_add = sattn_mask_add_row(visible, g, i);
    return mask_bool ? *mask_bool == 0 : mask_add && *mask_add == -INFINITY;
}

static inline const float *av_strip_weights(const sattn_av_args *a, int64_t g, int64_t i)
{
    return a->p + g * a->p_group_stride + i * a->p_stride;
}

static inline void av_strip_row(av_strip *s, const sattn_av_args *a, int r, int64_t g, int64_t i)
{
    sattn_key_range keys = sattn_visible_range(&a->visible, i);
    if (!s->has_mask && keys.begin < keys.end && av_mask_hides(&a->visible, g, i))
        keys = (sattn_key_range){0, 0};
    s->p[r] = av_strip_weights(a, g, i);
    s->o[r] = a->o + g * a->o_group_stride + i * a->o_stride;
    s->to[r] = s->o[r];
    s->mask_bool[r] = s->has_mask ? sattn_mask_bool_row(&a->visible, g, i) : NULL;
    s->mask_add[r] = s->has_mask ? sattn_mask_add_row(&a->visible, g, i) : NULL;
    s->keys[r] = keys;
    s->seen[r] = !s->has_mask && keys.begin < keys.end;
    s->is_stored[r] = false;
    s->all.begin = keys.begin > s->all.begin ? keys.begin : s->all.begin;
    s->all.end = keys.end < s->all.end ? keys.end : s->all.end;
    if (keys.begin < keys.end) {
        s->some.begin = keys.begin < s->some.begin ? keys.begin : s->some.begin;
        s->some.end = keys.end > s->some.end ? keys.end : s->some.end;
    }
}

/* Rows first .. first + n_rows - 1 of the flattened list. */
static inline void av_strip_fill(av_strip *s, const sattn_av_args *a, int64_t first, int n_rows)
{
    int64_t i = a->i0 + first / a->n_group;
    int64_t g = first % a->n_group;
    s->n_rows = n_rows;
    s->has_mask = (a->visible.mask_bool || a->visible.mask_add) && a->visible.mask_key_stride != 0;
    s->has_parts = false;
    s->some = (sattn_key_range){a->visible.n_k, 0};
    s->all = (sattn_key_range){0, a->visible.n_k};
    for (int r = 0; r < n_rows; ++r) {
        av_strip_row(s, a, r, g, i);
        if (++g == a->n_group) {
            g = 0;
            ++i;
        }
    }
    s->next = i < a->i1 ? av_strip_weights(a, g, i) : NULL;
}

#endif
