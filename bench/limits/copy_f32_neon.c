/* SPDX-License-Identifier: MIT
 *
 * copy_f32_neon.c: copies memory, four q registers per line, eight lines in a step. AArch64 cores
 * see by themselves that whole lines are overwritten: `bypass` changes nothing. */
#include "bench/limits/limits_loops.h"

#include <arm_neon.h>

SATTN_INLINE void copy_block(char *to, const char *from, size_t bytes, bool bypass)
{
    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    (void)bypass;
    SATTN_NO_UNROLL
    for (size_t at = 0; at < bytes; at += step) {
        SATTN_UNROLL(8)
        for (int i = 0; i < SATTN_READ_STEP_LINES; ++i) {
            const uint8_t *const line = (const uint8_t *)from + at + (size_t)i * SATTN_READ_LINE;
            uint8_t *const place = (uint8_t *)to + at + (size_t)i * SATTN_READ_LINE;
            const uint8x16_t q0 = vld1q_u8(line), q1 = vld1q_u8(line + 16);
            const uint8x16_t q2 = vld1q_u8(line + 32), q3 = vld1q_u8(line + 48);
            vst1q_u8(place, q0);
            vst1q_u8(place + 16, q1);
            vst1q_u8(place + 32, q2);
            vst1q_u8(place + 48, q3);
        }
    }
}

void sattn_copy_f32_neon(void *to, const void *from, size_t bytes, bool bypass)
{
    sattn_copy_with(to, from, bytes, bypass, copy_block);
}
