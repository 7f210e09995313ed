# SPDX-License-Identifier: MIT
# Defects of the softmax kernels.

set(scalar sattn_softmax_f32_scalar)
set(vector sattn_softmax_f32_avx2 sattn_softmax_f32_avx512 sattn_softmax_f32_neon)

# ---- softmax_row.h: which row is where, what it sees
set(row KERNELS ${scalar} ${vector} FILE kernels/softmax/softmax_row.h)

sattn_defect(scores_of_the_first_head ${row} GROUP groups
  FROM [[a->s + g * a->s_group_stride + i * a->s_stride;]] TO [[a->s + i * a->s_stride;]])
sattn_defect(output_row_stride_ignored ${row} GROUP layouts
  FROM [[a->p + g * a->p_group_stride + i * a->p_stride;]]
  TO [[a->p + g * a->p_group_stride + i * a->n_columns;]])
sattn_defect(statistics_of_the_first_head ${row} GROUP groups
  FROM [[row->stat = g * a->stat_group_stride + i;]] TO [[row->stat = i;]])
sattn_defect(hidden_by_broadcast_ignored ${row} GROUP masks
  FROM [[if (hides_all)]] TO [[if (hides_all && row->mask_add)]])
sattn_defect(nan_at_hidden_keys_too ${row} GROUP specials
  FROM [[return row->mask != SOFTMAX_BIAS || row->mask_add[j] != -INFINITY;]] TO [[return true;]])
sattn_defect(slope_of_the_first_head ${row} GROUP alibi
  FROM [[row->slope = -visible->alibi_slopes[g];]] TO [[row->slope = -visible->alibi_slopes[0];]])
sattn_defect(position_of_the_next_query ${row} GROUP alibi
  FROM [[row->position = sattn_add_held(visible->causal_offset, i);]]
  TO [[row->position = sattn_add_held(visible->causal_offset, i + 1);]])
sattn_defect(position_without_the_offset ${row} GROUP alibi
  FROM [[row->position = sattn_add_held(visible->causal_offset, i);]] TO [[row->position = i;]])

# ---- visibility.h: how far keys are
set(distance KERNELS ${scalar} ${vector} FILE kernels/visibility.h)

sattn_defect(far_keys_taken_as_near ${distance} GROUP alibi
  FROM [[return ahead > -most && ahead < most;]] TO [[return true;]])
sattn_defect(far_distance_with_its_sign ${distance} GROUP alibi
  FROM [[return (float)(position >= j ? ahead : 0 - ahead);]] TO [[return (float)(int64_t)ahead;]])
sattn_defect(far_distance_in_32_bits ${distance} GROUP alibi
  FROM [[return (float)(position >= j ? ahead : 0 - ahead);]]
  TO [[return (float)(uint32_t)(position >= j ? ahead : 0 - ahead);]])

# ---- softmax_rows.h
set(rows KERNELS ${scalar} ${vector} FILE kernels/softmax/softmax_rows.h)

sattn_defect(minus_infinity_not_guarded KERNELS ${scalar} ${vector} FILE kernels/softmax/softmax_steps.h GROUP masks
  FROM [[return max == -INFINITY ? 0.0f : max;]] TO [[return max;]])
sattn_defect(last_column_not_cleared ${rows} GROUP columns
  FROM [[(size_t)(row->n_columns - row->keys.end) * sizeof *row->p);]]
  TO [[(size_t)(row->n_columns - row->keys.end - 1) * sizeof *row->p);]])
sattn_defect(one_column_too_many_cleared ${rows} GROUP columns
  FROM [[(size_t)(row->n_columns - row->keys.end) * sizeof *row->p);]]
  TO [[(size_t)(row->n_columns - row->keys.end + 1) * sizeof *row->p);]])
sattn_defect(columns_before_the_window_not_cleared ${rows} GROUP windows
  FROM [[if (row->keys.begin > 0)]] TO [[if (row->keys.begin > 30)]])
sattn_defect(divided_by_the_sum_of_another_row ${rows} GROUP rows
  FROM [[ops->scale(divided, &divided->keys, 1.0f / divided->sum, 0.0f);]]
  TO [[ops->scale(divided, &divided->keys, 1.0f / (r <= n_rows ? weighed : divided)->sum, 0.0f);]])
sattn_defect(skipped_rescale_of_a_chunk ${rows} GROUP long-visible
  FROM [[ops->scale(row, &cut, share * (1.0f / row->sum), FLT_MIN / share);]]
  TO [[ops->scale(row, &cut, 1.0f / row->sum, FLT_MIN / share);]])
sattn_defect(skipped_rescale_of_the_sum ${rows} GROUP long-visible
  FROM [[(double)plain_exp(chunks[c].max - base) * (double)chunks[c].sum;]]
  TO [[(double)chunks[c].sum;]])
sattn_defect(maximum_of_the_last_chunk ${rows} GROUP long-visible
  FROM [[row->max = max > row->max ? max : row->max;]] TO [[row->max = max;]])
sattn_defect(last_chunk_missing ${rows} GROUP lengths
  FROM [[(row->keys.end - 1) / SOFTMAX_CHUNK - first + 1;]]
  TO [[(row->keys.end - 2) / SOFTMAX_CHUNK - first + 1;]])
sattn_defect(all_minus_infinity_as_no_key ${rows} GROUP all-infinite
  FROM [[if (seen && row->sum == 0.0f)
        row->sum = 1.0f;]]
  TO [[]])

set(flat KERNELS ${vector} FILE kernels/softmax/softmax_rows.h)
sattn_defect(far_keys_one_further ${flat} GROUP alibi-exact
  FROM [[sattn_alibi_distance(row->position, j);]] TO [[sattn_alibi_distance(row->position, j + 1);]])
sattn_defect(far_tail_without_alibi ${flat} GROUP alibi
  FROM [[softmax_slope_keys(row, tail + (begin - cut->tail), begin, cut->end);]]
  TO [[memcpy(tail + (begin - cut->tail), row->raw + begin, (size_t)(cut->end - begin) * sizeof *tail);]])
sattn_defect(mask_ignored_with_alibi ${flat} GROUP alibi
  FROM [[return maximum_of(*row, *cut, SOFTMAX_BOOL, has_alibi);]]
  TO [[return maximum_of(*row, *cut, has_alibi ? SOFTMAX_UNMASKED : SOFTMAX_BOOL, has_alibi);]])

# ---- softmax_steps.h, softmax_whole.h: rows that see every key
sattn_defect(base_of_the_next_run KERNELS ${vector} FILE kernels/softmax/softmax_flat.h GROUP rows
  FROM [[flat_memory *const m = t->scratch;]]
  TO [[flat_memory *const m = t->scratch;
    if (t->next)
        flat_open(t, m);]])
set(whole KERNELS ${vector} FILE kernels/softmax/softmax_whole.h)

sattn_defect(causal_limit_of_the_first_row_ignored ${whole} GROUP causal
  FROM [[return first.begin == 0 && first.end == n && last.begin == 0 && last.end == n;]]
  TO [[return first.begin == 0 && last.begin == 0 && last.end == n;]])
sattn_defect(rest_of_rows_taken_as_a_whole ${whole} GROUP rows
  FROM [[const int64_t end = a->i1 - (a->i1 - a->i0) % ops->flat_rows;]]
  TO [[const int64_t end = a->i1;]])
sattn_defect(last_run_not_divided ${whole} GROUP rows
  FROM [[while (turn.next || turn.p);]] TO [[while (turn.next);]])
sattn_defect(sums_of_a_run_in_place_of_the_one_before ${whole} GROUP rows
  FROM [[        turn.row_sum = next.row_sum;
        next = softmax_walk_on(&walk, a);]]
  TO [[        next = softmax_walk_on(&walk, a);
        turn.row_sum = next.row_sum;]])
sattn_defect(weights_of_a_turn_not_divided ${whole} GROUP rows
  FROM [[turn.factor = turn.done ? 1.0f / done->sum : 1.0f;]] TO [[turn.factor = 1.0f;]])
sattn_defect(statistics_of_the_next_row ${whole} GROUP rows
  FROM [[const int64_t stat = g * a->stat_group_stride + i;]]
  TO [[const int64_t stat = g * a->stat_group_stride + i + 1;]])
sattn_defect(all_minus_infinity_in_a_turn_as_no_key ${whole} GROUP all-infinite
  FROM [[own->sum == 0.0f ? 1.0f : own->sum;]] TO [[own->sum;]])
sattn_defect(rows_of_the_first_head ${whole} GROUP groups
  FROM [[.s = a->s + g * a->s_group_stride + i * a->s_stride,]]
  TO [[.s = a->s + i * a->s_stride,]])
sattn_defect(head_without_its_first_rows ${whole} GROUP groups
  FROM [[walk->i = walk->i0;]] TO [[walk->i = walk->i0 + walk->step;]])
sattn_defect(maximum_of_the_next_row ${whole} GROUP rows
  FROM [[turn.base = softmax_base(own->max);]] TO [[turn.base = softmax_base(turn.max);]])
sattn_defect(sum_of_a_later_row ${whole} GROUP rows
  FROM [[turn.done ? 1.0f / done->sum : 1.0f;]] TO [[turn.done ? 1.0f / turn.sum : 1.0f;]])
sattn_defect(last_rows_not_divided ${whole} GROUP rows
  FROM [[r < n_rows + 2 * lag && n_rows > 0;]] TO [[r < n_rows + lag && n_rows > 0;]])

# ---- scalar
set(plain KERNELS ${scalar} FILE kernels/softmax/softmax_plain.h)

sattn_defect(mask_polarity ${plain} GROUP masks
  FROM [[tile[j] = mask[j] != 0 ? s[j] : -INFINITY;]]
  TO [[tile[j] = mask[j] == 0 ? s[j] : -INFINITY;]])
sattn_defect(hidden_score_stays_nan ${plain} GROUP hidden-garbage
  FROM [[const float kept = bias[j] != -INFINITY ? s[j] : -INFINITY;]]
  TO [[const float kept = s[j];]])
sattn_defect(bias_added_twice ${plain} GROUP masks
  FROM [[tile[j] = kept + bias[j];]] TO [[tile[j] = kept + bias[j] + bias[j];]])
sattn_defect(broadcast_bias_ignored ${plain} GROUP masks
  FROM [[tile[j] = s[j] + shift;]] TO [[tile[j] = s[j];]])
sattn_defect(maximum_before_mask ${plain} GROUP masks
  FROM [[plain_fold_max(fold, s, 64);]]
  TO [[plain_fold_max(fold, stop - j == SATTN_KEY_BLOCK ? row->s + block : s, 64);]])
sattn_defect(half_of_a_block_not_summed ${plain} GROUP keys
  FROM [[plain_fold_sum(fold, fold, 32);]] TO [[]])
sattn_defect(sum_of_the_last_block_only ${plain} GROUP keys
  FROM [[part[lane] += fold[lane];]] TO [[part[lane] = fold[lane];]])
sattn_defect(last_weight_not_written ${plain} GROUP keys
  FROM [[(size_t)(stop - j) * sizeof *tile);]] TO [[(size_t)(stop - j - 1) * sizeof *tile);]])
sattn_defect(small_weights_of_a_chunk_kept ${plain} GROUP score-sizes
  FROM [[const float kept = p[j] < least ? 0.0f : p[j];]] TO [[const float kept = p[j];]])
sattn_defect(alibi_ignored ${plain} GROUP alibi
  FROM [[if (args->visible.alibi_slopes)]] TO [[if (!args)]])
sattn_defect(alibi_of_the_other_sign ${plain} GROUP alibi
  FROM [[plain_add_slope(raw[j], slope,]] TO [[plain_add_slope(raw[j], -slope,]])
sattn_defect(alibi_rounded_before_it_is_added KERNELS ${scalar} FILE kernels/vec/vec_plain.h
  GROUP alibi-exact
  FROM [[#if PLAIN_HAS_FMA
    return plain_multiply_add(a, b, sum);
#else
    return (float)((double)sum + (double)a * (double)b);
#endif]]
  TO [[return sum + a * b;]])
sattn_defect(distance_with_its_sign ${plain} GROUP alibi
  FROM [[fabsf((float)(position - j))]] TO [[(float)(position - j)]])
sattn_defect(alibi_starts_anew_with_each_cut ${plain} GROUP alibi
  FROM [[const int32_t position = (int32_t)(row->position - cut->begin);]]
  TO [[const int32_t position = (int32_t)row->position;]])
sattn_defect(last_key_without_alibi ${plain} GROUP alibi
  FROM [[const int32_t n = (int32_t)(cut->end - cut->begin);]]
  TO [[const int32_t n = (int32_t)(cut->end - cut->begin) - 1;
    to[n] = raw[n];]])

# ---- AVX-512
set(steps KERNELS sattn_softmax_f32_avx512 FILE kernels/softmax/softmax_rows_avx512.h)
set(runs KERNELS sattn_softmax_f32_avx512 FILE kernels/softmax/softmax_f32_avx512.c)

sattn_defect(mask_low_bit_only ${steps} GROUP masks
  FROM [[return _mm512_mask_mov_ps(lowest, _mm_test_epi8_mask(bytes, bytes), s);]]
  TO [[return _mm512_mask_mov_ps(lowest, _mm_test_epi8_mask(bytes, _mm_set1_epi8(1)), s);]])
sattn_defect(mask_read_beyond_its_end ${steps} GROUP masks
  FROM [[_mm_maskz_loadu_epi8(lanes, row.mask_bool + j);]]
  TO [[_mm_loadu_si128((const __m128i *)(const void *)(row.mask_bool + j));]])
sattn_defect(key_behind_the_last_counts ${steps} GROUP causal
  FROM [[vec_tail_m16(end - at)]] TO [[vec_tail_m16(end + 1 - at)]])
sattn_defect(tail_left_out_of_the_maximum ${steps} GROUP keys
  FROM [[raise(top[1], load_lanes(row, softmax_tail_scores(row, cut), cut.tail, lanes, mask));]]
  TO [[lanes ? top[1] : top[0];]])
sattn_defect(fourth_maximum_dropped ${steps} GROUP lengths
  FROM [[_mm512_max_ps(top[2], top[3])]] TO [[_mm512_max_ps(top[2], top[2])]])
sattn_defect(tail_not_turned_back ${steps} GROUP keys
  FROM [[turned_back(p, cut.body_end - cut.tail, cut.end - cut.body_end)]] TO [[p]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP lengths
  FROM [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = _mm512_add_ps(sum, part);]]
  TO [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = part;]])
sattn_defect(one_weight_too_many_written ${steps} GROUP keys
  FROM [[vec_store_tail_f32x16(row.p + j, vec_tail_m16(row.n_columns - j), p);]]
  TO [[vec_store_tail_f32x16(row.p + j, vec_tail_m16(row.n_columns + 1 - j), p);]])
sattn_defect(small_weights_of_a_chunk_kept ${steps} GROUP score-sizes
  FROM [[_mm512_maskz_mul_ps(_mm512_cmp_ps_mask(p, least, _CMP_GE_OQ), p, factor)]]
  TO [[_mm512_mul_ps(p, factor)]])
sattn_defect(base_of_the_row_before ${runs} GROUP rows
  FROM [[for (int r = 0; r < ROWS; ++r, row_of += n) {]]
  TO [[for (int r = 0; r < ROWS; ++r, row_of += (n + LANES - 1) / LANES * LANES) {]])
sattn_defect(sum_runs_into_the_next_row ${runs} GROUP rows
  FROM [[flat_add(part, p + j, n, vec_tail_m16(stop - j));]]
  TO [[flat_add(part, p + j, n, vec_tail_m16(stop + 1 - j));]])
sattn_defect(two_rows_swapped_in_the_maximum ${runs} GROUP rows
  FROM [[return _mm512_max_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));]]
  TO [[return _mm512_max_ps(_mm512_shuffle_ps(pair[1], pair[0], 0x88),
                         _mm512_shuffle_ps(pair[1], pair[0], 0xdd));]])
sattn_defect(alibi_ignored ${runs} GROUP alibi
  FROM [[if (args->visible.alibi_slopes)]] TO [[if (!args)]])
sattn_defect(alibi_of_the_other_sign ${steps} GROUP alibi
  FROM [[return _mm512_fmadd_ps(]] TO [[return _mm512_fnmadd_ps(]])
sattn_defect(distance_with_its_sign ${steps} GROUP alibi
  FROM [[_mm512_abs_ps(ahead)]] TO [[ahead]])
sattn_defect(alibi_of_the_first_vector ${steps} GROUP alibi
  FROM [[_mm512_add_ps(lane, _mm512_set1_ps((float)(u * LANES)));]]
  TO [[_mm512_add_ps(lane, _mm512_set1_ps((float)(u * 0)));]])
sattn_defect(alibi_of_the_next_key ${steps} GROUP alibi
  FROM [[(float)(int)(row.position - j)]] TO [[(float)(int)(row.position - j - 1)]])
sattn_defect(whole_vectors_without_alibi ${steps} GROUP alibi
  FROM [[sloped(s, row, j, u)]] TO [[s]])
sattn_defect(tail_without_alibi ${steps} GROUP alibi
  FROM [[sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0)]]
  TO [[load_raw(row, cut, cut->tail)]])

set(turns KERNELS sattn_softmax_f32_avx512 FILE kernels/softmax/softmax_turn_avx512.h)
sattn_defect(turn_without_the_tail_of_the_maximum ${turns} GROUP keys
  FROM [[sums.top[0] = raise(sums.top[0], _mm512_loadu_ps(t.next + last));]] TO [[(void)last;]])
sattn_defect(turn_with_the_tail_not_turned_back ${turns} GROUP keys
  FROM [[turned_back(p, whole - last, t.n - whole)]] TO [[p]])
sattn_defect(turn_with_the_last_block_only ${turns} GROUP lengths
  FROM [[sums->sum = _mm512_add_ps(sums->sum, sums->part);]] TO [[sums->sum = sums->part;]])
sattn_defect(turn_scales_the_tail_twice ${turns} GROUP keys
  FROM [[(t.done + last, done_tail);]] TO [[(t.done + last, _mm512_mul_ps(done_tail, factor));]])

# ---- AVX2
set(steps KERNELS sattn_softmax_f32_avx2 FILE kernels/softmax/softmax_rows_avx2.h)
set(runs KERNELS sattn_softmax_f32_avx2 FILE kernels/softmax/softmax_f32_avx2.c)

sattn_defect(mask_sign_bit_taken_as_0 ${steps} GROUP masks
  FROM [[_mm256_cvtepu8_epi32(bytes)]] TO [[_mm256_cvtepi8_epi32(bytes)]])
sattn_defect(hidden_score_stays_nan ${steps} GROUP hidden-garbage
  FROM [[return _mm256_blendv_ps(lowest, _mm256_add_ps(s, bias), visible);]]
  TO [[return _mm256_add_ps(s, bias);]])
sattn_defect(key_behind_the_last_counts ${steps} GROUP causal
  FROM [[vec_tail_m8(end - at)]] TO [[vec_tail_m8(end + 1 - at)]])
sattn_defect(tail_left_out_of_the_maximum ${steps} GROUP keys
  FROM [[top[1] = raise(top[1], load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask));]]
  TO [[;]])
sattn_defect(fourth_maximum_dropped ${steps} GROUP lengths
  FROM [[_mm256_max_ps(top[2], top[3])]] TO [[_mm256_max_ps(top[2], top[2])]])
sattn_defect(tail_not_turned_back ${steps} GROUP keys
  FROM [[turned_back(p, cut.body_end - cut.tail, cut.end - cut.body_end)]] TO [[p]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP lengths
  FROM [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = _mm256_add_ps(sum, part);]]
  TO [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = part;]])
sattn_defect(last_weight_of_a_short_row_not_written ${steps} GROUP lengths
  FROM [[if (n & 1)]] TO [[if (n & 1 && n < 4)]])
sattn_defect(small_weights_of_a_chunk_kept ${steps} GROUP score-sizes
  FROM [[_mm256_and_ps(p, _mm256_cmp_ps(p, least, _CMP_GE_OQ));]] TO [[p;]])
sattn_defect(base_of_the_row_before ${runs} GROUP rows
  FROM [[for (int r = 0; r < ROWS; ++r, row_of += n) {]]
  TO [[for (int r = 0; r < ROWS; ++r, row_of += (n + LANES - 1) / LANES * LANES) {]])
sattn_defect(sum_runs_into_the_next_row ${runs} GROUP rows
  FROM [[flat_add(part, p + j, n, stop - j);]] TO [[flat_add(part, p + j, n, stop + 1 - j);]])
sattn_defect(two_rows_swapped_in_the_maximum ${runs} GROUP rows
  FROM [[return _mm256_max_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));]]
  TO [[return _mm256_max_ps(_mm256_shuffle_ps(pair[1], pair[0], 0x88),
                         _mm256_shuffle_ps(pair[1], pair[0], 0xdd));]])
sattn_defect(alibi_ignored ${runs} GROUP alibi
  FROM [[if (args->visible.alibi_slopes)]] TO [[if (!args)]])
sattn_defect(alibi_of_the_other_sign ${steps} GROUP alibi
  FROM [[return _mm256_fmadd_ps(]] TO [[return _mm256_fnmadd_ps(]])
sattn_defect(distance_with_its_sign ${steps} GROUP alibi
  FROM [[_mm256_andnot_ps(_mm256_set1_ps(-0.0f), ahead)]] TO [[ahead]])
sattn_defect(alibi_of_the_first_vector ${steps} GROUP alibi
  FROM [[_mm256_add_ps(lane, _mm256_set1_ps((float)(u * LANES)));]]
  TO [[_mm256_add_ps(lane, _mm256_set1_ps((float)(u * 0)));]])
sattn_defect(alibi_of_the_next_key ${steps} GROUP alibi
  FROM [[(float)(int)(row.position - j)]] TO [[(float)(int)(row.position - j - 1)]])
sattn_defect(whole_vectors_without_alibi ${steps} GROUP alibi
  FROM [[sloped(s, row, j, u)]] TO [[s]])
sattn_defect(tail_without_alibi ${steps} GROUP alibi
  FROM [[sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0)]]
  TO [[load_raw(row, cut, cut->tail)]])

set(turns KERNELS sattn_softmax_f32_avx2 FILE kernels/softmax/softmax_turn_avx2.h)
sattn_defect(turn_without_the_tail_of_the_maximum ${turns} GROUP keys
  FROM [[sums.top = raise(sums.top, _mm256_loadu_ps(t.next + last));]] TO [[(void)last;]])
sattn_defect(turn_with_the_tail_not_turned_back ${turns} GROUP keys
  FROM [[turned_back(p, whole - last, t.n - whole)]] TO [[p]])
sattn_defect(turn_with_the_last_block_only ${turns} GROUP lengths
  FROM [[sums->sum = _mm256_add_ps(sums->sum, sums->part);]] TO [[sums->sum = sums->part;]])
sattn_defect(turn_scales_the_tail_twice ${turns} GROUP keys
  FROM [[(t.done + last, done_tail);]] TO [[(t.done + last, _mm256_mul_ps(done_tail, _mm256_set1_ps(t.factor)));]])

# ---- NEON
set(steps KERNELS sattn_softmax_f32_neon FILE kernels/softmax/softmax_rows_neon.h)
set(runs KERNELS sattn_softmax_f32_neon FILE kernels/softmax/softmax_f32_neon.c)

sattn_defect(mask_of_the_next_key ${steps} GROUP masks
  FROM [[memcpy(&bytes, row.mask_bool + j, sizeof bytes);]]
  TO [[memcpy(&bytes, row.mask_bool + j, sizeof bytes);
    bytes = bytes >> 8 | bytes << 24;]])
sattn_defect(hidden_score_stays_nan ${steps} GROUP hidden-garbage
  FROM [[return vbslq_f32(vceqq_f32(bias, lowest), lowest, vaddq_f32(s, bias));]]
  TO [[return vaddq_f32(s, bias);]])
sattn_defect(key_behind_the_last_counts ${steps} GROUP causal
  FROM [[const bool exists = key >= cut.begin && key < cut.end;]]
  TO [[const bool exists = key >= cut.begin && key <= cut.end;]])
sattn_defect(tail_left_out_of_the_maximum ${steps} GROUP keys
  FROM [[top[1] = raise(top[1], load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask));]]
  TO [[;]])
sattn_defect(fourth_maximum_dropped ${steps} GROUP lengths
  FROM [[vmaxnmq_f32(top[2], top[3])]] TO [[vmaxnmq_f32(top[2], top[2])]])
sattn_defect(tail_not_turned_back ${steps} GROUP keys
  FROM [[turned_back(p, cut.body_end - cut.tail)]] TO [[p]])
sattn_defect(sum_of_the_last_block_only ${steps} GROUP lengths
  FROM [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = vaddq_f32(sum, part);]]
  TO [[    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = part;]])
sattn_defect(third_weight_of_a_short_row_not_written FILE kernels/vec/vec_neon.h GROUP lengths
  KERNELS sattn_softmax_f32_neon
  FROM [[if (n > 2)
        vst1q]]
  TO [[if (n > 3)
        vst1q]])
sattn_defect(small_weights_of_a_chunk_kept ${steps} GROUP score-sizes
  FROM [[vandq_u32(vreinterpretq_u32_f32(p), vcgeq_f32(p, least));]]
  TO [[vreinterpretq_u32_f32(p);]])
sattn_defect(base_of_the_row_before ${runs} GROUP rows
  FROM [[for (int r = 0; r < ROWS; ++r, row_of += n) {]]
  TO [[for (int r = 0; r < ROWS; ++r, row_of += (n + LANES - 1) / LANES * LANES) {]])
sattn_defect(sum_runs_into_the_next_row ${runs} GROUP rows
  FROM [[flat_add(part, p + j, n, n - j);]] TO [[flat_add(part, p + j, n, n + 1 - j);]])
sattn_defect(two_rows_swapped_in_the_maximum ${runs} GROUP rows
  FROM [[return vpmaxq_f32(vpmaxq_f32(rows[0], rows[1]), vpmaxq_f32(rows[2], rows[3]));]]
  TO [[return vpmaxq_f32(vpmaxq_f32(rows[0], rows[2]), vpmaxq_f32(rows[1], rows[3]));]])
sattn_defect(alibi_ignored ${runs} GROUP alibi
  FROM [[if (args->visible.alibi_slopes)]] TO [[if (!args)]])
sattn_defect(alibi_of_the_other_sign ${steps} GROUP alibi
  FROM [[return vfmaq_n_f32(]] TO [[return vfmsq_n_f32(]])
sattn_defect(distance_with_its_sign ${steps} GROUP alibi
  FROM [[vabdq_f32(position, key)]] TO [[vsubq_f32(position, key)]])
sattn_defect(alibi_of_the_first_vector ${steps} GROUP alibi
  FROM [[vaddq_f32(vld1q_f32(lane), vdupq_n_f32((float)(u * LANES)));]]
  TO [[vaddq_f32(vld1q_f32(lane), vdupq_n_f32((float)(u * 0)));]])
sattn_defect(alibi_of_the_next_key ${steps} GROUP alibi
  FROM [[(float)(int)(row.position - j)]] TO [[(float)(int)(row.position - j - 1)]])
sattn_defect(whole_vectors_without_alibi ${steps} GROUP alibi
  FROM [[sloped(s, row, j, u)]] TO [[s]])
sattn_defect(tail_without_alibi ${steps} GROUP alibi
  FROM [[sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0)]]
  TO [[load_raw(row, cut, cut->tail)]])
set(turns KERNELS sattn_softmax_f32_neon FILE kernels/softmax/softmax_turn_neon.h)
sattn_defect(turn_without_the_tail_of_the_maximum ${turns} GROUP keys
  FROM [[sums.top[0] = raise(sums.top[0], vld1q_f32(t.next + last));]] TO [[(void)last;]])
sattn_defect(turn_with_the_tail_not_turned_back ${turns} GROUP keys
  FROM [[turned_back(p, whole - last)]] TO [[p]])
sattn_defect(turn_with_the_last_block_only ${turns} GROUP lengths
  FROM [[sums->sum = vaddq_f32(sums->sum, sums->part);]] TO [[sums->sum = sums->part;]])
sattn_defect(turn_scales_the_tail_twice ${turns} GROUP keys
  FROM [[(t.done + last, done_tail);]] TO [[(t.done + last, vmulq_f32(done_tail, factor));]])
