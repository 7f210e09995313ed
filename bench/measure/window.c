/* SPDX-License-Identifier: MIT
 *
 * window.c: the wall clock is read last at the beginning and first at the end, so that no other
 * reading is in its time. */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include "bench/measure/window.h"

#include "bench/measure/clock.h"

#include <sys/resource.h>

static int64_t involuntary_switches(int threads)
{
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    return getrusage(threads > 1 ? RUSAGE_SELF : RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
#else
    (void)threads;
    return -1;
#endif
}

sattn_window sattn_window_begin(int threads)
{
    sattn_window start = {.threads = threads};
    start.switches = involuntary_switches(threads);
    start.cpu_ns = sattn_process_cpu_ns();
    start.thread_ns = sattn_thread_cpu_ns();
    start.ns = sattn_now_ns();
    return start;
}

sattn_window sattn_window_end(sattn_window start)
{
    sattn_window done = {.threads = start.threads, .all_work = start.all_work};
    done.ns = sattn_now_ns() - start.ns;
    done.thread_ns = sattn_thread_cpu_ns() - start.thread_ns;
    done.cpu_ns = sattn_process_cpu_ns() - start.cpu_ns;
    const int64_t switches = involuntary_switches(start.threads);
    done.switches = switches < 0 || start.switches < 0 ? -1 : switches - start.switches;
    return done;
}

/* Without a count of switches, time off the CPU alone says it; of several threads it says nothing,
 * since one that waits for the others may sleep, but where none has to wait. A thread that no CPU
 * takes up is not switched from one. */
bool sattn_window_preempted(const sattn_window *done)
{
    if (done->threads <= 1)
        return done->switches != 0 &&
               (double)(done->ns - done->thread_ns) > SATTN_WINDOW_AWAY * (double)done->ns;
    const double all = (double)done->threads * (double)done->ns;
    const double away = all - (double)done->cpu_ns;
    return (done->switches > 0 && away > SATTN_WINDOW_AWAY * all) ||
           (done->all_work && away > SATTN_WINDOW_LATE * all);
}

int64_t sattn_window_charged_ns(const sattn_window *done)
{
    const bool alone = (double)done->cpu_ns <= 1.02 * (double)done->thread_ns;
    if (sattn_window_preempted(done) && alone && done->thread_ns > 0)
        return done->thread_ns;
    return done->ns;
}
