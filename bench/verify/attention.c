/* SPDX-License-Identifier: MIT
 *
 * attention.c: the public call's arguments, row by row as the oracle wants them (compare.h).
 *
 * The mapping of batch entries, heads, broadcasts and defaults is written out here once more, on
 * purpose: what dispatch gets wrong must not be wrong here in the same way. */
#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"
#include "bench/verify/visible.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EDGES_MAX = 8 /* tile edges that a sample looks at, three rows each */
};

typedef struct verify_memory {
    double *weights, *logits, *dot_sizes; /* [n_k] */
    double *o, *magnitude, *bound;        /* [d_v] */
    int64_t *rows;                        /* selected query rows, ascending */
    int64_t n_rows;
} verify_memory;

static int64_t stride_of(int64_t extent, int64_t stride)
{
    return extent == 1 ? 0 : stride;
}

static int64_t keys_valid(const sattn_attention_args *a, int64_t batch)
{
    return a->n_k_valid ? a->n_k_valid[batch] : a->n_k;
}

static int64_t kv_head(const sattn_attention_args *a, int64_t head)
{
    return head / (a->n_q_heads / a->n_kv_heads);
}

/* The row of a tensor [batch, heads, n_rows, ..]; `data` is at its first element. NULL where there
 * is none, as without keys. */
static const float *view_rows(const sattn_view *view, const sattn_attention_args *a, int64_t batch,
                              int64_t n_heads, int64_t head)
{
    if (!view->data)
        return NULL;
    return (const float *)view->data + batch * stride_of(a->batch, view->stride_b) +
           head * stride_of(n_heads, view->stride_h);
}

static const float *output_row(const sattn_attention_args *a, int64_t batch, int64_t head,
                               int64_t i)
{
    return (const float *)a->o.data + batch * stride_of(a->batch, a->o.stride_b) +
           head * stride_of(a->n_q_heads, a->o.stride_h) + i * stride_of(a->n_q, a->o.stride_t);
}

static void map_mask(const sattn_attention_args *a, int64_t batch, int64_t head, int64_t i,
                     sattn_ref_row_args *row)
{
    const sattn_mask *const mask = &a->mask;
    if (!mask->data)
        return;
    const int64_t at = batch * stride_of(mask->extent[0], mask->stride[0]) +
                       head * stride_of(mask->extent[1], mask->stride[1]) +
                       i * stride_of(mask->extent[2], mask->stride[2]);
    row->mask_key_stride = mask->extent[3] == 1 ? 0 : 1;
    if (mask->kind == SATTN_MASK_BOOL)
        row->mask_bool = (const uint8_t *)mask->data + at;
    else if (mask->kind == SATTN_MASK_ADDITIVE)
        row->mask_add = (const float *)mask->data + at;
}

static sattn_ref_row_args map_row(const sattn_attention_args *a, int64_t batch, int64_t head,
                                  int64_t i)
{
    const int64_t valid = keys_valid(a, batch);
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
        .q = view_rows(&a->q, a, batch, a->n_q_heads, head) + i * stride_of(a->n_q, a->q.stride_t),
        .k = view_rows(&a->k, a, batch, a->n_kv_heads, kv_head(a, head)),
        .v = view_rows(&a->v, a, batch, a->n_kv_heads, kv_head(a, head)),
        .k_stride = stride_of(a->n_k, a->k.stride_t),
        .v_stride = stride_of(a->n_k, a->v.stride_t),
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
    map_mask(a, batch, head, i, &row);
    return row;
}

static void verify_one(const sattn_attention_args *a, const sattn_bound_params *params,
                       int64_t batch, int64_t head, int64_t i, const verify_memory *memory,
                       sattn_verify_result *result)
{
    const sattn_ref_row_args row_args = map_row(a, batch, head, i);
    sattn_ref_row_result row = {.o = memory->o,
                                .magnitude = memory->magnitude,
                                .weights = memory->weights,
                                .logits = memory->logits,
                                .dot_sizes = memory->dot_sizes};
    sattn_ref_row(&row_args, &row);
    const float *lse = NULL;
    if (a->lse)
        lse = a->lse + batch * stride_of(a->batch, a->lse_stride_b) +
              head * stride_of(a->n_q_heads, a->lse_stride_h) + i;
    const sattn_verify_place at = {.batch = batch, .head = head, .row = i};
    sattn_verify_row(&row_args, &row, params, output_row(a, batch, head, i), lse, at, memory->bound,
                     result);
}

static bool all_finite(const float *rows, int64_t n_rows, int64_t stride, int64_t n)
{
    for (int64_t t = 0; t < n_rows; ++t)
        for (int64_t x = 0; x < n; ++x)
            if (sattn_classify_f32(rows[t * stride + x]) != SATTN_CLASS_FINITE)
                return false;
    return true;
}

/* Whether an additive mask holds nothing but numbers and -inf. */
static bool mask_is_harmless(const sattn_mask *mask)
{
    if (mask->kind != SATTN_MASK_ADDITIVE)
        return true;
    const int64_t *const n = mask->extent;
    for (int64_t b = 0; b < n[0]; ++b)
        for (int64_t h = 0; h < n[1]; ++h)
            for (int64_t i = 0; i < n[2]; ++i)
                for (int64_t j = 0; j < n[3]; ++j) {
                    const int64_t at =
                        b * mask->stride[0] + h * mask->stride[1] + i * mask->stride[2] + j;
                    const sattn_float_class c = sattn_classify_f32(((const float *)mask->data)[at]);
                    if (c == SATTN_CLASS_NAN || c == SATTN_CLASS_PLUS_INF)
                        return false;
                }
    return true;
}

/* Whether no bias by distance of this head overflows, and its sink is a number or -inf. */
static bool head_is_harmless(const sattn_attention_args *a, int64_t batch, int64_t head)
{
    const double offset = a->causal_offset ? (double)a->causal_offset[batch] : 0;
    const double farthest = fabs(offset) + (double)a->n_q + (double)a->n_k;
    if (a->alibi_slopes && fabs((double)a->alibi_slopes[head]) * farthest > (double)(FLT_MAX / 2))
        return false;
    return !a->sinks || a->sinks[head] < INFINITY;
}

/* Finite inputs give finite outputs, whatever is hidden. */
static void scan_head(const sattn_attention_args *a, int64_t batch, int64_t head,
                      sattn_verify_result *result)
{
    const int64_t valid = keys_valid(a, batch);
    const int64_t kv = kv_head(a, head);
    if (!all_finite(view_rows(&a->q, a, batch, a->n_q_heads, head), a->n_q,
                    stride_of(a->n_q, a->q.stride_t), a->d) ||
        !all_finite(view_rows(&a->k, a, batch, a->n_kv_heads, kv), valid,
                    stride_of(a->n_k, a->k.stride_t), a->d) ||
        !all_finite(view_rows(&a->v, a, batch, a->n_kv_heads, kv), valid,
                    stride_of(a->n_k, a->v.stride_t), a->d_v))
        return;
    for (int64_t i = 0; i < a->n_q; ++i) {
        const float *const o = output_row(a, batch, head, i);
        for (int64_t y = 0; y < a->d_v; ++y) {
            ++result->n_scanned;
            if (sattn_classify_f32(o[y]) == SATTN_CLASS_FINITE || result->n_failed++ > 0)
                continue;
            result->failed_at = (sattn_verify_place){batch, head, i, y};
            result->failed_got = (double)o[y];
            result->failed_why = "not finite, though the inputs are (found by the scan)";
        }
    }
}

static int compare_rows(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t random_below(int64_t n, uint64_t seed, uint64_t stream, int64_t counter)
{
    return (int64_t)(sattn_random_bits(seed, stream, (uint64_t)counter) % (uint64_t)n);
}

/* Rows of one head: the first, the last, around tile edges, and random ones; each once. */
static void select_rows(const sattn_attention_args *a, const sattn_verify_selection *s,
                        uint64_t stream, verify_memory *memory)
{
    const int64_t n_random = s->n_random > 0 ? s->n_random : 32;
    const int64_t last_edge = s->tile_queries > 0 ? (a->n_q - 1) / s->tile_queries : 0;
    int64_t n = 0;
    memory->rows[n++] = 0;
    memory->rows[n++] = a->n_q - 1;
    for (int64_t e = 0; e < EDGES_MAX && e < last_edge; ++e) {
        int64_t edge = e + 1;
        if (last_edge > EDGES_MAX && e >= EDGES_MAX / 4)
            edge = e == EDGES_MAX - 1 ? last_edge
                                      : 1 + random_below(last_edge, s->seed, stream, n_random + e);
        for (int64_t i = -1; i <= 1; ++i)
            if (edge * s->tile_queries + i < a->n_q)
                memory->rows[n++] = edge * s->tile_queries + i;
    }
    for (int64_t r = 0; r < n_random; ++r)
        memory->rows[n++] = random_below(a->n_q, s->seed, stream, r);
    qsort(memory->rows, (size_t)n, sizeof *memory->rows, compare_rows);
    memory->n_rows = 0;
    for (int64_t r = 0; r < n; ++r)
        if (r == 0 || memory->rows[r] != memory->rows[memory->n_rows - 1])
            memory->rows[memory->n_rows++] = memory->rows[r];
}

static void verify_all(const sattn_attention_args *a, const sattn_bound_params *params,
                       const verify_memory *memory, sattn_verify_result *result)
{
    for (int64_t batch = 0; batch < a->batch; ++batch)
        for (int64_t head = 0; head < a->n_q_heads; ++head)
            for (int64_t i = 0; i < a->n_q; ++i)
                verify_one(a, params, batch, head, i, memory, result);
}

static void verify_sample(const sattn_attention_args *a, const sattn_verify_selection *s,
                          const sattn_bound_params *params, verify_memory *memory,
                          sattn_verify_result *result)
{
    const int64_t n_pairs = a->batch * a->n_q_heads;
    const int64_t wanted = s->n_heads > 0 ? s->n_heads : 4;
    for (int64_t p = 0; p < wanted && p < n_pairs; ++p) {
        int64_t pair = p;
        if (p == wanted - 1)
            pair = n_pairs - 1;
        else if (p > 0 && wanted < n_pairs) /* one of each equal share, so none comes twice */
            pair = n_pairs * p / wanted +
                   random_below(n_pairs * (p + 1) / wanted - n_pairs * p / wanted, s->seed, 0, p);
        const int64_t batch = pair / a->n_q_heads;
        const int64_t head = pair % a->n_q_heads;
        select_rows(a, s, (uint64_t)p + 1, memory);
        for (int64_t r = 0; r < memory->n_rows; ++r)
            verify_one(a, params, batch, head, memory->rows[r], memory, result);
    }
    if (!mask_is_harmless(&a->mask))
        return;
    for (int64_t batch = 0; batch < a->batch; ++batch)
        for (int64_t head = 0; head < a->n_q_heads; ++head)
            if (head_is_harmless(a, batch, head))
                scan_head(a, batch, head, result);
}

static const char *cannot_verify(const sattn_attention_args *a)
{
    if (a->q.dtype != SATTN_F32 || a->k.dtype != SATTN_F32 || a->v.dtype != SATTN_F32 ||
        a->o.dtype != SATTN_F32)
        return "verify: dtype: only SATTN_F32 can be verified";
    if (a->scores)
        return "verify: scores cannot be verified";
    return NULL;
}

static void *array_of(int64_t n, size_t size)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / size - 1)
        return NULL;
    return malloc(((size_t)n + 1) * size);
}

sattn_status sattn_verify_attention(const sattn_attention_args *args,
                                    const sattn_verify_selection *selection,
                                    const sattn_bound_params *params, sattn_verify_result *result,
                                    const char **why)
{
    const char *text = cannot_verify(args);
    if (why)
        *why = text ? text : "";
    if (text)
        return SATTN_ERR_UNSUPPORTED;
    if (args->batch == 0 || args->n_q_heads == 0 || args->n_q == 0)
        return SATTN_OK;
    sattn_bound_params used = params ? *params : sattn_bound_defaults();
    if (!args->has_scale) /* 1 / sqrt(d) in float: a square root and a division */
        used.scale_roundings += 2;
    const int64_t n_random = selection->n_random > 0 ? selection->n_random : 32;
    verify_memory memory = {.weights = array_of(args->n_k, sizeof(double)),
                            .logits = array_of(args->n_k, sizeof(double)),
                            .dot_sizes = array_of(args->n_k, sizeof(double)),
                            .o = array_of(args->d_v, sizeof(double)),
                            .magnitude = array_of(args->d_v, sizeof(double)),
                            .bound = array_of(args->d_v, sizeof(double)),
                            .rows = array_of(n_random + 2 + 3 * EDGES_MAX, sizeof(int64_t))};
    sattn_status status = SATTN_ERR_MEMORY;
    if (memory.weights && memory.logits && memory.dot_sizes && memory.o && memory.magnitude &&
        memory.bound && memory.rows) {
        status = SATTN_OK;
        if (selection->all_rows)
            verify_all(args, &used, &memory, result);
        else
            verify_sample(args, selection, &used, &memory, result);
    } else if (why) {
        *why = "verify: no memory";
    }
    free(memory.weights);
    free(memory.logits);
    free(memory.dot_sizes);
    free(memory.o);
    free(memory.magnitude);
    free(memory.bound);
    free(memory.rows);
    return status;
}
