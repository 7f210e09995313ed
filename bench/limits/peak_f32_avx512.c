/* SPDX-License-Identifier: MIT
 *
 * peak_f32_avx512.c: multiply-adds on zmm registers alone, nothing loaded or stored.
 *
 * Sixteen chains: a chain is a dependent vfmadd231ps, so two units with a latency of four steps
 * need eight of them, and a few more to stay busy while the loop turns. */
#include "bench/limits/limits_loops.h"
#include "kernels/vec/vec_base.h"

#include <immintrin.h>

int64_t sattn_peak_f32_avx512(int64_t flops, float *sink)
{
    enum { CHAINS = 16, LANES = 16, STEP_FLOPS = 2 * CHAINS * LANES };
    const int64_t steps = sattn_peak_steps(flops, STEP_FLOPS);
    const __m512 a = _mm512_set1_ps(SATTN_PEAK_FACTOR);
    const __m512 b = _mm512_set1_ps(SATTN_PEAK_FACTOR);
    __m512 acc[CHAINS];
    SATTN_UNROLL(16)
    for (int i = 0; i < CHAINS; ++i)
        acc[i] = _mm512_set1_ps((float)(i + 1));
    SATTN_NO_UNROLL
    for (int64_t step = 0; step < steps; ++step) {
        SATTN_UNROLL(16)
        for (int i = 0; i < CHAINS; ++i)
            acc[i] = _mm512_fmadd_ps(a, b, acc[i]);
    }
    __m512 sum = acc[0];
    SATTN_UNROLL(16)
    for (int i = 1; i < CHAINS; ++i)
        sum = _mm512_add_ps(sum, acc[i]);
    *sink = _mm512_cvtss_f32(sum);
    return steps * STEP_FLOPS;
}
