/* SPDX-License-Identifier: MIT
 *
 * sigmoid_avx512.h: sigmoid in AVX-512. */
#ifndef SATTN_KERNELS_VEC_SIGMOID_AVX512_H
#define SATTN_KERNELS_VEC_SIGMOID_AVX512_H

#include "kernels/vec/sigmoid.h"
#include "kernels/vec/vec_avx512.h"

/* x[u] = sigmoid(x[u]) by sigmoid.h, over all of f32, for `count` vectors, 1 .. VEC_EACH. A NaN
 * stays one. */
SATTN_INLINE void vec_sigmoid_in_each_f32x16(__m512 x[], const int count, const bool has_registers)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    __m512 e[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        e[u] = _mm512_or_ps(x[u], _mm512_set1_ps(-0.0f));
    vec_exp_full_in_each_f32x16(e, count, has_registers);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __mmask16 is_below = _mm512_cmp_ps_mask(x[u], _mm512_setzero_ps(), _CMP_LT_OQ);
        const __m512 top = _mm512_mask_mov_ps(one, is_below, e[u]);
        const __m512 quotient = _mm512_div_ps(top, _mm512_add_ps(one, e[u]));
        const __m512 residual = _mm512_fnmadd_ps(quotient, e[u], _mm512_sub_ps(top, quotient));
        const __m512 weight = _mm512_fmadd_ps(_mm512_set1_ps(SATTN_SIGMOID_SLOPE), e[u], one);
        x[u] = _mm512_fmadd_ps(residual, weight, quotient);
    }
}

SATTN_INLINE void vec_sigmoid_each_f32x16(__m512 x[], const int count)
{
    vec_sigmoid_in_each_f32x16(x, count, true);
}

SATTN_INLINE __m512 vec_sigmoid_f32x16(__m512 x)
{
    vec_sigmoid_each_f32x16(&x, 1);
    return x;
}

#endif
