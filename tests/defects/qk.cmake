# SPDX-License-Identifier: MIT
# Defects of the qk kernels.

set(scalar sattn_qk_f32_scalar)
set(prefill sattn_qk_f32_avx2 sattn_qk_f32_avx512 sattn_qk_f32_neon)
set(decode sattn_qk_f32_avx2_decode sattn_qk_f32_avx512_decode sattn_qk_f32_neon_decode)
set(every ${scalar} ${prefill} ${decode})

# ---- qk_strip.h: which row is where
set(strip KERNELS ${every} FILE kernels/qk/qk_strip.h)

sattn_defect(wrong_head_of_group ${strip} GROUP groups
  FROM [[a->q + g * a->q_group_stride + i * a->q_stride;]]
  TO [[a->q + (g > 0 ? g - 1 : 0) * a->q_group_stride + i * a->q_stride;]])
sattn_defect(head_of_next_strip ${strip} GROUP groups
  FROM [[int64_t g = first % a->n_group;]]
  TO [[int64_t g = 0;]])
sattn_defect(score_row_stride_ignored ${strip} GROUP layouts
  FROM [[a->s + g * a->s_group_stride + i * a->s_stride;]]
  TO [[a->s + g * a->s_group_stride + i * a->j1;]])
sattn_defect(rows_counted_from_zero ${strip} GROUP ranges
  FROM [[int64_t i = a->i0 + first / a->n_group;]]
  TO [[int64_t i = first / a->n_group;]])

# ---- qk_prefill.h
set(panels KERNELS ${prefill} FILE kernels/qk/qk_prefill.h)
set(panel KERNELS ${prefill} FILE kernels/vec/score_panel.h)

sattn_defect(last_group_of_keys_missing ${panels} GROUP keys
  FROM [[j < a->j1; j += QK_GROUP_KEYS) {]]
  TO [[j < a->j1 && (j == a->j0 || a->j1 - j > 31); j += QK_GROUP_KEYS) {]])
sattn_defect(second_group_reads_the_first_keys ${panels} GROUP tiles
  FROM [[= a->k + j * a->k_stride;]] TO [[= a->k + a->j0 * a->k_stride;]])
sattn_defect(query_rows_of_the_last_strip ${panels} GROUP tiles
  FROM [[= block_q + i * QK_STRIP_ROWS * q_pitch;]] TO [[= block_q;]])
sattn_defect(rows_scaled_for_key_zero_only ${panels} GROUP ranges
  FROM [[if (j == a->j0)
                score_panel_scale]]
  TO [[if (j == 0)
                score_panel_scale]])
sattn_defect(second_block_is_the_first ${panels} GROUP many-rows
  FROM [[(&strips[n++], a, row, QK_STRIP_ROWS);]]
  TO [[(&strips[n++], a, row % QK_BLOCK_ROWS, QK_STRIP_ROWS);]])
sattn_defect(softcap_skipped ${panels} GROUP softcap
  FROM [[a->softcap != 0.0f && r < panel->n_rows;]]
  TO [[a->softcap > 1.0f && r < panel->n_rows;]])
sattn_defect(softcap_of_the_first_panel_only ${panels} GROUP anything
  FROM [[ops->cap(panel->s[r] + panel->j, panel->n_keys, a->softcap);]]
  TO [[ops->cap(panel->s[r] + a->j0, panel->n_keys, a->softcap);]])
sattn_defect(scale_applied_twice ${panel} GROUP scales
  FROM [[to[x] = scale * from[x];]] TO [[to[x] = scale * (scale * from[x]);]])
sattn_defect(last_feature_dropped ${panel} GROUP features
  FROM [[for (int64_t x = 0; x < d; ++x)
            to[x] = scale]]
  TO [[for (int64_t x = 0; x + 1 < d; ++x)
            to[x] = scale]])
sattn_defect(rest_of_keys_in_one_vector KERNELS sattn_qk_f32_avx2 sattn_qk_f32_neon
  FILE kernels/vec/score_panel.h GROUP keys
  FROM [[if (panel.n_keys > lanes)]] TO [[if (panel.n_keys > lanes + 1)]])
sattn_defect(second_panel_of_a_group_is_the_first KERNELS sattn_qk_f32_avx2 sattn_qk_f32_neon
  FILE kernels/vec/score_panel.h GROUP tiles
  FROM [[panels->k + i * panels->d;]] TO [[panels->k;]])
sattn_defect(panels_of_a_group_stored_over_each_other KERNELS sattn_qk_f32_avx2 sattn_qk_f32_neon
  FILE kernels/vec/score_panel.h GROUP tiles
  FROM [[panels->j + i;]] TO [[panels->j;]])
sattn_defect(rest_of_keys_of_a_group_dropped KERNELS sattn_qk_f32_avx2 sattn_qk_f32_neon
  FILE kernels/vec/score_panel.h GROUP keys
  FROM [[i < panels->n_keys; i += width]] TO [[i == 0 || i + lanes < panels->n_keys; i += width]])
sattn_defect(second_panel_packed_into_the_first KERNELS sattn_qk_f32_avx2 sattn_qk_f32_avx512
  FILE kernels/vec/score_panel.h GROUP keys
  FROM [[(j - j % width) * d + j % width;]] TO [[j % width;]])
sattn_defect(tile_of_three_rows_as_two ${panel} GROUP features
  FROM [[tile(panel, r, 3, n_vec);]] TO [[tile(panel, r, 2, n_vec);]])

# ---- qk_decode.h
set(groups KERNELS ${decode} FILE kernels/qk/qk_decode.h)
set(group KERNELS ${decode} FILE kernels/vec/score_tile.h)

sattn_defect(last_block_missing ${groups} GROUP equal-places
  FROM [[j < a->j1; j += block) {]]
  TO [[j < a->j1 && (j == a->j0 || j + 32 < a->j1); j += block) {]])
sattn_defect(key_behind_the_last_read ${group} GROUP keys
  FROM [[(i < n_left ? stride : 0)]] TO [[stride]])
sattn_defect(k_row_stride_ignored ${groups} GROUP layouts
  FROM [[{.k_stride = a->k_stride,]] TO [[{.k_stride = a->d,]])
sattn_defect(scores_of_the_range_from_zero ${groups} GROUP ranges
  FROM [[group.s[i] = strip->s[r + i] + j;]] TO [[group.s[i] = strip->s[r + i] + (j - a->j0);]])
sattn_defect(queries_of_the_first_group ${groups} GROUP rows
  FROM [[group.q = q + r * q_pitch;]] TO [[group.q = q;]])
sattn_defect(softcap_of_the_first_row_only ${groups} GROUP softcap
  FROM [[a->softcap != 0.0f && i < group.n_rows; ++i)]] TO [[a->softcap != 0.0f && i < 1; ++i)]])
sattn_defect(query_read_beyond_its_end ${group} GROUP features
  FROM [[x + lane < d ? scale * from[x + lane] : 0.0f;]] TO [[scale * from[x + lane];]])
sattn_defect(scale_applied_twice ${group} GROUP scales
  FROM [[x + lane < d ? scale * from[x + lane] : 0.0f;]]
  TO [[x + lane < d ? scale * (scale * from[x + lane]) : 0.0f;]])

# ---- scalar
set(plain KERNELS ${scalar} FILE kernels/qk/qk_plain.h)
set(scores KERNELS ${scalar} FILE kernels/vec/score_plain.h)
set(cap KERNELS ${scalar} FILE kernels/vec/softcap_plain.h)

sattn_defect(two_keys_swapped ${scores} GROUP keys
  FROM [[s1 = plain_multiply_add(q[x], k1[x], s1);
        s2 = plain_multiply_add(q[x], k2[x], s2);]]
  TO [[s2 = plain_multiply_add(q[x], k1[x], s2);
        s1 = plain_multiply_add(q[x], k2[x], s1);]])
sattn_defect(tail_of_keys_dropped ${scores} GROUP keys
  FROM [[if (n > 2)
        s[2] = s2;]]
  TO [[if (n > 3)
        s[2] = s2;]])
sattn_defect(tail_of_features_dropped ${scores} GROUP features
  FROM [[for (int64_t x = 0; x < d; ++x) {]]
  TO [[for (int64_t x = 0; x < (d > 4 ? d - d % 4 : d); ++x) {]])
sattn_defect(key_behind_the_last_read ${scores} GROUP keys
  FROM [[k + (n > 1 ? k_stride : 0);]] TO [[k + k_stride;]])
sattn_defect(one_score_too_many_written ${scores} GROUP keys
  FROM [[if (n > 3) {]] TO [[if (n > 2) {]])
sattn_defect(k_row_stride_ignored ${plain} GROUP layouts
  FROM [[a->k + first * a->k_stride, a->k_stride, n, a->d);]]
  TO [[a->k + first * a->k_stride, a->d, n, a->d);]])
sattn_defect(softcap_skipped ${plain} GROUP softcap
  FROM [[if (a->softcap != 0.0f)]] TO [[if (a->softcap > 1.0f)]])
sattn_defect(small_scores_capped_too ${cap} GROUP capped-specials
  FROM [[fabsf(share) < SATTN_SOFTCAP_SMALL ? UINT32_MAX : 0;]] TO [[0;]])
sattn_defect(large_scores_not_capped ${cap} GROUP softcap
  FROM [[fabsf(share) < SATTN_SOFTCAP_SMALL ? UINT32_MAX : 0;]]
  TO [[fabsf(share) < 16 * SATTN_SOFTCAP_SMALL ? UINT32_MAX : 0;]])
sattn_defect(scale_after_the_sum ${plain} GROUP scale-before-sum
  FROM [[plain_block(a, strip.s[r], q + r * a->d, first, n);]]
  TO [[{
                    sattn_qk_args raw = *a;
                    raw.softcap = 0.0f;
                    plain_block(&raw, strip.s[r], strip.q[r], first, n);
                    for (int j = 0; j < n; ++j)
                        strip.s[r][first + j] *= a->scale;
                    if (a->softcap != 0.0f)
                        plain_softcap(strip.s[r] + first, n, a->softcap);
                }]])
sattn_defect(last_block_missing ${plain} GROUP tiles
  FROM [[first < a->j1; first += SATTN_KEY_BLOCK) {]]
  TO [[first < a->j1 && (first == a->j0 || first + 1 < a->j1); first += SATTN_KEY_BLOCK) {]])

# ---- AVX-512
set(tile KERNELS sattn_qk_f32_avx512 FILE kernels/vec/score_panel_avx512.h)
set(cap KERNELS sattn_qk_f32_avx512 sattn_qk_f32_avx512_decode FILE kernels/vec/softcap_avx512.h)
set(dot KERNELS sattn_qk_f32_avx512_decode FILE kernels/vec/score_tile_avx512.h)
set(few KERNELS sattn_qk_f32_avx512_decode FILE kernels/vec/score_group_avx512.h)

sattn_defect(key_behind_the_last_packed ${tile} GROUP keys
  FROM [[j < n ? vec_load_tail_f32x16(k + j * k_stride, tail) : _mm512_setzero_ps();]]
  TO [[vec_load_tail_f32x16(k + j * k_stride, tail);]])
sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[for (; x < d; ++x,]] TO [[for (; x < d && d < PANEL_PASS; ++x,]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[vec_tail_m16(panel->n_keys - (n_vec - 1) * PANEL_LANES);]]
  TO [[vec_tail_m16(panel->n_keys + 1 - (n_vec - 1) * PANEL_LANES);]])
sattn_defect(second_vector_takes_keys_of_the_first ${tile} GROUP keys
  FROM [[(v < 2 ? k0 : k1) + v % 2 * PANEL_LANES;]] TO [[(v < 2 ? k0 : k1);]])
sattn_defect(second_panel_takes_keys_of_the_first ${tile} GROUP keys
  FROM [[(v < 2 ? k0 : k1)]] TO [[k0]])
sattn_defect(second_panel_stands_still_in_the_tail ${tile} GROUP features
  FROM [[k0 += PANEL_WIDTH, k1 += PANEL_WIDTH)
        score_panel_tile_step]]
  TO [[k0 += PANEL_WIDTH)
        score_panel_tile_step]])
sattn_defect(rest_of_keys_in_one_vector ${tile} GROUP keys
  FROM [[if (panel->n_keys > PANEL_LANES)]] TO [[if (panel->n_keys > PANEL_LANES + 1)]])
sattn_defect(rest_of_keys_in_two_vectors ${tile} GROUP keys
  FROM [[if (panel->n_keys > 2 * PANEL_LANES)]] TO [[if (panel->n_keys > 2 * PANEL_LANES + 1)]])
sattn_defect(rest_of_keys_in_three_vectors ${tile} GROUP keys
  FROM [[if (panel->n_keys > 3 * PANEL_LANES)]] TO [[if (panel->n_keys > 3 * PANEL_LANES + 1)]])
sattn_defect(small_scores_capped_too ${cap} GROUP capped-specials
  FROM [[_mm512_mask_mov_ps(capped, is_small, score)]] TO [[capped]])
sattn_defect(tail_not_capped ${cap} GROUP softcap
  FROM [[j < n; j += CAP_LANES,]] TO [[j + CAP_LANES <= n; j += CAP_LANES,]])
sattn_defect(small_negative_scores_not_capped ${cap} GROUP softcap
  FROM [[_mm512_abs_ps(share)]] TO [[share]])
sattn_defect(tail_of_features_dropped_in_scores ${dot} GROUP primes
  FROM [[    if (tail)
        acc =]]
  TO [[    if (tail && whole == 0)
        acc =]])
sattn_defect(second_half_of_keys_from_the_first ${few} GROUP keys
  FROM [[score_group_keys(rows, k + GROUP_HALF * stride, stride, left - GROUP_HALF, GROUP_HALF);]]
  TO [[score_group_keys(rows, k, stride, left - GROUP_HALF, GROUP_HALF);]])
sattn_defect(one_score_too_many_written ${few} GROUP keys
  FROM [[_mm256_movm_epi32((__mmask8)vec_tail_m16(n_left));]]
  TO [[_mm256_movm_epi32((__mmask8)vec_tail_m16(n_left + 1));]])
sattn_defect(two_rows_swapped ${few} GROUP rows
  FROM [[_mm_storeu_ps(s[1] + j, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s[2] + j, _mm512_extractf32x4_ps(tile_f32x16, 2));]]
  TO [[_mm_storeu_ps(s[2] + j, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s[1] + j, _mm512_extractf32x4_ps(tile_f32x16, 2));]])

# ---- AVX2
set(tile KERNELS sattn_qk_f32_avx2 FILE kernels/vec/score_panel_avx2.h)
set(cap KERNELS sattn_qk_f32_avx2 sattn_qk_f32_avx2_decode FILE kernels/vec/softcap_avx2.h)
set(dot KERNELS sattn_qk_f32_avx2_decode FILE kernels/vec/score_tile_avx2.h)
set(few KERNELS sattn_qk_f32_avx2_decode FILE kernels/vec/score_group_avx2.h)

sattn_defect(key_behind_the_last_packed ${tile} GROUP keys
  FROM [[j < n ? vec_load_tail_f32x8(k + j * k_stride, tail) : _mm256_setzero_ps();]]
  TO [[vec_load_tail_f32x8(k + j * k_stride, tail);]])
sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[if (x < d)
        score_panel_tile_step(acc, q, x, k, n_rows, n_vec);]]
  TO [[if (x < d && d == 1)
        score_panel_tile_step(acc, q, x, k, n_rows, n_vec);]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[vec_tail_m8(n_last);]] TO [[vec_tail_m8(n_last + 1);]])
sattn_defect(second_vector_takes_keys_of_the_first ${tile} GROUP keys
  FROM [[acc[r][1] = _mm256_fmadd_ps(q_all, k1, acc[r][1]);]]
  TO [[acc[r][1] = _mm256_fmadd_ps(q_all, k0, acc[r][1]);]])
sattn_defect(small_scores_capped_too ${cap} GROUP capped-specials
  FROM [[_mm256_blendv_ps(capped, score, is_small)]] TO [[capped]])
sattn_defect(tail_not_capped ${cap} GROUP softcap
  FROM [[j < n; j += CAP_LANES,]] TO [[j + CAP_LANES <= n; j += CAP_LANES,]])
sattn_defect(small_negative_scores_not_capped ${cap} GROUP softcap
  FROM [[_mm256_andnot_ps(_mm256_set1_ps(-0.0f), share)]] TO [[share]])
sattn_defect(tail_of_features_dropped_in_scores ${dot} GROUP features
  FROM [[    if (x == d)
        return;]]
  TO [[    if (x == d || x > 0)
        return;]])
sattn_defect(one_score_too_many_written ${few} GROUP keys
  FROM [[const __m256i lanes = vec_tail_m8(n_left);]]
  TO [[const __m256i lanes = vec_tail_m8(n_left + 1);]])
sattn_defect(part_of_a_tile_stored_whole ${few} GROUP keys
  FROM [[if (n - j >= n_keys)]] TO [[if (n - j >= n_keys / 2)]])
sattn_defect(two_rows_swapped ${few} GROUP rows
  FROM [[_mm_storeh_pi((__m64 *)(void *)(s[1] + j), low);
        _mm_storel_pi((__m64 *)(void *)(s[2] + j), high);]]
  TO [[_mm_storel_pi((__m64 *)(void *)(s[1] + j), high);
        _mm_storeh_pi((__m64 *)(void *)(s[2] + j), low);]])

# ---- NEON
set(tile KERNELS sattn_qk_f32_neon FILE kernels/vec/score_panel_neon.h)
set(cap KERNELS sattn_qk_f32_neon sattn_qk_f32_neon_decode FILE kernels/vec/softcap_neon.h)
set(dot KERNELS sattn_qk_f32_neon_decode FILE kernels/vec/score_tile_neon.h)
set(few KERNELS sattn_qk_f32_neon_decode FILE kernels/vec/score_group_neon.h)

sattn_defect(second_panel_packed_into_the_first ${tile} GROUP keys
  FROM [[(j - j % PANEL_WIDTH) * d + j % PANEL_WIDTH;]] TO [[j % PANEL_WIDTH;]])
sattn_defect(key_behind_the_last_packed ${tile} GROUP keys
  FROM [[(j + i < n_keys ? j + i : n_keys - 1)]] TO [[(j + i)]])
sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[if (rest > 1)]] TO [[if (rest > 2)]])
sattn_defect(wrong_feature_by_lane ${tile} GROUP features
  FROM [[vec_fma_lane_f32x4(acc[r][1], k1, q_vec[r], lane);]]
  TO [[vec_fma_lane_f32x4(acc[r][1], k1, q_vec[r], lane ^ 1);]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[panel->n_keys - (n_vec - 1) * PANEL_LANES;]] TO [[panel->n_keys + 1 - (n_vec - 1) * PANEL_LANES;]])
sattn_defect(second_vector_takes_keys_of_the_first ${tile} GROUP keys
  FROM [[vld1q_f32(k + lane * PANEL_WIDTH + PANEL_LANES)]] TO [[vld1q_f32(k + lane * PANEL_WIDTH)]])
sattn_defect(small_scores_capped_too ${cap} GROUP capped-specials
  FROM [[vbslq_f32(is_small, score, capped)]] TO [[capped]])
sattn_defect(tail_not_capped ${cap} GROUP softcap
  FROM [[j < n; j += CAP_LANES,]] TO [[j + CAP_LANES <= n; j += CAP_LANES,]])
sattn_defect(small_negative_scores_not_capped ${cap} GROUP softcap
  FROM [[vabsq_f32(share)]] TO [[share]])
sattn_defect(third_score_of_a_tail_not_stored FILE kernels/vec/vec_neon.h GROUP keys
  KERNELS sattn_qk_f32_neon sattn_qk_f32_neon_decode
  FROM [[if (n > 2)
        vst1q]]
  TO [[if (n > 3)
        vst1q]])
sattn_defect(tail_of_features_dropped_in_scores ${dot} GROUP features
  FROM [[    if (x < d)
        score_step]]
  TO [[    if (x < d && x == 0)
        score_step]])
sattn_defect(feature_behind_the_last_read_in_scores ${dot} GROUP features
  FROM [[vec_load_tail_f32x4(k[j] + x, n);]] TO [[vld1q_f32(k[j] + x);]])
sattn_defect(one_score_too_many_written ${few} GROUP keys
  FROM [[n - j - i);]] TO [[n - j - i + 1);]])
sattn_defect(two_rows_swapped ${few} GROUP rows
  FROM [[vec_store_tail_f32x4(group->s[r] + j + i,]]
  TO [[vec_store_tail_f32x4(group->s[n_rows == 4 ? r ^ 1 : r] + j + i,]])
