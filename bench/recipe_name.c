/* SPDX-License-Identifier: MIT
 *
 * recipe_name.c: see recipe_name.h. */
#include "bench/recipe_name.h"

#include <stdio.h>
#include <string.h>

/* "avx512_decode" of "sattn_fused_f32_avx512_decode". */
static const char *tag_of(const sattn_kernel *kernel)
{
    const char *const type = strstr(kernel->name, "_f32_");
    return type ? type + strlen("_f32_") : kernel->name;
}

void sattn_recipe_name(const sattn_recipe *recipe, char name[SATTN_RECIPE_NAME])
{
    const sattn_kernel *first = NULL;
    for (int op = SATTN_OP_COUNT; op-- > 0;)
        if (recipe->kernels[op])
            first = recipe->kernels[op];
    const bool is_chain = recipe->computation == SATTN_COMPUTE_CHAIN;
    size_t used = (size_t)snprintf(name, SATTN_RECIPE_NAME, "%s_%s",
                                   is_chain ? "chain" : sattn_op_name(first->op), tag_of(first));
    if (recipe->rest_kernel && used < SATTN_RECIPE_NAME)
        used += (size_t)snprintf(name + used, SATTN_RECIPE_NAME - used, " + %s",
                                 tag_of(recipe->rest_kernel));
    if (recipe->key_splits > 0 && used < SATTN_RECIPE_NAME)
        snprintf(name + used, SATTN_RECIPE_NAME - used, " in %d key range%s", recipe->key_splits,
                 recipe->key_splits == 1 ? "" : "s");
}
