/* SPDX-License-Identifier: MIT
 *
 * copy_f32_scalar.c: copies memory through general registers, 64 bits at a time, eight lines in a
 * step. Built with vectorization off; `bypass` changes nothing. */
#include "bench/limits/limits_loops.h"

#include <string.h>

SATTN_INLINE void copy_block(char *to, const char *from, size_t bytes, bool bypass)
{
    enum { WORDS = SATTN_READ_LINE / 8 };
    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    (void)bypass;
    SATTN_NO_UNROLL
    for (size_t at = 0; at < bytes; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const size_t line = at + (size_t)i * SATTN_READ_LINE;
            SATTN_UNROLL(8)
            for (int w = 0; w < WORDS; ++w) {
                uint64_t word;
                memcpy(&word, from + line + (size_t)w * 8, sizeof word);
                memcpy(to + line + (size_t)w * 8, &word, sizeof word);
            }
        }
    }
}

void sattn_copy_f32_scalar(void *to, const void *from, size_t bytes, bool bypass)
{
    sattn_copy_with(to, from, bytes, bypass, copy_block);
}
