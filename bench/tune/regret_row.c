/* SPDX-License-Identifier: MIT
 *
 * regret_row.c: a race on one shape, in which the profile's choice is the incumbent, so that it
 * counts as the best where nothing is clearly faster. */
#include "bench/measure/clock.h"
#include "bench/stop.h"
#include "bench/tune/regret.h"

#include <math.h>
#include <stdio.h>

/* What the profile has calls of the job take: an index into the recipes, to which it is added if it
 * is not among them. */
static size_t chosen_recipe(const sattn_regret_run *run, sattn_regret_row *row,
                            sattn_tune_recipes *recipes)
{
    const sattn_profile_entry *const entry =
        sattn_profile_find(run->store->kept, &row->job.shape_class, row->job.usable);
    row->source = !entry                ? "no entry"
                  : !entry->is_complete ? "unfinished"
                  : entry->taken == 0   ? "default"
                                        : "profile";
    if (!entry || !entry->is_complete || entry->taken == 0)
        return 0;
    const sattn_recipe *const taken = &entry->tried[entry->taken].recipe;
    size_t r = 0;
    while (r < recipes->count && !sattn_recipes_equal(&recipes->list[r], taken))
        ++r;
    if (r == recipes->count && r < SATTN_RECIPES_MAX)
        recipes->list[recipes->count++] = *taken;
    return r < recipes->count ? r : 0;
}

/* The winner's ratio to itself shows no noise. */
static sattn_regret regret_of(const sattn_recipe *recipe, const sattn_race_lane *lane,
                              const sattn_race_lane *best, const sattn_race_result *race)
{
    const bool is_winner = lane == best && lane == &race->lanes[race->winner];
    sattn_regret regret = {.recipe = *recipe,
                           .time_ns = lane->time_ns.median,
                           .regret = lane->behind.median / best->behind.median - 1,
                           .noise = is_winner ? race->spread
                                              : fmax(sattn_race_spread(&lane->behind),
                                                     sattn_race_spread(&best->behind))};
    if (lane->dropped || sattn_race_is_clear(&lane->behind))
        regret.beyond = lane->behind.median - 1 - regret.noise;
    return regret;
}

void sattn_regret_take_race(sattn_regret_row *row, const sattn_tune_field *field,
                            const int *lane_of, size_t chosen, const sattn_race_result *race)
{
    const sattn_race_lane *best = &race->lanes[race->winner];
    for (size_t c = 0; c < field->count; ++c) {
        if (lane_of[c] < 0 || !(race->lanes[lane_of[c]].behind.median <= best->behind.median))
            continue;
        best = &race->lanes[lane_of[c]];
        row->best = field->list[c].recipe;
    }
    row->with = regret_of(&field->list[chosen].recipe, &race->lanes[lane_of[chosen]], best, race);
    row->without = regret_of(&field->list[0].recipe, &race->lanes[lane_of[0]], best, race);
    row->rounds = race->rounds;
    row->is_tainted = race->is_tainted;
    row->is_decided = race->is_complete || race->rounds >= SATTN_RACE_LEAST;
}

static bool is_admitted(const sattn_tune_field *field, size_t candidate, sattn_regret_row *row)
{
    if (field->list[candidate].verdict == SATTN_TUNE_ADMITTED)
        return true;
    snprintf(row->error, sizeof row->error, "%.250s", field->list[candidate].why);
    return false;
}

void sattn_regret_run_row(const sattn_regret_run *run, sattn_regret_row *row, double seconds)
{
    sattn_tune_recipes recipes;
    sattn_tune_field field = {0};
    sattn_race_result race;
    int lane_of[SATTN_RECIPES_MAX];
    const int64_t begin = sattn_now_ns();
    sattn_crew_gather(&run->places->crew, row->job.threads);
    if (!sattn_tune_list_recipes(&row->job, &recipes, row->error, sizeof row->error))
        return;
    const size_t chosen = chosen_recipe(run, row, &recipes);
    if (sattn_tune_field_open(&field, &row->job, recipes.list, recipes.count, row->error,
                              sizeof row->error)) {
        field.list[chosen].must_race = true;
        field.seed = run->options->seed;
        field.limits = (sattn_tune_limits){.now_ns = sattn_now_ns,
                                           .deadline_ns = run->begin_ns +
                                                          (int64_t)(run->options->budget_s * 1e9),
                                           .is_stopped = sattn_stop_asked};
        const bool is_judged = sattn_tune_admit(&field, 0);
        const sattn_tune_setting setting = {
            .seconds = fmax(seconds - (double)(sattn_now_ns() - begin) * 1e-9, seconds / 2),
            .seed = run->options->seed,
            .crew = &run->places->crew,
            .is_stopped = sattn_stop_asked};
        if (!is_judged)
            snprintf(row->error, sizeof row->error, "out of memory");
        else if (!field.is_cut && is_admitted(&field, 0, row) && is_admitted(&field, chosen, row) &&
                 sattn_tune_race(&field, chosen, &setting, lane_of, &race)) {
            sattn_regret_take_race(row, &field, lane_of, chosen, &race);
            sattn_race_free(&race);
        }
    }
    sattn_tune_field_close(&field);
}
