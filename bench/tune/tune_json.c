/* SPDX-License-Identifier: MIT
 *
 * tune_json.c: machine, coverage, and for each class what a profile has of it and more. */
#include "bench/tune/tune_json.h"

#include "bench/result.h"
#include "bench/stop.h"
#include "bench/tune/tune_report.h"

#include <math.h>

static const char *verdict_name(sattn_tune_verdict verdict)
{
    switch (verdict) {
    case SATTN_TUNE_PENDING:
        break;
    case SATTN_TUNE_ADMITTED:
        return "admitted";
    case SATTN_TUNE_REJECTED:
        return "rejected";
    case SATTN_TUNE_TOO_SLOW:
        return "too slow";
    }
    return "not judged";
}

static json_t *candidate_object(const sattn_tried *tried, const sattn_tune_note *note)
{
    static const char not_timed[] = "not timed", not_compared[] = "not compared";
    char kernels[SATTN_RECIPE_TEXT];
    json_t *const object = json_object();
    sattn_recipe_print(&tried->recipe, kernels);
    sattn_result_text(object, "plan", sattn_recipe_plan(&tried->recipe));
    sattn_result_text(object, "kernels", kernels);
    json_object_set_new(object, "key_splits", json_integer(tried->recipe.key_splits));
    sattn_result_number(object, "time_ns", tried->time_ns, not_timed);
    sattn_result_number(object, "time_p10_ns", tried->time_p10_ns, not_timed);
    sattn_result_number(object, "time_p90_ns", tried->time_p90_ns, not_timed);
    json_object_set_new(object, "samples", json_integer(tried->samples));
    sattn_result_number(object, "error", tried->error, not_compared);
    sattn_result_number(object, "error_bound", tried->error_bound, not_compared);
    json_object_set_new(object, "admitted", json_boolean(tried->is_admitted));
    if (note) {
        sattn_result_text(object, "verdict", verdict_name(note->verdict));
        sattn_result_text(object, "reason", note->why);
    }
    return object;
}

/* Of the default's time over that of what is taken, in the same rounds. */
static void add_gain(json_t *object, const sattn_profile_entry *entry, const sattn_stat *gain)
{
    static const char unknown[] = "this run did not race them";
    const bool is_same = entry->taken == 0 && entry->tried[0].is_admitted;
    const bool is_known = entry->taken != 0 && gain->n > 0;
    const double other = is_same ? 1 : (double)NAN;
    sattn_result_number(object, "default_over_taken", is_known ? gain->median : other, unknown);
    sattn_result_number(object, "default_over_taken_low", is_known ? gain->low : other, unknown);
    sattn_result_number(object, "default_over_taken_high", is_known ? gain->high : other, unknown);
}

static void add_entry(json_t *object, const sattn_profile_entry *entry,
                      const sattn_tune_outcome *outcome)
{
    json_t *const candidates = json_array();
    for (size_t c = 0; c < entry->n_tried; ++c)
        json_array_append_new(
            candidates,
            candidate_object(&entry->tried[c], outcome->notes ? &outcome->notes[c] : NULL));
    json_object_set_new(object, "measured", json_string(entry->shape));
    json_object_set_new(object, "complete", json_boolean(entry->is_complete));
    json_object_set_new(object, "taken", json_integer((json_int_t)entry->taken));
    json_object_set_new(object, "kept", json_string(sattn_kept_name(entry->kept)));
    json_object_set_new(object, "tainted", json_boolean(entry->is_tainted));
    sattn_result_number(object, "margin", entry->margin, "nothing to compare with");
    sattn_result_number(object, "spread", entry->spread, "nothing to compare with");
    add_gain(object, entry, &outcome->gain);
    json_object_set_new(object, "candidates", candidates);
}

static json_t *class_object(const sattn_tune_session *session, size_t j)
{
    static const char *const states[] = {"not begun", "begun", "kept", "run"};
    const sattn_tune_job *const job = &session->jobs->jobs[j];
    const sattn_profile_entry *const entry = sattn_tune_known(session, j);
    const sattn_tune_outcome *const outcome = &session->outcomes[j];
    char text[SATTN_CLASS_TEXT];
    json_t *const object = json_object();
    sattn_class_print(&job->shape_class, text);
    sattn_result_text(object, "class", text);
    sattn_result_text(object, "op", sattn_op_name(job->op));
    sattn_result_text(object, "shape", job->shape.name);
    sattn_result_text(object, "tier", sattn_tune_tier_name(job->tier));
    sattn_result_text(object, "isa", job->isa);
    json_object_set_new(object, "threads", json_integer(job->threads));
    json_object_set_new(object, "named_shapes", json_integer(job->n_shapes));
    sattn_result_text(object, "state", states[session->states[j]]);
    sattn_result_text(object, "error", outcome->error);
    sattn_result_text(object, "kept_because", outcome->kept);
    if (entry)
        add_entry(object, entry, outcome);
    else if (outcome->entry.n_tried > 0) /* nothing was admitted: here is why */
        add_entry(object, &outcome->entry, outcome);
    return object;
}

static json_t *coverage_array(const sattn_tune_session *session)
{
    json_t *const array = json_array();
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier) {
        const sattn_tune_coverage c = sattn_tune_coverage_of(session, (sattn_tune_tier)tier);
        if (c.classes > 0)
            json_array_append_new(array, json_pack("{s:s, s:i, s:i, s:i}", "tier",
                                                   sattn_tune_tier_name((sattn_tune_tier)tier),
                                                   "classes", c.classes, "complete", c.complete,
                                                   "named_shapes", c.shapes));
    }
    return array;
}

json_t *sattn_tune_document(const sattn_tune_session *session, double seconds, bool is_there)
{
    json_t *const document = sattn_result_new(session->environment);
    if (!document)
        return NULL;
    json_t *const classes = json_array();
    for (size_t j = 0; j < session->jobs->count; ++j)
        json_array_append_new(classes, class_object(session, j));
    json_object_del(document, "benchmarks");
    sattn_places_add(session->places, sattn_result_context(document));
    sattn_result_text(document, "profile", is_there ? session->store->path : NULL);
    sattn_result_text(document, "profile_note", session->store->note);
    json_object_set_new(document, "seconds", json_real(seconds));
    json_object_set_new(document, "budget", json_real(session->options->budget_s));
    sattn_result_number(document, "max_error",
                        session->options->max_error > 0 ? session->options->max_error : (double)NAN,
                        "any within bounds");
    char seed[24]; /* JSON's integers are signed here */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)session->options->seed);
    json_object_set_new(document, "seed", json_string(seed));
    json_object_set_new(document, "interrupted", json_boolean(sattn_stop_asked()));
    json_object_set_new(document, "coverage", coverage_array(session));
    json_object_set_new(document, "classes", classes);
    return document;
}
