/* SPDX-License-Identifier: MIT
 *
 * check_json.c: documents of `simdattn check`: a baseline, and --json. */
#include "bench/check/check_baseline.h"
#include "bench/result.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 4 }; /* of a stored error */

static void set_text(json_t *object, const char *key, const char *text)
{
    sattn_result_text(object, key, text);
}

json_t *sattn_check_environment(const sattn_environment *environment)
{
    const sattn_build *const b = &environment->build;
    json_t *const object = json_object();
    set_text(object, "cpu", environment->cpu_model);
    set_text(object, "arch", b->arch);
    set_text(object, "isa", environment->isa);
    set_text(object, "compiler", b->compiler);
    set_text(object, "build_type", b->build_type);
    set_text(object, "c_flags", b->c_flags);
    set_text(object, "kernel_flags", b->kernel_flags);
    set_text(object, "sleef_version", b->sleef_version);
    set_text(object, "jansson_version", b->jansson_version);
    set_text(object, "simdattn_version", b->library_version);
    set_text(object, "kernel_hash", b->kernel_hash);
    set_text(object, "commit", b->commit);
    json_object_set_new(object, "commit_dirty",
                        b->commit_dirty == SATTN_UNKNOWN
                            ? json_null()
                            : json_boolean(b->commit_dirty == SATTN_YES));
    return object;
}

/* [worst, mean, bound]; null for what was not finite, which no baseline may hold. */
static json_t *error_array(const sattn_verify_result *result)
{
    const double numbers[] = {result->worst_error, result->mean_error, result->worst_error_bound};
    json_t *const array = json_array();
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; ++n)
        json_array_append_new(array, isfinite(numbers[n]) ? json_real(numbers[n]) : json_null());
    return array;
}

/* Entries of one variant and shape are put into one object. The run has them by shape. */
static json_t *entry_array(const sattn_check_run *run)
{
    json_t *const entries = json_array();
    for (size_t v = 0; v < run->n_variants; ++v) {
        const char *shape = "";
        json_t *errors = NULL;
        for (size_t e = 0; e < run->n_entries; ++e) {
            const sattn_check_entry *const entry = &run->entries[e];
            if (entry->variant != v)
                continue;
            if (strcmp(entry->shape, shape) != 0) {
                json_t *const object = json_object();
                shape = entry->shape;
                errors = json_object();
                set_text(object, "op", run->variants[v].op);
                set_text(object, "kernel", run->variants[v].kernel);
                set_text(object, "shape", shape);
                json_object_set_new(object, "errors", errors);
                json_array_append_new(entries, object);
            }
            json_object_set_new(errors, entry->data, error_array(&entry->result));
        }
    }
    return entries;
}

static json_t *unit_object(const sattn_check_run *run)
{
    json_t *const units = json_object();
    for (size_t v = 0; v < run->n_variants; ++v)
        set_text(units, run->variants[v].op, sattn_check_unit(run->variants[v].op));
    return units;
}

json_t *sattn_check_document(const sattn_check_run *run, const json_t *environment)
{
    json_t *const document = json_object();
    set_text(document, "schema", "simdattn-accuracy");
    json_object_set_new(document, "version", json_integer(1));
    json_object_set_new(document, "seed", json_integer((json_int_t)run->options->seed));
    set_text(document, "preset", run->options->full ? "full" : "quick");
    json_object_set_new(document, "environment", json_deep_copy(environment));
    json_object_set_new(document, "units", unit_object(run));
    set_text(document, "errors_are", "worst, mean, bound at the worst");
    json_object_set_new(document, "entries", entry_array(run));
    return document;
}

static json_t *variant_array(const sattn_check_run *run)
{
    json_t *const variants = json_array();
    for (size_t v = 0; v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        const sattn_check_total total = sattn_check_total_of(run, v);
        if (!variant->is_wanted)
            continue;
        json_t *const object = json_object();
        set_text(object, "op", variant->op);
        set_text(object, "kernel", variant->kernel);
        set_text(object, "isa", variant->isa);
        set_text(object, "unit", sattn_check_unit(variant->op));
        set_text(object, "skipped", *variant->why_not ? variant->why_not : NULL);
        json_object_set_new(object, "entries", json_integer(total.n_entries));
        json_object_set_new(object, "elements", json_integer(total.n_elements));
        json_object_set_new(object, "failed", json_integer(total.n_failed));
        sattn_result_number(object, "worst", total.is_finite ? total.worst : (double)NAN,
                            "an output is not finite");
        sattn_result_number(object, "mean", total.mean, "not finite");
        sattn_result_number(object, "bound", total.worst_bound, "no bound");
        sattn_result_number(object, "worst_ratio", total.worst_ratio, "no bound");
        json_array_append_new(variants, object);
    }
    return variants;
}

static json_t *failure_array(const sattn_check_run *run)
{
    json_t *const failures = json_array();
    for (size_t e = 0; e < run->n_entries; ++e) {
        char text[1024];
        if (sattn_check_entry_good(&run->entries[e]))
            continue;
        sattn_check_describe(run, &run->entries[e], text, sizeof text);
        json_array_append_new(failures, json_string(text));
    }
    return failures;
}

static json_t *difference_array(const sattn_check_comparison *comparison)
{
    static const char *const changes[] = {[SATTN_CHANGE_ERROR_GREW] = "grew",
                                          [SATTN_CHANGE_MISSING] = "missing",
                                          [SATTN_CHANGE_NEW] = "new",
                                          [SATTN_CHANGE_ABSENT] = "absent"};
    json_t *const array = json_array();
    for (size_t d = 0; d < comparison->n_differences; ++d) {
        const sattn_check_difference *const difference = &comparison->differences[d];
        json_t *const object = json_object();
        set_text(object, "change", changes[difference->change]);
        set_text(object, "kernel", difference->kernel);
        json_object_set_new(object, "entries", json_integer(difference->n));
        if (*difference->shape) {
            set_text(object, "shape", difference->shape);
            set_text(object, "data", difference->data);
        }
        if (difference->change == SATTN_CHANGE_ERROR_GREW) {
            set_text(object, "what", difference->what);
            sattn_result_number(object, "now", difference->now, "not finite");
            sattn_result_number(object, "stored", difference->stored, "not finite");
            sattn_result_number(object, "allowed", difference->allowed, "not finite");
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *comparison_object(const sattn_check_comparison *c,
                                 const sattn_check_baseline *baseline)
{
    const struct {
        const char *name;
        int64_t count;
    } counts[] = {{"compared", c->n_compared}, {"grew", c->n_grew},
                  {"missing", c->n_missing},   {"new", c->n_new},
                  {"skipped", c->n_skipped},   {"not_comparable", c->n_absent}};
    json_t *const object = json_object();
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; ++n)
        json_object_set_new(object, counts[n].name, json_integer(counts[n].count));
    json_object_set(object, "environment", json_object_get(baseline->document, "environment"));
    json_object_set_new(object, "differences", difference_array(c));
    return object;
}

json_t *sattn_check_report(const sattn_check_run *run, const json_t *environment,
                           const sattn_check_comparison *comparison,
                           const sattn_check_baseline *baseline)
{
    json_t *const document = sattn_check_document(run, environment);
    json_object_set_new(document, "seconds", json_real(run->seconds));
    json_object_set_new(document, "variants", variant_array(run));
    json_object_set_new(document, "failures", failure_array(run));
    if (comparison && baseline)
        json_object_set_new(document, "baseline", comparison_object(comparison, baseline));
    return document;
}

static bool print_value(const json_t *value, FILE *file)
{
    return json_dumpf(value, file, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS)) ==
           0;
}

/* Arrays with one line for each item. */
static bool print_member(const json_t *value, FILE *file)
{
    if (!json_is_array(value))
        return print_value(value, file);
    bool good = fputs("[", file) != EOF;
    for (size_t n = 0; good && n < json_array_size(value); ++n)
        good = fputs(n ? ",\n" : "\n", file) != EOF && print_value(json_array_get(value, n), file);
    return good && fputs("\n]", file) != EOF;
}

bool sattn_check_document_print(const json_t *document, FILE *file)
{
    static const char *const members[] = {"schema",      "version",  "seed",       "preset",
                                          "environment", "units",    "errors_are", "entries",
                                          "seconds",     "variants", "failures",   "baseline"};
    const char *separator = "{\n";
    bool good = true;
    for (size_t m = 0; m < sizeof members / sizeof members[0]; ++m) {
        const json_t *const value = json_object_get(document, members[m]);
        if (!value)
            continue;
        good = good && fprintf(file, "%s\"%s\": ", separator, members[m]) > 0 &&
               print_member(value, file);
        separator = ",\n";
    }
    return good && fputs("\n}\n", file) != EOF && fflush(file) == 0;
}
