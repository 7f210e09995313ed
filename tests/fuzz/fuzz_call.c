/* SPDX-License-Identifier: MIT
 *
 * fuzz_call.c: decodes calls. */
#include "tests/fuzz/fuzz_call.h"

#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0x7f }; /* a pattern of bytes that reads as a large float, never as a result */

/* A strided tensor as a call declares it; `columns` lie side by side. */
typedef struct shape {
    int64_t extent[3], stride[3], columns;
    int64_t element; /* bytes */
} shape;

/* Bytes from its first element to behind its last; -1 where that is not a size to allocate. */
static int64_t bytes_of(const shape *s)
{
    double last = (double)s->columns;
    bool empty = s->columns <= 0;
    for (int axis = 0; axis < 3; ++axis) {
        empty = empty || s->extent[axis] <= 0;
        if (s->extent[axis] > 1)
            last += ((double)s->extent[axis] - 1) * (double)s->stride[axis];
    }
    if (empty)
        return 0;
    last *= (double)s->element;
    return last >= 0 && last <= (double)FUZZ_BYTES_MAX ? (int64_t)last : -1;
}

static int64_t wrapped(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Mostly a packed layout: by heads or by tokens, or with gaps; then anything. */
static void choose_strides(fuzz_bytes *bytes, shape *s, int layout)
{
    const int64_t heads = s->extent[1], rows = s->extent[2];
    const int64_t gap = layout == 2 ? fuzz_choice(bytes, 9) : 0;
    const int64_t row = (int64_t)((uint64_t)s->columns + (uint64_t)gap);
    if (layout == 1) { /* [batch, rows, heads, columns] */
        s->stride[1] = row;
        s->stride[2] = wrapped(heads, row);
        s->stride[0] = wrapped(rows, s->stride[2]);
    } else {
        s->stride[2] = row;
        s->stride[1] = wrapped(rows, row);
        s->stride[0] = wrapped(heads, s->stride[1]);
    }
    const uint8_t change = fuzz_byte(bytes);
    if (change >= 200)
        s->stride[change % 3] = change >= 235 ? 0 : fuzz_extent(bytes, 200);
    if (change >= 250)
        s->stride[fuzz_choice(bytes, 3)] = fuzz_odd_number(bytes);
}

/* A buffer of exactly so many bytes, in `offset` bytes from the start of an allocation. */
static void *take(fuzz_call *call, int which, int64_t size, int offset)
{
    fuzz_buffer *const buffer = &call->buffers[which];
    buffer->size = (size_t)size + (size_t)offset;
    buffer->memory = malloc(buffer->size ? buffer->size : 1);
    buffer->copy = malloc(buffer->size ? buffer->size : 1);
    if (!buffer->memory || !buffer->copy)
        return NULL;
    memset(buffer->memory, UNTOUCHED, buffer->size);
    return buffer->memory + offset;
}

/* Floats, a sequence of numbers from the input over and over. */
static void fill_floats(fuzz_call *call, int which, int offset, fuzz_bytes *bytes)
{
    float period[13];
    const fuzz_buffer *const buffer = &call->buffers[which];
    const int n = 1 + fuzz_choice(bytes, 13);
    for (int i = 0; i < n; ++i)
        period[i] = fuzz_float(bytes);
    for (size_t at = (size_t)offset, i = 0; at + 4 <= buffer->size; at += 4, ++i)
        memcpy(buffer->memory + at, &period[i % (size_t)n], 4);
}

static int odd_offset(fuzz_bytes *bytes)
{
    const uint8_t pick = fuzz_byte(bytes);
    return pick < 240 ? 4 * (pick % 4) : pick % 4;
}

static void *float_tensor(fuzz_call *call, int which, const shape *s, fuzz_bytes *bytes)
{
    const int64_t size = bytes_of(s);
    if (size < 0)
        return NULL;
    const int offset = odd_offset(bytes);
    void *const data = take(call, which, size, offset);
    if (data)
        fill_floats(call, which, offset, bytes);
    return data;
}

static sattn_view make_view(fuzz_call *call, int which, int64_t heads, int64_t rows,
                            int64_t columns, fuzz_bytes *bytes)
{
    shape s = {{call->args.batch, heads, rows}, {0}, columns, 4};
    sattn_view view = {.dtype = SATTN_F32};
    if (call->entry == FUZZ_RAGGED)
        s.extent[0] = 1;
    choose_strides(bytes, &s, fuzz_choice(bytes, 3));
    view.stride_b = s.stride[0];
    view.stride_h = s.stride[1];
    view.stride_t = s.stride[2];
    view.data = float_tensor(call, which, &s, bytes);
    if (fuzz_byte(bytes) == 255)
        view.dtype = (sattn_dtype)fuzz_choice(bytes, 5);
    return view;
}

static int64_t array_length(int64_t n, int64_t extra)
{
    return n < 0 || n > FUZZ_BYTES_MAX / 8 - extra ? -1 : n + extra;
}

/* Of numbers of keys, offsets or starts. */
static const int64_t *number_array(fuzz_call *call, int which, int64_t n, int64_t most, bool rises,
                                   fuzz_bytes *bytes)
{
    if (n < 0)
        return NULL;
    int64_t *const data = take(call, which, 8 * n, 0);
    int64_t last = 0;
    for (int64_t i = 0; data && i < n; ++i) {
        int64_t value = most > 0 ? fuzz_extent(bytes, most < 249 ? most : 249) : 0;
        if (rises && value >= 0 && value <= most && last >= 0 && last <= most)
            value = last + value / (n > 1 ? n - 1 : 1);
        memcpy((unsigned char *)data + 8 * i, &value, 8);
        last = value;
    }
    return data;
}

static const float *float_array(fuzz_call *call, int which, int64_t n, fuzz_bytes *bytes)
{
    if (n < 0)
        return NULL;
    float *const data = take(call, which, 4 * n, 0);
    if (data)
        fill_floats(call, which, 0, bytes);
    return data;
}

static void make_mask(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    const int64_t full[4] = {a->batch, a->n_q_heads, a->n_q, a->n_k};
    const uint8_t pick = fuzz_byte(bytes);
    a->mask.kind = pick >= 252 ? (sattn_mask_kind)7 : (sattn_mask_kind)(pick % 3);
    if (a->mask.kind == SATTN_MASK_NONE)
        return;
    const uint8_t broadcast = fuzz_byte(bytes);
    for (int axis = 0; axis < 4; ++axis)
        a->mask.extent[axis] = broadcast >> axis & 1 ? 1 : full[axis];
    if (broadcast >= 250)
        a->mask.extent[broadcast % 4] = fuzz_odd_number(bytes);
    const bool is_bool = a->mask.kind == SATTN_MASK_BOOL;
    shape s = {{a->mask.extent[0], a->mask.extent[1], a->mask.extent[2]},
               {0},
               a->mask.extent[3],
               is_bool ? 1 : 4};
    choose_strides(bytes, &s, fuzz_choice(bytes, 3));
    for (int axis = 0; axis < 3; ++axis)
        a->mask.stride[axis] = s.stride[axis];
    a->mask.stride[3] = fuzz_byte(bytes) == 255 ? fuzz_odd_number(bytes) : 1;
    const int64_t size = bytes_of(&s);
    if (size < 0)
        return;
    if (!is_bool) {
        a->mask.data = float_tensor(call, FUZZ_MASK, &s, bytes);
        return;
    }
    unsigned char *const data = take(call, FUZZ_MASK, size, 0);
    const int n = 1 + fuzz_choice(bytes, 11);
    const uint64_t pattern = (uint64_t)fuzz_byte(bytes) << 8 | fuzz_byte(bytes);
    for (int64_t i = 0; data && i < size; ++i)
        data[i] = (uint8_t)(pattern >> i % n & 1) * (uint8_t)(1 + i % 255);
    a->mask.data = data;
}

static int64_t window_width(fuzz_bytes *bytes)
{
    const int64_t width = fuzz_extent(bytes, 60);
    return width >= 40 && width <= 60 ? -1 : width;
}

static void make_limits(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    const uint8_t on = fuzz_byte(bytes);
    a->causal = on & 1;
    a->has_window = on & 2;
    if (on & 4)
        a->causal_offset =
            number_array(call, FUZZ_OFFSETS, array_length(a->batch, 0), a->n_k, false, bytes);
    if (on & 8)
        a->n_k_valid =
            number_array(call, FUZZ_LENGTHS, array_length(a->batch, 0), a->n_k, false, bytes);
    if (on & 16)
        a->alibi_slopes = float_array(call, FUZZ_SLOPES, array_length(a->n_q_heads, 0), bytes);
    if (on & 32)
        a->sinks = float_array(call, FUZZ_SINKS, array_length(a->n_q_heads, 0), bytes);
    a->window_left = window_width(bytes);
    a->window_right = window_width(bytes);
    a->has_scale = on & 64;
    a->scale = fuzz_float(bytes);
    a->softcap = on & 128 ? fabsf(fuzz_float(bytes)) : 0.0f;
    if (fuzz_byte(bytes) == 255)
        a->softcap = fuzz_float(bytes);
}

/* Memory of its own; or the queries' exactly; or a part of theirs, some elements on. */
static void make_output(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    const uint8_t where = fuzz_byte(bytes);
    const sattn_view own = make_view(call, FUZZ_O, a->n_q_heads, a->n_q, a->d_v, bytes);
    const bool is_q = where >= 200 && where < 240;
    const sattn_view *const from = is_q ? &a->q : &own;
    a->o = (sattn_mut_view){.data = (void *)(uintptr_t)own.data,
                            .dtype = own.dtype,
                            .stride_b = from->stride_b,
                            .stride_h = from->stride_h,
                            .stride_t = from->stride_t};
    if (where < 200)
        return;
    shape s = {
        {a->batch, a->n_q_heads, a->n_q}, {a->o.stride_b, a->o.stride_h, a->o.stride_t}, a->d_v, 4};
    if (call->entry == FUZZ_RAGGED)
        s.extent[0] = 1;
    const fuzz_buffer *const queries = &call->buffers[FUZZ_Q];
    const int64_t size = bytes_of(&s), ahead = is_q ? 0 : where % 4 * 4;
    a->o.data = NULL;
    if (!a->q.data || size < 0)
        return;
    unsigned char *const at = (unsigned char *)(uintptr_t)a->q.data + ahead;
    if (at + size > queries->memory + queries->size)
        return;
    a->o.data = at;
    call->shares = true;
}

static void make_scores(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    const uint8_t on = fuzz_byte(bytes);
    const bool is_step = call->entry >= FUZZ_QK;
    if (on & 1) {
        const sattn_view lse = make_view(call, FUZZ_LSE, a->n_q_heads, 1, a->n_q, bytes);
        a->lse = (float *)(uintptr_t)lse.data;
        a->lse_stride_b = lse.stride_b;
        a->lse_stride_h = lse.stride_h;
    }
    if ((is_step && call->entry != FUZZ_AV) || (on & 6) == 6) {
        const sattn_view s = make_view(call, FUZZ_SCORES, a->n_q_heads, a->n_q, a->n_k, bytes);
        a->scores = (float *)(uintptr_t)s.data;
        a->scores_stride_b = s.stride_b;
        a->scores_stride_h = s.stride_h;
        a->scores_stride_t = s.stride_t;
        a->scores_stage = (sattn_scores_stage)(on >= 250 ? on : on >> 3 & 3);
        if (call->entry == FUZZ_QK)
            a->scores_stage = (sattn_scores_stage)(on >> 3 & 1);
    }
    if (call->entry == FUZZ_SOFTMAX || call->entry == FUZZ_AV || on == 249) {
        const sattn_view s = make_view(call, FUZZ_SCORES_IN, a->n_q_heads, a->n_q, a->n_k, bytes);
        a->scores_in = s.data;
        a->scores_in_stride_b = s.stride_b;
        a->scores_in_stride_h = s.stride_h;
        a->scores_in_stride_t = s.stride_t;
    }
}

static void make_options(fuzz_call *call, fuzz_bytes *bytes)
{
    static const char *const isas[] = {NULL, NULL, "scalar", "avx2", "avx512", "neon", "avx51", ""};
    static const char *const plans[] = {NULL, NULL, "fused", "chain", "chains"};
    size_t n_kernels;
    const sattn_kernel_info *const kernels = sattn_kernels(&n_kernels);
    sattn_options *const o = &call->options;
    const uint8_t on = fuzz_byte(bytes);
    o->threads = on & 1 ? (int)fuzz_extent(bytes, 5) : 0;
    o->key_splits = on & 2 ? (int)fuzz_extent(bytes, 5) : 0;
    o->isa = on & 4 ? isas[fuzz_choice(bytes, 8)] : NULL;
    if (on & 8)
        o->kernels = kernels[fuzz_byte(bytes) % n_kernels].name;
    o->plan = on & 16 ? plans[fuzz_choice(bytes, 5)] : NULL;
    call->workspace = on & 32 ? fuzz_choice(bytes, 4) : 0;
}

/* Multiply-adds, also where strides of 0 make long loops over little memory. */
static double work_of(const fuzz_call *call)
{
    const sattn_attention_args *const a = &call->args;
    const double extents[] = {(double)a->batch, (double)a->n_q_heads, (double)a->n_q,
                              (double)a->n_k,   (double)a->d,         (double)a->d_v};
    double most[6];
    for (int i = 0; i < 6; ++i)
        most[i] = extents[i] > 1 ? extents[i] : 1;
    return most[0] * most[1] * most[2] * most[3] * (most[4] + most[5]);
}

static void take_pointers_away(fuzz_call *call)
{
    sattn_attention_args *const a = &call->args;
    a->q.data = a->k.data = a->v.data = a->mask.data = NULL;
    a->o.data = NULL;
    a->lse = a->scores = NULL;
    a->alibi_slopes = a->sinks = a->scores_in = NULL;
    a->causal_offset = a->n_k_valid = NULL;
    call->shares = false;
}

static void make_extents(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    const uint8_t length = fuzz_byte(bytes);
    const bool is_long = length >= 192, is_very_long = length >= 248;
    a->batch = fuzz_extent(bytes, 3);
    a->n_kv_heads = fuzz_extent(bytes, 3);
    a->n_q_heads = fuzz_extent(bytes, 4);
    if (a->n_q_heads >= 0 && a->n_q_heads <= 4 && a->n_kv_heads >= 0 && a->n_kv_heads <= 3)
        a->n_q_heads *= a->n_kv_heads;
    if (fuzz_byte(bytes) == 255)
        a->n_q_heads = fuzz_extent(bytes, 9);
    a->n_q = fuzz_extent(bytes, is_long ? 70 : 7);
    a->n_k = fuzz_extent(bytes, is_long ? 249 : 40);
    if (is_very_long && a->n_k >= 0 && a->n_k <= 249) /* several key ranges, with few queries */
        a->n_k *= 11;
    a->d = fuzz_extent(bytes, 40);
    a->d_v = fuzz_byte(bytes) < 128 ? a->d : fuzz_extent(bytes, 40);
}

bool fuzz_call_make(fuzz_call *call, fuzz_bytes *bytes)
{
    sattn_attention_args *const a = &call->args;
    memset(call, 0, sizeof *call);
    const uint8_t entry = fuzz_byte(bytes);
    call->entry = entry < 128 ? FUZZ_ATTENTION : (fuzz_entry)(entry % FUZZ_ENTRIES);
    make_extents(call, bytes);
    make_options(call, bytes);
    make_limits(call, bytes);
    if (work_of(call) > (double)FUZZ_WORK_MAX) {
        take_pointers_away(call);
    } else {
        a->q = make_view(call, FUZZ_Q, a->n_q_heads, a->n_q, a->d, bytes);
        a->k = make_view(call, FUZZ_K, a->n_kv_heads, a->n_k, a->d, bytes);
        a->v = make_view(call, FUZZ_V, a->n_kv_heads, a->n_k, a->d_v, bytes);
        make_output(call, bytes);
        make_mask(call, bytes);
        make_scores(call, bytes);
    }
    if (call->entry == FUZZ_RAGGED) {
        const int64_t n = array_length(a->batch, 1);
        call->ragged.q_starts = number_array(call, FUZZ_Q_STARTS, n, a->n_q, true, bytes);
        call->ragged.k_starts = number_array(call, FUZZ_K_STARTS, n, a->n_k, true, bytes);
        if (fuzz_byte(bytes) < 250) { /* what ragged batches do without */
            a->mask = (sattn_mask){0};
            a->scores = NULL;
            a->n_k_valid = NULL;
        }
    }
    for (int i = 0; i < FUZZ_BUFFERS; ++i) {
        if (call->buffers[i].memory && !call->buffers[i].copy)
            return false;
        if (call->buffers[i].memory)
            memcpy(call->buffers[i].copy, call->buffers[i].memory, call->buffers[i].size);
    }
    return true;
}

void fuzz_call_free(fuzz_call *call)
{
    for (int i = 0; i < FUZZ_BUFFERS; ++i) {
        free(call->buffers[i].memory);
        free(call->buffers[i].copy);
    }
}
