/* SPDX-License-Identifier: MIT
 *
 * bench_ratios.h: the rows of a job set against each other. */
#ifndef SATTN_BENCH_BENCH_BENCH_RATIOS_H
#define SATTN_BENCH_BENCH_BENCH_RATIOS_H

#include "bench/bench/bench_rows.h"

/* Fills the speed-ups and slowdowns of all rows that were measured, from ratios within rounds. */
void sattn_bench_set_ratios(sattn_bench_job *job);

#endif
