/* SPDX-License-Identifier: MIT
 *
 * softmax_row.h: one row of a softmax: where it lies, which of its keys are visible, and how they
 * fall into vectors. */
#ifndef SATTN_KERNELS_SOFTMAX_ROW_H
#define SATTN_KERNELS_SOFTMAX_ROW_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"
#include "kernels/visibility.h"

#include <math.h>

/* The mask that stands between a score and its exp. */
typedef enum softmax_mask {
    SOFTMAX_UNMASKED,
    SOFTMAX_BOOL,  /* mask_bool[j] */
    SOFTMAX_BIAS,  /* mask_add[j] */
    SOFTMAX_SHIFT, /* mask_add[0], not -inf, for every key */
} softmax_mask;

/* Keys [begin, end) of a row, cut into vectors at multiples of the number of lanes. All are columns
 * of the row. */
typedef struct softmax_cut {
    int64_t begin, end;
    int64_t first;          /* of the first vector */
    int64_t body, body_end; /* of the vectors whose keys are all in [begin, end) */
    /* Of a vector that holds the keys [body_end, end), if there are any. It is body_end, unless
     * such a vector would leave the row: then it ends with the row, and meets keys of the vectors
     * before, so it must be loaded before those are stored. There is room for that, since a whole
     * vector comes before. */
    int64_t tail;
    bool has_head; /* the first vector is no part of the body */
    bool has_tail; /* keys [body_end, end) are left */
} softmax_cut;

typedef struct softmax_row {
    const float *s; /* at column 0, like the pointers below; the tile, with ALiBi */
    float *p;
    const uint8_t *mask_bool;
    const float *mask_add;
    softmax_mask mask;
    int64_t n_columns;
    softmax_cut keys; /* visible but for the mask; empty where a broadcast mask hides all. Nothing
                         is read outside. */
    float max, sum;   /* -inf and 0 until they are known */
    int64_t stat;     /* index into row_max and row_sum */
    bool has_alibi;   /* else the next are not set */
    bool is_near;     /* float and int32_t hold all distances, those of lanes beside the keys too */
    float slope;      /* what the distance is multiplied by: minus the slope of the head */
    int64_t position; /* of the query among the keys */
    int64_t origin;   /* the column where the tile begins */
    const float *raw; /* scores as they came */
    float *tile; /* of one cut: the scores with their bias. A vector that had to be moved to end
                    with the row has its place at body_end all the same, so every vector is read
                    as it was stored. */
} softmax_row;

SATTN_INLINE softmax_cut softmax_cut_of(int64_t n_columns, int64_t begin, int64_t end, int lanes)
{
    const int64_t whole = -(int64_t)lanes; /* lanes are a power of two */
    softmax_cut cut = {.begin = begin, .end = end, .first = begin & whole};
    cut.has_head = begin > cut.first || end < cut.first + lanes;
    cut.body = cut.has_head ? cut.first + lanes : cut.first;
    cut.body_end = (end & whole) > cut.body ? end & whole : cut.body;
    cut.has_tail = end > cut.body_end;
    cut.tail = cut.body_end + lanes > n_columns ? n_columns - lanes : cut.body_end;
    return cut;
}

/* Query row i of head g. */
SATTN_INLINE void softmax_row_open(softmax_row *row, const sattn_softmax_args *a, int64_t g,
                                   int64_t i, int lanes, const bool has_alibi)
{
    const sattn_visibility *const visible = &a->visible;
    row->s = a->s + g * a->s_group_stride + i * a->s_stride;
    row->p = a->p + g * a->p_group_stride + i * a->p_stride;
    row->mask_bool = sattn_mask_bool_row(visible, g, i);
    row->mask_add = sattn_mask_add_row(visible, g, i);
    row->mask = SOFTMAX_UNMASKED;
    row->n_columns = a->n_columns;
    row->max = -INFINITY;
    row->sum = 0.0f;
    row->stat = g * a->stat_group_stride + i;
    sattn_key_range keys = sattn_visible_range(visible, i);
    /* A mask of no keys has no element to look at. */
    if ((row->mask_bool || row->mask_add) && keys.begin < keys.end) {
        const bool is_broadcast = visible->mask_key_stride == 0;
        bool hides_all;
        if (row->mask_bool) {
            row->mask = is_broadcast ? SOFTMAX_UNMASKED : SOFTMAX_BOOL;
            hides_all = is_broadcast && *row->mask_bool == 0;
        } else {
            row->mask = is_broadcast ? SOFTMAX_SHIFT : SOFTMAX_BIAS;
            hides_all = is_broadcast && *row->mask_add == -INFINITY;
        }
        if (hides_all)
            keys.begin = keys.end = 0;
    }
    row->has_alibi = has_alibi;
    if (has_alibi) {
        row->raw = row->s;
        row->s = row->tile = a->scratch;
        row->slope = -visible->alibi_slopes[g];
        row->position = sattn_add_held(visible->causal_offset, i);
        row->is_near = sattn_alibi_is_near(row->position, keys.begin) &&
                       sattn_alibi_is_near(row->position, keys.end);
    }
    row->keys = softmax_cut_of(row->n_columns, keys.begin, keys.end, lanes);
}

/* The scores from column j on. */
SATTN_INLINE const float *softmax_scores(softmax_row row, int64_t j)
{
    return row.has_alibi ? row.s + (j - row.origin) : row.s + j;
}

/* The scores of the tail's vector. */
SATTN_INLINE const float *softmax_tail_scores(softmax_row row, softmax_cut cut)
{
    return softmax_scores(row, row.has_alibi ? cut.body_end : cut.tail);
}

/* Whether the mask lets key j through. */
SATTN_INLINE bool softmax_is_visible(const softmax_row *row, int64_t j)
{
    if (row->mask == SOFTMAX_BOOL)
        return row->mask_bool[j] != 0;
    return row->mask != SOFTMAX_BIAS || row->mask_add[j] != -INFINITY;
}

#endif
