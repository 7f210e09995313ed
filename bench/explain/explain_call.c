/* SPDX-License-Identifier: MIT
 *
 * explain_call.c: the call that is explained. No tensor is needed for that: of pointers the library
 * only looks at which are NULL. */
#include "bench/explain/explain.h"

#include "bench/ops/layer_args.h"
#include "bench/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sattn_explain_function(sattn_op op)
{
    static const char *const names[SATTN_OP_COUNT] = {
        [SATTN_OP_fused] = "sattn_attention", [SATTN_OP_qk] = "sattn_qk",
        [SATTN_OP_softmax] = "sattn_softmax", [SATTN_OP_av] = "sattn_av",
        [SATTN_OP_exp] = "sattn_exp",         [SATTN_OP_tanh] = "sattn_tanh",
        [SATTN_OP_sigmoid] = "sattn_sigmoid", [SATTN_OP_additive] = "sattn_additive",
        [SATTN_OP_linear] = "sattn_linear",   [SATTN_OP_gru] = "sattn_gru"};
    return names[op];
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
        const bool is_attention =
            kernel && sattn_call_computation(sattn_call_of_op(kernel->op)) != SATTN_COMPUTE_APART;
        if (kernel && (op == SATTN_OP_fused ? is_attention : kernel->op == op))
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

static sattn_status explain_additive(sattn_explanation **made, const sattn_attention_args *args,
                                     const sattn_options *options)
{
    const sattn_alignment_args alignment = sattn_layer_alignment(args);
    return sattn_explain_additive(made, &alignment, options);
}

/* Weights that are to be packed, for whatever such a call would run, are told of as the tuner lists
 * them: no kernel is ruled out yet. */
static sattn_status explain_linear(sattn_explanation **made, const sattn_attention_args *args,
                                   bool is_packed, const sattn_options *options)
{
    const sattn_linear_weights weights = sattn_layer_weights(args);
    return is_packed ? sattn_explain_linear_pack(made, &weights, args->n_q, options)
                     : sattn_explain_linear(made, &weights, args->n_q, options);
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
    case SATTN_OP_sigmoid:
        return sattn_explain_sigmoid(made, o->shape.n_k, &options);
    case SATTN_OP_additive:
        return explain_additive(made, &args, &options);
    case SATTN_OP_linear:
        return explain_linear(made, &args, o->shape.is_packed, &options);
    case SATTN_OP_gru:
        return sattn_explain_gru(made, o->shape.n_q, o->shape.d_v, &options);
    default:
        return sattn_explain(made, &args, &options);
    }
}
