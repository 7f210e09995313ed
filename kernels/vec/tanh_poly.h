/* SPDX-License-Identifier: MIT
 *
 * tanh_poly.h: the numbers behind every ISA's tanh, so that all ISAs agree bit for bit.
 *
 * tanh is odd, so a = |x| is what is computed with, and x lends its sign at the end.
 *
 * a < 1   tanh(a) = a + a s P(s) with s = a^2 and P of degree 6: a minimax fit of the whole in
 *         relative error, refitted after each coefficient was rounded to float; its own error is
 *         4.7e-9, 0.08 units of 2^-24. The cubic term is at most a quarter of the result, and so is
 *         what its roundings weigh.
 * a >= 1  tanh(a) = 1 - 2 / (exp(2 a) + 1): the quotient is at most 0.24, and so is what the error
 *         of exp weighs. Hence one float for 2 log2 e is enough here, and 2^r is that of
 *         exp_poly.h. At SATTN_TANH_LIMIT the quotient is below half a unit of 1, so that any
 *         larger a may be replaced by it.
 *
 * Largest error with fused multiply-add: 1.06 ULP, at 1.0063; the steps below do not decrease
 * anywhere, across the border neither. Adding SATTN_ROUND_MAGIC to a number below 2^22 rounds it to
 * an integer, which is then in the low bits of the sum. */
#ifndef SATTN_KERNELS_VEC_TANH_POLY_H
#define SATTN_KERNELS_VEC_TANH_POLY_H

#include "kernels/vec/exp_poly.h"

#define SATTN_TANH_BORDER 1.0f
#define SATTN_TANH_LIMIT  10.0f

#define SATTN_TANH_C0 (-0x1.55553cp-2f)
#define SATTN_TANH_C1 0x1.110be4p-3f
#define SATTN_TANH_C2 (-0x1.b9623ap-5f)
#define SATTN_TANH_C3 0x1.6009a6p-6f
#define SATTN_TANH_C4 (-0x1.045ff6p-7f)
#define SATTN_TANH_C5 0x1.2da036p-9f
#define SATTN_TANH_C6 (-0x1.77cddap-12f)

#define SATTN_TWO_LOG2E   0x1.715476p+1f
#define SATTN_ROUND_MAGIC 0x1.8p23f

/* The same as numbers in memory, as those of exp_full_poly.h. */
typedef struct tanh_numbers {
    float limit, border, one, two, two_log2e, magic;
    float t6, t5, t4, t3, t2, t1, t0, e6, e5, e4, e3, e2, e1;
} tanh_numbers;

static const tanh_numbers sattn_tanh = {
    .limit = SATTN_TANH_LIMIT,
    .border = SATTN_TANH_BORDER,
    .one = 1.0f,
    .two = 2.0f,
    .two_log2e = SATTN_TWO_LOG2E,
    .magic = SATTN_ROUND_MAGIC,
    .t6 = SATTN_TANH_C6,
    .t5 = SATTN_TANH_C5,
    .t4 = SATTN_TANH_C4,
    .t3 = SATTN_TANH_C3,
    .t2 = SATTN_TANH_C2,
    .t1 = SATTN_TANH_C1,
    .t0 = SATTN_TANH_C0,
    .e6 = SATTN_EXP2_C6,
    .e5 = SATTN_EXP2_C5,
    .e4 = SATTN_EXP2_C4,
    .e3 = SATTN_EXP2_C3,
    .e2 = SATTN_EXP2_C2,
    .e1 = SATTN_EXP2_C1,
};

#endif
