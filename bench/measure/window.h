/* SPDX-License-Identifier: MIT
 *
 * window.h: a window of time, read from all clocks and counters at both ends.
 *
 *   const sattn_window start = sattn_window_begin(threads);
 *   work
 *   const sattn_window done = sattn_window_end(start);    differences */
#ifndef SATTN_BENCH_MEASURE_WINDOW_H
#define SATTN_BENCH_MEASURE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Share of a window that threads must have spent off the CPU for a preemption to matter. */
#define SATTN_WINDOW_AWAY 0.005
/* The same where all threads are to work all the time, but may have slept before: waking takes some
 * time on a CPU that is free, and long on one that is not. */
#define SATTN_WINDOW_LATE 0.1

typedef struct sattn_window {
    int64_t ns;        /* wall */
    int64_t cpu_ns;    /* processor time of all threads of the process */
    int64_t thread_ns; /* processor time of this thread */
    int64_t switches;  /* involuntary context switches of this thread, or where several work of
                          all threads of the process; -1: not known */
    double width;      /* of the core, the lesser of both ends (issue.h); 0: not known */
    int threads;       /* at work; 0 is 1 */
    bool all_work;     /* each of them from its begin to its end */
} sattn_window;

/* `threads` work in it, the calling one included. */
sattn_window sattn_window_begin(int threads);
sattn_window sattn_window_end(sattn_window start);

/* Its threads were off the CPU against their will for a noticeable part of the window. */
bool sattn_window_preempted(const sattn_window *done);
/* The time that a window counts for: wall time. Of a preempted one the best that can be said is how
 * long it was on the CPU, if this is the only thread that works; it stays preempted. */
int64_t sattn_window_charged_ns(const sattn_window *done);

#endif
