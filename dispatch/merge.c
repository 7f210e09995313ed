/* SPDX-License-Identifier: MIT
 *
 * merge.c: one softmax row from its parts. */
#include "dispatch/merge.h"

#include <math.h>

/* exp(m_c - m), where a part with nothing but -inf weighs 0 unless all parts are such. */
static float part_weight(float part_max, float row_max)
{
    return part_max == row_max ? 1.0f : expf(part_max - row_max);
}

void sattn_merge_row(const float *o, int64_t o_step, const float *row_max, const float *row_sum,
                     int64_t stat_step, int64_t n_parts, int64_t d_v, float *out, float *out_max,
                     float *out_sum)
{
    float m = -INFINITY, sum = 0.0f;
    for (int64_t c = 0; c < n_parts; ++c)
        if (row_max[c * stat_step] > m)
            m = row_max[c * stat_step];
    for (int64_t c = 0; c < n_parts; ++c)
        sum += part_weight(row_max[c * stat_step], m) * row_sum[c * stat_step];
    for (int64_t y = 0; y < d_v; ++y)
        out[y] = 0.0f;
    if (sum != 0.0f) {
        for (int64_t c = 0; c < n_parts; ++c) {
            /* A part that saw no key holds zeros, or the 0 * NaN of a hidden V row. */
            if (row_max[c * stat_step] == -INFINITY && row_sum[c * stat_step] == 0.0f)
                continue;
            const float weight = part_weight(row_max[c * stat_step], m);
            for (int64_t y = 0; y < d_v; ++y)
                out[y] += weight * o[c * o_step + y];
        }
        /* m = -inf with sum > 0: keys were visible, all of score -inf: 0 / 0 is the NaN due. */
        const float divisor = m == -INFINITY && sum > 0.0f ? 0.0f : sum;
        for (int64_t y = 0; y < d_v; ++y)
            out[y] /= divisor;
    }
    if (out_max)
        *out_max = m;
    if (out_sum)
        *out_sum = sum;
}

float sattn_log_sum_exp(float row_max, float row_sum)
{
    if (row_sum == 0.0f)
        return -INFINITY;
    if (row_max == -INFINITY)
        return NAN;
    return (float)((double)row_max + log((double)row_sum));
}
