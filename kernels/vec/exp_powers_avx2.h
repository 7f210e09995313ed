/* SPDX-License-Identifier: MIT
 *
 * exp_powers_avx2.h: exp(t) for softmax weights (exp_powers.h), 8 lanes at a time. The table and
 * constants are operands in memory, as in vec_horner_f32x8. */
#ifndef SATTN_KERNELS_VEC_EXP_POWERS_AVX2_H
#define SATTN_KERNELS_VEC_EXP_POWERS_AVX2_H

#include "kernels/vec/exp_powers.h"
#include "kernels/vec/vec_avx2.h"

typedef struct vec_exp_table {
    uint32_t powers[8];
    float magic[8], log2e_lo[8], lowest[8], fused_lowest[8], c4[8], c3[8], c2[8], c1[8];
} vec_exp_table;

/* t[u] = exp(t[u]), for t up to SATTN_LAZY_THRESHOLD and beyond (but below 88): 0 below
 * SATTN_EXP_LOWEST, or where fused SATTN_FUSED_EXP_LOWEST, at -inf too; a NaN stays one. */
SATTN_INLINE void vec_exp_from_each_f32x8(__m256 t[], const int count, const bool is_fused)
{
    static const _Alignas(32) vec_exp_table constants = {
        .powers = {SATTN_POWERS8},
        .magic = {VEC_LANES(SATTN_POWERS8_MAGIC)},
        .log2e_lo = {VEC_LANES(SATTN_LOG2E_LO)},
        .lowest = {VEC_LANES(SATTN_EXP_LOWEST)},
        .fused_lowest = {VEC_LANES(SATTN_FUSED_EXP_LOWEST)},
        .c4 = {VEC_LANES(SATTN_POWERS8_C4)},
        .c3 = {VEC_LANES(SATTN_POWERS8_C3)},
        .c2 = {VEC_LANES(SATTN_POWERS8_C2)},
        .c1 = {VEC_LANES(SATTN_POWERS8_C1)},
    };
    const vec_exp_table *table = &constants;
    __asm__ volatile("" : "+r"(table));
    const float *const lowest = is_fused ? table->fused_lowest : table->lowest;
    const __m256 log2e_hi = _mm256_set1_ps(SATTN_LOG2E_HI);
    __m256 shifted[VEC_EACH], power[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        shifted[u] = _mm256_fmadd_ps(t[u], log2e_hi, _mm256_load_ps(table->magic));
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        r[u] = _mm256_fmsub_ps(t[u], log2e_hi,
                               _mm256_sub_ps(shifted[u], _mm256_load_ps(table->magic)));
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m256 is_alive = _mm256_cmp_ps(t[u], _mm256_load_ps(lowest), _CMP_NLT_UQ);
        const __m256i n = _mm256_castps_si256(shifted[u]);
        const __m256i significand = _mm256_permutevar8x32_epi32(
            _mm256_load_si256((const __m256i *)(const void *)table->powers), n);
        const __m256i bits =
            _mm256_add_epi32(significand, _mm256_slli_epi32(n, SATTN_POWERS8_SHIFT));
        power[u] = _mm256_and_ps(_mm256_castsi256_ps(bits), is_alive);
        r[u] = _mm256_fmadd_ps(t[u], _mm256_load_ps(table->log2e_lo), r[u]);
        r[u] = _mm256_and_ps(r[u], is_alive);
        p[u] = _mm256_load_ps(table->c4);
    }
    vec_horner_f32x8(p, r, table->c3, count);
    vec_horner_f32x8(p, r, table->c2, count);
    vec_horner_f32x8(p, r, table->c1, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        t[u] = _mm256_fmadd_ps(power[u], _mm256_mul_ps(p[u], r[u]), power[u]);
}

SATTN_INLINE void vec_exp_each_f32x8(__m256 t[], const int count)
{
    vec_exp_from_each_f32x8(t, count, false);
}

SATTN_INLINE void vec_fused_exp_each_f32x8(__m256 t[], const int count)
{
    vec_exp_from_each_f32x8(t, count, true);
}

SATTN_INLINE __m256 vec_exp_f32x8(__m256 t)
{
    vec_exp_each_f32x8(&t, 1);
    return t;
}

#endif
