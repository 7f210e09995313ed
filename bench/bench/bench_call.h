/* SPDX-License-Identifier: MIT
 *
 * bench_call.h: one row ready to be called through the public interface, with its kernels forced,
 * unless it stands for what a call gets that names none, and the workspace for it given. */
#ifndef SATTN_BENCH_BENCH_BENCH_CALL_H
#define SATTN_BENCH_BENCH_BENCH_CALL_H

#include "bench/bench/bench_peers.h"
#include "bench/measure/crew.h"
#include "bench/ops/decoder.h"
#include "bench/ops/kernel_calls.h"
#include "bench/ops/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_bench_call {
    const sattn_bench_task *task;
    const sattn_variant *variant;
    const sattn_workload *workload;
    sattn_attention_args args; /* of the set that is run next, or was run last */
    sattn_options options;
    sattn_plan *plan; /* NULL where the task has none */
    /* Of op `call`, which stays on one set. */
    sattn_pointers pointers;
    sattn_kernel_calls kernel_calls;
    sattn_profile *profile; /* made for its calls that have one in use, or NULL */
    unsigned char *packed;  /* weights of every set, packed_size bytes each; NULL: not packed */
    size_t packed_size;
    sattn_bench_decoder *decoder; /* of op `decoder`, or NULL */
    void *workspace;
    size_t workspace_size;
    int64_t *cursor;       /* next set; shared by all that walk over the sets */
    sattn_crew *crew;      /* set by who measures calls on several threads */
    sattn_peer_call *peer; /* that makes the calls, or NULL */
    sattn_status status;   /* of the last call that failed */
} sattn_bench_call;

typedef struct sattn_bench_request {
    const sattn_workload *workload;
    const sattn_attention_args *args; /* the workload's whole call or a part of it */
    const sattn_variant *variant;
    bool names_none; /* the call leaves the choice of kernels to the dispatcher */
    int threads;
    int64_t *cursor;
    sattn_bench_peers *peers;     /* for a variant that is a peer; else it may be NULL */
    const sattn_shared *memory;   /* that the sets are in */
    const sattn_profile *profile; /* NULL: the process's own */
} sattn_bench_request;

/* False: refused, or no memory; `why` says it. */
bool sattn_bench_call_open(sattn_bench_call *call, const sattn_bench_request *request, char *why,
                           size_t why_size);
void sattn_bench_call_close(sattn_bench_call *call);

/* What `open` of a task does for a step of attention. */
bool sattn_bench_call_open_step(sattn_bench_call *call, sattn_step step, char *why,
                                size_t why_size);

/* The same for a whole attention, by a plan. */
bool sattn_bench_call_open_plan(sattn_bench_call *call, char *why, size_t why_size);

/* What a run of that plan is given. */
static inline sattn_pointers sattn_bench_call_pointers(const sattn_attention_args *args)
{
    return (sattn_pointers){.q = args->q.data,
                            .k = args->k.data,
                            .v = args->v.data,
                            .o = args->o.data,
                            .mask = args->mask.data,
                            .n_k_valid = args->n_k_valid,
                            .alibi_slopes = args->alibi_slopes,
                            .sinks = args->sinks};
}

/* One call on the next set. The signature is that of a measured candidate. */
void sattn_bench_call_run(void *call);

/* So many calls of a peer on the next sets. The signature is that of a candidate that runs itself.
 */
sattn_window sattn_bench_call_window(void *call, int64_t calls);

/* The same of a decoder's step, part by part: the time of each is left in call->decoder. */
sattn_window sattn_bench_call_parts(void *call, int64_t calls);

#endif
