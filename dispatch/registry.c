/* SPDX-License-Identifier: MIT
 *
 * registry.c: the table of kernels, and the choice of one: a pure function of its arguments. */
#include "dispatch/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sattn_kernel rows[] = {
#define SATTN_KERNEL(op_, function, needs_, phases_, tile_rows_, tile_keys_, tile_d_, extra,       \
                     note_)                                                                        \
    {.op = SATTN_OP_##op_,                                                                         \
     .name = #function,                                                                            \
     .needs = needs_,                                                                              \
     .phases = phases_,                                                                            \
     .tile_rows = tile_rows_,                                                                      \
     .tile_keys = tile_keys_,                                                                      \
     .tile_d = tile_d_,                                                                            \
     .extra_scratch = extra,                                                                       \
     .note = note_,                                                                                \
     .fn = {.op_ = function}},
#include "dispatch/registry.def"
#undef SATTN_KERNEL
};

const sattn_kernel *sattn_registry(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const sattn_kernel *sattn_kernel_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

double sattn_kernel_stated_ulp(const sattn_kernel *kernel)
{
    const char *at = strstr(kernel->note, " ULP");
    if (!at)
        return NAN;
    while (at > kernel->note && strchr("0123456789.", at[-1]))
        --at;
    return strtod(at, NULL);
}

const sattn_kernel *sattn_kernel_sibling(const sattn_kernel *kernel, sattn_op op)
{
    const char *const tag = strstr(kernel->name, "_f32_");
    for (size_t i = 0; tag && i < sizeof rows / sizeof rows[0]; ++i) {
        const char *const other = strstr(rows[i].name, "_f32_");
        if (rows[i].op == op && other && strcmp(other, tag) == 0)
            return &rows[i];
    }
    return NULL;
}

const char *sattn_op_name(sattn_op op)
{
    static const char *const names[SATTN_OP_COUNT] = {
        [SATTN_OP_fused] = "fused",     [SATTN_OP_qk] = "qk",
        [SATTN_OP_softmax] = "softmax", [SATTN_OP_av] = "av",
        [SATTN_OP_exp] = "exp",         [SATTN_OP_tanh] = "tanh",
        [SATTN_OP_sigmoid] = "sigmoid", [SATTN_OP_additive] = "additive",
        [SATTN_OP_linear] = "linear",   [SATTN_OP_gru] = "gru",
    };
    return op >= 0 && op < SATTN_OP_COUNT ? names[op] : "unknown";
}

bool sattn_op_takes_arrays(sattn_op op)
{
    return op == SATTN_OP_exp || op == SATTN_OP_tanh || op == SATTN_OP_sigmoid;
}

bool sattn_op_has_phases(sattn_op op)
{
    return !sattn_op_takes_arrays(op) && op != SATTN_OP_gru;
}

void sattn_kernel_run_array(const sattn_kernel *kernel, const sattn_array_args *args)
{
    if (kernel->op == SATTN_OP_exp)
        kernel->fn.exp(args);
    else if (kernel->op == SATTN_OP_tanh)
        kernel->fn.tanh(args);
    else
        kernel->fn.sigmoid(args);
}

void sattn_phases_print(unsigned phases, char *text, size_t size)
{
    char rows_min[24] = "";
    if (phases & SATTN_FOR_SEVERAL_ROWS)
        snprintf(rows_min, sizeof rows_min, " of %d+ rows", SATTN_SEVERAL_ROWS_MIN);
    phases &= SATTN_PHASE_ALL;
    snprintf(text, size, "%s%s%s%s%s%s", phases & SATTN_PHASE_PREFILL ? "prefill" : "",
             phases & SATTN_PHASE_PREFILL && phases & ~1u ? " " : "",
             phases & SATTN_PHASE_FEW_QUERY ? "few-query" : "",
             phases & SATTN_PHASE_FEW_QUERY && phases & SATTN_PHASE_DECODE ? " " : "",
             phases & SATTN_PHASE_DECODE ? "decode" : "", rows_min);
}

sattn_phase sattn_phase_of(int64_t n_group, int64_t n_q)
{
    if (n_q > SATTN_FEW_ROWS || n_group > SATTN_FEW_ROWS || n_group * n_q > SATTN_FEW_ROWS)
        return SATTN_PHASE_PREFILL;
    return n_q == 1 ? SATTN_PHASE_DECODE : SATTN_PHASE_FEW_QUERY;
}

bool sattn_are_several(const sattn_cpu *cpu, sattn_phase phase, int64_t n_group, int64_t n_q)
{
    return cpu->shuffles_take_fma_port && phase != SATTN_PHASE_PREFILL &&
           n_group * n_q >= SATTN_SEVERAL_ROWS_MIN;
}

/* Whether the registry's order has the row for such calls. */
static bool is_ranked(const sattn_kernel *kernel, const sattn_selection *selection)
{
    const bool is_for_all = !(kernel->phases & SATTN_FOR_SEVERAL_ROWS);
    return (kernel->phases & selection->phase) && (is_for_all || selection->is_several);
}

sattn_verdict sattn_judge(const sattn_kernel *kernel, const sattn_selection *selection)
{
    if (kernel->op != selection->op)
        return SATTN_VERDICT_OTHER_OP;
    if (selection->forced && strcmp(selection->forced, kernel->name) != 0)
        return SATTN_VERDICT_NOT_FORCED;
    if (kernel->needs & ~selection->usable)
        return SATTN_VERDICT_MISSING;
    if (!selection->forced && !is_ranked(kernel, selection))
        return SATTN_VERDICT_NOT_RANKED;
    return SATTN_VERDICT_CHOSEN;
}

const sattn_kernel *sattn_select(const sattn_kernel *table, size_t count,
                                 const sattn_selection *selection)
{
    for (size_t i = 0; i < count; ++i)
        if (sattn_judge(&table[i], selection) == SATTN_VERDICT_CHOSEN)
            return &table[i];
    return NULL;
}
