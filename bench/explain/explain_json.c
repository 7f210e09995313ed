/* SPDX-License-Identifier: MIT
 *
 * explain_json.c: `simdattn explain --json`. "context" is that of a result file. */
#include "bench/explain/explain.h"

#include "bench/info/info.h"
#include "bench/result.h"

#include <stdlib.h>

static const char not_measured[] = "not measured";

/* NULL: it is not one that has a name. */
static const char *shape_name(const sattn_explain_options *o)
{
    return *o->shape.name && !o->is_changed ? o->shape.name : NULL;
}

static void add_extents(json_t *call, const sattn_explain_options *o)
{
    const sattn_shape *const s = &o->shape;
    if (s->kind == SATTN_SHAPE_ARRAY) {
        json_object_set_new(call, "n", json_integer(s->n_k));
        return;
    }
    const struct {
        const char *key;
        int64_t value;
    } extents[] = {{"batch", s->batch},
                   {"n_q_heads", s->n_q_heads},
                   {"n_kv_heads", s->n_kv_heads},
                   {"n_q", s->n_q},
                   {"n_k", s->n_k},
                   {"d", s->d},
                   {"d_v", s->d_v}};
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; ++e)
        json_object_set_new(call, extents[e].key, json_integer(extents[e].value));
    json_object_set_new(call, "causal", json_boolean(s->causal));
    json_object_set_new(call, "strided", json_boolean(s->is_interleaved));
    json_object_set_new(call, "packed", json_boolean(s->is_packed));
    sattn_result_text(call, "mask",
                      s->mask.kind == SATTN_MASK_NONE   ? NULL
                      : s->mask.kind == SATTN_MASK_BOOL ? "bool"
                                                        : "additive");
    json_object_set_new(
        call, "window",
        o->has_window ? json_pack("[I,I]", (json_int_t)o->window_left, (json_int_t)o->window_right)
                      : json_null());
    json_object_set_new(call, "scores", json_boolean(o->has_scores));
}

static json_t *call_object(const sattn_explain_options *o)
{
    json_t *const call = json_object();
    char text[SATTN_EXPLAIN_CALL_TEXT];
    sattn_explain_call_text(o, text);
    sattn_result_text(call, "function", sattn_explain_function(o->op));
    sattn_result_text(call, "op", sattn_op_name(o->op));
    sattn_result_text(call, "shape", shape_name(o));
    sattn_result_text(call, "text", text);
    add_extents(call, o);
    json_object_set_new(call, "threads", json_integer(o->threads));
    json_object_set_new(call, "key_splits", json_integer(o->key_splits));
    sattn_result_text(call, "isa", o->isa);
    sattn_result_text(call, "kernels", o->kernels);
    sattn_result_text(call, "plan", o->plan);
    for (int v = 0; v < SATTN_INFO_OVERRIDES; ++v)
        sattn_result_text(call, sattn_info_variables[v], getenv(sattn_info_variables[v]));
    return call;
}

static json_t *results_object(const sattn_explain_results *r)
{
    json_t *const results = json_object();
    sattn_result_text(results, "path", r->path);
    sattn_result_text(results, "problem", *r->note ? r->note : NULL);
    json_object_set_new(results, "candidates", json_integer((json_int_t)r->n_taken));
    return results;
}

static json_t *figures_object(const sattn_explained *explain, const sattn_explain_figures *figures,
                              sattn_explain_source source)
{
    const bool is_profile = source == SATTN_EXPLAIN_PROFILE;
    json_t *const object = json_object();
    sattn_result_text(object, "source", is_profile ? "profile" : "results");
    sattn_result_text(object, "shape",
                      is_profile ? explain->explanation->measured : shape_name(explain->options));
    sattn_result_number(object, "time_ns", figures->time_ns, not_measured);
    sattn_result_number(object, "time_p10_ns", figures->time_p10_ns, not_measured);
    sattn_result_number(object, "time_p90_ns", figures->time_p90_ns, not_measured);
    json_object_set_new(object, "samples", json_integer(figures->samples));
    json_object_set_new(object, "tainted", json_boolean(figures->is_tainted));
    sattn_result_number(object, "error", figures->error, not_measured);
    sattn_result_number(object, "error_bound", figures->error_bound, not_measured);
    json_object_set_new(object, "on_front", json_boolean(figures->is_on_front));
    return object;
}

static json_t *candidate_object(const sattn_explained *explain, const sattn_explain_row *row)
{
    json_t *const candidate = json_object(), *const measured = json_array();
    const sattn_candidate *const c = row->candidate;
    sattn_result_text(candidate, "name", row->name);
    sattn_result_text(candidate, "plan", *c->plan ? c->plan : NULL);
    sattn_result_text(candidate, "kernels", c->kernels);
    json_object_set_new(candidate, "key_splits", json_integer(c->key_splits));
    json_object_set_new(candidate, "eligible", json_boolean(c->is_eligible));
    json_object_set_new(candidate, "taken", json_boolean(c->is_taken));
    json_object_set_new(candidate, "default", json_boolean(c->is_default));
    sattn_result_text(candidate, "reason", *c->reason ? c->reason : NULL);
    for (int s = 0; s < SATTN_EXPLAIN_SOURCES; ++s) {
        const sattn_explain_source source = (sattn_explain_source)s;
        if (sattn_explain_is_measured(row, source))
            json_array_append_new(measured, figures_object(explain, &row->figures[s], source));
    }
    json_object_set_new(candidate, "measured", measured);
    return candidate;
}

bool sattn_explain_print_json(sattn_explained *explain, FILE *file)
{
    json_t *const document = sattn_result_new(&explain->environment);
    json_t *const candidates = json_array();
    if (!document || !candidates)
        return false;
    sattn_explain_sort(explain->rows, explain->n_rows, SATTN_EXPLAIN_PROFILE);
    for (size_t r = 0; r < explain->n_rows; ++r)
        json_array_append_new(candidates, candidate_object(explain, &explain->rows[r]));
    json_object_del(document, "benchmarks");
    json_object_set_new(document, "call", call_object(explain->options));
    sattn_result_text(document, "decision", explain->explanation->decision);
    sattn_result_text(document, "class", explain->explanation->shape_class);
    json_object_set_new(document, "profile", sattn_explain_profile_json(&explain->profile));
    json_object_set_new(document, "results",
                        explain->results.path ? results_object(&explain->results) : json_null());
    json_object_set_new(document, "candidates", candidates);
    const bool good = sattn_result_print(document, file);
    json_decref(document);
    return good;
}
