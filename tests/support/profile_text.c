/* SPDX-License-Identifier: MIT
 *
 * profile_text.c: see profile_text.h. */
#include "tests/support/profile_text.h"

#include "dispatch/shape_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *candidate(const char *plan, const char *kernels, double time)
{
    return json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:b}", "plan", plan, "kernels",
                     kernels, "key_splits", 0, "time_ns", time, "time_p10_ns", time * 0.9,
                     "time_p90_ns", time * 1.1, "samples", 24, "error", 0.5, "error_bound", 4.0,
                     "admitted", 1);
}

static json_t *entry(const sattn_shape_class *shape_class, const sattn_identity *identity,
                     bool is_complete, int taken, const char *kept, json_t *candidates)
{
    char class[SATTN_CLASS_TEXT];
    const char *const features = identity->text[SATTN_IDENTITY_FEATURES];
    sattn_class_print(shape_class, class);
    return json_pack("{s:s, s:s, s:b, s:n, s:s, s:i, s:s, s:b, s:f, s:f, s:o}", "class", class,
                     "features", strcmp(features, "none") == 0 ? "" : features, "complete",
                     is_complete, "max_error", "shape", "some-shape", "taken", taken, "kept", kept,
                     "tainted", 0, "margin", 0.25, "spread", 0.01, "candidates", candidates);
}

json_t *profile_json(const sattn_identity *identity)
{
    const sattn_shape_class attention = {.call = SATTN_CALL_ATTENTION,
                                         .phase = SATTN_PHASE_PREFILL,
                                         .rows_log2 = 6,
                                         .keys_log2 = 6,
                                         .d_log2 = 3,
                                         .d_v_log2 = 3,
                                         .group = 1,
                                         .threads = 1};
    sattn_shape_class qk = attention;
    qk.call = SATTN_CALL_QK;
    qk.d_v_log2 = 0;
    const sattn_shape_class array = {.call = SATTN_CALL_EXP, .keys_log2 = 10, .threads = 1};
    json_t *const fields = json_object();
    for (int i = 0; i < SATTN_IDENTITY_COUNT; ++i) {
        const sattn_identity_field field = (sattn_identity_field)i;
        json_object_set_new(fields, sattn_identity_name(field),
                            sattn_identity_is_number(field)
                                ? json_integer(atoi(identity->text[field]))
                                : json_string(identity->text[field]));
    }
    json_t *const entries =
        json_pack("[o, o, o]",
                  entry(&attention, identity, true, 1, "",
                        json_pack("[o, o]", candidate("fused", "sattn_fused_f32_scalar", 200),
                                  candidate("chain",
                                            "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,"
                                            "sattn_av_f32_scalar",
                                            100))),
                  entry(&qk, identity, true, 0, "tie",
                        json_pack("[o]", candidate("", "sattn_qk_f32_scalar", 50))),
                  entry(&array, identity, false, 0, "",
                        json_pack("[o]", candidate("", "sattn_exp_f32_scalar", 25))));
    return json_pack("{s:i, s:o, s:o}", "schema_minor", SATTN_PROFILE_SCHEMA_MINOR, "identity",
                     fields, "entries", entries);
}

void profile_identity(const json_t *document, sattn_identity *identity)
{
    const json_t *const fields = json_object_get(document, "identity");
    for (int i = 0; i < SATTN_IDENTITY_COUNT; ++i) {
        const json_t *const value =
            json_object_get(fields, sattn_identity_name((sattn_identity_field)i));
        char *const to = identity->text[i];
        if (json_is_integer(value))
            snprintf(to, SATTN_IDENTITY_TEXT, "%lld", (long long)json_integer_value(value));
        else
            snprintf(to, SATTN_IDENTITY_TEXT, "%s",
                     json_is_string(value) ? json_string_value(value) : "unknown");
    }
}

/* The first name of a path, and what is behind it; NULL: that was the last. */
static const char *split(const char *path, char name[64])
{
    const size_t length = strcspn(path, "/");
    snprintf(name, 64, "%.*s", (int)length, path);
    return path[length] == '/' ? path + length + 1 : NULL;
}

static json_t *child(json_t *value, const char *name)
{
    return json_is_array(value) ? json_array_get(value, (size_t)atoi(name))
                                : json_object_get(value, name);
}

json_t *profile_get(json_t *document, const char *path)
{
    char name[64];
    while (path) {
        path = split(path, name);
        document = child(document, name);
    }
    return document;
}

void profile_set(json_t *document, const char *path, json_t *value)
{
    char name[64];
    while ((path = split(path, name)) != NULL)
        document = child(document, name);
    if (json_is_array(document) && value)
        json_array_set_new(document, (size_t)atoi(name), value);
    else if (json_is_array(document))
        json_array_remove(document, (size_t)atoi(name));
    else if (value)
        json_object_set_new(document, name, value);
    else
        json_object_del(document, name);
}
