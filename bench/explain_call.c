/* SPDX-License-Identifier: MIT
 *
 * explain_call.c: the call that is explained. No tensor is needed for that: of pointers the library
 * only looks at which are NULL. */
#include "bench/explain.h"

#include "bench/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sattn_explain_function(sattn_op op)
{
    static const char *const names[SATTN_OP_COUNT] = {
        [SATTN_OP_fused] = "sattn_attention", [SATTN_OP_qk] = "sattn_qk",
        [SATTN_OP_softmax] = "sattn_softmax", [SATTN_OP_av] = "sattn_av",
        [SATTN_OP_exp] = "sattn_exp",         [SATTN_OP_tanh] = "sattn_tanh"};
    return names[op];
}

sattn_call sattn_explain_call_kind(sattn_op op)
{
    static const sattn_call calls[SATTN_OP_COUNT] = {
        [SATTN_OP_fused] = SATTN_CALL_ATTENTION, [SATTN_OP_qk] = SATTN_CALL_QK,
        [SATTN_OP_softmax] = SATTN_CALL_SOFTMAX, [SATTN_OP_av] = SATTN_CALL_AV,
        [SATTN_OP_exp] = SATTN_CALL_EXP,         [SATTN_OP_tanh] = SATTN_CALL_TANH};
    return calls[op];
}

/* Appends to a text of SATTN_EXPLAIN_CALL_TEXT. */
static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, SATTN_EXPLAIN_CALL_TEXT - used, format, arguments);
    va_end(arguments);
}

/* Whether one of a comma list of kernels is of an op that the call runs. */
static bool any_is_run(const char *kernels, sattn_op op)
{
    while (*kernels) {
        char name[128];
        const size_t length = strcspn(kernels, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, kernels);
        const sattn_kernel *const kernel = sattn_kernel_by_name(name);
        const bool is_array = kernel && (kernel->op == SATTN_OP_exp || kernel->op == SATTN_OP_tanh);
        if (kernel && (op == SATTN_OP_fused ? !is_array : kernel->op == op))
            return true;
        kernels += length + (kernels[length] == ',');
    }
    return false;
}

void sattn_explain_call_text(const sattn_explain_options *options,
                             char text[SATTN_EXPLAIN_CALL_TEXT])
{
    const sattn_shape *const s = &options->shape;
    char extents[192];
    sattn_shape_describe(s, extents, sizeof extents);
    text[0] = '\0';
    if (*s->name)
        append(text, "%s%s: ", options->is_changed ? "like " : "", s->name);
    append(text, "%s", extents);
    if (options->has_window && s->window == 0)
        append(text, " window=%lld,%lld", (long long)options->window_left,
               (long long)options->window_right);
    append(text, ", %d thread%s", options->threads, options->threads == 1 ? "" : "s");
    if (options->has_scores)
        append(text, ", returning scores");
    if (options->isa)
        append(text, ", isa %s", options->isa);
    if (options->kernels)
        append(text, ", kernels %s%s", options->kernels,
               any_is_run(options->kernels, options->op) ? "" : " (none of them is of this op)");
    if (options->plan)
        append(text, ", plan %s", options->plan);
    if (options->key_splits > 0)
        append(text, ", keys in %d ranges", options->key_splits);
}

sattn_status sattn_explain_call(const sattn_explain_options *o, sattn_explanation **made)
{
    static float scores;
    const sattn_options options = {.threads = o->threads,
                                   .isa = o->isa,
                                   .kernels = o->kernels,
                                   .key_splits = o->key_splits,
                                   .plan = o->plan};
    sattn_attention_args args = sattn_workload_args(&o->shape);
    args.has_window = o->has_window;
    args.window_left = o->window_left;
    args.window_right = o->window_right;
    args.scores = o->has_scores ? &scores : NULL;
    switch (o->op) {
    case SATTN_OP_qk:
        return sattn_explain_step(made, SATTN_STEP_QK, &args, &options);
    case SATTN_OP_softmax:
        return sattn_explain_step(made, SATTN_STEP_SOFTMAX, &args, &options);
    case SATTN_OP_av:
        return sattn_explain_step(made, SATTN_STEP_AV, &args, &options);
    case SATTN_OP_exp:
        return sattn_explain_exp(made, o->shape.n_k, &options);
    case SATTN_OP_tanh:
        return sattn_explain_tanh(made, o->shape.n_k, &options);
    default:
        return sattn_explain(made, &args, &options);
    }
}
