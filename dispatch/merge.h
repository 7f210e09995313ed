/* SPDX-License-Identifier: MIT
 *
 * merge.h: joins partial results over key ranges (split-KV) and a sink into one row.
 *
 * Parts are weighted by exp(m_c - m) with m the largest reference value (FlashAttention-2, section
 * 3.1; Milakov & Gimelshein 2018, eq. 4). A sink, one more score with a value row of zeros (Xiao et
 * al. 2023), is a part with m_c = sink, the sum 1 and the output 0; -inf is no sink. */
#ifndef SATTN_DISPATCH_MERGE_H
#define SATTN_DISPATCH_MERGE_H

#include <stddef.h>
#include <stdint.h>

/* Partial results of one row, as contract.h defines them. */
typedef struct sattn_row_parts {
    const float *o;                 /* part c at [c * o_step], [d_v], unnormalised */
    const float *row_max, *row_sum; /* of part c at [c * stat_step] */
    int64_t o_step, stat_step;
    int64_t n_parts; /* >= 1 */
    int64_t d_v;
} sattn_row_parts;

typedef struct sattn_row_statistics {
    float max, sum;
} sattn_row_statistics;

/* Writes the finished row to out[d_v], which may be a part only where it is the one part, and
 * returns the row's statistics, the sink among them.
 *
 * A part that saw no key (m = -inf, sum = 0) weighs nothing, so empty ranges are harmless; a row
 * that no part saw is +0. With a sink that is NaN or +inf the row is NaN, whatever it saw; with a
 * finite one a row of nothing but -inf scores is 0 times its V. */
sattn_row_statistics sattn_merge_row(const sattn_row_parts *parts, float sink, float *out);

/* Adds a sink to the statistics of a row and returns what its weights are to be multiplied by: 0
 * where its scores are all -inf, NaN where sink or row are. */
float sattn_add_sink(float *row_max, float *row_sum, float sink);

/* Log-sum-exp of a row from its statistics: -inf where no key was visible, NaN where the row is. */
float sattn_log_sum_exp(float row_max, float row_sum);

#endif
