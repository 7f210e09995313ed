/* SPDX-License-Identifier: MIT
 *
 * read_f32_scalar.c: reads memory once into general registers, 64 bits at a time, in 1 to 8
 * parallel streams. Built with vectorization off.
 *
 * Four accumulators: with up to eight streams to address there are not registers for more, and four
 * dependent operations per cycle are as many as a core has loads for. */
#include "bench/limits/limits_loops.h"

#include <string.h>

enum { WORDS = SATTN_READ_LINE / 8 };

SATTN_INLINE uint32_t read_block(const char *from, size_t part, int streams, bool prefetching,
                                 size_t prefetch)
{
    const int lines = SATTN_READ_STEP_LINES / streams;
    const size_t step = (size_t)lines * SATTN_READ_LINE;
    uint64_t seen[4] = {0};
    SATTN_NO_UNROLL
    for (size_t at = 0; at < part; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const char *line =
                from + (size_t)(i / lines) * part + at + (size_t)(i % lines) * SATTN_READ_LINE;
            if (prefetching)
                __builtin_prefetch(sattn_read_ahead(line, prefetch));
            SATTN_UNROLL(8)
            for (int w = 0; w < WORDS; ++w) {
                uint64_t word;
                memcpy(&word, line + (size_t)w * 8, sizeof word);
                seen[w % 4] ^= word;
            }
        }
    }
    const uint64_t all = seen[0] ^ seen[1] ^ seen[2] ^ seen[3];
    return (uint32_t)(all ^ all >> 32);
}

uint32_t sattn_read_f32_scalar(const void *data, size_t bytes, int streams, int prefetch)
{
    return sattn_read_with(data, bytes, streams, prefetch, read_block);
}
