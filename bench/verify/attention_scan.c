/* SPDX-License-Identifier: MIT
 *
 * attention_scan.c: see attention_scan.h. Heads whose inputs are not finite are left out, and all
 * where a mask may make a row NaN. */
#include "bench/verify/attention_scan.h"

#include "bench/verify/attention_rows.h"

#include <float.h>
#include <math.h>

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

static void scan_head(const sattn_attention_args *a, int64_t batch, int64_t head,
                      sattn_verify_result *result)
{
    const int64_t valid = sattn_verify_keys_valid(a, batch);
    const int64_t kv = sattn_verify_kv_head(a, head);
    if (!all_finite(sattn_verify_view_rows(&a->q, a, batch, a->n_q_heads, head), a->n_q,
                    sattn_verify_stride(a->n_q, a->q.stride_t), a->d) ||
        !all_finite(sattn_verify_view_rows(&a->k, a, batch, a->n_kv_heads, kv), valid,
                    sattn_verify_stride(a->n_k, a->k.stride_t), a->d) ||
        !all_finite(sattn_verify_view_rows(&a->v, a, batch, a->n_kv_heads, kv), valid,
                    sattn_verify_stride(a->n_k, a->v.stride_t), a->d_v))
        return;
    for (int64_t i = 0; i < a->n_q; ++i) {
        const float *const o = sattn_verify_output_row(a, batch, head, i);
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

void sattn_verify_scan(const sattn_attention_args *args, sattn_verify_result *result)
{
    if (!mask_is_harmless(&args->mask))
        return;
    for (int64_t batch = 0; batch < args->batch; ++batch)
        for (int64_t head = 0; head < args->n_q_heads; ++head)
            if (head_is_harmless(args, batch, head))
                scan_head(args, batch, head, result);
}
