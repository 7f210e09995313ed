/* SPDX-License-Identifier: MIT
 *
 * check_report.c: the table of `simdattn check`, one line per variant, and what is wrong. */
#include "bench/check/check.h"
#include "bench/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FAILURES_SHOWN = 20 };

sattn_check_total sattn_check_total_of(const sattn_check_run *run, size_t variant)
{
    sattn_check_total total = {.is_finite = true};
    double measured = 0;
    for (size_t e = 0; e < run->n_entries; ++e) {
        const sattn_check_entry *const entry = &run->entries[e];
        const sattn_verify_result *const r = &entry->result;
        if (entry->variant != variant)
            continue;
        ++total.n_entries;
        total.n_elements += r->n_elements;
        total.n_failed += !sattn_check_entry_good(entry);
        if (r->n_failed > 0 && !isfinite(r->failed_got))
            total.is_finite = false;
        if (r->n_measured > 0 && (r->worst_error > total.worst || measured == 0)) {
            total.worst = r->worst_error;
            total.worst_bound = r->worst_error_bound;
        }
        total.worst_ratio = fmax(total.worst_ratio, r->worst_ratio);
        if (r->n_measured > 0) {
            measured += (double)r->n_measured;
            total.mean += (r->mean_error - total.mean) * (double)r->n_measured / measured;
        }
    }
    return total;
}

void sattn_check_describe(const sattn_check_run *run, const sattn_check_entry *entry, char *text,
                          size_t size)
{
    const sattn_verify_result *const r = &entry->result;
    const sattn_verify_place *const at = &r->failed_at;
    const int used =
        snprintf(text, size, "%s, shape %s, data %s: ", run->variants[entry->variant].kernel,
                 entry->shape, entry->data);
    if (used < 0 || (size_t)used >= size)
        return;
    text += used;
    size -= (size_t)used;
    if (*entry->refused)
        snprintf(text, size, "refused: %s", entry->refused);
    else if (r->n_elements == 0)
        snprintf(text, size, "nothing was compared");
    else
        snprintf(text, size,
                 "%" PRId64 " of %" PRId64 " elements; first in batch entry %" PRId64
                 ", head %" PRId64 ", row %" PRId64 ", column %" PRId64
                 ": %s: got %.9g, wanted %.9g, bound %.3g",
                 r->n_failed, r->n_elements, at->batch, at->head, at->row, at->column,
                 r->failed_why, r->failed_got, r->failed_want, r->failed_bound);
}

static const char legend[] =
    "entries      one shape class with one kind of data each (--help lists them)\n"
    "worst, mean  error of an output element against a double-precision oracle, in the unit named\n"
    "bound there  the largest error that rounding can explain where the worst was found\n"
    "             (docs/numerics.md)\n"
    "of bound     largest error/bound of any element, wherever it was; more than 1 is a failure\n"
    "p, q, k, v   weights, queries, keys and values; 2^-24 is half a unit in the last place of 1\n";

static void print_table(const sattn_check_run *run)
{
    static const sattn_table_column columns[] = {
        {"op", 0, false},      {"kernel", 0, false},  {"entries", 0, true},
        {"worst", 0, true},    {"mean", 0, true},     {"bound there", 0, true},
        {"of bound", 0, true}, {"verdict", 6, false}, {"unit of the errors", 0, false}};
    sattn_table table;
    sattn_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t v = 0; v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        const sattn_check_total total = sattn_check_total_of(run, v);
        if (!sattn_check_runs(variant) || total.n_entries == 0)
            continue;
        sattn_table_add_row(&table);
        sattn_table_set(&table, 0, "%s", variant->op);
        sattn_table_set(&table, 1, "%s", variant->kernel);
        sattn_table_set(&table, 2, "%" PRId64, total.n_entries);
        if (total.is_finite)
            sattn_table_set(&table, 3, "%.3g", total.worst);
        else
            sattn_table_set(&table, 3, "not finite");
        sattn_table_set(&table, 4, "%.2g", total.mean);
        sattn_table_set(&table, 5, "%.3g", total.worst_bound);
        sattn_table_set(&table, 6, "%.2g", total.worst_ratio);
        if (total.n_failed > 0)
            sattn_table_set(&table, 7, "FAILED %" PRId64, total.n_failed);
        else
            sattn_table_set(&table, 7, "good");
        sattn_table_set(&table, 8, "%s", sattn_check_unit(variant->op));
    }
    sattn_table_print(&table, stdout, true, 0);
    sattn_table_free(&table);
}

static void print_failures(const sattn_check_run *run, int64_t n_failed)
{
    int shown = 0;
    if (n_failed > 0)
        fputs("\nFailures:\n", stdout);
    for (size_t e = 0; e < run->n_entries && shown < FAILURES_SHOWN; ++e) {
        char text[1024];
        if (sattn_check_entry_good(&run->entries[e]))
            continue;
        sattn_check_describe(run, &run->entries[e], text, sizeof text);
        printf("  %s\n", text);
        ++shown;
    }
    if (n_failed > shown)
        printf("  and %" PRId64 " more entries (--json lists all)\n", n_failed - shown);
}

/* Kernels that were asked for and cannot run here: skipped is not passed. */
static int print_skipped(const sattn_check_run *run)
{
    int n = 0;
    for (size_t v = 0; v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!variant->is_wanted || !*variant->why_not)
            continue;
        if (n++ == 0)
            fputs("\nSkipped, not checked:\n", stdout);
        printf("  %s: %s\n", variant->kernel, variant->why_not);
    }
    return n;
}

void sattn_check_print(const sattn_check_run *run)
{
    int64_t n_failed = 0, n_elements = 0, n_variants = 0;
    for (size_t e = 0; e < run->n_entries; ++e) {
        n_failed += !sattn_check_entry_good(&run->entries[e]);
        n_elements += run->entries[e].result.n_elements;
    }
    for (size_t v = 0; v < run->n_variants; ++v)
        n_variants += sattn_check_total_of(run, v).n_entries > 0;
    print_table(run);
    printf("\n%s", legend);
    print_failures(run, n_failed);
    const int n_skipped = print_skipped(run);
    printf("\n%" PRId64 " kernels compared, %d skipped; %zu entries, %" PRId64
           " failed; %.3g million"
           " elements; seed %" PRIu64 "; %.1f s\n",
           n_variants, n_skipped, run->n_entries, n_failed, (double)n_elements * 1e-6,
           run->options->seed, run->seconds);
}
