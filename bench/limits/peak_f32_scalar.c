/* SPDX-License-Identifier: MIT
 *
 * peak_f32_scalar.c: what a strict scalar kernel can do at best: one multiplication and one
 * addition, each an instruction of its own (mulss and addss; fmul and fadd on AArch64).
 *
 * acc = acc * factor + offset, and not acc + a * b as in the vector loops: a product of two
 * constants would be computed once. Fourteen chains and the two constants take the sixteen
 * registers of the x86-64 baseline; the values tend to offset / (1 - factor) = 1. Built with
 * vectorization off. */
#include "bench/limits/limits_loops.h"
#include "kernels/vec/vec_base.h"

int64_t sattn_peak_f32_scalar(int64_t flops, float *sink)
{
    enum { CHAINS = 14, STEP_FLOPS = 2 * CHAINS };
    const int64_t steps = sattn_peak_steps(flops, STEP_FLOPS);
    const float factor = 0.75f;
    const float offset = 0.25f;
    float acc[CHAINS];
    SATTN_UNROLL(14)
    for (int i = 0; i < CHAINS; ++i)
        acc[i] = (float)(i + 2);
    SATTN_NO_UNROLL
    for (int64_t step = 0; step < steps; ++step) {
        SATTN_UNROLL(14)
        for (int i = 0; i < CHAINS; ++i)
            acc[i] = acc[i] * factor + offset;
    }
    float sum = 0.0f;
    SATTN_UNROLL(14)
    for (int i = 0; i < CHAINS; ++i)
        sum += acc[i];
    *sink = sum;
    return steps * STEP_FLOPS;
}
