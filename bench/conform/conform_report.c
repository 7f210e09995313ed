/* SPDX-License-Identifier: MIT
 *
 * conform_report.c: the table of `simdattn conform`, one line per variant; where the worst errors
 * are, what the adapters did, and every failure. Made for 80 columns. */
#include "bench/conform/conform.h"
#include "bench/table.h"

#include <inttypes.h>
#include <stdio.h>

enum { FAILURES_SHOWN = 40, NAME_COLUMNS = 1, VERDICT_COLUMNS = 1 };

/* "y [0, 1, 2, 3]: got 1.25, wanted 1.5, tolerance 1e-6" */
static void describe_place(const sattn_conform_entry *entry, char *text, size_t size)
{
    const sattn_conform_place *const at = &entry->result.at;
    const sattn_conform_tensor *const tensor = &entry->test->outputs[at->output];
    int used = snprintf(text, size, "%s [", sattn_conform_output_name(at->output));
    for (int axis = 0; axis < tensor->rank && used >= 0 && (size_t)used < size; ++axis)
        used += snprintf(text + used, size - (size_t)used, "%s%" PRId64, axis ? ", " : "",
                         at->index[axis]);
    if (used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "]: got %.9g, wanted %.9g, tolerance %.3g",
                 at->got, at->want, at->tolerance);
}

/* ---- the table */

/* "87/87 0.16": always four characters of an error that is no failure. */
static void set_cell(sattn_table *table, int column, const sattn_conform_total *total)
{
    if (total->n_tests == 0)
        sattn_table_set(table, column, "-");
    else
        sattn_table_set(table, column,
                        total->worst < 9.995 ? "%" PRId64 "/%" PRId64 " %4.2f"
                                             : "%" PRId64 "/%" PRId64 " %4.2g",
                        total->n_passed, total->n_tests, total->worst);
}

static void print_table(const sattn_conform_run *run)
{
    char labels[SATTN_TABLE_COLUMNS_MAX][64];
    sattn_table_column columns[SATTN_TABLE_COLUMNS_MAX] = {{"variant", 0, false}};
    const size_t limit = SATTN_TABLE_COLUMNS_MAX - NAME_COLUMNS - VERDICT_COLUMNS;
    const int n_suites = (int)(run->suites.count < limit ? run->suites.count : limit);
    const int verdict = NAME_COLUMNS + n_suites;
    for (int s = 0; s < n_suites; ++s) {
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        snprintf(labels[s], sizeof labels[s], "%.*s", suite->label_length, suite->label);
        columns[NAME_COLUMNS + s] = (sattn_table_column){labels[s], 0, true};
    }
    columns[verdict] = (sattn_table_column){"", 0, false};
    sattn_table table;
    sattn_table_init(&table, columns, verdict + VERDICT_COLUMNS);
    for (size_t v = 0; v < run->variants.count; ++v) {
        const sattn_conform_total all = sattn_conform_total_of(run, v, SATTN_CONFORM_ALL);
        if (all.n_tests == 0)
            continue;
        sattn_table_add_row(&table);
        sattn_table_set(&table, 0, "%s", run->variants.all[v].name);
        for (int s = 0; s < n_suites; ++s) {
            const sattn_conform_total total = sattn_conform_total_of(run, v, (size_t)s);
            set_cell(&table, NAME_COLUMNS + s, &total);
        }
        if (all.n_passed < all.n_tests)
            sattn_table_set(&table, verdict, "FAILED");
    }
    sattn_table_print(&table, stdout, true, 0);
    sattn_table_free(&table);
    fputs("\nUnder each suite: tests passed of all, and the worst error in units of the\n"
          "tolerance. More than 1 is a failure, as is a NaN or infinity where none is due.\n",
          stdout);
}

static void print_suites(const sattn_conform_run *run)
{
    static const sattn_table_column columns[] = {
        {"suite", 0, false}, {"tests", 0, true}, {"qk outputs", 0, true}, {"directory", 0, false}};
    sattn_table table;
    sattn_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t s = 0; s < run->suites.count; ++s) {
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        int64_t n_tests = 0, n_qk = 0;
        for (size_t t = 0; t < suite->n_tests; ++t) {
            if (!sattn_conform_wants(run->options, &suite->tests[t]))
                continue;
            ++n_tests;
            n_qk += suite->tests[t].outputs[SATTN_CONFORM_QK].data != NULL;
        }
        sattn_table_add_row(&table);
        sattn_table_set(&table, 0, "%.*s", suite->label_length, suite->label);
        sattn_table_set(&table, 1, "%" PRId64, n_tests);
        if (n_qk > 0)
            sattn_table_set(&table, 2, "%" PRId64, n_qk);
        sattn_table_set(&table, 3, "%s", suite->directory);
    }
    fputc('\n', stdout);
    sattn_table_print(&table, stdout, true, 0);
    sattn_table_free(&table);
    if (sattn_conform_total_of(run, SATTN_CONFORM_ALL, SATTN_CONFORM_ALL).n_with_qk > 0)
        fputs("The outputs qk are compared for chains; a fused kernel has no scores to return.\n",
              stdout);
    for (size_t n = 0; n < run->suites.n_left_out; ++n)
        printf("Left out: %s, whose manifest has no tests\n", run->suites.left_out[n]);
}

/* ---- details */

static void print_worst(const sattn_conform_run *run)
{
    fputs("\nThe worst errors, in units of the tolerance:\n", stdout);
    for (size_t s = 0; s < run->suites.count; ++s) {
        char text[512];
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        const sattn_conform_total total = sattn_conform_total_of(run, SATTN_CONFORM_ALL, s);
        const sattn_conform_entry *const entry = total.worst_entry;
        if (!entry)
            continue;
        describe_place(entry, text, sizeof text);
        printf("  %.*s: %.2g by %s\n    %s\n    %s\n", suite->label_length, suite->label,
               total.worst, run->variants.all[entry->variant].name, entry->test->name, text);
    }
}

/* The tolerances in use: which, and for how many outputs. */
static void print_tolerances(const sattn_conform_run *run)
{
    int64_t n_default[3] = {0}, n_own = 0, n_log = 0;
    static const sattn_npy_type types[3] = {SATTN_NPY_F4, SATTN_NPY_F2, SATTN_NPY_F8};
    for (size_t s = 0; s < run->suites.count; ++s)
        for (size_t t = 0; t < run->suites.suites[s].n_tests; ++t) {
            const sattn_conform_test *const test = &run->suites.suites[s].tests[t];
            if (!sattn_conform_wants(run->options, test))
                continue;
            const bool own = !sattn_conform_has_default_tolerance(test);
            n_own += own;
            n_log += test->op == SATTN_CONFORM_LOG_SOFTMAX;
            for (int type = 0; type < 3; ++type)
                n_default[type] += !own && test->outputs[SATTN_CONFORM_Y].type == types[type];
        }
    fputs("\nTolerances, |got - want| <= atol + rtol |want|, and the tests that have them:\n",
          stdout);
    if (n_default[0] > 0)
        printf("  %4" PRId64 "  f32: %g + %g |want| (ONNX allows %g)\n", n_default[0],
               SATTN_CONFORM_ONNX_ATOL, SATTN_CONFORM_F32_RTOL, SATTN_CONFORM_ONNX_RTOL);
    if (n_default[2] > 0)
        printf("  %4" PRId64 "  f64: that of f32, which is what the library computes in\n",
               n_default[2]);
    if (n_default[1] > 0)
        printf("  %4" PRId64 "  f16: %g + %g |want|, ONNX's, one unit in the last place of f16\n",
               n_default[1], SATTN_CONFORM_ONNX_ATOL, SATTN_CONFORM_ONNX_RTOL);
    if (n_own > 0)
        printf("  %4" PRId64 "  the test's own\n", n_own);
    if (n_log > 0)
        printf("  %4" PRId64 "  log-softmax: another 2^-24 of |log-sum-exp|, which is an f32\n",
               n_log);
}

static void print_adapters(const sattn_conform_run *run)
{
    bool any = false;
    for (int a = 0; a < SATTN_CONFORM_ADAPTERS; ++a) {
        if (run->adapted[a] == 0)
            continue;
        if (!any)
            fputs("\nAdapters, and the tests that need them:\n", stdout);
        any = true;
        printf("  %4" PRId64 "  %s\n", run->adapted[a],
               sattn_conform_adapter_text((sattn_conform_adapter)a));
    }
}

/* Entries of a test follow each other: its name is given once. */
static void print_failures(const sattn_conform_run *run, int64_t n_failed)
{
    int64_t shown = 0;
    const sattn_conform_test *test = NULL;
    if (n_failed > 0)
        fputs("\nFailures:\n", stdout);
    for (size_t e = 0; e < run->n_entries && shown < FAILURES_SHOWN; ++e) {
        char text[512];
        const sattn_conform_entry *const entry = &run->entries[e];
        if (sattn_conform_entry_good(entry))
            continue;
        ++shown;
        if (entry->test != test)
            printf("  %s\n", entry->test->name);
        test = entry->test;
        describe_place(entry, text, sizeof text);
        if (*entry->refused)
            printf("    %s: refused: %s\n", run->variants.all[entry->variant].name, entry->refused);
        else
            printf("    %s: %" PRId64 " of %" PRId64 " elements\n      the worst: %s\n",
                   run->variants.all[entry->variant].name, entry->result.n_failed,
                   entry->result.n_elements, text);
    }
    if (n_failed > shown)
        printf("  and %" PRId64 " more (--json lists all)\n", n_failed - shown);
}

static void print_missed(const sattn_conform_run *run)
{
    if (run->n_missed > 0)
        fputs("\nNot run, which is no pass:\n", stdout);
    for (size_t m = 0; m < run->n_missed; ++m)
        printf("  %s: %s\n", run->missed[m].test->name, run->missed[m].why);
}

/* Kernels that were asked for and cannot run here: skipped is not passed. */
static int print_skipped(const sattn_conform_run *run)
{
    int n = 0;
    for (size_t v = 0; v < run->variants.count; ++v) {
        const sattn_conform_variant *const variant = &run->variants.all[v];
        if (!variant->is_wanted || !*variant->why_not)
            continue;
        if (n++ == 0)
            fputs("\nSkipped, not compared:\n", stdout);
        printf("  %s: %s\n", variant->name, variant->why_not);
    }
    return n;
}

void sattn_conform_print(const sattn_conform_run *run)
{
    const int64_t n_failed = sattn_conform_count_failed(run);
    int n_variants = 0;
    for (size_t v = 0; v < run->variants.count; ++v)
        n_variants += sattn_conform_total_of(run, v, SATTN_CONFORM_ALL).n_tests > 0;
    print_table(run);
    print_suites(run);
    print_worst(run);
    print_tolerances(run);
    print_adapters(run);
    print_failures(run, n_failed);
    print_missed(run);
    const int n_skipped = print_skipped(run);
    printf("\nTests %" PRId64 "; variants %d, skipped %d; runs %zu, failed %" PRId64
           "; tests not run %zu; %.1f s\n",
           run->n_tests, n_variants, n_skipped, run->n_entries, n_failed, run->n_missed,
           run->seconds);
}
