/* SPDX-License-Identifier: MIT
 *
 * explain_text.c: `simdattn explain` for people: what runs and why, then what was measured, then
 * why not the others, in lines of at most 80 columns. */
#include "bench/explain/explain.h"

#include "bench/info/info.h"
#include "bench/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, LABEL = 11, TEXT_SIZE = 2048 };

/* ---- lines */

static void print_wrapped(FILE *file, const char *text, int indent, int column)
{
    sattn_print_wrapped(file, text, indent, column, WIDTH);
}

static void print_field(FILE *file, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void print_field(FILE *file, const char *label, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(file, "%-*s", LABEL, label);
    print_wrapped(file, text, LABEL, LABEL);
}

/* ---- what runs, and why */

static void print_overrides(FILE *file)
{
    char text[TEXT_SIZE] = "";
    for (int v = 0; v < SATTN_INFO_OVERRIDES; ++v) {
        const char *const value = getenv(sattn_info_variables[v]);
        const size_t used = strlen(text);
        if (value && *value)
            snprintf(text + used, sizeof text - used, "%s%s=%s", used ? ", " : "",
                     sattn_info_variables[v], value);
    }
    if (*text)
        print_field(file, "overrides", "%s", text);
}

/* What has decided is told already. */
static void print_profile(const sattn_explained *explain, FILE *file)
{
    const sattn_explain_profile *const p = &explain->profile;
    char text[SATTN_EXPLAIN_PROFILE_TEXT];
    sattn_explain_profile_tell(p, text);
    if (p->state == SATTN_EXPLAIN_UNUSABLE && strstr(explain->explanation->decision, p->problem))
        snprintf(text, sizeof text, "%s: not used", p->path);
    print_field(file, "profile", "%s", text);
    for (size_t d = 0; d < p->n_differences; ++d)
        print_field(file, "", "%s: there %s, here %s", sattn_identity_name(p->differences[d].field),
                    p->differences[d].there, p->differences[d].here);
}

static void print_results(const sattn_explained *explain, FILE *file)
{
    const sattn_explain_results *const r = &explain->results;
    if (!r->path)
        return;
    if (*r->note)
        print_field(file, "results", "%s is not used: %s", r->path, r->note);
    else if (r->n_taken == 0)
        print_field(file, "results", "%s has no row of this shape, warm, on %d thread%s", r->path,
                    explain->options->threads, explain->options->threads == 1 ? "" : "s");
    else
        print_field(file, "results", "%s", r->path);
}

static void print_head(const sattn_explained *explain, FILE *file)
{
    char call[SATTN_EXPLAIN_CALL_TEXT];
    const sattn_explain_row *const taken = &explain->rows[0];
    sattn_explain_call_text(explain->options, call);
    print_field(file, "call", "%s, %s", sattn_explain_function(explain->options->op), call);
    print_overrides(file);
    print_field(file, "runs", "%s: %s", taken->name, taken->candidate->kernels);
    print_field(file, "why", "%s", explain->explanation->decision);
    print_profile(explain, file);
    print_field(file, "class", "%s", explain->explanation->shape_class);
    print_results(explain, file);
}

/* ---- what was measured */

enum { NAME, TIME, AGAINST, RANGE, ERROR, NOTE, N_COLUMNS };

static void set_figures(sattn_table *table, const sattn_explain_figures *own,
                        const sattn_explain_figures *taken)
{
    char text[32];
    if (!isfinite(own->time_ns)) {
        sattn_table_set(table, TIME, "not measured");
    } else {
        sattn_format_time(own->time_ns, text, sizeof text);
        sattn_table_set(table, TIME, "%s", text);
        sattn_table_set(table, RANGE, "%s%.1f%%", own->is_tainted ? "~" : "",
                        100 * (own->time_p90_ns - own->time_p10_ns) / own->time_ns);
    }
    if (own != taken && isfinite(own->time_ns) && isfinite(taken->time_ns))
        sattn_table_set(table, AGAINST, "%+.1f%%", 100 * (own->time_ns / taken->time_ns - 1));
    if (isfinite(own->error) && isfinite(own->error_bound))
        sattn_table_set(table, ERROR, "%.*f / %.*f", own->error < 9.995 ? 2 : 1, own->error,
                        own->error_bound < 9.95 ? 1 : 0, own->error_bound);
}

static void print_table(const sattn_explained *explain, sattn_explain_source source, FILE *file)
{
    static const sattn_table_column columns[N_COLUMNS] = {
        {"   candidate", 0, false}, {"time", 7, true},         {"vs taken", 0, true},
        {"p10-p90", 7, true},       {"error / max", 11, true}, {"", 0, false}};
    const sattn_explain_row *const rows = explain->rows;
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    for (size_t r = 0; r < explain->n_rows; ++r) {
        const sattn_candidate *const c = rows[r].candidate;
        const sattn_explain_figures *const figures = &rows[r].figures[source];
        if (!c->is_taken && !(c->is_eligible && sattn_explain_is_measured(&rows[r], source)))
            continue;
        sattn_table_add_row(&table);
        sattn_table_set(&table, NAME, "%c%c %s", c->is_taken ? '*' : ' ',
                        figures->is_on_front ? '+' : ' ', rows[r].name);
        set_figures(&table, figures, &rows[0].figures[source]);
        sattn_table_set(&table, NOTE, "%s", c->is_default ? "default" : "");
    }
    sattn_table_print(&table, file, true, 0);
    sattn_table_free(&table);
}

/* Where no source has anything. */
static void print_nothing(const sattn_explained *explain, FILE *file)
{
    char command[SATTN_EXPLAIN_HINT];
    if (sattn_explain_hint(explain, command))
        print_field(file, "measured", "nothing for such calls; `%s` would", command);
    else
        print_field(file, "measured",
                    "nothing for such calls; no class of `./run tune` is that of this call");
}

static void print_tables(sattn_explained *explain, FILE *file)
{
    bool is_any = false;
    for (int s = 0; s < SATTN_EXPLAIN_SOURCES; ++s) {
        const sattn_explain_source source = (sattn_explain_source)s;
        if (!sattn_explain_any_measured(explain->rows, explain->n_rows, source))
            continue;
        is_any = true;
        fputc('\n', file);
        if (source == SATTN_EXPLAIN_PROFILE)
            print_field(file, "measured", "for the profile, at %s", explain->explanation->measured);
        else
            print_field(file, "measured", "in %s, at this very shape", explain->results.path);
        sattn_explain_sort(explain->rows, explain->n_rows, source);
        print_table(explain, source, file);
    }
    if (!is_any)
        print_nothing(explain, file);
}

/* ---- why not the others */

/* Names of a group, what was measured of them behind it. */
static void print_group(const sattn_explained *explain, size_t first, FILE *file)
{
    enum { INDENT = 4 };
    int column = 0;
    for (size_t r = first; r < explain->n_rows; ++r) {
        char item[SATTN_RECIPE_NAME + 48], time[32];
        const sattn_explain_row *const row = &explain->rows[r];
        const double ns = row->figures[SATTN_EXPLAIN_PROFILE].time_ns;
        if (sattn_explain_group_of(explain->rows, r) != first)
            continue;
        snprintf(item, sizeof item, "%s", row->name);
        if (isfinite(ns)) {
            sattn_format_time(ns, time, sizeof time);
            snprintf(item, sizeof item, "%s (%s)", row->name, time);
        }
        const bool fits = column + 2 + (int)strlen(item) < WIDTH; /* with a comma behind it */
        if (column == 0)
            column = fprintf(file, "%*s%s", INDENT, "", item);
        else if (fits)
            column += fprintf(file, ", %s", item);
        else
            column = fprintf(file, ",\n%*s%s", INDENT, "", item) - 2;
    }
    fputc('\n', file);
}

static void print_section(const sattn_explained *explain, sattn_explain_section section,
                          const char *title, FILE *file)
{
    bool is_begun = false;
    for (size_t r = 0; r < explain->n_rows; ++r) {
        if (sattn_explain_section_of(&explain->rows[r]) != section ||
            sattn_explain_group_of(explain->rows, r) != r)
            continue;
        if (!is_begun)
            fprintf(file, "\n%s\n", title);
        is_begun = true;
        fputs("  ", file);
        print_wrapped(file, explain->rows[r].candidate->reason, 2, 2);
        print_group(explain, r, file);
    }
}

void sattn_explain_print_text(sattn_explained *explain, FILE *file)
{
    sattn_explain_sort(explain->rows, explain->n_rows, SATTN_EXPLAIN_PROFILE);
    print_head(explain, file);
    print_tables(explain, file);
    print_section(explain, SATTN_EXPLAIN_NOT_MEASURED, "eligible, but not measured", file);
    print_section(explain, SATTN_EXPLAIN_NOT_ELIGIBLE, "not eligible", file);
    sattn_explain_print_legend(explain, file);
}
