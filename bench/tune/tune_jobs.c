/* SPDX-License-Identifier: MIT
 *
 * tune_jobs.c: from named shapes to classes: the first shape of a class stands for it. */
#include "bench/tune/tune_jobs.h"

#include "bench/info/info.h"
#include "bench/ops/layer_args.h"
#include "bench/tune/regret_shapes.h"
#include "bench/verbs.h"
#include "bench/workload.h"

#include <stdio.h>
#include <stdlib.h>

/* A call of a prefill may take so many flops, one of few queries read so many bytes of K and V: in
 * the one keys are in a cache soon, in the other they have to come from where they would. */
static const double most_flops = 2e8, most_bytes = 40e6;

/* Buckets of keys of a cache that grows. */
enum { LEAST_KEYS_LOG2 = 7, MOST_KEYS_LOG2 = 13 };

typedef struct selection {
    const sattn_tune_options *options;
    sattn_features usable;
    sattn_tune_jobs *list;
    size_t capacity;
    bool out_of_memory;
} selection;

const char *sattn_tune_tier_name(sattn_tune_tier tier)
{
    static const char *const names[SATTN_TUNE_TIERS] = {"asked for",    "models and decode",
                                                        "single steps", "other lengths",
                                                        "other shapes", "interleaved tensors"};
    return names[tier];
}

void sattn_tune_job_shape(const sattn_tune_job *job, char *text, size_t size)
{
    if (job->tier == SATTN_TUNE_LENGTHS)
        snprintf(text, size, "%s, %lld keys", job->shape.name, (long long)job->shape.n_k);
    else
        snprintf(text, size, "%s%s", job->shape.name,
                 job->tier == SATTN_TUNE_STRIDED ? ", interleaved" : "");
}

void sattn_tune_job_name(const sattn_tune_job *job, char *text, size_t size)
{
    char what[96], threads[24] = "";
    sattn_tune_job_shape(job, what, sizeof what);
    if (job->threads > 1)
        snprintf(threads, sizeof threads, ", %d threads", job->threads);
    snprintf(text, size, "%s%s%s%s%s%s", job->op == SATTN_OP_fused ? "" : sattn_op_name(job->op),
             job->op == SATTN_OP_fused ? "" : ", ", what, job->isa ? ", " : "",
             job->isa ? job->isa : "", threads);
}

sattn_shape_class sattn_tune_class_of(sattn_op op, const sattn_shape *shape, int threads)
{
    const sattn_attention_args args = sattn_workload_args(shape);
    if (shape->kind != SATTN_SHAPE_ATTENTION)
        return sattn_layer_class(op, &args, shape->is_packed, threads);
    return sattn_class_of(&args, sattn_call_computation(sattn_call_of_op(op)), threads);
}

int64_t sattn_tune_heads(const sattn_tune_job *job)
{
    const sattn_shape *const s = &job->shape;
    if (job->is_whole)
        return s->n_kv_heads;
    const double keys = (double)s->n_k * (double)(s->d + s->d_v) * (s->causal ? 0.5 : 1);
    const int64_t n_group = s->n_q_heads / s->n_kv_heads;
    const double rows = (double)s->n_q * (double)n_group;
    const bool is_prefill = job->shape_class.phase == SATTN_PHASE_PREFILL;
    const double fit = is_prefill ? most_flops / (2 * rows * keys) : most_bytes / (4 * keys);
    const double least = job->threads > 1 ? 2.0 * job->threads : 1; /* all threads need work */
    const double heads = fit > least ? fit : least;
    return heads < (double)s->n_kv_heads ? (int64_t)heads : s->n_kv_heads;
}

static sattn_status list_recipes(sattn_recipe_list *list, const sattn_tune_job *job)
{
    const sattn_options options = {
        .threads = job->threads, .isa = job->isa, .profile = sattn_profile_none()};
    if (job->shape.kind != SATTN_SHAPE_ATTENTION)
        return sattn_list_apart_recipes(list, &job->shape_class, NULL, &options);
    const sattn_workload whole = {.shape = job->shape, .args = sattn_workload_args(&job->shape)};
    const sattn_attention_args args =
        job->is_whole ? whole.args
                      : sattn_workload_part(&whole, sattn_tune_heads(job), job->shape.n_q);
    return sattn_list_recipes(list, job->shape_class.call, &args, &options);
}

bool sattn_tune_list_recipes(const sattn_tune_job *job, sattn_tune_recipes *recipes, char *error,
                             size_t error_size)
{
    sattn_recipe_list *const list = calloc(1, sizeof *list);
    recipes->count = 0;
    const sattn_status status = list ? list_recipes(list, job) : SATTN_ERR_MEMORY;
    if (status != SATTN_OK)
        snprintf(error, error_size, "%s",
                 list ? sattn_last_error() : sattn_status_string(SATTN_ERR_MEMORY));
    for (size_t i = 0; status == SATTN_OK && i < list->n; ++i)
        if (list->items[i].verdict == SATTN_RECIPE_ELIGIBLE)
            recipes->list[recipes->count++] = list->items[i].recipe;
    free(list);
    if (status == SATTN_OK && recipes->count == 0)
        snprintf(error, error_size, "no recipe of this build may run here");
    return status == SATTN_OK && recipes->count > 0;
}

/* ---- the list */

static bool same_class(const sattn_tune_job *a, const sattn_tune_job *b)
{
    return a->usable == b->usable &&
           sattn_class_key(&a->shape_class) == sattn_class_key(&b->shape_class);
}

static void add(selection *s, const sattn_tune_job *job)
{
    for (size_t j = 0; j < s->list->count; ++j)
        if (same_class(&s->list->jobs[j], job)) {
            s->list->jobs[j].n_shapes += s->list->jobs[j].tier == job->tier;
            return;
        }
    if (s->list->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 64;
        void *const jobs = realloc(s->list->jobs, capacity * sizeof *s->list->jobs);
        s->out_of_memory = s->out_of_memory || !jobs;
        if (!jobs)
            return;
        s->list->jobs = jobs;
        s->capacity = capacity;
    }
    s->list->jobs[s->list->count++] = *job;
}

sattn_tune_job sattn_tune_job_of(sattn_op op, const sattn_shape *shape, const char *isa,
                                 sattn_features usable, int threads)
{
    sattn_tune_job job = {.op = op,
                          .task = sattn_bench_op_by_name(sattn_op_name(op))->task,
                          .shape = *shape,
                          .isa = isa,
                          .usable = isa ? usable & sattn_isa_by_name(isa)->needs : usable,
                          .threads = threads,
                          .n_shapes = 1};
    job.shape.real_layer = -1; /* its numbers are not needed */
    job.shape_class = sattn_tune_class_of(op, &job.shape, threads);
    return job;
}

/* With each cap and number of threads. */
static void add_shape(selection *s, sattn_tune_tier tier, sattn_op op, const sattn_shape *shape)
{
    const sattn_tune_options *const options = s->options;
    const size_t n_isas = options->isas.count ? options->isas.count : 1;
    for (size_t i = 0; i < n_isas; ++i)
        for (int t = 0; t < options->threads.n; ++t) {
            sattn_tune_job job =
                sattn_tune_job_of(op, shape, options->isas.count ? options->isas.names[i] : NULL,
                                  s->usable, options->threads.of[t]);
            job.tier = tier;
            add(s, &job);
        }
}

/* Without --op a shape of an attention stands for the whole of it, others for all that takes them.
 */
static bool op_wanted(const selection *s, sattn_op op, sattn_shape_kind kind)
{
    if (sattn_op_takes(op) != kind)
        return false;
    if (s->options->ops.count)
        return sattn_name_list_has(&s->options->ops, sattn_op_name(op));
    return s->options->shapes.count == 0 || op == SATTN_OP_fused || kind != SATTN_SHAPE_ATTENTION;
}

static void add_asked(selection *s)
{
    size_t n_shapes, n_regret;
    const sattn_shape *const shapes = sattn_shapes(&n_shapes);
    const sattn_regret_shape *const regret = sattn_regret_shapes(&n_regret);
    for (size_t i = 0; i < n_shapes + n_regret; ++i) {
        const sattn_shape *const shape = i < n_shapes ? &shapes[i] : &regret[i - n_shapes].shape;
        if (!sattn_name_list_has(&s->options->shapes, shape->name))
            continue;
        for (int op = 0; op < SATTN_OP_COUNT; ++op)
            if (op_wanted(s, (sattn_op)op, shape->kind))
                add_shape(s, SATTN_TUNE_ASKED, (sattn_op)op, shape);
    }
}

/* Which tier a named shape is in for an op; SATTN_TUNE_TIERS: in none. */
static sattn_tune_tier tier_of(sattn_op op, const sattn_shape *shape)
{
    const unsigned models = SATTN_PRESET_MODELS | SATTN_PRESET_DECODE;
    if (op == SATTN_OP_fused)
        return shape->presets & models ? SATTN_TUNE_MODELS : SATTN_TUNE_OTHERS;
    const unsigned presets = sattn_bench_op_by_name(sattn_op_name(op))->presets;
    return shape->presets & presets ? SATTN_TUNE_STEPS : SATTN_TUNE_TIERS;
}

/* A decode step in the middle of each bucket of keys. */
static void add_lengths(selection *s, const sattn_shape *named)
{
    sattn_shape shape = *named;
    for (int log2 = LEAST_KEYS_LOG2; log2 <= MOST_KEYS_LOG2; ++log2) {
        shape.n_k = (int64_t)3 << (log2 - 2);
        add_shape(s, SATTN_TUNE_LENGTHS, SATTN_OP_fused, &shape);
    }
}

static bool is_growing(const sattn_shape *shape)
{
    return shape->presets & SATTN_PRESET_DECODE && shape->n_q == 1 &&
           shape->n_k > (int64_t)1 << LEAST_KEYS_LOG2;
}

static void add_tier(selection *s, sattn_tune_tier tier)
{
    size_t n_shapes;
    const sattn_shape *const shapes = sattn_shapes(&n_shapes);
    const bool is_strided = tier == SATTN_TUNE_STRIDED;
    if (tier == SATTN_TUNE_LENGTHS) {
        for (size_t i = 0; i < n_shapes && op_wanted(s, SATTN_OP_fused, SATTN_SHAPE_ATTENTION); ++i)
            if (is_growing(&shapes[i]))
                add_lengths(s, &shapes[i]);
        return;
    }
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        for (size_t i = 0; i < n_shapes; ++i) {
            sattn_shape shape = shapes[i];
            if (!op_wanted(s, (sattn_op)op, shape.kind) ||
                tier_of((sattn_op)op, &shape) != (is_strided ? SATTN_TUNE_MODELS : tier))
                continue;
            shape.is_interleaved = shape.is_interleaved || is_strided;
            add_shape(s, tier, (sattn_op)op, &shape);
        }
}

int sattn_tune_select(const sattn_tune_options *options, sattn_features usable,
                      sattn_tune_jobs *list)
{
    selection s = {.options = options, .usable = usable, .list = list};
    *list = (sattn_tune_jobs){0};
    if (!sattn_info_check_levels("tune", &options->isas, usable))
        return SATTN_EXIT_USAGE;
    if (options->shapes.count)
        add_asked(&s);
    for (int tier = SATTN_TUNE_MODELS; tier < SATTN_TUNE_TIERS && !options->shapes.count; ++tier)
        add_tier(&s, (sattn_tune_tier)tier);
    if (s.out_of_memory) {
        fputs("simdattn tune: out of memory\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    if (list->count > 0)
        return SATTN_EXIT_GOOD;
    fputs("simdattn tune: no op and shape match these options, so nothing was tuned"
          " (--list shows what there is)\n",
          stderr);
    return SATTN_EXIT_NOTHING;
}

void sattn_tune_jobs_free(sattn_tune_jobs *list)
{
    free(list->jobs);
    *list = (sattn_tune_jobs){0};
}
