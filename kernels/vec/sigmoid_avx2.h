/* SPDX-License-Identifier: MIT
 *
 * sigmoid_avx2.h: sigmoid in AVX2. */
#ifndef SATTN_KERNELS_VEC_SIGMOID_AVX2_H
#define SATTN_KERNELS_VEC_SIGMOID_AVX2_H

#include "kernels/vec/sigmoid.h"
#include "kernels/vec/vec_avx2.h"

typedef struct vec_sigmoid_table {
    float sign[8], one[8], slope[8];
} vec_sigmoid_table;

/* x[u] = sigmoid(x[u]) by sigmoid.h, over all of f32, for `count` vectors, 1 .. VEC_EACH. A NaN
 * stays one. Unlike the other ISAs', this is not told whether the loop has registers: of 16 none
 * are left, so constants are operands in memory, as in vec_horner_f32x8. */
SATTN_INLINE void vec_sigmoid_each_f32x8(__m256 x[], const int count)
{
    static const _Alignas(32) vec_sigmoid_table constants = {
        .sign = {VEC_LANES(-0.0f)},
        .one = {VEC_LANES(1.0f)},
        .slope = {VEC_LANES(SATTN_SIGMOID_SLOPE)},
    };
    const vec_sigmoid_table *table = &constants;
    __asm__ volatile("" : "+r"(table));
    __m256 e[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        e[u] = _mm256_or_ps(x[u], _mm256_load_ps(table->sign));
    vec_exp_full_in_each_f32x8(e, count, false);
    const __m256 one = _mm256_load_ps(table->one);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m256 top = _mm256_blendv_ps(one, e[u], x[u]); /* by the sign of x; e of -0 is 1 */
        const __m256 quotient = _mm256_div_ps(top, _mm256_add_ps(one, e[u]));
        const __m256 residual = _mm256_fnmadd_ps(quotient, e[u], _mm256_sub_ps(top, quotient));
        const __m256 weight = _mm256_fmadd_ps(e[u], _mm256_load_ps(table->slope), one);
        x[u] = _mm256_fmadd_ps(residual, weight, quotient);
    }
}

SATTN_INLINE __m256 vec_sigmoid_f32x8(__m256 x)
{
    vec_sigmoid_each_f32x8(&x, 1);
    return x;
}

#endif
