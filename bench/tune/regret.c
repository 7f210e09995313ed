/* SPDX-License-Identifier: MIT
 *
 * regret.c: a race per shape in which the profile's choice is the incumbent, so that it counts as
 * the best where nothing is clearly faster. */
#include "bench/tune/regret.h"

#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/tune/regret_shapes.h"
#include "bench/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In less a race decides nothing. */
static const double least_share_s = 0.5;

/* ---- one shape */

/* What the profile has calls of the job take: an index into the recipes, to which it is added if it
 * is not among them. */
static size_t chosen_recipe(const sattn_regret_run *run, sattn_regret_row *row,
                            sattn_tune_recipes *recipes)
{
    const sattn_profile_entry *const entry =
        sattn_profile_find(run->store->kept, &row->job.shape_class, row->job.usable);
    row->source = !entry                ? "no entry"
                  : !entry->is_complete ? "not finished"
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
        const sattn_race_lane *const lane = lane_of[c] < 0 ? NULL : &race->lanes[lane_of[c]];
        if (!lane || !(lane->behind.median <= best->behind.median))
            continue;
        best = lane;
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

static void run_row(const sattn_regret_run *run, sattn_regret_row *row, double seconds)
{
    sattn_tune_recipes recipes;
    sattn_tune_field field = {0};
    sattn_race_result race;
    int lane_of[SATTN_RECIPES_MAX];
    const int64_t begin = sattn_now_ns();
    row->is_begun = true;
    sattn_crew_gather(&run->places->crew, row->job.threads);
    if (!sattn_tune_list_recipes(&row->job, &recipes, row->error, sizeof row->error))
        return;
    const size_t chosen = chosen_recipe(run, row, &recipes);
    if (sattn_tune_field_open(&field, &row->job, recipes.list, recipes.count, row->error,
                              sizeof row->error)) {
        field.list[chosen].must_race = true;
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

/* ---- all of them */

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

sattn_regret_summary sattn_regret_summarise(const sattn_regret_run *run, bool with_profile)
{
    sattn_regret_summary summary = {0};
    double *const regrets = calloc(run->count + 1, sizeof *regrets);
    for (size_t r = 0; regrets && r < run->count; ++r) {
        const sattn_regret_row *const row = &run->rows[r];
        const sattn_regret *const regret = with_profile ? &row->with : &row->without;
        if (!row->is_decided) {
            summary.n_undecided += row->is_begun && !*row->error;
            summary.n_waiting += !row->is_begun;
            continue;
        }
        regrets[summary.n++] = regret->regret;
        summary.n_beyond += regret->beyond > 0;
        summary.worst_beyond = fmax(summary.worst_beyond, regret->beyond);
    }
    if (summary.n > 0) {
        qsort(regrets, (size_t)summary.n, sizeof *regrets, by_number);
        summary.median = regrets[summary.n / 2];
        summary.p95 = regrets[(summary.n * 95 - 1) / 100];
        summary.worst = regrets[summary.n - 1];
    }
    free(regrets);
    return summary;
}

int sattn_regret_exit_code(const sattn_regret_run *run)
{
    for (size_t r = 0; r < run->count; ++r)
        if (*run->rows[r].error)
            return SATTN_EXIT_FAILED;
    return sattn_regret_summarise(run, true).n > 0 ? SATTN_EXIT_GOOD : SATTN_EXIT_NOTHING;
}

static void add_rows(sattn_regret_run *run, const sattn_regret_shape *shape, sattn_features usable)
{
    const sattn_tune_options *const options = run->options;
    const size_t n_isas = options->isas.count ? options->isas.count : 1;
    if (!sattn_name_list_wants(&options->shapes, shape->shape.name) ||
        !sattn_name_list_wants(&options->ops, sattn_op_name(shape->op)))
        return;
    for (size_t i = 0; i < n_isas; ++i)
        for (int t = 0; t < options->threads.n; ++t)
            run->rows[run->count++].job = sattn_tune_job_of(
                shape->op, &shape->shape, options->isas.count ? options->isas.names[i] : NULL,
                usable, options->threads.of[t]);
}

static bool select_rows(sattn_regret_run *run, sattn_features usable)
{
    size_t n_shapes;
    const sattn_regret_shape *const shapes = sattn_regret_shapes(&n_shapes);
    const size_t n_isas = run->options->isas.count ? run->options->isas.count : 1;
    run->rows = calloc(n_shapes * n_isas * (size_t)run->options->threads.n, sizeof *run->rows);
    for (size_t s = 0; run->rows && s < n_shapes; ++s)
        add_rows(run, &shapes[s], usable);
    return run->rows != NULL;
}

double sattn_regret_share_s(double left_s, size_t n_left)
{
    const double even = left_s / (double)n_left;
    return left_s > 0 ? fmin(left_s, fmax(even, least_share_s)) : 0;
}

static double elapsed_s(const sattn_regret_run *run)
{
    return (double)(sattn_now_ns() - run->begin_ns) * 1e-9;
}

static void run_rows(sattn_regret_run *run)
{
    sattn_progress line;
    run->begin_ns = sattn_now_ns();
    sattn_progress_begin(&line);
    for (size_t r = 0; r < run->count && !sattn_stop_asked(); ++r) {
        const double left = run->options->budget_s - elapsed_s(run);
        const double share = sattn_regret_share_s(left, run->count - r);
        if (!(share > 0))
            break;
        sattn_progress_update(&line, (double)r / (double)run->count, run->rows[r].job.shape.name);
        run_row(run, &run->rows[r], share);
        sattn_progress_clear(&line);
        if (!run->options->json)
            sattn_regret_print_row(&run->rows[r]);
    }
    run->seconds = elapsed_s(run);
}

static bool print_document(const sattn_regret_run *run)
{
    json_t *const document = sattn_regret_document(run);
    const bool good = document && sattn_result_print(document, stdout);
    json_decref(document);
    return good;
}

static int run_all(const sattn_regret_run *selected)
{
    sattn_regret_run all = *selected;
    sattn_regret_run *const run = &all;
    sattn_environment environment;
    sattn_places places;
    bool good = true;
    run->environment = &environment;
    run->places = &places;
    sattn_environment_read(NULL, &environment);
    sattn_places_begin(&places, &run->options->threads);
    if (!run->options->json)
        sattn_regret_print_begin(run);
    sattn_stop_begin();
    run_rows(run);
    if (run->options->json)
        good = print_document(run);
    else
        sattn_regret_print_end(run);
    sattn_stop_end();
    sattn_places_end(&places);
    if (sattn_stop_asked())
        return SATTN_EXIT_SIGNAL + sattn_stop_signal();
    const int code = good ? sattn_regret_exit_code(run) : SATTN_EXIT_FAILED;
    if (code == SATTN_EXIT_NOTHING)
        fputs("simdattn tune: no race was decided in this time: --budget gives it more\n", stderr);
    return code;
}

static int list_rows(const sattn_regret_run *run)
{
    for (size_t r = 0; r < run->count; ++r) {
        char text[SATTN_CLASS_TEXT];
        sattn_class_print(&run->rows[r].job.shape_class, text);
        printf("%-22s  %s\n", run->rows[r].job.shape.name, text);
    }
    return SATTN_EXIT_GOOD;
}

int sattn_regret_verify(const sattn_tune_options *options, sattn_features usable)
{
    char error[512] = "out of memory";
    sattn_tune_store store = {0};
    sattn_regret_run run = {.options = options, .store = &store};
    int code = SATTN_EXIT_FAILED;
    if (!sattn_tune_check_isas(options, usable))
        return SATTN_EXIT_USAGE;
    if (!select_rows(&run, usable)) {
        fprintf(stderr, "simdattn tune: %s\n", error);
    } else if (run.count == 0) {
        fputs("simdattn tune: --verify has no shape that matches these options (--list shows what "
              "there is)\n",
              stderr);
        code = SATTN_EXIT_NOTHING;
    } else if (options->list) {
        code = list_rows(&run);
    } else if (!sattn_tune_store_open(&store, options, error, sizeof error)) {
        fprintf(stderr, "simdattn tune: %s\n", error);
        code = SATTN_EXIT_USAGE;
    } else if (!store.kept) {
        fprintf(stderr, "simdattn tune: there is no profile to verify: %s\n",
                *store.note ? store.note : store.path);
        code = SATTN_EXIT_NOTHING;
    } else {
        code = run_all(&run);
    }
    sattn_tune_store_close(&store);
    free(run.rows);
    return code;
}
