/* SPDX-License-Identifier: MIT
 *
 * tune_candidates.c: recipes, and the shape that they are timed on, made ready for calls. */
#include "bench/tune/tune_candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a candidate */

static const sattn_kernel *first_kernel(const sattn_recipe *recipe)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (recipe->kernels[op])
            return recipe->kernels[op];
    return NULL;
}

/* A profile of this class alone. What it takes first is the registry's order, whatever that is for
 * the shape; so a recipe to take stands behind it. */
static sattn_profile *profile_of(const sattn_tune_job *job, const sattn_recipe *recipe,
                                 bool is_default)
{
    const sattn_tried tried[2] = {{.recipe = *recipe, .is_admitted = true},
                                  {.recipe = *recipe, .is_admitted = true}};
    const sattn_profile_entry entry = {.shape_class = job->shape_class,
                                       .usable = job->usable,
                                       .shape = job->shape.name,
                                       .is_complete = true,
                                       .n_tried = 2,
                                       .tried = tried,
                                       .taken = is_default ? 0 : 1};
    return sattn_profile_make(&entry, 1, "");
}

static bool make_candidate(const sattn_tune_job *job, const sattn_recipe *recipe, bool is_default,
                           sattn_tune_candidate *candidate)
{
    const char *const plan = sattn_recipe_plan(recipe);
    const sattn_kernel *const kernel = first_kernel(recipe);
    *candidate = (sattn_tune_candidate){
        .recipe = *recipe,
        .variant = {.op = sattn_bench_op_by_name(sattn_op_name(job->op)),
                    .needs = sattn_recipe_needs(recipe),
                    .phases = kernel->phases,
                    .tile_rows = kernel->tile_rows,
                    .isa = job->isa,
                    .plan = is_default || !*plan ? NULL : plan,
                    .note = kernel->note},
    };
    snprintf(candidate->variant.name, sizeof candidate->variant.name, "%s", kernel->name);
    candidate->profile = profile_of(job, recipe, is_default);
    return candidate->profile != NULL;
}

/* ---- the shape that is timed */

bool sattn_tune_open_workload(sattn_workload *workload, const sattn_bench_task *task,
                              const sattn_shape *shape, char *error, size_t error_size)
{
    const sattn_workload_request request = {.shape = shape,
                                            .data = sattn_data_default(shape),
                                            .tensors = task->tensors,
                                            .scores_in = task->scores_in,
                                            .spread = task->spread};
    return sattn_workload_open(workload, &request, error, error_size);
}

/* Interleaved tensors keep the strides of all heads. */
static bool open_timed(sattn_tune_field *field, char *error, size_t error_size)
{
    const sattn_tune_job *const job = field->job;
    const int64_t heads = sattn_tune_heads(job);
    const int64_t group = job->shape.n_q_heads / job->shape.n_kv_heads;
    sattn_shape shape = job->shape;
    if (!job->is_whole)
        shape.batch = 1;
    if (!shape.is_interleaved) {
        shape.n_kv_heads = heads;
        shape.n_q_heads = heads * group;
    }
    const long long part = heads * group, all = job->shape.batch * job->shape.n_q_heads;
    if (!job->is_whole && part != all)
        snprintf(field->part, sizeof field->part, "%lld of %lld heads", part, all);
    if (!sattn_tune_open_workload(&field->workload, job->task, &shape, error, error_size))
        return false;
    field->args = job->is_whole ? field->workload.args
                                : sattn_workload_part(&field->workload, heads, shape.n_q);
    return true;
}

/* Of all candidates: edges of smaller tiles are among the rows of the largest. */
static int64_t largest_tile(const sattn_tune_field *field)
{
    int64_t most = 1;
    for (size_t c = 0; c < field->count; ++c) {
        const sattn_recipe *const recipe = &field->list[c].recipe;
        for (int op = 0; op < SATTN_OP_COUNT; ++op)
            if (recipe->kernels[op] && recipe->kernels[op]->tile_rows > most)
                most = recipe->kernels[op]->tile_rows;
        if (recipe->rest_kernel && recipe->rest_kernel->tile_rows > most)
            most = recipe->rest_kernel->tile_rows;
    }
    return most;
}

bool sattn_tune_field_open(sattn_tune_field *field, const sattn_tune_job *job,
                           const sattn_recipe *recipes, size_t count, char *error,
                           size_t error_size)
{
    *field = (sattn_tune_field){.job = job, .time = sattn_tune_time_calls};
    field->list = calloc(count ? count : 1, sizeof *field->list);
    bool good = field->list != NULL;
    for (; good && field->count < count; ++field->count)
        good = make_candidate(job, &recipes[field->count], field->count == 0,
                              &field->list[field->count]);
    if (!good) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    field->tile_rows = largest_tile(field);
    return open_timed(field, error, error_size);
}

void sattn_tune_field_close(sattn_tune_field *field)
{
    for (size_t c = 0; c < field->count; ++c) {
        sattn_bench_call_close(&field->list[c].call);
        sattn_profile_destroy(field->list[c].profile);
    }
    free(field->list);
    sattn_workload_close(&field->workload);
    for (int shape = 0; shape < SATTN_TUNE_VERIFIED; ++shape)
        sattn_answers_free(&field->answers[shape]);
    *field = (sattn_tune_field){0};
}
