/* SPDX-License-Identifier: MIT
 *
 * check_problem.c: tensors, masks and lengths of a shape class. */
#include "bench/check/check_problem.h"

#include "bench/verbs.h"
#include "bench/verify/real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_SINKS = 101 /* of the generator in inputs.h; select_rows has the one before */ };

/* Element counts of a problem's arrays, which lie in one piece. */
typedef struct problem_sizes {
    size_t q, k, v, o, lse, scores;
} problem_sizes;

static problem_sizes sizes_of(const sattn_attention_args *a)
{
    const size_t queries = (size_t)(a->batch * a->n_q_heads * a->n_q);
    const size_t keys = (size_t)(a->batch * a->n_kv_heads * a->n_k);
    return (problem_sizes){.q = queries * (size_t)a->d,
                           .k = keys * (size_t)a->d,
                           .v = keys * (size_t)a->d_v,
                           .o = queries * (size_t)a->d_v,
                           .lse = queries,
                           .scores = queries * (size_t)a->n_k};
}

static bool allocate(sattn_check_problem *p)
{
    sattn_attention_args *const a = &p->args;
    const problem_sizes n = sizes_of(a);
    float *at = malloc((n.q + n.k + n.v + n.o + n.lse + 3 * n.scores) * sizeof *at);
    p->memory = at;
    if (!at)
        return false;
    a->q.data = at;
    a->k.data = at + n.q;
    a->v.data = at + n.q + n.k;
    a->o.data = at + n.q + n.k + n.v;
    a->lse = at + n.q + n.k + n.v + n.o;
    p->step = a->lse + n.lse;
    p->scores = p->step + n.scores;
    p->weights = p->scores + n.scores;
    p->n_scores = (int64_t)n.scores;
    return true;
}

/* Strides of dense tensors, heads before rows or rows before heads. */
static void set_strides(sattn_attention_args *a, bool is_interleaved)
{
    const struct {
        int64_t *b, *h, *t;
        int64_t heads, rows, width;
    } tensors[] = {{&a->q.stride_b, &a->q.stride_h, &a->q.stride_t, a->n_q_heads, a->n_q, a->d},
                   {&a->k.stride_b, &a->k.stride_h, &a->k.stride_t, a->n_kv_heads, a->n_k, a->d},
                   {&a->v.stride_b, &a->v.stride_h, &a->v.stride_t, a->n_kv_heads, a->n_k, a->d_v},
                   {&a->o.stride_b, &a->o.stride_h, &a->o.stride_t, a->n_q_heads, a->n_q, a->d_v}};
    for (size_t t = 0; t < sizeof tensors / sizeof tensors[0]; ++t) {
        *tensors[t].b = tensors[t].heads * tensors[t].rows * tensors[t].width;
        *tensors[t].h = (is_interleaved ? 1 : tensors[t].rows) * tensors[t].width;
        *tensors[t].t = (is_interleaved ? tensors[t].heads : 1) * tensors[t].width;
    }
    a->lse_stride_h = a->n_q;
    a->lse_stride_b = a->n_q_heads * a->n_q;
    a->scores_stride_t = a->scores_in_stride_t = a->n_k;
    a->scores_stride_h = a->scores_in_stride_h = a->n_q * a->n_k;
    a->scores_stride_b = a->scores_in_stride_b = a->n_q_heads * a->n_q * a->n_k;
}

/* Exchanges rows and heads of a tensor [batch, heads, rows, width]; false: out of memory. */
static bool interleave(float *data, int64_t batch, int64_t heads, int64_t rows, int64_t width)
{
    const size_t n = (size_t)(heads * rows * width);
    float *const old = malloc(n * sizeof *old);
    for (int64_t b = 0; old && b < batch; ++b) {
        float *const now = data + (size_t)b * n;
        memcpy(old, now, n * sizeof *old);
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t t = 0; t < rows; ++t)
                memcpy(now + (t * heads + h) * width, old + (h * rows + t) * width,
                       (size_t)width * sizeof *old);
    }
    free(old);
    return old != NULL;
}

static bool fill_tensors(sattn_check_problem *p, sattn_input_kind kind)
{
    const sattn_check_shape *const s = p->shape;
    const sattn_input_shape sizes = {s->batch, s->n_q_heads, s->n_kv_heads, s->n_q,
                                     s->n_k,   s->d,         s->d_v};
    float *const q = p->memory;
    float *const k = q + sizes_of(&p->args).q;
    float *const v = k + sizes_of(&p->args).k;
    sattn_input_fill(kind, p->seed, &sizes, q, k, v);
    return !s->is_interleaved || (interleave(q, s->batch, s->n_q_heads, s->n_q, s->d) &&
                                  interleave(k, s->batch, s->n_kv_heads, s->n_k, s->d) &&
                                  interleave(v, s->batch, s->n_kv_heads, s->n_k, s->d_v));
}

static void set_mask(sattn_check_problem *p, sattn_mask_kind kind, int64_t heads)
{
    sattn_attention_args *const a = &p->args;
    const int64_t extent[4] = {1, heads, a->n_q, a->n_k};
    a->mask.kind = kind;
    a->mask.data = p->mask;
    int64_t stride = 1;
    for (int axis = 3; axis >= 0; --axis) {
        a->mask.extent[axis] = extent[axis];
        a->mask.stride[axis] = stride;
        stride *= extent[axis];
    }
}

/* A bias that falls with the distance of query and key, faster in each head, and hides some keys.
 */
static void fill_bias(const sattn_check_problem *p, float *bias)
{
    const sattn_attention_args *const a = &p->args;
    for (int64_t h = 0; h < a->n_q_heads; ++h)
        for (int64_t i = 0; i < a->n_q; ++i)
            for (int64_t j = 0; j < a->n_k; ++j) {
                const int64_t distance = llabs((long long)(i + a->n_k - a->n_q - j));
                const bool is_hidden = (i + j) % 11 == 5;
                *bias++ = is_hidden ? -INFINITY : 1.5f - 0.125f * (float)((1 + h) * distance);
            }
}

static bool add_mask(sattn_check_problem *p, sattn_input_kind kind)
{
    const sattn_check_shape *const s = p->shape;
    const sattn_mask_kind of_data = sattn_input_mask_kind(kind);
    if (of_data == SATTN_MASK_NONE && !s->has_bias)
        return true;
    const int64_t heads = of_data == SATTN_MASK_NONE ? s->n_q_heads : 1;
    p->mask = malloc((size_t)(heads * s->n_q * s->n_k) * sizeof(float));
    if (!p->mask)
        return false;
    if (of_data == SATTN_MASK_NONE) {
        fill_bias(p, p->mask);
        set_mask(p, SATTN_MASK_ADDITIVE, heads);
    } else {
        const sattn_input_shape sizes = {.n_q = s->n_q, .n_k = s->n_k};
        sattn_input_fill_mask(kind, p->seed, &sizes, p->mask);
        set_mask(p, of_data, heads);
    }
    return true;
}

static bool add_slopes_and_sinks(sattn_check_problem *p)
{
    const int64_t n = p->args.n_q_heads;
    float *const slopes = malloc(2 * (size_t)n * sizeof *slopes);
    float *const sinks = slopes ? slopes + n : NULL;
    p->slopes_and_sinks = slopes;
    if (!slopes)
        return false;
    for (int64_t h = 0; h < n; ++h) {
        slopes[h] = (float)exp2(-8.0 * (double)(h + 1) / (double)n);
        sinks[h] = 3 * sattn_random_normal(p->seed, STREAM_SINKS, (uint64_t)h);
    }
    if (n > 1)
        sinks[1] = -INFINITY;
    if (p->shape->has_alibi)
        p->args.alibi_slopes = slopes;
    if (p->shape->has_sinks)
        p->args.sinks = sinks;
    return true;
}

static bool add_lengths(sattn_check_problem *p)
{
    const sattn_check_shape *const s = p->shape;
    if (!s->has_lengths)
        return true;
    p->n_k_valid = malloc((size_t)s->batch * sizeof *p->n_k_valid);
    if (!p->n_k_valid)
        return false;
    for (int64_t b = 0; b < s->batch; ++b)
        p->n_k_valid[b] = s->n_k - b * s->n_k / (s->batch + 1) - (b > 0 ? 1 : 0);
    p->args.n_k_valid = p->n_k_valid;
    return true;
}

/* How many rows the oracle has time for, and which: all, or the first, the last and some of the
 * others. */
static bool select_rows(sattn_check_problem *p, bool full)
{
    const sattn_attention_args *const a = &p->args;
    const int64_t n_all = a->batch * a->n_q_heads * a->n_q;
    const int64_t row_cost = (a->n_k + 1) * (a->d + a->d_v + 30);
    const int64_t budget = full ? 100000000 : 4000000;
    int64_t n = budget / row_cost;
    n = n < 6 ? 6 : n;
    p->all_rows = n >= n_all;
    p->n_rows = p->all_rows ? n_all : n;
    p->rows = malloc((size_t)(p->n_rows + 1) * sizeof *p->rows);
    if (!p->rows)
        return false;
    for (int64_t r = 0; r < p->n_rows; ++r) {
        int64_t at = r;
        if (!p->all_rows && r > 0) { /* one of each equal share */
            const int64_t first = n_all * r / n, end = n_all * (r + 1) / n;
            at = r == n - 1 ? n_all - 1
                            : first + (int64_t)(sattn_random_bits(p->seed, 100, (uint64_t)r) %
                                                (uint64_t)(end - first));
        }
        p->rows[r] = (sattn_verify_place){.batch = at / a->n_q / a->n_q_heads,
                                          .head = at / a->n_q % a->n_q_heads,
                                          .row = at % a->n_q};
    }
    return true;
}

static void set_sizes(sattn_check_problem *p)
{
    const sattn_check_shape *const s = p->shape;
    p->args = (sattn_attention_args){
        .batch = s->batch,
        .n_q_heads = s->n_q_heads,
        .n_kv_heads = s->n_kv_heads,
        .n_q = s->n_q,
        .n_k = s->n_k,
        .d = s->d,
        .d_v = s->d_v,
        .has_scale = true,
        .scale = s->scale != 0 ? s->scale : (float)(1.0 / sqrt((double)s->d)),
        .softcap = s->softcap,
        .causal = s->causal,
        .has_window = s->has_window,
        .window_left = s->window_left,
        .window_right = s->window_right,
    };
}

/* The captured tensors, every batch entry of its own length. */
static int open_layer(sattn_check_problem *p, const char *dataset, char *error, size_t error_size)
{
    sattn_real_layer layer;
    if (!sattn_real_load(dataset, p->shape->layer, &layer, error, error_size))
        return SATTN_EXIT_USAGE;
    sattn_attention_args *const a = &p->args;
    *a = (sattn_attention_args){.batch = layer.batch,
                                .n_q_heads = layer.n_heads,
                                .n_kv_heads = layer.n_heads,
                                .n_q = layer.n_tokens,
                                .n_k = layer.n_tokens,
                                .d = layer.d,
                                .d_v = layer.d,
                                .has_scale = true,
                                .scale = (float)(1.0 / sqrt((double)layer.d))};
    const bool good = allocate(p);
    if (good) {
        float *const q = p->memory;
        const size_t n = sizes_of(a).q;
        memcpy(q, layer.q, n * sizeof *q);
        memcpy(q + n, layer.k, n * sizeof *q);
        memcpy(q + 2 * n, layer.v, n * sizeof *q);
        a->n_k_valid = p->n_k_valid = layer.lengths;
        layer.lengths = NULL;
        set_strides(a, false);
    }
    sattn_real_free(&layer);
    return good ? SATTN_EXIT_GOOD : SATTN_EXIT_FAILED;
}

int sattn_check_problem_open(sattn_check_problem *problem, const sattn_check_options *options,
                             const sattn_check_shape *shape, sattn_input_kind kind, char *error,
                             size_t error_size)
{
    const bool is_real = shape->layer != SATTN_CHECK_NO_LAYER;
    int code = SATTN_EXIT_FAILED;
    *problem = (sattn_check_problem){.shape = shape, .seed = options->seed};
    problem->data = is_real ? SATTN_CHECK_REAL_DATA : sattn_input_name(kind);
    snprintf(error, error_size, "%s: out of memory", shape->name);
    if (is_real) {
        code = open_layer(problem, options->dataset, error, error_size);
    } else {
        set_sizes(problem);
        set_strides(&problem->args, shape->is_interleaved);
        if (allocate(problem) && fill_tensors(problem, kind) && add_mask(problem, kind) &&
            add_slopes_and_sinks(problem) && add_lengths(problem))
            code = SATTN_EXIT_GOOD;
    }
    if (code == SATTN_EXIT_GOOD && !select_rows(problem, options->full))
        code = SATTN_EXIT_FAILED;
    if (code != SATTN_EXIT_GOOD)
        sattn_check_problem_close(problem);
    return code;
}

void sattn_check_problem_close(sattn_check_problem *problem)
{
    free(problem->memory);
    free(problem->mask);
    free(problem->slopes_and_sinks);
    free(problem->n_k_valid);
    free(problem->rows);
    *problem = (sattn_check_problem){0};
}

void sattn_check_poison(sattn_check_problem *problem)
{
    const problem_sizes n = sizes_of(&problem->args);
    memset(problem->args.o.data, 0xff, n.o * sizeof(float));
    memset(problem->args.lse, 0xff, n.lse * sizeof(float));
    memset(problem->step, 0xff, n.scores * sizeof(float));
}
