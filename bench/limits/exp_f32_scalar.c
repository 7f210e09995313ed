/* SPDX-License-Identifier: MIT
 *
 * exp_f32_scalar.c: exp of numbers in the first-level cache: load, the polynomial of the scalar
 * kernels, store, one number at a time. Built with vectorization off.
 *
 * Two numbers to a step: more would not fit the sixteen registers of the x86-64 baseline. */
#define PLAIN_SCALAR
#include "bench/limits/limits_loops.h"
#include "kernels/vec/vec_plain.h"

void sattn_exp_loop_f32_scalar(const float *from, float *to, int64_t passes)
{
    enum { NUMBERS = 2 };
    SATTN_NO_UNROLL
    for (int64_t pass = 0; pass < passes; ++pass) {
        SATTN_NO_UNROLL
        for (int at = 0; at < SATTN_EXP_LOOP_FLOATS; at += NUMBERS) {
            SATTN_UNROLL(2)
            for (int i = 0; i < NUMBERS; ++i)
                to[at + i] = plain_exp(from[at + i]);
        }
        SATTN_KEEP_ORDER();
    }
}
