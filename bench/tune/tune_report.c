/* SPDX-License-Identifier: MIT
 *
 * tune_report.c: the table of `simdattn tune`. Errors are in the unit of the op
 * (docs/numerics.md). */
#include "bench/tune/tune_report.h"

#include "bench/bench_report.h"
#include "bench/recipe_name.h"
#include "bench/stop.h"
#include "bench/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPE, DEFAULT, TIME, FASTEST, GAIN, SPREAD, ERROR, NOTE, N_COLUMNS };

static const sattn_table_column columns[N_COLUMNS] = {
    {"  class of", 42, false}, {"default", 28, false}, {"time", 7, true},  {"taken", 28, false},
    {"gain", 7, true},         {"spread", 7, true},    {"error", 6, true}, {"", 0, false},
};

/* ---- words */

static void job_name(const sattn_tune_job *job, char *text, size_t size)
{
    char what[96], threads[24] = "";
    sattn_tune_job_shape(job, what, sizeof what);
    if (job->threads > 1)
        snprintf(threads, sizeof threads, ", %d threads", job->threads);
    snprintf(text, size, "%s%s%s%s%s%s", job->op == SATTN_OP_fused ? "" : sattn_op_name(job->op),
             job->op == SATTN_OP_fused ? "" : ", ", what, job->isa ? ", " : "",
             job->isa ? job->isa : "", threads);
}

static const char *note_of(const sattn_tune_session *session, size_t job,
                           const sattn_profile_entry *entry)
{
    if (!entry->is_complete)
        return "not finished";
    if (session->states[job] == SATTN_TUNE_KEPT)
        return "from the file";
    if (entry->taken > 0)
        return entry->tried[0].is_admitted ? "" : "the default is not exact enough";
    return entry->kept == SATTN_KEPT_IN_A_TIE           ? "tie, default kept"
           : entry->kept == SATTN_KEPT_SLOWER_ELSEWHERE ? "slower elsewhere, default kept"
                                                        : "default is the fastest";
}

/* ---- lines */

void sattn_tune_print_begin(const sattn_tune_session *session)
{
    const sattn_tune_store *const store = session->store;
    sattn_bench_print_header(session->environment, session->places, "");
    if (*store->note)
        printf("starting over, since %s\n", store->note);
    puts("\nEach line is a class of calls, measured on the shape that it names. `default` is what "
         "the library\ntakes without a profile, `taken` what it will take with this one; `gain` is "
         "what that saves,\n`spread` what rounds differ in (~: measured beside other work), and "
         "`error` that of what is taken.\n");
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    sattn_table_print(&table, stdout, true, 0);
    fflush(stdout);
}

static void set_entry(sattn_table *table, const sattn_tune_session *session, size_t job,
                      const sattn_profile_entry *entry)
{
    const sattn_tried *const standard = &entry->tried[0], *const taken =
                                                              &entry->tried[entry->taken];
    const sattn_stat *const gain = &session->outcomes[job].gain;
    const bool is_paired = session->states[job] == SATTN_TUNE_DONE && gain->n > 0;
    const double ratio = is_paired ? gain->median : standard->time_ns / taken->time_ns;
    char text[SATTN_RECIPE_NAME];
    sattn_recipe_name(&standard->recipe, text);
    sattn_table_set(table, DEFAULT, "%s", text);
    if (isfinite(standard->time_ns)) {
        sattn_format_time(standard->time_ns, text, sizeof text);
        sattn_table_set(table, TIME, "%s", text);
    }
    sattn_recipe_name(&taken->recipe, text);
    sattn_table_set(table, FASTEST, "%s", entry->taken == 0 ? "=" : text);
    if (entry->taken != 0 && isfinite(ratio))
        sattn_table_set(table, GAIN, "%.1f%%", 100 * (1 - 1 / ratio));
    if (isfinite(entry->spread))
        sattn_table_set(table, SPREAD, "%s%.1f%%", entry->is_tainted ? "~" : "",
                        100 * entry->spread);
    if (isfinite(taken->error))
        sattn_table_set(table, ERROR, "%.2f", taken->error);
    sattn_table_set(table, NOTE, "%s", note_of(session, job, entry));
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

void sattn_tune_print_job(const sattn_tune_session *session, size_t job)
{
    const sattn_profile_entry *const entry = sattn_tune_known(session, job);
    const sattn_tune_outcome *const outcome = &session->outcomes[job];
    char name[112];
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    if (sattn_table_add_row(&table)) {
        job_name(&session->jobs->jobs[job], name, sizeof name);
        sattn_table_set(&table, SHAPE, "%s %s", entry && entry->taken ? "*" : " ", name);
        if (entry)
            set_entry(&table, session, job, entry);
        else
            sattn_table_set(&table, DEFAULT, "%s", outcome->error);
    }
    sattn_table_print(&table, stdout, false, 0);
    sattn_table_free(&table);
    if (session->states[job] == SATTN_TUNE_DONE)
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
    int changed = 0, kept = 0, open = 0, waiting = 0;
    for (size_t j = 0; j < session->jobs->count; ++j) {
        const sattn_profile_entry *const entry = sattn_tune_known(session, j);
        waiting += session->states[j] == SATTN_TUNE_WAITING;
        open += entry && !entry->is_complete;
        changed += entry && entry->is_complete && entry->taken != 0;
        kept += entry && entry->is_complete && entry->taken == 0;
    }
    printf("\n%zu class%s in %.0f s: %d changed (*), %d keep%s the default", session->jobs->count,
           plural(session->jobs->count, "", "es"), seconds, changed, kept,
           plural((size_t)kept, "s", ""));
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
        puts("The same command again keeps what is finished and goes on with the rest.");
}

void sattn_tune_print_end(const sattn_tune_session *session, double seconds, bool is_there)
{
    const char *example = session->jobs->jobs[0].shape.name;
    print_counts(session, seconds);
    if (!is_there)
        return;
    for (size_t j = session->jobs->count; j-- > 0;) {
        const sattn_profile_entry *const entry = sattn_tune_known(session, j);
        if (entry && entry->is_complete && entry->taken != 0 &&
            session->jobs->jobs[j].op == SATTN_OP_fused &&
            session->jobs->jobs[j].tier <= SATTN_TUNE_MODELS)
            example = session->jobs->jobs[j].shape.name;
    }
    printf("\nThe profile is %s\n", session->store->path);
    const size_t others = sattn_tune_store_less_exact(session->store);
    if (others > 0)
        printf("%zu other class%s in it keep%s what was chosen with another --max-error.\n", others,
               plural(others, "", "es"), plural(others, "s", ""));
    puts(session->options->out
             ? "Programs use it where SATTN_PROFILE names it, or sattn_profile_load reads it."
             : "Programs that use the library read it at their first call.");
    printf("Why a call runs what it runs:  ./run explain --shape %s\n", example);
    puts("What the profile is worth on other shapes:  ./run tune --verify");
}

void sattn_tune_print_list(const sattn_tune_jobs *jobs)
{
    int tier = -1;
    for (size_t j = 0; j < jobs->count; ++j) {
        const sattn_tune_job *const job = &jobs->jobs[j];
        char name[112], text[SATTN_CLASS_TEXT];
        if ((int)job->tier != tier)
            printf("%s%s\n", tier >= 0 ? "\n" : "", sattn_tune_tier_name(job->tier));
        tier = (int)job->tier;
        job_name(job, name, sizeof name);
        sattn_class_print(&job->shape_class, text);
        printf("  %-34s  %s\n", name, text);
    }
}
