/* SPDX-License-Identifier: MIT
 *
 * host_request.h: a request to open a call (host.h), as arguments of our own functions. */
#ifndef SATTN_BENCH_PEERS_HOST_REQUEST_H
#define SATTN_BENCH_PEERS_HOST_REQUEST_H

#include "bench/peers/compose.h"

#include <jansson.h>

typedef struct sattn_host_request {
    sattn_compose_task task;
    int threads, way;
    int64_t n_sets;
    size_t set_bytes, size;
    double scale;
    int64_t offset;
    char features[160]; /* that are asked for beside causal limits, "window, alibi"; "" */
    /* Data are offsets into the memory, or -1. */
    sattn_attention_args args;
    int64_t q, k, v, o, scores, scores_in;
} sattn_host_request;

/* False: the message is not as host.h has it. */
bool sattn_host_request_read(json_t *message, sattn_host_request *request);

/* Points the tensors into set number `set` of the memory at `base`. */
void sattn_host_request_place(sattn_host_request *request, char *base, int64_t set);

#endif
