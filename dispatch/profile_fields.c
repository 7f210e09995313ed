/* SPDX-License-Identifier: MIT
 *
 * profile_fields.c: see profile_fields.h. */
#if SATTN_PROFILES

#include "dispatch/profile_fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "is 7", "is missing": at most some 60 characters of it, of ASCII. */
static void describe(const json_t *value, char text[72])
{
    char *const dump = value && !json_is_object(value) && !json_is_array(value)
                           ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII)
                           : NULL;
    if (!value)
        snprintf(text, 72, "is missing");
    else if (dump)
        snprintf(text, 72, "is %.60s%s", dump, strlen(dump) > 60 ? "..." : "");
    else
        snprintf(text, 72, "is %s", json_is_object(value) ? "an object" : "an array");
    free(dump);
}

bool sattn_field_refuse(const sattn_fields *fields, const char *name, const char *format, ...)
{
    char value[72];
    va_list arguments;
    describe(json_object_get(fields->object, name), value);
    const int used = snprintf(fields->remark, SATTN_PROFILE_REMARK, "%s%s %s; expected ",
                              fields->path, name, value);
    va_start(arguments, format);
    if (used > 0 && used < SATTN_PROFILE_REMARK)
        vsnprintf(fields->remark + used, (size_t)(SATTN_PROFILE_REMARK - used), format, arguments);
    va_end(arguments);
    return false;
}

bool sattn_fields_of(const sattn_fields *parent, const json_t *value, const char *path,
                     sattn_fields *fields)
{
    *fields = (sattn_fields){
        .object = value, .path = "", .is_newer = parent->is_newer, .remark = parent->remark};
    snprintf(fields->path, sizeof fields->path, "%.30s%.30s.", parent->path, path);
    if (json_is_object(value))
        return true;
    snprintf(fields->remark, SATTN_PROFILE_REMARK, "%s%s is no object", parent->path, path);
    return false;
}

bool sattn_fields_known(const sattn_fields *fields, const char *const *names, int n_names)
{
    if (fields->is_newer)
        return true;
    json_t *const object =
        (json_t *)(uintptr_t)fields->object; /* jansson's iterators are of no const */
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *const key = json_object_iter_key(at);
        bool is_known = false;
        for (int i = 0; i < n_names; ++i)
            is_known = is_known || strcmp(key, names[i]) == 0;
        if (is_known)
            continue;
        snprintf(fields->remark, SATTN_PROFILE_REMARK, "%s%.60s is not a field of this schema",
                 fields->path, key);
        return false;
    }
    return true;
}

bool sattn_field_text(const sattn_fields *fields, const char *name, const char **text)
{
    *text = json_string_value(json_object_get(fields->object, name));
    return *text || sattn_field_refuse(fields, name, "a text");
}

bool sattn_field_boolean(const sattn_fields *fields, const char *name, bool *value)
{
    const json_t *const json = json_object_get(fields->object, name);
    *value = json_is_true(json);
    return json_is_boolean(json) || sattn_field_refuse(fields, name, "true or false");
}

bool sattn_field_integer(const sattn_fields *fields, const char *name, int64_t least, int64_t most,
                         int64_t *value)
{
    const json_t *const json = json_object_get(fields->object, name);
    *value = json_integer_value(json);
    return (json_is_integer(json) && *value >= least && *value <= most) ||
           sattn_field_refuse(fields, name, "an integer from %lld to %lld", (long long)least,
                              (long long)most);
}

bool sattn_field_number(const sattn_fields *fields, const char *name, double least,
                        const char *expected, double *value)
{
    const json_t *const json = json_object_get(fields->object, name);
    *value = json_is_number(json) ? json_number_value(json) : (double)NAN;
    return json_is_null(json) || (isfinite(*value) && *value >= least) ||
           sattn_field_refuse(fields, name, "%s", expected);
}

bool sattn_field_object(const sattn_fields *fields, const char *name, sattn_fields *value)
{
    const json_t *const json = json_object_get(fields->object, name);
    if (!json_is_object(json))
        return sattn_field_refuse(fields, name, "an object");
    return sattn_fields_of(fields, json, name, value);
}

bool sattn_field_list(const sattn_fields *fields, const char *name, const json_t **list)
{
    *list = json_object_get(fields->object, name);
    return json_is_array(*list) || sattn_field_refuse(fields, name, "an array");
}

#else
typedef int sattn_no_profiles; /* C wants a declaration in every file */
#endif
