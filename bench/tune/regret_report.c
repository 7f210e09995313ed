/* SPDX-License-Identifier: MIT
 *
 * regret_report.c: the table and the document of `tune --verify`. */
#include "bench/bench/bench_report.h"
#include "bench/recipe_name.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/table.h"
#include "bench/tune/regret.h"
#include "bench/tune/tune_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPE, TIME, REGRET, NOISE, WITHOUT, SOURCE, CHOSEN, N_COLUMNS };

/* Of the table, whose lines are no longer than WIDTH; longer cells have lines of their own. */
enum { WIDTH = 100, SHAPE_WIDTH = 22, CHOSEN_WIDTH = 28, INDENT = 6 };

static const sattn_table_column columns[N_COLUMNS] = {
    {"  shape", SHAPE_WIDTH, false},
    {"time", 7, true},
    {"regret", 7, true},
    {"noise", 6, true},
    {"without", 7, true},
    {"profile has", 10, false},
    {"so a call runs", 0, false},
};

void sattn_regret_print_begin(const sattn_regret_run *run)
{
    sattn_bench_print_header(run->environment, run->places, "");
    printf(
        "\nverifying %s on %zu calls that it was not made with, in a random order:\n"
        "`regret`: how much longer what it chooses takes than the fastest of a fresh race of all "
        "candidates,\n`without`: the same of what is chosen without a profile; `noise`: what the "
        "rounds differ in (`~`:\nmeasured beside other work); `!`: beyond doubt and noise.\n\n",
        run->store->path, run->count);
    fflush(stdout);
}

static void set_regret(sattn_table *table, int column, const sattn_regret *regret)
{
    sattn_table_set(table, column, "%s%.1f%%", regret->beyond > 0 ? "!" : "", 100 * regret->regret);
}

static void print_detail(const char *label, const char *text)
{
    const int column = printf("%*s%s", INDENT, "", label);
    sattn_print_wrapped(stdout, text, INDENT, column, WIDTH);
}

static void print_recipe(const char *label, const sattn_recipe *recipe)
{
    char name[SATTN_RECIPE_NAME];
    sattn_recipe_name(recipe, name);
    print_detail(label, name);
}

static bool is_long(const sattn_recipe *recipe)
{
    char name[SATTN_RECIPE_NAME];
    sattn_recipe_name(recipe, name);
    return strlen(name) > CHOSEN_WIDTH;
}

static void set_row(sattn_table *table, const sattn_regret_row *row)
{
    char text[SATTN_RECIPE_NAME];
    sattn_format_time(row->with.time_ns, text, sizeof text);
    sattn_table_set(table, TIME, "%s", text);
    set_regret(table, REGRET, &row->with);
    if (isfinite(row->with.noise))
        sattn_table_set(table, NOISE, "%s%.1f%%", row->is_tainted ? "~" : "",
                        100 * row->with.noise);
    set_regret(table, WITHOUT, &row->without);
    sattn_table_set(table, SOURCE, "%s", row->source);
    sattn_recipe_name(&row->with.recipe, text);
    sattn_table_set(table, CHOSEN, "%s", is_long(&row->with.recipe) ? "" : text);
}

/* Recipes that the row has no room for: they are few. */
static void print_others(const sattn_regret_row *row)
{
    const sattn_recipe *const with = &row->with.recipe;
    if (is_long(with))
        print_recipe("with profile: ", with);
    if (!sattn_recipes_equal(&row->without.recipe, with))
        print_recipe("without profile: ", &row->without.recipe);
    if (!sattn_recipes_equal(&row->best, with))
        print_recipe("fastest: ", &row->best);
}

static void print_row(const sattn_regret_row *row, bool is_first)
{
    sattn_table table;
    char name[SHAPE_WIDTH + 32];
    sattn_table_init(&table, columns, N_COLUMNS);
    if (is_first)
        sattn_table_print(&table, stdout, true, 0);
    snprintf(name, sizeof name, "  %.40s%s%s", row->job.shape.name, row->job.isa ? " " : "",
             row->job.isa ? row->job.isa : "");
    if (strlen(name) > SHAPE_WIDTH)
        puts(name);
    if (sattn_table_add_row(&table)) {
        sattn_table_set(&table, SHAPE, "%s", strlen(name) > SHAPE_WIDTH ? "" : name);
        if (row->is_decided)
            set_row(&table, row);
        else if (!*row->error)
            sattn_table_set(&table, CHOSEN, "not decided (%d round%s)", row->rounds,
                            row->rounds == 1 ? "" : "s");
    }
    sattn_table_print(&table, stdout, false, 0);
    sattn_table_free(&table);
    if (*row->error)
        print_detail("", row->error);
    else if (row->is_decided)
        print_others(row);
}

static void print_summary(const sattn_regret_run *run, bool with_profile)
{
    const sattn_regret_summary s = sattn_regret_summarise(run, with_profile);
    printf("  %-16s median %.1f %%, p95 %.1f %%, worst %.1f %%; %d of %d beyond the noise, up to "
           "%.1f %%\n",
           with_profile ? "with profile" : "without profile", 100 * s.median, 100 * s.p95,
           100 * s.worst, s.n_beyond, s.n, 100 * s.worst_beyond);
}

void sattn_regret_print_end(const sattn_regret_run *run)
{
    const sattn_regret_summary s = sattn_regret_summarise(run, true);
    bool is_first = true;
    for (size_t r = 0; r < run->count; ++r)
        if (run->rows[r].turn > 0) {
            print_row(&run->rows[r], is_first);
            is_first = false;
        }
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
    json_object_set_new(object, "turn", json_integer((json_int_t)row->turn));
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
    char seed[24]; /* JSON's integers are signed here */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    json_object_set_new(document, "seed", json_string(seed));
    json_object_set_new(document, "seconds", json_real(run->seconds));
    json_object_set_new(document, "interrupted", json_boolean(sattn_stop_asked()));
    json_object_set_new(document, "without_profile", summary_object(run, false));
    json_object_set_new(document, "with_profile", summary_object(run, true));
    json_object_set_new(document, "shapes", shapes);
    return document;
}
