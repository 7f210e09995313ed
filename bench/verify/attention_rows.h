/* SPDX-License-Identifier: MIT
 *
 * attention_rows.h: the public call's arguments, row by row as the oracle wants them.
 *
 * The mapping of batch entries, heads, broadcasts and defaults is written out here once more, on
 * purpose: what dispatch gets wrong must not be wrong here in the same way. */
#ifndef SATTN_BENCH_VERIFY_ATTENTION_ROWS_H
#define SATTN_BENCH_VERIFY_ATTENTION_ROWS_H

#include "bench/verify/compare.h"
#include "bench/verify/visible.h"

#include <math.h>

static inline int64_t sattn_verify_stride(int64_t extent, int64_t stride)
{
    return extent == 1 ? 0 : stride;
}

static inline int64_t sattn_verify_keys_valid(const sattn_attention_args *a, int64_t batch)
{
    return a->n_k_valid ? a->n_k_valid[batch] : a->n_k;
}

static inline int64_t sattn_verify_kv_head(const sattn_attention_args *a, int64_t head)
{
    return head / (a->n_q_heads / a->n_kv_heads);
}

/* The row of a tensor [batch, heads, n_rows, ..]; `data` is at its first element. NULL where there
 * is none, as without keys. */
static inline const float *sattn_verify_view_rows(const sattn_view *view,
                                                  const sattn_attention_args *a, int64_t batch,
                                                  int64_t n_heads, int64_t head)
{
    if (!view->data)
        return NULL;
    return (const float *)view->data + batch * sattn_verify_stride(a->batch, view->stride_b) +
           head * sattn_verify_stride(n_heads, view->stride_h);
}

static inline const float *sattn_verify_output_row(const sattn_attention_args *a, int64_t batch,
                                                   int64_t head, int64_t i)
{
    return (const float *)a->o.data + batch * sattn_verify_stride(a->batch, a->o.stride_b) +
           head * sattn_verify_stride(a->n_q_heads, a->o.stride_h) +
           i * sattn_verify_stride(a->n_q, a->o.stride_t);
}

static inline void sattn_verify_map_mask(const sattn_attention_args *a, int64_t batch, int64_t head,
                                         int64_t i, sattn_ref_row_args *row)
{
    const sattn_mask *const mask = &a->mask;
    if (!mask->data)
        return;
    const int64_t at = batch * sattn_verify_stride(mask->extent[0], mask->stride[0]) +
                       head * sattn_verify_stride(mask->extent[1], mask->stride[1]) +
                       i * sattn_verify_stride(mask->extent[2], mask->stride[2]);
    row->mask_key_stride = mask->extent[3] == 1 ? 0 : 1;
    if (mask->kind == SATTN_MASK_BOOL)
        row->mask_bool = (const uint8_t *)mask->data + at;
    else if (mask->kind == SATTN_MASK_ADDITIVE)
        row->mask_add = (const float *)mask->data + at;
}

static inline sattn_ref_row_args sattn_verify_map_row(const sattn_attention_args *a, int64_t batch,
                                                      int64_t head, int64_t i)
{
    const int64_t valid = sattn_verify_keys_valid(a, batch);
    const sattn_verify_limits limits = {
        .n_k = valid,
        .causal = a->causal,
        .has_window = a->has_window,
        .offset = a->causal_offset ? a->causal_offset[batch] : valid - a->n_q,
        .window_left = a->window_left,
        .window_right = a->window_right,
    };
    const sattn_verify_keys keys = sattn_verify_visible(&limits, i);

    sattn_ref_row_args row = {
        .q = sattn_verify_view_rows(&a->q, a, batch, a->n_q_heads, head) +
             i * sattn_verify_stride(a->n_q, a->q.stride_t),
        .k = sattn_verify_view_rows(&a->k, a, batch, a->n_kv_heads, sattn_verify_kv_head(a, head)),
        .v = sattn_verify_view_rows(&a->v, a, batch, a->n_kv_heads, sattn_verify_kv_head(a, head)),
        .k_stride = sattn_verify_stride(a->n_k, a->k.stride_t),
        .v_stride = sattn_verify_stride(a->n_k, a->v.stride_t),
        .d = a->d,
        .d_v = a->d_v,
        .key_begin = keys.begin,
        .key_end = keys.end,
        .scale = a->has_scale ? (double)a->scale : 1.0 / sqrt((double)a->d),
        .softcap = (double)a->softcap,
        .has_sink = a->sinks != NULL,
        .sink = a->sinks ? (double)a->sinks[head] : 0.0,
        .alibi_slope = a->alibi_slopes ? (double)a->alibi_slopes[head] : 0.0,
        .position = sattn_verify_add(i, limits.offset),
    };
    sattn_verify_map_mask(a, batch, head, i, &row);
    return row;
}

#endif
