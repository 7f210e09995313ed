/* SPDX-License-Identifier: MIT
 *
 * ops.c: the tables of ops and variants. */
#include "bench/ops/ops.h"
#include "bench/ops/decoder.h"

#include <stdio.h>
#include <string.h>

static const sattn_bench_op ops[] = {
    {"fused", &sattn_task_attention, SATTN_PRESET_QUICK},
    {"chain", &sattn_task_attention, SATTN_PRESET_STEPS},
    {"call", &sattn_task_call, SATTN_PRESET_CALLS},
    {"qk", &sattn_task_qk, SATTN_PRESET_STEPS},
    {"softmax", &sattn_task_softmax, SATTN_PRESET_STEPS | SATTN_PRESET_LINES},
    {"av", &sattn_task_av, SATTN_PRESET_STEPS},
    {"exp", &sattn_task_exp, SATTN_PRESET_ARRAYS},
    {"tanh", &sattn_task_tanh, SATTN_PRESET_ARRAYS},
    {"sigmoid", &sattn_task_sigmoid, SATTN_PRESET_ARRAYS},
    {"additive", &sattn_task_additive, SATTN_PRESET_LAYERS},
    {"linear", &sattn_task_linear, SATTN_PRESET_LAYERS},
    {"gru", &sattn_task_gru, SATTN_PRESET_LAYERS},
    {"decoder", &sattn_task_decoder, SATTN_PRESET_LECTURE},
    {"self", &sattn_task_self, SATTN_PRESET_LECTURE},
    {"general", &sattn_task_general, SATTN_PRESET_LECTURE},
    {"attend", &sattn_task_attend, SATTN_PRESET_LECTURE},
};

enum { N_OPS = sizeof ops / sizeof ops[0] };

const sattn_bench_op *sattn_bench_ops(size_t *count)
{
    *count = N_OPS;
    return ops;
}

const sattn_bench_op *sattn_bench_op_by_name(const char *name)
{
    for (int o = 0; o < N_OPS; ++o)
        if (strcmp(ops[o].name, name) == 0)
            return &ops[o];
    return NULL;
}

const sattn_bench_alignment sattn_bench_alignments[SATTN_BENCH_ALIGNMENTS] = {
    {"additive", SATTN_ALIGN_ADDITIVE},
    {"scaled_dot", SATTN_ALIGN_SCALED_DOT},
    {"bilinear", SATTN_ALIGN_BILINEAR}};

sattn_shape_kind sattn_op_takes(sattn_op op)
{
    return sattn_bench_op_by_name(sattn_op_name(op))->task->takes;
}

double sattn_work_amount(const sattn_work *work)
{
    return work->flops > 0 ? work->flops : work->elements;
}

static bool has_tag(const char *name, const char *tag)
{
    const size_t length = strlen(name), tag_length = strlen(tag);
    return length > tag_length && strcmp(name + length - tag_length, tag) == 0;
}

static sattn_row_kind kind_of(const sattn_kernel *kernel)
{
    if (has_tag(kernel->name, "_autovec"))
        return SATTN_ROW_AUTOVEC;
    if (has_tag(kernel->name, "_sleef"))
        return SATTN_ROW_LIBRARY;
    return kernel->needs == SATTN_ISA_SCALAR ? SATTN_ROW_SCALAR : SATTN_ROW_HAND;
}

const char *sattn_variant_isa(const sattn_variant *variant)
{
    return sattn_isa_name(variant->needs);
}

/* ---- variants */

enum {
    CHAINS_MAX = 16,
    CALLS_MAX = 24,
    LAYERS_MAX = 64,
    VARIANTS_MAX = SATTN_KERNEL_COUNT + CHAINS_MAX + CALLS_MAX + LAYERS_MAX
};

static sattn_variant variants[VARIANTS_MAX];
static size_t n_variants;

static void add_kernel(const sattn_kernel *kernel)
{
    sattn_variant *const variant = &variants[n_variants++];
    *variant = (sattn_variant){.op = sattn_bench_op_by_name(sattn_op_name(kernel->op)),
                               .needs = kernel->needs,
                               .kind = kind_of(kernel),
                               .phases = kernel->phases,
                               .tile_rows = kernel->tile_rows,
                               .plan = kernel->op == SATTN_OP_fused ? "fused" : NULL,
                               .note = kernel->note};
    snprintf(variant->name, sizeof variant->name, "%s", kernel->name);
    snprintf(variant->kernels, sizeof variant->kernels, "%s", kernel->name);
}

/* The first kernel of an op at exactly this level that was made in this way. */
static const sattn_kernel *kernel_of(sattn_op op, sattn_features needs, sattn_row_kind kind)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        if (rows[r].op == op && rows[r].needs == needs && kind_of(&rows[r]) == kind)
            return &rows[r];
    return NULL;
}

/* The chain of one level, if it has kernels of all three steps. Autovec kernels are not ranked, so
 * their chain has to name them. */
static void add_chain(const sattn_isa *isa, sattn_row_kind kind)
{
    const sattn_kernel *const qk = kernel_of(SATTN_OP_qk, isa->needs, kind);
    const sattn_kernel *const softmax = kernel_of(SATTN_OP_softmax, isa->needs, kind);
    const sattn_kernel *const av = kernel_of(SATTN_OP_av, isa->needs, kind);
    if (!qk || !softmax || !av || n_variants == VARIANTS_MAX)
        return;
    sattn_variant *const variant = &variants[n_variants++];
    const bool is_autovec = kind == SATTN_ROW_AUTOVEC;
    *variant = (sattn_variant){.op = sattn_bench_op_by_name("chain"),
                               .needs = isa->needs,
                               .kind = kind,
                               .phases = is_autovec ? 0 : SATTN_PHASE_ALL,
                               .tile_rows = av->tile_rows,
                               .isa = isa->name,
                               .plan = "chain",
                               .note = "qk, softmax and av, one block of query rows at a time"};
    snprintf(variant->name, sizeof variant->name, "chain_%s%s", isa->name,
             is_autovec ? "_autovec" : "");
    if (is_autovec)
        snprintf(variant->kernels, sizeof variant->kernels, "%s,%s,%s", qk->name, softmax->name,
                 av->name);
}

/* The ways to make a call, with what the dispatcher takes of one level, if it has a kernel. */
static void add_calls(const sattn_isa *isa, sattn_row_kind kind)
{
    static const char *const names[SATTN_WAYS] = {[SATTN_WAY_KERNEL] = "kernel",
                                                  [SATTN_WAY_PLAN_RUN] = "plan_run",
                                                  [SATTN_WAY_ATTENTION] = "attention",
                                                  [SATTN_WAY_PROFILED] = "profiled"};
    static const char *const notes[SATTN_WAYS] = {
        [SATTN_WAY_KERNEL] = "what a call runs, with the same arguments and nothing around it",
        [SATTN_WAY_PLAN_RUN] = "sattn_plan_run",
        [SATTN_WAY_ATTENTION] = "sattn_attention, with a workspace",
        [SATTN_WAY_PROFILED] = "the same with a profile in use"};
    for (int way = SATTN_WAY_KERNEL; way < SATTN_WAYS; ++way) {
        if (!kernel_of(SATTN_OP_fused, isa->needs, kind) || n_variants == VARIANTS_MAX)
            return;
        sattn_variant *const variant = &variants[n_variants++];
        *variant = (sattn_variant){.op = sattn_bench_op_by_name("call"),
                                   .needs = isa->needs,
                                   .kind = SATTN_ROW_HAND,
                                   .phases = SATTN_PHASE_ALL,
                                   .isa = isa->name,
                                   .plan = "fused",
                                   .way = (sattn_way)way,
                                   .note = notes[way]};
        snprintf(variant->name, sizeof variant->name, "%s_%s", names[way], isa->name);
    }
}

/* One way to run a layer with what the dispatcher takes of one level. `own` and, in its name,
 * `word` are what tells it from the op's other ways. */
static void add_layer(const sattn_isa *isa, const char *op, const char *word, sattn_variant own)
{
    if (n_variants == VARIANTS_MAX)
        return;
    sattn_variant *const variant = &variants[n_variants++];
    *variant = own;
    variant->op = sattn_bench_op_by_name(op);
    variant->needs = isa->needs;
    variant->kind = SATTN_ROW_HAND;
    variant->isa = isa->name;
    variant->note = "what the dispatcher takes";
    snprintf(variant->name, sizeof variant->name, "%s%s%s_%s", op, word ? "_" : "",
             word ? word : "", isa->name);
}

static void add_decoder(const sattn_isa *isa)
{
    add_layer(isa, "decoder", NULL, (sattn_variant){.phases = SATTN_PHASE_ALL});
    for (int part = 0; part < SATTN_DECODER_PARTS; ++part) {
        const char *const name = sattn_decoder_part_name((sattn_decoder_part)part);
        add_layer(isa, "decoder", name,
                  (sattn_variant){.phases = SATTN_PHASE_ALL, .part = name, .part_number = part});
    }
}

/* A decoder's step and each of its parts, and attention layers, if the level has kernels of its
 * own; strict scalar code is too slow for maps of many inputs by many queries. */
static void add_layers(const sattn_isa *isa)
{
    const bool is_scalar = isa->needs == SATTN_ISA_SCALAR;
    const unsigned phases = is_scalar ? SATTN_PHASE_DECODE : SATTN_PHASE_ALL;
    if (!kernel_of(SATTN_OP_linear, isa->needs, is_scalar ? SATTN_ROW_SCALAR : SATTN_ROW_HAND))
        return;
    add_decoder(isa);
    if (!is_scalar)
        add_layer(isa, "self", NULL, (sattn_variant){.phases = phases});
    for (int a = 0; a < SATTN_BENCH_ALIGNMENTS; ++a)
        add_layer(isa, "general", sattn_bench_alignments[a].name,
                  (sattn_variant){.phases = phases, .align = sattn_bench_alignments[a].align});
    add_layer(isa, "attend", NULL, (sattn_variant){.phases = phases});
}

static void make_variants(void)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        add_kernel(&rows[r]);
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = count; i-- > 0;) { /* the widest level first, as in the registry */
        const bool is_scalar = isas[i].needs == SATTN_ISA_SCALAR;
        add_chain(&isas[i], is_scalar ? SATTN_ROW_SCALAR : SATTN_ROW_HAND);
        add_calls(&isas[i], is_scalar ? SATTN_ROW_SCALAR : SATTN_ROW_HAND);
        if (!is_scalar)
            add_chain(&isas[i], SATTN_ROW_AUTOVEC);
        add_layers(&isas[i]);
    }
}

const sattn_variant *sattn_variants(size_t *count)
{
    if (n_variants == 0)
        make_variants();
    *count = n_variants;
    return variants;
}

const sattn_variant *sattn_variant_by_name(const char *name)
{
    size_t count;
    const sattn_variant *const all = sattn_variants(&count);
    for (size_t v = 0; v < count; ++v)
        if (strcmp(all[v].name, name) == 0)
            return &all[v];
    return NULL;
}
