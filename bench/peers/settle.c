/* SPDX-License-Identifier: MIT
 *
 * settle.c: looks at the processor time of the whole process while the calling thread sleeps. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "bench/peers/settle.h"

#include "bench/measure/clock.h"

#include <stdint.h>
#include <time.h>

bool sattn_settle(void)
{
    enum { LOOKS = 200, LOOK_NS = 500000 };
    for (int look = 0; look < LOOKS; ++look) {
        const int64_t others = sattn_process_cpu_ns() - sattn_thread_cpu_ns();
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        if (sattn_process_cpu_ns() - sattn_thread_cpu_ns() - others < LOOK_NS / 20)
            return true;
    }
    return false;
}
