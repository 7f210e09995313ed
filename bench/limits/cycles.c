/* SPDX-License-Identifier: MIT
 *
 * cycles.c: counts cycles by a chain of additions. Each needs the last one's sum, so each takes one
 * cycle of the core's own clock, which no counter that user programs may read shows everywhere.
 *
 * The addend is a register: cores may carry out the addition of a constant while they rename. */
#include "bench/limits/limits_loops.h"

int64_t sattn_cycles_loop(int64_t cycles, uint32_t *sink)
{
    enum { CHAIN = 64 };
    uint64_t sum = 0, addend = 3;
    __asm__ volatile("" : "+r"(addend));
    int64_t done = 0;
    SATTN_NO_UNROLL
    do {
        SATTN_UNROLL(64)
        for (int i = 0; i < CHAIN; ++i) {
            sum += addend;
            __asm__ volatile("" : "+r"(sum)); /* the compiler must not see what the sum is */
        }
        done += CHAIN;
    } while (done < cycles);
    *sink = (uint32_t)sum;
    return done;
}
