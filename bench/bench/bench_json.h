/* SPDX-License-Identifier: MIT
 *
 * bench_json.h: results of `simdattn bench` as a document (result.h). Each row has one entry of
 * run_type "iteration" for each of its rounds, and one "aggregate", the median, with all that is
 * known of the row; a failed row has one entry with error_occurred. */
#ifndef SATTN_BENCH_BENCH_BENCH_JSON_H
#define SATTN_BENCH_BENCH_BENCH_JSON_H

#include "bench/bench/bench_places.h"
#include "bench/bench/bench_rows.h"
#include "bench/environment/environment.h"

#include <jansson.h>

/* NULL: out of memory. */
json_t *sattn_bench_document(const sattn_bench_jobs *list, const sattn_bench_options *options,
                             const sattn_environment *environment, const sattn_places *places);

#endif
