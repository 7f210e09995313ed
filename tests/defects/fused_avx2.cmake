# SPDX-License-Identifier: MIT
# Defects of the fused kernels for AVX2.

# ---- prefill: masks, weights, storing
set(steps KERNELS sattn_fused_f32_avx2 FILE kernels/fused/fused_prefill_avx2.h)

sattn_defect(skipped_rescale ${steps} GROUP rising-rows
  FROM [[_mm256_mul_ps(_mm256_load_ps(o), factor)]] TO [[_mm256_load_ps(o)]])
sattn_defect(skipped_sum_rescale ${steps} GROUP rising-rows
  FROM [[_mm256_mul_ps(_mm256_load_ps(row_sum), factor)]] TO [[_mm256_load_ps(row_sum)]])
sattn_defect(all_lanes_rescaled ${steps} GROUP rising-rows
  FROM [[_mm256_and_ps(raised, _mm256_cmp_ps(old, lowest, _CMP_GT_OQ));]]
  TO [[_mm256_cmp_ps(old, lowest, _CMP_GT_OQ);
    if (_mm256_movemask_ps(rescaled))
        _mm256_store_ps(row_sum, _mm256_mul_ps(_mm256_load_ps(row_sum), _mm256_set1_ps(0.5f)));]])
sattn_defect(minus_infinity_not_guarded ${steps} GROUP specials
  FROM [[return _mm256_and_ps(max, _mm256_cmp_ps(max, lowest, _CMP_NEQ_UQ));]] TO [[return max;]])
sattn_defect(key_at_the_limit_stays_visible ${steps} GROUP causal
  FROM [[_mm256_cmpgt_epi32(end, key)]]
  TO [[_mm256_cmpgt_epi32(end, _mm256_set1_epi32(j - 1))]])
sattn_defect(key_before_the_window_stays_visible ${steps} GROUP windows
  FROM [[_mm256_cmpgt_epi32(begin, key)]]
  TO [[_mm256_cmpgt_epi32(begin, _mm256_set1_epi32(j + 1))]])
sattn_defect(maximum_of_hidden_scores ${steps} GROUP hidden-keys-behind
  FROM [[_mm256_store_ps(s, score);
        max = _mm256_max_ps(score, max);]]
  TO [[max = _mm256_max_ps(_mm256_load_ps(s), max);
        _mm256_store_ps(s, score);]])
sattn_defect(limits_of_the_first_vector ${steps} GROUP causal
  FROM [[st->strip->step + first;]] TO [[st->strip->step;]])
sattn_defect(distance_without_its_size ${steps} GROUP alibi
  FROM [[_mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));]]
  TO [[_mm256_sub_ps(position, key);]])
sattn_defect(alibi_of_the_key_before ${steps} GROUP alibi
  FROM [[_mm256_set1_ps((float)j);]]
  TO [[_mm256_set1_ps((float)(j - 1));]])
sattn_defect(slopes_of_the_first_vector ${steps} GROUP alibi
  FROM [[_mm256_loadu_ps(st->strip->slope + span->vec * LANES);]] TO [[_mm256_loadu_ps(st->strip->slope);]])
sattn_defect(hidden_score_stays_nan ${steps} GROUP hidden-garbage
  FROM [[_mm256_store_ps(s, _mm256_blendv_ps(lowest, score, visible));]]
  TO [[_mm256_store_ps(s, score);]])
sattn_defect(mask_polarity ${steps} GROUP masks
  FROM [[return _mm256_and_ps(_mm256_castsi256_ps(hidden), _mm256_set1_ps(-INFINITY));]]
  TO [[return _mm256_andnot_ps(_mm256_castsi256_ps(hidden), _mm256_set1_ps(-INFINITY));]])
sattn_defect(mask_read_beyond_its_end ${steps} GROUP masks
  FROM [[if (n == 8)
        memcpy]]
  TO [[if (n >= 4)
        memcpy]])
sattn_defect(mask_tail_dropped ${steps} GROUP masks
  FROM [[bytes |= (uint64_t)strip->mask_bool[r][at + i] << 8 * i;]]
  TO [[bytes |= (uint64_t)(i + 1 < n ? strip->mask_bool[r][at + i] : 1) << 8 * i;]])
sattn_defect(odd_key_not_summed ${steps} GROUP keys
  FROM [[if (left > 0)
        prefill_weigh_keys(s, base, sum, 1);]]
  TO [[if (left > 1)
        prefill_weigh_keys(s, base, sum, 1);]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP keys
  FROM [[_mm256_add_ps(_mm256_load_ps(row_sum), _mm256_add_ps(sum[0], sum[1]))]]
  TO [[_mm256_add_ps(sum[0], sum[1])]])
sattn_defect(second_vector_stored_over_the_first ${steps} GROUP rows
  FROM [[st->strip->o + vec * LANES;]] TO [[st->strip->o;]])
sattn_defect(two_rows_swapped_in_whole_tiles ${steps} GROUP every-d_v
  FROM [[_mm256_storeu_ps(rows[r] + y, tile[r]);]]
  TO [[_mm256_storeu_ps(rows[r] + y, tile[r ^ 1]);]])
sattn_defect(rows_of_columns_stored_whole ${steps} GROUP every-d_v
  FROM [[vec_store_tail_f32x8(rows[r] + y, tail, tile[r]);]]
  TO [[_mm256_storeu_ps(rows[r] + y, tile[r]);]])
sattn_defect(scale_applied_twice ${steps} GROUP every-d
  FROM [[_mm256_mul_ps(scale, n == LANES]] TO [[_mm256_mul_ps(_mm256_mul_ps(scale, scale), n == LANES]])

# ---- prefill: the two products
set(tile KERNELS sattn_fused_f32_avx2 sattn_fused_f32_avx512_ymm
  FILE kernels/fused/fused_tile_avx2.h)

sattn_defect(tail_of_features_dropped ${tile} GROUP every-d
  FROM [[if (step < n_steps)
        tile_step(]]
  TO [[if (step < n_steps && what == OUTPUT)
        tile_step(]])
sattn_defect(tail_of_keys_dropped ${tile} GROUP keys
  FROM [[if (step < n_steps)
        tile_step(]]
  TO [[if (step < n_steps && (what == SCORES || n_steps == 1))
        tile_step(]])
sattn_defect(output_of_the_last_block_only ${tile} GROUP keys
  FROM [[_mm256_add_ps(_mm256_load_ps(to + i * WIDTH), acc[i][vec])]] TO [=[acc[i][vec]]=])
sattn_defect(lone_keys_of_the_first_vector_left_out ${tile} GROUP windows
  FROM [[tile_lone_steps(acc, n, 0, job, at, 0, job->block->both_begin);]]
  TO [[tile_lone_steps(acc, n, 0, job, at, 1, job->block->both_begin);]])
sattn_defect(lone_keys_of_the_second_vector_left_out ${tile} GROUP causal
  FROM [[at, job->block->both_end, job->block->n_keys);]]
  TO [[at, job->block->both_end, job->block->n_keys - 1);]])
sattn_defect(second_vector_takes_rows_of_the_first ${tile} GROUP rows
  FROM [[acc[i][1] = _mm256_fmadd_ps(scalar, rows1, acc[i][1]);]]
  TO [[acc[i][1] = _mm256_fmadd_ps(scalar, rows0, acc[i][1]);]])

# ---- helpers
sattn_defect(nan_score_weighs_nothing FILE kernels/vec/exp_powers_avx2.h GROUP specials
  KERNELS sattn_fused_f32_avx2 sattn_fused_f32_avx2_decode
  FROM [[_mm256_load_ps(lowest), _CMP_NLT_UQ);]]
  TO [[_mm256_load_ps(lowest), _CMP_GE_OQ);]])
sattn_defect(weights_below_range_not_zero FILE kernels/vec/exp_powers_avx2.h GROUP hidden-garbage
  KERNELS sattn_fused_f32_avx2 sattn_fused_f32_avx2_decode
  FROM [=[_mm256_and_ps(_mm256_castsi256_ps(bits), is_alive);]=]
  TO [=[_mm256_blendv_ps(_mm256_set1_ps(0x1p-126f), _mm256_castsi256_ps(bits), is_alive);]=])
sattn_defect(two_columns_swapped_in_transposition FILE kernels/vec/vec_avx2.h GROUP tiles
  KERNELS sattn_fused_f32_avx2
  FROM [[rows[b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x20);
        rows[4 + b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x31);]]
  TO [[rows[4 + b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x20);
        rows[b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x31);]])
sattn_defect(lanes_added_as_neighbours FILE kernels/vec/vec_avx2.h GROUP same-keys
  KERNELS sattn_fused_f32_avx2_decode
  FROM [[const __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));]]
  TO [[const __m128 x2 = _mm_add_ps(x4, _mm_movehdup_ps(x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehl_ps(x2, x2)));]])
sattn_defect(two_keys_swapped_in_reduction FILE kernels/vec/vec_avx2.h GROUP keys
  KERNELS sattn_fused_f32_avx2_decode
  FROM [[return _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));]]
  TO [[return _mm256_add_ps(_mm256_shuffle_ps(pair[1], pair[0], 0x88),
                         _mm256_shuffle_ps(pair[1], pair[0], 0xdd));]])

# ---- decode
set(dot KERNELS sattn_fused_f32_avx2_decode FILE kernels/vec/score_tile_avx2.h)
set(decode KERNELS sattn_fused_f32_avx2_decode FILE kernels/fused/fused_f32_avx2_decode.c)
set(scores KERNELS sattn_fused_f32_avx2_decode FILE kernels/fused/fused_decode_score_avx2.h)
set(av KERNELS sattn_fused_f32_avx2_decode FILE kernels/fused/fused_decode_av_avx2.h)
set(av_row KERNELS sattn_fused_f32_avx2_decode FILE kernels/fused/fused_decode_av_row_avx2.h)

sattn_defect(tail_of_features_dropped ${dot} GROUP every-d
  FROM [[    if (x == d)
        return;]]
  TO [[    if (x == d || x > 0)
        return;]])
sattn_defect(feature_behind_the_last_read ${dot} GROUP every-d
  FROM [[vec_load_tail_f32x8(k[j] + x, tail);]] TO [[_mm256_loadu_ps(k[j] + x);]])
sattn_defect(feature_behind_the_last_read_by_one_row ${scores} GROUP every-d
  FROM [[x + 1 < n_vecs ? _mm256_loadu_ps(at) : vec_load_tail_f32x8(at, last);]]
  TO [[_mm256_loadu_ps(at);]])
sattn_defect(first_vectors_of_q_for_those_not_held ${scores} GROUP every-d
  FROM [[_mm256_loadu_ps(q + x * SCORE_LANES),]] TO [[q_f32x8[0],]])
sattn_defect(products_of_the_first_keys_only ${scores} GROUP keys
  FROM [[_mm256_loadu_ps(st->dots + (j + i) * SCORE_LANES);]]
  TO [[_mm256_loadu_ps(st->dots + i * SCORE_LANES);]])
sattn_defect(followed_row_taken_for_two ${scores} GROUP followed-rows
  FROM [[score_rows(st, block, part, 1, 8, SCORE_FETCH_NONE);]]
  TO [[score_rows(st, block, part, 2, 4, SCORE_FETCH_NONE);]])
sattn_defect(maximum_of_the_last_part_only ${scores} GROUP large-memory
  FROM [[is_first || max > block_max[r] ? max : block_max[r];]] TO [[max;]])
sattn_defect(two_rows_swapped ${scores} GROUP groups
  FROM [[_mm_storeh_pi((__m64 *)(void *)(s + FUSED_DECODE_KEYS), low);
        _mm_storel_pi((__m64 *)(void *)(s + 2 * FUSED_DECODE_KEYS), high);]]
  TO [[_mm_storel_pi((__m64 *)(void *)(s + FUSED_DECODE_KEYS), high);
        _mm_storeh_pi((__m64 *)(void *)(s + 2 * FUSED_DECODE_KEYS), low);]])
sattn_defect(maximum_of_another_row ${scores} GROUP rising-rows
  FROM [[max = lanes[r * n_keys];]]
  TO [[max = lanes[(r ^ (n_rows > 3)) * n_keys];]])
sattn_defect(distance_without_its_size ${decode} GROUP alibi
  FROM [[_mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));]]
  TO [[_mm256_sub_ps(position, key);]])
sattn_defect(tail_without_alibi ${decode} GROUP alibi
  FROM [[for (int j = 0; j < n; j += LANES) {
        const __m256i tail]]
  TO [[for (int j = 0; j + LANES <= n; j += LANES) {
        const __m256i tail]])
sattn_defect(places_of_two_keys_swapped ${decode} GROUP alibi
  FROM [[_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);]] TO [[_mm256_setr_ps(0, 1, 2, 3, 4, 5, 7, 6);]])
sattn_defect(alibi_rounded_twice ${decode} GROUP alibi-exact
  FROM [[_mm256_fmadd_ps(slope, distance, s_f32x8)]]
  TO [[_mm256_add_ps(_mm256_mul_ps(slope, distance), s_f32x8)]])
sattn_defect(sum_of_the_last_block_only ${decode} GROUP keys
  FROM [[st->row_sum[r] += vec_hsum_f32x8(sum_f32x8);]]
  TO [[st->row_sum[r] = vec_hsum_f32x8(sum_f32x8);]])
sattn_defect(weight_of_another_row ${av} GROUP groups
  FROM [[s[r * FUSED_DECODE_KEYS]));]]
  TO [[s[(r > 0 ? r - 1 : 0) * FUSED_DECODE_KEYS]));]])
sattn_defect(column_behind_the_last_read_by_one_row ${av_row} GROUP every-d_v
  FROM [[y + 1 < n_vecs ? _mm256_loadu_ps(from) : vec_load_tail_f32x8(from, tail);]]
  TO [[_mm256_loadu_ps(from);]])
sattn_defect(columns_not_held_of_the_last_key_only ${av_row} GROUP every-d_v
  FROM [[_mm256_storeu_ps(to, _mm256_fmadd_ps(p_f32x8, v_f32x8, _mm256_loadu_ps(to)));]]
  TO [[_mm256_storeu_ps(to, _mm256_mul_ps(p_f32x8, v_f32x8));]])
sattn_defect(last_keys_dropped_in_wide_rows ${av_row} GROUP every-d_v
  FROM [[step.n_keys = left < unit ? left : unit;]] TO [[step.n_keys = left < unit ? 0 : unit;]])
sattn_defect(band_of_columns_cut_like_the_last ${av_row} GROUP every-d_v
  FROM [[if (n_vecs - y > AV_BAND)]] TO [[if (n_vecs - y > 2 * AV_BAND)]])
sattn_defect(keys_of_the_first_unit_again ${av} GROUP large-memory
  FROM [[step.v += j * all->v_stride;]] TO [[step.v += 0 * all->v_stride;]])
sattn_defect(sums_begin_anew_with_each_unit ${av} GROUP large-memory
  FROM [[step.is_first = all->is_first && j == 0;]] TO [[step.is_first = all->is_first;]])
sattn_defect(last_unit_not_added ${av} GROUP large-memory
  FROM [[all->is_last && left <= FUSED_DECODE_UNIT;]]
  TO [[all->is_last && left < FUSED_DECODE_UNIT;]])
sattn_defect(sums_of_the_block_before ${av_row} GROUP every-d_v
  FROM [[_mm256_storeu_ps(sum + y * AV_LANES, _mm256_setzero_ps());]] TO [[;]])
sattn_defect(sums_begin_anew_with_each_part ${av} GROUP large-memory
  FROM [[.is_first = part->begin == 0,]] TO [[.is_first = true,]])
sattn_defect(sums_added_with_each_part ${av} GROUP large-memory
  FROM [[.is_last = part->end == block->n_keys,]] TO [[.is_last = true,]])
sattn_defect(second_pair_of_columns_dropped ${av} GROUP every-d_v
  FROM [[for (; widest > 2 && whole - y >= 2; y += 2)]]
  TO [[for (; widest > 2 && whole - y == 2; y += 2)]])
sattn_defect(one_pair_of_columns_too_few ${av} GROUP every-d_v
  FROM [[for (; widest > 2 && whole - y >= 2; y += 2)]]
  TO [[for (; widest > 2 && whole - y >= 4; y += 2)]])
sattn_defect(tail_of_columns_dropped ${av} GROUP every-d_v
  FROM [[if (whole * AV_LANES < step->d_v)]]
  TO [[if (whole * AV_LANES < step->d_v && whole < 3)]])
