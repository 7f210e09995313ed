/* SPDX-License-Identifier: MIT
 *
 * bench_split.h: a decoder's step and what each of its parts takes of it, by ISA. */
#ifndef SATTN_BENCH_BENCH_BENCH_SPLIT_H
#define SATTN_BENCH_BENCH_BENCH_SPLIT_H

#include "bench/bench/bench_rows.h"

/* A table below that of the job's rows; nothing where the job has no parts. */
void sattn_bench_print_split(const sattn_bench_job *job);

#endif
