/* SPDX-License-Identifier: MIT
 *
 * check_baseline.c: reads a baseline strictly. Stored numbers are looked up by "kernel shape data";
 * a kernel's name says its op. */
#include "bench/check/check_baseline.h"

#include "bench/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char schema[] = "simdattn-accuracy";
enum { VERSION = 1, NUMBERS = 3 };

void sattn_check_baseline_key(char *key, const char *kernel, const char *shape, const char *data)
{
    snprintf(key, SATTN_CHECK_KEY_SIZE, "%s %s %s", kernel, shape, data);
}

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
        char key[SATTN_CHECK_KEY_SIZE];
        sattn_check_baseline_key(key, kernel, shape, data);
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
