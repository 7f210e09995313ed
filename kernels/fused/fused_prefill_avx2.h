/* SPDX-License-Identifier: MIT
 *
 * fused_prefill_avx2.h: the steps of fused_prefill.h that touch neither K nor V, in AVX2:
 * packing Q, masks, softmax weights, storing O. They do not depend on how K and V are stored.
 *
 * A strip has 16 rows in two vectors. Scores are hidden by selecting -inf, never by adding it,
 * since a hidden score may be NaN. */
#ifndef SATTN_KERNELS_FUSED_PREFILL_AVX2_H
#define SATTN_KERNELS_FUSED_PREFILL_AVX2_H

#include "kernels/fused/fused_prefill.h"
#include "kernels/vec/softcap_avx2.h"
#include "kernels/vec/vec_avx2.h"

#include <string.h>

enum {
    LANES = 8,
    WIDTH = 2 * LANES,
};

/* Columns x .. x + 7 of one vector of rows: lane r of row x of `to` is scale * rows[r][x]. */
SATTN_INLINE void prefill_pack_tile(float *to, const float *const *rows, int64_t x, int64_t d,
                                    __m256 scale)
{
    const __m256i tail = vec_tail_m8(d - x);
    __m256 tile[8];
    SATTN_UNROLL(8)
    for (int r = 0; r < 8; ++r)
        tile[r] = _mm256_mul_ps(scale, vec_load_tail_f32x8(rows[r] + x, tail));
    vec_transpose_f32x8(tile);
    SATTN_UNROLL(8)
    for (int i = 0; i < 8; ++i)
        if (x + i < d)
            _mm256_store_ps(to + (x + i) * WIDTH, tile[i]);
}

static inline void prefill_pack(const fused_prefill_state *st, const fused_strip *strip,
                                float scale)
{
    for (int vec = 0; vec < st->n_vec; ++vec)
        for (int64_t x = 0; x < st->d; x += LANES)
            prefill_pack_tile(st->q_t + vec * LANES, strip->q + vec * LANES, x, st->d,
                              _mm256_set1_ps(scale));
}

static inline void prefill_slope(const fused_prefill_state *st, int n_keys)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const __m256 slope = _mm256_load_ps(st->slope + vec * LANES);
        const __m256 position = _mm256_load_ps(st->position + vec * LANES);
        float *s = st->s_t + vec * LANES;
        for (int j = 0; j < n_keys; ++j, s += WIDTH) {
            const __m256 key = _mm256_set1_ps((float)j);
            const __m256 distance =
                _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));
            _mm256_store_ps(s, _mm256_fmadd_ps(slope, distance, _mm256_load_ps(s)));
        }
    }
}

/* -inf into one vector of scores where key j of the block lies outside a row's limits. */
SATTN_INLINE void prefill_hide_key(float *s, __m256i begin, __m256i end, int j)
{
    const __m256i key = _mm256_set1_epi32(j);
    const __m256i inside =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(begin, key), _mm256_cmpgt_epi32(end, key));
    _mm256_store_ps(s, _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), _mm256_load_ps(s),
                                        _mm256_castsi256_ps(inside)));
}

static inline void prefill_hide(const fused_prefill_state *st, int n_keys)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const int32_t *const begins = st->block_begin + vec * LANES;
        const int32_t *const ends = st->block_end + vec * LANES;
        const __m256i begin = _mm256_load_si256((const __m256i *)(const void *)begins);
        const __m256i end = _mm256_load_si256((const __m256i *)(const void *)ends);
        float *const s = st->s_t + vec * LANES;
        int last_begin = 0;
        int first_end = n_keys;
        for (int r = 0; r < LANES; ++r) {
            last_begin = begins[r] > last_begin ? begins[r] : last_begin;
            first_end = ends[r] < first_end ? ends[r] : first_end;
        }
        for (int j = 0; j < last_begin; ++j)
            prefill_hide_key(s + j * WIDTH, begin, end, j);
        for (int j = first_end; j < n_keys; ++j)
            prefill_hide_key(s + j * WIDTH, begin, end, j);
    }
}

/* Adds the bias to one vector of scores, or hides them where it is -inf, whatever the score is. */
SATTN_INLINE void prefill_add_bias(float *s, __m256 bias)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    const __m256 visible = _mm256_cmp_ps(bias, lowest, _CMP_NEQ_UQ);
    const __m256 score = _mm256_add_ps(_mm256_load_ps(s), bias);
    _mm256_store_ps(s, _mm256_blendv_ps(lowest, score, visible));
}

/* Bias of the n keys of one row from element `at` of its mask on, 1 <= n <= 8. An
 * additive mask is as large as the scores: what the next block needs of it is prefetched. */
SATTN_INLINE __m256 prefill_bias_keys(const fused_strip *strip, int r, int64_t at, int n)
{
    if (strip->mask_add[r]) {
        const uintptr_t next_block = (uintptr_t)(strip->mask_add[r] + at) + SATTN_KEY_BLOCK * 4;
        _mm_prefetch((const char *)next_block, _MM_HINT_T0);
        return vec_load_tail_f32x8(strip->mask_add[r] + at, vec_tail_m8(n));
    }
    uint64_t bytes = 0;
    if (n == 8)
        memcpy(&bytes, strip->mask_bool[r] + at, 8);
    else
        for (int i = 0; i < n; ++i)
            bytes |= (uint64_t)strip->mask_bool[r][at + i] << 8 * i;
    const __m256i values = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes));
    const __m256i hidden = _mm256_cmpeq_epi32(values, _mm256_setzero_si256());
    return _mm256_and_ps(_mm256_castsi256_ps(hidden), _mm256_set1_ps(-INFINITY));
}

static inline void prefill_bias_shared(const fused_prefill_state *st, const fused_strip *strip,
                                       const fused_block *block)
{
    for (int j = 0; j < block->n_keys; ++j) {
        const float value = fused_strip_bias(strip, 0, (block->first + j) * block->mask_key_stride);
        for (int vec = 0; vec < st->n_vec; ++vec)
            prefill_add_bias(st->s_t + j * WIDTH + vec * LANES, _mm256_set1_ps(value));
    }
}

static inline void prefill_bias_rows(const fused_prefill_state *st, const fused_strip *strip,
                                     const fused_block *block, int vec)
{
    for (int first = 0; first < block->n_keys; first += LANES) {
        const int64_t at = (block->first + first) * block->mask_key_stride;
        const int n = block->n_keys - first < LANES ? block->n_keys - first : LANES;
        __m256 tile[8];
        SATTN_UNROLL(8)
        for (int r = 0; r < 8; ++r)
            tile[r] = block->mask_key_stride
                          ? prefill_bias_keys(strip, vec * LANES + r, at, n)
                          : _mm256_set1_ps(fused_strip_bias(strip, vec * LANES + r, 0));
        vec_transpose_f32x8(tile);
        SATTN_UNROLL(8)
        for (int i = 0; i < 8; ++i) {
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
        __m256 max = _mm256_set1_ps(-INFINITY);
        for (int j = 0; j < n_keys; ++j)
            max = _mm256_max_ps(_mm256_load_ps(st->s_t + j * WIDTH + vec * LANES), max);
        _mm256_store_ps(st->block_max + vec * LANES, max);
    }
}

/* Raises m where the block asks for it, rescales what was summed under the old one, and returns
 * what to subtract from the scores: m, or 0 while no score above -inf was met, since (-inf) -
 * (-inf) is NaN. */
SATTN_INLINE __m256 prefill_raise_max(const fused_prefill_state *st, int vec)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    float *const row_max = st->row_max + vec * LANES;
    float *const row_sum = st->row_sum + vec * LANES;
    const __m256 old = _mm256_load_ps(row_max);
    const __m256 block_max = _mm256_load_ps(st->block_max + vec * LANES);
    const __m256 raised = _mm256_cmp_ps(_mm256_sub_ps(block_max, old),
                                        _mm256_set1_ps(SATTN_LAZY_THRESHOLD), _CMP_GT_OQ);
    const __m256 max = _mm256_blendv_ps(old, block_max, raised);
    const __m256 rescaled = _mm256_and_ps(raised, _mm256_cmp_ps(old, lowest, _CMP_GT_OQ));
    _mm256_store_ps(row_max, max);
    if (_mm256_movemask_ps(rescaled)) {
        const __m256 factor = _mm256_blendv_ps(_mm256_set1_ps(1.0f),
                                               vec_exp_f32x8(_mm256_sub_ps(old, max)), rescaled);
        _mm256_store_ps(row_sum, _mm256_mul_ps(_mm256_load_ps(row_sum), factor));
        for (int64_t y = 0; y < st->d_v; ++y) {
            float *const o = st->o_t + y * WIDTH + vec * LANES;
            const __m256 product = _mm256_mul_ps(_mm256_load_ps(o), factor);
            _mm256_store_ps(o, _mm256_add_ps(product, _mm256_setzero_ps())); /* no -0 */
        }
    }
    return _mm256_and_ps(max, _mm256_cmp_ps(max, lowest, _CMP_NEQ_UQ));
}

/* Weights of n_vec vectors of rows at each of n_keys keys, added to sum[key][vec]. All are loaded
 * before the first is stored: the loads then do not wait for the stores in between. */
SATTN_INLINE void prefill_weigh_keys(float *s, const __m256 base[2], __m256 sum[2][2], int n_keys,
                                     int n_vec)
{
    __m256 p[4];
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i)
        p[i] = _mm256_sub_ps(_mm256_load_ps(s + i / n_vec * WIDTH + i % n_vec * LANES),
                             base[i % n_vec]);
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i)
        p[i] = vec_exp_f32x8(p[i]);
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys * n_vec; ++i) {
        _mm256_store_ps(s + i / n_vec * WIDTH + i % n_vec * LANES, p[i]);
        sum[i / n_vec][i % n_vec] = _mm256_add_ps(sum[i / n_vec][i % n_vec], p[i]);
    }
}

/* Even and odd keys have a sum each, whatever n_keys is: hidden keys at the end change no bits. */
SATTN_INLINE void prefill_weigh_vectors(const fused_prefill_state *st, int n_keys, int n_vec)
{
    __m256 base[2], sum[2][2];
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        base[vec] = prefill_raise_max(st, vec);
        sum[0][vec] = sum[1][vec] = _mm256_setzero_ps();
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
        const __m256 block_sum = _mm256_add_ps(sum[0][vec], sum[1][vec]);
        _mm256_store_ps(row_sum, _mm256_add_ps(_mm256_load_ps(row_sum), block_sum));
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
        const __m256 factor = _mm256_load_ps(st->factor + first);
        for (int64_t y = 0; y < st->d_v; y += LANES) {
            const __m256i tail = vec_tail_m8(st->d_v - y);
            __m256 tile[8];
            SATTN_UNROLL(8)
            for (int i = 0; i < 8; ++i)
                tile[i] =
                    y + i < st->d_v
                        ? _mm256_mul_ps(factor, _mm256_load_ps(st->o_t + (y + i) * WIDTH + first))
                        : _mm256_setzero_ps();
            vec_transpose_f32x8(tile);
            SATTN_UNROLL(8)
            for (int r = 0; r < 8; ++r)
                if (first + r < strip->n_rows)
                    vec_store_tail_f32x8(strip->o[first + r] + y, tail, tile[r]);
        }
    }
}

#endif
