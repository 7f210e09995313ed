/* SPDX-License-Identifier: MIT
 *
 * workload.c: allocation and filling of a shape's tensors. Made inputs have the spread of trained
 * attention (bench/verify/inputs.h) with a fixed seed, and hold no denormals. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "bench/workload.h"

#include "bench/verify/inputs.h"
#include "bench/verify/real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 2026,
    ALIGNMENT = 64,
    LARGE_PAGE = 1 << 21,
    GAP = 5 * ALIGNMENT, /* between tensors, so that they do not all start at one cache set */
};

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static void *allocate(size_t size)
{
    const size_t unit = size >= LARGE_PAGE ? LARGE_PAGE : ALIGNMENT;
    void *const memory = aligned_alloc(unit, round_up(size ? size : 1, unit));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (memory && unit == LARGE_PAGE)
        (void)madvise(memory, round_up(size, unit), MADV_HUGEPAGE); /* a wish, not a need */
#endif
    return memory;
}

/* Offsets of the tensors in a set, in bytes. K and V lie side by side. */
typedef struct set_layout {
    size_t q, k, v, o, size, kv_end;
} set_layout;

static size_t tensor_bytes(int64_t batch, int64_t heads, int64_t rows, int64_t features)
{
    return (size_t)batch * (size_t)heads * (size_t)rows * (size_t)features * sizeof(float);
}

static set_layout layout_of(const sattn_shape *s)
{
    set_layout at = {0};
    at.k = round_up(tensor_bytes(s->batch, s->n_q_heads, s->n_q, s->d), ALIGNMENT) + GAP;
    at.v = at.k + round_up(tensor_bytes(s->batch, s->n_kv_heads, s->n_k, s->d), ALIGNMENT) + GAP;
    at.kv_end = at.v + tensor_bytes(s->batch, s->n_kv_heads, s->n_k, s->d_v);
    at.o = round_up(at.kv_end, ALIGNMENT) + GAP;
    at.size = at.o + tensor_bytes(s->batch, s->n_q_heads, s->n_q, s->d_v);
    at.size = round_up(at.size, ALIGNMENT) + GAP;
    return at;
}

static sattn_attention_args args_of(const sattn_workload *w)
{
    const sattn_shape *const s = &w->shape;
    const set_layout at = layout_of(s);
    sattn_attention_args args = {
        .batch = s->batch,
        .n_q_heads = s->n_q_heads,
        .n_kv_heads = s->n_kv_heads,
        .n_q = s->n_q,
        .n_k = s->n_k,
        .d = s->d,
        .d_v = s->d_v,
        .q = {w->arena + at.q, SATTN_F32, s->n_q_heads * s->n_q * s->d, s->n_q * s->d, s->d},
        .k = {w->arena + at.k, SATTN_F32, s->n_kv_heads * s->n_k * s->d, s->n_k * s->d, s->d},
        .v = {w->arena + at.v, SATTN_F32, s->n_kv_heads * s->n_k * s->d_v, s->n_k * s->d_v, s->d_v},
        .o = {w->arena + at.o, SATTN_F32, s->n_q_heads * s->n_q * s->d_v, s->n_q * s->d_v, s->d_v},
        .has_scale = s->scale != 0,
        .scale = (float)s->scale,
        .causal = s->causal,
        .n_k_valid = w->n_k_valid,
    };
    if (w->mask) {
        const sattn_shape_mask *const m = &s->mask;
        const int64_t extent[4] = {m->per_batch ? s->batch : 1, m->per_head ? s->n_q_heads : 1,
                                   m->per_query ? s->n_q : 1, s->n_k};
        args.mask.kind = m->kind;
        args.mask.data = w->mask;
        int64_t stride = 1;
        for (int axis = 3; axis >= 0; --axis) {
            args.mask.extent[axis] = extent[axis];
            args.mask.stride[axis] = stride;
            stride *= extent[axis];
        }
    }
    return args;
}

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
    case SATTN_CONTENT_NONE:
        break;
    }
    return 0.0f;
}

static bool make_mask(sattn_workload *w)
{
    const sattn_shape *const s = &w->shape;
    if (s->mask.kind == SATTN_MASK_NONE)
        return true;
    const int64_t n_batch = s->mask.per_batch ? s->batch : 1;
    const int64_t n_heads = s->mask.per_head ? s->n_q_heads : 1;
    const int64_t n_rows = s->mask.per_query ? s->n_q : 1;
    const bool is_bool = s->mask.kind == SATTN_MASK_BOOL;
    const size_t n = (size_t)(n_batch * n_heads * n_rows * s->n_k);
    w->mask = allocate(n * (is_bool ? 1 : sizeof(float)));
    if (!w->mask)
        return false;
    size_t at = 0;
    for (int64_t b = 0; b < n_batch; ++b)
        for (int64_t h = 0; h < n_heads; ++h)
            for (int64_t i = 0; i < n_rows; ++i)
                for (int64_t j = 0; j < s->n_k; ++j, ++at) {
                    const float value = mask_value(s, b, h, i, j);
                    if (is_bool)
                        ((uint8_t *)w->mask)[at] = value == 0.0f;
                    else
                        ((float *)w->mask)[at] = value;
                }
    return true;
}

/* Takes sizes, lengths and later the tensors from the captured layer. */
static void adopt_layer(sattn_workload *w, sattn_real_layer *layer)
{
    sattn_shape *const s = &w->shape;
    s->batch = layer->batch;
    s->n_q_heads = s->n_kv_heads = layer->n_heads;
    s->n_q = s->n_k = layer->n_tokens;
    s->d = s->d_v = layer->d;
    w->n_k_valid = layer->lengths;
    layer->lengths = NULL;
}

static void fill_first_set(sattn_workload *w, const sattn_real_layer *layer)
{
    const sattn_shape *const s = &w->shape;
    const set_layout at = layout_of(s);
    float *const q = (float *)(void *)(w->arena + at.q);
    float *const k = (float *)(void *)(w->arena + at.k);
    float *const v = (float *)(void *)(w->arena + at.v);
    memset(w->arena, 0, w->set_bytes);
    if (layer->q) {
        const size_t bytes = tensor_bytes(s->batch, s->n_q_heads, s->n_q, s->d);
        memcpy(q, layer->q, bytes);
        memcpy(k, layer->k, bytes);
        memcpy(v, layer->v, bytes);
        return;
    }
    const sattn_input_shape sizes = {s->batch, s->n_q_heads, s->n_kv_heads, s->n_q,
                                     s->n_k,   s->d,         s->d_v};
    sattn_input_fill(SATTN_INPUT_ATTENTION, SEED, &sizes, q, k, v);
}

bool sattn_workload_open(sattn_workload *workload, const sattn_shape *shape, const char *dataset,
                         size_t cold_bytes, char *error, size_t error_size)
{
    sattn_workload w = {.shape = *shape, .n_sets = 1};
    sattn_real_layer layer = {0};
    *workload = (sattn_workload){0};
    if (shape->real_layer >= 0) {
        if (!sattn_real_load(dataset, shape->real_layer, &layer, error, error_size))
            return false;
        adopt_layer(&w, &layer);
    }
    w.set_bytes = layout_of(&w.shape).size;
    if (cold_bytes > w.set_bytes)
        w.n_sets = (int64_t)((cold_bytes + w.set_bytes - 1) / w.set_bytes);
    w.arena = allocate((size_t)w.n_sets * w.set_bytes);
    const bool good = w.arena && make_mask(&w);
    if (good) {
        fill_first_set(&w, &layer);
        for (int64_t set = 1; set < w.n_sets; ++set)
            memcpy(w.arena + (size_t)set * w.set_bytes, w.arena, w.set_bytes);
        w.args = args_of(&w);
        *workload = w;
    } else {
        snprintf(error, error_size, "%s: out of memory for %.1f MB of tensors", shape->name,
                 (double)w.n_sets * (double)w.set_bytes / 1e6);
        sattn_workload_close(&w);
    }
    sattn_real_free(&layer);
    return good;
}

void sattn_workload_close(sattn_workload *workload)
{
    free(workload->arena);
    free(workload->mask);
    free(workload->n_k_valid);
    *workload = (sattn_workload){0};
}

sattn_pointers sattn_workload_pointers(const sattn_workload *workload, int64_t set)
{
    const set_layout at = layout_of(&workload->shape);
    char *const base = workload->arena + (size_t)set * workload->set_bytes;
    return (sattn_pointers){.q = base + at.q,
                            .k = base + at.k,
                            .v = base + at.v,
                            .o = base + at.o,
                            .mask = workload->mask,
                            .n_k_valid = workload->n_k_valid};
}

const void *sattn_workload_kv(const sattn_workload *workload, int64_t set, size_t *bytes)
{
    const set_layout at = layout_of(&workload->shape);
    *bytes = at.kv_end - at.k;
    return workload->arena + (size_t)set * workload->set_bytes + at.k;
}

bool sattn_workload_can_cut_rows(const sattn_workload *workload)
{
    return !workload->args.causal && workload->args.mask.kind == SATTN_MASK_NONE;
}

sattn_attention_args sattn_workload_part(const sattn_workload *workload, int64_t n_kv_heads,
                                         int64_t n_rows)
{
    sattn_attention_args part = workload->args;
    const int64_t group = part.n_q_heads / part.n_kv_heads;
    part.batch = 1;
    part.n_kv_heads = n_kv_heads;
    part.n_q_heads = n_kv_heads * group;
    part.n_q = n_rows;
    if (part.mask.extent[0] > 1)
        part.mask.extent[0] = 1;
    if (part.mask.extent[1] > 1)
        part.mask.extent[1] = part.n_q_heads;
    return part;
}

static bool mask_lets_through(const sattn_mask *mask, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const int64_t index[4] = {b, h, i, j};
    int64_t at = 0;
    for (int axis = 0; axis < 4; ++axis)
        at += mask->extent[axis] > 1 ? index[axis] * mask->stride[axis] : 0;
    if (mask->kind == SATTN_MASK_BOOL)
        return ((const uint8_t *)mask->data)[at] != 0;
    return ((const float *)mask->data)[at] != -INFINITY;
}

static double visible_pairs(const sattn_attention_args *args, int64_t b, int64_t h)
{
    const int64_t n_k = args->n_k_valid ? args->n_k_valid[b] : args->n_k;
    const int64_t offset = args->causal_offset ? args->causal_offset[b] : n_k - args->n_q;
    int64_t pairs = 0;
    for (int64_t i = 0; i < args->n_q; ++i) {
        int64_t end = n_k;
        if (args->causal && i + offset + 1 < end)
            end = i + offset + 1 > 0 ? i + offset + 1 : 0;
        if (args->mask.kind == SATTN_MASK_NONE)
            pairs += end;
        else
            for (int64_t j = 0; j < end; ++j)
                pairs += mask_lets_through(&args->mask, b, h, i, j);
    }
    return (double)pairs;
}

sattn_work sattn_work_of(const sattn_attention_args *args)
{
    const bool heads_differ = args->mask.kind != SATTN_MASK_NONE && args->mask.extent[1] > 1;
    sattn_work work = {0};
    for (int64_t b = 0; b < args->batch; ++b) {
        const int64_t n_k = args->n_k_valid ? args->n_k_valid[b] : args->n_k;
        const double columns = (double)(args->d + args->d_v);
        double pairs = 0;
        for (int64_t h = 0; h < (heads_differ ? args->n_q_heads : 1); ++h)
            pairs += visible_pairs(args, b, h);
        if (!heads_differ)
            pairs *= (double)args->n_q_heads;
        work.flops += 2 * columns * pairs;
        work.kv_bytes += (double)args->n_kv_heads * (double)n_k * columns * sizeof(float);
        work.bytes += (double)args->n_q_heads * (double)args->n_q * columns * sizeof(float);
    }
    work.bytes += work.kv_bytes;
    return work;
}
