/* SPDX-License-Identifier: MIT
 *
 * vec_avx2.h: what several AVX2 (with FMA) kernels need besides plain intrinsics.
 *
 * Masks are vectors of all-ones or all-zeros lanes. Loads and stores with a mask touch only the
 * lanes that are set, so a tail needs no padding. */
#ifndef SATTN_KERNELS_VEC_AVX2_H
#define SATTN_KERNELS_VEC_AVX2_H

#if !defined(__AVX2__) || !defined(__FMA__)
#error "vec_avx2.h needs AVX2 and FMA"
#endif

#include "kernels/vec/exp_full_poly.h"
#include "kernels/vec/tanh_poly.h"
#include "kernels/vec/vec_base.h"

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* The first n lanes; all of them from 8 on, none for n <= 0. */
SATTN_INLINE __m256i vec_tail_m8(int64_t n)
{
    const int32_t count = n >= 8 ? 8 : n <= 0 ? 0 : (int32_t)n;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

SATTN_INLINE __m256 vec_load_tail_f32x8(const float *from, __m256i lanes)
{
    return _mm256_maskload_ps(from, lanes);
}

/* Keeps a loaded vector that several multiply-adds use from being loaded again by each of them. */
SATTN_INLINE __m256 vec_in_register_f32x8(__m256 loaded)
{
    __asm__("" : "+v"(loaded));
    return loaded;
}

SATTN_INLINE void vec_store_tail_f32x8(float *to, __m256i lanes, __m256 value)
{
    _mm256_maskstore_ps(to, lanes, value);
    SATTN_WRITTEN(to, 8);
}

#define VEC_LANES(x) x, x, x, x, x, x, x, x

enum { VEC_EACH = 4 };

/* p[u] = p[u] * r[u] + c for `count` vectors, 1 .. VEC_EACH: a step of Horner's rule. The functions
 * vec_*_each go step by step through several vectors, so that one's waiting is another's turn.
 *
 * Nine constants in registers leave seven of them to a loop, whose own values then live on the
 * stack. So constants are operands in memory; each call hides the table's address, or compilers
 * would load them ahead of the loop. */
SATTN_INLINE void vec_horner_f32x8(__m256 p[], const __m256 r[], const float *c, const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        p[u] = _mm256_fmadd_ps(p[u], r[u], _mm256_load_ps(c));
}

typedef struct vec_exp_full_table {
    float lowest[8], highest[8], log2e[8], magic[8], ln2_hi[8], ln2_lo[8];
    float c6[8], c5[8], c4[8], c3[8], c2[8], one[8];
} vec_exp_full_table;

/* x[u] = exp(x[u]) by exp_full_poly.h, over all of f32, for `count` vectors. A NaN stays one. Where
 * the loop has no register to spare, all constants are operands in memory, else all but one. */
SATTN_INLINE void vec_exp_full_in_each_f32x8(__m256 x[], const int count, const bool has_registers)
{
    static const _Alignas(32) vec_exp_full_table constants = {
        .lowest = {VEC_LANES(SATTN_EXP_FULL_LOWEST)},
        .highest = {VEC_LANES(SATTN_EXP_FULL_HIGHEST)},
        .log2e = {VEC_LANES(SATTN_EXP_FULL_LOG2E)},
        .magic = {VEC_LANES(SATTN_EXP_FULL_MAGIC)},
        .ln2_hi = {VEC_LANES(SATTN_LN2_HI)},
        .ln2_lo = {VEC_LANES(SATTN_LN2_LO)},
        .c6 = {VEC_LANES(SATTN_EXP_FULL_C6)},
        .c5 = {VEC_LANES(SATTN_EXP_FULL_C5)},
        .c4 = {VEC_LANES(SATTN_EXP_FULL_C4)},
        .c3 = {VEC_LANES(SATTN_EXP_FULL_C3)},
        .c2 = {VEC_LANES(SATTN_EXP_FULL_C2)},
        .one = {VEC_LANES(1.0f)},
    };
    const vec_exp_full_table *table = &constants;
    __asm__ volatile("" : "+r"(table));
    const __m256 magic = _mm256_load_ps(has_registers ? constants.magic : table->magic);
    __m256 shifted[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        /* Of a NaN and a number, maximum and minimum give their second operand. */
        r[u] = _mm256_max_ps(_mm256_load_ps(table->lowest), x[u]);
        r[u] = _mm256_min_ps(_mm256_load_ps(table->highest), r[u]);
        shifted[u] = _mm256_fmadd_ps(r[u], _mm256_load_ps(table->log2e), magic);
    }
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m256 n = _mm256_sub_ps(shifted[u], magic);
        r[u] = _mm256_fnmadd_ps(n, _mm256_load_ps(table->ln2_hi), r[u]);
        r[u] = _mm256_fnmadd_ps(n, _mm256_load_ps(table->ln2_lo), r[u]);
        p[u] = _mm256_load_ps(table->c6);
    }
    vec_horner_f32x8(p, r, table->c5, count);
    vec_horner_f32x8(p, r, table->c4, count);
    vec_horner_f32x8(p, r, table->c3, count);
    vec_horner_f32x8(p, r, table->c2, count);
    vec_horner_f32x8(p, r, table->one, count);
    vec_horner_f32x8(p, r, table->one, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m256i both = _mm256_castps_si256(shifted[u]);
        const __m256i half = _mm256_srli_epi32(both, 1);
        const __m256i rest = _mm256_sub_epi32(both, half);
        p[u] = _mm256_mul_ps(p[u], _mm256_castsi256_ps(_mm256_slli_epi32(half, 23)));
        x[u] = _mm256_mul_ps(p[u], _mm256_castsi256_ps(_mm256_slli_epi32(rest, 23)));
    }
}

SATTN_INLINE void vec_exp_full_each_f32x8(__m256 x[], const int count)
{
    vec_exp_full_in_each_f32x8(x, count, true);
}

SATTN_INLINE __m256 vec_exp_full_f32x8(__m256 x)
{
    vec_exp_full_each_f32x8(&x, 1);
    return x;
}

typedef struct vec_tanh_table {
    float sign[8], limit[8], border[8], one[8], two[8], two_log2e[8], magic[8];
    float t6[8], t5[8], t4[8], t3[8], t2[8], t1[8], t0[8];
    float e6[8], e5[8], e4[8], e3[8], e2[8], e1[8];
} vec_tanh_table;

/* tanh(x) by tanh_poly.h, over all of f32: odd bit for bit, +-1 at the infinities; a NaN stays one:
 * it compares below the border, and x^3 takes it on. Constants are operands in memory, as in
 * vec_horner_f32x8; the four that are used twice only where the loop has no registers to spare. */
SATTN_INLINE __m256 vec_tanh_in_f32x8(__m256 x, const bool has_registers)
{
    static const _Alignas(32) vec_tanh_table constants = {
        .sign = {VEC_LANES(-0.0f)},
        .limit = {VEC_LANES(SATTN_TANH_LIMIT)},
        .border = {VEC_LANES(SATTN_TANH_BORDER)},
        .one = {VEC_LANES(1.0f)},
        .two = {VEC_LANES(2.0f)},
        .two_log2e = {VEC_LANES(SATTN_TWO_LOG2E)},
        .magic = {VEC_LANES(SATTN_ROUND_MAGIC)},
        .t6 = {VEC_LANES(SATTN_TANH_C6)},
        .t5 = {VEC_LANES(SATTN_TANH_C5)},
        .t4 = {VEC_LANES(SATTN_TANH_C4)},
        .t3 = {VEC_LANES(SATTN_TANH_C3)},
        .t2 = {VEC_LANES(SATTN_TANH_C2)},
        .t1 = {VEC_LANES(SATTN_TANH_C1)},
        .t0 = {VEC_LANES(SATTN_TANH_C0)},
        .e6 = {VEC_LANES(SATTN_EXP2_C6)},
        .e5 = {VEC_LANES(SATTN_EXP2_C5)},
        .e4 = {VEC_LANES(SATTN_EXP2_C4)},
        .e3 = {VEC_LANES(SATTN_EXP2_C3)},
        .e2 = {VEC_LANES(SATTN_EXP2_C2)},
        .e1 = {VEC_LANES(SATTN_EXP2_C1)},
    };
    const vec_tanh_table *table = &constants;
    __asm__ volatile("" : "+r"(table));
    const vec_tanh_table *const kept = has_registers ? &constants : table;
    const __m256 sign = _mm256_load_ps(kept->sign);
    const __m256 square = _mm256_mul_ps(x, x);
    __m256 odd = _mm256_fmadd_ps(_mm256_load_ps(table->t6), square, _mm256_load_ps(table->t5));
    odd = _mm256_fmadd_ps(odd, square, _mm256_load_ps(table->t4));
    odd = _mm256_fmadd_ps(odd, square, _mm256_load_ps(table->t3));
    odd = _mm256_fmadd_ps(odd, square, _mm256_load_ps(table->t2));
    odd = _mm256_fmadd_ps(odd, square, _mm256_load_ps(table->t1));
    odd = _mm256_fmadd_ps(odd, square, _mm256_load_ps(table->t0));
    const __m256 a = _mm256_andnot_ps(sign, x);
    odd = _mm256_fmadd_ps(_mm256_mul_ps(odd, square), a, a);

    const __m256 magic = _mm256_load_ps(kept->magic);
    const __m256 two_log2e = _mm256_load_ps(kept->two_log2e);
    const __m256 one = _mm256_load_ps(kept->one);
    const __m256 t = _mm256_min_ps(a, _mm256_load_ps(table->limit));
    const __m256 shifted = _mm256_fmadd_ps(t, two_log2e, magic);
    const __m256 r = _mm256_fmsub_ps(t, two_log2e, _mm256_sub_ps(shifted, magic));
    __m256 p = _mm256_fmadd_ps(_mm256_load_ps(table->e6), r, _mm256_load_ps(table->e5));
    p = _mm256_fmadd_ps(p, r, _mm256_load_ps(table->e4));
    p = _mm256_fmadd_ps(p, r, _mm256_load_ps(table->e3));
    p = _mm256_fmadd_ps(p, r, _mm256_load_ps(table->e2));
    p = _mm256_fmadd_ps(p, r, _mm256_load_ps(table->e1));
    p = _mm256_fmadd_ps(p, r, one);
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    p = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
    const __m256 quotient = _mm256_div_ps(_mm256_load_ps(table->two), _mm256_add_ps(p, one));

    const __m256 large = _mm256_cmp_ps(a, _mm256_load_ps(table->border), _CMP_GE_OQ);
    const __m256 size = _mm256_blendv_ps(odd, _mm256_sub_ps(one, quotient), large);
    return _mm256_or_ps(size, _mm256_and_ps(x, sign));
}

SATTN_INLINE __m256 vec_tanh_f32x8(__m256 x)
{
    return vec_tanh_in_f32x8(x, true);
}

/* Sum over the lanes, halves first: always the same tree. */
SATTN_INLINE float vec_hsum_f32x8(__m256 v)
{
    const __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));
}

/* Maximum over the lanes; what a NaN lane does to it is not defined. */
SATTN_INLINE float vec_hmax_f32x8(__m256 v)
{
    const __m128 x4 = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 x2 = _mm_max_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_max_ss(x2, _mm_movehdup_ps(x2)));
}

/* Lane i of the result is the sum over the lanes of rows[i]; a tree of 14 shuffles and 7 adds. */
SATTN_INLINE __m256 vec_hsum_rows_f32x8(const __m256 rows[8])
{
    __m256 half[4];
    __m256 pair[2];
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        half[i] = _mm256_add_ps(_mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20),
                                _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm256_add_ps(_mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0x44),
                                _mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* rows[i] lane j <-> rows[j] lane i: first within 128-bit lanes of four rows, then the lanes. */
SATTN_INLINE void vec_transpose_f32x8(__m256 rows[8])
{
    __m256 quad[8]; /* quad[4a + b]: column b of both 4x4 tiles in rows 4a .. 4a + 3 */
    SATTN_UNROLL(2)
    for (int a = 0; a < 8; a += 4) {
        const __m256 lo01 = _mm256_unpacklo_ps(rows[a], rows[a + 1]);
        const __m256 hi01 = _mm256_unpackhi_ps(rows[a], rows[a + 1]);
        const __m256 lo23 = _mm256_unpacklo_ps(rows[a + 2], rows[a + 3]);
        const __m256 hi23 = _mm256_unpackhi_ps(rows[a + 2], rows[a + 3]);
        quad[a] = _mm256_shuffle_ps(lo01, lo23, 0x44);
        quad[a + 1] = _mm256_shuffle_ps(lo01, lo23, 0xee);
        quad[a + 2] = _mm256_shuffle_ps(hi01, hi23, 0x44);
        quad[a + 3] = _mm256_shuffle_ps(hi01, hi23, 0xee);
    }
    SATTN_UNROLL(4)
    for (int b = 0; b < 4; ++b) {
        rows[b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x20);
        rows[4 + b] = _mm256_permute2f128_ps(quad[b], quad[4 + b], 0x31);
    }
}

#endif
