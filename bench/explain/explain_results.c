/* SPDX-License-Identifier: MIT
 *
 * explain_results.c: see explain_results.h. */
#include "bench/explain/explain_results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool refuse(sattn_explain_results *results, const char *why)
{
    snprintf(results->note, sizeof results->note, "%s", why);
    json_decref(results->document);
    results->document = NULL;
    return false;
}

bool sattn_explain_is_of_here(const json_t *context, const sattn_environment *environment,
                              char note[SATTN_EXPLAIN_NOTE])
{
    const struct {
        const char *key, *here;
    } fields[] = {{"simdattn_cpu_model", environment->cpu_model},
                  {"simdattn_kernel_hash", environment->build.kernel_hash},
                  {"simdattn_compiler", environment->build.compiler}};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; ++f) {
        const char *const there = text_of(context, fields[f].key);
        if (*there && strcmp(there, "unknown") != 0 && strcmp(there, fields[f].here) == 0)
            continue;
        snprintf(note, SATTN_EXPLAIN_NOTE, "%s is \"%.100s\", here \"%.100s\"", fields[f].key,
                 there, fields[f].here);
        return false;
    }
    return true;
}

bool sattn_explain_results_open(sattn_explain_results *results, const char *path,
                                const sattn_environment *environment)
{
    json_error_t error;
    char note[SATTN_EXPLAIN_NOTE];
    *results = (sattn_explain_results){.path = path};
    results->document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!results->document) {
        snprintf(results->note, sizeof results->note, "%.200s%s", error.text,
                 error.line > 0 ? ": it is not JSON" : "");
        return false;
    }
    const json_t *const context = json_object_get(results->document, "context");
    if (!json_is_object(context) ||
        !json_is_array(json_object_get(results->document, "benchmarks")))
        return refuse(results, "it is no result file: expected \"context\" and \"benchmarks\", as "
                               "`./run bench --out` writes them");
    if (!sattn_explain_is_of_here(context, environment, note))
        refuse(results, note);
    return true;
}

void sattn_explain_results_close(sattn_explain_results *results)
{
    json_decref(results->document);
    *results = (sattn_explain_results){0};
}

/* Measured, though perhaps beside other work. */
static bool is_valid(const json_t *row)
{
    const char *const status = text_of(row, "simdattn_status");
    return (strcmp(status, "ok") == 0 || strncmp(status, "tainted", strlen("tainted")) == 0) &&
           number_of(row, "simdattn_time_ns") > 0;
}

static bool is_of_call(const json_t *row, const sattn_explain_wanted *wanted, const char *op)
{
    return strcmp(text_of(row, "run_type"), "aggregate") == 0 &&
           strcmp(text_of(row, "simdattn_op"), op) == 0 &&
           strcmp(text_of(row, "simdattn_cache"), "warm") == 0 &&
           strcmp(text_of(row, "simdattn_shape_text"), wanted->shape) == 0 &&
           json_integer_value(json_object_get(row, "threads")) == wanted->threads;
}

const json_t *sattn_explain_row_for(const json_t *benchmarks, const sattn_explain_wanted *wanted,
                                    const sattn_candidate *candidate)
{
    const char *const op = *wanted->op ? wanted->op : candidate->plan;
    if (candidate->key_splits > 0) /* rows do not say how keys were cut */
        return NULL;
    for (size_t r = 0; r < json_array_size(benchmarks); ++r) {
        const json_t *const row = json_array_get(benchmarks, r);
        const char *const all = text_of(row, "simdattn_kernels");
        const char *const kernels = *all ? all : text_of(row, "simdattn_kernel");
        if (is_of_call(row, wanted, op) && strcmp(kernels, candidate->kernels) == 0 &&
            is_valid(row))
            return row;
    }
    return NULL;
}

void sattn_explain_results_take(sattn_explain_results *results, const sattn_explain_wanted *wanted,
                                sattn_explain_row *rows, size_t n)
{
    const json_t *const benchmarks = json_object_get(results->document, "benchmarks");
    for (size_t r = 0; r < n; ++r) {
        const json_t *const row = sattn_explain_row_for(benchmarks, wanted, rows[r].candidate);
        if (!row)
            continue;
        ++results->n_taken;
        rows[r].figures[SATTN_EXPLAIN_RESULTS] = (sattn_explain_figures){
            .time_ns = number_of(row, "simdattn_time_ns"),
            .time_p10_ns = number_of(row, "simdattn_time_ns_p10"),
            .time_p90_ns = number_of(row, "simdattn_time_ns_p90"),
            .is_tainted = strcmp(text_of(row, "simdattn_status"), "ok") != 0,
            .samples = (int)json_integer_value(json_object_get(row, "simdattn_time_ns_n")),
            .error = number_of(row, "simdattn_err"),
            .error_bound = number_of(row, "simdattn_err_bound")};
    }
    sattn_explain_find_front(rows, n, SATTN_EXPLAIN_RESULTS);
}
