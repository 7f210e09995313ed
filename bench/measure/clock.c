/* SPDX-License-Identifier: MIT
 *
 * clock.c: POSIX clocks. CLOCK_MONOTONIC, not CLOCK_MONOTONIC_RAW: on Linux the latter may need a
 * system call, and the slewing of the former is far below what windows of a millisecond show. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "bench/measure/clock.h"

#include <time.h>

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t sattn_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t sattn_process_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t sattn_thread_cpu_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
