/* SPDX-License-Identifier: MIT
 *
 * conform_suites.c: finds the suites below a directory and gives each a short name. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L /* opendir */
#include <dirent.h>
#endif

#include "bench/conform/conform_manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

static bool add_name(name_list *list, const char *directory, const char *name)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        char **const names = realloc(list->names, capacity * sizeof *names);
        if (!names)
            return false;
        list->names = names;
        list->capacity = capacity;
    }
    const size_t size = strlen(directory) + strlen(name) + 2;
    char *const joined = malloc(size);
    if (!joined)
        return false;
    snprintf(joined, size, "%s/%s", directory, name);
    list->names[list->count++] = joined;
    return true;
}

static void free_names(name_list *list)
{
    for (size_t n = 0; n < list->count; ++n)
        free(list->names[n]);
    free(list->names);
}

static bool has_manifest(const char *directory)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/manifest.json", directory);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    FILE *const file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

#if defined(__unix__) || defined(__APPLE__)
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Directories in this one that have a manifest, sorted. */
static bool list_directories(const char *directory, name_list *list, char *error, size_t error_size)
{
    DIR *const open = opendir(directory);
    if (!open) {
        snprintf(error, error_size, "%s: cannot be read: %s", directory, strerror(errno));
        return false;
    }
    bool good = true;
    const struct dirent *entry;
    while (good && (entry = readdir(open))) {
        if (entry->d_name[0] == '.')
            continue;
        good = add_name(list, directory, entry->d_name);
        if (good && !has_manifest(list->names[list->count - 1]))
            free(list->names[--list->count]);
    }
    closedir(open);
    if (!good)
        snprintf(error, error_size, "out of memory");
    if (list->count > 1)
        qsort(list->names, list->count, sizeof *list->names, by_name);
    return good;
}
#else
static bool list_directories(const char *directory, name_list *list, char *error, size_t error_size)
{
    (void)list;
    snprintf(error, error_size, "%s: no manifest.json in it", directory);
    return false;
}
#endif

/* A manifest of something else, as of captured tensors: an object without tests. */
static bool is_of_something_else(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/manifest.json", directory);
    json_t *const manifest = json_load_file(path, 0, NULL);
    const bool other = json_is_object(manifest) && !json_object_get(manifest, "tests");
    json_decref(manifest);
    return other;
}

/* The directory's own name without "onnx-" in front and "attention" at the end, if something is
 * left: a column of a table is narrow. */
static void set_label(sattn_conform_suite *suite)
{
    static const char first[] = "onnx-", last[] = "attention";
    size_t length = strlen(suite->directory);
    while (length > 1 && suite->directory[length - 1] == '/')
        --length;
    size_t begin = length;
    while (begin > 0 && suite->directory[begin - 1] != '/')
        --begin;
    if (strncmp(suite->directory + begin, first, sizeof first - 1) == 0 &&
        length - begin > sizeof first - 1)
        begin += sizeof first - 1;
    const size_t n_last = sizeof last - 1;
    if (length - begin > n_last && strncmp(suite->directory + length - n_last, last, n_last) == 0) {
        length -= n_last;
        if (length - begin > 1 && suite->directory[length - 1] == '-')
            --length;
    }
    suite->label = suite->directory + begin;
    suite->label_length = (int)(length - begin);
}

static bool read_all(const name_list *list, bool is_given, sattn_conform_suites *suites,
                     char *error, size_t error_size)
{
    suites->suites = calloc(list->count + 1, sizeof *suites->suites);
    suites->left_out = calloc(list->count + 1, sizeof *suites->left_out);
    if (!suites->suites || !suites->left_out) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    for (size_t n = 0; n < list->count; ++n) {
        if (!is_given && is_of_something_else(list->names[n])) {
            suites->left_out[suites->n_left_out++] = list->names[n];
            list->names[n] = NULL;
            continue;
        }
        sattn_conform_suite *const suite = &suites->suites[suites->count++];
        if (!sattn_conform_suite_read(list->names[n], suite, error, error_size))
            return false;
        set_label(suite);
    }
    return true;
}

bool sattn_conform_suites_read(const char *directory, sattn_conform_suites *suites, char *error,
                               size_t error_size)
{
    name_list list = {0};
    *suites = (sattn_conform_suites){0};
    const bool is_given = has_manifest(directory);
    bool good;
    if (is_given) {
        good = add_name(&list, directory, "");
        if (good) /* without the slash */
            list.names[0][strlen(directory)] = '\0';
        else
            snprintf(error, error_size, "out of memory");
    } else {
        good = list_directories(directory, &list, error, error_size);
    }
    good = good && read_all(&list, is_given, suites, error, error_size);
    free_names(&list);
    return good;
}

void sattn_conform_suites_free(sattn_conform_suites *suites)
{
    for (size_t s = 0; s < suites->count; ++s)
        sattn_conform_suite_free(&suites->suites[s]);
    for (size_t n = 0; n < suites->n_left_out; ++n)
        free(suites->left_out[n]);
    free(suites->suites);
    free(suites->left_out);
    *suites = (sattn_conform_suites){0};
}
