/* SPDX-License-Identifier: MIT
 *
 * vec_neon.h: helpers of the AArch64 NEON kernels. Baseline armv8-a, 4 floats to a vector.
 *
 * NaN: vmaxnmq takes the number where one operand is a quiet NaN, vmaxq the NaN. A running maximum
 * wants the first; a score is the result of arithmetic, so its NaN is always quiet. */
#ifndef SATTN_KERNELS_VEC_NEON_H
#define SATTN_KERNELS_VEC_NEON_H

#include "kernels/vec/exp_full_poly.h"
#include "kernels/vec/exp_poly.h"
#include "kernels/vec/tanh_poly.h"
#include "kernels/vec/vec_base.h"

#if !defined(__aarch64__) || !defined(__ARM_NEON)
#error "this file is for AArch64 with NEON"
#endif
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the NEON kernels assume little-endian memory"
#endif

#include <arm_neon.h>
#include <stdbool.h>

/* sum + a * b[lane]: one instruction, no broadcast. `lane` is a constant once inlined; the
 * instruction wants it literal. */
SATTN_INLINE float32x4_t vec_fma_lane_f32x4(float32x4_t sum, float32x4_t a, float32x4_t b, int lane)
{
    switch (lane) {
    case 0:
        return vfmaq_laneq_f32(sum, a, b, 0);
    case 1:
        return vfmaq_laneq_f32(sum, a, b, 1);
    case 2:
        return vfmaq_laneq_f32(sum, a, b, 2);
    default:
        return vfmaq_laneq_f32(sum, a, b, 3);
    }
}

/* exp(t) by exp_poly.h, for t up to SATTN_LAZY_THRESHOLD and beyond (but below 88): 0 below
 * `lowest`, at -inf too; a NaN stays one. The sums run on -r, which needs no negation of n and
 * gives the same bits. */
SATTN_INLINE float32x4_t vec_exp_from_f32x4(float32x4_t t, const float lowest)
{
    const float32x4_t n = vrndnq_f32(vmulq_f32(t, vdupq_n_f32(SATTN_LOG2E_HI)));
    float32x4_t minus_r = vfmsq_f32(n, t, vdupq_n_f32(SATTN_LOG2E_HI));
    minus_r = vfmsq_f32(minus_r, t, vdupq_n_f32(SATTN_LOG2E_LO));
    float32x4_t p = vfmsq_f32(vdupq_n_f32(SATTN_EXP2_C5), vdupq_n_f32(SATTN_EXP2_C6), minus_r);
    p = vfmsq_f32(vdupq_n_f32(SATTN_EXP2_C4), p, minus_r);
    p = vfmsq_f32(vdupq_n_f32(SATTN_EXP2_C3), p, minus_r);
    p = vfmsq_f32(vdupq_n_f32(SATTN_EXP2_C2), p, minus_r);
    p = vfmsq_f32(vdupq_n_f32(SATTN_EXP2_C1), p, minus_r);
    p = vfmsq_f32(vdupq_n_f32(1.0f), p, minus_r);
    /* 2^n by adding n to the exponent: the result is a normal number wherever t is not below the
     * range. A NaN converts to 0, so it passes. */
    const uint32x4_t exponent = vreinterpretq_u32_s32(vshlq_n_s32(vcvtq_s32_f32(n), 23));
    const uint32x4_t scaled = vaddq_u32(vreinterpretq_u32_f32(p), exponent);
    const uint32x4_t is_below = vcltq_f32(t, vdupq_n_f32(lowest)); /* false for a NaN */
    return vreinterpretq_f32_u32(vbicq_u32(scaled, is_below));
}

SATTN_INLINE float32x4_t vec_exp_f32x4(float32x4_t t)
{
    return vec_exp_from_f32x4(t, SATTN_EXP_LOWEST);
}

SATTN_INLINE float32x4_t vec_fused_exp_f32x4(float32x4_t t)
{
    return vec_exp_from_f32x4(t, SATTN_FUSED_EXP_LOWEST);
}

enum { VEC_EACH = 4 };

/* p[u] = p[u] * r[u] + c for `count` vectors, 1 .. VEC_EACH: a step of Horner's rule. The functions
 * vec_*_each go step by step through several vectors, so that one's waiting is another's turn. */
SATTN_INLINE void vec_horner_f32x4(float32x4_t p[], const float32x4_t r[], float c, const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        p[u] = vfmaq_f32(vdupq_n_f32(c), p[u], r[u]);
}

/* The same with a constant of a table. Where the loop has no registers for constants, this one is
 * not read before the step before is done: compilers would read many ahead, and then spill them. */
SATTN_INLINE void vec_horner_in_f32x4(float32x4_t p[], const float32x4_t r[], const float *c,
                                      const int count, const bool has_registers)
{
    if (!has_registers)
        __asm__ volatile("" : "+r"(c), "+w"(p[0]));
    vec_horner_f32x4(p, r, *c, count);
}

/* x[u] = exp(x[u]) by exp_full_poly.h, over all of f32, for `count` vectors. A NaN stays one. */
SATTN_INLINE void vec_exp_full_in_each_f32x4(float32x4_t x[], const int count,
                                             const bool has_registers)
{
    const exp_full_numbers *table = &sattn_exp_full;
    if (!has_registers)
        __asm__ volatile("" : "+r"(table));
    const float32x4_t magic = vdupq_n_f32(table->magic);
    float32x4_t shifted[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        r[u] = vmaxq_f32(x[u], vdupq_n_f32(table->lowest));
        r[u] = vminq_f32(r[u], vdupq_n_f32(table->highest));
        shifted[u] = vfmaq_f32(magic, r[u], vdupq_n_f32(table->log2e));
    }
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const float32x4_t n = vsubq_f32(shifted[u], magic);
        r[u] = vfmsq_f32(r[u], n, vdupq_n_f32(table->ln2_hi));
        r[u] = vfmsq_f32(r[u], n, vdupq_n_f32(table->ln2_lo));
        p[u] = vdupq_n_f32(table->c6);
    }
    vec_horner_in_f32x4(p, r, &table->c5, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->c4, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->c3, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->c2, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->one, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->one, count, has_registers);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const uint32x4_t both = vreinterpretq_u32_f32(shifted[u]);
        const uint32x4_t half = vshrq_n_u32(both, 1);
        const uint32x4_t rest = vsubq_u32(both, half);
        p[u] = vmulq_f32(p[u], vreinterpretq_f32_u32(vshlq_n_u32(half, 23)));
        x[u] = vmulq_f32(p[u], vreinterpretq_f32_u32(vshlq_n_u32(rest, 23)));
    }
}

SATTN_INLINE void vec_exp_full_each_f32x4(float32x4_t x[], const int count)
{
    vec_exp_full_in_each_f32x4(x, count, true);
}

/* x[u] = tanh(x[u]) by tanh_poly.h, over all of f32, for `count` vectors: odd bit for bit, +-1 at
 * the infinities. A NaN stays one: it compares below the border, and x^3 takes it on. n is formed
 * as its negative, which needs no negation for r and gives the same bits. */
SATTN_INLINE void vec_tanh_in_each_f32x4(float32x4_t x[], const int count, const bool has_registers)
{
    const tanh_numbers *table = &sattn_tanh;
    if (!has_registers)
        __asm__ volatile("" : "+r"(table));
    const float32x4_t one = vdupq_n_f32(table->one);
    const float32x4_t magic = vdupq_n_f32(table->magic);
    const float32x4_t two_log2e = vdupq_n_f32(table->two_log2e);
    float32x4_t square[VEC_EACH], odd[VEC_EACH], shifted[VEC_EACH], r[VEC_EACH], p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        square[u] = vmulq_f32(x[u], x[u]);
        odd[u] = vdupq_n_f32(table->t6);
    }
    vec_horner_in_f32x4(odd, square, &table->t5, count, has_registers);
    vec_horner_in_f32x4(odd, square, &table->t4, count, has_registers);
    vec_horner_in_f32x4(odd, square, &table->t3, count, has_registers);
    vec_horner_in_f32x4(odd, square, &table->t2, count, has_registers);
    vec_horner_in_f32x4(odd, square, &table->t1, count, has_registers);
    vec_horner_in_f32x4(odd, square, &table->t0, count, has_registers);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        float32x4_t a = vabsq_f32(x[u]);
        odd[u] = vfmaq_f32(a, vmulq_f32(odd[u], square[u]), a);
        /* What follows has to wait: both polynomials at once need more registers than there are. */
        __asm__("" : "+w"(odd[u]), "+w"(a));
        r[u] = vminq_f32(a, vdupq_n_f32(table->limit));
        shifted[u] = vfmsq_f32(magic, r[u], two_log2e);
        r[u] = vfmaq_f32(vsubq_f32(shifted[u], magic), r[u], two_log2e);
        p[u] = vdupq_n_f32(table->e6);
    }
    vec_horner_in_f32x4(p, r, &table->e5, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->e4, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->e3, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->e2, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->e1, count, has_registers);
    vec_horner_in_f32x4(p, r, &table->one, count, has_registers);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const uint32x4_t minus_exponent = vshlq_n_u32(vreinterpretq_u32_f32(shifted[u]), 23);
        p[u] = vreinterpretq_f32_u32(vsubq_u32(vreinterpretq_u32_f32(p[u]), minus_exponent));
        const float32x4_t quotient = vdivq_f32(vdupq_n_f32(table->two), vaddq_f32(p[u], one));
        const uint32x4_t is_large = vcgeq_f32(vabsq_f32(x[u]), vdupq_n_f32(table->border));
        const float32x4_t size = vbslq_f32(is_large, vsubq_f32(one, quotient), odd[u]);
        x[u] = vbslq_f32(vdupq_n_u32(0x80000000u), x[u], size);
    }
}

SATTN_INLINE void vec_tanh_each_f32x4(float32x4_t x[], const int count)
{
    vec_tanh_in_each_f32x4(x, count, true);
}

SATTN_INLINE float32x4_t vec_exp_full_f32x4(float32x4_t x)
{
    vec_exp_full_each_f32x4(&x, 1);
    return x;
}

SATTN_INLINE float32x4_t vec_tanh_f32x4(float32x4_t x)
{
    vec_tanh_each_f32x4(&x, 1);
    return x;
}

/* Lane i of the result is the sum over the lanes of rows[i], neighbours first. */
SATTN_INLINE float32x4_t vec_hsum_rows_f32x4(const float32x4_t rows[4])
{
    return vpaddq_f32(vpaddq_f32(rows[0], rows[1]), vpaddq_f32(rows[2], rows[3]));
}

/* Rows become columns. */
SATTN_INLINE void vec_transpose_f32x4(float32x4_t m[4])
{
    const float64x2_t ac_lo = vreinterpretq_f64_f32(vtrn1q_f32(m[0], m[1])); /* 00 10 02 12 */
    const float64x2_t ac_hi = vreinterpretq_f64_f32(vtrn2q_f32(m[0], m[1])); /* 01 11 03 13 */
    const float64x2_t bd_lo = vreinterpretq_f64_f32(vtrn1q_f32(m[2], m[3]));
    const float64x2_t bd_hi = vreinterpretq_f64_f32(vtrn2q_f32(m[2], m[3]));
    m[0] = vreinterpretq_f32_f64(vtrn1q_f64(ac_lo, bd_lo));
    m[1] = vreinterpretq_f32_f64(vtrn1q_f64(ac_hi, bd_hi));
    m[2] = vreinterpretq_f32_f64(vtrn2q_f64(ac_lo, bd_lo));
    m[3] = vreinterpretq_f32_f64(vtrn2q_f64(ac_hi, bd_hi));
}

/* The first n lanes; all of them from 4 on, none for n <= 0. */
SATTN_INLINE uint32x4_t vec_tail_m4(int n)
{
    static const int32_t lane[4] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(lane), vdupq_n_s32(n));
}

/* The first n floats at p, 0 .. 4; the rest of the vector is 0. */
SATTN_INLINE float32x4_t vec_load_tail_f32x4(const float *p, int64_t n)
{
    float32x4_t v = vdupq_n_f32(0.0f);
    if (n >= 4)
        return vld1q_f32(p);
    if (n > 0)
        v = vld1q_lane_f32(p, v, 0);
    if (n > 1)
        v = vld1q_lane_f32(p + 1, v, 1);
    if (n > 2)
        v = vld1q_lane_f32(p + 2, v, 2);
    return v;
}

/* The first n lanes of value to `to`, n = 1 .. 3. */
SATTN_INLINE void vec_store_part_f32x4(float *to, float32x4_t value, int64_t n)
{
    vst1q_lane_f32(to, value, 0);
    if (n > 1)
        vst1q_lane_f32(to + 1, value, 1);
    if (n > 2)
        vst1q_lane_f32(to + 2, value, 2);
}

/* The same for any n: all lanes from 4 on, none for n <= 0. */
SATTN_INLINE void vec_store_tail_f32x4(float *to, float32x4_t value, int64_t n)
{
    if (n >= 4)
        vst1q_f32(to, value);
    else if (n > 0)
        vec_store_part_f32x4(to, value, n);
}

/* columns[u] lane i = rows[i][x + u] for u < n, n = 1 .. 4. */
SATTN_INLINE void vec_load_columns_f32x4(float32x4_t columns[4], const float *const rows[4],
                                         int64_t x, int64_t n)
{
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        columns[i] = vec_load_tail_f32x4(rows[i] + x, n);
    vec_transpose_f32x4(columns);
}

#endif
