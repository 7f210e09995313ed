/* SPDX-License-Identifier: MIT
 *
 * regret_report.c: the table and the document of `tune --verify`. */
#include "bench/bench_report.h"
#include "bench/recipe_name.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/table.h"
#include "bench/tune/regret.h"
#include "bench/tune/tune_report.h"

#include <math.h>
#include <stdio.h>

enum { SHAPE, DEFAULT, WITHOUT, CHOSEN, TIME, WITH, NOISE, BEST, N_COLUMNS };

static const sattn_table_column columns[N_COLUMNS] = {
    {"  shape", 24, false}, {"without profile", 28, false},
    {"regret", 7, true},    {"with profile", 28, false},
    {"time", 7, true},      {"regret", 7, true},
    {"noise", 6, true},     {"fastest, if another", 0, false},
};

void sattn_regret_print_begin(const sattn_regret_run *run)
{
    sattn_bench_print_header(run->environment, run->places, "");
    printf("\nThe profile %s on %zu calls\nthat it was not made with. `regret`: how much longer a "
           "choice takes than the fastest of a fresh race of\nall candidates; `noise`: what the "
           "rounds differ in; `!`: beyond doubt and noise.\n\n",
           run->store->path, run->count);
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    sattn_table_print(&table, stdout, true, 0);
    fflush(stdout);
}

static void set_regret(sattn_table *table, int column, const sattn_regret *regret)
{
    sattn_table_set(table, column, "%s%.1f%%", regret->beyond > 0 ? "!" : "", 100 * regret->regret);
}

static void set_row(sattn_table *table, const sattn_regret_row *row)
{
    char text[SATTN_RECIPE_NAME];
    sattn_recipe_name(&row->without.recipe, text);
    sattn_table_set(table, DEFAULT, "%s", text);
    set_regret(table, WITHOUT, &row->without);
    const bool is_same = sattn_recipes_equal(&row->with.recipe, &row->without.recipe);
    sattn_recipe_name(&row->with.recipe, text);
    sattn_table_set(table, CHOSEN, "%s%s%s%s", is_same ? "=" : text, is_same ? " (" : "",
                    is_same ? row->source : "", is_same ? ")" : "");
    sattn_format_time(row->with.time_ns, text, sizeof text);
    sattn_table_set(table, TIME, "%s", text);
    set_regret(table, WITH, &row->with);
    if (isfinite(row->with.noise))
        sattn_table_set(table, NOISE, "%s%.1f%%", row->is_tainted ? "~" : "",
                        100 * row->with.noise);
    if (sattn_recipes_equal(&row->best, &row->with.recipe))
        return;
    sattn_recipe_name(&row->best, text);
    sattn_table_set(table, BEST, "%s", text);
}

void sattn_regret_print_row(const sattn_regret_row *row)
{
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    if (sattn_table_add_row(&table)) {
        sattn_table_set(&table, SHAPE, "  %s%s%s", row->job.shape.name, row->job.isa ? " " : "",
                        row->job.isa ? row->job.isa : "");
        if (row->is_decided)
            set_row(&table, row);
        else if (*row->error)
            sattn_table_set(&table, DEFAULT, "%s", row->error);
        else
            sattn_table_set(&table, DEFAULT, "not decided (%d round%s)", row->rounds,
                            row->rounds == 1 ? "" : "s");
    }
    sattn_table_print(&table, stdout, false, 0);
    sattn_table_free(&table);
    fflush(stdout);
}

static void print_summary(const sattn_regret_run *run, bool with_profile)
{
    const sattn_regret_summary s = sattn_regret_summarise(run, with_profile);
    printf("  %-16s median %.1f %%, p95 %.1f %%, worst %.1f %%; beyond the noise on %d of %d, by "
           "%.1f %% at most\n",
           with_profile ? "with profile" : "without profile", 100 * s.median, 100 * s.p95,
           100 * s.worst, s.n_beyond, s.n, 100 * s.worst_beyond);
}

void sattn_regret_print_end(const sattn_regret_run *run)
{
    const sattn_regret_summary s = sattn_regret_summarise(run, true);
    printf("\nregret on %d shape%s in %.0f s%s", s.n, s.n == 1 ? "" : "s", run->seconds,
           sattn_stop_asked() ? ", interrupted" : "");
    if (s.n_undecided + s.n_waiting > 0)
        printf("; not counted: %d not decided, %d not begun", s.n_undecided, s.n_waiting);
    putchar('\n');
    if (s.n == 0)
        return;
    print_summary(run, false);
    print_summary(run, true);
}

/* ---- JSON */

static json_t *regret_object(const sattn_regret *regret)
{
    static const char absent[] = "not measured";
    char kernels[SATTN_RECIPE_TEXT];
    json_t *const object = json_object();
    sattn_recipe_print(&regret->recipe, kernels);
    sattn_result_text(object, "plan", sattn_recipe_plan(&regret->recipe));
    sattn_result_text(object, "kernels", kernels);
    json_object_set_new(object, "key_splits", json_integer(regret->recipe.key_splits));
    sattn_result_number(object, "time_ns", regret->time_ns, absent);
    sattn_result_number(object, "regret", regret->regret, absent);
    sattn_result_number(object, "noise", regret->noise, absent);
    sattn_result_number(object, "beyond_noise", regret->beyond, absent);
    return object;
}

static json_t *row_object(const sattn_regret_row *row)
{
    char text[SATTN_CLASS_TEXT], kernels[SATTN_RECIPE_TEXT];
    json_t *const object = json_object();
    sattn_class_print(&row->job.shape_class, text);
    sattn_result_text(object, "shape", row->job.shape.name);
    sattn_result_text(object, "op", sattn_op_name(row->job.op));
    sattn_result_text(object, "class", text);
    sattn_result_text(object, "isa", row->job.isa);
    sattn_result_text(object, "error", *row->error ? row->error : NULL);
    json_object_set_new(object, "decided", json_boolean(row->is_decided));
    json_object_set_new(object, "rounds", json_integer(row->rounds));
    if (!row->is_decided)
        return object;
    sattn_recipe_print(&row->best, kernels);
    sattn_result_text(object, "profile_has", row->source);
    sattn_result_text(object, "fastest", kernels);
    json_object_set_new(object, "without_profile", regret_object(&row->without));
    json_object_set_new(object, "with_profile", regret_object(&row->with));
    json_object_set_new(object, "tainted", json_boolean(row->is_tainted));
    return object;
}

static json_t *summary_object(const sattn_regret_run *run, bool with_profile)
{
    const sattn_regret_summary s = sattn_regret_summarise(run, with_profile);
    return json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:i, s:f}", "shapes", s.n, "not_decided",
                     s.n_undecided, "not_begun", s.n_waiting, "median", s.median, "p95", s.p95,
                     "worst", s.worst, "beyond_noise", s.n_beyond, "worst_beyond_noise",
                     s.worst_beyond);
}

json_t *sattn_regret_document(const sattn_regret_run *run)
{
    json_t *const document = sattn_result_new(run->environment);
    if (!document)
        return NULL;
    json_t *const shapes = json_array();
    for (size_t r = 0; r < run->count; ++r)
        json_array_append_new(shapes, row_object(&run->rows[r]));
    json_object_del(document, "benchmarks");
    sattn_places_add(run->places, sattn_result_context(document));
    sattn_result_text(document, "profile", run->store->path);
    json_object_set_new(document, "seconds", json_real(run->seconds));
    json_object_set_new(document, "interrupted", json_boolean(sattn_stop_asked()));
    json_object_set_new(document, "without_profile", summary_object(run, false));
    json_object_set_new(document, "with_profile", summary_object(run, true));
    json_object_set_new(document, "shapes", shapes);
    return document;
}
