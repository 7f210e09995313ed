/* SPDX-License-Identifier: MIT
 *
 * calls.h: what is measured, and what it is measured against: windows of calls of a kernel, and of
 * work of a reference loop. The time is that of the calls or of the work and nothing else. */
#ifndef SATTN_BENCH_MEASURE_CALLS_H
#define SATTN_BENCH_MEASURE_CALLS_H

#include "bench/measure/window.h"

#include <stdbool.h>
#include <stdint.h>

enum { SATTN_MEASURE_MAX_REFERENCES = 16, SATTN_MEASURE_MAX_PARTS = 8 };

/* Makes the compiler assume that memory reachable through `pointer` is read and written here. It
 * costs no instruction and takes nothing but a pointer. */
static inline void sattn_keep(const void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* A loop of known work. `run` does at least `work` units and returns how many it did. `prepare`, if
 * not NULL, runs before every window outside the time. */
typedef struct sattn_measure_reference {
    const char *name;
    int64_t (*run)(void *context, int64_t work);
    void *context;
    void (*prepare)(void *context);
    int threads;  /* that work in it; 0 is 1 */
    bool is_unit; /* it only counts in other units, as cycles, and bounds nothing */
} sattn_measure_reference;

/* What is measured. `call` is one call of the kernel, through this pointer; or `run`, if not NULL,
 * makes all calls of a window, and says how long they took, where another process makes them.
 * `prepare`, if not NULL, runs before every window outside the time: it restores inputs that calls
 * change. */
typedef struct sattn_measure_candidate {
    const char *name;
    void (*call)(void *context);
    sattn_window (*run)(void *context, int64_t calls);
    void (*prepare)(void *context);
    void *context;
    int threads; /* that work in a call; 0 is 1 */
    /* Of one with `run`: what it leaves here after a window, nanoseconds that parts of its calls
     * took; if one thread is at work, without what it spent off the CPU. */
    const int64_t *part_ns; /* [n_parts] */
    int n_parts;            /* <= SATTN_MEASURE_MAX_PARTS */
    /* Work of one call in the unit of each reference; 0: that reference does not apply to it. */
    double work[SATTN_MEASURE_MAX_REFERENCES];
} sattn_measure_candidate;

/* Runs `prepare`, if there is one. */
void sattn_prepare_calls(const sattn_measure_candidate *candidate);
/* Right before and right after what one thread does the width of its core is looked at (issue.h);
 * of several threads it is not known. */
sattn_window sattn_run_calls(const sattn_measure_candidate *candidate, int64_t calls);
/* Prepares and runs; *done receives the units that were done. */
sattn_window sattn_run_reference(const sattn_measure_reference *reference, int64_t work,
                                 int64_t *done);

#endif
