/* SPDX-License-Identifier: MIT
 *
 * calls.c: the loops that are timed. */
#include "bench/measure/calls.h"

#include <stddef.h>

void sattn_prepare_calls(const sattn_measure_candidate *candidate)
{
    if (candidate->prepare != NULL)
        candidate->prepare(candidate->context);
}

sattn_window sattn_run_calls(const sattn_measure_candidate *candidate, int64_t calls)
{
    if (candidate->run != NULL)
        return candidate->run(candidate->context, calls);
    void (*const call)(void *) = candidate->call;
    void *const context = candidate->context;
    const sattn_window start = sattn_window_begin(candidate->threads);
    for (int64_t i = 0; i < calls; ++i) {
        call(context);
        sattn_keep(context);
    }
    return sattn_window_end(start);
}

sattn_window sattn_run_reference(const sattn_measure_reference *reference, int64_t work,
                                 int64_t *done)
{
    if (reference->prepare != NULL)
        reference->prepare(reference->context);
    sattn_window start = sattn_window_begin(reference->threads);
    start.all_work = true;
    *done = reference->run(reference->context, work);
    return sattn_window_end(start);
}
