/* SPDX-License-Identifier: MIT
 *
 * fused_decode_avx512.h: the steps of fused_decode.h in AVX-512 but the two products, which are in
 * fused_decode_score_avx512.h or fused_decode_quad_avx512.h and in fused_decode_av_avx512.h. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AVX512_H
#define SATTN_KERNELS_FUSED_DECODE_AVX512_H

#include "kernels/fused/fused_decode_state.h"
#include "kernels/vec/exp_powers_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum { LANES = 16 };

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m512 raise_max(__m512 max_f32x16, __m512 s_f32x16)
{
    return _mm512_max_ps(s_f32x16, max_f32x16);
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores. */
SATTN_INLINE void store_max(float *block_max, __m512 max_f32x16, const int n_rows, const int n_keys)
{
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0x4e));
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0xb1));
    if (n_keys == 8)
        max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_shuffle_f32x4(max_f32x16, max_f32x16, 0xb1));
    max_f32x16 = _mm512_maskz_compress_ps(n_keys == 8 ? 0x0101 : 0x1111, max_f32x16);
    vec_store_tail_f32x16(block_max, vec_tail_m16(n_rows), max_f32x16);
}

/* Not inlined, or clang keeps its constants on the stack. */
SATTN_NOINLINE void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m512 slope = _mm512_set1_ps(alibi->slope);
    const __m512 position = _mm512_set1_ps(alibi->position);
    const __m512 steps = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int j = 0; j < n; j += LANES) {
        const __mmask16 tail = vec_tail_m16(n - j);
        const __m512 key = _mm512_add_ps(_mm512_set1_ps((float)j), steps);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(position, key));
        const __m512 s_f32x16 = vec_load_tail_f32x16(s + j, tail);
        vec_store_tail_f32x16(s + j, tail, _mm512_fmadd_ps(slope, distance, s_f32x16));
    }
}

static inline void maximum(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
        for (int j = 0; j < n; j += LANES)
            max_f32x16 = raise_max(max_f32x16, _mm512_loadu_ps(s + j));
        st->block_max[r] = vec_hmax_f32x16(max_f32x16);
    }
}

/* n weights and their sum for `count` rows from row r on, side by side. */
SATTN_INLINE void weigh_rows(fused_decode_state *st, int r, int n, const int count)
{
    float *const s = st->s + r * FUSED_DECODE_KEYS;
    __m512 m_f32x16[VEC_EACH], sum_f32x16[VEC_EACH];
    SATTN_UNROLL(4)
    for (int i = 0; i < count; ++i) {
        m_f32x16[i] = _mm512_set1_ps(fused_decode_reference(st, r + i));
        sum_f32x16[i] = _mm512_setzero_ps();
    }
    for (int j = 0; j < n; j += LANES) {
        __m512 p_f32x16[VEC_EACH];
        SATTN_UNROLL(4)
        for (int i = 0; i < count; ++i)
            p_f32x16[i] =
                _mm512_sub_ps(_mm512_loadu_ps(s + i * FUSED_DECODE_KEYS + j), m_f32x16[i]);
        vec_fused_exp_each_f32x16(p_f32x16, count);
        SATTN_UNROLL(4)
        for (int i = 0; i < count; ++i) {
            sum_f32x16[i] = _mm512_add_ps(sum_f32x16[i], p_f32x16[i]);
            _mm512_storeu_ps(s + i * FUSED_DECODE_KEYS + j, p_f32x16[i]);
        }
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < count; ++i)
        st->row_sum[r + i] += vec_hsum_f32x16(sum_f32x16[i]);
}

static inline void weigh(fused_decode_state *st, int n)
{
    int r = 0;
    for (; r + VEC_EACH <= st->n_rows; r += VEC_EACH)
        weigh_rows(st, r, n, VEC_EACH);
    for (; r < st->n_rows; ++r)
        weigh_rows(st, r, n, 1);
}

static inline float exp_of_one(float t)
{
    return _mm512_cvtss_f32(vec_exp_f32x16(_mm512_set1_ps(t)));
}

#endif
