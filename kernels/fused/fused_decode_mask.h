/* SPDX-License-Identifier: MIT
 *
 * fused_decode_mask.h: what comes between the scores of fused_decode.h and their weights: softcap,
 * ALiBi, mask, causal limit and window. Plain loops over a row of scores. */
#ifndef SATTN_KERNELS_FUSED_DECODE_MASK_H
#define SATTN_KERNELS_FUSED_DECODE_MASK_H

#include "kernels/fused/fused_decode_state.h"

static inline void fused_decode_mask_bool(float *s, const uint8_t *mask, int n)
{
    for (int j = 0; j < n; ++j)
        s[j] = mask[j] ? s[j] : -INFINITY;
}

static inline void fused_decode_mask_add(float *s, const float *mask, int n)
{
    for (int j = 0; j < n; ++j) {
        const float biased = s[j] + mask[j];
        s[j] = mask[j] != -INFINITY ? biased : -INFINITY;
    }
}

static inline void fused_decode_mask_constant(float *s, float bias, int n)
{
    for (int j = 0; j < n; ++j)
        s[j] = bias == -INFINITY ? -INFINITY : s[j] + bias;
}

/* Softcap and ALiBi, whether a key is visible or not. */
static inline void fused_decode_bend(const sattn_fused_args *a, const fused_decode_ops *ops,
                                     const fused_decode_state *st, const fused_strip *strip,
                                     const fused_decode_block *block)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        if (a->softcap != 0.0f)
            ops->cap(s, block->n_keys, a->softcap);
        if (a->visible.alibi_slopes && sattn_alibi_is_near(strip->position[r], block->first)) {
            const fused_decode_alibi alibi = {
                .slope = strip->slope[r], .position = (float)(strip->position[r] - block->first)};
            ops->slope(s, block->n_keys, &alibi);
        } else if (a->visible.alibi_slopes) {
            fused_add_far(strip, r, s, 1, block->first, block->n_keys);
        }
    }
}

/* Adds the mask row of row r to n scores from key j on, -inf where it hides, whatever s holds. */
static inline void fused_decode_mask(const sattn_fused_args *a, const fused_strip *strip, int r,
                                     float *s, int64_t j, int n)
{
    if (a->visible.mask_key_stride == 0)
        fused_decode_mask_constant(s, fused_strip_bias(strip, r, 0), n);
    else if (a->visible.mask_bool)
        fused_decode_mask_bool(s, strip->mask_bool[r] + j, n);
    else
        fused_decode_mask_add(s, strip->mask_add[r] + j, n);
}

/* -inf where mask, causal limit or window hide, whatever s holds there, and behind the last key;
 * the mask's bias elsewhere. */
static inline void fused_decode_hide(const sattn_fused_args *a, const fused_decode_state *st,
                                     const fused_strip *strip, const fused_decode_block *block)
{
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    const int n = fused_decode_columns(block);
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const sattn_key_range keys = fused_row_keys(strip, r);
        const int begin = fused_place(keys.begin, block->first, block->n_keys);
        const int end = fused_place(keys.end, block->first, block->n_keys);
        if (masked && begin < end)
            fused_decode_mask(a, strip, r, s + begin, block->first + begin, end - begin);
        for (int j = 0; j < begin; ++j)
            s[j] = -INFINITY;
        for (int j = end; j < n; ++j)
            s[j] = -INFINITY;
    }
}

#endif
