/* SPDX-License-Identifier: MIT
 *
 * workload_pairs.c: counts the pairs of a query and a key that a call is about. */
#include "bench/workload.h"

#include <math.h>

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

/* What length, causal limit and window leave to row i; offsets and windows of workloads are small.
 */
static sattn_workload_keys keys_of_row(const sattn_attention_args *args, int64_t b, int64_t i)
{
    const int64_t n_k = args->n_k_valid ? args->n_k_valid[b] : args->n_k;
    const int64_t offset = args->causal_offset ? args->causal_offset[b] : n_k - args->n_q;
    const int64_t self = i + offset;
    sattn_workload_keys keys = {0, n_k};
    if (args->causal && self + 1 < keys.end)
        keys.end = self + 1;
    if (args->has_window && args->window_right >= 0 && self + args->window_right + 1 < keys.end)
        keys.end = self + args->window_right + 1;
    if (args->has_window && args->window_left >= 0 && self - args->window_left > 0)
        keys.begin = self - args->window_left;
    if (keys.end < keys.begin)
        keys.end = keys.begin;
    return keys;
}

static double visible_pairs(const sattn_attention_args *args, int64_t b, int64_t h)
{
    int64_t pairs = 0;
    for (int64_t i = 0; i < args->n_q; ++i) {
        const sattn_workload_keys keys = keys_of_row(args, b, i);
        if (args->mask.kind == SATTN_MASK_NONE)
            pairs += keys.end - keys.begin;
        else
            for (int64_t j = keys.begin; j < keys.end; ++j)
                pairs += mask_lets_through(&args->mask, b, h, i, j);
    }
    return (double)pairs;
}

double sattn_visible_pairs(const sattn_attention_args *args)
{
    const bool heads_differ = args->mask.kind != SATTN_MASK_NONE && args->mask.extent[1] > 1;
    double all = 0;
    for (int64_t b = 0; b < args->batch; ++b) {
        double pairs = 0;
        for (int64_t h = 0; h < (heads_differ ? args->n_q_heads : 1); ++h)
            pairs += visible_pairs(args, b, h);
        all += heads_differ ? pairs : pairs * (double)args->n_q_heads;
    }
    return all;
}

static double existing(const sattn_attention_args *args, double per_key)
{
    double keys = 0;
    for (int64_t b = 0; b < args->batch; ++b)
        keys += (double)(args->n_k_valid ? args->n_k_valid[b] : args->n_k);
    return keys * per_key;
}

double sattn_existing_pairs(const sattn_attention_args *args)
{
    return existing(args, (double)args->n_q_heads * (double)args->n_q);
}

double sattn_existing_keys(const sattn_attention_args *args)
{
    return existing(args, (double)args->n_kv_heads);
}

sattn_workload_keys sattn_workload_readable(const sattn_attention_args *args, int64_t batch)
{
    sattn_workload_keys all = {0, 0};
    for (int64_t i = 0; i < args->n_q; ++i) {
        const sattn_workload_keys keys = keys_of_row(args, batch, i);
        if (keys.begin == keys.end)
            continue;
        if (all.begin == all.end)
            all = keys;
        all.begin = keys.begin < all.begin ? keys.begin : all.begin;
        all.end = keys.end > all.end ? keys.end : all.end;
    }
    return all;
}

double sattn_readable_keys(const sattn_attention_args *args)
{
    double keys = 0;
    for (int64_t b = 0; b < args->batch; ++b) {
        const sattn_workload_keys readable = sattn_workload_readable(args, b);
        keys += (double)(readable.end - readable.begin);
    }
    return keys * (double)args->n_kv_heads;
}
