/* SPDX-License-Identifier: MIT
 *
 * workload_inputs.c: inputs of workloads. Made ones come from bench/verify/inputs.h with a fixed
 * seed. Scores and weights are what the library's own steps make of Q and K, so softmax and AV meet
 * rows as they do in an attention. */
#include "bench/workload_inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 2026,
    STREAM_NUMBERS = 100, /* of the generator in inputs.h, which uses the first few itself */
    STREAM_SINKS,
    STREAM_WEIGHTS,
};

static sattn_input_shape sizes_of(const sattn_shape *s)
{
    return (sattn_input_shape){s->batch, s->n_q_heads, s->n_kv_heads, s->n_q, s->n_k, s->d, s->d_v};
}

/* ---- masks */

/* The mask's value for one query and key: a bias, or -inf for a hidden key. */
static float mask_value(const sattn_shape *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    switch (s->mask.content) {
    case SATTN_CONTENT_PADDING:
        return j < s->n_k - b * s->n_k / (2 * s->batch) ? 0.0f : -INFINITY;
    case SATTN_CONTENT_CAUSAL:
        return j <= i + s->n_k - s->n_q ? 0.0f : -INFINITY;
    case SATTN_CONTENT_BIAS:
        return 2.0f - 0.25f * (float)(1 + h % 4) * logf(1.0f + (float)llabs((long long)(i - j)));
    case SATTN_CONTENT_INPUT:
    case SATTN_CONTENT_NONE:
        break;
    }
    return 0.0f;
}

bool sattn_workload_make_mask(sattn_workload *workload, sattn_input_kind kind)
{
    const sattn_shape *const s = &workload->shape;
    if (s->mask.kind == SATTN_MASK_NONE)
        return true;
    const int64_t n_batch = s->mask.per_batch ? s->batch : 1;
    const int64_t n_heads = s->mask.per_head ? s->n_q_heads : 1;
    const int64_t n_rows = s->mask.per_query ? s->n_q : 1;
    const bool is_bool = s->mask.kind == SATTN_MASK_BOOL;
    const size_t n = (size_t)(n_batch * n_heads * n_rows * s->n_k);
    workload->mask = sattn_workload_allocate(n * (is_bool ? 1 : sizeof(float)));
    if (!workload->mask)
        return false;
    if (s->mask.content == SATTN_CONTENT_INPUT) {
        const sattn_input_shape sizes = sizes_of(s);
        sattn_input_fill_mask(kind, SEED, &sizes, workload->mask);
        return true;
    }
    size_t at = 0;
    for (int64_t b = 0; b < n_batch; ++b)
        for (int64_t h = 0; h < n_heads; ++h)
            for (int64_t i = 0; i < n_rows; ++i)
                for (int64_t j = 0; j < s->n_k; ++j, ++at) {
                    const float value = mask_value(s, b, h, i, j);
                    if (is_bool)
                        ((uint8_t *)workload->mask)[at] = value == 0.0f;
                    else
                        ((float *)workload->mask)[at] = value;
                }
    return true;
}

/* ---- slopes and sinks */

bool sattn_workload_make_slopes_and_sinks(sattn_workload *workload)
{
    const sattn_shape *const s = &workload->shape;
    if (!s->has_alibi && !s->has_sinks)
        return true;
    float *const slopes = sattn_workload_allocate(2 * (size_t)s->n_q_heads * sizeof *slopes);
    workload->slopes_and_sinks = slopes;
    for (int64_t h = 0; slopes && h < s->n_q_heads; ++h) {
        slopes[h] = (float)exp2(-8.0 * (double)(h + 1) / (double)s->n_q_heads);
        slopes[s->n_q_heads + h] = 2.0f * sattn_random_normal(SEED, STREAM_SINKS, (uint64_t)h);
    }
    return slopes != NULL;
}

/* ---- tensors */

/* Q, K and V of the whole shape: those of a captured layer, or made ones. */
typedef struct source_tensors {
    const float *q, *k, *v;
    float *made;
} source_tensors;

static bool open_source(source_tensors *source, const sattn_workload *w, sattn_input_kind kind,
                        const sattn_real_layer *layer)
{
    *source = (source_tensors){layer->q, layer->k, layer->v, NULL};
    if (layer->q)
        return true;
    const sattn_shape *const s = &w->shape;
    const size_t n_q = (size_t)s->batch * (size_t)s->n_q_heads * (size_t)s->n_q * (size_t)s->d;
    const size_t keys = (size_t)s->batch * (size_t)s->n_kv_heads * (size_t)s->n_k;
    float *const q = malloc((n_q + keys * (size_t)(s->d + s->d_v)) * sizeof *q);
    if (!q)
        return false;
    float *const k = q + n_q, *const v = k + keys * (size_t)s->d;
    const sattn_input_shape sizes = sizes_of(s);
    sattn_input_fill(kind, SEED, &sizes, q, k, v);
    *source = (source_tensors){q, k, v, q};
    return true;
}

/* A dense tensor into its place in set 0, whatever that one's strides are. */
static void copy_into(const sattn_workload *w, sattn_workload_tensor tensor, const sattn_view *to,
                      const float *from, int64_t n_heads, int64_t n_rows, int64_t width)
{
    size_t bytes;
    float *const place = sattn_workload_piece(w, 0, tensor, &bytes);
    for (int64_t b = 0; place && b < w->shape.batch; ++b)
        for (int64_t h = 0; h < n_heads; ++h)
            for (int64_t i = 0; i < n_rows; ++i, from += width)
                memcpy(place + b * to->stride_b + h * to->stride_h + i * to->stride_t, from,
                       (size_t)width * sizeof *from);
}

static void copy_tensors(const sattn_workload *w, const source_tensors *source)
{
    const sattn_shape *const s = &w->shape;
    copy_into(w, SATTN_TENSOR_Q, &w->args.q, source->q, s->n_q_heads, s->n_q, s->d);
    copy_into(w, SATTN_TENSOR_K, &w->args.k, source->k, s->n_kv_heads, s->n_k, s->d);
    copy_into(w, SATTN_TENSOR_V, &w->args.v, source->v, s->n_kv_heads, s->n_k, s->d_v);
}

/* Scores or weights, into set 0. */
static sattn_status make_scores(const sattn_workload *w, const source_tensors *source,
                                sattn_scores_in wanted)
{
    size_t bytes;
    sattn_shape dense = w->shape;
    dense.is_interleaved = false;
    sattn_attention_args args = w->args;
    args.q = sattn_workload_view(&dense, dense.n_q_heads, dense.n_q, dense.d);
    args.k = sattn_workload_view(&dense, dense.n_kv_heads, dense.n_k, dense.d);
    args.q.data = source->q;
    args.k.data = source->k;
    args.scores = sattn_workload_piece(w, 0, SATTN_TENSOR_SCORES_IN, &bytes);
    args.scores_in = NULL;
    const sattn_status status = sattn_qk(&args, NULL);
    if (status != SATTN_OK || wanted == SATTN_IN_SCORES)
        return status;
    args.scores_in = args.scores;
    return sattn_softmax(&args, NULL);
}

/* So large that a map of d numbers of size 1 makes numbers of size 1. */
static void make_weights(const sattn_workload *w)
{
    size_t bytes;
    float *const weights = sattn_workload_piece(w, 0, SATTN_TENSOR_WEIGHTS, &bytes);
    const float size = 1.0f / sqrtf((float)w->shape.d);
    for (size_t i = 0; i < bytes / sizeof *weights; ++i)
        weights[i] = size * sattn_random_normal(SEED, STREAM_WEIGHTS, i);
}

static void make_numbers(const sattn_workload *w, double spread)
{
    size_t bytes;
    float *const numbers = sattn_workload_piece(w, 0, SATTN_TENSOR_SCORES_IN, &bytes);
    for (size_t i = 0; i < bytes / sizeof *numbers; ++i)
        numbers[i] = (float)spread * sattn_random_normal(SEED, STREAM_NUMBERS, i);
}

bool sattn_workload_fill(const sattn_workload *workload, const sattn_workload_request *request,
                         const sattn_real_layer *layer, char *error, size_t error_size)
{
    memset(workload->arena, 0, workload->set_bytes);
    if (request->scores_in == SATTN_IN_NUMBERS) {
        make_numbers(workload, request->spread);
        return true;
    }
    source_tensors source;
    if (!open_source(&source, workload, request->data->input, layer)) {
        snprintf(error, error_size, "%s: out of memory for its inputs", workload->shape.name);
        return false;
    }
    copy_tensors(workload, &source);
    make_weights(workload);
    bool good = true;
    if (request->tensors & SATTN_TENSOR_SCORES_IN) {
        good = make_scores(workload, &source, request->scores_in) == SATTN_OK;
        if (!good)
            snprintf(error, error_size, "%s: its scores cannot be computed: %s",
                     workload->shape.name, sattn_last_error());
    }
    free(source.made);
    return good;
}
