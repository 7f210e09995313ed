/* SPDX-License-Identifier: MIT
 *
 * copy_f32_avx512.c: copies memory, a zmm register at a time, eight lines in a step.
 *
 * Stores that bypass the caches (vmovntps) need whole lines: they spare reading what they
 * overwrite, and are the fastest way into memory and the slowest into a cache. */
#include "bench/limits/limits_loops.h"

#include <immintrin.h>

SATTN_INLINE void copy_block(char *to, const char *from, size_t bytes, bool bypass)
{
    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    SATTN_NO_UNROLL
    for (size_t at = 0; at < bytes; at += step) {
        __m512i line[SATTN_READ_STEP_LINES];
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i)
            line[i] = _mm512_loadu_si512(from + at + (size_t)i * SATTN_READ_LINE);
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            char *const place = to + at + (size_t)i * SATTN_READ_LINE;
            if (bypass)
                _mm512_stream_si512((void *)place, line[i]);
            else
                _mm512_storeu_si512(place, line[i]);
        }
    }
    if (bypass)
        _mm_sfence();
}

void sattn_copy_f32_avx512(void *to, const void *from, size_t bytes, bool bypass)
{
    sattn_copy_with(to, from, bytes, bypass, copy_block);
}
