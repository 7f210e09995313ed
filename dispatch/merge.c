/* SPDX-License-Identifier: MIT
 *
 * merge.c: one softmax row from its parts. */
#include "dispatch/merge.h"

#include <math.h>
#include <stdbool.h>

/* exp(m_c - m), where a part with nothing but -inf weighs 0 unless all parts are such. */
static float part_weight(float part_max, float row_max)
{
    return part_max == row_max ? 1.0f : expf(part_max - row_max);
}

/* A sink that makes its row NaN. */
static bool sink_spoils(float sink)
{
    return isnan(sink) || sink == INFINITY;
}

/* A part that saw no key holds zeros, or the 0 * NaN of a hidden V row. */
static bool saw_nothing(const sattn_row_parts *parts, int64_t c)
{
    return parts->row_max[c * parts->stat_step] == -INFINITY &&
           parts->row_sum[c * parts->stat_step] == 0.0f;
}

/* out = factor * the weighted sum of the parts. */
static void combine(const sattn_row_parts *parts, float max, float factor, float *out)
{
    bool is_first = true;
    for (int64_t c = 0; c < parts->n_parts; ++c) {
        const float *const o = parts->o + c * parts->o_step;
        const float weight = part_weight(parts->row_max[c * parts->stat_step], max);
        if (saw_nothing(parts, c))
            continue;
        for (int64_t y = 0; y < parts->d_v; ++y)
            out[y] = is_first ? weight * o[y] : out[y] + weight * o[y];
        is_first = false;
    }
    for (int64_t y = 0; y < parts->d_v; ++y)
        out[y] = (is_first ? 0.0f : out[y]) * factor;
}

sattn_row_statistics sattn_merge_row(const sattn_row_parts *parts, float sink, float *out)
{
    const float *const row_max = parts->row_max, *const row_sum = parts->row_sum;
    const int64_t step = parts->stat_step;
    float m = sink_spoils(sink) ? -INFINITY : sink, sum = 0.0f;
    for (int64_t c = 0; c < parts->n_parts; ++c)
        if (row_max[c * step] > m)
            m = row_max[c * step];
    for (int64_t c = 0; c < parts->n_parts; ++c)
        sum += part_weight(row_max[c * step], m) * row_sum[c * step];
    if (sink_spoils(sink)) {
        sum = NAN;
    } else if (sink > -INFINITY) {
        m = sum == 0.0f ? sink : m; /* alone, as it is: a maximum would flush it with denormals */
        sum += part_weight(sink, m);
    }
    /* m = -inf with sum > 0: keys were visible, all of score -inf: 0 * (1 / 0) is the NaN due. */
    const float divisor = m == -INFINITY && sum > 0.0f ? 0.0f : sum;
    combine(parts, m, sum == 0.0f ? 1.0f : 1.0f / divisor, out);
    return (sattn_row_statistics){m, sum};
}

float sattn_add_sink(float *row_max, float *row_sum, float sink)
{
    const bool has_scores = *row_max > -INFINITY;
    if (sink == -INFINITY)
        return 1.0f;
    if (sink_spoils(sink) || isnan(*row_sum)) {
        *row_sum = NAN;
        return NAN;
    }
    if (*row_sum == 0.0f) { /* no key was seen */
        *row_max = sink;
        *row_sum = 1.0f;
        return 0.0f;
    }
    const float max = *row_max > sink ? *row_max : sink;
    const double seen = has_scores ? (double)*row_sum * exp((double)*row_max - (double)max) : 0.0;
    const double sum = seen + exp((double)sink - (double)max);
    *row_max = max;
    *row_sum = (float)sum;
    return (float)(seen / sum);
}

float sattn_log_sum_exp(float row_max, float row_sum)
{
    if (row_sum == 0.0f)
        return -INFINITY;
    if (row_max == -INFINITY)
        return NAN;
    if (row_sum == 1.0f) /* one score, or a sink, as it is: also where denormals are flushed */
        return row_max;
    return (float)((double)row_max + log((double)row_sum));
}
