/* SPDX-License-Identifier: MIT
 *
 * bench_json.c: entries of a result document. Times are nanoseconds of the whole shape. */
#include "bench/bench_json.h"

#include "bench/bench_autovec.h"
#include "bench/bench_goals_report.h"
#include "bench/limits/limits.h"
#include "bench/result.h"
#include "bench/stop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char not_measured[] = "not measured";

/* Extents of an attention, or of an array. */
static void add_sizes(json_t *entry, const sattn_bench_job *job)
{
    const sattn_shape *const s = &job->run_shape;
    if (s->is_array) {
        json_object_set_new(entry, "simdattn_n", json_integer(s->n_k));
        return;
    }
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"simdattn_batch", s->batch},
                 {"simdattn_n_q_heads", s->n_q_heads},
                 {"simdattn_n_q", s->n_q},
                 {"simdattn_n_kv_heads", s->n_kv_heads},
                 {"simdattn_n_k", s->n_k},
                 {"simdattn_d", s->d},
                 {"simdattn_d_v", s->d_v},
                 {"simdattn_source_batch", s->source_batch ? s->source_batch : s->batch}};
    char phase[32];
    sattn_phases_print((unsigned)job->phase, phase, sizeof phase);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        json_object_set_new(entry, sizes[i].key, json_integer(sizes[i].value));
    json_object_set_new(entry, "simdattn_causal", json_boolean(s->causal));
    json_object_set_new(entry, "simdattn_window", json_integer(s->window));
    json_object_set_new(entry, "simdattn_softcap", json_real(s->softcap));
    json_object_set_new(entry, "simdattn_alibi", json_boolean(s->has_alibi));
    json_object_set_new(entry, "simdattn_sinks", json_boolean(s->has_sinks));
    sattn_result_text(entry, "simdattn_phase", phase);
}

static void add_shape(json_t *entry, const sattn_bench_job *job, const sattn_bench_row *row)
{
    const sattn_shape *const s = &job->run_shape;
    char text[160];
    sattn_shape_describe(s, text, sizeof text);
    sattn_result_text(entry, "simdattn_shape", s->name);
    sattn_result_text(entry, "simdattn_shape_text", text);
    sattn_result_text(entry, "simdattn_shape_source", s->source);
    add_sizes(entry, job);
    json_object_set_new(entry, "simdattn_sets", json_integer(job->n_sets));
    json_object_set_new(entry, "simdattn_set_bytes", json_integer((json_int_t)job->set_bytes));
    sattn_result_text(entry, "simdattn_data", job->data[row->data].name);
    sattn_result_text(entry, "simdattn_cache", sattn_cache_name(job->cache));
}

static void add_kernel(json_t *entry, const sattn_bench_row *row)
{
    sattn_result_text(entry, "simdattn_kernel", row->variant->name);
    if (*row->kernels && strcmp(row->kernels, row->variant->name) != 0)
        sattn_result_text(entry, "simdattn_kernels", row->kernels);
    if (row->variant->peer) {
        sattn_result_text(entry, "simdattn_peer", row->variant->peer);
        sattn_result_text(entry, "simdattn_peer_version", *row->version ? row->version : NULL);
        sattn_result_text(entry, "simdattn_peer_picked", *row->kernels ? row->kernels : NULL);
        sattn_result_text(entry, "simdattn_peer_cap", row->variant->cap);
    }
    sattn_result_text(entry, "simdattn_op", row->variant->op->name);
    sattn_result_text(entry, "simdattn_isa", sattn_variant_isa(row->variant));
    json_object_set_new(entry, "simdattn_chosen", json_boolean(row->chosen));
}

static void add_errors(json_t *entry, const sattn_bench_row *row)
{
    const sattn_verify_result *const v = &row->verified;
    const char *const reason = v->n_measured > 0 ? "not finite" : not_measured;
    sattn_result_text(entry, "simdattn_err_unit", row->variant->op->task->error_unit);
    sattn_result_number(entry, "simdattn_err", v->worst_error, reason);
    sattn_result_number(entry, "simdattn_err_mean", v->mean_error, reason);
    sattn_result_number(entry, "simdattn_err_bound", v->worst_bound, reason);
    sattn_result_number(entry, "simdattn_err_ratio", v->worst_ratio, reason);
    sattn_result_number(entry, "simdattn_err_ulp", v->worst_ulp, reason);
    json_object_set_new(entry, "simdattn_err_elements", json_integer(v->n_elements));
}

/* Median, spread and n under three keys. */
static void add_stat(json_t *entry, const char *key, const sattn_stat *stat, double factor)
{
    char name[96];
    sattn_result_number(entry, key, stat->median * factor, not_measured);
    const struct {
        const char *suffix;
        double value;
    } parts[] = {
        {"_p10", stat->p10}, {"_p90", stat->p90}, {"_low", stat->low}, {"_high", stat->high}};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; ++p) {
        snprintf(name, sizeof name, "%s%s", key, parts[p].suffix);
        sattn_result_number(entry, name, parts[p].value * factor, not_measured);
    }
    snprintf(name, sizeof name, "%s_n", key);
    json_object_set_new(entry, name, json_integer(stat->n));
}

static void add_count(json_t *object, const char *key, int64_t count)
{
    if (count >= 0)
        json_object_set_new(object, key, json_integer(count));
    else
        sattn_result_number(object, key, (double)NAN, "this system does not say");
}

static void add_taint(json_t *entry, const sattn_taint *taint)
{
    json_t *const object = json_object();
    json_object_set_new(object, "windows", json_integer(taint->windows));
    json_object_set_new(object, "tainted", json_integer(taint->tainted));
    add_count(object, "switches", taint->switches);
    add_count(object, "throttled", taint->throttled);
    add_count(object, "steal_ticks", taint->steal_ticks);
    json_object_set_new(object, "kept", json_boolean(taint->kept));
    json_object_set_new(entry, "simdattn_taint", object);
}

static void add_speedup(json_t *entry, const char *key, const sattn_stat *speedup,
                        const char *reason)
{
    if (speedup->n > 0)
        add_stat(entry, key, speedup, 1);
    else
        sattn_result_number(entry, key, (double)NAN, reason);
}

/* Rates of what the task counts. */
static void add_work(json_t *entry, const sattn_bench_row *row)
{
    const double ns = row->measured.time_ns.median;
    if (row->whole.elements > 0) {
        sattn_result_number(entry, "simdattn_elements", row->whole.elements, not_measured);
        sattn_result_number(entry, "simdattn_ns_per_element", ns / row->work.elements,
                            not_measured);
    } else {
        sattn_result_number(entry, "simdattn_flops", row->whole.flops, not_measured);
        sattn_result_number(entry, "simdattn_kv_bytes", row->whole.kv_bytes, not_measured);
        sattn_result_number(entry, "simdattn_gflop_per_s", row->work.flops / ns, not_measured);
    }
    sattn_result_number(entry, "simdattn_bytes", row->whole.bytes, not_measured);
    sattn_result_number(entry, "simdattn_gb_per_s", row->work.bytes / ns, not_measured);
}

static void add_bound(json_t *entry, const sattn_bench_row *row)
{
    const sattn_measure_result *const m = &row->measured;
    sattn_result_text(entry, "simdattn_bound", row->bounded ? sattn_limit_name(row->bound) : NULL);
    if (!row->bounded)
        return;
    add_stat(entry, "simdattn_share", &m->share[m->bound], 1);
    add_stat(entry, "simdattn_peak", &m->reference_rate[m->bound], 1e-9);
    sattn_result_text(entry, "simdattn_peak_unit", sattn_limit_unit(row->bound));
}

static void add_measured(json_t *entry, const sattn_bench_row *row)
{
    const sattn_measure_result *const m = &row->measured;
    add_stat(entry, "simdattn_time_ns", &m->time_ns, sattn_bench_row_scale(row));
    add_stat(entry, "simdattn_cpu_ns", &m->cpu_ns, sattn_bench_row_scale(row));
    json_object_set_new(entry, "simdattn_calls_per_window", json_integer(m->calls_per_window));
    add_work(entry, row);
    add_bound(entry, row);
    add_speedup(entry, "simdattn_over_scalar", &row->over_scalar, "no scalar row");
    add_speedup(entry, "simdattn_over_autovec", &row->over_autovec, "no autovec row");
    if (row->peer) {
        add_stat(entry, "simdattn_over_peer", &row->over_peer, 1);
        sattn_result_text(entry, "simdattn_best_peer", row->peer->name);
    }
    if (row->over_fused.n > 0)
        add_stat(entry, "simdattn_over_fused", &row->over_fused, 1);
    if (row->over_one_thread.n > 0)
        add_stat(entry, "simdattn_over_one_thread", &row->over_one_thread, 1);
    if (row->slowdown.n > 0)
        add_stat(entry, "simdattn_slowdown", &row->slowdown, 1);
    const sattn_against against = sattn_bench_against_autovec(row);
    if (against != SATTN_AGAINST_NOTHING) {
        sattn_result_text(entry, "simdattn_autovec_kernel", row->autovec->variant->name);
        sattn_result_text(entry, "simdattn_against_autovec", sattn_against_name(against));
    }
    json_object_set_new(entry, "simdattn_whole", json_boolean(!*row->part));
    sattn_result_text(entry, "simdattn_part", *row->part ? row->part : "all");
    json_object_set_new(entry, "simdattn_part_kv_heads", json_integer(row->n_kv_heads));
    json_object_set_new(entry, "simdattn_part_rows", json_integer(row->n_rows));
    sattn_result_text(entry, "simdattn_status", sattn_measure_status_string(m->status));
    add_taint(entry, &m->taint);
}

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
        add_kernel(entry, row);
        add_shape(entry, job, row);
        add_errors(entry, row);
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
    add_kernel(entry, row);
    add_shape(entry, job, row);
    add_measured(entry, row);
    add_errors(entry, row);
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
