/* SPDX-License-Identifier: MIT
 *
 * tune_confirm.c: races of a winner against the default alone, on other shapes of its class. */
#include "bench/recipe_name.h"
#include "bench/tune/tune_class.h"
#include "bench/tune/tune_corners.h"

#include <stdio.h>

typedef enum verdict { NOT_SLOWER, SLOWER, NOT_KNOWN } verdict;

/* How a recipe does beside the default on a shape; SLOWER by how much. */
static verdict race_elsewhere(const sattn_tune_job *job, const sattn_recipe *recipe,
                              const sattn_tune_setting *setting, double *by)
{
    sattn_tune_recipes recipes;
    sattn_tune_field field = {0};
    sattn_race_result race;
    char error[256];
    int lane_of[2];
    verdict result = NOT_KNOWN;
    if ((setting->is_stopped && setting->is_stopped()) ||
        !sattn_tune_list_recipes(job, &recipes, error, sizeof error))
        return NOT_KNOWN;
    if (sattn_recipes_equal(&recipes.list[0], recipe))
        return NOT_SLOWER;
    recipes.list[1] = *recipe;
    if (sattn_tune_field_open(&field, job, recipes.list, 2, error, sizeof error) &&
        sattn_tune_trust(&field) && sattn_tune_race(&field, 0, setting, lane_of, &race)) {
        const sattn_race_lane *const lane = &race.lanes[1];
        const bool is_behind = lane->dropped || sattn_race_is_clear(&lane->behind);
        *by = lane->behind.median - 1;
        result = race.winner == 0 && is_behind ? SLOWER : race.is_complete ? NOT_SLOWER : NOT_KNOWN;
        sattn_race_free(&race);
    }
    sattn_tune_field_close(&field);
    return result;
}

static void keep_default(const sattn_tune_job *elsewhere, double by, sattn_tune_outcome *outcome)
{
    sattn_profile_entry *const entry = &outcome->entry;
    char sizes[96], name[SATTN_RECIPE_NAME];
    sattn_shape_describe(&elsewhere->shape, sizes, sizeof sizes);
    sattn_recipe_name(&entry->tried[entry->taken].recipe, name);
    snprintf(outcome->kept, sizeof outcome->kept, "%.40s is faster here, but %.0f %% slower at %s",
             name, 100 * by, sizes);
    entry->taken = 0;
    entry->kept = SATTN_KEPT_SLOWER_ELSEWHERE;
    entry->margin = outcome->gain.median - 1; /* of the best other over the default */
    entry->spread = sattn_race_spread(&outcome->gain);
}

void sattn_tune_confirm(const sattn_tune_job *job, const sattn_tune_setting *setting,
                        sattn_tune_outcome *outcome)
{
    sattn_profile_entry *const entry = &outcome->entry;
    sattn_tune_setting part = *setting;
    part.seconds /= SATTN_TUNE_INSIDE;
    for (int which = 0; which < SATTN_TUNE_INSIDE; ++which) {
        sattn_tune_job inside;
        double by;
        if (entry->taken == 0 || !entry->tried[0].is_admitted ||
            !sattn_tune_inside(job, which, &inside))
            continue;
        switch (race_elsewhere(&inside, &entry->tried[entry->taken].recipe, &part, &by)) {
        case NOT_SLOWER:
            break;
        case SLOWER:
            keep_default(&inside, by, outcome);
            break;
        case NOT_KNOWN:
            entry->taken = 0;
            entry->is_complete = false;
            break;
        }
    }
}
