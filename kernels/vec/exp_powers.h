/* SPDX-License-Identifier: MIT
 *
 * exp_powers.h: exp(t) for softmax weights by powers of 2 that are looked up in registers, for ISAs
 * whose permutations take a float per lane. exp_poly.h has the split of log2 e, the limits, and
 * what all other ISAs do.
 *
 * exp(t) = 2^n * 2^r, where n is t * log2 e rounded to 16ths (AVX-512) or 8ths (AVX2), and r the
 * rest. 2^r = 1 + r * P(r) then takes P of degree 2 or 3 in place of 5, minimax in relative error
 * and refitted after each coefficient was rounded to float.
 *
 * Adding the MAGIC constant rounds, and leaves n in the low bits of the sum: in the lowest 4 (3)
 * the number i of a power 2^(i/16), above them the integer part of n. Shifted left by 19 (20), that
 * part is where an exponent is, and i falls into the significand's first bits. The table has each
 * power's bits less those of i there, so one integer addition makes 2^n. The constant's own bits
 * leave by the shift.
 *
 * The powers are rounded to float, by up to 0.79 units of 2^-24 (AVX2 0.54), the power 1 and hence
 * exp(0) = 1 not at all. Where the caller rounds otherwise than to nearest, AVX-512 rounds n to
 * nearest all the same; in AVX2 r is up to twice as far from 0, and the result off by up to 3.1.
 *
 * For t below the limit 2^n may come out as any number, and r as an infinity or a NaN, so the
 * result is set to 0. 2^n may be subnormal there too, which takes Intel's cores some hundred cycles
 * to multiply: AVX-512 masks it out of the last multiply-add, AVX2 sets it to 0 before. */
#ifndef SATTN_KERNELS_VEC_EXP_POWERS_H
#define SATTN_KERNELS_VEC_EXP_POWERS_H

#include "kernels/vec/exp_poly.h"

/* 16 powers: error of the polynomial 1.6e-9, 0.03 units of 2^-24. */
#define SATTN_POWERS16_MAGIC 0x1.8p+19f
#define SATTN_POWERS16_SHIFT 19
#define SATTN_POWERS16_C1    0x1.62e43p-1f
#define SATTN_POWERS16_C2    0x1.ebfff4p-3f
#define SATTN_POWERS16_C3    0x1.c6acdep-5f
#define SATTN_POWERS16                                                                             \
    0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7,            \
        0x3f75583f, 0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf,        \
        0x3f7ac0c7, 0x3f7d257d

/* 8 powers: error of the polynomial 2.0e-10. */
#define SATTN_POWERS8_MAGIC 0x1.8p+20f
#define SATTN_POWERS8_SHIFT 20
#define SATTN_POWERS8_C1    0x1.62e43p-1f
#define SATTN_POWERS8_C2    0x1.ebfbep-3f
#define SATTN_POWERS8_C3    0x1.c6b8b6p-5f
#define SATTN_POWERS8_C4    0x1.3b2a6ap-7f
#define SATTN_POWERS8                                                                              \
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7

#endif
