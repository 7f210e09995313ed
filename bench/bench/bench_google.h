/* SPDX-License-Identifier: MIT
 *
 * bench_google.h: hands what was measured to Google Benchmark, for its own outputs. */
#ifndef SATTN_BENCH_BENCH_BENCH_GOOGLE_H
#define SATTN_BENCH_BENCH_BENCH_GOOGLE_H

#include "bench/bench/bench_rows.h"
#include "bench/environment/environment.h"

#include <stdbool.h>

/* Takes Google Benchmark's options; false if one is unknown, which has then been said. */
bool sattn_bench_google_begin(sattn_bench_options *options);

/* Registers every row with its rounds as repetitions, their measured times as manual time, and runs
 * that: it writes --benchmark_out, and with `display` its report on standard output. False: no
 * memory, which has then been said. */
bool sattn_bench_google_report(const sattn_bench_jobs *list, const sattn_environment *environment,
                               bool display);

#endif
