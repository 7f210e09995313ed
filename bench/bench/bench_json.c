/* SPDX-License-Identifier: MIT
 *
 * bench_json.c: a result document and its entries. Times are nanoseconds of the whole shape. */
#include "bench/bench/bench_json.h"

#include "bench/bench/bench_autovec.h"
#include "bench/bench/bench_choice.h"
#include "bench/bench/bench_goals_report.h"
#include "bench/bench/bench_json_row.h"
#include "bench/result.h"
#include "bench/stop.h"

#include <stdio.h>
#include <string.h>

static const char not_measured[] = "not measured";

/* The keys that every entry of Google Benchmark's has. */
static json_t *new_entry(const sattn_bench_row *row, size_t family, const char *type,
                         int repetitions)
{
    json_t *const entry = json_object();
    char name[SATTN_ROW_NAME_SIZE + 16];
    const bool aggregate = strcmp(type, "aggregate") == 0;
    snprintf(name, sizeof name, "%s%s", row->name, aggregate ? "_median" : "");
    sattn_result_text(entry, "name", name);
    json_object_set_new(entry, "family_index", json_integer((json_int_t)family));
    json_object_set_new(entry, "per_family_instance_index", json_integer(0));
    sattn_result_text(entry, "run_name", row->name);
    sattn_result_text(entry, "run_type", type);
    json_object_set_new(entry, "repetitions", json_integer(repetitions));
    json_object_set_new(entry, "threads", json_integer(row->threads));
    if (aggregate) {
        sattn_result_text(entry, "aggregate_name", "median");
        sattn_result_text(entry, "aggregate_unit", "time");
    }
    return entry;
}

static void add_times(json_t *entry, int64_t iterations, double real_ns, double cpu_ns)
{
    json_object_set_new(entry, "iterations", json_integer(iterations));
    sattn_result_number(entry, "real_time", real_ns, not_measured);
    sattn_result_number(entry, "cpu_time", cpu_ns, not_measured);
    sattn_result_text(entry, "time_unit", "ns");
}

/* An entry per round, unless `medians` alone are wanted, and one of the median. */
static void add_row(json_t *benchmarks, const sattn_bench_job *job, const sattn_bench_row *row,
                    size_t family, bool medians)
{
    const sattn_measure_result *const m = &row->measured;
    if (row->state != SATTN_ROW_MEASURED) {
        json_t *const entry = new_entry(row, family, "iteration", 1);
        const char *why = *row->why ? row->why : job->error;
        if (*job->skipped)
            why = job->skipped;
        json_object_set_new(entry, "repetition_index", json_integer(0));
        json_object_set_new(entry, "error_occurred", json_true());
        sattn_result_text(entry, "error_message", why);
        add_times(entry, 0, 0, 0); /* as Google Benchmark writes it */
        const char *const status = row->state == SATTN_ROW_ABSENT ? "absent" : "failed";
        sattn_result_text(entry, "simdattn_status", *job->skipped ? "skipped" : status);
        sattn_bench_add_subject(entry, job, row);
        sattn_bench_add_errors(entry, row);
        json_array_append_new(benchmarks, entry);
        return;
    }
    const double cpu_ns = m->cpu_ns.median * sattn_bench_row_scale(row);
    for (int i = 0; !medians && i < m->time_ns.n; ++i) {
        json_t *const entry = new_entry(row, family, "iteration", m->time_ns.n);
        json_object_set_new(entry, "repetition_index", json_integer(i));
        add_times(entry, m->calls_per_window, m->times[i] * sattn_bench_row_scale(row), cpu_ns);
        if (m->bound >= 0)
            sattn_result_number(entry, "simdattn_share", m->shares[m->bound][i], not_measured);
        json_array_append_new(benchmarks, entry);
    }
    json_t *const entry = new_entry(row, family, "aggregate", m->time_ns.n);
    add_times(entry, m->time_ns.n, row->time_ns, cpu_ns);
    sattn_bench_add_subject(entry, job, row);
    sattn_bench_add_measured(entry, row);
    sattn_bench_add_errors(entry, row);
    json_array_append_new(benchmarks, entry);
}

/* Names of the rows that are slower than their autovec siblings. */
static json_t *slower_rows(const sattn_bench_jobs *list)
{
    json_t *const names = json_array();
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            if (sattn_bench_against_autovec(row) == SATTN_AGAINST_SLOWER)
                json_array_append_new(names, json_string(row->name));
        }
    return names;
}

json_t *sattn_bench_document(const sattn_bench_jobs *list, const sattn_bench_options *options,
                             const sattn_environment *environment, const sattn_places *places)
{
    json_t *const document = sattn_result_new(environment);
    if (!document)
        return NULL;
    json_t *const context = sattn_result_context(document);
    sattn_result_text(context, "simdattn_arguments", options->arguments);
    sattn_result_text(context, "simdattn_preset", options->preset_name);
    sattn_result_text(context, "simdattn_profile", sattn_bench_profile());
    json_object_set_new(context, "simdattn_seconds_per_row", json_real(options->seconds));
    sattn_places_add(places, context);
    json_object_set_new(context, "simdattn_slower_than_autovec", slower_rows(list));
    if (options->preset == SATTN_PRESET_LIMITS)
        json_object_set_new(context, "simdattn_goals",
                            sattn_bench_goals_array(list, &environment->caches));
    size_t family = 0;
    bool is_complete = !sattn_stop_asked();
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        is_complete = is_complete && job->is_done;
        for (size_t r = 0; job->is_done && r < job->n_rows; ++r)
            add_row(sattn_result_benchmarks(document), job, &job->rows[r], family++,
                    options->preset == SATTN_PRESET_LIMITS);
    }
    json_object_set_new(context, "simdattn_complete", json_boolean(is_complete));
    return document;
}
