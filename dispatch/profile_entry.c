/* SPDX-License-Identifier: MIT
 *
 * profile_entry.c: see profile_entry.h. */
#if SATTN_PROFILES

#include "dispatch/profile_entry.h"

#include "dispatch/profile_identity.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const char *const entry_names[] = {"class",  "features", "complete",  "max_error",
                                          "shape",  "taken",    "kept",      "tainted",
                                          "margin", "spread",   "candidates"};
static const char *const candidate_names[] = {"plan",        "kernels",     "key_splits", "time_ns",
                                              "time_p10_ns", "time_p90_ns", "samples",    "error",
                                              "error_bound", "admitted"};

static const char above_0[] = "a number above 0, or null";
static const char from_0[] = "a number from 0 on, or null";

/* The first name of a comma list that is no kernel of this build. */
static bool find_unknown(const char *kernels, char name[96])
{
    for (const char *at = kernels;; ++at) {
        const size_t length = strcspn(at, ",");
        snprintf(name, 96, "%.*s", (int)(length < 95 ? length : 95), at);
        if (length > 0 && !sattn_kernel_by_name(name))
            return true;
        at += length;
        if (*at == '\0')
            return false;
    }
}

static bool read_times(const sattn_fields *fields, sattn_tried *tried)
{
    int64_t samples;
    if (!sattn_field_number(fields, "time_ns", DBL_TRUE_MIN, above_0, &tried->time_ns) ||
        !sattn_field_number(fields, "time_p10_ns", DBL_TRUE_MIN, above_0, &tried->time_p10_ns) ||
        !sattn_field_number(fields, "time_p90_ns", DBL_TRUE_MIN, above_0, &tried->time_p90_ns) ||
        !sattn_field_integer(fields, "samples", 0, INT_MAX, &samples))
        return false;
    tried->samples = (int)samples;
    const bool is_timed = !isnan(tried->time_ns);
    if (is_timed != !isnan(tried->time_p10_ns) || is_timed != !isnan(tried->time_p90_ns))
        return sattn_field_refuse(fields, "time_ns", "null in all of the three times or in none");
    if (is_timed && (tried->time_p10_ns > tried->time_ns || tried->time_ns > tried->time_p90_ns))
        return sattn_field_refuse(fields, "time_ns", "a number from time_p10_ns to time_p90_ns");
    if (is_timed != (samples > 0))
        return sattn_field_refuse(fields, "samples", is_timed ? "1 or more" : "0 without times");
    return true;
}

static bool read_errors(const sattn_fields *fields, double max_error, sattn_tried *tried)
{
    if (!sattn_field_number(fields, "error", 0, from_0, &tried->error) ||
        !sattn_field_number(fields, "error_bound", 0, from_0, &tried->error_bound) ||
        !sattn_field_boolean(fields, "admitted", &tried->is_admitted))
        return false;
    if (tried->is_admitted && tried->error > tried->error_bound)
        return sattn_field_refuse(fields, "admitted", "false where error is above error_bound");
    if (tried->is_admitted && max_error > 0 && !(tried->error <= max_error))
        return sattn_field_refuse(fields, "admitted", "false where error is not within max_error");
    return true;
}

/* *is_known is false where a kernel is not in this build. */
static bool read_candidate(const sattn_fields *fields, const sattn_profile_entry *entry,
                           sattn_tried *tried, bool *is_known, char unknown[96])
{
    char missing[160];
    const char *plan, *kernels;
    int64_t key_splits;
    *tried = (sattn_tried){.samples = 0};
    if (!sattn_fields_known(fields, candidate_names, COUNT(candidate_names)) ||
        !sattn_field_text(fields, "plan", &plan) ||
        !sattn_field_text(fields, "kernels", &kernels) ||
        !sattn_field_integer(fields, "key_splits", 0, INT_MAX, &key_splits) ||
        !read_times(fields, tried) || !read_errors(fields, entry->max_error, tried))
        return false;
    *is_known = !find_unknown(kernels, unknown);
    if (!*is_known)
        return true;
    if (!sattn_recipe_parse(entry->shape_class.call, plan, kernels, (int)key_splits,
                            &tried->recipe))
        return sattn_field_refuse(fields, "kernels",
                                  "kernels that plan and key_splits suit, and the class");
    const sattn_features lacking = sattn_recipe_needs(&tried->recipe) & ~entry->usable;
    sattn_features_print(lacking, missing, sizeof missing);
    return !lacking ||
           sattn_field_refuse(fields, "kernels",
                              "kernels without %s, which the entry's features lack", missing);
}

static bool read_features(const sattn_fields *fields, sattn_features of_machine,
                          sattn_features *usable)
{
    const char *text;
    char all[SATTN_IDENTITY_TEXT];
    sattn_identity_features(of_machine, all);
    if (!sattn_field_text(fields, "features", &text))
        return false;
    return (sattn_identity_parse_features(text, usable) && (*usable & ~of_machine) == 0) ||
           sattn_field_refuse(fields, "features", "some of \"%s\", in this order", all);
}

static bool read_max_error(const sattn_fields *fields, double *max_error)
{
    if (!sattn_field_number(fields, "max_error", DBL_TRUE_MIN, above_0, max_error))
        return false;
    if (isnan(*max_error))
        *max_error = 0;
    return true;
}

static bool read_kept(const sattn_fields *fields, sattn_kept *kept)
{
    const char *text;
    if (!sattn_field_text(fields, "kept", &text))
        return false;
    for (int i = 0; i < SATTN_KEPT_COUNT; ++i)
        if (strcmp(text, sattn_kept_name((sattn_kept)i)) == 0) {
            *kept = (sattn_kept)i;
            return true;
        }
    return sattn_field_refuse(
        fields, "kept", "\"tie\", \"slower elsewhere\", \"not confirmed elsewhere\" or nothing");
}

/* All but the candidates. */
static bool read_facts(const sattn_fields *fields, sattn_features features,
                       sattn_profile_entry *entry)
{
    const char *class;
    if (!sattn_fields_known(fields, entry_names, COUNT(entry_names)) ||
        !sattn_field_text(fields, "class", &class))
        return false;
    if (!sattn_class_parse(class, &entry->shape_class))
        return sattn_field_refuse(fields, "class", "a class of calls");
    return read_features(fields, features, &entry->usable) &&
           sattn_field_boolean(fields, "complete", &entry->is_complete) &&
           read_max_error(fields, &entry->max_error) &&
           sattn_field_text(fields, "shape", &entry->shape) && read_kept(fields, &entry->kept) &&
           sattn_field_boolean(fields, "tainted", &entry->is_tainted) &&
           sattn_field_number(fields, "margin", -DBL_MAX, "a number or null", &entry->margin) &&
           sattn_field_number(fields, "spread", 0, from_0, &entry->spread);
}

/* Those that this build knows. The place of the one that is taken moves with what is left out. */
static bool read_candidates(const sattn_fields *fields, const json_t *candidates, size_t taken,
                            sattn_profile_entry *entry, sattn_tried *tried, bool *is_usable,
                            char unknown[SATTN_PROFILE_REMARK])
{
    entry->tried = tried;
    entry->taken = taken;
    for (size_t i = 0; i < json_array_size(candidates); ++i) {
        char path[40], name[96];
        sattn_fields candidate;
        bool is_known;
        snprintf(path, sizeof path, "candidates[%zu]", i);
        if (!sattn_fields_of(fields, json_array_get(candidates, i), path, &candidate) ||
            !read_candidate(&candidate, entry, &tried[entry->n_tried], &is_known, name))
            return false;
        if (i == taken && i > 0 &&
            (!tried[entry->n_tried].is_admitted || tried[entry->n_tried].samples == 0))
            return sattn_field_refuse(fields, "taken", "the default, 0, or one admitted and timed");
        entry->n_tried += is_known;
        entry->taken -= !is_known && i < taken;
        if (!is_known && (i == 0 || i == taken)) {
            *is_usable = false;
            snprintf(
                unknown, SATTN_PROFILE_REMARK,
                "%skernels names %s, which is no kernel of this build; this class is passed over",
                candidate.path, name);
        }
    }
    return true;
}

bool sattn_profile_read_entry(const sattn_fields *fields, sattn_features features,
                              sattn_profile_entry *entry, sattn_tried *tried, bool *is_usable,
                              char unknown[SATTN_PROFILE_REMARK])
{
    const json_t *candidates;
    int64_t taken;
    *entry = (sattn_profile_entry){.n_tried = 0};
    *is_usable = true;
    if (!read_facts(fields, features, entry) ||
        !sattn_field_list(fields, "candidates", &candidates))
        return false;
    if (json_array_size(candidates) == 0)
        return sattn_field_refuse(fields, "candidates", "at least the default");
    if (json_array_size(candidates) > SATTN_TRIED_MAX)
        return sattn_field_refuse(fields, "candidates", "at most %d", SATTN_TRIED_MAX);
    return sattn_field_integer(fields, "taken", 0, (int64_t)json_array_size(candidates) - 1,
                               &taken) &&
           (taken == 0 || (entry->is_complete && entry->kept == SATTN_KEPT_FOR_NOTHING) ||
            sattn_field_refuse(fields, "taken",
                               "0, the default, where it is kept or before the end")) &&
           read_candidates(fields, candidates, (size_t)taken, entry, tried, is_usable, unknown);
}

#else
typedef int sattn_no_profiles; /* C wants a declaration in every file */
#endif
