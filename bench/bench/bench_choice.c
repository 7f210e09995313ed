/* SPDX-License-Identifier: MIT
 *
 * bench_choice.c: asks for the choice as the calls do: by a plan, or, of what has none, by the
 * function that calls begin with. */
#include "bench/bench/bench_choice.h"

#include "bench/ops/layer_args.h"
#include "dispatch/choose.h"
#include "dispatch/profile_own.h"

#include <stdio.h>
#include <string.h>

/* A step, or both words for a whole attention. */
static bool plan_of(const sattn_bench_op *op, const sattn_attention_args *args,
                    const sattn_options *options, sattn_plan *plan)
{
    static const struct {
        const char *op;
        sattn_computation computation;
    } steps[] = {
        {"qk", SATTN_COMPUTE_QK}, {"softmax", SATTN_COMPUTE_SOFTMAX}, {"av", SATTN_COMPUTE_AV}};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; ++s)
        if (strcmp(op->name, steps[s].op) == 0)
            return sattn_plan_make(plan, steps[s].computation, args, options) == SATTN_OK;
    return sattn_plan_make_attention(plan, args, options) == SATTN_OK;
}

/* Of a call without a plan. Packed weights are packed for what such a call would run. */
static const sattn_kernel *kernel_of(const sattn_bench_op *op, const sattn_shape *shape,
                                     const sattn_attention_args *args, const sattn_options *options)
{
    int registered = 0;
    while (strcmp(op->name, sattn_op_name((sattn_op)registered)) != 0)
        ++registered;
    const sattn_shape_class shape_class = sattn_layer_class(
        (sattn_op)registered, args, shape->is_packed, sattn_threads_asked(options));
    const sattn_kernel *kernel;
    sattn_overrides overrides;
    sattn_decision decision;
    if (sattn_overrides_get(options, &overrides) != SATTN_OK ||
        sattn_choose_apart(&shape_class, &overrides, &kernel, &decision) != SATTN_OK)
        return NULL;
    return kernel;
}

bool sattn_bench_choice(const sattn_bench_op *op, const sattn_shape *shape,
                        const sattn_attention_args *args, const sattn_options *options,
                        char kernels[SATTN_RECIPE_TEXT])
{
    sattn_plan plan;
    *kernels = '\0';
    if (op->task->is_layer) /* has one for each part */
        return false;
    if (op->task->takes != SATTN_SHAPE_ATTENTION) {
        const sattn_kernel *const kernel = kernel_of(op, shape, args, options);
        snprintf(kernels, SATTN_RECIPE_TEXT, "%s", kernel ? kernel->name : "");
        return kernel != NULL;
    }
    if (!plan_of(op, args, options, &plan))
        return false;
    sattn_plan_name_kernels(&plan);
    snprintf(kernels, SATTN_RECIPE_TEXT, "%s", plan.names);
    return true;
}

/* The word of the lowest level that has all of these kernels. */
static const char *level_of(const char *kernels)
{
    sattn_features needs = 0;
    for (const char *at = kernels; *at; at += strspn(at, ",")) {
        char name[96];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        const sattn_kernel *const kernel = sattn_kernel_by_name(name);
        needs |= kernel ? kernel->needs : 0;
        at += length;
    }
    return sattn_isa_name(needs);
}

/* A list of kernels begins with another one; behind it may come the kernel of a prefill's last
 * rows. */
static bool begins_with(const char *kernels, const char *first)
{
    const size_t length = strlen(first);
    return strncmp(kernels, first, length) == 0 &&
           (kernels[length] == '\0' || kernels[length] == ',');
}

/* Of a row that names no kernels but a level, the choice is to be that of the level, and to need
 * it: what a lower level has too is the lower one's. */
bool sattn_bench_is_choice(const sattn_bench_row *row, const sattn_shape *shape,
                           const sattn_attention_args *args)
{
    const sattn_variant *const variant = row->variant;
    const sattn_options none = {.threads = row->threads};
    const sattn_options level = {
        .threads = row->threads, .isa = variant->isa, .plan = variant->plan};
    char taken[SATTN_RECIPE_TEXT], own[SATTN_RECIPE_TEXT];
    if (variant->peer || !sattn_bench_choice(variant->op, shape, args, &none, taken))
        return false;
    if (*variant->kernels)
        return begins_with(taken, variant->kernels);
    return sattn_bench_choice(variant->op, shape, args, &level, own) && strcmp(own, taken) == 0 &&
           strcmp(level_of(taken), sattn_variant_isa(variant)) == 0;
}

const char *sattn_bench_profile(void)
{
    const sattn_own_profile *const own = sattn_profile_own();
    return own->profile ? own->path : "none";
}
