/* SPDX-License-Identifier: MIT
 *
 * conform_attention.c: ONNX's Attention as arguments of sattn_attention.
 *
 * The offset of a causal limit or window is always given: 0 without a cache, the number of past
 * keys with one, and nonpad - Tq for each batch entry of a padded cache. */
#include "bench/conform/conform_problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS_MAX = 1 << 28 };

/* extents[0] * .. * extents[3]; 0 where that is more than this program wants to hold. */
static int64_t product(const int64_t extents[4])
{
    int64_t n = 1;
    for (int axis = 0; axis < 4; ++axis) {
        if (extents[axis] > ELEMENTS_MAX / n)
            return 0;
        n *= extents[axis];
    }
    return n;
}

/* Strides of [batch, heads, rows, width], or of [batch, rows, heads * width]. */
static void set_strides(bool is_3d, int64_t heads, int64_t rows, int64_t width, int64_t *b,
                        int64_t *h, int64_t *t)
{
    *b = heads * rows * width;
    *h = is_3d ? width : rows * width;
    *t = is_3d ? heads * width : width;
}

/* Past and new rows of K or V as one dense tensor [batch, heads, n_k, width] of their own type. */
static bool join(sattn_conform_problem *problem, int which, int64_t width,
                 sattn_conform_tensor *joined)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_tensor *const now = &test->inputs[SATTN_CONFORM_K + which];
    const sattn_conform_tensor *const past = &test->inputs[SATTN_CONFORM_PAST_K + which];
    const size_t size = sattn_npy_size(now->type);
    int64_t stride_b, stride_h, stride_t;
    set_strides(test->is_3d, n->kv_heads, n->n_new, width, &stride_b, &stride_h, &stride_t);
    *joined = (sattn_conform_tensor){.type = now->type,
                                     .n_elements = n->batch * n->kv_heads * n->n_k * width};
    joined->data = sattn_conform_allocate(problem, (size_t)joined->n_elements, size);
    if (!joined->data)
        return false;
    char *to = joined->data;
    for (int64_t b = 0; b < n->batch; ++b)
        for (int64_t h = 0; h < n->kv_heads; ++h) {
            const size_t old_bytes = (size_t)(n->n_past * width) * size;
            const size_t row_bytes = (size_t)width * size;
            if (past->data)
                memcpy(to, (const char *)past->data + (size_t)(b * n->kv_heads + h) * old_bytes,
                       old_bytes);
            to += old_bytes;
            for (int64_t t = 0; t < n->n_new; ++t, to += row_bytes)
                memcpy(to,
                       (const char *)now->data +
                           (size_t)(b * stride_b + h * stride_h + t * stride_t) * size,
                       row_bytes);
        }
    return true;
}

/* K (0) or V (1), with its past if it has one. */
static bool set_keys(sattn_conform_problem *problem, int which, char *why, size_t why_size)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_dims *const n = &test->dims;
    const int64_t width = which == 0 ? n->d : n->d_v;
    const char *const name = which == 0 ? "k" : "v";
    const bool has_past = test->inputs[SATTN_CONFORM_PAST_K + which].data != NULL;
    const bool has_present = test->outputs[SATTN_CONFORM_PRESENT_K + which].data != NULL;
    sattn_view *const view = which == 0 ? &problem->args.k : &problem->args.v;
    sattn_conform_tensor tensor = test->inputs[SATTN_CONFORM_K + which];
    const bool is_joined = has_past || has_present;
    if (is_joined && !join(problem, which, width, &tensor)) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    if (has_past)
        sattn_conform_adapt(problem, SATTN_CONFORM_PAST_JOINED);
    if (has_present) {
        sattn_conform_adapt(problem, SATTN_CONFORM_PRESENT_COPIED);
        problem->present[which] = tensor.data;
    }
    view->data = sattn_conform_floats(problem, &tensor, name, why, why_size);
    set_strides(test->is_3d && !is_joined, n->kv_heads, n->n_k, width, &view->stride_b,
                &view->stride_h, &view->stride_t);
    return view->data != NULL;
}

static bool set_queries(sattn_conform_problem *problem, char *why, size_t why_size)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_dims *const n = &test->dims;
    sattn_attention_args *const a = &problem->args;
    const int64_t y[4] = {n->batch, n->q_heads, n->n_q, n->d_v};
    const int64_t qk[4] = {n->batch, n->q_heads, n->n_q, n->n_k};
    problem->has_qk = test->outputs[SATTN_CONFORM_QK].data != NULL;
    problem->n_y = product(y);
    problem->n_qk = product(qk);
    if (problem->n_y == 0 || problem->n_qk == 0) {
        snprintf(why, why_size, "more than 2^28 outputs or scores");
        return false;
    }
    a->q.data = sattn_conform_floats(problem, &test->inputs[SATTN_CONFORM_Q], "q", why, why_size);
    if (!a->q.data)
        return false;
    problem->y = sattn_conform_allocate(problem, (size_t)problem->n_y, sizeof(float));
    if (problem->has_qk)
        problem->qk = sattn_conform_allocate(problem, (size_t)problem->n_qk, sizeof(float));
    if (!problem->y || (problem->has_qk && !problem->qk)) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    a->o.data = problem->y;
    a->scores = problem->qk;
    a->scores_stage = (sattn_scores_stage)test->attributes.qk_matmul_output_mode;
    a->scores_stride_t = n->n_k;
    a->scores_stride_h = n->n_q * n->n_k;
    a->scores_stride_b = n->q_heads * n->n_q * n->n_k;
    set_strides(test->is_3d, n->q_heads, n->n_q, n->d, &a->q.stride_b, &a->q.stride_h,
                &a->q.stride_t);
    set_strides(test->is_3d, n->q_heads, n->n_q, n->d_v, &a->o.stride_b, &a->o.stride_h,
                &a->o.stride_t);
    if (test->is_3d)
        sattn_conform_adapt(problem, SATTN_CONFORM_HEADS_BY_STRIDES);
    return true;
}

/* The rows of a mask made as long as there are keys; what is not there is not attended. */
static const void *complete(sattn_conform_problem *problem, const void *data, size_t size,
                            int64_t n_rows, int64_t n_short)
{
    const int64_t n_k = problem->test->dims.n_k;
    char *const all = sattn_conform_allocate(problem, (size_t)(n_rows * n_k), size);
    const float hidden = -INFINITY;
    for (int64_t row = 0; all && row < n_rows; ++row) {
        char *const to = all + (size_t)(row * n_k) * size;
        memcpy(to, (const char *)data + (size_t)(row * n_short) * size, (size_t)n_short * size);
        for (int64_t j = n_short; size == sizeof hidden && j < n_k; ++j)
            memcpy(to + (size_t)j * size, &hidden, size);
    }
    return all;
}

/* In opset 23 a mask of one column is broadcast, as every other extent of 1. Since 24 a short mask
 * is completed, and one column is a short mask. */
static bool set_mask(sattn_conform_problem *problem, char *why, size_t why_size)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_tensor *const tensor = &test->inputs[SATTN_CONFORM_MASK];
    sattn_mask *const mask = &problem->args.mask;
    const int64_t n_k = test->dims.n_k;
    if (!tensor->data)
        return true;
    if (tensor->type == SATTN_NPY_I8) {
        snprintf(why, why_size, "what a mask of integers means is not defined");
        return false;
    }
    const bool is_bool = tensor->type == SATTN_NPY_B1;
    mask->kind = is_bool ? SATTN_MASK_BOOL : SATTN_MASK_ADDITIVE;
    mask->data =
        is_bool ? tensor->data : sattn_conform_floats(problem, tensor, "mask", why, why_size);
    if (!mask->data)
        return false;
    if (tensor->rank < 4)
        sattn_conform_adapt(problem, SATTN_CONFORM_MASK_RANK);
    for (int axis = 0; axis < 4; ++axis)
        mask->extent[axis] = axis < 4 - tensor->rank ? 1 : tensor->shape[axis - (4 - tensor->rank)];
    const int64_t n_given = mask->extent[3];
    if (n_given < n_k && test->opset < 24 && n_given > 1) {
        snprintf(why, why_size, "what a short mask means is not defined before opset 24");
        return false;
    }
    if (n_given < n_k && test->opset >= 24) {
        const int64_t n_rows = mask->extent[0] * mask->extent[1] * mask->extent[2];
        const int64_t extents[4] = {n_rows, n_k, 1, 1};
        mask->data = product(extents) == 0 ? NULL
                                           : complete(problem, mask->data,
                                                      is_bool ? 1 : sizeof(float), n_rows, n_given);
        mask->extent[3] = n_k;
        sattn_conform_adapt(problem, SATTN_CONFORM_MASK_COMPLETED);
        if (!mask->data) {
            snprintf(why, why_size, "out of memory");
            return false;
        }
    }
    int64_t stride = 1;
    for (int axis = 3; axis >= 0; --axis) {
        mask->stride[axis] = stride;
        stride *= mask->extent[axis];
    }
    return true;
}

/* How many keys there are, and where query 0 stands among them. */
static bool set_position(sattn_conform_problem *problem, char *why, size_t why_size)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_attributes *const attributes = &test->attributes;
    sattn_attention_args *const a = &problem->args;
    const int64_t *const nonpad = test->inputs[SATTN_CONFORM_NONPAD].data;
    int64_t *const offset = sattn_conform_allocate(problem, (size_t)n->batch, sizeof *offset);
    if (!offset) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    for (int64_t b = 0; b < n->batch; ++b) {
        offset[b] = nonpad ? nonpad[b] - n->n_q : n->n_past;
        if (nonpad && (nonpad[b] < 0 || nonpad[b] > n->n_k)) {
            snprintf(why, why_size,
                     "nonpad_kv_seqlen %" PRId64 ": not defined outside of 0 to %" PRId64,
                     nonpad[b], n->n_k);
            return false;
        }
        if (nonpad && nonpad[b] < n->n_k && problem->has_qk &&
            a->scores_stage <= SATTN_SCORES_SOFTCAPPED) {
            snprintf(why, why_size, "scores of padded keys, which are never read");
            return false;
        }
    }
    a->n_k_valid = nonpad;
    a->causal_offset = offset;
    a->causal = attributes->is_causal;
    a->window_left = attributes->left_window_size;
    a->window_right = attributes->right_window_size;
    a->has_window = a->window_left >= 0 || a->window_right >= 0;
    return true;
}

static void set_numbers(sattn_conform_problem *problem)
{
    const sattn_conform_attributes *const attributes = &problem->test->attributes;
    problem->args.has_scale = attributes->has_scale;
    problem->args.scale = (float)attributes->scale;
    problem->args.softcap = (float)attributes->softcap;
    if (attributes->softmax_precision == SATTN_CONFORM_PRECISION_F64)
        sattn_conform_adapt(problem, SATTN_CONFORM_PRECISION_BELOW);
    else if (attributes->softmax_precision)
        sattn_conform_adapt(problem, SATTN_CONFORM_PRECISION_KEPT);
}

bool sattn_conform_attention_open(sattn_conform_problem *problem, char *why, size_t why_size)
{
    const sattn_conform_dims *const n = &problem->test->dims;
    problem->args = (sattn_attention_args){.batch = n->batch,
                                           .n_q_heads = n->q_heads,
                                           .n_kv_heads = n->kv_heads,
                                           .n_q = n->n_q,
                                           .n_k = n->n_k,
                                           .d = n->d,
                                           .d_v = n->d_v};
    set_numbers(problem);
    return set_queries(problem, why, why_size) && set_keys(problem, 0, why, why_size) &&
           set_keys(problem, 1, why, why_size) && set_mask(problem, why, why_size) &&
           set_position(problem, why, why_size);
}
