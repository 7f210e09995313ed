/* SPDX-License-Identifier: MIT
 *
 * visit.h: which rows of a call are compared where not all are. */
#ifndef SATTN_BENCH_VERIFY_VISIT_H
#define SATTN_BENCH_VERIFY_VISIT_H

#include "bench/verify/compare.h"

typedef void sattn_verify_visitor(void *context, sattn_verify_place at);

/* Each selected row of a call with heads and rows once, with column 0. False: no memory, and
 * nothing was visited. */
bool sattn_verify_visit(const sattn_attention_args *args, const sattn_verify_selection *selection,
                        sattn_verify_visitor *visit, void *context);

#endif
