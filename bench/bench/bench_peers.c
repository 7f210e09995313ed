/* SPDX-License-Identifier: MIT
 *
 * bench_peers.c: starts peers, and finds the one that a variant means. */
#include "bench/bench/bench_peers.h"

#include <stddef.h>
#include <string.h>

void sattn_bench_peers_start(sattn_bench_peers *peers, const char *cap)
{
    const int at = cap != NULL;
    if (peers->is_open[at])
        return;
    sattn_peers_open(&peers->of[at], &(sattn_peers_setting){.cap = cap});
    peers->is_open[at] = true;
}

void sattn_bench_peers_close(sattn_bench_peers *peers)
{
    for (int at = 0; at < SATTN_PEER_CAPS; ++at)
        if (peers->is_open[at])
            sattn_peers_close(&peers->of[at]);
    *peers = (sattn_bench_peers){.is_open = {false, false}};
}

sattn_peer *sattn_bench_peer(sattn_bench_peers *peers, const sattn_variant *variant)
{
    const int at = variant->cap != NULL;
    for (int p = 0; peers && peers->is_open[at] && p < SATTN_PEERS; ++p)
        if (strcmp(peers->of[at].list[p].name, variant->peer) == 0)
            return &peers->of[at].list[p];
    return NULL;
}

sattn_peer_task sattn_bench_peer_task(const sattn_variant *variant)
{
    if (strcmp(variant->op->name, "qk") == 0)
        return SATTN_PEER_QK;
    if (strcmp(variant->op->name, "softmax") == 0)
        return SATTN_PEER_SOFTMAX;
    if (variant->op->task == &sattn_task_decoder)
        return SATTN_PEER_DECODER;
    if (variant->op->task == &sattn_task_self)
        return SATTN_PEER_SELF;
    if (variant->op->task == &sattn_task_general)
        return SATTN_PEER_GENERAL;
    if (variant->op->task == &sattn_task_attend)
        return SATTN_PEER_ATTEND;
    return strcmp(variant->op->name, "av") == 0 ? SATTN_PEER_AV : SATTN_PEER_ATTENTION;
}
