/* SPDX-License-Identifier: MIT
 *
 * peak_f32_avx2.c: multiply-adds on ymm registers alone, nothing loaded or stored.
 *
 * Twelve chains of vfmadd231ps and two factors: fourteen of the sixteen registers. Two units with a
 * latency of four or five steps need eight to ten chains. */
#include "bench/limits/limits_loops.h"
#include "kernels/vec/vec_base.h"

#include <immintrin.h>

int64_t sattn_peak_f32_avx2(int64_t flops, float *sink)
{
    enum { CHAINS = 12, LANES = 8, STEP_FLOPS = 2 * CHAINS * LANES };
    const int64_t steps = sattn_peak_steps(flops, STEP_FLOPS);
    const __m256 a = _mm256_set1_ps(SATTN_PEAK_FACTOR);
    const __m256 b = _mm256_set1_ps(SATTN_PEAK_FACTOR);
    __m256 acc[CHAINS];
    SATTN_UNROLL(12)
    for (int i = 0; i < CHAINS; ++i)
        acc[i] = _mm256_set1_ps((float)(i + 1));
    SATTN_NO_UNROLL
    for (int64_t step = 0; step < steps; ++step) {
        SATTN_UNROLL(12)
        for (int i = 0; i < CHAINS; ++i)
            acc[i] = _mm256_fmadd_ps(a, b, acc[i]);
    }
    __m256 sum = acc[0];
    SATTN_UNROLL(12)
    for (int i = 1; i < CHAINS; ++i)
        sum = _mm256_add_ps(sum, acc[i]);
    *sink = _mm256_cvtss_f32(sum);
    return steps * STEP_FLOPS;
}
