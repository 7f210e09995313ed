/* SPDX-License-Identifier: MIT
 *
 * conform_manifest.c: one manifest.json, down to the list of its tests. */
#include "bench/conform/conform_manifest.h"

#include "bench/suggest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sattn_conform_refuse(const sattn_conform_reader *reader, const char *format, ...)
{
    const int used =
        snprintf(reader->error, reader->error_size, "%s/manifest.json: %s%s", reader->directory,
                 reader->test ? reader->test : "", reader->test ? ": " : "");
    if (used < 0 || (size_t)used >= reader->error_size)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error + used, reader->error_size - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

bool sattn_conform_known_keys(const sattn_conform_reader *reader, const json_t *object,
                              const char *what, const char *const *names, size_t n_names)
{
    if (!json_is_object(object))
        return sattn_conform_refuse(reader, "%s: expected an object", what);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool known = false;
        for (size_t n = 0; n < n_names; ++n)
            known = known || strcmp(key, names[n]) == 0;
        if (!known) {
            char nearest[256];
            sattn_suggest(key, names, n_names, nearest, sizeof nearest);
            return sattn_conform_refuse(reader, "%s: '%s' is not known%s", what, key, nearest);
        }
    }
    return true;
}

/* Reads all tests; names are unique. */
static bool read_tests(sattn_conform_reader *reader, const json_t *tests,
                       sattn_conform_suite *suite)
{
    if (!json_is_array(tests))
        return sattn_conform_refuse(reader, "tests: expected an array");
    const size_t count = json_array_size(tests);
    suite->tests = calloc(count ? count : 1, sizeof *suite->tests);
    if (!suite->tests)
        return sattn_conform_refuse(reader, "out of memory");
    for (size_t t = 0; t < count; ++t) {
        sattn_conform_test *const test = &suite->tests[suite->n_tests++];
        reader->test = NULL;
        if (!sattn_conform_test_read(reader, json_array_get(tests, t), test))
            return false;
        for (size_t other = 0; other < t; ++other)
            if (strcmp(suite->tests[other].name, test->name) == 0)
                return sattn_conform_refuse(reader, "%s: two tests of this name", test->name);
    }
    return true;
}

static bool read_manifest(sattn_conform_reader *reader, sattn_conform_suite *suite)
{
    static const char *const keys[] = {"source", "commit",    "license", "files",
                                       "note",   "tolerance", "origins", "tests"};
    enum { N_KEYS = sizeof keys / sizeof keys[0], N_TEXTS = N_KEYS - 2 };
    if (!sattn_conform_known_keys(reader, suite->manifest, "the manifest", keys, N_KEYS))
        return false;
    for (int k = 0; k < N_TEXTS; ++k) {
        const json_t *const text = json_object_get(suite->manifest, keys[k]);
        if (text && !json_is_string(text))
            return sattn_conform_refuse(reader, "%s: expected a text", keys[k]);
    }
    suite->source = json_string_value(json_object_get(suite->manifest, "source"));
    return read_tests(reader, json_object_get(suite->manifest, "tests"), suite);
}

bool sattn_conform_suite_read(const char *directory, sattn_conform_suite *suite, char *error,
                              size_t error_size)
{
    sattn_conform_reader reader = {
        .directory = directory, .error = error, .error_size = error_size};
    *suite = (sattn_conform_suite){0};
    const size_t size = strlen(directory) + sizeof "/manifest.json";
    char *const path = malloc(size);
    suite->directory = malloc(size);
    if (!path || !suite->directory) {
        free(path);
        return sattn_conform_refuse(&reader, "out of memory");
    }
    snprintf(suite->directory, size, "%s", directory);
    snprintf(path, size, "%s/manifest.json", directory);
    FILE *const file = fopen(path, "rb");
    free(path);
    if (!file)
        return sattn_conform_refuse(&reader, "cannot be read: %s", strerror(errno));
    json_error_t where;
    suite->manifest = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
    fclose(file);
    if (!suite->manifest)
        return sattn_conform_refuse(&reader, "line %d, column %d: %s", where.line, where.column,
                                    where.text);
    return read_manifest(&reader, suite);
}

static void free_tensors(sattn_conform_tensor *tensors, int count)
{
    for (int t = 0; t < count; ++t)
        free(tensors[t].data);
}

void sattn_conform_suite_free(sattn_conform_suite *suite)
{
    for (size_t t = 0; t < suite->n_tests; ++t) {
        free_tensors(suite->tests[t].inputs, SATTN_CONFORM_INPUTS);
        free_tensors(suite->tests[t].outputs, SATTN_CONFORM_OUTPUTS);
    }
    free(suite->tests);
    free(suite->directory);
    json_decref(suite->manifest);
    *suite = (sattn_conform_suite){0};
}
