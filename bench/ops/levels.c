/* SPDX-License-Identifier: MIT
 *
 * levels.c: variants that name no kernel: whatever the dispatcher takes with an ISA as its highest,
 * which is what a user of such a machine gets. */
#include "bench/ops/ops.h"

#include <stdio.h>
#include <string.h>

enum { LEVEL_OPS = 4, LEVELS = 3 };

static const char *const level_ops[LEVEL_OPS] = {"fused", "qk", "softmax", "av"};
static const char *const level_isas[LEVELS] = {"avx512", "avx2", "neon"};

static void make(sattn_variant *variant, const char *op, const sattn_isa *isa)
{
    *variant = (sattn_variant){.op = sattn_bench_op_by_name(op),
                               .needs = isa->needs,
                               .kind = SATTN_ROW_HAND,
                               .phases = SATTN_PHASE_ALL,
                               .isa = isa->name,
                               .plan = strcmp(op, "fused") == 0 ? "fused" : NULL,
                               .note = "what the dispatcher takes"};
    snprintf(variant->name, sizeof variant->name, "%s_%s", op, isa->name);
}

const sattn_variant *sattn_level_variant(const char *op, const char *isa)
{
    static sattn_variant variants[LEVEL_OPS][LEVELS];
    const sattn_isa *const level = sattn_isa_by_name(isa);
    for (int o = 0; o < LEVEL_OPS && level; ++o)
        for (int i = 0; i < LEVELS; ++i) {
            if (strcmp(level_ops[o], op) != 0 || strcmp(level_isas[i], isa) != 0)
                continue;
            if (!variants[o][i].op)
                make(&variants[o][i], op, level);
            return &variants[o][i];
        }
    return NULL;
}
