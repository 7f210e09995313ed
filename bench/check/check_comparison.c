/* SPDX-License-Identifier: MIT
 *
 * check_comparison.c: compares a run with a baseline, and tells what differs. */
#include "bench/check/check_baseline.h"
#include "bench/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAX = 40 };

/* How much an error may grow: across compilers sums are ordered differently. */
static double allowed_error(double stored)
{
    return 1.5 * stored + 1;
}

static sattn_check_difference *add(sattn_check_comparison *c, sattn_check_change change,
                                   const char *kernel, const char *shape, const char *data)
{
    static sattn_check_difference lost;
    if (c->n_differences == c->capacity) {
        const size_t capacity = c->capacity ? 2 * c->capacity : 64;
        void *const larger = realloc(c->differences, capacity * sizeof *c->differences);
        if (!larger) {
            c->out_of_memory = true;
            return &lost;
        }
        c->differences = larger;
        c->capacity = capacity;
    }
    sattn_check_difference *const d = &c->differences[c->n_differences++];
    *d = (sattn_check_difference){
        .change = change, .kernel = kernel, .shape = shape, .data = data, .what = "", .n = 1};
    return d;
}

/* One line for all entries of a variant. */
static void add_variant(sattn_check_comparison *c, sattn_check_change change, const char *kernel)
{
    for (size_t d = 0; d < c->n_differences; ++d)
        if (c->differences[d].change == change && !*c->differences[d].shape &&
            strcmp(c->differences[d].kernel, kernel) == 0) {
            ++c->differences[d].n;
            return;
        }
    add(c, change, kernel, "", "");
}

static bool grew(sattn_check_comparison *c, const sattn_check_run *run,
                 const sattn_check_entry *entry, const char *what, double stored, double now)
{
    if (now <= allowed_error(stored))
        return false;
    sattn_check_difference *const d =
        add(c, SATTN_CHANGE_ERROR_GREW, run->variants[entry->variant].kernel, entry->shape,
            entry->data);
    d->what = what;
    d->stored = stored;
    d->now = now;
    d->allowed = allowed_error(stored);
    return true;
}

static void compare_entries(const sattn_check_run *run, const sattn_check_baseline *baseline,
                            json_t *seen, sattn_check_comparison *c)
{
    for (size_t e = 0; e < run->n_entries; ++e) {
        const sattn_check_entry *const entry = &run->entries[e];
        const char *const kernel = run->variants[entry->variant].kernel;
        char key[SATTN_CHECK_KEY_SIZE];
        sattn_check_baseline_key(key, kernel, entry->shape, entry->data);
        const json_t *const stored = json_object_get(baseline->errors, key);
        if (json_object_set_new(seen, key, json_true()) != 0)
            c->out_of_memory = true;
        if (!stored) {
            ++c->n_new;
            add_variant(c, SATTN_CHANGE_NEW, kernel);
            continue;
        }
        ++c->n_compared;
        const bool worst_grew =
            grew(c, run, entry, "worst", json_number_value(json_array_get(stored, 0)),
                 entry->result.worst_error);
        const bool mean_grew =
            grew(c, run, entry, "mean", json_number_value(json_array_get(stored, 1)),
                 entry->result.mean_error);
        c->n_grew += worst_grew || mean_grew;
    }
}

static const sattn_check_variant *variant_of(const sattn_check_run *run, const char *kernel)
{
    for (size_t v = 0; v < run->n_variants; ++v)
        if (strcmp(run->variants[v].kernel, kernel) == 0)
            return &run->variants[v];
    return NULL;
}

static void miss_entry(const sattn_check_run *run, const char *kernel, const char *shape,
                       const char *data, sattn_check_comparison *c)
{
    const sattn_check_variant *const variant = variant_of(run, kernel);
    if (!variant || *variant->why_not) {
        ++c->n_absent;
        add_variant(c, SATTN_CHANGE_ABSENT, kernel);
    } else if (!variant->is_wanted || !sattn_check_wants(run->options, shape, data)) {
        ++c->n_skipped;
    } else {
        ++c->n_missing;
        add(c, SATTN_CHANGE_MISSING, kernel, shape, data);
    }
}

void sattn_check_compare(const sattn_check_run *run, const sattn_check_baseline *baseline,
                         sattn_check_comparison *comparison)
{
    *comparison = (sattn_check_comparison){0};
    json_t *const seen = json_object();
    compare_entries(run, baseline, seen, comparison);
    const json_t *const entries = json_object_get(baseline->document, "entries");
    for (size_t e = 0; e < json_array_size(entries); ++e) {
        const json_t *const entry = json_array_get(entries, e);
        const char *const kernel = json_string_value(json_object_get(entry, "kernel"));
        const char *const shape = json_string_value(json_object_get(entry, "shape"));
        const char *data;
        json_t *numbers;
        json_object_foreach(json_object_get(entry, "errors"), data, numbers)
        {
            char key[SATTN_CHECK_KEY_SIZE];
            sattn_check_baseline_key(key, kernel, shape, data);
            if (!json_object_get(seen, key))
                miss_entry(run, kernel, shape, data, comparison);
        }
    }
    json_decref(seen);
}

void sattn_check_comparison_free(sattn_check_comparison *comparison)
{
    free(comparison->differences);
    *comparison = (sattn_check_comparison){0};
}

int sattn_check_comparison_code(const sattn_check_comparison *comparison)
{
    if (comparison->n_grew > 0 || comparison->n_missing > 0 || comparison->out_of_memory)
        return SATTN_EXIT_FAILED;
    return comparison->n_compared > 0 ? SATTN_EXIT_GOOD : SATTN_EXIT_NOTHING;
}

/* ---- telling */

static void print_environment(const json_t *stored, json_t *now, FILE *file)
{
    const char *key;
    json_t *value;
    bool any = false;
    json_object_foreach(now, key, value)
    {
        const json_t *const old = json_object_get(stored, key);
        if (old && json_equal(old, value))
            continue;
        char *const was = old ? json_dumps(old, JSON_ENCODE_ANY) : NULL;
        char *const is = json_dumps(value, JSON_ENCODE_ANY);
        fprintf(file, "  %s: %s there, %s here\n", key, was ? was : "nothing", is ? is : "?");
        free(was);
        free(is);
        any = true;
    }
    if (!any)
        fputs("  made in the same environment\n", file);
}

/* Entries by themselves, of which there may be very many. */
static bool is_listed(sattn_check_change change)
{
    return change == SATTN_CHANGE_ERROR_GREW || change == SATTN_CHANGE_MISSING;
}

static void print_difference(const sattn_check_difference *d, FILE *file)
{
    switch (d->change) {
    case SATTN_CHANGE_ERROR_GREW:
        fprintf(file,
                "  GREW     %s, shape %s, data %s: %s error %.3g, stored %.3g, allowed %.3g\n",
                d->kernel, d->shape, d->data, d->what, d->now, d->stored, d->allowed);
        break;
    case SATTN_CHANGE_MISSING:
        fprintf(file, "  MISSING  %s, shape %s, data %s: stored, but not in this run\n", d->kernel,
                d->shape, d->data);
        break;
    case SATTN_CHANGE_NEW:
        fprintf(file, "  new      %s: %" PRId64 " entries that are not stored\n", d->kernel, d->n);
        break;
    case SATTN_CHANGE_ABSENT:
        fprintf(file,
                "  absent   %s: %" PRId64 " entries not comparable, it is not in this build or "
                "cannot run on this CPU\n",
                d->kernel, d->n);
        break;
    }
}

void sattn_check_comparison_print(const sattn_check_comparison *comparison,
                                  const sattn_check_baseline *baseline, json_t *environment,
                                  const char *path, FILE *file)
{
    fprintf(file, "\nBaseline %s\n", path);
    print_environment(json_object_get(baseline->document, "environment"), environment, file);
    size_t shown = 0;
    for (size_t d = 0; d < comparison->n_differences; ++d)
        if (!is_listed(comparison->differences[d].change) || shown++ < LISTED_MAX)
            print_difference(&comparison->differences[d], file);
    if (shown > LISTED_MAX)
        fprintf(file, "  and %zu more (--json lists all)\n", shown - LISTED_MAX);
    fprintf(file,
            "  %" PRId64 " entries compared, %" PRId64 " grew, %" PRId64 " missing, %" PRId64
            " new, %" PRId64 " skipped (not asked for), %" PRId64 " not comparable\n",
            comparison->n_compared, comparison->n_grew, comparison->n_missing, comparison->n_new,
            comparison->n_skipped, comparison->n_absent);
}
