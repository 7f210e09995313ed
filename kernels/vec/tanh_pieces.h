/* SPDX-License-Identifier: MIT
 *
 * tanh_pieces.h: tanh by one polynomial for each piece of its range, with the coefficients of a
 * lane's piece looked up in registers; for ISAs whose permutations take a float per lane. No
 * division, one evaluation for all arguments.
 *
 * tanh is odd, so a = |x|, held at SATTN_PIECES_LIMIT, is what is computed with, and x lends its
 * sign at the end. b = SATTN_PIECES_SLOPE a + SATTN_PIECES_OFFSET lies in [2, 32): four octaves, so
 * the two low bits of its exponent and the first bits of its significand number the pieces. They
 * are equally wide within an octave of b and twice as wide in the next, about as tanh flattens.
 *
 *   a in piece i    t = a - centre_i,    tanh(a) = base_i + t P_i(t)
 *
 * base_i = tanh(centre_i) but for the error that the fit wants there: centre_i is a float near the
 * middle of the piece for which base_i is a float too. So t is exact, the last multiply-add rounds
 * once, and P_i weighs only what tanh changes within a piece.
 *
 * In piece 0 the centre is 0. There `exact` tables take a itself for the base and fit P_0 to
 * (tanh(a) - a) / a, so that next to nothing of P_0 counts; for this base_0 is infinite and the
 * base min(a, base_i), with centres moved down where base_i would exceed an argument of its piece.
 * The other tables have base_0 = 0, P_0(0) = 1, and one step less.
 *
 * Fits are minimax in units of the last place, refitted after each coefficient was rounded to
 * float. Pieces, degree of t P(t), the fit's error and that of the whole over all of f32, in ULP:
 *
 *   AVX-512  16 pieces  degree 5  exact  fit 0.29  0.784
 *   AVX-512  32 pieces  degree 4         fit 0.97  1.943
 *   AVX2      8 pieces  degree 7  exact  fit 0.19  0.785
 *   AVX2      8 pieces  degree 6         fit 1.09  1.586
 *
 * At the limit the result rounds to 1. A NaN passes: it is the second operand of each minimum. */
#ifndef SATTN_KERNELS_VEC_TANH_PIECES_H
#define SATTN_KERNELS_VEC_TANH_PIECES_H

#define SATTN_PIECES_SLOPE  3.25f
#define SATTN_PIECES_OFFSET 2.0f
#define SATTN_PIECES_LIMIT  9.2f

#endif
