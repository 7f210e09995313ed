/* SPDX-License-Identifier: MIT
 *
 * clock.h: the clocks that measurements are made with, in nanoseconds. 0 where the system has no
 * such clock. */
#ifndef SATTN_BENCH_MEASURE_CLOCK_H
#define SATTN_BENCH_MEASURE_CLOCK_H

#include <stdint.h>

int64_t sattn_now_ns(void);         /* CLOCK_MONOTONIC */
int64_t sattn_process_cpu_ns(void); /* processor time of all threads of the process */
int64_t sattn_thread_cpu_ns(void);  /* processor time of the calling thread */

#endif
