/* SPDX-License-Identifier: MIT
 *
 * calibrate.c: windows that grow until one is long enough to tell what fills it. */
#include "bench/measure/calibrate.h"

#include "bench/measure/statistics.h"

#include <math.h>

static const int64_t most_calls = (int64_t)1 << 40;
static const int64_t most_work = (int64_t)1 << 60;

static int64_t at_least_one(double count, int64_t most)
{
    return !(count > 1) ? 1 : count > (double)most ? most : (int64_t)count;
}

/* Time of one call from the fastest of three windows of `calls`: preemption only ever adds. */
static double call_ns(const sattn_measure_candidate *candidate, int64_t calls)
{
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        sattn_prepare_calls(candidate);
        const double ns = fmax((double)sattn_run_calls(candidate, calls).ns, 1);
        best = i == 0 || ns < best ? ns : best;
    }
    return best / (double)calls;
}

int64_t sattn_calibrate_calls(const sattn_measure_candidate *candidate, double window_ns)
{
    /* The first call pays for page faults and cold caches: only if it is very long does it count.
     */
    sattn_prepare_calls(candidate);
    if ((double)sattn_run_calls(candidate, 1).ns >= 20 * window_ns)
        return 1;
    int64_t calls = 1;
    for (;;) {
        const double fill = window_ns / (call_ns(candidate, calls) * (double)calls);
        if (fill <= 4 || calls >= most_calls)
            return at_least_one(ceil((double)calls * fill), most_calls);
        calls = at_least_one((double)calls * fmin(fill, 16), most_calls);
    }
}

double sattn_calibrate_rate(const sattn_measure_reference *reference, double window_ns)
{
    int64_t work = 1;
    for (;;) {
        int64_t done;
        const double ns = fmax((double)sattn_run_reference(reference, work, &done).ns, 1);
        if (ns >= window_ns / 4 || done >= most_work / 16)
            return (double)done / ns;
        work = at_least_one((double)done * fmin(window_ns / ns, 16), most_work);
    }
}

int64_t sattn_work_for(double rate, int64_t ns)
{
    return at_least_one(rate * (double)ns, most_work);
}

static void empty_call(void *context)
{
    (void)context;
}

double sattn_empty_call_ns(double window_ns)
{
    /* volatile: the compiler must not see which function it is */
    void (*volatile hidden)(void *) = empty_call;
    const sattn_measure_candidate candidate = {.name = "empty", .call = hidden};
    const int64_t calls = sattn_calibrate_calls(&candidate, window_ns);
    double samples[5];
    for (int i = 0; i < 5; ++i)
        samples[i] = (double)sattn_run_calls(&candidate, calls).ns / (double)calls;
    return sattn_stat_of(samples, 5).median;
}
