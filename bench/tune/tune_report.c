/* SPDX-License-Identifier: MIT
 *
 * tune_report.c: the table of `simdattn tune`, of at most 100 columns, and what to do next. Errors
 * are in the unit of the op (docs/numerics.md). */
#include "bench/tune/tune_report.h"

#include "bench/bench/bench_report.h"
#include "bench/recipe_name.h"
#include "bench/stop.h"
#include "bench/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPE, TIME, TAKEN, GAIN, SPREAD, ERROR, N_COLUMNS };

enum { SHAPE_WIDTH = 33 };

static const sattn_table_column columns[N_COLUMNS] = {
    {"  class of", SHAPE_WIDTH, false},
    {"default", 7, true},
    {"taken", 28, false},
    {"gain", 6, true},
    {"spread", 6, true},
    {"error/max", 10, true},
};

/* ---- words */

/* What the default is taken for. */
static const char *default_of(const sattn_profile_entry *entry)
{
    if (!entry->is_complete)
        return "= not finished";
    return entry->kept == SATTN_KEPT_IN_A_TIE           ? "= tie"
           : entry->kept == SATTN_KEPT_SLOWER_ELSEWHERE ? "= another is slower elsewhere"
           : entry->kept == SATTN_KEPT_UNCONFIRMED      ? "= another is not confirmed"
                                                        : "= the fastest";
}

/* ---- lines */

static void print_units(const sattn_tune_session *session)
{
    bool is_shown[SATTN_OP_COUNT] = {false};
    for (size_t j = 0; j < session->jobs->count; ++j) {
        const sattn_tune_job *const job = &session->jobs->jobs[j];
        if (!is_shown[job->op])
            printf("    %-8s %s\n", sattn_op_name(job->op), job->task->error_unit);
        is_shown[job->op] = true;
    }
}

void sattn_tune_print_begin(const sattn_tune_session *session)
{
    const sattn_tune_store *const store = session->store;
    sattn_bench_print_header(session->environment, session->places, "");
    if (*store->note)
        printf("starting over, since %s\n", store->note);
    puts("\nEach line is a class of calls, measured on the shape that it names. `default` is the "
         "time of what\nthe library takes without a profile, `taken` what it will take with this "
         "one (=: the default);\n`gain` is what that saves, `spread` what rounds differ in (~: "
         "measured beside other work).\n`error` is that of what is taken, `max` the most that is "
         "allowed, with u = 2^-24 in units of");
    print_units(session);
    putchar('\n');
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    sattn_table_print(&table, stdout, true, 0);
    fflush(stdout);
}

static void set_race(sattn_table *table, const sattn_tune_session *session, size_t job,
                     const sattn_profile_entry *entry)
{
    const sattn_stat *const gain = &session->outcomes[job].gain;
    const bool is_paired = session->states[job] == SATTN_TUNE_DONE && gain->n > 0;
    const double ratio =
        is_paired ? gain->median : entry->tried[0].time_ns / entry->tried[entry->taken].time_ns;
    if (entry->taken != 0 && isfinite(ratio))
        sattn_table_set(table, GAIN, "%.1f%%", 100 * (1 - 1 / ratio));
    if (entry->is_complete && isfinite(entry->spread))
        sattn_table_set(table, SPREAD, "%s%.1f%%", entry->is_tainted ? "~" : "",
                        100 * entry->spread);
}

static void set_entry(sattn_table *table, const sattn_tune_session *session, size_t job,
                      const sattn_profile_entry *entry)
{
    const sattn_tried *const taken = &entry->tried[entry->taken];
    char text[SATTN_RECIPE_NAME];
    if (isfinite(entry->tried[0].time_ns)) {
        sattn_format_time(entry->tried[0].time_ns, text, sizeof text);
        sattn_table_set(table, TIME, "%s", text);
    }
    sattn_recipe_name(&taken->recipe, text);
    sattn_table_set(table, TAKEN, "%s", entry->taken == 0 ? default_of(entry) : text);
    set_race(table, session, job, entry);
    const bool is_limited = entry->max_error > 0 && entry->max_error < taken->error_bound;
    const double most = is_limited ? entry->max_error : taken->error_bound;
    if (isfinite(taken->error))
        sattn_table_set(table, ERROR, most < 999.5 ? "%.3g/%.3g" : "%.3g/%.0f", taken->error, most);
}

static void print_rejected(const sattn_tune_outcome *outcome)
{
    char name[SATTN_RECIPE_NAME];
    if (*outcome->kept)
        printf("    %s\n", outcome->kept);
    for (size_t c = 0; c < outcome->entry.n_tried; ++c) {
        if (outcome->notes[c].verdict != SATTN_TUNE_REJECTED)
            continue;
        sattn_recipe_name(&outcome->entry.tried[c].recipe, name);
        printf("    %s%s: %s\n", c == 0 ? "the default, " : "", name, outcome->notes[c].why);
    }
}

/* A name that is too long for its column has a line for itself. */
static void set_name(sattn_table *table, const sattn_tune_job *job, bool is_changed)
{
    char name[112];
    sattn_tune_job_name(job, name, sizeof name);
    const char *const mark = is_changed ? "*" : " ";
    if (strlen(name) + 2 > SHAPE_WIDTH)
        printf("%s %s\n", mark, name);
    else
        sattn_table_set(table, SHAPE, "%s %s", mark, name);
}

/* Of a long list, what is in the file is counted at the end. */
void sattn_tune_print_job(const sattn_tune_session *session, size_t job)
{
    const sattn_profile_entry *const entry = sattn_tune_known(session, job);
    const sattn_tune_outcome *const outcome = &session->outcomes[job];
    const bool is_run = session->states[job] == SATTN_TUNE_DONE;
    sattn_table table;
    if (!is_run && session->jobs->jobs[job].tier != SATTN_TUNE_ASKED)
        return;
    sattn_table_init(&table, columns, N_COLUMNS);
    if (sattn_table_add_row(&table)) {
        set_name(&table, &session->jobs->jobs[job], entry && entry->taken);
        if (entry)
            set_entry(&table, session, job, entry);
    }
    sattn_table_print(&table, stdout, false, 0);
    sattn_table_free(&table);
    if (*outcome->error)
        printf("    %s\n", outcome->error);
    if (is_run)
        print_rejected(outcome);
    fflush(stdout);
}

/* ---- the end */

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static void print_counts(const sattn_tune_session *session, double seconds)
{
    int changed = 0, kept = 0, open = 0, waiting = 0, from_file = 0;
    for (size_t j = 0; j < session->jobs->count; ++j) {
        const sattn_profile_entry *const entry = sattn_tune_known(session, j);
        waiting += session->states[j] == SATTN_TUNE_WAITING;
        from_file += session->states[j] == SATTN_TUNE_KEPT;
        open += entry && !entry->is_complete;
        changed += entry && entry->is_complete && entry->taken != 0;
        kept += entry && entry->is_complete && entry->taken == 0;
    }
    printf("\n%zu class%s in %.0f s: %d changed (*), %d keep%s the default", session->jobs->count,
           plural(session->jobs->count, "", "es"), seconds, changed, kept,
           plural((size_t)kept, "s", ""));
    if (from_file > 0)
        printf(" (%d from the file)", from_file);
    if (open > 0)
        printf(", %d not finished", open);
    if (waiting > 0)
        printf(", %d not begun", waiting);
    if (sattn_stop_asked())
        fputs("; interrupted", stdout);
    putchar('\n');
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier) {
        const sattn_tune_coverage c = sattn_tune_coverage_of(session, (sattn_tune_tier)tier);
        if (c.classes > 0)
            printf("  %-20s %d of %d class%s finished: %d named shape%s\n",
                   sattn_tune_tier_name((sattn_tune_tier)tier), c.complete, c.classes,
                   plural((size_t)c.classes, "", "es"), c.shapes,
                   plural((size_t)c.shapes, "", "s"));
    }
    if (open + waiting > 0)
        puts(session->options->fresh
                 ? "The same command without --fresh keeps what is finished and goes on with the "
                   "rest."
                 : "The same command again keeps what is finished and goes on with the rest.");
}

/* A finished class whose shape other verbs know by its name: best one that was changed, of a whole
 * attention. NULL: there is none. */
static const sattn_tune_job *example_of(const sattn_tune_session *session)
{
    const sattn_tune_job *example = NULL;
    int best = -1;
    for (size_t j = 0; j < session->jobs->count; ++j) {
        const sattn_tune_job *const job = &session->jobs->jobs[j];
        const sattn_profile_entry *const entry = sattn_tune_known(session, j);
        if (!entry || !entry->is_complete || job->tier == SATTN_TUNE_LENGTHS ||
            job->tier == SATTN_TUNE_STRIDED || !sattn_shape_by_name(job->shape.name))
            continue;
        const int worth = 2 * (job->op == SATTN_OP_fused) + (entry->taken != 0);
        if (worth > best)
            example = job;
        best = worth > best ? worth : best;
    }
    return example;
}

/* As it is to be typed, for the same calls and file. */
static void print_commands(const sattn_tune_session *session)
{
    const sattn_tune_job *const job = example_of(session);
    const char *const out = session->options->out;
    if (job) {
        printf("Why a call runs what it runs:  ./run explain --shape %s", job->shape.name);
        if (job->op != SATTN_OP_fused)
            printf(" --op %s", sattn_op_name(job->op));
        if (job->isa)
            printf(" --isa %s", job->isa);
        if (job->threads > 1)
            printf(" --threads %d", job->threads);
        printf("%s%s\n", out ? " --profile " : "", out ? out : "");
    }
    printf("What the profile is worth on other shapes:  ./run tune --verify%s%s\n",
           out ? " --out " : "", out ? out : "");
}

void sattn_tune_print_end(const sattn_tune_session *session, double seconds, bool is_there)
{
    print_counts(session, seconds);
    if (!is_there)
        return;
    printf("\nThe profile is %s\n", session->store->path);
    const size_t others = sattn_tune_store_less_exact(session->store);
    if (others > 0)
        printf("%zu other class%s in it keep%s what was chosen with another --max-error.\n", others,
               plural(others, "", "es"), plural(others, "s", ""));
    puts(session->options->out
             ? "Programs use it where SATTN_PROFILE names it, or sattn_profile_load reads it."
             : "Programs that use the library read it at their first call.");
    print_commands(session);
}
