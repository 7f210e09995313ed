/* SPDX-License-Identifier: MIT
 *
 * bench_report.h: results of `simdattn bench` for people. */
#ifndef SATTN_BENCH_BENCH_BENCH_REPORT_H
#define SATTN_BENCH_BENCH_BENCH_REPORT_H

#include "bench/bench/bench_places.h"
#include "bench/bench/bench_rows.h"
#include "bench/environment/environment.h"

/* One line: CPU, compiler, date, commit, threads; and one of the command, if `arguments` are not
 * "".
 */
void sattn_bench_print_header(const sattn_environment *environment, const sattn_places *places,
                              const char *arguments);
/* A shape and its rows. */
void sattn_bench_print_job(const sattn_bench_job *job);
/* What failed or is slower than its autovec sibling, where the results are (`out` may be NULL). */
void sattn_bench_print_footer(const sattn_bench_jobs *list, double seconds, const char *out);

#endif
