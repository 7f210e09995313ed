/* SPDX-License-Identifier: MIT
 *
 * compose.h: attention out of a library's matrix products and our softmax, and its steps alone. */
#ifndef SATTN_BENCH_PEERS_COMPOSE_H
#define SATTN_BENCH_PEERS_COMPOSE_H

#include "bench/peers/host.h"
#include "dispatch/simdattn.h"

typedef enum sattn_compose_task {
    SATTN_COMPOSE_ATTENTION,
    SATTN_COMPOSE_QK,
    SATTN_COMPOSE_SOFTMAX,
    SATTN_COMPOSE_AV,
} sattn_compose_task;

/* One way to cut the work. */
typedef struct sattn_compose_way {
    int64_t block;    /* query rows at a time; 0: all */
    bool stack_group; /* the heads that share K and V are one matrix of their rows */
    bool is_padded;   /* rows of scores have a gap, else the library gets dense matrices */
    bool inside;      /* the library's threads; else threads take head and block */
} sattn_compose_way;

typedef struct sattn_compose_worker {
    void *library; /* its own state */
    float *scores; /* of one block */
    void *workspace;
} sattn_compose_worker;

typedef struct sattn_compose {
    const sattn_host_library *library;
    sattn_compose_task task;
    int64_t offset; /* of the causal limit */
    float scale;
    const char *cap; /* as options.isa of our softmax */
    int threads;
    sattn_compose_way way;
    sattn_compose_worker *workers; /* [threads] */
    size_t workspace_size;
} sattn_compose;

/* The ways that apply to a call, at most SATTN_COMPOSE_WAYS. */
enum { SATTN_COMPOSE_WAYS = 24 };
/* Whether the heads of a group can be taken as one matrix of their rows. */
bool sattn_compose_may_stack(sattn_compose_task task, const sattn_attention_args *args);
int sattn_compose_ways(const sattn_compose *compose, const sattn_attention_args *args,
                       sattn_compose_way ways[SATTN_COMPOSE_WAYS]);

/* Makes what the way of `compose` needs. False: no memory, or our softmax refused. */
bool sattn_compose_open(sattn_compose *compose, const sattn_attention_args *args, char *why,
                        size_t why_size);
void sattn_compose_close(sattn_compose *compose);
bool sattn_compose_run(sattn_compose *compose, const sattn_attention_args *args);

void sattn_compose_describe(const sattn_compose *compose, char *text, size_t size);

#endif
