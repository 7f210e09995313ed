/* SPDX-License-Identifier: MIT
 *
 * bench_prepare.h: from a row to a verified call. */
#ifndef SATTN_BENCH_BENCH_BENCH_PREPARE_H
#define SATTN_BENCH_BENCH_BENCH_PREPARE_H

#include "bench/bench/bench_call.h"
#include "bench/bench/bench_rows.h"

/* Decides how much of the shape the row runs (all of it, or what `slow_seconds` allows a scalar or
 * autovec row), opens the call and verifies its output. Sets the row's state. Of the request, what
 * the row says itself (arguments, variant, threads) is not looked at. */
void sattn_bench_prepare(sattn_bench_row *row, const sattn_bench_request *request,
                         double slow_seconds, sattn_bench_call *call);

/* Whether the row is of a kind that may be cut. */
bool sattn_bench_may_cut(const sattn_bench_row *row);

#endif
