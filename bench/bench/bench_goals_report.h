/* SPDX-License-Identifier: MIT
 *
 * bench_goals_report.h: goals beside what was reached, for people and as JSON. */
#ifndef SATTN_BENCH_BENCH_BENCH_GOALS_REPORT_H
#define SATTN_BENCH_BENCH_BENCH_GOALS_REPORT_H

#include "bench/bench/bench_goals.h"

#include <jansson.h>

/* Lines of the table for those goals whose last job this was; the first job brings the head. */
void sattn_bench_print_goals_of(const sattn_bench_jobs *list, size_t job,
                                const sattn_caches *caches);

/* What the columns mean, the table of peers, sums, and what could not be measured. */
void sattn_bench_print_goals_end(const sattn_bench_jobs *list, const sattn_caches *caches);

/* The part of that about other libraries; nothing where there are none. */
void sattn_bench_print_goals_peers(const sattn_bench_jobs *list, const sattn_caches *caches);

/* One object for every goal and ISA whose row was run or could not be; NULL: no memory. */
json_t *sattn_bench_goals_array(const sattn_bench_jobs *list, const sattn_caches *caches);

#endif
