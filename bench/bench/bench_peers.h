/* SPDX-License-Identifier: MIT
 *
 * bench_peers.h: the other libraries of a run. */
#ifndef SATTN_BENCH_BENCH_BENCH_PEERS_H
#define SATTN_BENCH_BENCH_BENCH_PEERS_H

#include "bench/ops/ops.h"
#include "bench/peers/peers.h"

#include <stdbool.h>

/* By cap: none, avx2. */
enum { SATTN_PEER_CAPS = 2 };

typedef struct sattn_bench_peers {
    sattn_peers of[SATTN_PEER_CAPS];
    bool is_open[SATTN_PEER_CAPS];
} sattn_bench_peers;

/* Starts the peers of a cap, unless they are: takes some seconds. */
void sattn_bench_peers_start(sattn_bench_peers *peers, const char *cap);
void sattn_bench_peers_close(sattn_bench_peers *peers);

/* NULL: peers of its cap were not started. */
sattn_peer *sattn_bench_peer(sattn_bench_peers *peers, const sattn_variant *variant);
sattn_peer_task sattn_bench_peer_task(const sattn_variant *variant);

#endif
