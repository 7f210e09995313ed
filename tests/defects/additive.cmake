# SPDX-License-Identifier: MIT
# Defects of the additive kernels.

set(scalar sattn_additive_f32_scalar)
set(avx512 sattn_additive_f32_avx512 sattn_additive_f32_avx512_fast)
set(avx2 sattn_additive_f32_avx2 sattn_additive_f32_avx2_fast)
set(neon sattn_additive_f32_neon sattn_additive_f32_neon_fast)
set(tiled ${avx512} ${avx2} ${neon})

# ---- additive_tiles.h
set(tiles KERNELS ${tiled} FILE kernels/additive/additive_tiles.h)

sattn_defect(key_behind_the_last_read ${tiles} GROUP keys
  FROM [[(r < tile.n_keys ? a->k_stride : 0);]] TO [[a->k_stride;]])
sattn_defect(rest_of_keys_dropped ${tiles} GROUP keys
  FROM [[j < a->j1; j += ADDITIVE_KEYS) {]]
  TO [[j < a->j1 && (j == a->j0 || j + 1 < a->j1); j += ADDITIVE_KEYS) {]])
sattn_defect(k_row_stride_ignored ${tiles} GROUP layouts
  FROM [[tile.k[0] = a->k + j * a->k_stride;]] TO [[tile.k[0] = a->k + j * a->d;]])
sattn_defect(q_row_stride_ignored ${tiles} GROUP layouts
  FROM [[tile.q = a->q + i * a->q_stride;]] TO [[tile.q = a->q + i * a->d;]])
sattn_defect(score_row_stride_ignored ${tiles} GROUP layouts
  FROM [[tile.s = a->s + i * a->s_stride + j;]] TO [[tile.s = a->s + i * a->j1 + j;]])
sattn_defect(scores_of_the_range_from_zero ${tiles} GROUP ranges
  FROM [[tile.s = a->s + i * a->s_stride + j;]] TO [[tile.s = a->s + i * a->s_stride + (j - a->j0);]])
sattn_defect(rows_counted_from_zero ${tiles} GROUP ranges
  FROM [[for (int64_t i = a->i0; i < a->i1; ++i) {]] TO [[for (int64_t i = 0; i < a->i1; ++i) {]])

# ---- scalar
set(plain KERNELS ${scalar} FILE kernels/additive/additive_plain.h)

sattn_defect(v_left_out ${plain} GROUP example
  FROM [[plain_multiply_add(v[x], plain_tanh(q[x] + k[x]), score);]]
  TO [[score + plain_tanh(q[x] + k[x]);]])
sattn_defect(tanh_of_the_product ${plain} GROUP example
  FROM [[plain_tanh(q[x] + k[x])]] TO [[plain_tanh(q[x] * k[x])]])
sattn_defect(tail_of_features_dropped ${plain} GROUP features
  FROM [[for (int64_t x = 0; x < d; ++x)]] TO [[for (int64_t x = 0; x < (d > 4 ? d - d % 4 : d); ++x)]])
sattn_defect(last_block_missing ${plain} GROUP tiles
  FROM [[first < a->j1; first += SATTN_KEY_BLOCK) {]]
  TO [[first < a->j1 && (first == a->j0 || first + 1 < a->j1); first += SATTN_KEY_BLOCK) {]])
sattn_defect(tanh_limit_too_early KERNELS ${scalar} FILE kernels/vec/tanh_poly.h GROUP infinite-sums
  FROM [[#define SATTN_TANH_LIMIT  10.0f]] TO [[#define SATTN_TANH_LIMIT  8.0f]])

# ---- tanh by pieces
set(pieces KERNELS ${avx512} ${avx2} FILE kernels/vec/tanh_pieces.h)

sattn_defect(limit_too_early ${pieces} GROUP infinite-sums
  FROM [[#define SATTN_PIECES_LIMIT  9.2f]] TO [[#define SATTN_PIECES_LIMIT  8.0f]])
sattn_defect(limit_beyond_the_last_piece ${pieces} GROUP infinite-sums
  FROM [[#define SATTN_PIECES_LIMIT  9.2f]] TO [[#define SATTN_PIECES_LIMIT  9.4f]])
sattn_defect(pieces_moved ${pieces} GROUP lecture
  FROM [[#define SATTN_PIECES_SLOPE  3.25f]] TO [[#define SATTN_PIECES_SLOPE  2.5f]])

# ---- AVX-512
set(tile KERNELS ${avx512} FILE kernels/additive/additive_tile_avx512.h)
set(table KERNELS ${avx512} FILE kernels/vec/tanh_pieces_avx512.h)

sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[if (x < tile->d)]] TO [[if (x < tile->d && x == 0)]])
sattn_defect(feature_behind_the_last_read ${tile} GROUP features
  FROM [[vec_tail_m16(tile->d - x), tanh_each);]] TO [[vec_tail_m16(tile->d - x + 1), tanh_each);]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[(__mmask8)vec_tail_m16(tile->n_keys)]] TO [[(__mmask8)vec_tail_m16(tile->n_keys + 1)]])
sattn_defect(two_keys_swapped ${tile} GROUP keys
  FROM [[_mm512_add_ps(_mm512_shuffle_f32x4(half[0], half[1], 0x88),]]
  TO [[_mm512_add_ps(_mm512_shuffle_f32x4(half[1], half[0], 0x88),]])
sattn_defect(product_rounded_by_itself ${tile} GROUP chain
  FROM [[_mm512_fmadd_ps(v, z[j], sums[j]);]] TO [[_mm512_add_ps(_mm512_mul_ps(v, z[j]), sums[j]);]])
sattn_defect(nan_lost ${table} GROUP infinite-sums
  FROM [[_mm512_min_ps(_mm512_set1_ps(SATTN_PIECES_LIMIT), _mm512_abs_ps(x[u]));]]
  TO [[_mm512_min_ps(_mm512_abs_ps(x[u]), _mm512_set1_ps(SATTN_PIECES_LIMIT));]])
sattn_defect(sign_lost ${table} GROUP example
  FROM [[_mm512_or_ps(size, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));]] TO [[size;]])
sattn_defect(small_sums_not_exact KERNELS sattn_additive_f32_avx512
  FILE kernels/vec/tanh_pieces_avx512.h GROUP features
  FROM [[_mm512_min_ps(vec_pieces16_f32x16(table->base, piece[u]), a[u]);]]
  TO [[_mm512_min_ps(vec_pieces16_f32x16(table->base, piece[u]), _mm512_mul_ps(a[u], _mm512_set1_ps(1.00001f)));]])
sattn_defect(coefficient_off_in_its_last_digits KERNELS sattn_additive_f32_avx512
  FILE kernels/vec/tanh_pieces_avx512.h GROUP lanes
  FROM [[0x1.3e1c3ep-1f]] TO [[0x1.3e1cfep-1f]])
sattn_defect(fast_coefficient_off_in_its_last_digits KERNELS sattn_additive_f32_avx512_fast
  FILE kernels/vec/tanh_pieces_avx512.h GROUP lanes
  FROM [[0x1.0ce76cp-1f]] TO [[0x1.0ce7fcp-1f]])
# ---- AVX2
set(tile KERNELS ${avx2} FILE kernels/additive/additive_tile_avx2.h)
set(table KERNELS ${avx2} FILE kernels/vec/tanh_pieces_avx2.h)

sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[if (x < tile->d)]] TO [[if (x < tile->d && x == 0)]])
sattn_defect(feature_behind_the_last_read ${tile} GROUP features
  FROM [[vec_tail_m8(tile->d - x);]] TO [[vec_tail_m8(tile->d - x + 1);]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[_mm256_castsi256_si128(vec_tail_m8(tile->n_keys))]]
  TO [[_mm256_castsi256_si128(vec_tail_m8(tile->n_keys + 1))]])
sattn_defect(two_keys_swapped ${tile} GROUP keys
  FROM [[_mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),]]
  TO [[_mm256_add_ps(_mm256_shuffle_ps(pair[1], pair[0], 0x88),]])
sattn_defect(product_of_the_last_features_rounded_by_itself ${tile} GROUP chain
  FROM [[        const __m256 z = _mm256_add_ps(q, vec_load_tail_f32x8(tile->k[j] + x, lanes));
        sums[j] = _mm256_fmadd_ps(v, tanh_of(z), sums[j]);]]
  TO [[        const __m256 z = _mm256_add_ps(q, vec_load_tail_f32x8(tile->k[j] + x, lanes));
        sums[j] = _mm256_add_ps(_mm256_mul_ps(v, tanh_of(z)), sums[j]);]])
sattn_defect(product_rounded_by_itself ${tile} GROUP chain
  FROM [[            z = additive_behind_f32x8(z, &sums[j - 1]);
        sums[j] = _mm256_fmadd_ps(v, tanh_of(z), sums[j]);]]
  TO [[            z = additive_behind_f32x8(z, &sums[j - 1]);
        sums[j] = _mm256_add_ps(_mm256_mul_ps(v, tanh_of(z)), sums[j]);]])
sattn_defect(pieces_found_one_bit_off ${table} GROUP lecture
  FROM [[_mm256_srli_epi32(_mm256_castps_si256(b), 22);]] TO [[_mm256_srli_epi32(_mm256_castps_si256(b), 21);]])
sattn_defect(coefficient_off_in_its_last_digits KERNELS sattn_additive_f32_avx2
  FILE kernels/vec/tanh_pieces_avx2.h GROUP lanes
  FROM [[0x1.3e1b7ap-1f]] TO [[0x1.3e1bfap-1f]])
sattn_defect(fast_coefficient_off_in_its_last_digits KERNELS sattn_additive_f32_avx2_fast
  FILE kernels/vec/tanh_pieces_avx2.h GROUP lanes
  FROM [[0x1.e24392p-2f]] TO [[0x1.e243f2p-2f]])
# ---- NEON
set(tile KERNELS ${neon} FILE kernels/additive/additive_tile_neon.h)
set(fast KERNELS sattn_additive_f32_neon_fast FILE kernels/vec/tanh_fast_neon.h)

sattn_defect(tail_of_features_dropped ${tile} GROUP features
  FROM [[if (x < tile->d)]] TO [[if (x < tile->d && x == 0)]])
sattn_defect(feature_behind_the_last_read ${tile} GROUP features
  FROM [[additive_step_f32x4(sums, tile, x, tile->d - x, tanh_of);]]
  TO [[additive_step_f32x4(sums, tile, x, tile->d - x + 1, tanh_of);]])
sattn_defect(one_score_too_many_written ${tile} GROUP keys
  FROM [[vec_hsum_rows_f32x4(sums), tile->n_keys);]] TO [[vec_hsum_rows_f32x4(sums), tile->n_keys + 1);]])
sattn_defect(product_rounded_by_itself ${tile} GROUP chain
  FROM [[vfmaq_f32(sums[j], vec_load_tail_f32x4(tile->v + x, n), tanh_z);]]
  TO [[vaddq_f32(sums[j], vmulq_f32(vec_load_tail_f32x4(tile->v + x, n), tanh_z));]])
sattn_defect(power_of_two_left_out ${fast} GROUP lecture
  FROM [[vfmaq_f32(vsubq_f32(power, one), power, vmulq_f32(p, r));]]
  TO [[vfmaq_f32(vsubq_f32(power, one), one, vmulq_f32(p, r));]])
sattn_defect(sign_lost ${fast} GROUP example
  FROM [[return vbslq_f32(vdupq_n_u32(0x80000000u), x, size);]] TO [[return size;]])
sattn_defect(nan_lost ${fast} GROUP infinite-sums
  FROM [[vminq_f32(vabsq_f32(x),]] TO [[vminnmq_f32(vabsq_f32(x),]])
