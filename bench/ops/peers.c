/* SPDX-License-Identifier: MIT
 *
 * peers.c: other libraries as variants. What a library takes by itself is set against the highest
 * level of this CPU, what is capped against the level of its cap. */
#include "bench/peers/peers.h"
#include "bench/ops/ops.h"

#include <stdio.h>
#include <string.h>

enum { PEER_OPS = 8, CAPS = 2 };

static const char *const peer_ops[PEER_OPS] = {"fused",   "qk",   "softmax", "av",
                                               "decoder", "self", "general", "attend"};
static const char *const peer_names[SATTN_PEERS] = {"openblas", "onednn", "onednn-graph", "pytorch",
                                                    "onnxruntime"};

static sattn_features highest_level(void)
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    sattn_features highest = SATTN_ISA_SCALAR;
    for (size_t i = 0; i < count; ++i)
        if (!(isas[i].needs & ~sattn_cpu_this()->usable))
            highest = isas[i].needs;
    return highest;
}

bool sattn_peers_match(const char *isa, const char **cap)
{
    const sattn_isa *const level = sattn_isa_by_name(isa);
    const sattn_features highest = highest_level();
    if (!level || (level->needs & ~highest))
        return false;
    *cap = level->needs == highest ? NULL : "avx2";
    return !*cap || strcmp(isa, *cap) == 0;
}

/* `own` is what tells it from the op's other ways, or NULL. */
static void make(sattn_variant *variant, const char *op, const sattn_bench_alignment *own, int peer,
                 const char *cap)
{
    const sattn_isa *const level = cap ? sattn_isa_by_name(cap) : NULL;
    *variant = (sattn_variant){.op = sattn_bench_op_by_name(op),
                               .needs = level ? level->needs : highest_level(),
                               .kind = SATTN_ROW_LIBRARY,
                               .phases = SATTN_PHASE_ALL,
                               .plan = strcmp(op, "fused") == 0 ? "chain" : NULL,
                               .align = own ? own->align : SATTN_ALIGN_SCALED_DOT,
                               .note = "another library",
                               .peer = peer_names[peer],
                               .cap = cap};
    snprintf(variant->name, sizeof variant->name, "%s%s%s%s%s", peer_names[peer], own ? "_" : "",
             own ? own->name : "", cap ? "_" : "", cap ? cap : "");
}

const sattn_variant *sattn_peer_variant(const char *op, int number, int peer, const char *cap)
{
    static sattn_variant variants[PEER_OPS][SATTN_BENCH_ALIGNMENTS][CAPS][SATTN_PEERS];
    for (int o = 0; o < PEER_OPS; ++o) {
        if (strcmp(peer_ops[o], op) != 0)
            continue;
        const sattn_bench_task *const task = sattn_bench_op_by_name(op)->task;
        const bool has_alignments = task == &sattn_task_general;
        if (number >= (has_alignments ? SATTN_BENCH_ALIGNMENTS : 1))
            return NULL;
        if (task->is_layer && strcmp(peer_names[peer], "pytorch") != 0)
            return NULL; /* others have no layers */
        sattn_variant *const variant = &variants[o][number][cap != NULL][peer];
        if (!variant->op)
            make(variant, op, has_alignments ? &sattn_bench_alignments[number] : NULL, peer, cap);
        return variant;
    }
    return NULL;
}
