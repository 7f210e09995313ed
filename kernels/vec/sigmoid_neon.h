/* SPDX-License-Identifier: MIT
 *
 * sigmoid_neon.h: sigmoid in NEON. */
#ifndef SATTN_KERNELS_VEC_SIGMOID_NEON_H
#define SATTN_KERNELS_VEC_SIGMOID_NEON_H

#include "kernels/vec/sigmoid.h"
#include "kernels/vec/vec_neon.h"

/* x[u] = sigmoid(x[u]) by sigmoid.h, over all of f32, for `count` vectors, 1 .. VEC_EACH. A NaN
 * stays one. */
SATTN_INLINE void vec_sigmoid_in_each_f32x4(float32x4_t x[], const int count,
                                            const bool has_registers)
{
    const float32x4_t one = vdupq_n_f32(1.0f);
    float32x4_t e[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        e[u] = vnegq_f32(vabsq_f32(x[u]));
    vec_exp_full_in_each_f32x4(e, count, has_registers);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const float32x4_t top = vbslq_f32(vcltzq_f32(x[u]), e[u], one);
        const float32x4_t quotient = vdivq_f32(top, vaddq_f32(one, e[u]));
        const float32x4_t residual = vfmsq_f32(vsubq_f32(top, quotient), quotient, e[u]);
        const float32x4_t weight = vfmaq_f32(one, e[u], vdupq_n_f32(SATTN_SIGMOID_SLOPE));
        x[u] = vfmaq_f32(quotient, residual, weight);
    }
}

SATTN_INLINE void vec_sigmoid_each_f32x4(float32x4_t x[], const int count)
{
    vec_sigmoid_in_each_f32x4(x, count, true);
}

SATTN_INLINE float32x4_t vec_sigmoid_f32x4(float32x4_t x)
{
    vec_sigmoid_each_f32x4(&x, 1);
    return x;
}

#endif
