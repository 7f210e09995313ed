/* SPDX-License-Identifier: MIT
 *
 * check_variants.c: what a run checks: the rows of the registry, and the chains. */
#include "bench/check/check.h"
#include "bench/info/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether some step of a chain has kernels of exactly this level. */
static bool has_chain(const sattn_isa *isa)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        if ((rows[r].op == SATTN_OP_qk || rows[r].op == SATTN_OP_softmax ||
             rows[r].op == SATTN_OP_av) &&
            rows[r].needs == isa->needs)
            return true;
    return false;
}

static void finish_variant(const sattn_check_options *options, sattn_check_variant *variant)
{
    variant->is_wanted = sattn_name_list_wants(&options->ops, variant->op) &&
                         sattn_name_list_wants(&options->isas, variant->isa) &&
                         sattn_name_list_wants(&options->kernels, variant->kernel);
}

static void add_op(const sattn_check_options *options, sattn_op op, sattn_features usable,
                   sattn_check_run *run)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r) {
        if (rows[r].op != op)
            continue;
        sattn_check_variant *const variant = &run->variants[run->n_variants++];
        *variant = (sattn_check_variant){
            .op = sattn_op_name(op), .isa = sattn_isa_name(rows[r].needs), .row = &rows[r]};
        snprintf(variant->kernel, sizeof variant->kernel, "%s", rows[r].name);
        sattn_info_why(rows[r].needs, usable, variant->why_not, sizeof variant->why_not);
        finish_variant(options, variant);
    }
}

static void add_chains(const sattn_check_options *options, sattn_features usable,
                       sattn_check_run *run)
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = count; i-- > 0;) {
        if (!has_chain(&isas[i]))
            continue;
        sattn_check_variant *const variant = &run->variants[run->n_variants++];
        *variant = (sattn_check_variant){.op = "chain", .isa = isas[i].name};
        snprintf(variant->kernel, sizeof variant->kernel, "chain_%s", isas[i].name);
        sattn_info_why(isas[i].needs, usable, variant->why_not, sizeof variant->why_not);
        finish_variant(options, variant);
    }
}

bool sattn_check_variants(const sattn_check_options *options, sattn_features usable,
                          sattn_check_run *run)
{
    size_t n_rows, n_isas;
    sattn_registry(&n_rows);
    sattn_isas(&n_isas);
    run->variants = calloc(n_rows + n_isas, sizeof *run->variants);
    if (!run->variants)
        return false;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        add_op(options, (sattn_op)op, usable, run);
        if (op == SATTN_OP_fused)
            add_chains(options, usable, run);
    }
    return true;
}

const char *sattn_check_unit(const char *op)
{
    if (strcmp(op, "qk") == 0)
        return "2^-24 of sum |scale q k|";
    if (strcmp(op, "softmax") == 0)
        return "2^-24 of the row's largest weight";
    if (strcmp(op, "exp") == 0 || strcmp(op, "tanh") == 0 || strcmp(op, "sigmoid") == 0)
        return "units in the last place";
    if (strcmp(op, "additive") == 0)
        return "2^-24 of sum |v tanh|";
    if (strcmp(op, "linear") == 0)
        return "2^-24 of sum |w x| + |b|";
    if (strcmp(op, "gru") == 0)
        return "2^-24 of |n| + |z (h - n)| + what tanh leaves of its sum";
    return "2^-24 of sum p |v|";
}
