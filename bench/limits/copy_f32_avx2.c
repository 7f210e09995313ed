/* SPDX-License-Identifier: MIT
 *
 * copy_f32_avx2.c: copies memory, two ymm registers per line, eight lines in a step
 * (copy_f32_avx512.c says why some stores bypass the caches). */
#include "bench/limits/limits_loops.h"

#include <immintrin.h>

SATTN_INLINE void copy_block(char *to, const char *from, size_t bytes, bool bypass)
{
    enum { HALVES = 2, HALF = SATTN_READ_LINE / HALVES };
    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    SATTN_NO_UNROLL
    for (size_t at = 0; at < bytes; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const char *const line = from + at + (size_t)i * SATTN_READ_LINE;
            char *const place = to + at + (size_t)i * SATTN_READ_LINE;
            const __m256i low = _mm256_loadu_si256((const void *)line);
            const __m256i high = _mm256_loadu_si256((const void *)(line + HALF));
            if (bypass) {
                _mm256_stream_si256((void *)place, low);
                _mm256_stream_si256((void *)(place + HALF), high);
            } else {
                _mm256_storeu_si256((void *)place, low);
                _mm256_storeu_si256((void *)(place + HALF), high);
            }
        }
    }
    if (bypass)
        _mm_sfence();
}

void sattn_copy_f32_avx2(void *to, const void *from, size_t bytes, bool bypass)
{
    sattn_copy_with(to, from, bytes, bypass, copy_block);
}
