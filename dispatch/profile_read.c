/* SPDX-License-Identifier: MIT
 *
 * profile_read.c: see profile_read.h. jansson does the JSON; what it would take long or deep stacks
 * for is refused before. */
#include "dispatch/profile_read.h"

#include <stdio.h>

#if SATTN_PROFILES

#include "dispatch/error.h"
#include "dispatch/profile_entry.h"

#include <stdlib.h>
#include <string.h>

/* jansson's parser calls itself for each level, and the first call may be on a small stack; and
 * each value, of which a few bytes may be another, takes some hundreds of memory. */
enum { MOST_LEVELS = 16, MOST_VALUES = 200000 };

/* False: `remark` says of what there is too much. */
static bool is_moderate(const char *text, size_t size, char remark[SATTN_PROFILE_REMARK])
{
    int level = 0, n_values = 0;
    bool is_in_text = false;
    for (size_t i = 0; i < size; ++i) {
        const char c = text[i];
        if (c == '"')
            is_in_text = !is_in_text;
        else if (is_in_text)
            i += c == '\\';
        else if (c == '[' || c == '{')
            ++level;
        else if (c == ']' || c == '}')
            --level;
        n_values += !is_in_text && (c == '[' || c == '{' || c == ',');
        if (level > MOST_LEVELS) {
            snprintf(remark, SATTN_PROFILE_REMARK, "it nests more than %d levels deep",
                     MOST_LEVELS);
            return false;
        }
    }
    if (n_values > MOST_VALUES)
        snprintf(remark, SATTN_PROFILE_REMARK, "it has more than %d values", MOST_VALUES);
    return n_values <= MOST_VALUES;
}

static json_t *parse(const char *text, size_t size, char remark[SATTN_PROFILE_REMARK])
{
    json_error_t error;
    json_t *root = NULL;
    if (size > SATTN_PROFILE_MOST_BYTES)
        snprintf(remark, SATTN_PROFILE_REMARK, "it has %zu bytes; expected at most %d", size,
                 SATTN_PROFILE_MOST_BYTES);
    else if (is_moderate(text, size, remark) &&
             !(root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error)))
        snprintf(remark, SATTN_PROFILE_REMARK, "it is not JSON: line %d, column %d: %s", error.line,
                 error.column, error.text);
    return root;
}

/* The schema comes first: of another one nothing else can be said. */
static bool read_identity(const sattn_fields *fields, sattn_identity *identity)
{
    const char *names[SATTN_IDENTITY_COUNT];
    for (int i = 0; i < SATTN_IDENTITY_COUNT; ++i) {
        const sattn_identity_field field = (sattn_identity_field)i;
        const char *const name = names[i] = sattn_identity_name(field);
        char *const to = identity->text[field];
        const char *text;
        int64_t number;
        if (!sattn_identity_is_number(field)) {
            if (!sattn_field_text(fields, name, &text))
                return false;
            snprintf(to, SATTN_IDENTITY_TEXT, "%s", text);
            continue;
        }
        if (!sattn_field_integer(fields, name, 0, INT32_MAX, &number))
            return false;
        snprintf(to, SATTN_IDENTITY_TEXT, "%lld", (long long)number);
        if (field == SATTN_IDENTITY_SCHEMA && number != SATTN_PROFILE_SCHEMA)
            return true;
    }
    return sattn_fields_known(fields, names, SATTN_IDENTITY_COUNT);
}

/* False as well where the profile was made elsewhere. */
static bool check_identity(const sattn_fields *root, const sattn_identity *here)
{
    sattn_identity there;
    sattn_fields fields;
    if (!sattn_field_object(root, "identity", &fields) || !read_identity(&fields, &there))
        return false;
    const sattn_identity_field field = sattn_identity_compare(&there, here);
    if (field == SATTN_IDENTITY_COUNT)
        return true;
    snprintf(root->remark, SATTN_PROFILE_REMARK,
             "identity.%s is \"%s\", here \"%s\"; run `simdattn tune` again",
             sattn_identity_name(field), there.text[field], here->text[field]);
    return false;
}

typedef struct entries {
    sattn_profile_entry *all;
    sattn_tried *tried;
    size_t n; /* that are used */
} entries;

static bool allocate(const json_t *list, entries *to)
{
    size_t n_tried = 1;
    for (size_t i = 0; i < json_array_size(list); ++i)
        n_tried += json_array_size(json_object_get(json_array_get(list, i), "candidates"));
    *to = (entries){.all = calloc(json_array_size(list) + 1, sizeof *to->all),
                    .tried = calloc(n_tried, sizeof *to->tried)};
    return to->all && to->tried;
}

/* Those that can be used; of the first that cannot, for want of a kernel, `unknown` tells. */
static bool read_entries(const sattn_fields *root, const json_t *list, const sattn_identity *here,
                         entries *to, char unknown[SATTN_PROFILE_REMARK])
{
    sattn_features features = 0;
    sattn_tried *tried = to->tried;
    sattn_identity_parse_features(here->text[SATTN_IDENTITY_FEATURES], &features);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        char path[40], reason[SATTN_PROFILE_REMARK] = "";
        sattn_fields fields;
        bool is_usable;
        sattn_profile_entry *const entry = &to->all[to->n];
        snprintf(path, sizeof path, "entries[%zu]", i);
        if (!sattn_fields_of(root, json_array_get(list, i), path, &fields) ||
            !sattn_profile_read_entry(&fields, features, entry, tried, &is_usable, reason))
            return false;
        if (unknown[0] == '\0')
            memcpy(unknown, reason, sizeof reason);
        if (is_usable) {
            tried += entry->n_tried;
            ++to->n;
        }
    }
    return true;
}

/* A profile has its entries in order, so that equal ones are neighbours there. */
static bool are_different(const sattn_profile *profile, char remark[SATTN_PROFILE_REMARK])
{
    size_t n;
    char class[SATTN_CLASS_TEXT], features[SATTN_IDENTITY_TEXT];
    const sattn_profile_entry *const list = sattn_profile_entries(profile, &n);
    for (size_t i = 1; i < n; ++i) {
        if (list[i].usable != list[i - 1].usable ||
            sattn_class_key(&list[i].shape_class) != sattn_class_key(&list[i - 1].shape_class))
            continue;
        sattn_class_print(&list[i].shape_class, class);
        sattn_identity_features(list[i].usable, features);
        snprintf(remark, SATTN_PROFILE_REMARK, "entries has \"%s\" with \"%s\" twice", class,
                 features);
        return false;
    }
    return true;
}

static sattn_status make(sattn_profile **profile, const sattn_fields *root, const json_t *list,
                         const char *path, const sattn_identity *here)
{
    entries read;
    char unknown[SATTN_PROFILE_REMARK] = "";
    sattn_status status = SATTN_ERR_MEMORY;
    snprintf(root->remark, SATTN_PROFILE_REMARK, "out of memory");
    if (allocate(list, &read)) {
        status = SATTN_ERR_PROFILE;
        if (read_entries(root, list, here, &read, unknown)) {
            *profile = sattn_profile_make(read.all, read.n, path);
            status = *profile ? SATTN_OK : SATTN_ERR_MEMORY;
        }
    }
    free(read.all);
    free(read.tried);
    if (status != SATTN_OK)
        return status;
    memcpy(root->remark, unknown, sizeof unknown);
    if (are_different(*profile, root->remark))
        return SATTN_OK;
    sattn_profile_destroy(*profile);
    *profile = NULL;
    return SATTN_ERR_PROFILE;
}

sattn_status sattn_profile_read(sattn_profile **profile, const char *text, size_t size,
                                const char *path, const sattn_identity *here,
                                char remark[SATTN_PROFILE_REMARK])
{
    static const char *const names[] = {"schema_minor", "identity", "entries"};
    const json_t *list;
    int64_t minor;
    sattn_fields root = {.path = "", .remark = remark};
    sattn_status status = SATTN_ERR_PROFILE;
    *profile = NULL;
    remark[0] = '\0';
    json_t *const document = parse(text, size, remark);
    root.object = document;
    root.is_newer =
        json_integer_value(json_object_get(document, "schema_minor")) > SATTN_PROFILE_SCHEMA_MINOR;
    if (document && check_identity(&root, here) && sattn_fields_known(&root, names, 3) &&
        sattn_field_integer(&root, "schema_minor", 0, INT32_MAX, &minor) &&
        sattn_field_list(&root, "entries", &list))
        status = make(profile, &root, list, path, here);
    json_decref(document);
    sattn_make_printable(remark);
    return status;
}

#else

sattn_status sattn_profile_read(sattn_profile **profile, const char *text, size_t size,
                                const char *path, const sattn_identity *here,
                                char remark[SATTN_PROFILE_REMARK])
{
    (void)text;
    (void)size;
    (void)path;
    (void)here;
    *profile = NULL;
    snprintf(remark, SATTN_PROFILE_REMARK,
             "this library was built to read no profiles (SATTN_PROFILES=OFF)");
    return SATTN_ERR_UNSUPPORTED;
}

#endif
