/* SPDX-License-Identifier: MIT
 *
 * candidates_reason.c: what stands against a recipe, in words. */
#include "dispatch/candidates.h"

#include <stdio.h>

/* Whether the registry's order has all kernels of the recipe for such calls. */
static bool is_ranked(const sattn_recipe_list *list, const sattn_recipe *recipe)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        const sattn_selection selection = {.op = (sattn_op)op,
                                           .phase = list->phase,
                                           .usable = list->overrides.usable,
                                           .is_several = list->is_several};
        if (recipe->kernels[op] &&
            sattn_judge(recipe->kernels[op], &selection) == SATTN_VERDICT_NOT_RANKED)
            return false;
    }
    return true;
}

void sattn_recipe_reason(const sattn_recipe_list *list, size_t index, char text[SATTN_REASON_TEXT])
{
    const sattn_judged_recipe *const item = &list->items[index];
    const char *const isa = list->overrides.isa;
    const bool has_phase = list->shape_class.phase != 0;
    char words[160];
    text[0] = '\0';
    switch (item->verdict) {
    case SATTN_RECIPE_MISSING:
        sattn_features_print(item->kernel->needs & ~sattn_cpu_this()->usable, words, sizeof words);
        snprintf(text, SATTN_REASON_TEXT, "this CPU, or its system, lacks %s", words);
        break;
    case SATTN_RECIPE_CAPPED:
        sattn_features_print(item->kernel->needs & ~list->overrides.usable, words, sizeof words);
        snprintf(text, SATTN_REASON_TEXT, "needs %s, beyond the cap %s", words, isa ? isa : "");
        break;
    case SATTN_RECIPE_NOT_NAMED:
        snprintf(text, SATTN_REASON_TEXT, "%s is asked for by name", item->kernel->name);
        break;
    case SATTN_RECIPE_OTHER_PLAN:
        snprintf(text, SATTN_REASON_TEXT, "the other plan is asked for");
        break;
    case SATTN_RECIPE_NO_SCORES:
        snprintf(text, SATTN_REASON_TEXT, "scores are asked for, which only a chain returns");
        break;
    case SATTN_RECIPE_CANNOT_SPLIT:
        snprintf(text, SATTN_REASON_TEXT, "key ranges are asked for, which a chain has not");
        break;
    case SATTN_RECIPE_NOT_PACKED:
        snprintf(text, SATTN_REASON_TEXT, "the weights are packed for %s", item->kernel->name);
        break;
    case SATTN_RECIPE_ELIGIBLE:
        sattn_phases_print((unsigned)list->phase, words, sizeof words);
        if (!is_ranked(list, &item->recipe))
            snprintf(text, SATTN_REASON_TEXT, "not ranked%s%s: taken only by name or by a profile",
                     has_phase ? " for " : "", has_phase ? words : "");
        break;
    }
}
