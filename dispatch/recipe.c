/* SPDX-License-Identifier: MIT
 *
 * recipe.c: see recipe.h. */
#include "dispatch/recipe.h"

#include <stdio.h>
#include <string.h>

const char *sattn_recipe_plan(const sattn_recipe *recipe)
{
    return recipe->computation == SATTN_COMPUTE_FUSED   ? "fused"
           : recipe->computation == SATTN_COMPUTE_CHAIN ? "chain"
                                                        : "";
}

static void append_name(char text[SATTN_RECIPE_TEXT], const sattn_kernel *kernel)
{
    const size_t used = strlen(text);
    if (kernel)
        snprintf(text + used, SATTN_RECIPE_TEXT - used, "%s%s", used ? "," : "", kernel->name);
}

void sattn_recipe_print(const sattn_recipe *recipe, char kernels[SATTN_RECIPE_TEXT])
{
    kernels[0] = '\0';
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        append_name(kernels, recipe->kernels[op]);
    append_name(kernels, recipe->rest_kernel);
}

/* What a call is computed by under a plan of that name. */
static bool computation_named(sattn_call call, const char *plan, sattn_computation *computation)
{
    const bool is_chain = strcmp(plan, "chain") == 0;
    if (call != SATTN_CALL_ATTENTION) {
        *computation = sattn_call_computation(call);
        return plan[0] == '\0';
    }
    *computation = is_chain ? SATTN_COMPUTE_CHAIN : SATTN_COMPUTE_FUSED;
    return is_chain || strcmp(plan, "fused") == 0;
}

/* The next name of a comma list, NULL at its end. A name of no kernel makes *is_known false. */
static const sattn_kernel *next_kernel(const char **at, bool *is_known)
{
    char name[96];
    const size_t length = strcspn(*at, ",");
    if (length == 0 || length >= sizeof name) {
        *is_known = *is_known && length == 0;
        return NULL;
    }
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length;
    *at += **at == ',' && (*at)[1] != '\0'; /* what follows the last name is no name */
    const sattn_kernel *const kernel = sattn_kernel_by_name(name);
    *is_known = *is_known && kernel;
    return kernel;
}

bool sattn_recipe_parse(sattn_call call, const char *plan, const char *kernels, int key_splits,
                        sattn_recipe *recipe)
{
    sattn_recipe r = {.key_splits = key_splits};
    bool is_known = true;
    if (!computation_named(call, plan, &r.computation))
        return false;
    const bool is_chain = r.computation == SATTN_COMPUTE_CHAIN;
    const sattn_op first = is_chain ? SATTN_OP_qk : sattn_call_op(call);
    const sattn_op last = is_chain ? SATTN_OP_av : first;
    for (int op = (int)first; op <= (int)last; ++op) {
        r.kernels[op] = next_kernel(&kernels, &is_known);
        if (!r.kernels[op] || r.kernels[op]->op != (sattn_op)op)
            return false;
    }
    if (r.computation == SATTN_COMPUTE_FUSED)
        r.rest_kernel = next_kernel(&kernels, &is_known);
    if (r.rest_kernel &&
        (r.rest_kernel->op != SATTN_OP_fused || r.rest_kernel == r.kernels[SATTN_OP_fused]))
        return false;
    const bool may_split = r.computation == SATTN_COMPUTE_FUSED;
    if (!is_known || *kernels != '\0' || key_splits < 0 || (key_splits > 0 && !may_split))
        return false;
    *recipe = r;
    return true;
}

sattn_features sattn_recipe_needs(const sattn_recipe *recipe)
{
    sattn_features needs = recipe->rest_kernel ? recipe->rest_kernel->needs : 0;
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (recipe->kernels[op])
            needs |= recipe->kernels[op]->needs;
    return needs;
}

bool sattn_recipes_equal(const sattn_recipe *a, const sattn_recipe *b)
{
    bool are_equal = a->computation == b->computation && a->rest_kernel == b->rest_kernel &&
                     a->key_splits == b->key_splits;
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        are_equal = are_equal && a->kernels[op] == b->kernels[op];
    return are_equal;
}
