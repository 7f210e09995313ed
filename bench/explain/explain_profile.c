/* SPDX-License-Identifier: MIT
 *
 * explain_profile.c: see explain_profile.h. The library stops at the first field that differs; a
 * person wants to know all of them. */
#include "bench/explain/explain_profile.h"

#include "bench/result.h"
#include "dispatch/simdattn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *state_name(sattn_explain_state state)
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

static void ignore_warning(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static void count_classes(const sattn_profile *own, sattn_explain_profile *profile)
{
    size_t count;
    const sattn_profile_entry *const entries = sattn_profile_entries(own, &count);
    for (size_t e = 0; e < count; ++e) {
        profile->n_classes += entries[e].is_complete;
        profile->n_unfinished += !entries[e].is_complete;
    }
}

void sattn_explain_profile_read(sattn_explain_profile *profile)
{
    sattn_set_warning_handler(ignore_warning, NULL);
    const sattn_own_profile *const own = sattn_profile_own();
    sattn_identity here;
    *profile = (sattn_explain_profile){.path = own->path, .problem = own->problem};
    if (own->profile)
        count_classes(own->profile, profile);
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

/* Where there is no profile. */
static void tell_none(char text[SATTN_EXPLAIN_PROFILE_TEXT])
{
    const char *const named = getenv("SATTN_PROFILE");
    char home[SATTN_PROFILE_PATH];
    if (named && *named)
        snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "none: SATTN_PROFILE=%.4000s", named);
    else if (sattn_profile_default_path(home))
        snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "none: there is no %s; `./run tune` makes it",
                 home);
    else
        snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "none: neither XDG_CONFIG_HOME nor HOME is set");
}

static void tell_in_use(const sattn_explain_profile *p, char text[SATTN_EXPLAIN_PROFILE_TEXT])
{
    char unfinished[48] = "";
    if (p->n_unfinished > 0)
        snprintf(unfinished, sizeof unfinished, ", %zu not finished", p->n_unfinished);
    snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "%s: in use with %zu class%s%s%s%s", p->path,
             p->n_classes, p->n_classes == 1 ? "" : "es", unfinished, *p->problem ? ", but " : "",
             p->problem);
}

void sattn_explain_profile_tell(const sattn_explain_profile *p,
                                char text[SATTN_EXPLAIN_PROFILE_TEXT])
{
    switch (p->state) {
    case SATTN_EXPLAIN_IN_USE:
        tell_in_use(p, text);
        break;
    case SATTN_EXPLAIN_NO_PROFILE:
        tell_none(text);
        break;
    case SATTN_EXPLAIN_STALE:
        snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "%s: stale, of another machine or build",
                 p->path);
        break;
    case SATTN_EXPLAIN_UNUSABLE:
        snprintf(text, SATTN_EXPLAIN_PROFILE_TEXT, "%s: not used: %s", p->path, p->problem);
        break;
    }
}

json_t *sattn_explain_profile_json(const sattn_explain_profile *p)
{
    json_t *const profile = json_object(), *const differences = json_array();
    sattn_result_text(profile, "state", state_name(p->state));
    sattn_result_text(profile, "path", *p->path ? p->path : NULL);
    sattn_result_text(profile, "problem", *p->problem ? p->problem : NULL);
    json_object_set_new(profile, "classes", json_integer((json_int_t)p->n_classes));
    json_object_set_new(profile, "unfinished", json_integer((json_int_t)p->n_unfinished));
    for (size_t d = 0; d < p->n_differences; ++d) {
        const sattn_explain_difference *const from = &p->differences[d];
        json_t *const difference = json_object();
        sattn_result_text(difference, "field", sattn_identity_name(from->field));
        sattn_result_text(difference, "there", from->there);
        sattn_result_text(difference, "here", from->here);
        json_array_append_new(differences, difference);
    }
    json_object_set_new(profile, "differences", differences);
    return profile;
}
