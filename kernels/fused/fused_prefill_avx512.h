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
#include "kernels/vec/exp_powers_avx512.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    WIDTH = 2 * LANES,
};

/* Columns x .. x + n - 1 of one vector of rows, 1 <= n <= 16: lane r of row x of `to` is scale *
 * rows[r][x]. */
SATTN_INLINE void prefill_pack_tile(float *to, const float *const *rows, int64_t x, int64_t n,
                                    __m512 scale)
{
    const __mmask16 tail = vec_tail_m16(n);
    __m512 tile[16];
    SATTN_UNROLL(16)
    for (int r = 0; r < 16; ++r)
        tile[r] = _mm512_mul_ps(scale, n == LANES ? _mm512_loadu_ps(rows[r] + x)
                                                  : vec_load_tail_f32x16(rows[r] + x, tail));
    vec_transpose_f32x16(tile);
    SATTN_UNROLL(16)
    for (int i = 0; i < 16; ++i)
        if (i < n)
            _mm512_store_ps(to + (x + i) * WIDTH, tile[i]);
}

static inline void prefill_pack(const fused_prefill_state *st, float scale)
{
    const __m512 scales = _mm512_set1_ps(scale);
    for (int vec = 0; vec < st->n_vec; ++vec) {
        float *const to = st->q_t + vec * LANES;
        const float *const *const rows = st->strip->q + vec * LANES;
        int64_t x = 0;
        for (; x + LANES <= st->d; x += LANES)
            prefill_pack_tile(to, rows, x, LANES, scales);
        if (x < st->d)
            prefill_pack_tile(to, rows, x, st->d - x, scales);
    }
}

static inline void prefill_slope(const fused_prefill_state *st, const fused_span *span)
{
    const __m512 slope = _mm512_loadu_ps(st->strip->slope + span->vec * LANES);
    const __m512 position = _mm512_load_ps(st->position + span->vec * LANES);
    for (int j = span->begin; j < span->end; ++j) {
        float *const s = st->s_t + j * WIDTH + span->vec * LANES;
        const __m512 key = _mm512_set1_ps((float)j);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(position, key));
        _mm512_store_ps(s, _mm512_fmadd_ps(slope, distance, _mm512_load_ps(s)));
    }
}

static inline void prefill_hide(const fused_prefill_state *st, const fused_block *block,
                                const fused_span *span)
{
    const int first = span->vec * LANES;
    const __m512i steps = _mm512_loadu_si512(st->strip->step + first);
    const __m512i begin = _mm512_add_epi32(steps, _mm512_set1_epi32(block->limit_begin));
    const __m512i end = _mm512_add_epi32(steps, _mm512_set1_epi32(block->limit_end));
    __m512 max = _mm512_load_ps(st->block_max + first);
    for (int j = span->begin; j < span->end; ++j) {
        float *const s = st->s_t + j * WIDTH + first;
        const __m512i key = _mm512_set1_epi32(j);
        const __mmask16 visible =
            _mm512_mask_cmpgt_epi32_mask(_mm512_cmple_epi32_mask(begin, key), end, key);
        const __m512 score =
            _mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), visible, _mm512_load_ps(s));
        _mm512_store_ps(s, score);
        max = _mm512_max_ps(score, max); /* a NaN score leaves max as it is */
    }
    _mm512_store_ps(st->block_max + first, max);
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

static inline void prefill_bias_shared(const fused_prefill_state *st, const fused_block *block,
                                       const fused_span *span)
{
    const fused_strip *const strip = st->strip;
    for (int j = span->begin; j < span->end; ++j) {
        const float value = fused_strip_bias(strip, 0, (block->first + j) * block->mask_key_stride);
        prefill_add_bias(st->s_t + j * WIDTH + span->vec * LANES, _mm512_set1_ps(value));
    }
}

static inline void prefill_bias(const fused_prefill_state *st, const fused_block *block,
                                const fused_span *span)
{
    const fused_strip *const strip = st->strip;
    if (strip->mask_is_shared) {
        prefill_bias_shared(st, block, span);
        return;
    }
    for (int first = span->begin; first < span->end; first += LANES) {
        const int64_t at = (block->first + first) * block->mask_key_stride;
        const int n = span->end - first < LANES ? span->end - first : LANES;
        __m512 tile[16];
        SATTN_UNROLL(16)
        for (int r = 0; r < 16; ++r)
            tile[r] = block->mask_key_stride
                          ? prefill_bias_keys(strip, span->vec * LANES + r, at, vec_tail_m16(n))
                          : _mm512_set1_ps(fused_strip_bias(strip, span->vec * LANES + r, 0));
        vec_transpose_f32x16(tile);
        SATTN_UNROLL(16)
        for (int i = 0; i < 16; ++i) {
            if (i >= n)
                break;
            prefill_add_bias(st->s_t + (first + i) * WIDTH + span->vec * LANES, tile[i]);
        }
    }
}

static inline void prefill_maximum(const fused_prefill_state *st, const fused_span *span)
{
    __m512 max = _mm512_set1_ps(-INFINITY);
    for (int j = span->begin; j < span->end; ++j)
        max = _mm512_max_ps(_mm512_load_ps(st->s_t + j * WIDTH + span->vec * LANES), max);
    _mm512_store_ps(st->block_max + span->vec * LANES, max);
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

/* Weights of n_keys keys, added to the sums of even and odd keys in turn. All are loaded before the
 * first is stored: the loads then do not wait for the stores in between. */
SATTN_INLINE void prefill_weigh_keys(float *s, __m512 base, __m512 sum[2], const int n_keys)
{
    __m512 p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int j = 0; j < n_keys; ++j)
        p[j] = _mm512_sub_ps(_mm512_load_ps(s + j * WIDTH), base);
    vec_fused_exp_each_f32x16(p, n_keys);
    SATTN_UNROLL(4)
    for (int j = 0; j < n_keys; ++j) {
        _mm512_store_ps(s + j * WIDTH, p[j]);
        sum[j % 2] = _mm512_add_ps(sum[j % 2], p[j]);
    }
}

/* Every other key has a sum of its own, whatever the span: hidden keys at its ends change no bits.
 */
static inline void prefill_weigh(const fused_prefill_state *st, const fused_span *span)
{
    const __m512 base = prefill_raise_max(st, span->vec);
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    float *s = st->s_t + span->begin * WIDTH + span->vec * LANES;
    int left = span->end - span->begin;
    SATTN_NO_UNROLL
    for (; left >= VEC_EACH; left -= VEC_EACH, s += (ptrdiff_t)VEC_EACH * WIDTH)
        prefill_weigh_keys(s, base, sum, VEC_EACH);
    SATTN_NO_UNROLL
    for (; left >= 2; left -= 2, s += (ptrdiff_t)2 * WIDTH)
        prefill_weigh_keys(s, base, sum, 2);
    if (left > 0)
        prefill_weigh_keys(s, base, sum, 1);
    float *const row_sum = st->row_sum + span->vec * LANES;
    _mm512_store_ps(row_sum, _mm512_add_ps(_mm512_load_ps(row_sum), _mm512_add_ps(sum[0], sum[1])));
}

/* Columns y .. y + n - 1 of one vector of rows, 1 <= n <= 16. Lanes behind the last row hold what
 * it holds, and store it again. */
SATTN_INLINE void prefill_store_tile(float *const *rows, int64_t y, int64_t n, const float *o_t,
                                     __m512 factor)
{
    const __mmask16 tail = vec_tail_m16(n);
    __m512 tile[16];
    SATTN_UNROLL(16)
    for (int i = 0; i < 16; ++i)
        tile[i] = i < n ? _mm512_mul_ps(factor, _mm512_load_ps(o_t + (y + i) * WIDTH))
                        : _mm512_setzero_ps();
    vec_transpose_f32x16(tile);
    SATTN_UNROLL(16)
    for (int r = 0; r < 16; ++r)
        if (n == LANES)
            _mm512_storeu_ps(rows[r] + y, tile[r]);
        else
            vec_store_tail_f32x16(rows[r] + y, tail, tile[r]);
}

static inline void prefill_store(const fused_prefill_state *st)
{
    for (int vec = 0; vec < st->n_vec; ++vec) {
        const __m512 factor = _mm512_load_ps(st->factor + vec * LANES);
        const float *const o_t = st->o_t + vec * LANES;
        float *const *const rows = st->strip->o + vec * LANES;
        int64_t y = 0;
        for (; y + LANES <= st->d_v; y += LANES)
            prefill_store_tile(rows, y, LANES, o_t, factor);
        if (y < st->d_v)
            prefill_store_tile(rows, y, st->d_v - y, o_t, factor);
    }
}

#endif
