# SPDX-License-Identifier: MIT
# Defects of what the fused kernels of all ISAs share.

set(scalar sattn_fused_f32_scalar)
set(prefill sattn_fused_f32_avx2 sattn_fused_f32_avx512 sattn_fused_f32_neon)
set(decode sattn_fused_f32_avx2_decode sattn_fused_f32_avx512_decode sattn_fused_f32_neon_decode)
set(every ${scalar} ${prefill} ${decode})

# ---- fused_strip.h: which row is where, what it sees, what its sums mean
set(strip KERNELS ${every} FILE kernels/fused/fused_strip.h)

sattn_defect(wrong_head_of_group ${strip} GROUP groups
  FROM [[a->q + g * a->q_group_stride + i * a->q_stride]]
  TO [[a->q + (g > 0 ? g - 1 : 0) * a->q_group_stride + i * a->q_stride]])
sattn_defect(output_row_stride_ignored ${strip} GROUP layouts
  FROM [[g * a->o_group_stride + i * a->o_stride]]
  TO [[g * a->o_group_stride + i * a->d_v]])
sattn_defect(head_of_next_strip ${strip} GROUP groups
  FROM [[int64_t g = first % a->n_group;]]
  TO [[int64_t g = 0;]])
sattn_defect(causal_one_key_too_many ${strip} GROUP causal
  FROM [[return i + a->visible.causal_offset + 1;]]
  TO [[return i + a->visible.causal_offset + 2 > a->j1 ? a->j1 : i + a->visible.causal_offset + 2;]])
sattn_defect(causal_one_key_too_few ${strip} GROUP causal
  FROM [[return i + a->visible.causal_offset + 1;]]
  TO [[return i + a->visible.causal_offset < a->j0 ? a->j0 : i + a->visible.causal_offset;]])
sattn_defect(mask_of_first_head ${strip} GROUP masks
  FROM [[g * a->visible.mask_group_stride + i * a->visible.mask_row_stride]]
  TO [[i * a->visible.mask_row_stride]])
sattn_defect(statistics_of_first_head ${strip} GROUP groups
  FROM [[s->stat[r] = g * a->stat_group_stride + i;]]
  TO [[s->stat[r] = i;]])
sattn_defect(partial_flag_ignored ${strip} GROUP partial
  FROM [[if (a->partial)]]
  TO [[if (a->partial && a->row_max == NULL)]])
sattn_defect(all_minus_infinity_as_no_key ${strip} GROUP specials
  FROM [[seen && row_sum == 0.0f ? 1.0f : row_sum]]
  TO [[row_sum]])

# ---- exp_poly.h
sattn_defect(exp_off_by_a_thousandth KERNELS ${scalar} ${prefill} FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_EXP2_C1 0x1.62e43p-1f]]
  TO [[#define SATTN_EXP2_C1 0x1.633ep-1f]])
sattn_defect(exp_low_part_dropped KERNELS ${prefill} FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_LOG2E_LO 0x1.4ae0cp-26f]]
  TO [[#define SATTN_LOG2E_LO 0.0f]])

# ---- fused_prefill.h
set(blocks KERNELS ${prefill} FILE kernels/fused/fused_prefill.h)

sattn_defect(maximum_before_mask ${blocks} GROUP hidden-garbage
  FROM [[        ops->maximum(st, block->n_keys);]]
  TO [[]])
sattn_defect(causal_limit_not_applied ${blocks} GROUP causal
  FROM [[if (cut)
            ops->hide(st, block->n_keys);]]
  TO [[]])
sattn_defect(mask_hides_from_the_cut_only ${blocks} GROUP masks
  FROM [[if (masked)
            ops->bias]]
  TO [[if (masked && !cut)
            ops->bias]])
sattn_defect(last_block_missing ${blocks} GROUP tiles
  FROM [[j < end;) {]]
  TO [[j < end && (j == a->j0 || j + 1 < end);) {]])
sattn_defect(mask_from_the_start_of_the_range ${blocks} GROUP ranges
  FROM [[.first = j,]]
  TO [[.first = j - a->j0,]])
sattn_defect(v_taken_from_the_start_of_the_range ${blocks} GROUP ranges
  FROM [[.v = a->v + j * a->v_stride,]]
  TO [[.v = a->v + (j - a->j0) * a->v_stride,]])
sattn_defect(k_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.k_stride = a->k_stride,]]
  TO [[.k_stride = a->d,]])
sattn_defect(v_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.v_stride = a->v_stride,]]
  TO [[.v_stride = a->d_v,]])
sattn_defect(row_without_keys_counts_as_seen ${blocks} GROUP causal
  FROM [[strip->key_end[r] > a->j0;]]
  TO [[true;]])
sattn_defect(sums_of_the_strip_before ${blocks} GROUP rows-alone
  FROM [[st->row_sum[r] = 0.0f;
        st->seen[r] = 0;]]
  TO [[st->row_sum[r] = strip->q[0] == a->q ? 0.0f : st->row_sum[r];
        st->seen[r] = 0;]])
sattn_defect(maximum_starts_at_zero ${blocks} GROUP tiles
  FROM [[st->row_max[r] = -INFINITY;]]
  TO [[st->row_max[r] = 0.0f;]])
sattn_defect(last_column_of_output_not_cleared ${blocks} GROUP tiles
  FROM [[at < a->d_v * width; ++at)]]
  TO [[at < a->d_v * width - 1; ++at)]])

# ---- fused_decode.h
set(blocks KERNELS ${decode} FILE kernels/fused/fused_decode.h)

sattn_defect(skipped_rescale ${blocks} GROUP rising-rows
  FROM [[            o[y] *= factor;]]
  TO [[            o[y] *= 1.0f;]])
sattn_defect(skipped_sum_rescale ${blocks} GROUP rising-rows
  FROM [[st->row_sum[r] *= factor;]]
  TO [[]])
sattn_defect(wrong_row_rescaled ${blocks} GROUP rising-rows
  FROM [[float *const o = st->o + r * st->o_pitch;]]
  TO [[float *const o = st->o + (r > 0 ? r - 1 : 0) * st->o_pitch;]])
sattn_defect(reference_trails_too_far ${blocks} GROUP rising-rows
  FROM [[st->row_max[r] + SATTN_LAZY_THRESHOLD)]]
  TO [[st->row_max[r] + 2.0f * SATTN_LAZY_THRESHOLD)]])
sattn_defect(maximum_before_mask ${blocks} GROUP hidden-garbage
  FROM [[ops->maximum(st, block.n_keys);]]
  TO [[]])
sattn_defect(mask_polarity ${blocks} GROUP masks
  FROM [[s[j] = mask[j] ? s[j] : -INFINITY;]]
  TO [[s[j] = mask[j] ? -INFINITY : s[j];]])
sattn_defect(mask_tail_dropped ${blocks} GROUP masks
  FROM [[unsigned any = 0;
    for (int j = 0; j < n; ++j) {]]
  TO [[unsigned any = 0;
    for (int j = 0; j < (n > 8 ? n - n % 8 : n); ++j) {]])
sattn_defect(hidden_score_stays_nan ${blocks} GROUP hidden-garbage
  FROM [[s[j] = visible ? biased : -INFINITY;]]
  TO [[s[j] = biased;]])
sattn_defect(bias_added_twice ${blocks} GROUP masks
  FROM [[const float biased = s[j] + mask[j];]]
  TO [[const float biased = s[j] + mask[j] + mask[j];]])
sattn_defect(bias_of_next_key ${blocks} GROUP masks
  FROM [[seen = fused_decode_mask_add(s, strip->mask_add[r] + at, end);]]
  TO [[seen = fused_decode_mask_add(s, strip->mask_add[r] + at + (end > 1), end);]])
sattn_defect(minus_infinity_not_guarded ${blocks} GROUP masks
  FROM [[return st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];]]
  TO [[return st->row_max[r];]])
sattn_defect(row_without_keys_counts_as_seen ${blocks} GROUP causal
  FROM [[strip->key_end[r] > a->j0;]]
  TO [[true;]])
sattn_defect(seen_by_the_last_block_only ${blocks} GROUP masks
  FROM [[st->seen[r] = st->seen[r] || seen;]]
  TO [[st->seen[r] = seen;]])
sattn_defect(last_block_missing ${blocks} GROUP tiles
  FROM [[j < end;) {]]
  TO [[j < end && (j == a->j0 || j + 1 < end);) {]])
sattn_defect(k_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.k_stride = a->k_stride,]]
  TO [[.k_stride = a->d,]])
sattn_defect(v_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.v_stride = a->v_stride,]]
  TO [[.v_stride = a->d_v,]])
sattn_defect(query_read_beyond_its_end ${blocks} GROUP every-d
  FROM [[x + lane < st->d ? scale * from[x + lane] : 0.0f;]]
  TO [[scale * from[x + lane];]])
sattn_defect(scale_applied_twice ${blocks} GROUP every-d
  FROM [[                    to[lane] = scale * from[x + lane];]]
  TO [[                    to[lane] = scale * (scale * from[x + lane]);]])
sattn_defect(key_behind_the_last_read FILE kernels/fused/fused_decode.h GROUP keys
  KERNELS sattn_fused_f32_avx2_decode sattn_fused_f32_avx512_decode
  FROM [[(i < n_left ? stride : 0)]]
  TO [[stride]])
sattn_defect(last_column_not_stored ${blocks} GROUP every-d_v
  FROM [[for (int64_t y = 0; y < a->d_v; ++y)
            to[]]
  TO [[for (int64_t y = 0; y + 1 < a->d_v; ++y)
            to[]])
sattn_defect(one_column_too_many_stored ${blocks} GROUP every-d_v
  FROM [[for (int64_t y = 0; y < a->d_v; ++y)
            to[]]
  TO [[for (int64_t y = 0; y <= a->d_v; ++y)
            to[]])

# ---- fused_plain.h
set(plain KERNELS ${scalar} FILE kernels/fused/fused_plain.h)

sattn_defect(skipped_rescale ${plain} GROUP rising-rows
  FROM [[            o[y] *= factor;]]
  TO [[            o[y] *= 1.0f;]])
sattn_defect(skipped_sum_rescale ${plain} GROUP rising-rows
  FROM [[        st->row_sum[r] *= factor;]]
  TO [[]])
sattn_defect(wrong_row_rescaled ${plain} GROUP rising-rows
  FROM [[        float *const o = st->o + r * d_v;]]
  TO [[        float *const o = st->o + (r > 0 ? r - 1 : 0) * d_v;]])
sattn_defect(two_keys_swapped ${plain} GROUP keys
  FROM [[        s[j + 2] = s2;
        s[j + 3] = s3;]]
  TO [[        s[j + 2] = s3;
        s[j + 3] = s2;]])
sattn_defect(tail_of_keys_dropped ${plain} GROUP keys
  FROM [[for (; j < n; ++j, k += k_stride) {]]
  TO [[for (; j + 1 < n; ++j, k += k_stride) {]])
sattn_defect(tail_of_features_dropped ${plain} GROUP every-d
  FROM [[for (int64_t x = 0; x < d; ++x)
            sum]]
  TO [[for (int64_t x = 0; x < d - d % 8; ++x)
            sum]])
sattn_defect(maximum_over_scores_of_another_row ${plain} GROUP rising-rows
  FROM [[        s[j] = -INFINITY;
    for (int j = 0; j < n; j += PLAIN_LANES) {]]
  TO [[        s[j] = s[j];
    for (int j = 0; j < n; j += PLAIN_LANES) {]])
sattn_defect(mask_polarity ${plain} GROUP masks
  FROM [[s[j] = mask[j] != 0 ? s[j] : -INFINITY;]]
  TO [[s[j] = mask[j] == 0 ? s[j] : -INFINITY;]])
sattn_defect(hidden_score_stays_nan ${plain} GROUP hidden-garbage
  FROM [[const float kept = bias[j] != -INFINITY ? s[j] : -INFINITY;]]
  TO [[const float kept = s[j];]])
sattn_defect(bias_added_twice ${plain} GROUP masks
  FROM [[s[j] = kept + bias[j];]]
  TO [[s[j] = kept + bias[j] + bias[j];]])
sattn_defect(minus_infinity_not_guarded ${plain} GROUP specials
  FROM [[const float m = st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];]]
  TO [[const float m = st->row_max[r];]])
sattn_defect(sum_of_the_last_block_only ${plain} GROUP keys
  FROM [[st->row_sum[r] += sum;]]
  TO [[st->row_sum[r] = sum;]])
sattn_defect(value_of_the_key_before ${plain} GROUP keys
  FROM [[sum = plain_multiply_add(p2, v2[y], sum);]]
  TO [[sum = plain_multiply_add(p2, v1[y], sum);]])
sattn_defect(block_before_added_again ${plain} GROUP keys
  FROM [[    for (int64_t y = 0; y < d_v; ++y)
        part[y] = 0.0f;]]
  TO [[]])
sattn_defect(block_not_summed_from_zero ${plain} NATIVE GROUP long-rows
  FROM [[        part[y] = 0.0f;
    int j = 0;]]
  TO [[        part[y] = o[y], o[y] = 0.0f;
    int j = 0;]])
sattn_defect(nan_score_weighs_nothing KERNELS ${scalar} FILE kernels/vec/vec_plain.h GROUP specials
  FROM [[const float t = score < -88.0f ? -88.0f : score;]]
  TO [[const float t = score > -88.0f ? score : -88.0f;]])
sattn_defect(weights_below_range_not_zero KERNELS ${scalar} FILE kernels/vec/vec_plain.h
  GROUP hidden-garbage
  FROM [[return weight < FLT_MIN ? 0.0f : weight;]]
  TO [[return weight < FLT_MIN ? FLT_MIN : weight;]])
