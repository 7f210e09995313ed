# SPDX-License-Identifier: MIT
# Defects of the fused kernels for NEON.

# ---- prefill: masks, weights, storing
set(steps KERNELS sattn_fused_f32_neon FILE kernels/fused/fused_prefill_neon.h)

sattn_defect(skipped_rescale ${steps} GROUP rising-rows
  FROM [[vmulq_f32(vld1q_f32(o), factor);]] TO [[vld1q_f32(o);]])
sattn_defect(skipped_sum_rescale ${steps} GROUP rising-rows
  FROM [[vst1q_f32(st->row_sum + r, vmulq_f32(vld1q_f32(st->row_sum + r), factor));]] TO [[]])
sattn_defect(all_lanes_raised ${steps} GROUP rising-rows
  FROM [[vst1q_f32(st->row_max + r, vbslq_f32(is_due, block, old));]]
  TO [[vst1q_f32(st->row_max + r, block);]])
sattn_defect(minus_infinity_not_guarded ${steps} GROUP specials
  FROM [[m[c] = vbslq_f32(vceqq_f32(m[c], vdupq_n_f32(-INFINITY)), vdupq_n_f32(0.0f), m[c]);]]
  TO [[]])
sattn_defect(key_at_the_limit_stays_visible ${steps} GROUP causal
  FROM [[vcgtq_s32(end, key)]] TO [[vcgeq_s32(end, key)]])
sattn_defect(key_before_the_window_stays_visible ${steps} GROUP windows
  FROM [[vcleq_s32(begin, key)]] TO [[vcleq_s32(begin, vdupq_n_s32(j + 1))]])
sattn_defect(maximum_of_hidden_scores ${steps} GROUP hidden-keys-behind
  FROM [[vst1q_f32(s, score);
            max = vmaxnmq_f32(max, score);]]
  TO [[max = vmaxnmq_f32(max, vld1q_f32(s));
            vst1q_f32(s, score);]])
sattn_defect(limits_of_the_first_rows ${steps} GROUP causal
  FROM [[vld1q_s32(st->strip->step + r);]] TO [[vld1q_s32(st->strip->step);]])
sattn_defect(distance_without_its_size ${steps} GROUP alibi
  FROM [[vabdq_f32(position, key)]] TO [[vsubq_f32(position, key)]])
sattn_defect(alibi_of_the_key_before ${steps} GROUP alibi
  FROM [[vdupq_n_f32((float)j);]] TO [[vdupq_n_f32((float)(j - 1));]])
sattn_defect(slopes_of_the_first_rows ${steps} GROUP alibi
  FROM [[vld1q_f32(st->strip->slope + r);]] TO [[vld1q_f32(st->strip->slope);]])
sattn_defect(hidden_score_stays_nan ${steps} GROUP hidden-garbage
  FROM [[vst1q_f32(s, vbslq_f32(is_hidden, hidden, vaddq_f32(vld1q_f32(s), added)));]]
  TO [[vst1q_f32(s, vaddq_f32(vld1q_f32(s), added));]])
sattn_defect(mask_polarity ${steps} GROUP masks
  FROM [[vbslq_f32(is_shown, vdupq_n_f32(0.0f), vdupq_n_f32(-INFINITY))]]
  TO [[vbslq_f32(is_shown, vdupq_n_f32(-INFINITY), vdupq_n_f32(0.0f))]])
sattn_defect(mask_read_beyond_its_end ${steps} GROUP masks
  FROM [[memcpy(&words[i], rows[i] + at, (size_t)n);]] TO [[memcpy(&words[i], rows[i] + at, 4);]])
sattn_defect(mask_of_the_key_before ${steps} GROUP masks
  FROM [[vdupq_n_u32(0xffu << 8 * u)]] TO [[vdupq_n_u32(0xffu << 8 * (u > 0 ? u - 1 : 0))]])
sattn_defect(odd_key_not_summed ${steps} GROUP keys
  FROM [[if (left > 0)
            sum[c] = vaddq_f32(sum[c], weigh_one(s + c * VEC, m[c]));]]
  TO [[if (left > 0)
            weigh_one(s + c * VEC, m[c]);]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP keys
  FROM [[vst1q_f32(row_sum, vaddq_f32(vld1q_f32(row_sum), sum[c]));]]
  TO [[vst1q_f32(row_sum, sum[c]);]])
sattn_defect(scale_not_applied_to_the_tail ${steps} GROUP every-d
  FROM [[vmulq_f32(columns[u], scales)]]
  TO [[n < VEC ? columns[u] : vmulq_f32(columns[u], scales)]])
sattn_defect(last_row_not_stored ${steps} GROUP rows
  FROM [[if (u < n)
                    vst1q_f32(strip->o[r + u] + y, m[u]);]]
  TO [[if (u + 1 < n)
                    vst1q_f32(strip->o[r + u] + y, m[u]);]])
sattn_defect(one_column_too_many_stored ${steps} GROUP every-d_v
  FROM [[for (; y + VEC <= st->d_v; y += VEC) {
            float32x4_t m[4];]]
  TO [[for (; y + VEC <= st->d_v + 1; y += VEC) {
            float32x4_t m[4];]])
sattn_defect(tail_of_columns_dropped ${steps} GROUP every-d_v
  FROM [[for (; y < st->d_v; ++y)
            for]]
  TO [[for (; y + 1 < st->d_v; ++y)
            for]])

# ---- prefill: the two products
set(prefill KERNELS sattn_fused_f32_neon FILE kernels/fused/fused_f32_neon.c)

sattn_defect(tail_of_features_dropped ${prefill} GROUP every-d
  FROM [[for (; x < d; ++x) {]] TO [[for (; x < d && whole == 0; ++x) {]])
sattn_defect(wrong_feature_by_lane ${prefill} GROUP every-d
  FROM [[sum[u][1] = vec_fma_lane_f32x4(sum[u][1], q1, k_vec[u], lane);]]
  TO [[sum[u][1] = vec_fma_lane_f32x4(sum[u][1], q1, k_vec[u], lane ^ 1);]])
sattn_defect(key_behind_the_last_read ${prefill} GROUP keys
  FROM [[j + (u < n_keys ? u : n_keys - 1);]] TO [[j + u;]])
sattn_defect(scores_behind_the_last_key_stored ${prefill} GROUP causal
  FROM [[if (u < n_keys) {]] TO [[if (u < TILE) {]])
sattn_defect(tail_of_keys_dropped ${prefill} GROUP keys
  FROM [[for (; left > 0; --left) {]] TO [[for (; left > 1; --left) {]])
sattn_defect(overlapping_columns_added_twice ${prefill} GROUP tiles
  FROM [[if (u >= first && u < n) {]] TO [[if (u < n) {]])
sattn_defect(output_of_the_last_block_only ${prefill} GROUP keys
  FROM [[vst1q_f32(o + VEC, vaddq_f32(old1, sum[u][1]));]]
  TO [[vst1q_f32(o + VEC, sum[u][1]);]])

# ---- helpers
sattn_defect(nan_score_weighs_nothing FILE kernels/vec/vec_neon.h GROUP specials
  KERNELS sattn_fused_f32_neon sattn_fused_f32_neon_decode
  FROM [[vcltq_f32(t, vdupq_n_f32(lowest)); /* false for a NaN */]]
  TO [[vmvnq_u32(vcgeq_f32(t, vdupq_n_f32(lowest)));]])
sattn_defect(weights_below_range_not_zero FILE kernels/vec/vec_neon.h GROUP hidden-garbage
  KERNELS sattn_fused_f32_neon sattn_fused_f32_neon_decode
  FROM [[return vreinterpretq_f32_u32(vbicq_u32(scaled, is_below));]]
  TO [[return vbslq_f32(is_below, vdupq_n_f32(0x1p-126f), vreinterpretq_f32_u32(scaled));]])
sattn_defect(two_columns_swapped_in_transposition FILE kernels/vec/vec_neon.h GROUP tiles
  KERNELS sattn_fused_f32_neon
  FROM [[m[0] = vreinterpretq_f32_f64(vtrn1q_f64(ac_lo, bd_lo));
    m[1] = vreinterpretq_f32_f64(vtrn1q_f64(ac_hi, bd_hi));]]
  TO [[m[1] = vreinterpretq_f32_f64(vtrn1q_f64(ac_lo, bd_lo));
    m[0] = vreinterpretq_f32_f64(vtrn1q_f64(ac_hi, bd_hi));]])
sattn_defect(two_keys_swapped_in_reduction FILE kernels/vec/vec_neon.h GROUP keys
  KERNELS sattn_fused_f32_neon_decode
  FROM [[return vpaddq_f32(vpaddq_f32(rows[0], rows[1]), vpaddq_f32(rows[2], rows[3]));]]
  TO [[return vpaddq_f32(vpaddq_f32(rows[0], rows[2]), vpaddq_f32(rows[1], rows[3]));]])

# ---- decode
set(dot KERNELS sattn_fused_f32_neon_decode FILE kernels/vec/score_tile_neon.h)
set(decode KERNELS sattn_fused_f32_neon_decode FILE kernels/fused/fused_f32_neon_decode.c)
set(av KERNELS sattn_fused_f32_neon_decode FILE kernels/fused/fused_decode_av_neon.h)

sattn_defect(tail_of_features_dropped ${dot} GROUP every-d
  FROM [[    if (x < d)
        score_step]]
  TO [[    if (x < d && x == 0)
        score_step]])
sattn_defect(feature_behind_the_last_read ${dot} GROUP every-d
  FROM [[vec_load_tail_f32x4(k[j] + x, n);]] TO [[vld1q_f32(k[j] + x);]])
sattn_defect(key_behind_the_last_read ${decode} GROUP keys
  FROM [[j + i < block->n_keys ? j + i : block->n_keys - 1;]] TO [[j + i;]])
sattn_defect(two_rows_swapped ${decode} GROUP groups
  FROM [[vst1q_f32(s + row * FUSED_DECODE_KEYS + j + i, sums);]]
  TO [[vst1q_f32(s + (n_rows == 4 ? row ^ 1 : row) * FUSED_DECODE_KEYS + j + i, sums);]])
sattn_defect(distance_without_its_size ${decode} GROUP alibi
  FROM [[vabdq_f32(position, key)]] TO [[vsubq_f32(position, key)]])
sattn_defect(tail_without_alibi ${decode} GROUP alibi
  FROM [[for (int j = 0; j < n; j += LANES) {
        const float32x4_t key]]
  TO [[for (int j = 0; j + LANES <= n; j += LANES) {
        const float32x4_t key]])
sattn_defect(places_of_two_keys_swapped ${decode} GROUP alibi
  FROM [[{0, 1, 2, 3}]] TO [[{0, 1, 3, 2}]])
sattn_defect(maximum_of_another_row ${decode} GROUP rising-rows
  FROM [[vmaxnmvq_f32(max[row]);]] TO [[vmaxnmvq_f32(max[row > 0 ? row - 1 : 0]);]])
sattn_defect(sum_of_the_last_block_only ${decode} GROUP keys
  FROM [[st->row_sum[r] += sum_of_lanes(sum);]] TO [[st->row_sum[r] = sum_of_lanes(sum);]])
sattn_defect(lanes_added_as_neighbours ${decode} GROUP same-keys
  FROM [[vadd_f32(vget_low_f32(v), vget_high_f32(v));]]
  TO [[vpadd_f32(vget_low_f32(v), vget_high_f32(v));]])
sattn_defect(weight_of_another_row ${av} GROUP groups
  FROM [[vec_fma_lane_f32x4(acc[r * n_vecs + y], v_vec, p[r], lane);]]
  TO [[vec_fma_lane_f32x4(acc[r * n_vecs + y], v_vec, p[r > 0 ? r - 1 : 0], lane);]])
sattn_defect(tail_of_keys_dropped ${av} GROUP keys
  FROM [[for (; left > 0; --left, ++s, v += step->v_stride) {]]
  TO [[for (; left > 1; --left, ++s, v += step->v_stride) {]])
sattn_defect(overlapping_columns_added_twice ${av} GROUP every-d_v
  FROM [[if (y < n_done)
            continue;]]
  TO [[]])
sattn_defect(tail_of_columns_dropped ${av} GROUP every-d_v
  FROM [[if (step->n_tail)]] TO [[if (step->n_tail > 1)]])
