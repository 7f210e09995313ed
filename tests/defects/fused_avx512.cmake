# SPDX-License-Identifier: MIT
# Defects of the fused kernels for AVX-512.

# ---- prefill: masks, weights, storing
set(steps KERNELS sattn_fused_f32_avx512 FILE kernels/fused/fused_prefill_avx512.h)

sattn_defect(skipped_rescale ${steps} GROUP rising-rows
  FROM [[_mm512_mask_mul_ps(value, rescaled, value, factor)]] TO [[value]])
sattn_defect(skipped_sum_rescale ${steps} GROUP rising-rows
  FROM [[_mm512_mask_mul_ps(sum, rescaled, sum, factor)]] TO [[sum]])
sattn_defect(wrong_lane_rescaled ${steps} GROUP rising-rows
  FROM [[if (raised)
        _mm512_store_ps(row_max, max);]]
  TO [[if (raised)
        _mm512_store_ps(row_max, _mm512_permutexvar_ps(_mm512_set1_epi32(0), max));]])
sattn_defect(minus_infinity_not_guarded ${steps} GROUP specials
  FROM [[return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(max, lowest, _CMP_NEQ_UQ), max);]]
  TO [[return max;]])
sattn_defect(key_at_the_limit_stays_visible ${steps} GROUP causal
  FROM [[_mm512_mask_cmpgt_epi32_mask(_mm512_cmple_epi32_mask(begin, key), end, key);]]
  TO [[_mm512_mask_cmpge_epi32_mask(_mm512_cmple_epi32_mask(begin, key), end, key);]])
sattn_defect(key_before_the_window_stays_visible ${steps} GROUP windows
  FROM [[_mm512_cmple_epi32_mask(begin, key)]]
  TO [[_mm512_cmple_epi32_mask(begin, _mm512_set1_epi32(j + 1))]])
sattn_defect(maximum_of_hidden_scores ${steps} GROUP hidden-keys-behind
  FROM [[_mm512_store_ps(s, score);
        max = _mm512_max_ps(score, max);]]
  TO [[max = _mm512_max_ps(_mm512_load_ps(s), max);
        _mm512_store_ps(s, score);]])
sattn_defect(limits_of_the_first_vector ${steps} GROUP causal
  FROM [[_mm512_loadu_si512(st->strip->step + first)]] TO [[_mm512_loadu_si512(st->strip->step)]])
sattn_defect(distance_without_its_size ${steps} GROUP alibi
  FROM [[_mm512_abs_ps(_mm512_sub_ps(position, key));]] TO [[_mm512_sub_ps(position, key);]])
sattn_defect(alibi_of_the_key_before ${steps} GROUP alibi
  FROM [[_mm512_set1_ps((float)j);]]
  TO [[_mm512_set1_ps((float)(j - 1));]])
sattn_defect(slopes_of_the_first_vector ${steps} GROUP alibi
  FROM [[_mm512_loadu_ps(st->strip->slope + span->vec * LANES);]] TO [[_mm512_loadu_ps(st->strip->slope);]])
sattn_defect(hidden_score_stays_nan ${steps} GROUP hidden-garbage
  FROM [[_mm512_mask_add_ps(lowest, visible, _mm512_load_ps(s), bias)]]
  TO [[_mm512_add_ps(_mm512_load_ps(s), bias)]])
sattn_defect(mask_polarity ${steps} GROUP masks
  FROM [[_mm_test_epi8_mask(bytes, bytes)]] TO [[_mm_testn_epi8_mask(bytes, bytes)]])
sattn_defect(mask_low_bit_only ${steps} GROUP masks
  FROM [[_mm_test_epi8_mask(bytes, bytes)]] TO [[_mm_test_epi8_mask(bytes, _mm_set1_epi8(1))]])
sattn_defect(mask_read_beyond_its_end ${steps} GROUP masks
  FROM [[_mm_maskz_loadu_epi8(keys, strip->mask_bool[r] + at);]]
  TO [[_mm_loadu_si128((const __m128i *)(const void *)(strip->mask_bool[r] + at));]])
sattn_defect(mask_tail_dropped ${steps} GROUP masks
  FROM [[if (i >= n)
                break;]]
  TO [[if (i >= n - n % 2 && i > 0)
                break;]])
sattn_defect(odd_key_not_summed ${steps} GROUP keys
  FROM [[if (left > 0)
        prefill_weigh_keys(s, base, sum, 1);]]
  TO [[if (left > 1)
        prefill_weigh_keys(s, base, sum, 1);]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP keys
  FROM [[_mm512_add_ps(_mm512_load_ps(row_sum), _mm512_add_ps(sum[0], sum[1]))]]
  TO [[_mm512_add_ps(sum[0], sum[1])]])
sattn_defect(second_vector_stored_over_the_first ${steps} GROUP rows
  FROM [[st->strip->o + vec * LANES;]] TO [[st->strip->o;]])
sattn_defect(two_rows_swapped_in_whole_tiles ${steps} GROUP every-d_v
  FROM [[_mm512_storeu_ps(rows[r] + y, tile[r]);]]
  TO [[_mm512_storeu_ps(rows[r] + y, tile[r ^ 1]);]])
sattn_defect(one_column_too_many_stored ${steps} GROUP every-d_v
  FROM [[vec_store_tail_f32x16(rows[r] + y, tail, tile[r]);]]
  TO [[vec_store_tail_f32x16(rows[r] + y, (__mmask16)(tail << 1 | 1), tile[r]);]])
sattn_defect(scale_applied_twice ${steps} GROUP every-d
  FROM [[_mm512_mul_ps(scale, n == LANES]] TO [[_mm512_mul_ps(_mm512_mul_ps(scale, scale), n == LANES]])

# ---- prefill: the two products
set(tile KERNELS sattn_fused_f32_avx512 FILE kernels/fused/fused_f32_avx512.c)

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
  FROM [[_mm512_add_ps(_mm512_load_ps(to + i * WIDTH), acc[i][vec])]] TO [=[acc[i][vec]]=])
sattn_defect(lone_keys_of_the_first_vector_left_out ${tile} GROUP windows
  FROM [[tile_lone_steps(acc, n, 0, job, at, 0, job->block->both_begin);]]
  TO [[tile_lone_steps(acc, n, 0, job, at, 1, job->block->both_begin);]])
sattn_defect(lone_keys_of_the_second_vector_left_out ${tile} GROUP causal
  FROM [[at, job->block->both_end, job->block->n_keys);]]
  TO [[at, job->block->both_end, job->block->n_keys - 1);]])
sattn_defect(second_vector_takes_rows_of_the_first ${tile} GROUP rows
  FROM [[acc[i][1] = _mm512_fmadd_ps(scalar, rows1, acc[i][1]);]]
  TO [[acc[i][1] = _mm512_fmadd_ps(scalar, rows0, acc[i][1]);]])

# ---- helpers
sattn_defect(nan_score_weighs_nothing FILE kernels/vec/exp_powers_avx512.h GROUP specials
  KERNELS sattn_fused_f32_avx512 sattn_fused_f32_avx512_decode
  FROM [[_mm512_set1_ps(lowest), _CMP_NLT_UQ);]]
  TO [[_mm512_set1_ps(lowest), _CMP_GE_OQ);]])
sattn_defect(weights_below_range_not_zero FILE kernels/vec/exp_powers_avx512.h GROUP hidden-garbage
  KERNELS sattn_fused_f32_avx512 sattn_fused_f32_avx512_decode
  FROM [=[t[u] = _mm512_maskz_fmadd_ps(is_alive[u], power[u], p[u], power[u]);]=]
  TO [=[t[u] = _mm512_mask_mov_ps(_mm512_set1_ps(0x1p-126f), is_alive[u],
                               _mm512_fmadd_ps(power[u], p[u], power[u]));]=])
sattn_defect(two_columns_swapped_in_transposition FILE kernels/vec/vec_avx512.h GROUP tiles
  KERNELS sattn_fused_f32_avx512
  FROM [[rows[4 + b] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
        rows[8 + b] = _mm512_shuffle_f32x4(even01, even23, 0xdd);]]
  TO [[rows[8 + b] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
        rows[4 + b] = _mm512_shuffle_f32x4(even01, even23, 0xdd);]])
sattn_defect(lanes_added_as_neighbours FILE kernels/vec/vec_avx512.h GROUP same-keys
  KERNELS sattn_fused_f32_avx512_decode
  FROM [[const __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));]]
  TO [[const __m128 x2 = _mm_add_ps(x4, _mm_movehdup_ps(x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehl_ps(x2, x2)));]])
sattn_defect(two_keys_swapped_in_reduction FILE kernels/vec/vec_avx512.h GROUP keys
  KERNELS sattn_fused_f32_avx512_decode
  FROM [[return _mm512_add_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));]]
  TO [[return _mm512_add_ps(_mm512_shuffle_ps(pair[1], pair[0], 0x88),
                         _mm512_shuffle_ps(pair[1], pair[0], 0xdd));]])

# ---- decode
set(dot KERNELS sattn_fused_f32_avx512_decode FILE kernels/vec/score_tile_avx512.h)
set(steps KERNELS sattn_fused_f32_avx512_decode FILE kernels/fused/fused_decode_avx512.h)
set(scores KERNELS sattn_fused_f32_avx512_decode FILE kernels/fused/fused_decode_score_avx512.h)
set(skewed KERNELS sattn_fused_f32_avx512_decode FILE kernels/vec/score_skew_avx512.h)
set(av KERNELS sattn_fused_f32_avx512_decode FILE kernels/fused/fused_decode_av_avx512.h)

sattn_defect(tail_of_features_dropped ${dot} GROUP every-d
  FROM [[    if (tail)
        acc =]]
  TO [[    if (tail && whole == 0)
        acc =]])
sattn_defect(tail_of_features_dropped_in_groups ${dot} GROUP every-d
  FROM [[    if (x == d)
        return;]]
  TO [[    if (x == d || x > 0)
        return;]])
sattn_defect(rows_in_registers_swapped ${dot} GROUP large-memory
  FROM [[q[x * n_rows + r], k_f32x16, acc[r]);]]
  TO [[q[x * n_rows + n_rows - 1 - r], k_f32x16, acc[r]);]])
sattn_defect(key_behind_the_last_read_in_order ${scores} GROUP large-memory
  FROM [[k += j + 1 < left ? stride : 0;]] TO [[k += stride;]])
sattn_defect(halves_of_a_wide_group_swapped ${scores} GROUP large-memory
  FROM [[store_tile(s + half * SCORE_GROUP]] TO [[store_tile(s + (1 - half) * SCORE_GROUP]])
sattn_defect(first_pair_of_keys_scored_twice ${scores} GROUP large-memory
  FROM [[rows + pair, d, ahead]] TO [[rows, d, ahead]])
sattn_defect(first_half_of_a_wide_group_packed_twice ${scores} GROUP large-memory
  FROM [[rows + r, n - r, st->d, scale, SCORE_GROUP]] TO [[rows, n - r, st->d, scale, SCORE_GROUP]])
sattn_defect(runs_begin_anew ${av} GROUP large-memory
  FROM [[step->is_first ? _mm512_setzero_ps()]]
  TO [[step->is_first || step->is_last ? _mm512_setzero_ps()]])
sattn_defect(sums_of_another_tile ${av} GROUP large-memory
  FROM [[step->sums += n_acc * AV_LANES;]] TO [[(void)n_acc;]])
sattn_defect(last_keys_of_a_run_dropped ${av} GROUP large-memory
  FROM [[step.n_keys = left < AV_RUN ? left : AV_RUN;]]
  TO [[step.n_keys = left < AV_RUN ? left / 2 * 2 : AV_RUN;]])
sattn_defect(four_near_rows_in_other_sums ${av} GROUP near-and-far
  FROM [[av_tile(step, 4, 2, 2, AV_FETCH_BELOW);]] TO [[av_tile(step, 4, 2, 1, AV_FETCH_BELOW);]])
sattn_defect(half_of_a_followed_row_of_64 ${scores} GROUP followed-rows
  FROM [[score_in_order(st, block, part, 1, 4, SCORE_FETCH_NONE);]]
  TO [[score_in_order(st, block, part, 1, 2, SCORE_FETCH_NONE);]])
sattn_defect(half_of_a_followed_row_of_128 ${scores} GROUP followed-rows
  FROM [[score_in_order(st, block, part, 1, 8, SCORE_FETCH_NONE);]]
  TO [[score_in_order(st, block, part, 1, 4, SCORE_FETCH_NONE);]])
sattn_defect(followed_row_scored_without_its_end ${dot} GROUP followed-rows
  FROM [[    if (tail)
        acc =]]
  TO [[    if (tail && fetch != SCORE_FETCH_NONE)
        acc =]])
sattn_defect(followed_row_in_other_sums ${av} GROUP followed-rows
  FROM [[av_tile(step, n_rows, 2, 4, fetch);]]
  TO [[av_tile(step, n_rows, 2, fetch == AV_FETCH_NONE ? 2 : 4, fetch);]])
sattn_defect(first_weights_for_later_rows ${av} GROUP large-memory
  FROM [[rest.s += SCORE_GROUP * FUSED_DECODE_KEYS;]] TO [[rest.s += 0 * FUSED_DECODE_KEYS;]])
sattn_defect(two_rows_swapped ${scores} GROUP groups
  FROM [[_mm_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s + 2 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 2));]]
  TO [[_mm_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 2));
    _mm_storeu_ps(s + 2 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 1));]])
sattn_defect(maximum_of_another_row FILE kernels/fused/fused_decode_avx512.h GROUP rising-rows
  KERNELS sattn_fused_f32_avx512_decode sattn_fused_f32_avx512_quad
  FROM [[n_keys == 8 ? 0x0101 : 0x1111, max_f32x16]]
  TO [[n_keys == 8 ? 0x0101 : 0x1113, max_f32x16]])
sattn_defect(parts_added_in_order ${av} GROUP same-keys
  FROM [[_mm512_add_ps(_mm512_add_ps(sum, acc[2 * n_sums + i]),
                                _mm512_add_ps(acc[n_sums + i], acc[3 * n_sums + i]));]]
  TO [[_mm512_add_ps(_mm512_add_ps(sum, acc[n_sums + i]),
                                _mm512_add_ps(acc[2 * n_sums + i], acc[3 * n_sums + i]));]])
sattn_defect(distance_without_its_size ${steps} GROUP alibi
  FROM [[_mm512_abs_ps(_mm512_sub_ps(position, key));]] TO [[_mm512_sub_ps(position, key);]])
sattn_defect(tail_without_alibi ${steps} GROUP alibi
  FROM [[for (int j = 0; j < n; j += LANES) {
        const __mmask16 tail]]
  TO [[for (int j = 0; j + LANES <= n; j += LANES) {
        const __mmask16 tail]])
sattn_defect(places_of_two_keys_swapped ${steps} GROUP alibi
  FROM [[10, 11, 12, 13, 14, 15);]] TO [[10, 11, 12, 13, 15, 14);]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP keys
  FROM [[st->row_sum[r + i] += vec_hsum_f32x16(sum_f32x16[i]);]]
  TO [[st->row_sum[r + i] = vec_hsum_f32x16(sum_f32x16[i]);]])
sattn_defect(reference_of_another_row ${steps} GROUP rising-rows
  FROM [[fused_decode_reference(st, r + i)]] TO [[fused_decode_reference(st, r)]])
sattn_defect(query_read_beyond_its_end ${scores} GROUP every-d
  FROM [[_mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale),
                                                      vec_load_tail_f32x16(rows[r] + x, lanes))]]
  TO [[_mm512_mul_ps(_mm512_set1_ps(scale), _mm512_loadu_ps(rows[r] + x))]])
sattn_defect(scale_applied_twice ${scores} GROUP every-d
  FROM [[_mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale),]]
  TO [[_mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale * scale),]])
sattn_defect(group_not_skewed ${scores} GROUP groups
  FROM [[if (n_rows == SCORE_GROUP)
            score_skew_f32x16]]
  TO [[if (n_rows > SCORE_GROUP)
            score_skew_f32x16]])
sattn_defect(rows_of_the_first_group_packed ${scores} GROUP groups
  FROM [[= strip->q + first;]] TO [[= strip->q;]])
sattn_defect(quarters_of_another_row ${skewed} GROUP groups
  FROM [=[0xff00, mixed[i ^ 2]]=] TO [=[0x0ff0, mixed[i ^ 2]]=])
sattn_defect(quarters_not_swapped_back ${skewed} GROUP groups
  FROM [[(odd, odd, 0xb1)]] TO [[(odd, odd, 0xe4)]])
sattn_defect(quarters_added_in_order ${skewed} GROUP rows-alone
  FROM [[const __m512 two = acc[2 * n_keys + j];
    const __m512 three = acc[3 * n_keys + j];
    const __m512 even = _mm512_add_ps(acc[j], _mm512_shuffle_f32x4(two, two, 0x4e));
    const __m512 odd = _mm512_add_ps(acc[n_keys + j], _mm512_shuffle_f32x4(three, three, 0x4e));
    return _mm512_add_ps(even, _mm512_shuffle_f32x4(odd, odd, 0xb1));]]
  TO [[const __m512 one = acc[n_keys + j];
    const __m512 three = acc[3 * n_keys + j];
    const __m512 even = _mm512_add_ps(acc[j], _mm512_shuffle_f32x4(one, one, 0xb1));
    const __m512 odd = _mm512_add_ps(acc[2 * n_keys + j], _mm512_shuffle_f32x4(three, three, 0xb1));
    return _mm512_add_ps(even, _mm512_shuffle_f32x4(odd, odd, 0x4e));]])
sattn_defect(weight_of_another_row ${av} GROUP groups
  FROM [[_mm512_set1_ps(s[r * FUSED_DECODE_KEYS]);]]
  TO [[_mm512_set1_ps(s[(r > 0 ? r - 1 : 0) * FUSED_DECODE_KEYS]);]])
sattn_defect(tail_of_keys_dropped ${av} GROUP keys
  FROM [[if (end - s > part)]] TO [[if (end - s > part + 1)]])
sattn_defect(part_of_the_keys_not_added ${av} GROUP every-d_v
  FROM [[if (n_parts == 2)
            sum =]]
  TO [[if (n_parts == 3)
            sum =]])
sattn_defect(column_behind_the_last_read ${av} GROUP every-d_v
  FROM [[vec_load_tail_f32x16(v + y * AV_LANES, last);]]
  TO [[_mm512_loadu_ps(v + y * AV_LANES);]])
sattn_defect(more_near_rows_in_other_sums ${av} GROUP near-and-far
  FROM [[block->is_far ? 2 : 4;]] TO [[2;]])
sattn_defect(more_near_rows_do_not_begin_at_zero ${av} GROUP every-d_v
  FROM [[.is_first = true,]] TO [[.is_first = false,]])

# ---- four rows x four features to a vector
set(quad KERNELS sattn_fused_f32_avx512_quad FILE kernels/fused/fused_decode_quad_avx512.h)

sattn_defect(tail_of_features_dropped ${quad} GROUP every-d
  FROM [[if (left > 0)
        quad_step]]
  TO [[if (left > 0 && d < QUAD)
        quad_step]])
sattn_defect(feature_behind_the_last_read ${quad} GROUP every-d
  FROM [[is_tail ? _mm_maskz_loadu_ps(lanes, k) : _mm_loadu_ps(k)]]
  TO [[is_tail && lanes == 0 ? _mm_setzero_ps() : _mm_loadu_ps(k)]])
sattn_defect(query_read_beyond_its_end ${quad} GROUP every-d
  FROM [[_mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale),
                                                      vec_load_tail_f32x16(rows[r] + x, lanes))]]
  TO [[_mm512_mul_ps(_mm512_set1_ps(scale), _mm512_loadu_ps(rows[r] + x))]])
sattn_defect(rows_of_the_first_group_packed ${quad} GROUP groups
  FROM [[strip->q + first + r, n - r]] TO [[strip->q + r, n - r]])
sattn_defect(first_rows_of_a_group_packed_twice ${quad} GROUP groups
  FROM [[strip->q + first + r, n - r]] TO [[strip->q + first, n - r]])
sattn_defect(rows_behind_the_last_packed ${quad} GROUP groups
  FROM [[q_f32x16[r] = r < n ? ]] TO [[q_f32x16[r] = r < QUAD ? ]])
sattn_defect(rows_and_steps_swapped ${quad} GROUP groups
  FROM [[v[1] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    v[2] = _mm512_shuffle_f32x4(high01, high23, 0x88);]]
  TO [[v[2] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    v[1] = _mm512_shuffle_f32x4(high01, high23, 0x88);]])
sattn_defect(keys_swapped_in_reduction ${quad} GROUP keys
  FROM [[return _mm512_add_ps(_mm512_shuffle_ps(pairs[0], pairs[1], 0x88),
                         _mm512_shuffle_ps(pairs[0], pairs[1], 0xdd));]]
  TO [[return _mm512_add_ps(_mm512_shuffle_ps(pairs[1], pairs[0], 0x88),
                         _mm512_shuffle_ps(pairs[1], pairs[0], 0xdd));]])
sattn_defect(lanes_added_in_another_order_for_few ${quad} GROUP rows-alone
  FROM [[quad_tile(acc, q, *keys, d, stream, n_vecs, n_keys, per);]]
  TO [[quad_tile(acc, q, *keys, d, stream, n_vecs, n_keys, per);
    for (int i = 0; n_vecs == 1 && i < n_keys; ++i)
        acc[i] = _mm512_permute_ps(acc[i], 0xd8);]])
sattn_defect(first_keys_of_a_unit_scored_twice ${quad} GROUP keys
  FROM [[k + (j + i * QUAD) * stride;]] TO [[k + i * QUAD * stride;]])
sattn_defect(key_behind_the_last_read ${quad} GROUP keys
  FROM [[(j + i < n_left ? j + i : n_left - 1)]] TO [[(j + i)]])
sattn_defect(lone_last_key_not_scored ${quad} GROUP keys
  FROM [[if (j < n_left) {]] TO [[if (j + 1 < n_left || j == 0) {]])
sattn_defect(halves_of_a_group_swapped ${quad} GROUP groups
  FROM [=[s + r * FUSED_DECODE_KEYS, sums[r]]=]
  TO [=[s + r * FUSED_DECODE_KEYS, sums[n_vecs > 1 ? r ^ QUAD : r]]=])
sattn_defect(row_behind_the_last_stored ${quad} GROUP long-rows
  FROM [[if (n_vecs > 1 || r < n_rows)]] TO [[if (n_rows > 0)]])
sattn_defect(maximum_of_the_first_keys_only ${quad} GROUP rising-rows
  FROM [[raise_max(max_f32x16[i / QUAD], sums[i])]]
  TO [[raise_max(max_f32x16[i / QUAD], sums[i / QUAD * QUAD])]])
