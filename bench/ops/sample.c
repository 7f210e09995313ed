/* SPDX-License-Identifier: MIT
 *
 * sample.c: walks over sampled rows (sample.h), and from public arguments to rows. */
#include "bench/ops/sample.h"

#include "bench/verify/inputs.h"
#include "bench/verify/visit.h"

enum { TILE_EDGES = 3 }; /* of the first tiles, each with the rows before and after */

int64_t sattn_sample_keys(const sattn_attention_args *args, int64_t batch)
{
    return args->n_k_valid ? args->n_k_valid[batch] : args->n_k;
}

int64_t sattn_sample_kv_head(const sattn_attention_args *args, int64_t head)
{
    return head / (args->n_q_heads / args->n_kv_heads);
}

const float *sattn_sample_view(const sattn_view *view, int64_t batch, int64_t head, int64_t row)
{
    return (const float *)view->data + batch * view->stride_b + head * view->stride_h +
           row * view->stride_t;
}

const float *sattn_sample_scores_in(const sattn_attention_args *args, sattn_verify_place at)
{
    return args->scores_in + at.batch * args->scores_in_stride_b +
           at.head * args->scores_in_stride_h + at.row * args->scores_in_stride_t;
}

const float *sattn_sample_scores(const sattn_attention_args *args, sattn_verify_place at)
{
    return args->scores + at.batch * args->scores_stride_b + at.head * args->scores_stride_h +
           at.row * args->scores_stride_t;
}

static int64_t mask_stride(const sattn_mask *mask, int axis)
{
    return mask->extent[axis] > 1 ? mask->stride[axis] : 0;
}

sattn_visibility sattn_sample_visibility(const sattn_attention_args *args, int64_t batch,
                                         int64_t head)
{
    const sattn_mask *const mask = &args->mask;
    const int64_t n_k = sattn_sample_keys(args, batch);
    sattn_visibility visible = {
        .n_k = n_k,
        .causal = args->causal,
        .causal_offset = args->causal_offset ? args->causal_offset[batch] : n_k - args->n_q,
        .has_window = args->has_window,
        .window_left = args->window_left,
        .window_right = args->window_right,
        .alibi_slopes = args->alibi_slopes ? args->alibi_slopes + head : NULL,
    };
    if (mask->kind == SATTN_MASK_NONE)
        return visible;
    const int64_t start = batch * mask_stride(mask, 0) + head * mask_stride(mask, 1);
    visible.mask_row_stride = mask_stride(mask, 2);
    visible.mask_key_stride = mask->extent[3] > 1 ? 1 : 0;
    if (mask->kind == SATTN_MASK_BOOL)
        visible.mask_bool = (const uint8_t *)mask->data + start;
    else
        visible.mask_add = (const float *)mask->data + start;
    return visible;
}

static void sample_head(const sattn_attention_args *args, int64_t batch, int64_t head,
                        int64_t tile_rows, sattn_sample_fn *compare, sattn_verify_result *result)
{
    const int64_t last = args->n_q - 1;
    const sattn_verify_place first = {.batch = batch, .head = head};
    sattn_verify_place at = first;
    if (args->n_q <= SATTN_SAMPLED_ROWS) {
        for (; at.row <= last; ++at.row)
            compare(args, at, result);
        return;
    }
    compare(args, at, result);
    at.row = last;
    compare(args, at, result);
    for (int64_t edge = tile_rows; tile_rows > 0 && edge <= TILE_EDGES * tile_rows;
         edge += tile_rows)
        for (at.row = edge - 1; at.row <= edge + 1; ++at.row)
            if (at.row < last)
                compare(args, at, result);
    for (uint64_t r = 0; r < SATTN_SAMPLED_ROWS; ++r) {
        const uint64_t stream = (uint64_t)(batch * args->n_q_heads + head);
        at.row = (int64_t)(sattn_random_uniform(SATTN_SAMPLE_SEED, stream, r) * (double)args->n_q);
        compare(args, at, result);
    }
}

static void sample_rows(const sattn_attention_args *args, int64_t tile_rows,
                        sattn_sample_fn *compare, sattn_verify_result *result)
{
    const int64_t heads = args->batch * args->n_q_heads;
    const int64_t sampled = heads < SATTN_SAMPLED_HEADS ? heads : SATTN_SAMPLED_HEADS;
    for (int64_t s = 0; s < sampled && args->n_q > 0; ++s) { /* the first and the last among them */
        const int64_t head = sampled > 1 ? s * (heads - 1) / (sampled - 1) : 0;
        sample_head(args, head / args->n_q_heads, head % args->n_q_heads, tile_rows, compare,
                    result);
    }
}

typedef struct sampled {
    const sattn_attention_args *args;
    sattn_sample_fn *compare;
    sattn_verify_result *result;
} sampled;

static void compare_at(void *context, sattn_verify_place at)
{
    const sampled *const s = context;
    s->compare(s->args, at, s->result);
}

bool sattn_sample_variant(const sattn_attention_args *args, const sattn_variant *variant,
                          sattn_sample_fn *compare, sattn_verify_result *result)
{
    sampled s = {args, compare, result};
    if (variant->selection)
        return sattn_verify_visit(args, variant->selection, compare_at, &s);
    sample_rows(args, variant->tile_rows, compare, result);
    return true;
}

void sattn_sample_scan(const float *row, int64_t n, sattn_verify_place at,
                       sattn_verify_result *result)
{
    result->n_scanned += n;
    for (int64_t c = 0; c < n; ++c) {
        if (sattn_classify_f32(row[c]) == SATTN_CLASS_FINITE || result->n_failed++ > 0)
            continue;
        result->failed_at = at;
        result->failed_at.column = c;
        result->failed_got = (double)row[c];
        result->failed_why = "not finite, though the inputs are (found by the scan)";
    }
}

void sattn_sample_scan_outputs(const sattn_attention_args *args, sattn_verify_result *result)
{
    for (int64_t row = 0; row < args->n_q; ++row)
        sattn_sample_scan((const float *)args->o.data + row * args->o.stride_t, args->d_v,
                          (sattn_verify_place){.row = row}, result);
}

void sattn_sample_scan_scores(const sattn_attention_args *args, sattn_verify_result *result)
{
    sattn_verify_place at = {0};
    for (at.batch = 0; at.batch < args->batch; ++at.batch)
        for (at.head = 0; at.head < args->n_q_heads; ++at.head)
            for (at.row = 0; at.row < args->n_q; ++at.row)
                sattn_sample_scan(sattn_sample_scores(args, at), sattn_sample_keys(args, at.batch),
                                  at, result);
}
