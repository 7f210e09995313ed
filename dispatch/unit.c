/* SPDX-License-Identifier: MIT
 *
 * unit.c: finds the memory of a work unit. */
#include "dispatch/unit.h"

#include "dispatch/attention_check.h"

#include <math.h>

/* The tensor's rows of batch entry b and head h. The stride of an extent of 1 may hold anything,
 * and so may all strides of a tensor that is missing. */
static const float *head_of(const sattn_attention_args *a, const void *data, int64_t b,
                            int64_t stride_b, int64_t n_heads, int64_t h, int64_t stride_h)
{
    if (!data)
        return NULL;
    return (const float *)data + (a->batch > 1 ? b * stride_b : 0) +
           (n_heads > 1 ? h * stride_h : 0);
}

static float *output_head_of(const sattn_attention_args *a, void *data, int64_t b, int64_t stride_b,
                             int64_t h, int64_t stride_h)
{
    return (float *)(uintptr_t)head_of(a, data, b, stride_b, a->n_q_heads, h, stride_h);
}

static void set_mask(sattn_visibility *visible, const sattn_mask *mask, int64_t b, int64_t head)
{
    int64_t stride[4];
    visible->mask_bool = NULL;
    visible->mask_add = NULL;
    visible->mask_group_stride = visible->mask_row_stride = visible->mask_key_stride = 0;
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
    const bool has_offset = a->causal || a->has_window || a->alibi_slopes;
    sattn_visibility visible;
    visible.n_k = n_k;
    visible.causal = a->causal;
    visible.has_window = a->has_window;
    visible.causal_offset = has_offset ? sattn_causal_offset(a, b, n_k) : 0;
    visible.window_left = a->window_left;
    visible.window_right = a->window_right;
    visible.alibi_slopes = a->alibi_slopes ? a->alibi_slopes + head : NULL;
    set_mask(&visible, &a->mask, b, head);
    return visible;
}

/* Both ends of what a row sees rise from row to row. */
static sattn_key_range keys_of(const sattn_visibility *visible, int64_t n_q)
{
    if (!visible->causal && !visible->has_window)
        return (sattn_key_range){0, visible->n_k};
    const sattn_key_range first = sattn_visible_range(visible, 0);
    const sattn_key_range last = sattn_visible_range(visible, n_q - 1);
    /* A row that sees nothing may stand before the first key or behind the last. */
    return (sattn_key_range){first.begin < first.end ? first.begin : 0,
                             last.begin < last.end ? last.end : visible->n_k};
}

/* Every field is named: where one is not, compilers clear the whole first, which takes longer than
 * all the rest. */
sattn_unit sattn_unit_of(const sattn_attention_args *a, int64_t n_group, int64_t b, int64_t kv)
{
    const int64_t head = kv * n_group, heads = a->n_q_heads;
    const sattn_visibility visible = visibility_of(a, b, head);
    const bool one_row = a->n_q == 1, one_head = n_group == 1, one_key = visible.n_k <= 1;
    return (sattn_unit){
        .q = head_of(a, a->q.data, b, a->q.stride_b, heads, head, a->q.stride_h),
        .k = head_of(a, a->k.data, b, a->k.stride_b, a->n_kv_heads, kv, a->k.stride_h),
        .v = head_of(a, a->v.data, b, a->v.stride_b, a->n_kv_heads, kv, a->v.stride_h),
        .o = output_head_of(a, a->o.data, b, a->o.stride_b, head, a->o.stride_h),
        .lse = output_head_of(a, a->lse, b, a->lse_stride_b, head, a->lse_stride_h),
        .scores = output_head_of(a, a->scores, b, a->scores_stride_b, head, a->scores_stride_h),
        .scores_in =
            head_of(a, a->scores_in, b, a->scores_in_stride_b, heads, head, a->scores_in_stride_h),
        .sinks = a->sinks ? a->sinks + head : NULL,
        .q_stride = one_row ? 0 : a->q.stride_t,
        .k_stride = one_key ? 0 : a->k.stride_t,
        .v_stride = one_key ? 0 : a->v.stride_t,
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
        .visible = visible,
        .keys = keys_of(&visible, a->n_q),
        .k_dense = {NULL, 0},
        .v_dense = {NULL, 0},
        .n_rest = 0,
        .kv_bytes = 0,
    };
}

/* Keys that the call reads, of all batch entries together. */
static double keys_of_call(const sattn_attention_args *a)
{
    double keys = 0;
    if (!a->n_k_valid && !a->causal && !a->has_window)
        return (double)a->batch * (double)a->n_k;
    for (int64_t b = 0; b < a->batch; ++b) {
        const sattn_visibility visible = visibility_of(a, b, 0);
        const sattn_key_range range = keys_of(&visible, a->n_q);
        keys += (double)(range.end - range.begin);
    }
    return keys;
}

/* Floats of K or V for so many keys. */
static double floats_of(const sattn_attention_args *a, const sattn_view *view, int64_t columns,
                        double n_keys)
{
    const double n_heads = view->stride_h == 0 ? 1.0 : (double)a->n_kv_heads;
    const bool is_one_row = view->stride_t == 0 && a->n_k > 1;
    const double n_rows = is_one_row ? (double)a->batch : n_keys;
    const double n_apart = view->stride_b == 0 ? n_rows / (double)a->batch : n_rows;
    return n_apart * n_heads * (double)columns;
}

int64_t sattn_kv_bytes(const sattn_attention_args *a)
{
    const double n_keys = keys_of_call(a), most = 0x1p62;
    const double bytes = (double)sizeof(float) *
                         (floats_of(a, &a->k, a->d, n_keys) + floats_of(a, &a->v, a->d_v, n_keys));
    return (int64_t)(bytes < most ? bytes : most);
}

bool sattn_mask_lets_through(const sattn_visibility *visible, int64_t g, int64_t i, int64_t j)
{
    const uint8_t *const mask_bool = sattn_mask_bool_row(visible, g, i);
    const float *const mask_add = sattn_mask_add_row(visible, g, i);
    if (mask_bool)
        return mask_bool[j * visible->mask_key_stride] != 0;
    return !mask_add || mask_add[j * visible->mask_key_stride] != -INFINITY;
}

/* A width that would become negative is 0: the offset alone is beyond all keys then. */
static int64_t moved_width(int64_t width, int64_t delta)
{
    if (width < 0) /* unbounded */
        return width;
    const int64_t moved = sattn_add_held(width, delta);
    return moved > 0 ? moved : 0;
}

/* Moves the offset by `delta`. Where it is held at an end of int64_t, what is missing goes into the
 * widths of the window. */
static void move_offset(sattn_visibility *visible, int64_t delta)
{
    const int64_t moved = sattn_add_held(visible->causal_offset, delta);
    const int64_t missing = delta - (moved - visible->causal_offset);
    visible->causal_offset = moved;
    if (missing == 0)
        return;
    visible->window_left = moved_width(visible->window_left, -missing);
    visible->window_right = moved_width(visible->window_right, missing);
}

sattn_visibility sattn_visibility_from(const sattn_visibility *visible, int64_t i0, int64_t j0,
                                       int64_t n_k)
{
    sattn_visibility from = *visible;
    const int64_t mask_at = i0 * visible->mask_row_stride + j0 * visible->mask_key_stride;
    from.n_k = n_k;
    move_offset(&from, i0 - j0);
    if (from.mask_bool)
        from.mask_bool += mask_at;
    if (from.mask_add)
        from.mask_add += mask_at;
    return from;
}

/* Row i0 of a tensor that may be missing. */
static const float *row_of(const float *data, int64_t stride, int64_t i0)
{
    return data ? data + i0 * stride : NULL;
}

static float *output_row_of(float *data, int64_t stride, int64_t i0)
{
    return data ? data + i0 * stride : NULL;
}

sattn_unit sattn_unit_rows(const sattn_unit *unit, int64_t i0, int64_t i1)
{
    sattn_unit rows = *unit;
    rows.q = row_of(unit->q, unit->q_stride, i0);
    rows.o = output_row_of(unit->o, unit->o_stride, i0);
    rows.lse = output_row_of(unit->lse, 1, i0);
    rows.scores = output_row_of(unit->scores, unit->scores_stride, i0);
    rows.scores_in = row_of(unit->scores_in, unit->scores_in_stride, i0);
    rows.n_q = i1 - i0;
    const int64_t rest_begin = unit->n_q - unit->n_rest;
    rows.n_rest = i1 - (rest_begin > i0 ? rest_begin : i0);
    rows.n_rest = rows.n_rest > 0 ? rows.n_rest : 0;
    rows.visible = sattn_visibility_from(&unit->visible, i0, 0, unit->visible.n_k);
    return rows;
}
