/* SPDX-License-Identifier: MIT
 *
 * bench_json_row.h: what an entry of a result document says of a row, under keys that begin with
 * simdattn_. */
#ifndef SATTN_BENCH_BENCH_BENCH_JSON_ROW_H
#define SATTN_BENCH_BENCH_BENCH_JSON_ROW_H

#include "bench/bench/bench_rows.h"

#include <jansson.h>

/* What it is about: kernel, shape, data and cache. */
void sattn_bench_add_subject(json_t *entry, const sattn_bench_job *job, const sattn_bench_row *row);

/* Times, rates, shares of a bound, speed-ups; and what disturbed them. */
void sattn_bench_add_measured(json_t *entry, const sattn_bench_row *row);

/* What verifying found. */
void sattn_bench_add_errors(json_t *entry, const sattn_bench_row *row);

#endif
