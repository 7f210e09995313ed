/* SPDX-License-Identifier: MIT
 *
 * bench_call.h: one row ready to be called: a plan of the library with its kernel forced, and the
 * workspace for it. */
#ifndef SATTN_BENCH_BENCH_CALL_H
#define SATTN_BENCH_BENCH_CALL_H

#include "bench/bench_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_bench_call {
    sattn_plan *plan;
    void *workspace;
    size_t workspace_size;
    const sattn_workload *workload;
    sattn_pointers first; /* of set 0 */
    int64_t *cursor;      /* next set; shared by all that walk over the sets */
    sattn_status status;  /* of the last call that failed */
} sattn_bench_call;

/* `args` is the workload's whole call or a part of it. False: refused, or no memory; `why` says it.
 */
bool sattn_bench_call_open(sattn_bench_call *call, const sattn_workload *workload,
                           const sattn_attention_args *args, const char *kernel, int64_t *cursor,
                           char *why, size_t why_size);
void sattn_bench_call_close(sattn_bench_call *call);

/* One call on the next set. The signature is that of a measured candidate. */
void sattn_bench_call_run(void *call);

#endif
