/* SPDX-License-Identifier: MIT
 *
 * read_f32_avx2.c: reads memory once, two ymm registers per line, in 1 to 8 parallel streams.
 *
 * Values are combined by exclusive or (read_f32_avx512.c says why), eight accumulators at a time.
 */
#include "bench/limits/limits_loops.h"

#include <immintrin.h>

SATTN_INLINE uint32_t read_block(const char *from, size_t part, int streams, bool prefetching,
                                 size_t prefetch)
{
    const int lines = SATTN_READ_STEP_LINES / streams;
    const size_t step = (size_t)lines * SATTN_READ_LINE;
    __m256i seen[SATTN_READ_STEP_LINES];
    SATTN_UNROLL(8)
    for (int i = 0; i < SATTN_READ_STEP_LINES; ++i)
        seen[i] = _mm256_setzero_si256();
    SATTN_NO_UNROLL
    for (size_t at = 0; at < part; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const char *line =
                from + (size_t)(i / lines) * part + at + (size_t)(i % lines) * SATTN_READ_LINE;
            if (prefetching)
                _mm_prefetch(sattn_read_ahead(line, prefetch), _MM_HINT_T0);
            const __m256i low = _mm256_loadu_si256((const void *)line);
            const __m256i high = _mm256_loadu_si256((const void *)(line + 32));
            seen[i] = _mm256_xor_si256(_mm256_xor_si256(seen[i], low), high);
        }
    }
    __m256i all = seen[0];
    SATTN_UNROLL(8)
    for (int i = 1; i < SATTN_READ_STEP_LINES; ++i)
        all = _mm256_xor_si256(all, seen[i]);
    const __m128i x4 = _mm_xor_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const __m128i x2 = _mm_xor_si128(x4, _mm_unpackhi_epi64(x4, x4));
    return (uint32_t)_mm_cvtsi128_si32(_mm_xor_si128(x2, _mm_srli_si128(x2, 4)));
}

uint32_t sattn_read_f32_avx2(const void *data, size_t bytes, int streams, int prefetch)
{
    return sattn_read_with(data, bytes, streams, prefetch, read_block);
}
