/* SPDX-License-Identifier: MIT
 *
 * sigmoid_plain.h: sigmoid in plain C. */
#ifndef SATTN_KERNELS_VEC_SIGMOID_PLAIN_H
#define SATTN_KERNELS_VEC_SIGMOID_PLAIN_H

#include "kernels/vec/sigmoid.h"
#include "kernels/vec/vec_plain.h"

/* sigmoid(x) by sigmoid.h, over all of f32; a NaN stays one. */
SATTN_INLINE float plain_sigmoid(float x)
{
    const float e = plain_exp_full(-fabsf(x));
    const float top = plain_select(x < 0.0f, e, 1.0f);
    const float quotient = top / (1.0f + e);
    const float residual = plain_multiply_add(-quotient, e, top - quotient);
    const float weight = plain_multiply_add(SATTN_SIGMOID_SLOPE, e, 1.0f);
    return plain_multiply_add(residual, weight, quotient);
}

#endif
