/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx512.c: exp of numbers in the first-level cache: load, the exp of the kernels'
 * weights, store. Four vectors at a time, so that the latency of one hides behind the others. */
#include "bench/limits/limits_loops.h"
#include "kernels/vec/exp_powers_avx512.h"

void sattn_exp_loop_f32_avx512(const float *from, float *to, int64_t passes)
{
    enum { LANES = 16, VECTORS = 4 };
    SATTN_NO_UNROLL
    for (int64_t pass = 0; pass < passes; ++pass) {
        SATTN_NO_UNROLL
        for (int at = 0; at < SATTN_EXP_LOOP_FLOATS; at += VECTORS * LANES) {
            __m512 v[VECTORS];
            SATTN_UNROLL(4)
            for (int i = 0; i < VECTORS; ++i)
                v[i] = vec_exp_f32x16(_mm512_load_ps(from + at + i * LANES));
            SATTN_UNROLL(4)
            for (int i = 0; i < VECTORS; ++i)
                _mm512_store_ps(to + at + i * LANES, v[i]);
        }
        SATTN_KEEP_ORDER();
    }
}
