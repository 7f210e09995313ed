/* SPDX-License-Identifier: MIT
 *
 * call.c: makes the operands of a call of sattn_attention from its description. */
#include "tests/support/call.h"

#include "bench/verify/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_GAP = 3, HEAD_GAP = 5, BATCH_GAP = 7 };

/* Streams of random numbers that are no tensor's. */
enum { STREAM_MASK = 8, STREAM_SINKS, STREAM_POISON };

static int64_t stride_of(int64_t extent, int64_t stride)
{
    return extent == 1 ? 0 : stride;
}

static int64_t heads_of(const call_shape *s, int tensor)
{
    return tensor == CALL_Q || tensor == CALL_O ? s->n_q_heads : s->n_kv_heads;
}

static int64_t rows_of(const call_shape *s, int tensor)
{
    return tensor == CALL_Q || tensor == CALL_O ? s->n_q : s->n_k;
}

static int64_t columns_of(const call_shape *s, int tensor)
{
    return tensor == CALL_Q || tensor == CALL_K ? s->d : s->d_v;
}

static bool is_packed(const call_shape *s, int tensor)
{
    return s->layout == CALL_PACKED_ALL || (s->layout == CALL_PACKED && tensor != CALL_O);
}

/* Elements of the tensors before `tensor` in a packed row. */
static int64_t packed_offset(const call_shape *s, int tensor)
{
    int64_t offset = 0;
    for (int at = 0; at < tensor; ++at)
        offset += heads_of(s, at) * columns_of(s, at);
    return offset;
}

static sattn_view view_of(const call_shape *s, int tensor)
{
    const int64_t heads = heads_of(s, tensor), rows = rows_of(s, tensor);
    const int64_t columns = columns_of(s, tensor);
    const bool is_key_tensor = tensor == CALL_K || tensor == CALL_V;
    if (is_packed(s, tensor)) {
        const int64_t row = packed_offset(s, s->layout == CALL_PACKED_ALL ? CALL_O + 1 : CALL_O);
        const int64_t most = s->n_q > s->n_k ? s->n_q : s->n_k;
        return (sattn_view){.stride_b = most * row, .stride_h = columns, .stride_t = row};
    }
    if (s->layout == CALL_ROWS_FIRST)
        return (sattn_view){
            .stride_b = rows * heads * columns, .stride_h = columns, .stride_t = heads * columns};
    if (s->layout == CALL_ONE_HEAD && is_key_tensor)
        return (sattn_view){.stride_b = rows * columns, .stride_h = 0, .stride_t = columns};
    if (s->layout == CALL_ONE_ROW && (tensor == CALL_Q || tensor == CALL_K))
        return (sattn_view){.stride_b = heads * columns, .stride_h = columns, .stride_t = 0};
    const bool gaps = s->layout == CALL_GAPS;
    sattn_view view = {.stride_t = columns + (gaps ? ROW_GAP : 0)};
    view.stride_h = rows * view.stride_t + (gaps ? HEAD_GAP : 0);
    view.stride_b = heads * view.stride_h + (gaps ? BATCH_GAP : 0);
    return view;
}

/* Elements from the first to the last of a tensor. */
static int64_t span_of(const int64_t extent[4], const int64_t stride[4])
{
    int64_t span = 1;
    for (int axis = 0; axis < 4; ++axis) {
        if (extent[axis] == 0)
            return 0;
        span += (extent[axis] - 1) * (extent[axis] == 1 ? 0 : stride[axis]);
    }
    return span;
}

static int64_t view_span(const call_shape *s, int tensor, const sattn_view *view)
{
    return span_of(
        (int64_t[4]){s->batch, heads_of(s, tensor), rows_of(s, tensor), columns_of(s, tensor)},
        (int64_t[4]){view->stride_b, view->stride_h, view->stride_t, 1});
}

static test_operand operand_of(int64_t span, size_t element_size, test_placement placement)
{
    const test_extents extents = {.n_groups = 1,
                                  .n_rows = 1,
                                  .n_columns = span,
                                  .group_stride = span,
                                  .row_stride = span,
                                  .element_size = element_size};
    return test_operand_make(&extents, placement, 0);
}

static void make_tensors(call *c)
{
    const call_shape *const s = &c->shape;
    sattn_view views[CALL_O + 1];
    int64_t packed_span = 0;
    for (int at = CALL_Q; at <= CALL_O; ++at) {
        views[at] = view_of(s, at);
        const int64_t span = view_span(s, at, &views[at]);
        if (is_packed(s, at) && span > 0 && span + packed_offset(s, at) > packed_span)
            packed_span = span + packed_offset(s, at);
        else if (!is_packed(s, at))
            c->memory[at] = operand_of(span, sizeof(float), s->placement);
    }
    if (is_packed(s, CALL_Q))
        c->memory[CALL_Q] = operand_of(packed_span, sizeof(float), s->placement);
    for (int at = CALL_Q; at <= CALL_O; ++at)
        views[at].data = is_packed(s, at) ? (float *)c->memory[CALL_Q].data + packed_offset(s, at)
                                          : (float *)c->memory[at].data;
    c->args.q = views[CALL_Q];
    c->args.k = views[CALL_K];
    c->args.v = views[CALL_V];
    const sattn_view *const o = &views[s->in_place ? CALL_Q : CALL_O];
    c->args.o.data = s->in_place ? c->memory[CALL_Q].data
                     : is_packed(s, CALL_O)
                         ? (float *)c->memory[CALL_Q].data + packed_offset(s, CALL_O)
                         : (float *)c->memory[CALL_O].data;
    c->args.o.stride_b = o->stride_b;
    c->args.o.stride_h = o->stride_h;
    c->args.o.stride_t = o->stride_t;
}

float *call_input_row(const call *c, int tensor, int64_t b, int64_t h, int64_t i)
{
    const sattn_view *const view = tensor == CALL_Q   ? &c->args.q
                                   : tensor == CALL_K ? &c->args.k
                                                      : &c->args.v;
    const test_operand *const memory = &c->memory[is_packed(&c->shape, tensor) ? CALL_Q : tensor];
    const int64_t at = b * stride_of(c->args.batch, view->stride_b) +
                       h * stride_of(heads_of(&c->shape, tensor), view->stride_h) +
                       i * stride_of(rows_of(&c->shape, tensor), view->stride_t);
    const int64_t start = is_packed(&c->shape, tensor) ? packed_offset(&c->shape, tensor) : 0;
    return (float *)memory->data + start + at;
}

static float value_of(const call *c, int tensor, int64_t b, int64_t h, int64_t i, int64_t x)
{
    const uint64_t stream = ((uint64_t)tensor << 40) + ((uint64_t)b << 20) + (uint64_t)h;
    const float value = sattn_random_normal(c->seed, stream, (uint64_t)(i * 4096 + x));
    if (tensor == CALL_Q && c->shape.data == CALL_LARGE)
        return 8.0f * value;
    if (tensor == CALL_Q && c->shape.data == CALL_MINUS_INF)
        return 0.25f + fabsf(value);
    if (tensor == CALL_Q && c->shape.data == CALL_NAN_QUERY && i % 3 == 1 && x == 0)
        return NAN;
    if (tensor == CALL_K && c->shape.data == CALL_MINUS_INF && (i + h) % 2 == 0 && x == 0)
        return -INFINITY;
    return value;
}

static void fill_tensors(call *c)
{
    for (int tensor = CALL_Q; tensor <= CALL_V; ++tensor)
        for (int64_t b = 0; b < c->args.batch; ++b)
            for (int64_t h = 0; h < heads_of(&c->shape, tensor); ++h)
                for (int64_t i = 0; i < rows_of(&c->shape, tensor); ++i) {
                    float *const row = call_input_row(c, tensor, b, h, i);
                    for (int64_t x = 0; x < columns_of(&c->shape, tensor); ++x)
                        row[x] = value_of(c, tensor, b, h, i, x);
                }
}

static float mask_value(const call *c, uint64_t random, uint64_t at)
{
    const uint64_t kind = random % 32;
    if (kind < 8)
        return -INFINITY;
    if (kind == 8)
        return -1e30f;
    if (kind == 9)
        return 0.0f;
    if (c->shape.mask == CALL_MASK_SPECIAL && random / 32 % 64 == 0)
        return random / 2048 % 2 ? NAN : INFINITY;
    return sattn_random_normal(c->seed, STREAM_MASK + 100, at);
}

static void make_mask(call *c)
{
    const call_shape *const s = &c->shape;
    sattn_mask *const mask = &c->args.mask;
    if (s->mask == CALL_MASK_NONE)
        return;
    const bool is_bool = s->mask == CALL_MASK_BOOL;
    const int64_t full[4] = {s->batch, s->n_q_heads, s->n_q, s->n_k};
    int64_t size = 1;
    mask->kind = is_bool ? SATTN_MASK_BOOL : SATTN_MASK_ADDITIVE;
    for (int axis = 3; axis >= 0; --axis) {
        mask->extent[axis] = s->mask_axes >> axis & 1 ? full[axis] : 1;
        mask->stride[axis] = mask->extent[axis] == 1 ? INT64_MIN : size; /* ignored where 1 */
        size = mask->extent[axis] * size + (s->mask_gaps ? ROW_GAP : 0);
    }
    c->memory[CALL_MASK] =
        operand_of(span_of(mask->extent, mask->stride), is_bool ? 1 : sizeof(float), s->placement);
    mask->data = c->memory[CALL_MASK].data;
    uint64_t at = 0;
    for (int64_t b = 0; b < mask->extent[0]; ++b)
        for (int64_t h = 0; h < mask->extent[1]; ++h)
            for (int64_t i = 0; i < mask->extent[2]; ++i)
                for (int64_t j = 0; j < mask->extent[3]; ++j, ++at) {
                    const int64_t place = b * stride_of(mask->extent[0], mask->stride[0]) +
                                          h * stride_of(mask->extent[1], mask->stride[1]) +
                                          i * stride_of(mask->extent[2], mask->stride[2]) + j;
                    const uint64_t random = sattn_random_bits(c->seed, STREAM_MASK, at);
                    const uint8_t allows = random % 4 == 0 ? 0 : (uint8_t)(1u << random / 4 % 8);
                    if (is_bool)
                        ((uint8_t *)c->memory[CALL_MASK].data)[place] = allows;
                    else
                        ((float *)c->memory[CALL_MASK].data)[place] = mask_value(c, random, at);
                }
}

static void make_head_values(call *c)
{
    const call_shape *const s = &c->shape;
    for (int64_t h = 0; h < s->n_q_heads; ++h) {
        const float normal = sattn_random_normal(c->seed, STREAM_SINKS, (uint64_t)h);
        c->slopes[h] = h % 5 == 4 ? 0.0f : ldexpf(h % 5 == 3 ? -1.0f : 1.0f, -1 - (int)(h % 8));
        c->sinks[h] = normal;
        if (s->sinks == CALL_SINKS_SOME && h % 2 == 0)
            c->sinks[h] = -INFINITY;
        else if (s->sinks == CALL_SINKS_LARGE)
            c->sinks[h] = h % 2 == 0 ? 60.0f + normal : -100.0f;
        else if (s->sinks == CALL_SINKS_SPECIAL && h % 3 != 2)
            c->sinks[h] = h % 3 == 0 ? NAN : INFINITY;
    }
    c->args.alibi_slopes = s->alibi ? c->slopes : NULL;
    c->args.sinks = s->sinks != CALL_SINKS_NONE ? c->sinks : NULL;
}

static int64_t offset_of(const call_shape *s, call_offset kind, int64_t b)
{
    switch (kind) {
    case CALL_OFFSET_NEGATIVE:
        return -(s->n_q / 2) - 1 - b;
    case CALL_OFFSET_POSITIVE:
        return s->n_k / 2 + b;
    case CALL_OFFSET_MIXED:
        return b % 3 == 0   ? s->n_k - s->n_q + 2
               : b % 3 == 1 ? offset_of(s, CALL_OFFSET_NEGATIVE, b)
                            : INT64_MAX;
    case CALL_OFFSET_MOST:
        return INT64_MAX - b;
    case CALL_OFFSET_LEAST:
        return INT64_MIN + b;
    case CALL_OFFSET_NONE:
    case CALL_OFFSET_ZERO:
        break;
    }
    return 0;
}

static void make_batch_values(call *c)
{
    const call_shape *const s = &c->shape;
    for (int64_t b = 0; b < s->batch; ++b) {
        const int64_t less = s->n_k - s->n_k / 3 - 1 - b;
        c->n_valid[b] = s->valid == CALL_VALID_ZERO ? 0 : less > 0 ? less : 0;
        if (s->valid == CALL_VALID_MIXED)
            c->n_valid[b] = b % 3 == 0 ? s->n_k : b % 3 == 1 || s->n_k == 0 ? 0 : 1;
        c->offsets[b] = offset_of(s, s->offset, b);
    }
    c->args.n_k_valid = s->valid != CALL_VALID_NONE ? c->n_valid : NULL;
    c->args.causal_offset = s->offset != CALL_OFFSET_NONE ? c->offsets : NULL;
}

static void make_outputs(call *c)
{
    const call_shape *const s = &c->shape;
    const int64_t gap = s->layout == CALL_GAPS ? ROW_GAP : 0;
    sattn_attention_args *const a = &c->args;
    if (s->lse) {
        a->lse_stride_h = s->n_q + gap;
        a->lse_stride_b = s->n_q_heads * a->lse_stride_h + gap;
        c->memory[CALL_LSE] =
            operand_of(span_of((int64_t[4]){1, s->batch, s->n_q_heads, s->n_q},
                               (int64_t[4]){0, a->lse_stride_b, a->lse_stride_h, 1}),
                       sizeof(float), s->placement);
        a->lse = c->memory[CALL_LSE].data;
    }
    if (s->scores) {
        a->scores_stage = s->stage;
        a->scores_stride_t = s->n_k + gap;
        a->scores_stride_h = s->n_q * a->scores_stride_t + gap;
        a->scores_stride_b = s->n_q_heads * a->scores_stride_h + gap;
        c->memory[CALL_SCORES] = operand_of(
            span_of((int64_t[4]){s->batch, s->n_q_heads, s->n_q, s->n_k},
                    (int64_t[4]){a->scores_stride_b, a->scores_stride_h, a->scores_stride_t, 1}),
            sizeof(float), s->placement);
        a->scores = c->memory[CALL_SCORES].data;
    }
}

static int64_t group_of(const call *c)
{
    return c->args.n_q_heads / c->args.n_kv_heads;
}

static bool is_seen(const call *c, int64_t b, int64_t kv, int64_t j)
{
    for (int64_t h = kv * group_of(c); h < (kv + 1) * group_of(c); ++h)
        for (int64_t i = 0; i < c->args.n_q; ++i)
            if (call_sees(c, b, h, i, j))
                return true;
    return false;
}

static void poison_row(const call *c, float *row, int64_t n, int64_t j)
{
    const float what = j % 3 == 0 ? INFINITY : j % 3 == 1 ? NAN : -INFINITY;
    if (j % 2 == 0)
        row[(int64_t)(c->seed % (uint64_t)n)] = what;
    for (int64_t x = 0; j % 2 == 1 && x < n; ++x)
        row[x] = NAN;
}

/* Rows of K and V share memory in some layouts: one that anybody sees there stays. */
static void poison_hidden(call *c, int tensor)
{
    const test_operand *const memory = &c->memory[is_packed(&c->shape, tensor) ? CALL_Q : tensor];
    const float *const base = memory->data;
    unsigned char *const seen = calloc((size_t)memory->extents.n_columns + 1, 1);
    if (!seen)
        exit(2);
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t b = 0; b < c->args.batch; ++b)
            for (int64_t kv = 0; kv < c->args.n_kv_heads; ++kv)
                for (int64_t j = 0; j < c->args.n_k; ++j) {
                    float *const row = call_input_row(c, tensor, b, kv, j);
                    if (pass == 0)
                        seen[row - base] |= is_seen(c, b, kv, j);
                    else if (!seen[row - base])
                        poison_row(c, row, columns_of(&c->shape, tensor), j);
                }
    free(seen);
}

/* An element in about one of 40 rows of V, whoever sees it. */
static void poison_values(call *c)
{
    for (int64_t b = 0; b < c->args.batch; ++b)
        for (int64_t kv = 0; kv < c->args.n_kv_heads; ++kv)
            for (int64_t j = 0; j < c->args.n_k; ++j) {
                const uint64_t at = (uint64_t)((b * c->args.n_kv_heads + kv) * c->args.n_k + j);
                const uint64_t random = sattn_random_bits(c->seed, STREAM_POISON, at);
                if (random % 40 == 0)
                    call_input_row(c, CALL_V, b, kv, j)[random / 64 % (uint64_t)c->args.d_v] =
                        random / 40 % 2 ? NAN : INFINITY;
            }
}

void call_make(call *c, const call_shape *shape, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    c->shape = *shape;
    c->seed = seed;
    c->args = (sattn_attention_args){.batch = shape->batch,
                                     .n_q_heads = shape->n_q_heads,
                                     .n_kv_heads = shape->n_kv_heads,
                                     .n_q = shape->n_q,
                                     .n_k = shape->n_k,
                                     .d = shape->d,
                                     .d_v = shape->d_v,
                                     .has_scale = shape->scale != CALL_SCALE_DEFAULT,
                                     .scale = shape->scale == CALL_SCALE_GIVEN      ? 0.37f
                                              : shape->scale == CALL_SCALE_NEGATIVE ? -0.21f
                                                                                    : 0.0f,
                                     .softcap = shape->softcap,
                                     .causal = shape->causal,
                                     .has_window = shape->has_window,
                                     .window_left = shape->window_left,
                                     .window_right = shape->window_right};
    if (shape->n_q_heads > CALL_HEADS_MAX || shape->batch > CALL_BATCH_MAX)
        exit(2);
    make_tensors(c);
    fill_tensors(c);
    make_mask(c);
    make_head_values(c);
    make_batch_values(c);
    make_outputs(c);
    if (shape->poison != CALL_CLEAN) {
        poison_hidden(c, CALL_K);
        poison_hidden(c, CALL_V);
    }
    if (shape->poison == CALL_POISON_VISIBLE)
        poison_values(c);
    for (int at = 0; at < CALL_OPERANDS; ++at)
        if (c->memory[at].map)
            test_operand_seal(&c->memory[at]);
}

void call_free(call *c)
{
    for (int at = 0; at < CALL_OPERANDS; ++at)
        test_operand_free(&c->memory[at]);
}

void call_reset(call *c)
{
    for (int at = 0; at < CALL_OPERANDS; ++at)
        if (c->memory[at].map)
            memcpy(c->memory[at].pages, c->memory[at].before, c->memory[at].n_bytes);
}

/* Sums are compared without being formed where they might not fit. */
static bool is_in_limits(const call *c, int64_t b, int64_t i, int64_t j)
{
    const sattn_attention_args *const a = &c->args;
    const int64_t n_valid = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    const int64_t offset = a->causal_offset ? a->causal_offset[b] : n_valid - a->n_q;
    const int64_t ahead = j - i, left = a->window_left, right = a->window_right;
    if (j >= n_valid || (a->causal && ahead > offset))
        return false;
    if (!a->has_window)
        return true;
    if (left >= 0 && (ahead <= 0 || left <= INT64_MAX - ahead) && ahead + left < offset)
        return false;
    return right < 0 || (ahead < 0 && right > ahead - INT64_MIN) || ahead - right <= offset;
}

bool call_sees(const call *c, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const sattn_mask *const mask = &c->args.mask;
    if (!is_in_limits(c, b, i, j))
        return false;
    if (mask->kind == SATTN_MASK_NONE)
        return true;
    const int64_t at = b * stride_of(mask->extent[0], mask->stride[0]) +
                       h * stride_of(mask->extent[1], mask->stride[1]) +
                       i * stride_of(mask->extent[2], mask->stride[2]) +
                       (mask->extent[3] == 1 ? 0 : j);
    return mask->kind == SATTN_MASK_BOOL ? ((const uint8_t *)mask->data)[at] != 0
                                         : ((const float *)mask->data)[at] != -INFINITY;
}

float *call_o_row(const call *c, int64_t b, int64_t h, int64_t i)
{
    return (float *)c->args.o.data + b * stride_of(c->args.batch, c->args.o.stride_b) +
           h * stride_of(c->args.n_q_heads, c->args.o.stride_h) +
           i * stride_of(c->args.n_q, c->args.o.stride_t);
}

float *call_lse_at(const call *c, int64_t b, int64_t h, int64_t i)
{
    return c->args.lse + b * stride_of(c->args.batch, c->args.lse_stride_b) +
           h * stride_of(c->args.n_q_heads, c->args.lse_stride_h) + i;
}

float *call_scores_row(const call *c, int64_t b, int64_t h, int64_t i)
{
    return c->args.scores + b * stride_of(c->args.batch, c->args.scores_stride_b) +
           h * stride_of(c->args.n_q_heads, c->args.scores_stride_h) +
           i * stride_of(c->args.n_q, c->args.scores_stride_t);
}

void call_print(const call_shape *s, char *text, size_t size)
{
    snprintf(text, size,
             "batch %lld, heads %lld/%lld, n_q %lld, n_k %lld, d %lld/%lld, layout %d%s, scale %d, "
             "softcap %g, mask %d axes %x%s, alibi %d, sinks %d, causal %d, offset %d, window %s "
             "%lld %lld, valid %d, lse %d, scores %d stage %d, data %d, poison %d, flush %d",
             (long long)s->batch, (long long)s->n_q_heads, (long long)s->n_kv_heads,
             (long long)s->n_q, (long long)s->n_k, (long long)s->d, (long long)s->d_v,
             (int)s->layout, s->in_place ? " in place" : "", (int)s->scale, (double)s->softcap,
             (int)s->mask, s->mask_axes, s->mask_gaps ? " gaps" : "", s->alibi, (int)s->sinks,
             s->causal, (int)s->offset, s->has_window ? "yes" : "no", (long long)s->window_left,
             (long long)s->window_right, (int)s->valid, s->lse, s->scores, (int)s->stage,
             (int)s->data, (int)s->poison, (int)s->placement);
}
