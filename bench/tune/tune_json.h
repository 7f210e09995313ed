/* SPDX-License-Identifier: MIT
 *
 * tune_json.h: a run of `simdattn tune` as one JSON document. */
#ifndef SATTN_BENCH_TUNE_TUNE_JSON_H
#define SATTN_BENCH_TUNE_TUNE_JSON_H

#include "bench/tune/tune_run.h"

/* NULL: out of memory. */
json_t *sattn_tune_document(const sattn_tune_session *session, double seconds, bool is_there);

#endif
