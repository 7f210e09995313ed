/* SPDX-License-Identifier: MIT
 *
 * exp_powers_avx512.h: exp(t) for softmax weights (exp_powers.h), 16 lanes at a time. */
#ifndef SATTN_KERNELS_VEC_EXP_POWERS_AVX512_H
#define SATTN_KERNELS_VEC_EXP_POWERS_AVX512_H

#include "kernels/vec/exp_powers.h"
#include "kernels/vec/vec_avx512.h"

/* t[u] = exp(t[u]), for t up to SATTN_LAZY_THRESHOLD and beyond (but below 88): 0 below `lowest`,
 * at -inf too; a NaN stays one. */
SATTN_INLINE void vec_exp_from_each_f32x16(__m512 t[], const int count, const float lowest)
{
    static const _Alignas(64) uint32_t powers[16] = {SATTN_POWERS16};
    const __m512i table = _mm512_load_si512(powers);
    const __m512 log2e_hi = _mm512_set1_ps(SATTN_LOG2E_HI);
    const __m512 magic = _mm512_set1_ps(SATTN_POWERS16_MAGIC);
    __mmask16 is_alive[VEC_EACH];
    __m512 shifted[VEC_EACH], power[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        shifted[u] = _mm512_fmadd_round_ps(t[u], log2e_hi, magic, VEC_ROUND_NEAREST);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        r[u] = _mm512_fmsub_ps(t[u], log2e_hi, _mm512_sub_ps(shifted[u], magic));
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        is_alive[u] = _mm512_cmp_ps_mask(t[u], _mm512_set1_ps(lowest), _CMP_NLT_UQ);
        r[u] = _mm512_fmadd_ps(t[u], _mm512_set1_ps(SATTN_LOG2E_LO), r[u]);
        p[u] = _mm512_set1_ps(SATTN_POWERS16_C3);
    }
    vec_horner_f32x16(p, r, SATTN_POWERS16_C2, count);
    vec_horner_f32x16(p, r, SATTN_POWERS16_C1, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m512i n = _mm512_castps_si512(shifted[u]);
        const __m512i exponent = _mm512_slli_epi32(n, SATTN_POWERS16_SHIFT);
        const __m512i significand = _mm512_permutexvar_epi32(n, table);
        power[u] = _mm512_castsi512_ps(_mm512_add_epi32(significand, exponent));
        p[u] = _mm512_mul_ps(p[u], r[u]);
    }
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        t[u] = _mm512_maskz_fmadd_ps(is_alive[u], power[u], p[u], power[u]);
}

SATTN_INLINE void vec_exp_each_f32x16(__m512 t[], const int count)
{
    vec_exp_from_each_f32x16(t, count, SATTN_EXP_LOWEST);
}

SATTN_INLINE void vec_fused_exp_each_f32x16(__m512 t[], const int count)
{
    vec_exp_from_each_f32x16(t, count, SATTN_FUSED_EXP_LOWEST);
}

SATTN_INLINE __m512 vec_exp_f32x16(__m512 t)
{
    vec_exp_each_f32x16(&t, 1);
    return t;
}

#endif
