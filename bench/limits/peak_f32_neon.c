/* SPDX-License-Identifier: MIT
 *
 * peak_f32_neon.c: multiply-adds on vector registers alone, nothing loaded or stored.
 *
 * Twenty chains of fmla: cores with four vector units and a latency of four steps need sixteen, and
 * of the thirty-two registers two hold the factors. */
#include "bench/limits/limits_loops.h"
#include "kernels/vec/vec_base.h"

#include <arm_neon.h>

int64_t sattn_peak_f32_neon(int64_t flops, float *sink)
{
    enum { CHAINS = 20, LANES = 4, STEP_FLOPS = 2 * CHAINS * LANES };
    const int64_t steps = sattn_peak_steps(flops, STEP_FLOPS);
    const float32x4_t a = vdupq_n_f32(SATTN_PEAK_FACTOR);
    const float32x4_t b = vdupq_n_f32(SATTN_PEAK_FACTOR);
    float32x4_t acc[CHAINS];
    SATTN_UNROLL(20)
    for (int i = 0; i < CHAINS; ++i)
        acc[i] = vdupq_n_f32((float)(i + 1));
    SATTN_NO_UNROLL
    for (int64_t step = 0; step < steps; ++step) {
        SATTN_UNROLL(20)
        for (int i = 0; i < CHAINS; ++i)
            acc[i] = vfmaq_f32(acc[i], a, b);
    }
    float32x4_t sum = acc[0];
    SATTN_UNROLL(20)
    for (int i = 1; i < CHAINS; ++i)
        sum = vaddq_f32(sum, acc[i]);
    *sink = vgetq_lane_f32(sum, 0);
    return steps * STEP_FLOPS;
}
