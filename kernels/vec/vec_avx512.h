/* SPDX-License-Identifier: MIT
 *
 * vec_avx512.h: what several AVX-512 (F, BW, DQ, VL) kernels need besides plain intrinsics.
 *
 * Loads and stores with a mask touch only the lanes whose bit is set, so a tail needs no padding.
 */
#ifndef SATTN_KERNELS_VEC_AVX512_H
#define SATTN_KERNELS_VEC_AVX512_H

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) ||                   \
    !defined(__AVX512VL__)
#error "vec_avx512.h needs AVX-512 F, BW, DQ and VL"
#endif

#include "kernels/vec/exp_full_poly.h"
#include "kernels/vec/tanh_poly.h"
#include "kernels/vec/vec_base.h"

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VEC_ROUND_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC,
};

/* The first n lanes; all of them from 16 on, none for n <= 0. */
SATTN_INLINE __mmask16 vec_tail_m16(int64_t n)
{
    return n >= 16 ? (__mmask16)0xffff : n <= 0 ? (__mmask16)0 : (__mmask16)((1u << n) - 1u);
}

SATTN_INLINE __m512 vec_load_tail_f32x16(const float *from, __mmask16 lanes)
{
    return _mm512_maskz_loadu_ps(lanes, from);
}

/* Keeps a loaded vector that several multiply-adds use from being loaded again by each of them. */
SATTN_INLINE __m512 vec_in_register_f32x16(__m512 loaded)
{
    __asm__("" : "+v"(loaded));
    return loaded;
}

SATTN_INLINE void vec_store_tail_f32x16(float *to, __mmask16 lanes, __m512 value)
{
    _mm512_mask_storeu_ps(to, lanes, value);
}

enum { VEC_EACH = 4 };

/* p[u] = p[u] * r[u] + c for `count` vectors, 1 .. VEC_EACH: a step of Horner's rule. The functions
 * vec_*_each go step by step through several vectors, so that one's waiting is another's turn. */
SATTN_INLINE void vec_horner_f32x16(__m512 p[], const __m512 r[], float c, const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        p[u] = _mm512_fmadd_ps(p[u], r[u], _mm512_set1_ps(c));
}

/* x[u] = exp(x[u]) by exp_full_poly.h, over all of f32, for `count` vectors. A NaN stays one. */
SATTN_INLINE void vec_exp_full_in_each_f32x16(__m512 x[], const int count, const bool has_registers)
{
    const exp_full_numbers *table = &sattn_exp_full;
    if (!has_registers)
        __asm__ volatile("" : "+r"(table));
    const __m512 magic = _mm512_set1_ps(table->magic);
    __mmask16 is_alive[VEC_EACH];
    __m512 n[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        is_alive[u] = _mm512_cmp_ps_mask(x[u], _mm512_set1_ps(table->zero), _CMP_NLT_UQ);
        /* Of a NaN and a number, the minimum gives its second operand. */
        r[u] = _mm512_min_ps(_mm512_set1_ps(table->highest), x[u]);
        n[u] = _mm512_fmadd_ps(r[u], _mm512_set1_ps(table->log2e), magic);
    }
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        n[u] = _mm512_sub_ps(n[u], magic);
        r[u] = _mm512_fnmadd_ps(n[u], _mm512_set1_ps(table->ln2_hi), r[u]);
        p[u] = _mm512_set1_ps(table->c6);
    }
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        r[u] = _mm512_fnmadd_ps(n[u], _mm512_set1_ps(table->ln2_lo), r[u]);
    vec_horner_f32x16(p, r, table->c5, count);
    vec_horner_f32x16(p, r, table->c4, count);
    vec_horner_f32x16(p, r, table->c3, count);
    vec_horner_f32x16(p, r, table->c2, count);
    vec_horner_f32x16(p, r, table->one, count);
    vec_horner_f32x16(p, r, table->one, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        x[u] = _mm512_maskz_scalef_ps(is_alive[u], p[u], n[u]);
}

SATTN_INLINE void vec_exp_full_each_f32x16(__m512 x[], const int count)
{
    vec_exp_full_in_each_f32x16(x, count, true);
}

/* x[u] = tanh(x[u]) by tanh_poly.h, over all of f32, for `count` vectors: odd bit for bit, +-1 at
 * the infinities. A NaN stays one: it compares below the border, and x^3 takes it on. */
SATTN_INLINE void vec_tanh_in_each_f32x16(__m512 x[], const int count, const bool has_registers)
{
    const tanh_numbers *table = &sattn_tanh;
    if (!has_registers)
        __asm__ volatile("" : "+r"(table));
    const __m512 one = _mm512_set1_ps(table->one);
    const __m512 magic = _mm512_set1_ps(table->magic);
    const __m512 two_log2e = _mm512_set1_ps(table->two_log2e);
    __m512 square[VEC_EACH], odd[VEC_EACH], shifted[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m512 a = _mm512_abs_ps(x[u]);
        square[u] = _mm512_mul_ps(a, a);
        odd[u] = _mm512_set1_ps(table->t6);
    }
    vec_horner_f32x16(odd, square, table->t5, count);
    vec_horner_f32x16(odd, square, table->t4, count);
    vec_horner_f32x16(odd, square, table->t3, count);
    vec_horner_f32x16(odd, square, table->t2, count);
    vec_horner_f32x16(odd, square, table->t1, count);
    vec_horner_f32x16(odd, square, table->t0, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m512 a = _mm512_abs_ps(x[u]);
        odd[u] = _mm512_fmadd_ps(_mm512_mul_ps(odd[u], square[u]), a, a);
        r[u] = _mm512_min_ps(a, _mm512_set1_ps(table->limit));
        shifted[u] = _mm512_fmadd_ps(r[u], two_log2e, magic);
        r[u] = _mm512_fmsub_ps(r[u], two_log2e, _mm512_sub_ps(shifted[u], magic));
        p[u] = _mm512_set1_ps(table->e6);
    }
    vec_horner_f32x16(p, r, table->e5, count);
    vec_horner_f32x16(p, r, table->e4, count);
    vec_horner_f32x16(p, r, table->e3, count);
    vec_horner_f32x16(p, r, table->e2, count);
    vec_horner_f32x16(p, r, table->e1, count);
    vec_horner_f32x16(p, r, table->one, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted[u]), 23);
        p[u] = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p[u]), exponent));
        const __m512 quotient = _mm512_div_ps(_mm512_set1_ps(table->two), _mm512_add_ps(p[u], one));
        const __mmask16 is_large =
            _mm512_cmp_ps_mask(_mm512_abs_ps(x[u]), _mm512_set1_ps(table->border), _CMP_GE_OQ);
        const __m512 size = _mm512_mask_sub_ps(odd[u], is_large, one, quotient);
        x[u] = _mm512_or_ps(size, _mm512_and_ps(x[u], _mm512_set1_ps(-0.0f)));
    }
}

SATTN_INLINE void vec_tanh_each_f32x16(__m512 x[], const int count)
{
    vec_tanh_in_each_f32x16(x, count, true);
}

SATTN_INLINE __m512 vec_exp_full_f32x16(__m512 x)
{
    vec_exp_full_each_f32x16(&x, 1);
    return x;
}

SATTN_INLINE __m512 vec_tanh_f32x16(__m512 x)
{
    vec_tanh_each_f32x16(&x, 1);
    return x;
}

/* Sum over the lanes, halves first: always the same tree. */
SATTN_INLINE float vec_hsum_f32x16(__m512 v)
{
    const __m256 x8 = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
    const __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));
}

/* Maximum over the lanes; what a NaN lane does to it is not defined. */
SATTN_INLINE float vec_hmax_f32x16(__m512 v)
{
    const __m256 x8 = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 x4 = _mm_max_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
    const __m128 x2 = _mm_max_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_max_ss(x2, _mm_movehdup_ps(x2)));
}

/* Lane i of the result is the sum over the lanes of rows[i]; a tree of 30 shuffles and 15 adds. */
SATTN_INLINE __m512 vec_hsum_rows_f32x16(const __m512 rows[16])
{
    __m512 half[8];
    __m512 quarter[4];
    __m512 pair[2];
    SATTN_UNROLL(8)
    for (int i = 0; i < 8; ++i) {
        const __m512 a = rows[(i & 3) + 2 * (i & 4)];
        const __m512 b = rows[(i & 3) + 2 * (i & 4) + 4];
        half[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        quarter[i] = _mm512_add_ps(_mm512_shuffle_f32x4(half[i], half[i + 4], 0x88),
                                   _mm512_shuffle_f32x4(half[i], half[i + 4], 0xdd));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm512_add_ps(_mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0x44),
                                _mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0xee));
    return _mm512_add_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* rows[i] lane j <-> rows[j] lane i: first within 128-bit lanes of four rows, then the lanes. */
SATTN_INLINE void vec_transpose_f32x16(__m512 rows[16])
{
    __m512 quad[16]; /* quad[4a + b]: column b of every 4x4 tile in rows 4a .. 4a + 3 */
    SATTN_UNROLL(4)
    for (int a = 0; a < 16; a += 4) {
        const __m512 lo01 = _mm512_unpacklo_ps(rows[a], rows[a + 1]);
        const __m512 hi01 = _mm512_unpackhi_ps(rows[a], rows[a + 1]);
        const __m512 lo23 = _mm512_unpacklo_ps(rows[a + 2], rows[a + 3]);
        const __m512 hi23 = _mm512_unpackhi_ps(rows[a + 2], rows[a + 3]);
        quad[a] = _mm512_shuffle_ps(lo01, lo23, 0x44);
        quad[a + 1] = _mm512_shuffle_ps(lo01, lo23, 0xee);
        quad[a + 2] = _mm512_shuffle_ps(hi01, hi23, 0x44);
        quad[a + 3] = _mm512_shuffle_ps(hi01, hi23, 0xee);
    }
    SATTN_UNROLL(4)
    for (int b = 0; b < 4; ++b) {
        const __m512 even01 = _mm512_shuffle_f32x4(quad[b], quad[4 + b], 0x88);
        const __m512 odd01 = _mm512_shuffle_f32x4(quad[b], quad[4 + b], 0xdd);
        const __m512 even23 = _mm512_shuffle_f32x4(quad[8 + b], quad[12 + b], 0x88);
        const __m512 odd23 = _mm512_shuffle_f32x4(quad[8 + b], quad[12 + b], 0xdd);
        rows[b] = _mm512_shuffle_f32x4(even01, even23, 0x88);
        rows[4 + b] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
        rows[8 + b] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
        rows[12 + b] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
    }
}

#endif
