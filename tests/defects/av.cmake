# SPDX-License-Identifier: MIT
# Defects of the av kernels.

set(scalar sattn_av_f32_scalar)
set(vector sattn_av_f32_avx2 sattn_av_f32_avx512 sattn_av_f32_neon)

# ---- av_strip.h, av_tiles.h
set(strip KERNELS ${vector} FILE kernels/av/av_strip.h)
set(tiles KERNELS ${vector} FILE kernels/av/av_tiles.h)

sattn_defect(weights_of_the_first_head ${strip} GROUP groups
  FROM [[a->p + g * a->p_group_stride + i * a->p_stride;]] TO [[a->p + i * a->p_stride;]])
sattn_defect(output_row_stride_ignored ${strip} GROUP layouts
  FROM [[a->o + g * a->o_group_stride + i * a->o_stride;]]
  TO [[a->o + g * a->o_group_stride + i * a->d_v;]])
sattn_defect(v_row_stride_ignored ${tiles} GROUP layouts
  FROM [[.v = a->v + block.begin * a->v_stride,
                          .v_stride = a->v_stride,]]
  TO [[.v = a->v + block.begin * a->v_stride,
                          .v_stride = a->d_v,]])
sattn_defect(head_of_next_strip ${strip} GROUP groups
  FROM [[int64_t g = first % a->n_group;]] TO [[int64_t g = 0;]])
sattn_defect(block_before_overwritten ${tiles} GROUP keys
  FROM [[.p = s->p + first_row,]] TO [[.is_first = true, .p = s->p + first_row,]])
sattn_defect(last_block_missing ${tiles} GROUP tiles
  FROM [[j < piece.end;) {]]
  TO [[j < piece.end && (j == piece.begin || j + 1 < piece.end);) {]])
sattn_defect(last_piece_missing ${tiles} GROUP spans
  FROM [[j < s->some.end;) {]]
  TO [[j < s->some.end && (j == s->some.begin || j + piece_keys < s->some.end);) {]])
sattn_defect(pieces_from_the_first_key_of_the_row ${tiles} NATIVE GROUP spans
  FROM [[(j / piece_keys + 1) * piece_keys;]] TO [[j + piece_keys;]])
sattn_defect(weights_from_the_start_of_the_row ${tiles} GROUP keys
  FROM [[.p_at = block.begin,]] TO [[.p_at = 0,]])
sattn_defect(limits_of_the_last_row_for_all ${strip} GROUP causal
  FROM [[s->all.end = keys.end < s->all.end ? keys.end : s->all.end;]]
  TO [[s->all.end = keys.end;]])
sattn_defect(keys_of_the_first_row_for_the_tile ${tiles} GROUP causal
  FROM [[keys.end = row.end > keys.end ? row.end : keys.end;]]
  TO [[keys.end = keys.end > block.begin ? keys.end : row.end;]])
sattn_defect(window_begin_ignored ${tiles} GROUP windows
  FROM [[from < 0 ? 0 : from > n ? n : (int)from;]] TO [[0;]])
sattn_defect(hidden_by_broadcast_ignored ${strip} GROUP masks
  FROM [[return mask_bool ? *mask_bool == 0 : mask_add && *mask_add == -INFINITY;]]
  TO [[return mask_bool ? *mask_bool == 0 : false;]])
sattn_defect(row_without_keys_not_written ${tiles} GROUP masks
  FROM [[(size_t)a->d_v * sizeof *s->o[r]);]] TO [[(size_t)(a->d_v - 1) * sizeof *s->o[r]);]])
sattn_defect(first_span_overwritten ${tiles} GROUP spans
  FROM [[s->to[row] = parts + row * stride;]]
  TO [[s->to[row] = row == 0 ? s->o[row] : parts + row * stride;]])
sattn_defect(parts_of_neighbours_overlap ${tiles} GROUP spans
  FROM [[s->to[row] = parts + row * stride;]] TO [[s->to[row] = parts + row * (stride / 2);]])
sattn_defect(parts_not_cleared ${tiles} GROUP spans
  FROM [[memset(s->to[row], 0, row_bytes);]] TO [[memset(s->to[row], 0x3f, row_bytes);]])
sattn_defect(output_of_a_late_row_not_cleared ${tiles} GROUP spans
  FROM [[if (!s->is_stored[r])]] TO [[if (row < 0)]])
sattn_defect(last_span_not_added ${tiles} GROUP spans
  FROM [[    if (s->has_parts)
        av_strip_carry(a, s);
    for (int r = 0;]]
  TO [[    for (int r = 0;]])
sattn_defect(span_not_added ${tiles} GROUP spans
  FROM [[            if (s->has_parts)
                av_strip_carry(a, s);
            else
                av_strip_split(a, ops, s);]]
  TO [[            av_strip_split(a, ops, s);]])
sattn_defect(spans_from_the_first_key_of_the_row ${tiles} NATIVE GROUP spans
  FROM [[if (j % AV_SPAN == 0 && j > s->some.begin) {]]
  TO [[if ((j - s->some.begin) / SATTN_KEY_BLOCK % 64 == 0 && j > s->some.begin) {]])
sattn_defect(last_row_not_carried ${tiles} GROUP spans
  FROM [[    for (int r = 0; r < s->n_rows; ++r)
        av_carry(]]
  TO [[    for (int r = 0; r < s->n_rows - (s->n_rows > 1); ++r)
        av_carry(]])

# ---- av_span.h
set(span KERNELS ${scalar} ${vector} FILE kernels/av/av_span.h)

sattn_defect(part_added_twice ${span} GROUP spans
  FROM [[part[y] = isnan(lost) ? 0.0f : lost;]] TO [[(void)lost;]])
sattn_defect(rounding_error_dropped ${span} NATIVE GROUP long-rows
  FROM [[part[y] = isnan(lost) ? 0.0f : lost;]] TO [[part[y] = 0.0f * lost;]])
sattn_defect(rounding_error_of_the_other_sign ${span} NATIVE GROUP long-rows
  FROM [[part[y] = isnan(lost) ? 0.0f : lost;]] TO [[part[y] = isnan(lost) ? 0.0f : -lost;]])
sattn_defect(infinity_becomes_nan_in_the_next_span ${span} GROUP spans
  FROM [[part[y] = isnan(lost) ? 0.0f : lost;]] TO [[part[y] = lost;]])
sattn_defect(last_column_not_carried ${span} GROUP spans
  FROM [[for (int64_t y = 0; y < d_v; ++y) {]] TO [[for (int64_t y = 0; y < d_v - (d_v > 1); ++y) {]])

# ---- scalar
set(plain KERNELS ${scalar} FILE kernels/av/av_plain.h)

sattn_defect(weights_of_the_first_head ${plain} GROUP groups
  FROM [[a->p + g * a->p_group_stride + i * a->p_stride;]] TO [[a->p + i * a->p_stride;]])
sattn_defect(head_of_next_strip ${plain} GROUP groups
  FROM [[(first_row + r) % a->n_group;]] TO [[r % a->n_group;]])
sattn_defect(v_row_stride_ignored ${plain} GROUP layouts
  FROM [[a->v + first * a->v_stride, a->v_stride, end - first, a->d_v);]]
  TO [[a->v + first * a->v_stride, a->d_v, end - first, a->d_v);]])
sattn_defect(mask_polarity ${plain} GROUP masks
  FROM [[to[j] = mask[j] != 0 ? p[j] : 0.0f;]] TO [[to[j] = mask[j] == 0 ? p[j] : 0.0f;]])
sattn_defect(hidden_weight_counts ${plain} GROUP masks
  FROM [[to[j] = mask[j] != -INFINITY ? p[j] : 0.0f;]] TO [[to[j] = p[j];]])
sattn_defect(mask_of_the_block_before ${plain} GROUP masks
  FROM [[row->mask_bool + first * stride, stride,]]
  TO [[row->mask_bool + (first > 0 ? first - 1 : 0) * stride, stride,]])
sattn_defect(tail_of_keys_dropped ${plain} GROUP keys
  FROM [[for (; j < n; ++j, v += v_stride) {]] TO [[for (; j + 1 < n; ++j, v += v_stride) {]])
sattn_defect(value_of_the_key_before ${plain} GROUP keys
  FROM [[sum = plain_multiply_add(p2, v2[y], sum);]]
  TO [[sum = plain_multiply_add(p2, v1[y], sum);]])
sattn_defect(last_column_dropped ${plain} GROUP features
  FROM [[for (int64_t y = 0; y < d_v; ++y)
        o[y] += part[y];]]
  TO [[for (int64_t y = 0; y + 1 < d_v; ++y)
        o[y] += part[y];]])
sattn_defect(output_not_cleared ${plain} GROUP tiles
  FROM [[row->o[y] = 0.0f;]] TO [[row->o[y] += 0.0f;]])
sattn_defect(first_key_of_the_window_dropped ${plain} GROUP windows
  FROM [[row->keys.begin > block.begin ? row->keys.begin : block.begin;]]
  TO [[row->keys.begin > block.begin ? row->keys.begin + 1 : block.begin;]])
sattn_defect(block_not_summed_from_zero ${plain} NATIVE GROUP long-rows
  FROM [[        part[y] = 0.0f;
    int64_t j = 0;]]
  TO [[        part[y] = o[y], o[y] = 0.0f;
    int64_t j = 0;]])
sattn_defect(parts_not_cleared ${plain} GROUP spans
  FROM [[rows[r].to[y] = 0.0f;]] TO [[rows[r].to[y] = 1.0f;]])
sattn_defect(parts_of_neighbours_overlap ${plain} GROUP spans
  FROM [[rows[r].to = parts + r * stride;]] TO [[rows[r].to = parts + r * (stride / 2);]])
sattn_defect(span_not_added ${plain} GROUP spans
  FROM [[            if (has_parts)
                plain_carry(a, rows, n_rows);
            else
                plain_split(a, rows, n_rows);]]
  TO [[            plain_split(a, rows, n_rows);]])
sattn_defect(last_span_not_added ${plain} GROUP spans
  FROM [[    if (has_parts)
        plain_carry(a, rows, n_rows);
}]]
  TO [[}]])

# ---- AVX-512
set(tile KERNELS sattn_av_f32_avx512 FILE kernels/av/av_f32_avx512.c)

sattn_defect(column_behind_the_last_read ${tile} GROUP features
  FROM [[is_masked && y + 1 == n_vecs ? vec_load_tail_f32x16(v + y * LANES, last)]]
  TO [[is_masked && y + 2 == n_vecs ? vec_load_tail_f32x16(v + y * LANES, last)]])
sattn_defect(column_behind_the_last_written ${tile} GROUP features
  FROM [[is_masked && y + 1 == n_vecs ? last : (__mmask16)0xffff;]] TO [[(__mmask16)0xffff;]])
sattn_defect(tail_of_columns_dropped ${tile} GROUP tiles
  FROM [[if (n_most >= 3 && n_vecs == 3)]] TO [[if (n_most >= 4 && n_vecs == 3)]])
sattn_defect(output_of_the_last_block_only ${tile} GROUP keys
  FROM [[tile->is_first ? 0 : lanes]] TO [[0]])
sattn_defect(weight_of_another_row ${tile} GROUP rows
  FROM [[_mm512_fmadd_ps(p_f32x16[r], v_f32x16, sum[r * n_vecs + y]);]]
  TO [[_mm512_fmadd_ps(p_f32x16[r > 0 ? r - 1 : 0], v_f32x16, sum[r * n_vecs + y]);]])
sattn_defect(tail_of_rows_dropped ${tile} GROUP rows
  FROM [[case 3:
        three_rows(tile);]]
  TO [[case 3:
        two_rows(tile);]])
sattn_defect(last_key_dropped ${tile} GROUP keys
  FROM [[j < n_keys; ++j, v += v_stride)]] TO [[j < n_keys - (n_keys > 64); ++j, v += v_stride)]])
sattn_defect(second_key_of_a_pair_by_the_first_weight ${tile} GROUP weights
  FROM [[key(sum, p, j + 1, v,]] TO [[key(sum, p, j, v,]])
sattn_defect(keys_of_a_pair_the_other_way_round_for_six_rows ${tile} GROUP rows-alone
  FROM [[            key(sum, p, j, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
            v += v_stride;
            key(sum, p, j + 1, v, last,]]
  TO [[            key(sum, p, n_rows == 6 ? j + 1 : j, n_rows == 6 ? v + v_stride : v, last, ahead, n_rows, n_vecs,
                is_masked, fetch);
            v += v_stride;
            key(sum, p, n_rows == 6 ? j : j + 1, n_rows == 6 ? v - v_stride : v, last,]])
sattn_defect(one_row_of_six_short ${tile} GROUP whole-columns
  FROM [[columns(tile, column, 6, MANY_VECS, false, PREFETCH_NOTHING);]]
  TO [[columns(tile, column, 5, MANY_VECS, false, PREFETCH_NOTHING);]])
sattn_defect(one_row_of_six_short_before_others ${tile} GROUP whole-columns
  FROM [[columns(tile, column, 6, MANY_VECS, false, PREFETCH_WEIGHTS);]]
  TO [[columns(tile, column, 5, MANY_VECS, false, PREFETCH_WEIGHTS);]])
sattn_defect(key_at_the_limit_counts ${tile} GROUP causal
  FROM [[_mm512_mask_cmplt_epi32_mask(_mm512_cmpge]]
  TO [[_mm512_mask_cmple_epi32_mask(_mm512_cmpge]])
sattn_defect(mask_polarity ${tile} GROUP masks
  FROM [[return _mm_test_epi8_mask(bytes, bytes);]]
  TO [[return lanes & _mm_testn_epi8_mask(bytes, bytes);]])
sattn_defect(hidden_weight_counts ${tile} GROUP masks
  FROM [[_mm512_set1_ps(-INFINITY), _CMP_NEQ_UQ);]]
  TO [[_mm512_set1_ps(-INFINITY), _CMP_TRUE_UQ);]])

# ---- AVX2
set(tile KERNELS sattn_av_f32_avx2 FILE kernels/av/av_tile_avx2.h)
set(wide KERNELS sattn_av_f32_avx2 FILE kernels/av/av_f32_avx2.c)
set(copy KERNELS sattn_av_f32_avx2 FILE kernels/av/av_copy_avx2.h)

sattn_defect(column_behind_the_last_read ${tile} GROUP features
  FROM [[shape.is_masked && y + 1 == shape.n_vecs ? vec_load_tail_f32x8(from, last)]]
  TO [[shape.is_masked && y + 2 == shape.n_vecs ? vec_load_tail_f32x8(from, last)]])
sattn_defect(column_behind_the_last_written ${tile} GROUP features
  FROM [[vec_store_tail_f32x8(o, lanes, sum);]] TO [[_mm256_storeu_ps(o, sum);]])
sattn_defect(tail_of_columns_dropped ${tile} GROUP features
  FROM [[if (n_most >= 3 && n_vecs == 3) {]] TO [[if (n_most >= 4 && n_vecs == 3) {]])
sattn_defect(output_of_the_last_block_only ${tile} GROUP keys
  FROM [[tile->is_first ? 0 : -1]] TO [[0]])
sattn_defect(weight_of_another_row ${tile} GROUP rows
  FROM [[_mm256_fmadd_ps(p_f32x8[r], v_f32x8,]]
  TO [[_mm256_fmadd_ps(p_f32x8[r > 0 ? r - 1 : 0], v_f32x8,]])
sattn_defect(tail_of_keys_dropped_in_wide_rows ${wide} GROUP features
  FROM [[for (; j < tile->n_keys; ++j)]] TO [[for (; j + 1 < tile->n_keys; ++j)]])
sattn_defect(sums_of_the_block_before ${wide} GROUP features
  FROM [[_mm256_storeu_ps(tile->sum + y, _mm256_setzero_ps());]] TO [[;]])
sattn_defect(tail_of_rows_dropped ${wide} GROUP rows
  FROM [[case 3:
        three_rows(tile);]]
  TO [[case 3:
        two_rows(tile);]])
sattn_defect(key_at_the_limit_counts ${copy} GROUP causal
  FROM [[_mm256_set1_epi32(row->end)]] TO [[_mm256_set1_epi32(row->end + 1)]])
sattn_defect(mask_read_beyond_its_end ${copy} GROUP masks
  FROM [[if (n >= AV_KEYS)]] TO [[if (n >= AV_KEYS / 2)]])
sattn_defect(mask_polarity ${copy} GROUP masks
  FROM [[return _mm256_andnot_si256(_mm256_cmpeq_epi32(mask, _mm256_setzero_si256()), lanes);]]
  TO [[return _mm256_and_si256(_mm256_cmpeq_epi32(mask, _mm256_setzero_si256()), lanes);]])

# ---- NEON
set(tile KERNELS sattn_av_f32_neon FILE kernels/av/av_f32_neon.c)

sattn_defect(column_behind_the_last_read ${tile} GROUP features
  FROM [[return shape.is_partial ? vec_load_tail_f32x4(from, n_tail) : vld1q_f32(from);]]
  TO [[return vld1q_f32(from);]])
sattn_defect(third_column_of_a_tail_not_stored FILE kernels/vec/vec_neon.h GROUP features
  KERNELS sattn_av_f32_neon
  FROM [[if (n > 2)
        vst1q]]
  TO [[if (n > 3)
        vst1q]])
sattn_defect(tail_of_columns_dropped ${tile} GROUP features
  FROM [[if (whole < tile->d_v)]] TO [[if (whole == 0)]])
sattn_defect(output_of_the_last_block_only ${tile} GROUP keys
  FROM [[tile->is_first ? 0 : UINT32_MAX]] TO [[0]])
sattn_defect(weight_of_another_row ${tile} GROUP rows
  FROM [[vec_fma_lane_f32x4(sum[r * shape.n_vecs + y], v_vec, p[r], lane);]]
  TO [[vec_fma_lane_f32x4(sum[r * shape.n_vecs + y], v_vec, p[r > 0 ? r - 1 : 0], lane);]])
sattn_defect(weight_of_another_key ${tile} GROUP keys
  FROM [[key(sum, p_vec, 2, v + 2 * v_stride, n_tail, ahead, shape);]]
  TO [[key(sum, p_vec, 1, v + 2 * v_stride, n_tail, ahead, shape);]])
sattn_defect(tail_of_keys_dropped ${tile} GROUP keys
  FROM [[if (n_keys - j > 2)]] TO [[if (n_keys - j > 3)]])
sattn_defect(tail_of_rows_dropped ${tile} GROUP rows
  FROM [[case 3:
        three_rows(tile);]]
  TO [[case 3:
        two_rows(tile);]])
sattn_defect(key_at_the_limit_counts ${tile} GROUP causal
  FROM [[vcltq_s32(index, vdupq_n_s32(row->end))]] TO [[vcleq_s32(index, vdupq_n_s32(row->end))]])
sattn_defect(mask_polarity ${tile} GROUP masks
  FROM [[return vandq_u32(lanes, vtstq_u32(wide, wide));]]
  TO [[return vbicq_u32(lanes, vtstq_u32(wide, wide));]])
sattn_defect(mask_tail_ignored ${tile} GROUP masks
  FROM [[j >= row->end || (row->mask_bool && row->mask_bool[j] == 0))]] TO [[j >= row->end)]])
