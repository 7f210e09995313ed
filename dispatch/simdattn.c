/* SPDX-License-Identifier: MIT
 *
 * simdattn.c: the public entry points of attention and of plans. */
#include "dispatch/simdattn.h"

#include "dispatch/choose.h"
#include "dispatch/direct.h"
#include "dispatch/error.h"
#include "dispatch/execute.h"

#include <stdlib.h>

#if defined(__AVX__)
#error "dispatch runs before the CPU is known: build it without AVX flags"
#endif

sattn_status sattn_attention(const sattn_attention_args *args, const sattn_options *options)
{
    sattn_plan plan;
    const sattn_status status = sattn_plan_make_attention(&plan, args, options);
    if (status != SATTN_OK)
        return status;
    void *const workspace = options ? options->workspace : NULL;
    const size_t workspace_size = options ? options->workspace_size : 0;
    const sattn_pointers pointers = {
        .q = args->q.data, .k = args->k.data, .v = args->v.data, .o = args->o.data};
    if (plan.is_direct && sattn_direct_run(&plan, &pointers, workspace, workspace_size))
        return SATTN_OK;
    return sattn_plan_run_args(&plan, &plan.args, workspace, workspace_size);
}

sattn_status sattn_attention_workspace_size(const sattn_attention_args *args,
                                            const sattn_options *options, size_t *size)
{
    sattn_plan plan;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = sattn_plan_make_attention(&plan, args, options);
    if (status == SATTN_OK)
        *size = plan.layout.size;
    return status;
}

sattn_status sattn_plan_create(sattn_plan **plan, const sattn_attention_args *args,
                               const sattn_options *options)
{
    if (!plan)
        return sattn_fail(SATTN_ERR_ARGUMENT, "plan is NULL: expected where to put the plan");
    *plan = NULL;
    sattn_plan made;
    const sattn_status status = sattn_plan_make_attention(&made, args, options);
    if (status != SATTN_OK)
        return status;
    *plan = malloc(sizeof **plan);
    if (!*plan)
        return sattn_fail(SATTN_ERR_MEMORY, "could not allocate a plan");
    sattn_plan_name_kernels(&made);
    **plan = made;
    return SATTN_OK;
}

void sattn_plan_destroy(sattn_plan *plan)
{
    free(plan);
}

size_t sattn_plan_workspace_size(const sattn_plan *plan)
{
    return plan->layout.size;
}

const char *sattn_plan_kernel(const sattn_plan *plan)
{
    return plan->names;
}

/* A pointer that shapes the plan must be there in every run, or in none. */
static sattn_status check_presence(const char *name, const void *planned, const void *given)
{
    if ((planned == NULL) == (given == NULL))
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_ARGUMENT, "pointers.%s is %s, in the plan it was %s", name,
                      given ? "set" : "NULL", planned ? "set" : "NULL");
}

sattn_status sattn_plan_run(const sattn_plan *plan, const sattn_pointers *pointers, void *workspace,
                            size_t workspace_size)
{
    if (!plan || !pointers)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL", plan ? "pointers" : "plan");
    if (plan->is_direct && sattn_direct_run(plan, pointers, workspace, workspace_size))
        return SATTN_OK;
    sattn_attention_args args = plan->args;
    const struct {
        const char *name;
        const void *planned, *given;
    } optional[] = {
        {"lse", args.lse, pointers->lse},
        {"scores", args.scores, pointers->scores},
        {"n_k_valid", args.n_k_valid, pointers->n_k_valid},
        {"causal_offset", args.causal_offset, pointers->causal_offset},
        {"alibi_slopes", args.alibi_slopes, pointers->alibi_slopes},
        {"sinks", args.sinks, pointers->sinks},
    };
    sattn_status status = SATTN_OK;
    for (size_t i = 0; status == SATTN_OK && i < sizeof optional / sizeof optional[0]; ++i)
        status = check_presence(optional[i].name, optional[i].planned, optional[i].given);
    if (status == SATTN_OK && args.mask.kind == SATTN_MASK_NONE)
        status = check_presence("mask", NULL, pointers->mask);
    if (status != SATTN_OK)
        return status;
    args.q.data = pointers->q;
    args.k.data = pointers->k;
    args.v.data = pointers->v;
    args.o.data = pointers->o;
    args.mask.data = pointers->mask;
    args.lse = pointers->lse;
    args.scores = pointers->scores;
    args.n_k_valid = pointers->n_k_valid;
    args.causal_offset = pointers->causal_offset;
    args.alibi_slopes = pointers->alibi_slopes;
    args.sinks = pointers->sinks;
    return sattn_plan_run_args(plan, &args, workspace, workspace_size);
}
