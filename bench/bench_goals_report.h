/* SPDX-License-Identifier: MIT
 *
 * bench_goals_report.h: goals beside what was reached, for people and as JSON. */
#ifndef SATTN_BENCH_BENCH_GOALS_REPORT_H
#define SATTN_BENCH_BENCH_GOALS_REPORT_H

#include "bench/bench_goals.h"

#include <jansson.h>

/* The table, what its columns mean, and what could not be measured. */
void sattn_bench_print_goals(const sattn_bench_jobs *list, const sattn_caches *caches);

/* One object for every goal and ISA whose row was run or could not be; NULL: no memory. */
json_t *sattn_bench_goals_array(const sattn_bench_jobs *list, const sattn_caches *caches);

#endif
