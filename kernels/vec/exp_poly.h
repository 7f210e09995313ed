/* SPDX-License-Identifier: MIT
 *
 * exp_poly.h: the numbers behind exp(t) for softmax weights. The polynomial is that of NEON and
 * plain C; the split of log2 e and the limits are those of all ISAs. AVX-512 and AVX2 look powers
 * of 2 up instead: exp_powers.h.
 *
 * exp(t) = 2^n * 2^r with n = round(t * log2 e) and r = t * log2 e - n in [-1/2, 1/2]. log2 e is
 * split in two floats: the first of the fused multiply-adds that form r leaves a number of at most
 * 1/2, the second adds what the first constant lacks, so the error does not grow with |t|.
 * 2^r = 1 + r * P(r) with P of degree 5: a minimax fit in relative error, refitted after each
 * coefficient was rounded to float; its own error is 3.0e-9, 0.05 units of 2^-24. The constant term
 * is exactly 1, hence exp(0) = 1 exactly.
 *
 * Below SATTN_EXP_LOWEST = ln 2^-126 the result is exactly 0: no weight is denormal.
 *
 * Below SATTN_FUSED_EXP_LOWEST = ln 2^-90 a fused kernel's weight is: next to the row's largest, at
 * least 1 in the end, it is beyond what f32 sums can see. Sums start from zero in each key block,
 * whose first products with V would be denormal under weights just above 2^-126, and each vector
 * with one takes Intel's cores some hundred cycles. Above 2^-90 no product is, unless |v| itself is
 * below 2^-36. Factors that rescale keep the lower limit: they meet sums, of weights that may
 * exceed 1 (docs/numerics.md, "Lost weights"). */
#ifndef SATTN_KERNELS_VEC_EXP_POLY_H
#define SATTN_KERNELS_VEC_EXP_POLY_H

#define SATTN_LOG2E_HI 0x1.715476p+0f
#define SATTN_LOG2E_LO 0x1.4ae0cp-26f

#define SATTN_EXP2_C1 0x1.62e43p-1f
#define SATTN_EXP2_C2 0x1.ebfbdcp-3f
#define SATTN_EXP2_C3 0x1.c6af7cp-5f
#define SATTN_EXP2_C4 0x1.3b2dep-7f
#define SATTN_EXP2_C5 0x1.5f082ep-10f
#define SATTN_EXP2_C6 0x1.416b52p-13f

#define SATTN_EXP_LOWEST       (-87.33654f)
#define SATTN_FUSED_EXP_LOWEST (-62.383244f)

#endif
