/* SPDX-License-Identifier: MIT
 *
 * calibrate.h: how much fills a window. */
#ifndef SATTN_BENCH_MEASURE_CALIBRATE_H
#define SATTN_BENCH_MEASURE_CALIBRATE_H

#include "bench/measure/calls.h"

#include <stdint.h>

/* Calls that fill `window_ns`, at least one. */
int64_t sattn_calibrate_calls(const sattn_measure_candidate *candidate, double window_ns);
/* Units per nanosecond of a reference. */
double sattn_calibrate_rate(const sattn_measure_reference *reference, double window_ns);
/* Work that fills `ns` at a rate, at least 1. */
int64_t sattn_work_for(double rate, int64_t ns);

/* What a call of an empty function costs in the loop that is timed. */
double sattn_empty_call_ns(double window_ns);

#endif
