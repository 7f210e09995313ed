/* SPDX-License-Identifier: MIT
 *
 * explain.c: tells how a choice comes about. It makes the choice itself and only describes it, so
 * that it cannot say anything but what a call does. */
#include "dispatch/explain.h"

#include "dispatch/choose.h"
#include "dispatch/error.h"
#include "dispatch/profile_own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATE_TEXT = 1024,
    DECISION_TEXT = STATE_TEXT + 256,
    MEASURED_TEXT = 256,
    MARGIN_TEXT = 112
};

/* An explanation with its texts, in one allocation: `made` is its first member. */
typedef struct explanation {
    sattn_explanation made;
    char shape_class[SATTN_CLASS_TEXT], decision[DECISION_TEXT], profile_state[STATE_TEXT];
    char path[SATTN_PROFILE_PATH], measured[MEASURED_TEXT];
    sattn_candidate candidates[SATTN_RECIPES_MAX];
    char kernels[SATTN_RECIPES_MAX][SATTN_RECIPE_TEXT];
    char reasons[SATTN_RECIPES_MAX][SATTN_REASON_TEXT];
} explanation;

static const sattn_tried *tried_of(const sattn_profile_entry *entry, const sattn_recipe *recipe)
{
    for (size_t i = 0; entry && i < entry->n_tried; ++i)
        if (sattn_recipes_equal(&entry->tried[i].recipe, recipe))
            return &entry->tried[i];
    return NULL;
}

/* Why the profile does not admit a recipe. */
static void tell_error(const sattn_tried *tried, double budget, char text[SATTN_REASON_TEXT])
{
    if (tried->error > tried->error_bound)
        snprintf(text, SATTN_REASON_TEXT,
                 "its error of %.3g is beyond what rounding explains, %.3g", tried->error,
                 tried->error_bound);
    else if (budget > 0 && tried->error > budget)
        snprintf(text, SATTN_REASON_TEXT, "its error of %.3g is beyond the profile's budget, %.3g",
                 tried->error, budget);
    else
        snprintf(text, SATTN_REASON_TEXT, "%s",
                 isfinite(tried->error) ? "its error is too large on another shape of the class"
                 : isfinite(tried->time_ns)
                     ? "its first calls were too slow for more to be asked of it"
                     : "given up on before anything was measured");
}

/* What has a recipe that may be taken left where no profile decides. */
static const char *default_rule(const sattn_recipe_list *list, size_t index)
{
    const sattn_recipe *const recipe = &list->items[index].recipe;
    const sattn_recipe *const taken = &list->items[list->taken].recipe;
    if (recipe->computation == SATTN_COMPUTE_CHAIN && taken->computation == SATTN_COMPUTE_FUSED)
        return "a chain is not taken unless it is asked for or a profile has it";
    if (recipe->key_splits > 0)
        return "the number of key ranges follows from heads, rows and threads unless it is asked "
               "for or a profile has it";
    return "the registry's order has another before it";
}

/* Of a recipe whose time is that many times the time of what is taken. */
static void tell_ratio(const sattn_profile_entry *entry, double ratio, char text[SATTN_REASON_TEXT])
{
    const bool is_slower = isfinite(entry->spread) ? ratio - 1 > entry->spread : ratio > 1;
    if (is_slower)
        snprintf(text, SATTN_REASON_TEXT, "%.1f %% slower than what is taken", 100 * (ratio - 1));
    else if (entry->kept == SATTN_KEPT_SLOWER_ELSEWHERE && 1 - ratio > entry->spread)
        snprintf(text, SATTN_REASON_TEXT,
                 "%.1f %% faster here, but the fastest is slower elsewhere in the class",
                 100 * (1 - ratio));
    else if (entry->kept == SATTN_KEPT_UNCONFIRMED && 1 - ratio > entry->spread)
        snprintf(text, SATTN_REASON_TEXT,
                 "%.1f %% faster here, but the fastest could not be run elsewhere in the class",
                 100 * (1 - ratio));
    else if (isfinite(entry->spread))
        snprintf(text, SATTN_REASON_TEXT,
                 "not faster than what is taken by more than the spread of %.1f %%",
                 100 * entry->spread);
    else
        snprintf(text, SATTN_REASON_TEXT, "not clearly faster than what is taken");
}

/* Why a recipe that may be taken is not. */
static void tell_preference(const sattn_recipe_list *list, const sattn_profile_entry *entry,
                            size_t index, char text[SATTN_REASON_TEXT])
{
    const sattn_tried *const tried = tried_of(entry, &list->items[index].recipe);
    const sattn_tried *const taken = tried_of(entry, &list->items[list->taken].recipe);
    const bool is_measured =
        list->decision == SATTN_DECIDED_BY_PROFILE || list->decision == SATTN_DECIDED_DEFAULT;
    const bool is_timed = is_measured && tried && isfinite(tried->time_ns);
    text[0] = '\0';
    if (is_timed && taken && taken->time_ns > 0)
        tell_ratio(entry, tried->time_ns / taken->time_ns, text);
    else if (is_timed)
        snprintf(text, SATTN_REASON_TEXT, "measured, but not against what this shape runs");
    else
        sattn_recipe_reason(list, index, text);
    if (*text == '\0')
        snprintf(text, SATTN_REASON_TEXT, "%s",
                 !is_measured ? default_rule(list, index)
                 : tried      ? "the profile has no time of it"
                              : "the profile has not tried it");
}

static int key_ranges(const sattn_recipe_list *list, size_t index)
{
    const sattn_recipe *const recipe = &list->items[index].recipe;
    const bool has_own = recipe->key_splits > 0 && index != list->taken;
    return recipe->computation == SATTN_COMPUTE_FUSED && list->asked_splits > 0 && !has_own
               ? list->asked_splits
               : recipe->key_splits;
}

static void describe(const sattn_recipe_list *list, const sattn_profile_entry *entry, size_t index,
                     sattn_candidate *candidate, char kernels[SATTN_RECIPE_TEXT],
                     char reason[SATTN_REASON_TEXT])
{
    const sattn_judged_recipe *const item = &list->items[index];
    const sattn_tried *const tried = tried_of(entry, &item->recipe);
    const bool may_run = item->verdict == SATTN_RECIPE_ELIGIBLE;
    sattn_recipe_print(&item->recipe, kernels);
    reason[0] = '\0';
    *candidate = (sattn_candidate){.plan = sattn_recipe_plan(&item->recipe),
                                   .kernels = kernels,
                                   .key_splits = key_ranges(list, index),
                                   .is_eligible = may_run && (!tried || tried->is_admitted),
                                   .is_taken = index == list->taken,
                                   .is_default = index == 0,
                                   .reason = reason,
                                   .time_ns = tried ? tried->time_ns : NAN,
                                   .time_p10_ns = tried ? tried->time_p10_ns : NAN,
                                   .time_p90_ns = tried ? tried->time_p90_ns : NAN,
                                   .samples = tried ? tried->samples : 0,
                                   .error = tried ? tried->error : NAN,
                                   .error_bound = tried ? tried->error_bound : NAN};
    if (candidate->is_taken)
        return;
    if (!may_run)
        sattn_recipe_reason(list, index, reason);
    else if (!candidate->is_eligible)
        tell_error(tried, entry ? entry->max_error : 0, reason);
    else
        tell_preference(list, entry, index, reason);
}

/* Pareto's front of time against error. */
static void find_front(sattn_candidate *candidates, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        sattn_candidate *const c = &candidates[i];
        c->is_on_front = c->is_eligible && isfinite(c->time_ns) && isfinite(c->error);
        for (size_t k = 0; c->is_on_front && k < n; ++k) {
            const sattn_candidate *const other = &candidates[k];
            const bool is_as_good =
                other->is_eligible && other->time_ns <= c->time_ns && other->error <= c->error;
            if (is_as_good && (other->time_ns < c->time_ns || other->error < c->error))
                c->is_on_front = false;
        }
    }
}

/* By how much the fastest is that, or why it is not taken. */
static void tell_margin(const sattn_profile_entry *entry, char text[MARGIN_TEXT])
{
    static const char *const words[SATTN_KEPT_COUNT] = {
        [SATTN_KEPT_FOR_NOTHING] = "faster than the next by",
        [SATTN_KEPT_IN_A_TIE] = "a tie within",
        [SATTN_KEPT_SLOWER_ELSEWHERE] = "the fastest is slower elsewhere, and here ahead by",
        [SATTN_KEPT_UNCONFIRMED] = "the fastest could not be run elsewhere, and is here ahead by"};
    text[0] = '\0';
    if (isfinite(entry->margin) && isfinite(entry->spread))
        snprintf(text, MARGIN_TEXT, ": %s %.1f %%, spread %.1f %%", words[entry->kept],
                 100 * fabs(entry->margin), 100 * entry->spread);
}

/* `path`: of the profile, "" where there is none. */
static void tell_decision(const sattn_recipe_list *list, const sattn_profile_entry *entry,
                          const char *path, const char *profile_state, char text[DECISION_TEXT])
{
    const char *const words = sattn_decision_text(list->decision);
    char margin[MARGIN_TEXT];
    if (list->decision == SATTN_DECIDED_BY_PROFILE || list->decision == SATTN_DECIDED_DEFAULT) {
        tell_margin(entry, margin);
        snprintf(text, DECISION_TEXT, "%s, as measured at %s%s", words, entry->shape, margin);
    } else if (list->decision == SATTN_DECIDED_WITHOUT_PROFILE) {
        snprintf(text, DECISION_TEXT, "%s%s%s", *path ? words : "the registry's order, since",
                 *path ? ": " : " ", profile_state);
    } else {
        snprintf(text, DECISION_TEXT, "%s", words);
    }
}

static void tell_profile(explanation *e, const sattn_recipe_list *list,
                         const sattn_options *options)
{
    const sattn_own_profile *const own = sattn_profile_own();
    const bool is_given = options && options->profile;
    const bool is_none = is_given && !list->overrides.profile;
    const char *const path = is_none    ? ""
                             : is_given ? sattn_profile_path(list->overrides.profile)
                                        : own->path;
    snprintf(e->path, sizeof e->path, "%s", path);
    snprintf(e->profile_state, sizeof e->profile_state, "%s%s%s",
             is_none        ? "options.profile is none"
             : is_given     ? "in use, by options.profile"
             : own->profile ? "in use"
                            : own->problem,
             !is_given && own->profile && *own->problem ? ", but " : "",
             !is_given && own->profile ? own->problem : "");
}

sattn_status sattn_explanation_make(sattn_explanation **made, const sattn_recipe_list *list,
                                    const sattn_options *options)
{
    const sattn_profile_entry *const entry =
        sattn_profiled_entry(&list->overrides, &list->shape_class);
    explanation *const e = malloc(sizeof *e);
    if (!e)
        return sattn_fail(SATTN_ERR_MEMORY, "could not allocate an explanation");
    sattn_class_print(&list->shape_class, e->shape_class);
    tell_profile(e, list, options);
    tell_decision(list, entry, e->path, e->profile_state, e->decision);
    snprintf(e->measured, sizeof e->measured, "%s", entry ? entry->shape : "");
    for (size_t i = 0; i < list->n; ++i)
        describe(list, entry, i, &e->candidates[i], e->kernels[i], e->reasons[i]);
    find_front(e->candidates, list->n);
    e->made = (sattn_explanation){.shape_class = e->shape_class,
                                  .decision = e->decision,
                                  .profile = e->path,
                                  .profile_state = e->profile_state,
                                  .n_candidates = list->n,
                                  .candidates = e->candidates,
                                  .measured = e->measured,
                                  .is_tainted = entry && entry->is_tainted};
    *made = &e->made;
    return SATTN_OK;
}

void sattn_explanation_destroy(sattn_explanation *made)
{
    free(made); /* the first member of all that was allocated */
}
