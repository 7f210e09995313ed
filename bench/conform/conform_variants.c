/* SPDX-License-Identifier: MIT
 *
 * conform_variants.c: the variants that registry and ISA levels give. */
#include "bench/conform/conform.h"
#include "bench/info/info.h"
#include "dispatch/registry.h"

#include <stdio.h>
#include <string.h>

static const char chain_op[] = "chain", fused_op[] = "fused", softmax_op[] = "softmax";

/* What follows the ISA in a kernel's name: "", "_autovec", "_decode". */
static const char *tag_of(const sattn_kernel *row)
{
    char plain[SATTN_CONFORM_NAME_SIZE];
    const int length = snprintf(plain, sizeof plain, "sattn_%s_f32_%s", sattn_op_name(row->op),
                                sattn_isa_name(row->needs));
    return row->name + length;
}

static const sattn_kernel *find(sattn_op op, const sattn_isa *isa, const char *tag)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        if (rows[r].op == op && rows[r].needs == isa->needs && strcmp(tag_of(&rows[r]), tag) == 0)
            return &rows[r];
    return NULL;
}

static sattn_conform_variant *add(sattn_conform_variants *variants, const char *op, const char *isa,
                                  sattn_features needs, sattn_features usable)
{
    if (variants->count == SATTN_CONFORM_VARIANTS_MAX)
        return NULL;
    sattn_conform_variant *const variant = &variants->all[variants->count++];
    *variant = (sattn_conform_variant){.op = op, .isa = isa};
    sattn_info_why(needs, usable, variant->why_not, sizeof variant->why_not);
    return variant;
}

static void add_kernels(sattn_conform_variants *variants, sattn_op op, const char *op_text,
                        sattn_features usable)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r) {
        if (rows[r].op != op)
            continue;
        sattn_conform_variant *const variant =
            add(variants, op_text, sattn_isa_name(rows[r].needs), rows[r].needs, usable);
        if (!variant)
            return;
        snprintf(variant->name, sizeof variant->name, "%s", rows[r].name);
        snprintf(variant->kernels, sizeof variant->kernels, "%s", rows[r].name);
    }
}

static bool has_variant(const sattn_conform_variants *variants, const char *name)
{
    for (size_t v = 0; v < variants->count; ++v)
        if (strcmp(variants->all[v].name, name) == 0)
            return true;
    return false;
}

static void add_chain(sattn_conform_variants *variants, const sattn_isa *isa, const char *tag,
                      sattn_features usable)
{
    static const sattn_op steps[] = {SATTN_OP_qk, SATTN_OP_softmax, SATTN_OP_av};
    const char *names[3];
    char name[SATTN_CONFORM_NAME_SIZE];
    snprintf(name, sizeof name, "chain_%s%s", isa->name, tag);
    if (has_variant(variants, name))
        return;
    for (int s = 0; s < 3; ++s) {
        const sattn_kernel *row = find(steps[s], isa, tag);
        row = row ? row : find(steps[s], isa, "");
        if (!row)
            return;
        names[s] = row->name;
    }
    sattn_conform_variant *const variant = add(variants, chain_op, isa->name, isa->needs, usable);
    if (!variant)
        return;
    snprintf(variant->name, sizeof variant->name, "%s", name);
    snprintf(variant->kernels, sizeof variant->kernels, "%s,%s,%s", names[0], names[1], names[2]);
}

static bool is_step(sattn_op op)
{
    return op == SATTN_OP_qk || op == SATTN_OP_softmax || op == SATTN_OP_av;
}

static void add_chains(sattn_conform_variants *variants, sattn_features usable)
{
    size_t n_rows, n_isas;
    const sattn_kernel *const rows = sattn_registry(&n_rows);
    const sattn_isa *const isas = sattn_isas(&n_isas);
    for (size_t i = n_isas; i-- > 0;) /* the widest level first, as in the registry */
        for (size_t r = 0; r < n_rows; ++r)
            if (is_step(rows[r].op) && rows[r].needs == isas[i].needs)
                add_chain(variants, &isas[i], tag_of(&rows[r]), usable);
}

void sattn_conform_variants_make(const sattn_conform_options *options, sattn_features usable,
                                 sattn_conform_variants *variants)
{
    variants->count = 0;
    add_kernels(variants, SATTN_OP_fused, fused_op, usable);
    add_chains(variants, usable);
    add_kernels(variants, SATTN_OP_softmax, softmax_op, usable);
    for (size_t v = 0; v < variants->count; ++v) {
        sattn_conform_variant *const variant = &variants->all[v];
        variant->is_wanted = sattn_name_list_wants(&options->isas, variant->isa) &&
                             sattn_name_list_wants(&options->kernels, variant->name);
    }
}

bool sattn_conform_computes(const sattn_conform_variant *variant, sattn_conform_op op)
{
    return sattn_conform_is_attention(op) == (variant->op != softmax_op);
}

bool sattn_conform_returns_qk(const sattn_conform_variant *variant)
{
    return variant->op == chain_op;
}

sattn_options sattn_conform_call(const sattn_conform_variant *variant)
{
    return (sattn_options){.kernels = variant->kernels,
                           .plan = variant->op == softmax_op ? NULL : variant->op};
}
