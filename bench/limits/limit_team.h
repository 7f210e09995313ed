/* SPDX-License-Identifier: MIT
 *
 * limit_team.h: a reference loop on one thread, or the same loop on several at once. Loops over
 * memory then share the buffers: every thread has an equal part of each.
 *
 * The threads are those of the library's team (bench/measure/crew.h binds them), and the time of a
 * run is that until all of them are done. */
#ifndef SATTN_BENCH_LIMITS_LIMIT_TEAM_H
#define SATTN_BENCH_LIMITS_LIMIT_TEAM_H

#include "bench/limits/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_limit_team {
    int n_threads;
    sattn_limit *limits;       /* [n_threads] */
    sattn_limit_buffer *parts; /* [n_threads][n_buffers], or NULL */
    int64_t *done;             /* [n_threads], by task of the latest run */
    int64_t each;              /* work of one task */
} sattn_limit_team;

/* What is the same for all loops of a job. */
typedef struct sattn_limit_request {
    sattn_limit_kind kind;
    const char *isa;                   /* NULL for SATTN_LIMIT_CYCLE */
    const sattn_limit_buffer *buffers; /* of a loop over memory; kept by the caller */
    size_t n_buffers;
    int n_threads; /* 1 or more */
} sattn_limit_request;

/* False where the loop cannot run here (limits.h), or without memory: then nothing is held. */
bool sattn_limit_team_open(sattn_limit_team *team, const sattn_limit_request *request);
void sattn_limit_team_close(sattn_limit_team *team);

/* Sets `streams` and `prefetch` of read loops to the fastest of 1, 2, 4 and 8 streams of each
 * thread with and without prefetch over its buffers, from medians of interleaved windows; takes
 * about `budget_s` seconds, and at least two passes of each. Copy loops get the faster kind of
 * store in the same way. Does nothing for the others. */
void sattn_limit_team_choose(sattn_limit_team *team, double budget_s);

/* Does at least `work` units and returns how many it did. `team` is a sattn_limit_team *; the
 * signature is that of sattn_measure_reference. */
int64_t sattn_limit_team_run(void *team, int64_t work);

#endif
