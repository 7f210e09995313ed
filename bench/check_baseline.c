/* SPDX-License-Identifier: MIT
 *
 * check_baseline.c: reads a baseline strictly and compares a run with it. Stored numbers are looked
 * up by "kernel shape data"; a kernel's name says its op. */
#include "bench/check_baseline.h"

#include "bench/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "simdattn-accuracy";
enum { VERSION = 1, KEY_SIZE = 256, NUMBERS = 3, LISTED_MAX = 40 };

/* How much an error may grow: across compilers sums are ordered differently. */
static double allowed_error(double stored)
{
    return 1.5 * stored + 1;
}

static void make_key(char key[KEY_SIZE], const char *kernel, const char *shape, const char *data)
{
    snprintf(key, KEY_SIZE, "%s %s %s", kernel, shape, data);
}

/* ---- reading */

typedef struct reader {
    const char *path;
    char *error;
    size_t error_size;
} reader;

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static int
refuse(const reader *r, int code, const char *format, ...)
{
    const int used = snprintf(r->error, r->error_size, "%s: ", r->path);
    if (used > 0 && (size_t)used < r->error_size) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->error + used, r->error_size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return code;
}

static bool is_error_array(const json_t *numbers)
{
    if (!json_is_array(numbers) || json_array_size(numbers) != NUMBERS)
        return false;
    for (size_t n = 0; n < NUMBERS; ++n) {
        const json_t *const number = json_array_get(numbers, n);
        const double value = json_number_value(number);
        if (!json_is_number(number) || !isfinite(value) || value < 0)
            return false;
    }
    return true;
}

static int read_entry(const reader *r, json_t *entry, size_t number, sattn_check_baseline *baseline)
{
    const char *const op = json_string_value(json_object_get(entry, "op"));
    const char *const kernel = json_string_value(json_object_get(entry, "kernel"));
    const char *const shape = json_string_value(json_object_get(entry, "shape"));
    json_t *const errors = json_object_get(entry, "errors");
    if (!op || !kernel || !shape || !json_is_object(errors))
        return refuse(r, SATTN_EXIT_USAGE,
                      "entry %zu: expected the texts op, kernel, shape and the object errors",
                      number);
    const char *data;
    json_t *numbers;
    json_object_foreach(errors, data, numbers)
    {
        char key[KEY_SIZE];
        make_key(key, kernel, shape, data);
        if (!is_error_array(numbers))
            return refuse(r, SATTN_EXIT_USAGE,
                          "%s: expected an array of %d finite numbers, none negative", key,
                          NUMBERS);
        if (json_object_get(baseline->errors, key))
            return refuse(r, SATTN_EXIT_USAGE, "%s: in two entries", key);
        if (json_object_set(baseline->errors, key, numbers) != 0)
            return refuse(r, SATTN_EXIT_FAILED, "out of memory");
        ++baseline->n_entries;
    }
    return SATTN_EXIT_GOOD;
}

static int read_document(const reader *r, uint64_t seed, sattn_check_baseline *baseline)
{
    const json_t *const root = baseline->document;
    const char *const name = json_string_value(json_object_get(root, "schema"));
    const json_t *const version = json_object_get(root, "version");
    const json_t *const stored_seed = json_object_get(root, "seed");
    json_t *const entries = json_object_get(root, "entries");
    if (!name || !json_is_integer(version))
        return refuse(r, SATTN_EXIT_USAGE, "no baseline: it has no schema and version");
    if (strcmp(name, schema) != 0 || json_integer_value(version) != VERSION)
        return refuse(r, SATTN_EXIT_NOTHING,
                      "schema %s version %" JSON_INTEGER_FORMAT
                      ", expected %s version %d: not comparable",
                      name, json_integer_value(version), schema, VERSION);
    if (!json_is_integer(stored_seed) || !json_is_array(entries) ||
        !json_is_object(json_object_get(root, "environment")))
        return refuse(r, SATTN_EXIT_USAGE,
                      "expected a number seed, an object environment and an array entries");
    baseline->seed = json_integer_value(stored_seed);
    if (baseline->seed < 0 || (uint64_t)baseline->seed != seed)
        return refuse(r, SATTN_EXIT_NOTHING,
                      "made with seed %" PRId64 ", this run has seed %" PRIu64
                      ": not comparable (--seed)",
                      baseline->seed, seed);
    for (size_t e = 0; e < json_array_size(entries); ++e) {
        const int code = read_entry(r, json_array_get(entries, e), e, baseline);
        if (code != SATTN_EXIT_GOOD)
            return code;
    }
    if (baseline->n_entries == 0)
        return refuse(r, SATTN_EXIT_NOTHING, "no entries: nothing to compare with");
    return SATTN_EXIT_GOOD;
}

int sattn_check_baseline_load(const char *path, uint64_t seed, sattn_check_baseline *baseline,
                              char *error, size_t error_size)
{
    const reader r = {path, error, error_size};
    json_error_t where;
    *baseline = (sattn_check_baseline){.errors = json_object()};
    FILE *const file = fopen(path, "rb");
    int code;
    if (!file) {
        code = refuse(&r, SATTN_EXIT_USAGE, "cannot be read: %s", strerror(errno));
    } else {
        baseline->document = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
        fclose(file);
        if (!baseline->document)
            code = refuse(&r, SATTN_EXIT_USAGE, "line %d, column %d: %s", where.line, where.column,
                          where.text);
        else if (!json_is_object(baseline->document))
            code = refuse(&r, SATTN_EXIT_USAGE, "no baseline: not a JSON object");
        else if (!baseline->errors)
            code = refuse(&r, SATTN_EXIT_FAILED, "out of memory");
        else
            code = read_document(&r, seed, baseline);
    }
    if (code != SATTN_EXIT_GOOD)
        sattn_check_baseline_free(baseline);
    return code;
}

void sattn_check_baseline_free(sattn_check_baseline *baseline)
{
    json_decref(baseline->errors);
    json_decref(baseline->document);
    *baseline = (sattn_check_baseline){0};
}

/* ---- comparing */

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
        char key[KEY_SIZE];
        make_key(key, kernel, entry->shape, entry->data);
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
            char key[KEY_SIZE];
            make_key(key, kernel, shape, data);
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
