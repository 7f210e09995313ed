/* SPDX-License-Identifier: MIT
 *
 * bench_list.h: names of what a run consists of. */
#ifndef SATTN_BENCH_BENCH_BENCH_LIST_H
#define SATTN_BENCH_BENCH_BENCH_LIST_H

#include "bench/bench/bench_rows.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the ops of a job's rows: "qk", "fused and chain". */
void sattn_bench_job_ops(const sattn_bench_job *job, char *text, size_t size);

/* Prints the list: all about shapes and rows, or the bare names of the rows. */
void sattn_bench_print_list(const sattn_bench_jobs *list, bool bare, bool with_goals);

#endif
