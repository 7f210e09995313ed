/* SPDX-License-Identifier: MIT
 *
 * conform_run.c: every variant on every test. The loop over tests is outside, so that all variants
 * are given the same tensors. */
#include "bench/conform/conform.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sattn_conform_wants(const sattn_conform_options *options, const sattn_conform_test *test)
{
    return !options->filter || strstr(test->name, options->filter) != NULL;
}

bool sattn_conform_entry_good(const sattn_conform_entry *entry)
{
    return !*entry->refused && sattn_conform_passed(&entry->result);
}

static sattn_conform_entry *add_entry(sattn_conform_run *run)
{
    if (run->n_entries == run->capacity) {
        const size_t capacity = run->capacity ? 2 * run->capacity : 512;
        void *const entries = realloc(run->entries, capacity * sizeof *run->entries);
        if (!entries)
            return NULL;
        run->entries = entries;
        run->capacity = capacity;
    }
    return &run->entries[run->n_entries++];
}

static bool run_test(sattn_conform_run *run, size_t suite, const sattn_conform_test *test)
{
    sattn_conform_problem problem;
    sattn_conform_missed *const missed = &run->missed[run->n_missed];
    *missed = (sattn_conform_missed){.suite = suite, .test = test};
    ++run->n_tests;
    if (!sattn_conform_problem_open(&problem, test, missed->why, sizeof missed->why)) {
        ++run->n_missed;
        return true;
    }
    for (int a = 0; a < SATTN_CONFORM_ADAPTERS; ++a)
        run->adapted[a] += problem.adapters >> a & 1;
    bool good = true;
    for (size_t v = 0; good && v < run->variants.count; ++v) {
        const sattn_conform_variant *const variant = &run->variants.all[v];
        if (!sattn_conform_runs(variant) || !sattn_conform_computes(variant, test->op))
            continue;
        const sattn_options call = sattn_conform_call(variant);
        const bool with_qk = sattn_conform_returns_qk(variant);
        sattn_conform_entry *const entry = add_entry(run);
        good = entry != NULL;
        if (!good)
            break;
        *entry = (sattn_conform_entry){.variant = v, .suite = suite, .test = test};
        if (sattn_conform_problem_run(&problem, with_qk, &call) == SATTN_OK)
            entry->result = sattn_conform_compare(&problem, with_qk);
        else
            snprintf(entry->refused, sizeof entry->refused, "%s", sattn_last_error());
    }
    sattn_conform_problem_close(&problem);
    return good;
}

bool sattn_conform_execute(sattn_conform_run *run)
{
    sattn_progress line;
    size_t n_tests = 0, n_done = 0;
    for (size_t s = 0; s < run->suites.count; ++s)
        n_tests += run->suites.suites[s].n_tests;
    run->missed = calloc(n_tests + 1, sizeof *run->missed);
    bool good = run->missed != NULL;
    const int64_t begin = sattn_now_ns();
    sattn_progress_begin(&line);
    for (size_t s = 0; good && s < run->suites.count; ++s) {
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        for (size_t t = 0; good && t < suite->n_tests; ++t, ++n_done) {
            sattn_progress_update(&line, (double)n_done / (double)n_tests, suite->tests[t].name);
            if (sattn_conform_wants(run->options, &suite->tests[t]))
                good = run_test(run, s, &suite->tests[t]);
        }
    }
    sattn_progress_clear(&line);
    run->seconds = (double)(sattn_now_ns() - begin) * 1e-9;
    return good;
}

void sattn_conform_run_free(sattn_conform_run *run)
{
    sattn_conform_suites_free(&run->suites);
    free(run->entries);
    free(run->missed);
    run->entries = NULL;
    run->missed = NULL;
    run->n_entries = run->n_missed = 0;
}

/* Tests that the variant should have been given. */
static int64_t count_missed(const sattn_conform_run *run, size_t variant, size_t suite)
{
    int64_t n = 0;
    for (size_t m = 0; variant != SATTN_CONFORM_ALL && m < run->n_missed; ++m)
        n += (suite == SATTN_CONFORM_ALL || run->missed[m].suite == suite) &&
             sattn_conform_runs(&run->variants.all[variant]) &&
             sattn_conform_computes(&run->variants.all[variant], run->missed[m].test->op);
    return n;
}

sattn_conform_total sattn_conform_total_of(const sattn_conform_run *run, size_t variant,
                                           size_t suite)
{
    sattn_conform_total total = {.n_tests = count_missed(run, variant, suite)};
    for (size_t e = 0; e < run->n_entries; ++e) {
        const sattn_conform_entry *const entry = &run->entries[e];
        if ((variant != SATTN_CONFORM_ALL && entry->variant != variant) ||
            (suite != SATTN_CONFORM_ALL && entry->suite != suite))
            continue;
        ++total.n_tests;
        total.n_passed += sattn_conform_entry_good(entry);
        total.n_with_qk += sattn_conform_returns_qk(&run->variants.all[entry->variant]) &&
                           entry->test->outputs[SATTN_CONFORM_QK].data;
        if (*entry->refused)
            continue;
        if (!total.worst_entry || entry->result.worst > total.worst) {
            total.worst = entry->result.worst;
            total.worst_entry = entry;
        }
    }
    return total;
}

int64_t sattn_conform_count_failed(const sattn_conform_run *run)
{
    int64_t n_failed = 0;
    for (size_t e = 0; e < run->n_entries; ++e)
        n_failed += !sattn_conform_entry_good(&run->entries[e]);
    return n_failed;
}
