/* SPDX-License-Identifier: MIT
 *
 * explain_hint.c: the command that measures the class of a call. */
#include "bench/explain/explain.h"
#include "bench/explain/explain_given.h"
#include "bench/tune/tune_jobs.h"

#include <stdio.h>
#include <string.h>

static bool is_of_class(const sattn_shape_class *c, const sattn_explained *explain)
{
    char text[SATTN_CLASS_TEXT];
    sattn_class_print(c, text);
    return strcmp(text, explain->explanation->shape_class) == 0;
}

/* The named shape of the call, else the first one of its class; NULL: there is none. */
static const char *named_shape(const sattn_explained *explain)
{
    const sattn_explain_options *const o = explain->options;
    const sattn_shape_kind kind = o->shape.kind;
    if (*o->shape.name && !o->is_changed)
        return o->shape.name;
    const sattn_shape *shape;
    for (size_t i = 0; (shape = sattn_explain_shape_at(i)); ++i) {
        if (shape->kind != kind)
            continue;
        const sattn_shape_class c = sattn_tune_class_of(o->op, shape, o->threads);
        if (is_of_class(&c, explain))
            return shape->name;
    }
    return NULL;
}

/* Whether a run over all classes measures that of the call. */
static bool is_tuned(const sattn_explained *explain)
{
    const sattn_tune_options all = {.threads = {.of = {explain->options->threads}, .n = 1}};
    sattn_tune_jobs jobs;
    bool found = false;
    if (sattn_tune_select(&all, 0, &jobs) == 0)
        for (size_t j = 0; j < jobs.count && !found; ++j)
            found = is_of_class(&jobs.jobs[j].shape_class, explain);
    sattn_tune_jobs_free(&jobs);
    return found;
}

bool sattn_explain_hint(const sattn_explained *explain, char text[SATTN_EXPLAIN_HINT])
{
    const sattn_explain_options *const o = explain->options;
    const char *const shape = named_shape(explain);
    const bool has_op = o->op != SATTN_OP_fused, has_isa = o->isa != NULL;
    const bool has_file = o->profile && strcmp(o->profile, "none") != 0;
    char threads[32] = "";
    if (!shape && !is_tuned(explain))
        return false;
    if (o->threads > 1)
        snprintf(threads, sizeof threads, " --threads %d", o->threads);
    snprintf(text, SATTN_EXPLAIN_HINT, "./run tune%s%s%s%s%s%s%s%s%s", has_op ? " --op " : "",
             has_op ? sattn_op_name(o->op) : "", shape ? " --shape " : "", shape ? shape : "",
             has_isa ? " --isa " : "", has_isa ? o->isa : "", threads, has_file ? " --out " : "",
             has_file ? o->profile : "");
    return true;
}
