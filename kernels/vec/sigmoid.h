/* SPDX-License-Identifier: MIT
 *
 * sigmoid.h: what sigmoid(x) = 1 / (1 + exp(-x)) is on all ISAs, so that they agree bit for bit.
 *
 * With e = exp(-|x|) by exp_full_poly.h, which is at most 1 and so never overflows, and t = e where
 * x is negative, else 1:
 *
 *   sigmoid(x) = t / (1 + e)
 *
 * Sum and quotient q are rounded, and where e is small that of the sum alone is up to 1 ULP of the
 * result. Both errors are in the residual t - q (1 + e) = (t - q) - q e: its difference is exact,
 * since q lies between t / 2 and t (Sterbenz 1974), and the rest is one fused multiply-add. A
 * residual weighs 1 / (1 + e) in the result; SATTN_SIGMOID_SLOPE e + 1 differs from that by at most
 * an eighth of it, and is spared a division. What is left is the error of exp, divided by 1 + e,
 * and the last rounding. Far below zero the result is e itself, so that subnormal results are
 * rounded once. */
#ifndef SATTN_KERNELS_VEC_SIGMOID_H
#define SATTN_KERNELS_VEC_SIGMOID_H

#define SATTN_SIGMOID_SLOPE (-0.5f)

#endif
