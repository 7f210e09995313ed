/* SPDX-License-Identifier: MIT
 *
 * tune_confirm.c: races of a winner against the default alone, on other shapes of its class. */
#include "bench/recipe_name.h"
#include "bench/tune/tune_class.h"
#include "bench/tune/tune_corners.h"

#include <stdio.h>

typedef enum verdict { NOT_SLOWER, SLOWER, IMPOSSIBLE, NOT_KNOWN } verdict;

enum { WHY = 128 };

static verdict judge(const sattn_race_result *race, char why[WHY])
{
    const sattn_race_lane *const lane = &race->lanes[1];
    const bool is_behind = lane->dropped || sattn_race_is_clear(&lane->behind);
    if (race->winner != 0 || !is_behind)
        return race->is_complete ? NOT_SLOWER : NOT_KNOWN;
    snprintf(why, WHY, "%.0f %% slower", 100 * (lane->behind.median - 1));
    return SLOWER;
}

/* A call that is refused, or for which there is no memory, will be so the next time. */
static verdict race_opened(sattn_tune_field *field, const sattn_tune_setting *setting,
                           char why[WHY])
{
    sattn_race_result race;
    int lane_of[2];
    if (!sattn_tune_trust(field)) {
        for (size_t c = 0; c < field->count; ++c)
            if (field->list[c].verdict == SATTN_TUNE_REJECTED)
                snprintf(why, WHY, "%.100s", field->list[c].why);
        return IMPOSSIBLE;
    }
    if (!sattn_tune_race(field, 0, setting, lane_of, &race)) {
        snprintf(why, WHY, "out of memory");
        return IMPOSSIBLE;
    }
    const verdict result = judge(&race, why);
    sattn_race_free(&race);
    return result;
}

/* How a recipe does beside the default on a shape; SLOWER by how much, or why it is IMPOSSIBLE. */
static verdict race_elsewhere(const sattn_tune_job *job, const sattn_recipe *recipe,
                              const sattn_tune_setting *setting, char why[WHY])
{
    sattn_tune_recipes recipes;
    sattn_tune_field field = {0};
    verdict result = IMPOSSIBLE;
    if (setting->is_stopped && setting->is_stopped())
        return NOT_KNOWN;
    if (!sattn_tune_list_recipes(job, &recipes, why, WHY))
        return IMPOSSIBLE;
    if (sattn_recipes_equal(&recipes.list[0], recipe))
        return NOT_SLOWER;
    recipes.list[1] = *recipe;
    if (sattn_tune_field_open(&field, job, recipes.list, 2, why, WHY))
        result = race_opened(&field, setting, why);
    sattn_tune_field_close(&field);
    return result;
}

static void keep_default(const sattn_tune_job *elsewhere, sattn_kept kept, const char *why,
                         sattn_tune_outcome *outcome)
{
    sattn_profile_entry *const entry = &outcome->entry;
    char sizes[96], name[SATTN_RECIPE_NAME];
    sattn_shape_describe(&elsewhere->shape, sizes, sizeof sizes);
    sattn_recipe_name(&entry->tried[entry->taken].recipe, name);
    snprintf(outcome->kept, sizeof outcome->kept, "%.40s is faster here, but %.100s at %.80s", name,
             why, sizes);
    entry->taken = 0;
    entry->kept = kept;
    entry->margin = outcome->gain.median - 1; /* of the best other over the default */
    entry->spread = sattn_race_spread(&outcome->gain);
}

void sattn_tune_confirm(const sattn_tune_job *job, const sattn_tune_setting *setting,
                        sattn_tune_outcome *outcome)
{
    sattn_profile_entry *const entry = &outcome->entry;
    sattn_tune_setting part = *setting;
    part.seconds /= (double)SATTN_TUNE_INSIDE;
    for (int which = 0; which < SATTN_TUNE_INSIDE; ++which) {
        sattn_tune_job inside;
        char why[WHY] = "";
        if (entry->taken == 0 || !entry->tried[0].is_admitted ||
            !sattn_tune_inside(job, which, &inside))
            continue;
        switch (race_elsewhere(&inside, &entry->tried[entry->taken].recipe, &part, why)) {
        case NOT_SLOWER:
            break;
        case SLOWER:
            keep_default(&inside, SATTN_KEPT_SLOWER_ELSEWHERE, why, outcome);
            break;
        case IMPOSSIBLE:
            keep_default(&inside, SATTN_KEPT_UNCONFIRMED, why, outcome);
            break;
        case NOT_KNOWN:
            entry->taken = 0;
            entry->is_complete = false;
            break;
        }
    }
}
