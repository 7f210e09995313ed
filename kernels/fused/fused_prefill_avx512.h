/* SPDX-License-Identifier: MIT
 *
 * fused_prefill_avx512.h: the steps of fused_prefill.h that touch neither K nor V, in AVX-512:
 * packing Q, masks, softmax weights, storing O. They do not depend on how K and V are stored.
 *
 * A strip has 32 rows in two vectors. Scores are hidden by selecting -inf, never by adding it,
 * since a hidden score may be NaN. */
#ifndef SATTN_KERNELS_FUSED_PREFILL_AVX512_H
#define SATTN_KERNELS_FUSED_PREFILL_AVX512_H

#include "kernels/fused/fused_prefill.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    WIDTH = 2 * LANES,
};

/* Columns x .. x + 15 of one vector of rows: lane r of row x of `to` is scale * rows[r][x]. */
SATTN_INLINE void prefill_pack_tile(float *to, const float *const *rows, int64_t x, int64_t d,
                                    __m512 scale)
{
    const __mmask16 tail = vec_tail_m16(d - x);
    __m512 tile[16];
    SATTN_UNROLL(16)
    for (int r = 0; r < 16; ++r)
        tile[r] = _mm512_mul_ps(scale, vec_load_tail_f32x16(rows[r] + x, tail));
    vec_transpose_f32x16(tile);
    SATTN_UNROLL(16)
    for (int i = 0; i < 16; ++i)
        if (x + i < d)
            _mm512_store_ps(to + (x + i) * WIDTH, tile[i]);
}

static inline void prefill_pack(const fused_prefill_state *st, const fused_strip *strip,
                                float scale)
{
    for (int vec = 0; vec < st->n_vec; ++vec)
        for (int64_t x = 0; x < st->d; x += LANES)
            prefill_pack_tile(st->q_t + vec * LANES, strip->q + vec * LANES, x, st->d,
                              _mm512_set1_ps(scale));
}

static inline void prefill_slope(const fused_prefill_state *st, int n_keys)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const __m512 slope = _mm512_load_ps(st->slope + vec * LANES);
        const __m512 position = _mm512_load_ps(st->position + vec * LANES);
        float *s = st->s_t + vec * LANES;
        for (int j = 0; j < n_keys; ++j, s += WIDTH) {
            const __m512 key = _mm512_set1_ps((float)j);
            const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(position, key));
            _mm512_store_ps(s, _mm512_fmadd_ps(slope, distance, _mm512_load_ps(s)));
        }
    }
}

static inline void prefill_hide(const fused_prefill_state *st, int n_keys)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const __m512i begin = _mm512_load_si512(st->block_begin + vec * LANES);
        const __m512i end = _mm512_load_si512(st->block_end + vec * LANES);
        const int last_begin = _mm512_reduce_max_epi32(begin);
        for (int j = 0; j < last_begin; ++j) {
            const __mmask16 hidden = _mm512_cmpgt_epi32_mask(begin, _mm512_set1_epi32(j));
            _mm512_mask_store_ps(st->s_t + j * WIDTH + vec * LANES, hidden,
                                 _mm512_set1_ps(-INFINITY));
        }
        for (int j = _mm512_reduce_min_epi32(end); j < n_keys; ++j) {
            const __mmask16 hidden = _mm512_cmple_epi32_mask(end, _mm512_set1_epi32(j));
            _mm512_mask_store_ps(st->s_t + j * WIDTH + vec * LANES, hidden,
                                 _mm512_set1_ps(-INFINITY));
        }
    }
}

/* Adds the bias to one vector of scores, or hides them where it is -inf, whatever the score is. */
SATTN_INLINE void prefill_add_bias(float *s, __m512 bias)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    const __mmask16 visible = _mm512_cmp_ps_mask(bias, lowest, _CMP_NEQ_UQ);
    _mm512_store_ps(s, _mm512_mask_add_ps(lowest, visible, _mm512_load_ps(s), bias));
}

/* Bias of the keys in `keys` of one row, from element `at` of its mask on. An additive mask is as
 * large as the scores: what the next block needs of it is prefetched. */
SATTN_INLINE __m512 prefill_bias_keys(const fused_strip *strip, int r, int64_t at, __mmask16 keys)
{
    if (strip->mask_add[r]) {
        const uintptr_t next_block = (uintptr_t)(strip->mask_add[r] + at) + SATTN_KEY_BLOCK * 4;
        _mm_prefetch((const char *)next_block, _MM_HINT_T0);
        return vec_load_tail_f32x16(strip->mask_add[r] + at, keys);
    }
    const __m128i bytes = _mm_maskz_loadu_epi8(keys, strip->mask_bool[r] + at);
    return _mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), _mm_test_epi8_mask(bytes, bytes),
                              _mm512_setzero_ps());
}

static inline void prefill_bias_shared(const fused_prefill_state *st, const fused_strip *strip,
                                       const fused_block *block)
{
    for (int j = 0; j < block->n_keys; ++j) {
        const float value = fused_strip_bias(strip, 0, (block->first + j) * block->mask_key_stride);
        for (int vec = 0; vec < st->n_vec; ++vec)
            prefill_add_bias(st->s_t + j * WIDTH + vec * LANES, _mm512_set1_ps(value));
    }
}

static inline void prefill_bias_rows(const fused_prefill_state *st, const fused_strip *strip,
                                     const fused_block *block, int vec)
{
    for (int first = 0; first < block->n_keys; first += LANES) {
        const int64_t at = (block->first + first) * block->mask_key_stride;
        const int n = block->n_keys - first < LANES ? block->n_keys - first : LANES;
        __m512 tile[16];
        SATTN_UNROLL(16)
        for (int r = 0; r < 16; ++r)
            tile[r] = block->mask_key_stride
                          ? prefill_bias_keys(strip, vec * LANES + r, at, vec_tail_m16(n))
                          : _mm512_set1_ps(fused_strip_bias(strip, vec * LANES + r, 0));
        vec_transpose_f32x16(tile);
        SATTN_UNROLL(16)
        for (int i = 0; i < 16; ++i) {
            if (i >= n)
                break;
            prefill_add_bias(st->s_t + (first + i) * WIDTH + vec * LANES, tile[i]);
        }
    }
}

static inline void prefill_bias(const fused_prefill_state *st, const fused_strip *strip,
                                const fused_block *block)
{
    if (strip->mask_is_shared)
        prefill_bias_shared(st, strip, block);
    else
        for (int vec = 0; vec < st->n_vec; ++vec)
            prefill_bias_rows(st, strip, block, vec);
}

static inline void prefill_maximum(const fused_prefill_state *st, int n_keys)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        __m512 max = _mm512_set1_ps(-INFINITY);
        for (int j = 0; j < n_keys; ++j)
            max = _mm512_max_ps(_mm512_load_ps(st->s_t + j * WIDTH + vec * LANES), max);
        _mm512_store_ps(st->block_max + vec * LANES, max);
    }
}

/* Raises m where the block asks for it, rescales what was summed under the old one, and returns
 * what to subtract from the scores: m, or 0 while no score above -inf was met, since (-inf) -
 * (-inf) is NaN. */
SATTN_INLINE __m512 prefill_raise_max(const fused_prefill_state *st, int vec)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    float *const row_max = st->row_max + vec * LANES;
    float *const row_sum = st->row_sum + vec * LANES;
    const __m512 old = _mm512_load_ps(row_max);
    const __m512 block_max = _mm512_load_ps(st->block_max + vec * LANES);
    const __mmask16 raised = _mm512_cmp_ps_mask(_mm512_sub_ps(block_max, old),
                                                _mm512_set1_ps(SATTN_LAZY_THRESHOLD), _CMP_GT_OQ);
    const __m512 max = _mm512_mask_mov_ps(old, raised, block_max);
    const __mmask16 rescaled = _mm512_mask_cmp_ps_mask(raised, old, lowest, _CMP_GT_OQ);
    if (raised)
        _mm512_store_ps(row_max, max);
    if (rescaled) {
        const __m512 factor = vec_exp_f32x16(_mm512_sub_ps(old, max));
        const __m512 sum = _mm512_load_ps(row_sum);
        _mm512_store_ps(row_sum, _mm512_mask_mul_ps(sum, rescaled, sum, factor));
        for (int64_t y = 0; y < st->d_v; ++y) {
            float *const o = st->o_t + y * WIDTH + vec * LANES;
            const __m512 value = _mm512_load_ps(o);
            const __m512 product = _mm512_mask_mul_ps(value, rescaled, value, factor);
            _mm512_store_ps(o, _mm512_add_ps(product, _mm512_setzero_ps())); /* no -0 */
        }
    }
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(max, lowest, _CMP_NEQ_UQ), max);
}

/* Weights of n_vec vectors of rows at each of n_keys keys, added to sum[key][vec]. All are loaded
 * before the first is stored: the loads then do not wait for the stores in between. */
SATTN_INLINE void prefill_weigh_keys(float *s, const __m512 base[2], __m512 sum[2][2], int n_keys,
                                     int n_vec)
{
    __m512 p[4];
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i)
        p[i] = _mm512_sub_ps(_mm512_load_ps(s + i / n_vec * WIDTH + i % n_vec * LANES),
                             base[i % n_vec]);
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i)
        p[i] = vec_exp_f32x16(p[i]);
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i) {
        _mm512_store_ps(s + i / n_vec * WIDTH + i % n_vec * LANES, p[i]);
        sum[i / n_vec][i % n_vec] = _mm512_add_ps(sum[i / n_vec][i % n_vec], p[i]);
    }
}

/* Even and odd keys have a sum each, whatever n_keys is: hidden keys at the end change no bits. */
SATTN_INLINE void prefill_weigh_vectors(const fused_prefill_state *st, int n_keys, int n_vec)
{
    __m512 base[2], sum[2][2];
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        base[vec] = prefill_raise_max(st, vec);
        sum[0][vec] = sum[1][vec] = _mm512_setzero_ps();
    }
    float *s = st->s_t;
    int j = 0;
    for (; j + 2 <= n_keys; j += 2, s += (ptrdiff_t)2 * WIDTH)
        prefill_weigh_keys(s, base, sum, 2, n_vec);
    if (j < n_keys)
        prefill_weigh_keys(s, base, sum, 1, n_vec);
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        float *const row_sum = st->row_sum + vec * LANES;
        const __m512 block_sum = _mm512_add_ps(sum[0][vec], sum[1][vec]);
        _mm512_store_ps(row_sum, _mm512_add_ps(_mm512_load_ps(row_sum), block_sum));
    }
}

static inline void prefill_weigh(const fused_prefill_state *st, int n_keys)
{
    if (st->n_vec == 2)
        prefill_weigh_vectors(st, n_keys, 2);
    else
        prefill_weigh_vectors(st, n_keys, 1);
}

static inline void prefill_store(const fused_prefill_state *st, const fused_strip *strip)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const int first = vec * LANES;
        const __m512 factor = _mm512_load_ps(st->factor + first);
        for (int64_t y = 0; y < st->d_v; y += LANES) {
            const __mmask16 tail = vec_tail_m16(st->d_v - y);
            __m512 tile[16];
            SATTN_UNROLL(16)
            for (int i = 0; i < 16; ++i)
                tile[i] =
                    y + i < st->d_v
                        ? _mm512_mul_ps(factor, _mm512_load_ps(st->o_t + (y + i) * WIDTH + first))
                        : _mm512_setzero_ps();
            vec_transpose_f32x16(tile);
            SATTN_UNROLL(16)
            for (int r = 0; r < 16; ++r)
                if (first + r < strip->n_rows)
                    vec_store_tail_f32x16(strip->o[first + r] + y, tail, tile[r]);
        }
    }
}

#endif
