/* SPDX-License-Identifier: MIT
 *
 * calls.c: the loops that are timed. */
#include "bench/measure/calls.h"

#include "bench/measure/issue.h"

#include <stddef.h>

void sattn_prepare_calls(const sattn_measure_candidate *candidate)
{
    if (candidate->prepare != NULL)
        candidate->prepare(candidate->context);
}

static double width_for(int threads)
{
    return threads > 1 ? 0 : sattn_issue_width();
}

static sattn_window time_calls(const sattn_measure_candidate *candidate, int64_t calls)
{
    void (*const call)(void *) = candidate->call;
    void *const context = candidate->context;
    const sattn_window start = sattn_window_begin(candidate->threads);
    for (int64_t i = 0; i < calls; ++i) {
        call(context);
        sattn_keep(context);
    }
    return sattn_window_end(start);
}

sattn_window sattn_run_calls(const sattn_measure_candidate *candidate, int64_t calls)
{
    const double before = width_for(candidate->threads);
    sattn_window done = candidate->run != NULL ? candidate->run(candidate->context, calls)
                                               : time_calls(candidate, calls);
    done.width = sattn_issue_lesser(before, width_for(candidate->threads));
    return done;
}

sattn_window sattn_run_reference(const sattn_measure_reference *reference, int64_t work,
                                 int64_t *done)
{
    if (reference->prepare != NULL)
        reference->prepare(reference->context);
    const double before = width_for(reference->threads);
    sattn_window start = sattn_window_begin(reference->threads);
    start.all_work = true;
    *done = reference->run(reference->context, work);
    sattn_window all = sattn_window_end(start);
    all.width = sattn_issue_lesser(before, width_for(reference->threads));
    return all;
}
