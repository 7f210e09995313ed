/* SPDX-License-Identifier: MIT
 *
 * tanh_fast_neon.h: tanh by one evaluation, 4 lanes at a time: NEON looks up no float per lane, so
 * tanh by pieces (tanh_pieces.h) is not for it.
 *
 * tanh(a) = e / (e + 2) with e = exp(2 a) - 1, of a = |x| up to SATTN_TANH_LIMIT; x lends its sign.
 * With 2 a log2 e = n + r, e = 2^n (2^r - 1) + (2^n - 1): 2^r - 1 = r P(r) is relatively exact down
 * to r = 0, and for n = 0 the second term is 0; so e is relatively exact near 0 too, where exp(2 a)
 * would not be. P is that of exp_poly.h, one step short.
 *
 * Largest error over all of f32: 3.88 ULP, at 0.0616: near 0 the roundings of r, of P, of their
 * product, of e + 2 and of the quotient all count in full. At the limit e + 2 is e, the result 1.
 */
#ifndef SATTN_KERNELS_VEC_TANH_FAST_NEON_H
#define SATTN_KERNELS_VEC_TANH_FAST_NEON_H

#include "kernels/vec/vec_neon.h"

/* tanh(x) over all of f32. A NaN stays one: the minimum gives it. n is formed as its negative,
 * which needs no negation for r. */
SATTN_INLINE float32x4_t vec_tanh_fast_f32x4(float32x4_t x)
{
    const float32x4_t one = vdupq_n_f32(1.0f);
    const float32x4_t magic = vdupq_n_f32(SATTN_ROUND_MAGIC);
    const float32x4_t two_log2e = vdupq_n_f32(SATTN_TWO_LOG2E);
    const float32x4_t a = vminq_f32(vabsq_f32(x), vdupq_n_f32(SATTN_TANH_LIMIT));
    const float32x4_t shifted = vfmsq_f32(magic, a, two_log2e);
    const float32x4_t r = vfmaq_f32(vsubq_f32(shifted, magic), a, two_log2e);
    float32x4_t p = vfmaq_f32(vdupq_n_f32(SATTN_EXP2_C5), vdupq_n_f32(SATTN_EXP2_C6), r);
    p = vfmaq_f32(vdupq_n_f32(SATTN_EXP2_C4), p, r);
    p = vfmaq_f32(vdupq_n_f32(SATTN_EXP2_C3), p, r);
    p = vfmaq_f32(vdupq_n_f32(SATTN_EXP2_C2), p, r);
    p = vfmaq_f32(vdupq_n_f32(SATTN_EXP2_C1), p, r);
    const uint32x4_t minus_exponent = vshlq_n_u32(vreinterpretq_u32_f32(shifted), 23);
    const float32x4_t power =
        vreinterpretq_f32_u32(vsubq_u32(vreinterpretq_u32_f32(one), minus_exponent));
    const float32x4_t e = vfmaq_f32(vsubq_f32(power, one), power, vmulq_f32(p, r));
    const float32x4_t size = vdivq_f32(e, vaddq_f32(e, vdupq_n_f32(2.0f)));
    return vbslq_f32(vdupq_n_u32(0x80000000u), x, size);
}

#endif
