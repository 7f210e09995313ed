/* SPDX-License-Identifier: MIT
 *
 * visibility.h: which keys a row can see at all, before its mask is looked at, and how far from it
 * they are.
 *
 * Length, causal limit and window leave one interval of keys, which may be empty. Offsets and
 * window widths are any int64_t, so no sum of them is formed before it is known to fit. */
#ifndef SATTN_KERNELS_VISIBILITY_H
#define SATTN_KERNELS_VISIBILITY_H

#include "kernels/contract.h"

/* Keys [begin, end), within [0, n_k]. */
typedef struct sattn_key_range {
    int64_t begin, end;
} sattn_key_range;

/* a + b, held at the ends of int64_t. */
static inline int64_t sattn_add_held(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

/* The keys [begin, end) that causal limit and window leave query row i, counted on beyond both ends
 * of the keys: begin < end, unless a sum is held. Sums are formed so that where one is held, what
 * it is held at lies beyond every key all the same. */
static inline sattn_key_range sattn_limits(const sattn_visibility *visible, int64_t i)
{
    const int64_t offset = visible->causal_offset;
    sattn_key_range limits = {INT64_MIN, INT64_MAX};
    if (visible->causal)
        limits.end = sattn_add_held(sattn_add_held(offset, i), 1);
    if (visible->has_window && visible->window_right >= 0) {
        const int64_t last = sattn_add_held(sattn_add_held(offset, visible->window_right), i);
        limits.end = last < limits.end - 1 ? last + 1 : limits.end;
    }
    if (visible->has_window && visible->window_left >= 0)
        limits.begin = sattn_add_held(sattn_add_held(offset, -visible->window_left), i);
    return limits;
}

/* The keys that query row i may see. */
static inline sattn_key_range sattn_visible_range(const sattn_visibility *visible, int64_t i)
{
    sattn_key_range range = sattn_limits(visible, i);
    range.begin = range.begin > 0 ? range.begin : 0;
    range.end = range.end < visible->n_k ? range.end : visible->n_k;
    if (range.begin >= range.end)
        return (sattn_key_range){0, 0};
    return range;
}

/* ALiBi's distance |position - j| of a key, rounded once. */
static inline float sattn_alibi_distance(int64_t position, int64_t j)
{
    const uint64_t ahead = (uint64_t)position - (uint64_t)j;
    return (float)(position >= j ? ahead : 0 - ahead);
}

/* True if float and int32_t hold the distances to key j and the SATTN_KEY_BLOCK - 1 keys on either
 * side of it. */
static inline bool sattn_alibi_is_near(int64_t position, int64_t j)
{
    const int64_t most = ((int64_t)1 << 24) - SATTN_KEY_BLOCK;
    const int64_t ahead = sattn_add_held(position, -j);
    return ahead > -most && ahead < most;
}

/* The mask rows of query row i of head g; NULL where there is no mask of the kind. */
static inline const uint8_t *sattn_mask_bool_row(const sattn_visibility *visible, int64_t g,
                                                 int64_t i)
{
    if (!visible->mask_bool)
        return NULL;
    return visible->mask_bool + g * visible->mask_group_stride + i * visible->mask_row_stride;
}

static inline const float *sattn_mask_add_row(const sattn_visibility *visible, int64_t g, int64_t i)
{
    if (!visible->mask_add)
        return NULL;
    return visible->mask_add + g * visible->mask_group_stride + i * visible->mask_row_stride;
}

#endif
