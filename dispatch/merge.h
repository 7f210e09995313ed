/* SPDX-License-Identifier: MIT
 *
 * merge.h: joins partial results over key ranges (split-KV) into one. */
#ifndef SATTN_DISPATCH_MERGE_H
#define SATTN_DISPATCH_MERGE_H

#include <stddef.h>
#include <stdint.h>

/* One row of n_parts partial results: part c has the unnormalised output o[c * o_step ..][d_v], the
 * reference value row_max[c * stat_step] and the sum row_sum[c * stat_step], as contract.h defines
 * them. Writes out[d_v], apart from the parts, and the row's statistics where not NULL; these may
 * take the place of a part's.
 *
 * Parts are weighted by exp(m_c - m) with m the largest m_c (FlashAttention-2, section 3.1; Milakov
 * & Gimelshein 2018, eq. 4). A part that saw no key (m = -inf, sum = 0) weighs nothing, so empty
 * ranges are harmless; a row that no part saw is +0. */
void sattn_merge_row(const float *o, int64_t o_step, const float *row_max, const float *row_sum,
                     int64_t stat_step, int64_t n_parts, int64_t d_v, float *out, float *out_max,
                     float *out_sum);

/* Log-sum-exp of a row from its statistics: -inf where no key was visible, NaN where the row is. */
float sattn_log_sum_exp(float row_max, float row_sum);

#endif
