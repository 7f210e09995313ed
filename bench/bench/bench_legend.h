/* SPDX-License-Identifier: MIT
 *
 * bench_legend.h: what the columns of the tables mean. */
#ifndef SATTN_BENCH_BENCH_BENCH_LEGEND_H
#define SATTN_BENCH_BENCH_BENCH_LEGEND_H

#include "bench/bench/bench_rows.h"

/* Only what these jobs need. */
void sattn_bench_print_legend(const sattn_bench_jobs *list);

#endif
