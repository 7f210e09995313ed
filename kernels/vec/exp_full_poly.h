/* SPDX-License-Identifier: MIT
 *
 * exp_full_poly.h: the numbers behind every ISA's exp over all of f32 (the op `exp`), so that all
 * ISAs agree bit for bit. Softmax needs less and uses exp_poly.h.
 *
 * x is first held within [SATTN_EXP_FULL_LOWEST, SATTN_EXP_FULL_HIGHEST]: at these ends the result
 * is 0 and +inf already. exp(x) = 2^n * exp(r) with n = round(x * log2 e) and r = x - n ln 2. ln 2
 * is split in two floats, the high one of so few digits that n times it is exact, with and without
 * fused multiply-add (Cody & Waite 1980); so r is rounded once. exp(r) = 1 + r * (1 + r * Q(r))
 * with Q of degree 4: a minimax fit of the whole in relative error on [-ln 2 / 2, ln 2 / 2],
 * refitted after each coefficient was rounded to float; its own error is 3.1e-9, 0.05 units of
 * 2^-24.
 *
 * Times 2^n is one rounding: AVX-512 has an instruction, the others multiply by two powers of two
 * about 2^(n/2), of which only the last can leave the normal numbers where the result is not 0.
 * SATTN_EXP_FULL_MAGIC rounds as SATTN_ROUND_MAGIC does, and leaves n + 254 in the low bits: half
 * of it, and what is left, are the biased exponents of the two powers. At the lowest x these are 0,
 * so no product underflows, as it does on the way there; that takes Intel's cores some hundred
 * cycles. AVX-512 has no need to hold x from below: it masks results of 0, all below
 * SATTN_EXP_FULL_ZERO, for the same reason. */
#ifndef SATTN_KERNELS_VEC_EXP_FULL_POLY_H
#define SATTN_KERNELS_VEC_EXP_FULL_POLY_H

#define SATTN_EXP_FULL_LOWEST  (-176.0f)
#define SATTN_EXP_FULL_ZERO    (-104.0f)
#define SATTN_EXP_FULL_HIGHEST 89.0f

#define SATTN_EXP_FULL_LOG2E 0x1.715476p+0f
#define SATTN_EXP_FULL_MAGIC (0x1.8p23f + 254.0f)
#define SATTN_LN2_HI         0x1.62e4p-1f
#define SATTN_LN2_LO         0x1.7f7d1cp-20f

#define SATTN_EXP_FULL_C2 0x1.fffffcp-2f
#define SATTN_EXP_FULL_C3 0x1.555492p-3f
#define SATTN_EXP_FULL_C4 0x1.5558bp-5f
#define SATTN_EXP_FULL_C5 0x1.12399cp-7f
#define SATTN_EXP_FULL_C6 0x1.6a4ed2p-10f

/* The same as numbers in memory, for ISAs that broadcast them.
 *
 * The functions vec_*_in_* are told whether the loop has registers for their constants. One that
 * has several functions in it has not: then the address of the table is hidden, and constants are
 * read where they are used. Else compilers load them ahead of the loop, and then spill them. */
typedef struct exp_full_numbers {
    float lowest, zero, highest, log2e, magic, ln2_hi, ln2_lo, c6, c5, c4, c3, c2, one;
} exp_full_numbers;

static const exp_full_numbers sattn_exp_full = {
    .lowest = SATTN_EXP_FULL_LOWEST,
    .zero = SATTN_EXP_FULL_ZERO,
    .highest = SATTN_EXP_FULL_HIGHEST,
    .log2e = SATTN_EXP_FULL_LOG2E,
    .magic = SATTN_EXP_FULL_MAGIC,
    .ln2_hi = SATTN_LN2_HI,
    .ln2_lo = SATTN_LN2_LO,
    .c6 = SATTN_EXP_FULL_C6,
    .c5 = SATTN_EXP_FULL_C5,
    .c4 = SATTN_EXP_FULL_C4,
    .c3 = SATTN_EXP_FULL_C3,
    .c2 = SATTN_EXP_FULL_C2,
    .one = 1.0f,
};

#endif
