/* SPDX-License-Identifier: MIT
 *
 * unit.c: finds the memory of a work unit. */
#include "dispatch/unit.h"

#include "dispatch/attention_check.h"
#include "kernels/visibility.h"

/* Offset of batch entry b and head h; the stride of an extent of 1 may hold anything. */
static int64_t offset_of(const sattn_attention_args *a, int64_t b, int64_t stride_b,
                         int64_t n_heads, int64_t h, int64_t stride_h)
{
    return (a->batch > 1 ? b * stride_b : 0) + (n_heads > 1 ? h * stride_h : 0);
}

/* data + offset floats, where data may be NULL for a tensor without rows or one not used. */
static const float *read_at(const void *data, int64_t offset)
{
    return data ? (const float *)data + offset : NULL;
}

static float *write_at(void *data, int64_t offset)
{
    return data ? (float *)data + offset : NULL;
}

static void set_mask(sattn_visibility *visible, const sattn_mask *mask, int64_t b, int64_t head)
{
    int64_t stride[4];
    if (mask->kind == SATTN_MASK_NONE || !mask->data)
        return;
    for (int axis = 0; axis < 4; ++axis)
        stride[axis] = mask->extent[axis] > 1 ? mask->stride[axis] : 0;
    const int64_t at = b * stride[0] + head * stride[1];
    if (mask->kind == SATTN_MASK_BOOL)
        visible->mask_bool = (const uint8_t *)mask->data + at;
    else
        visible->mask_add = (const float *)mask->data + at;
    visible->mask_group_stride = stride[1];
    visible->mask_row_stride = stride[2];
    visible->mask_key_stride = stride[3];
}

static sattn_visibility visibility_of(const sattn_attention_args *a, int64_t b, int64_t head)
{
    const int64_t n_k = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    const bool is_limited = a->causal || a->has_window;
    sattn_visibility visible = {.n_k = n_k,
                                .causal = a->causal,
                                .has_window = a->has_window,
                                .causal_offset = is_limited ? sattn_causal_offset(a, b, n_k) : 0,
                                .window_left = a->window_left,
                                .window_right = a->window_right};
    set_mask(&visible, &a->mask, b, head);
    return visible;
}

sattn_unit sattn_unit_of(const sattn_attention_args *a, int64_t n_group, int64_t b, int64_t kv)
{
    const int64_t head = kv * n_group, heads = a->n_q_heads;
    const bool one_row = a->n_q == 1, one_head = n_group == 1;
    sattn_unit unit = {
        .q = read_at(a->q.data, offset_of(a, b, a->q.stride_b, heads, head, a->q.stride_h)),
        .k = read_at(a->k.data, offset_of(a, b, a->k.stride_b, a->n_kv_heads, kv, a->k.stride_h)),
        .v = read_at(a->v.data, offset_of(a, b, a->v.stride_b, a->n_kv_heads, kv, a->v.stride_h)),
        .o = write_at(a->o.data, offset_of(a, b, a->o.stride_b, heads, head, a->o.stride_h)),
        .lse = write_at(a->lse, offset_of(a, b, a->lse_stride_b, heads, head, a->lse_stride_h)),
        .scores = write_at(a->scores,
                           offset_of(a, b, a->scores_stride_b, heads, head, a->scores_stride_h)),
        .scores_in = read_at(a->scores_in, offset_of(a, b, a->scores_in_stride_b, heads, head,
                                                     a->scores_in_stride_h)),
        .q_stride = one_row ? 0 : a->q.stride_t,
        .o_stride = one_row ? 0 : a->o.stride_t,
        .scores_stride = one_row ? 0 : a->scores_stride_t,
        .scores_in_stride = one_row ? 0 : a->scores_in_stride_t,
        .q_group_stride = one_head ? 0 : a->q.stride_h,
        .o_group_stride = one_head ? 0 : a->o.stride_h,
        .lse_group_stride = one_head ? 0 : a->lse_stride_h,
        .scores_group_stride = one_head ? 0 : a->scores_stride_h,
        .scores_in_group_stride = one_head ? 0 : a->scores_in_stride_h,
        .n_group = n_group,
        .n_q = a->n_q,
        .n_k = a->n_k,
        .d = a->d,
        .d_v = a->d_v,
        .visible = visibility_of(a, b, head),
    };
    const bool one_key = unit.visible.n_k <= 1;
    unit.k_stride = one_key ? 0 : a->k.stride_t;
    unit.v_stride = one_key ? 0 : a->v.stride_t;
    return unit;
}

sattn_visibility sattn_visibility_from(const sattn_visibility *visible, int64_t i0, int64_t j0,
                                       int64_t n_k)
{
    sattn_visibility from = *visible;
    const int64_t mask_at = i0 * visible->mask_row_stride + j0 * visible->mask_key_stride;
    from.n_k = n_k;
    from.causal_offset = sattn_add_held(visible->causal_offset, i0 - j0);
    if (from.mask_bool)
        from.mask_bool += mask_at;
    if (from.mask_add)
        from.mask_add += mask_at;
    return from;
}
