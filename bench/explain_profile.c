/* SPDX-License-Identifier: MIT
 *
 * explain_profile.c: see explain_profile.h. The library stops at the first field that differs; a
 * person wants to know all of them. */
#include "bench/explain_profile.h"

#include "dispatch/profile_own.h"

#include <stdio.h>
#include <string.h>

const char *sattn_explain_state_name(sattn_explain_state state)
{
    static const char *const names[] = {"none", "in use", "stale", "unusable"};
    return names[state];
}

static void print_field(const json_t *value, char text[SATTN_IDENTITY_TEXT])
{
    if (json_is_integer(value))
        snprintf(text, SATTN_IDENTITY_TEXT, "%lld", (long long)json_integer_value(value));
    else
        snprintf(text, SATTN_IDENTITY_TEXT, "%s", value ? json_string_value(value) : "");
}

/* What is not known is not known to be the same. */
static bool is_same(const char *there, const char *here)
{
    return *there && strcmp(there, "unknown") != 0 && strcmp(there, here) == 0;
}

size_t sattn_explain_differences(const json_t *document, const sattn_identity *here,
                                 sattn_explain_difference differences[SATTN_IDENTITY_COUNT])
{
    const json_t *const identity = json_object_get(document, "identity");
    size_t n = 0;
    for (int f = 0; json_is_object(identity) && f < SATTN_IDENTITY_COUNT; ++f) {
        const sattn_identity_field field = (sattn_identity_field)f;
        const json_t *const value = json_object_get(identity, sattn_identity_name(field));
        sattn_explain_difference *const d = &differences[n];
        if (sattn_identity_is_number(field) ? !json_is_integer(value) : !json_is_string(value))
            return 0;
        d->field = field;
        print_field(value, d->there);
        snprintf(d->here, sizeof d->here, "%s", here->text[field]);
        n += !is_same(d->there, d->here);
        if (n > 0 && field == SATTN_IDENTITY_SCHEMA)
            return n; /* what another schema's other fields mean is not known */
    }
    return n;
}

void sattn_explain_profile_read(sattn_explain_profile *profile)
{
    const sattn_own_profile *const own = sattn_profile_own();
    sattn_identity here;
    *profile = (sattn_explain_profile){.path = own->path, .problem = own->problem};
    if (own->profile || !*own->path) {
        profile->state = own->profile ? SATTN_EXPLAIN_IN_USE : SATTN_EXPLAIN_NO_PROFILE;
        return;
    }
    sattn_identity_read(&here);
    json_t *const document = json_load_file(own->path, JSON_REJECT_DUPLICATES, NULL);
    profile->n_differences = sattn_explain_differences(document, &here, profile->differences);
    profile->state = profile->n_differences > 0 ? SATTN_EXPLAIN_STALE : SATTN_EXPLAIN_UNUSABLE;
    json_decref(document);
}
