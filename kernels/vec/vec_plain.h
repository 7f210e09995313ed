/* SPDX-License-Identifier: MIT
 *
 * vec_plain.h: what the plain C bodies (<op>_plain.h) share: words that let a compiler vectorise
 * them, ALiBi, exp and tanh. No intrinsics here.
 *
 * A body is compiled once with vectorization off, as the strict scalar kernel, and once per ISA, as
 * what the compiler makes of it (`autovec`). */
#ifndef SATTN_KERNELS_VEC_PLAIN_H
#define SATTN_KERNELS_VEC_PLAIN_H

#include "kernels/vec/exp_full_poly.h"
#include "kernels/vec/exp_poly.h"
#include "kernels/vec/tanh_poly.h"
#include "kernels/vec/vec_base.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The scalar kernel defines PLAIN_SCALAR, and is compiled with vectorization off. */
#ifdef PLAIN_SCALAR
#define PLAIN_SIMD(clauses)
#else
#define PLAIN_SIMD(clauses) SATTN_PRAGMA(omp simd clauses)
#endif

/* fmaf is one instruction where the target has it, and a slow library call elsewhere. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define PLAIN_HAS_FMA 1
#else
#define PLAIN_HAS_FMA 0
#endif

/* Clang vectorises reductions over a contracted a * b + c, but not over fmaf; GCC the reverse. */
SATTN_INLINE float plain_multiply_add(float a, float b, float c)
{
#if PLAIN_HAS_FMA && defined(__clang__)
#pragma STDC FP_CONTRACT ON
    return a * b + c;
#elif PLAIN_HAS_FMA
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* sum + a * b, rounded once. Without FMA by way of double, where the product is exact and the sum
 * rounded, before it is rounded to float: as if once, but where the first rounding ends just midway
 * between two floats. */
SATTN_INLINE float plain_add_product(float sum, float a, float b)
{
#if PLAIN_HAS_FMA
    return plain_multiply_add(a, b, sum);
#else
    return (float)((double)sum + (double)a * (double)b);
#endif
}

/* ALiBi: score + slope * distance, rounded once. */
SATTN_INLINE float plain_add_slope(float score, float slope, float distance)
{
    return plain_add_product(score, slope, distance);
}

/* exp(score) for score <= SATTN_LAZY_THRESHOLD; 0 below `least`, FLT_MIN or more. Adding 1.5 * 2^23
 * rounds to an integer and leaves it in the low bits. Without FMA, t - n ln 2 takes the place of
 * t log2 e - n: the high part of ln 2 has so few digits that its product with n is exact (Cody &
 * Waite 1980). Selects choose between values that are needed anyway: a compiler may not move
 * arithmetic out of a branch, and then does not vectorise. At the clamp the power is 0 already. */
SATTN_INLINE float plain_exp_from(float score, const float least)
{
    const float magic = 0x1.8p23f;
    const float t = score < -88.0f ? -88.0f : score;
    const float shifted = plain_multiply_add(t, SATTN_LOG2E_HI, magic);
    const float n = shifted - magic;
#if PLAIN_HAS_FMA
    const float r = fmaf(t, SATTN_LOG2E_LO, fmaf(t, SATTN_LOG2E_HI, -n));
#else
    const float ln2_hi = 0x1.62e4p-1f;
    const float ln2_lo = 0x1.7f7d1cp-20f;
    const float r = ((t - n * ln2_hi) - n * ln2_lo) * SATTN_LOG2E_HI;
#endif
    float p = plain_multiply_add(SATTN_EXP2_C6, r, SATTN_EXP2_C5);
    p = plain_multiply_add(p, r, SATTN_EXP2_C4);
    p = plain_multiply_add(p, r, SATTN_EXP2_C3);
    p = plain_multiply_add(p, r, SATTN_EXP2_C2);
    p = plain_multiply_add(p, r, SATTN_EXP2_C1);
    p = plain_multiply_add(p, r, 1.0f);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    const float weight = p * power;
    return weight < least ? 0.0f : weight;
}

/* 0 below about SATTN_EXP_LOWEST (exp_poly.h). */
SATTN_INLINE float plain_exp(float score)
{
    return plain_exp_from(score, FLT_MIN);
}

/* 0 below about SATTN_FUSED_EXP_LOWEST. */
SATTN_INLINE float plain_fused_exp(float score)
{
    return plain_exp_from(score, 0x1p-90f);
}

/* The float whose biased exponent is in the low bits of `exponent`, with a significand of 1. */
SATTN_INLINE float plain_power(uint32_t exponent)
{
    const uint32_t bits = exponent << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* `yes` or `no`. By their bits: where one of them is costly, or makes a constant of what follows, a
 * compiler makes a branch of ?:, and then does not vectorise; without vectors ?: is the quicker. */
SATTN_INLINE float plain_select(bool takes_yes, float yes, float no)
{
#ifdef PLAIN_SCALAR
    return takes_yes ? yes : no;
#else
    const uint32_t mask = takes_yes ? 0xffffffffu : 0;
    uint32_t yes_bits, no_bits;
    memcpy(&yes_bits, &yes, sizeof yes_bits);
    memcpy(&no_bits, &no, sizeof no_bits);
    yes_bits = (yes_bits & mask) | (no_bits & ~mask);
    memcpy(&yes, &yes_bits, sizeof yes);
    return yes;
#endif
}

/* exp(x) by exp_full_poly.h, over all of f32; a NaN stays one. */
SATTN_INLINE float plain_exp_full(float x)
{
    const float held = plain_select(x < SATTN_EXP_FULL_LOWEST, SATTN_EXP_FULL_LOWEST, x);
    const float t = plain_select(held > SATTN_EXP_FULL_HIGHEST, SATTN_EXP_FULL_HIGHEST, held);
    const float shifted = plain_multiply_add(t, SATTN_EXP_FULL_LOG2E, SATTN_EXP_FULL_MAGIC);
    const float n = shifted - SATTN_EXP_FULL_MAGIC;
    float r = plain_multiply_add(n, -SATTN_LN2_HI, t);
    r = plain_multiply_add(n, -SATTN_LN2_LO, r);
    float p = plain_multiply_add(SATTN_EXP_FULL_C6, r, SATTN_EXP_FULL_C5);
    p = plain_multiply_add(p, r, SATTN_EXP_FULL_C4);
    p = plain_multiply_add(p, r, SATTN_EXP_FULL_C3);
    p = plain_multiply_add(p, r, SATTN_EXP_FULL_C2);
    p = plain_multiply_add(p, r, 1.0f);
    p = plain_multiply_add(p, r, 1.0f);
    uint32_t both;
    memcpy(&both, &shifted, sizeof both);
    const uint32_t half = both >> 1;
    return p * plain_power(half) * plain_power(both - half);
}

/* x times 2^n, n being what SATTN_ROUND_MAGIC left in the low bits of `shifted`; x and the result
 * are normal numbers. */
SATTN_INLINE float plain_add_exponent(float x, float shifted)
{
    uint32_t bits, shifted_bits;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&shifted_bits, &shifted, sizeof shifted_bits);
    bits += shifted_bits << 23;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* tanh(x) by tanh_poly.h, over all of f32. A NaN compares below the border, and x^3 takes it on. */
SATTN_INLINE float plain_tanh(float x)
{
    const float a = fabsf(x);
    const float square = a * a;
    float odd = plain_multiply_add(SATTN_TANH_C6, square, SATTN_TANH_C5);
    odd = plain_multiply_add(odd, square, SATTN_TANH_C4);
    odd = plain_multiply_add(odd, square, SATTN_TANH_C3);
    odd = plain_multiply_add(odd, square, SATTN_TANH_C2);
    odd = plain_multiply_add(odd, square, SATTN_TANH_C1);
    odd = plain_multiply_add(odd, square, SATTN_TANH_C0);
    odd = plain_multiply_add(odd * square, a, a);

    const float t = a < SATTN_TANH_LIMIT ? a : SATTN_TANH_LIMIT;
    const float shifted = plain_multiply_add(t, SATTN_TWO_LOG2E, SATTN_ROUND_MAGIC);
    const float r = plain_multiply_add(t, SATTN_TWO_LOG2E, SATTN_ROUND_MAGIC - shifted);
    float p = plain_multiply_add(SATTN_EXP2_C6, r, SATTN_EXP2_C5);
    p = plain_multiply_add(p, r, SATTN_EXP2_C4);
    p = plain_multiply_add(p, r, SATTN_EXP2_C3);
    p = plain_multiply_add(p, r, SATTN_EXP2_C2);
    p = plain_multiply_add(p, r, SATTN_EXP2_C1);
    p = plain_multiply_add(p, r, 1.0f);
    const float power = plain_add_exponent(p, shifted);
#ifdef PLAIN_SCALAR /* may branch around the division */
    const float size = a >= SATTN_TANH_BORDER ? 1.0f - 2.0f / (power + 1.0f) : odd;
#else
    const float large = 1.0f - 2.0f / (power + 1.0f);
    const float size = plain_select(a >= SATTN_TANH_BORDER, large, odd);
#endif
    return copysignf(size, x);
}

#endif
