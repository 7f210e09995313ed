/* SPDX-License-Identifier: MIT
 *
 * vec_plain.h: what the plain C bodies (<op>_plain.h) share: words that let a compiler vectorise
 * them, and exp. No intrinsics here.
 *
 * A body is compiled once with vectorization off, as the strict scalar kernel, and once per ISA, as
 * what the compiler makes of it (`autovec`). */
#ifndef SATTN_KERNELS_VEC_PLAIN_H
#define SATTN_KERNELS_VEC_PLAIN_H

#include "kernels/vec/exp_poly.h"
#include "kernels/vec/vec_base.h"

#include <float.h>
#include <math.h>
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

/* exp(score) for score <= SATTN_LAZY_THRESHOLD; 0 below about SATTN_EXP_LOWEST (exp_poly.h). Adding
 * 1.5 * 2^23 rounds to an integer and leaves it in the low bits. Without FMA, t - n ln 2 takes the
 * place of t log2 e - n: the high part of ln 2 has so few digits that its product with n is exact
 * (Cody & Waite 1980). Selects choose between values that are needed anyway: a compiler may not
 * move arithmetic out of a branch, and then does not vectorise. At the clamp the power is 0
 * already. */
SATTN_INLINE float plain_exp(float score)
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
    return weight < FLT_MIN ? 0.0f : weight;
}

#endif
