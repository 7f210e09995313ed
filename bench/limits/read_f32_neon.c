/* SPDX-License-Identifier: MIT
 *
 * read_f32_neon.c: reads memory once, four q registers per line, in 1 to 8 parallel streams.
 *
 * Values are combined by exclusive or, an integer operation that costs the same whatever the bytes
 * hold; eight accumulators keep its latency out of the way. */
#include "bench/limits/limits_loops.h"

#include <arm_neon.h>

SATTN_INLINE uint32_t read_block(const char *from, size_t part, int streams, bool prefetching,
                                 size_t prefetch)
{
    const int lines = SATTN_READ_STEP_LINES / streams;
    const size_t step = (size_t)lines * SATTN_READ_LINE;
    uint8x16_t seen[SATTN_READ_STEP_LINES];
    SATTN_UNROLL(8)
    for (int i = 0; i < SATTN_READ_STEP_LINES; ++i)
        seen[i] = vdupq_n_u8(0);
    SATTN_NO_UNROLL
    for (size_t at = 0; at < part; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const char *line =
                from + (size_t)(i / lines) * part + at + (size_t)(i % lines) * SATTN_READ_LINE;
            if (prefetching)
                __builtin_prefetch(sattn_read_ahead(line, prefetch));
            const uint8_t *bytes = (const uint8_t *)line;
            const uint8x16_t x01 = veorq_u8(vld1q_u8(bytes), vld1q_u8(bytes + 16));
            const uint8x16_t x23 = veorq_u8(vld1q_u8(bytes + 32), vld1q_u8(bytes + 48));
            seen[i] = veorq_u8(seen[i], veorq_u8(x01, x23));
        }
    }
    uint8x16_t all = seen[0];
    SATTN_UNROLL(8)
    for (int i = 1; i < SATTN_READ_STEP_LINES; ++i)
        all = veorq_u8(all, seen[i]);
    const uint64x2_t x2 = vreinterpretq_u64_u8(all);
    const uint64_t x1 = vgetq_lane_u64(x2, 0) ^ vgetq_lane_u64(x2, 1);
    return (uint32_t)(x1 ^ x1 >> 32);
}

uint32_t sattn_read_f32_neon(const void *data, size_t bytes, int streams, int prefetch)
{
    return sattn_read_with(data, bytes, streams, prefetch, read_block);
}
