/* SPDX-License-Identifier: MIT
 *
 * bench_json_row.c: what an entry of a result document says of a row. */
#include "bench/bench/bench_json_row.h"

#include "bench/bench/bench_autovec.h"
#include "bench/limits/limits.h"
#include "bench/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char not_measured[] = "not measured";

/* Extents of an attention, or of an array. */
static void add_sizes(json_t *entry, const sattn_bench_job *job)
{
    const sattn_shape *const s = &job->run_shape;
    if (s->kind == SATTN_SHAPE_ARRAY) {
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
    json_object_set_new(entry, "simdattn_packed", json_boolean(s->is_packed));
    if (s->kind == SATTN_SHAPE_DECODER)
        json_object_set_new(entry, "simdattn_words", json_integer(SATTN_SHAPE_WORDS));
    if (s->kind == SATTN_SHAPE_SELF)
        json_object_set_new(entry, "simdattn_heads", json_integer(s->n_heads));
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

void sattn_bench_add_subject(json_t *entry, const sattn_bench_job *job, const sattn_bench_row *row)
{
    add_kernel(entry, row);
    add_shape(entry, job, row);
}

void sattn_bench_add_errors(json_t *entry, const sattn_bench_row *row)
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
    add_count(object, "shared_rounds", taint->shared);
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
    if (row->variant->part)
        return; /* it is not counted */
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

void sattn_bench_add_measured(json_t *entry, const sattn_bench_row *row)
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
    if (row->over_kernel_ns.n > 0)
        add_stat(entry, "simdattn_over_kernel_ns", &row->over_kernel_ns, 1);
    if (row->variant->part)
        sattn_result_text(entry, "simdattn_part_of_step", row->variant->part);
    if (row->of_step.n > 0)
        add_stat(entry, "simdattn_of_step", &row->of_step, 1);
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
