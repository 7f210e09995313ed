/* SPDX-License-Identifier: MIT
 *
 * conform_json.c: the document of `simdattn conform --json`. */
#include "bench/conform/conform.h"
#include "bench/result.h"

#include <math.h>

static const char not_finite[] = "infinite: only one of the two is a number, or none is allowed";

static json_t *place_object(const sattn_conform_entry *entry)
{
    const sattn_conform_place *const at = &entry->result.at;
    json_t *const object = json_object();
    json_t *const index = json_array();
    for (int axis = 0; axis < entry->test->outputs[at->output].rank; ++axis)
        json_array_append_new(index, json_integer(at->index[axis]));
    sattn_result_text(object, "test", entry->test->name);
    sattn_result_text(object, "output", sattn_conform_output_name(at->output));
    json_object_set_new(object, "index", index);
    sattn_result_number(object, "got", at->got, isnan(at->got) ? "NaN" : "infinite");
    sattn_result_number(object, "want", at->want, isnan(at->want) ? "NaN" : "infinite");
    sattn_result_number(object, "tolerance", at->tolerance, "infinite");
    return object;
}

static json_t *suite_array(const sattn_conform_run *run)
{
    json_t *const suites = json_array();
    for (size_t s = 0; s < run->suites.count; ++s) {
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        json_t *const object = json_object();
        json_object_set_new(object, "suite",
                            json_stringn(suite->label, (size_t)suite->label_length));
        sattn_result_text(object, "directory", suite->directory);
        sattn_result_text(object, "source", suite->source);
        json_object_set_new(object, "tests", json_integer((json_int_t)suite->n_tests));
        json_array_append_new(suites, object);
    }
    return suites;
}

static json_t *totals_object(const sattn_conform_run *run, size_t variant)
{
    json_t *const totals = json_object();
    for (size_t s = 0; s < run->suites.count; ++s) {
        const sattn_conform_total total = sattn_conform_total_of(run, variant, s);
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        char label[64];
        if (total.n_tests == 0)
            continue;
        json_t *const object = json_object();
        snprintf(label, sizeof label, "%.*s", suite->label_length, suite->label);
        json_object_set_new(object, "tests", json_integer(total.n_tests));
        json_object_set_new(object, "passed", json_integer(total.n_passed));
        json_object_set_new(object, "with_qk", json_integer(total.n_with_qk));
        sattn_result_number(object, "worst", total.worst, not_finite);
        if (total.worst_entry)
            json_object_set_new(object, "where", place_object(total.worst_entry));
        json_object_set_new(totals, label, object);
    }
    return totals;
}

static json_t *variant_array(const sattn_conform_run *run)
{
    json_t *const variants = json_array();
    for (size_t v = 0; v < run->variants.count; ++v) {
        const sattn_conform_variant *const variant = &run->variants.all[v];
        if (!variant->is_wanted)
            continue;
        json_t *const object = json_object();
        sattn_result_text(object, "op", variant->op);
        sattn_result_text(object, "variant", variant->name);
        sattn_result_text(object, "kernels", variant->kernels);
        sattn_result_text(object, "isa", variant->isa);
        sattn_result_text(object, "skipped", *variant->why_not ? variant->why_not : NULL);
        json_object_set_new(object, "suites", totals_object(run, v));
        json_array_append_new(variants, object);
    }
    return variants;
}

static json_t *adapter_array(const sattn_conform_run *run)
{
    json_t *const adapters = json_array();
    for (int a = 0; a < SATTN_CONFORM_ADAPTERS; ++a) {
        json_t *const object = json_object();
        sattn_result_text(object, "adapter", sattn_conform_adapter_text((sattn_conform_adapter)a));
        json_object_set_new(object, "tests", json_integer(run->adapted[a]));
        json_array_append_new(adapters, object);
    }
    return adapters;
}

static json_t *failure_array(const sattn_conform_run *run)
{
    json_t *const failures = json_array();
    for (size_t e = 0; e < run->n_entries; ++e) {
        const sattn_conform_entry *const entry = &run->entries[e];
        if (sattn_conform_entry_good(entry))
            continue;
        json_t *const object = *entry->refused ? json_object() : place_object(entry);
        sattn_result_text(object, "test", entry->test->name);
        sattn_result_text(object, "variant", run->variants.all[entry->variant].name);
        sattn_result_text(object, "refused", *entry->refused ? entry->refused : NULL);
        json_object_set_new(object, "failed", json_integer(entry->result.n_failed));
        json_object_set_new(object, "elements", json_integer(entry->result.n_elements));
        json_array_append_new(failures, object);
    }
    return failures;
}

static json_t *missed_array(const sattn_conform_run *run)
{
    json_t *const missed = json_array();
    for (size_t m = 0; m < run->n_missed; ++m) {
        json_t *const object = json_object();
        sattn_result_text(object, "test", run->missed[m].test->name);
        sattn_result_text(object, "why", run->missed[m].why);
        json_array_append_new(missed, object);
    }
    return missed;
}

static json_t *left_out_array(const sattn_conform_run *run)
{
    json_t *const left_out = json_array();
    for (size_t n = 0; n < run->suites.n_left_out; ++n)
        json_array_append_new(left_out, json_string(run->suites.left_out[n]));
    return left_out;
}

json_t *sattn_conform_document(const sattn_conform_run *run, json_t *environment)
{
    json_t *const document = json_object();
    sattn_result_text(document, "schema", "simdattn-conformance");
    json_object_set_new(document, "version", json_integer(1));
    json_object_set_new(document, "environment", environment);
    sattn_result_text(document, "errors_are",
                      "in units of the tolerance; more than 1 is a failure");
    json_object_set_new(document, "suites", suite_array(run));
    json_object_set_new(document, "left_out", left_out_array(run));
    json_object_set_new(document, "variants", variant_array(run));
    json_object_set_new(document, "adapters", adapter_array(run));
    json_object_set_new(document, "failures", failure_array(run));
    json_object_set_new(document, "not_run", missed_array(run));
    json_object_set_new(document, "seconds", json_real(run->seconds));
    return document;
}
