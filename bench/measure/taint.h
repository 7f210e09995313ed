/* SPDX-License-Identifier: MIT
 *
 * taint.h: what disturbed windows of time, from inside (preemption) and from outside (throttling of
 * the control group, steal of the virtual CPU, another hardware thread on the core). */
#ifndef SATTN_BENCH_MEASURE_TAINT_H
#define SATTN_BENCH_MEASURE_TAINT_H

#include "bench/environment/cgroup.h"
#include "bench/measure/window.h"

#include <stdbool.h>
#include <stdint.h>

/* Counts of -1: this system does not say. */
typedef struct sattn_taint {
    int windows;         /* windows measured, those of references included */
    int tainted;         /* of these, windows with at least one of the following */
    int64_t switches;    /* involuntary context switches of this thread */
    int64_t throttled;   /* periods in which the control group was throttled */
    int64_t steal_ticks; /* of this CPU, 10 ms each on most systems; coarse */
    int64_t shared;      /* rounds beside another hardware thread on the core */
    bool kept;           /* too few clean rounds: the statistics include tainted ones */
} sattn_taint;

/* Nothing measured, nothing known. */
sattn_taint sattn_taint_none(void);
/* Counts one window; returns whether it was preempted. */
bool sattn_taint_add_window(sattn_taint *taint, const sattn_window *done);

/* Counts one round by the least width of the core around its windows (issue.h), 0 if that is not
 * known, and `is_tainted` by anything else; returns whether it is tainted. */
bool sattn_taint_add_round(sattn_taint *taint, double width, bool is_tainted);

/* The counters of what comes from outside. They are too coarse to be read around each window: one
 * reading stands for all windows since the last. */
typedef struct sattn_outside {
    sattn_cgroup cgroup;
    int cpu; /* the only one this thread may run on, or -1 */
    int64_t throttled_so_far, steal_so_far;
    int64_t throttled, steal; /* between the last two readings; -1: not known */
} sattn_outside;

void sattn_outside_begin(sattn_outside *outside);
/* Reads the counters; returns whether one has moved since the last reading. */
bool sattn_outside_moved(sattn_outside *outside);
/* Counts what the last reading found. */
void sattn_taint_add_outside(sattn_taint *taint, const sattn_outside *outside);

/* Steal ticks of `cpu` (or of all CPUs for -1) since boot, from /proc/stat below `root`
 * (sysfile.h); -1: not known. */
int64_t sattn_steal_ticks(const char *root, int cpu);

#endif
