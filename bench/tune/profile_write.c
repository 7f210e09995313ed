/* SPDX-License-Identifier: MIT
 *
 * profile_write.c: identity and classes to JSON, and that to a file. */
#define _POSIX_C_SOURCE 200809L /* fileno, fsync, mkdir */

#include "bench/tune/profile_write.h"

#include "bench/result.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NaN, what was not measured, is null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *identity_object(const sattn_identity *identity)
{
    json_t *const object = json_object();
    for (int i = 0; i < SATTN_IDENTITY_COUNT; ++i) {
        const sattn_identity_field field = (sattn_identity_field)i;
        const char *const text = identity->text[field];
        json_object_set_new(object, sattn_identity_name(field),
                            sattn_identity_is_number(field) ? json_integer(atoll(text))
                                                            : json_string(text));
    }
    return object;
}

static json_t *candidate_object(const sattn_tried *tried)
{
    char kernels[SATTN_RECIPE_TEXT];
    json_t *const object = json_object();
    sattn_recipe_print(&tried->recipe, kernels);
    json_object_set_new(object, "plan", json_string(sattn_recipe_plan(&tried->recipe)));
    json_object_set_new(object, "kernels", json_string(kernels));
    json_object_set_new(object, "key_splits", json_integer(tried->recipe.key_splits));
    json_object_set_new(object, "time_ns", number(tried->time_ns));
    json_object_set_new(object, "time_p10_ns", number(tried->time_p10_ns));
    json_object_set_new(object, "time_p90_ns", number(tried->time_p90_ns));
    json_object_set_new(object, "samples", json_integer(tried->samples));
    json_object_set_new(object, "error", number(tried->error));
    json_object_set_new(object, "error_bound", number(tried->error_bound));
    json_object_set_new(object, "admitted", json_boolean(tried->is_admitted));
    return object;
}

static json_t *entry_object(const sattn_profile_entry *entry)
{
    char name[SATTN_CLASS_TEXT], features[SATTN_IDENTITY_TEXT];
    json_t *const object = json_object(), *const candidates = json_array();
    sattn_class_print(&entry->shape_class, name);
    sattn_identity_features(entry->usable, features);
    for (size_t i = 0; i < entry->n_tried; ++i)
        json_array_append_new(candidates, candidate_object(&entry->tried[i]));
    json_object_set_new(object, "class", json_string(name));
    json_object_set_new(object, "features", json_string(features));
    json_object_set_new(object, "complete", json_boolean(entry->is_complete));
    json_object_set_new(object, "max_error",
                        number(entry->max_error > 0 ? entry->max_error : (double)NAN));
    json_object_set_new(object, "shape", json_string(entry->shape));
    json_object_set_new(object, "taken", json_integer((json_int_t)entry->taken));
    json_object_set_new(object, "kept", json_string(sattn_kept_name(entry->kept)));
    json_object_set_new(object, "tainted", json_boolean(entry->is_tainted));
    json_object_set_new(object, "margin", number(entry->margin));
    json_object_set_new(object, "spread", number(entry->spread));
    json_object_set_new(object, "candidates", candidates);
    return object;
}

/* NULL: out of memory, or a text is not UTF-8. */
static json_t *make_document(const sattn_identity *identity, const sattn_profile_entry *entries,
                             size_t n_entries)
{
    json_t *const document = json_object(), *const list = json_array();
    for (size_t i = 0; i < n_entries; ++i)
        json_array_append_new(list, entry_object(&entries[i]));
    json_object_set_new(document, "schema_minor", json_integer(SATTN_PROFILE_SCHEMA_MINOR));
    json_object_set_new(document, "identity", identity_object(identity));
    json_object_set_new(document, "entries", list);
    if (json_object_size(document) == 3 && json_array_size(list) == n_entries)
        return document;
    json_decref(document);
    return NULL;
}

static bool print_value(const char *before, const json_t *value, FILE *file)
{
    return fputs(before, file) != EOF &&
           json_dumpf(value, file, JSON_REAL_PRECISION(10) | JSON_ENCODE_ANY) == 0;
}

/* A line for each entry: of two profiles a comparison by lines says which classes differ. */
static bool print_lines(const json_t *document, FILE *file)
{
    const json_t *const entries = json_object_get(document, "entries");
    bool good =
        print_value("{\"schema_minor\": ", json_object_get(document, "schema_minor"), file) &&
        print_value(",\n\"identity\": ", json_object_get(document, "identity"), file) &&
        fputs(",\n\"entries\": [", file) != EOF;
    for (size_t i = 0; good && i < json_array_size(entries); ++i)
        good = print_value(i > 0 ? ",\n" : "\n", json_array_get(entries, i), file);
    return good && fputs("\n]}\n", file) != EOF && fflush(file) == 0;
}

/* Before the name is given to it: a system that stops must not leave an empty file under it. What
 * is no file on a disk (a pipe) refuses that, and needs no such care. */
static bool print_to_disk(const json_t *document, FILE *file)
{
    return print_lines(document, file) &&
           (fsync(fileno(file)) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP);
}

bool sattn_profile_write(const sattn_identity *identity, const sattn_profile_entry *entries,
                         size_t n_entries, const char *path, char *error, size_t error_size)
{
    json_t *const document = make_document(identity, entries, n_entries);
    if (!document) {
        snprintf(error, error_size, "cannot write %s: out of memory", path);
        return false;
    }
    const bool good = sattn_result_write_as(document, print_to_disk, path, error, error_size);
    json_decref(document);
    return good;
}

/* All directories above `path`, private as the XDG specification wants new ones. */
static bool make_directories(const char *path)
{
    char part[SATTN_PROFILE_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

bool sattn_profile_home(char path[SATTN_PROFILE_PATH], char *error, size_t error_size)
{
    if (!sattn_profile_default_path(path)) {
        snprintf(error, error_size,
                 "neither XDG_CONFIG_HOME nor HOME names a directory: where should a profile go?");
        return false;
    }
    if (make_directories(path))
        return true;
    snprintf(error, error_size, "cannot make the directory of %s: %s", path, strerror(errno));
    return false;
}
