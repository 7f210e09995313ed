/* SPDX-License-Identifier: MIT
 *
 * general.c: sattn_general_attention. With dot products it is an attention whose keys and values
 * are the inputs. So it is with the bilinear alignment, once W has been applied to one side:
 * q^T (W x) by `linear`, or (q^T W) x by `av`, which sums the rows of W, weighed by the features of
 * q, and so needs no W in another order. The additive alignment is two maps by `linear`, scores by
 * `additive`, then softmax and av. */
#include "dispatch/layers/general.h"

#include "dispatch/error.h"

/* ---- the parts; `workspace` is NULL while they are planned */

static sattn_view queries_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    const int64_t d = plan->maps_queries ? a->w_q.n_out : a->d_x;
    return plan->maps_queries || plan->sums_rows
               ? sattn_dense_read(sattn_room_at(workspace, plan->queries_at), a->n_q, d)
               : a->q;
}

static sattn_view inputs_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    return plan->maps_inputs
               ? sattn_dense_read(sattn_room_at(workspace, plan->inputs_at), a->n_k, a->w_x.n_out)
               : a->x;
}

/* q^T W: for each query the sum of the rows of W, its features being their weights. A batch entry
 * reads all of W, so that queries of all entries are one where they can be. */
static sattn_attention_args row_sums_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    const bool is_one = sattn_is_one_run(a->batch, a->n_q, a->q.stride_b, a->q.stride_t);
    return (sattn_attention_args){
        .batch = is_one ? 1 : a->batch,
        .n_q_heads = 1,
        .n_kv_heads = 1,
        .n_q = is_one ? a->batch * a->n_q : a->n_q,
        .n_k = a->d_q,
        .d_v = a->d_x,
        .v = {.data = a->w_x.w.data, .stride_t = a->w_x.w.stride_t},
        .o = sattn_dense_written(sattn_room_at(workspace, plan->queries_at), a->n_q, a->d_x),
        .scores_in = a->q.data,
        .scores_in_stride_b = a->q.stride_b,
        .scores_in_stride_t = a->n_q == 1 ? a->q.stride_b : a->q.stride_t};
}

static sattn_attention_args attention_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    return (sattn_attention_args){.batch = a->batch,
                                  .n_q_heads = 1,
                                  .n_kv_heads = 1,
                                  .n_q = a->n_q,
                                  .n_k = a->n_k,
                                  .d = plan->sums_rows ? a->d_x : a->d_q,
                                  .d_v = a->d_x,
                                  .q = queries_of(plan, workspace),
                                  .k = inputs_of(plan, workspace),
                                  .v = a->x,
                                  .o = a->y,
                                  .has_scale = a->align != SATTN_ALIGN_SCALED_DOT,
                                  .scale = 1.0f,
                                  .n_k_valid = a->n_k_valid,
                                  .scores = a->weights.data,
                                  .scores_stage = SATTN_SCORES_PROBABILITIES,
                                  .scores_stride_b = a->weights.stride_b,
                                  .scores_stride_t = a->weights.stride_t};
}

/* Additive scores lie where their weights shall, or else in the workspace. */
static sattn_mut_view scores_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    return a->weights.data
               ? a->weights
               : sattn_dense_written(sattn_room_at(workspace, plan->scores_at), a->n_q, a->n_k);
}

static sattn_alignment_args alignment_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    return (sattn_alignment_args){.batch = a->batch,
                                  .n_q = a->n_q,
                                  .n_k = a->n_k,
                                  .d = a->w_q.n_out,
                                  .q = queries_of(plan, workspace),
                                  .k = inputs_of(plan, workspace),
                                  .v = a->v,
                                  .scores = scores_of(plan, workspace),
                                  .n_k_valid = a->n_k_valid};
}

static sattn_weighing weighing_of(const sattn_general_plan *plan, unsigned char *workspace)
{
    const sattn_general_attention_args *const a = plan->args;
    return (sattn_weighing){.batch = a->batch,
                            .n_q = a->n_q,
                            .n_k = a->n_k,
                            .d_v = a->d_x,
                            .v = a->x,
                            .o = a->y,
                            .scores = scores_of(plan, workspace),
                            .n_k_valid = a->n_k_valid};
}

/* ---- the plan */

static sattn_status plan_queries(sattn_general_plan *plan, sattn_room *room,
                                 const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_general_attention_args *const a = plan->args;
    sattn_status status = SATTN_OK;
    if (plan->sums_rows) {
        plan->queries_at =
            sattn_room_take(room, sattn_layer_product(a->batch, a->n_q), a->d_x, sizeof(float));
        const sattn_attention_args sums = row_sums_of(plan, NULL);
        status = sattn_room_check(room);
        if (status == SATTN_OK)
            status = sattn_plan_make(&plan->row_sums, SATTN_COMPUTE_AV, &sums, options);
        sattn_room_share(room, status == SATTN_OK ? plan->row_sums.layout.size : 0);
    } else if (plan->maps_queries) {
        const sattn_mut_view to = sattn_dense_written(NULL, a->n_q, a->w_q.n_out);
        plan->queries_at = sattn_room_take(room, sattn_layer_product(a->batch, a->n_q),
                                           a->w_q.n_out, sizeof(float));
        status = sattn_projection_make(&plan->queries, &a->w_q, &sattn_general_names_q, a->batch,
                                       a->n_q, &a->q, &to, overrides, options);
        sattn_room_share(room,
                         status == SATTN_OK ? sattn_linear_plan_size(&plan->queries.linear) : 0);
    }
    return status;
}

static sattn_status plan_inputs(sattn_general_plan *plan, sattn_room *room,
                                const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_general_attention_args *const a = plan->args;
    if (!plan->maps_inputs)
        return SATTN_OK;
    const sattn_mut_view to = sattn_dense_written(NULL, a->n_k, a->w_x.n_out);
    plan->inputs_at =
        sattn_room_take(room, sattn_layer_product(a->batch, a->n_k), a->w_x.n_out, sizeof(float));
    const sattn_status status =
        sattn_projection_make(&plan->inputs, &a->w_x, &sattn_general_names_x, a->batch, a->n_k,
                              &a->x, &to, overrides, options);
    sattn_room_share(room, status == SATTN_OK ? sattn_linear_plan_size(&plan->inputs.linear) : 0);
    return status;
}

static sattn_status plan_attention(sattn_general_plan *plan, sattn_room *room,
                                   const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_general_attention_args *const a = plan->args;
    if (a->align != SATTN_ALIGN_ADDITIVE) {
        const sattn_attention_args attention = attention_of(plan, NULL);
        const sattn_status status =
            sattn_plan_make_attention(&plan->attention, &attention, options);
        sattn_room_share(room, status == SATTN_OK ? plan->attention.layout.size : 0);
        return status;
    }
    if (!a->weights.data)
        plan->scores_at =
            sattn_room_take(room, sattn_layer_product(a->batch, a->n_q), a->n_k, sizeof(float));
    const sattn_alignment_args alignment = alignment_of(plan, NULL);
    const sattn_weighing weighing = weighing_of(plan, NULL);
    sattn_status status = sattn_room_check(room);
    if (status == SATTN_OK)
        status = sattn_alignment_plan_make(&plan->alignment, &alignment, overrides, options);
    if (status == SATTN_OK)
        status = sattn_weighing_plan_make(&plan->weighing, &weighing, options);
    if (status != SATTN_OK)
        return status;
    sattn_room_share(room, sattn_alignment_plan_size(&plan->alignment));
    sattn_room_share(room, sattn_weighing_plan_size(&plan->weighing));
    return SATTN_OK;
}

static sattn_status make(sattn_general_plan *plan, const sattn_general_attention_args *args,
                         const sattn_options *options)
{
    const sattn_options inner = sattn_layer_options(options);
    sattn_overrides overrides;
    sattn_room room = {0};
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    sattn_status status = sattn_general_check_shape(args);
    if (status == SATTN_OK)
        status = sattn_layer_check_options(options, &args->weights);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    plan->args = args;
    plan->queries_at = plan->inputs_at = plan->scores_at = 0;
    plan->maps_queries = args->align == SATTN_ALIGN_ADDITIVE;
    plan->sums_rows = args->align == SATTN_ALIGN_BILINEAR && !args->w_x.packed &&
                      args->n_q < args->n_k; /* the cheaper side */
    plan->maps_inputs =
        plan->maps_queries || (args->align == SATTN_ALIGN_BILINEAR && !plan->sums_rows);
    status = plan_queries(plan, &room, &overrides, &inner);
    if (status == SATTN_OK)
        status = plan_inputs(plan, &room, &overrides, &inner);
    if (status == SATTN_OK)
        status = sattn_room_check(&room);
    if (status == SATTN_OK)
        status = plan_attention(plan, &room, &overrides, &inner);
    return status == SATTN_OK ? sattn_room_close(&room, &plan->shared_at, &plan->size) : status;
}

/* ---- the run */

static void run_in(void *context, unsigned char *workspace)
{
    const sattn_general_plan *const plan = context;
    const sattn_general_attention_args *const a = plan->args;
    unsigned char *const shared = workspace + plan->shared_at;
    if (plan->sums_rows) {
        const sattn_attention_args sums = row_sums_of(plan, workspace);
        sattn_plan_execute(&plan->row_sums, &sums, false, shared);
    }
    if (plan->maps_queries)
        sattn_projection_run(&plan->queries, a->q.data, workspace + plan->queries_at, shared);
    if (plan->maps_inputs)
        sattn_projection_run(&plan->inputs, a->x.data, workspace + plan->inputs_at, shared);
    if (a->align != SATTN_ALIGN_ADDITIVE) {
        const sattn_attention_args attention = attention_of(plan, workspace);
        sattn_plan_execute(&plan->attention, &attention, false, shared);
        return;
    }
    const sattn_alignment_args alignment = alignment_of(plan, workspace);
    const sattn_weighing weighing = weighing_of(plan, workspace);
    sattn_alignment_plan_run(&plan->alignment, &alignment, shared);
    sattn_weighing_run(&plan->weighing, &weighing, shared);
}

sattn_status sattn_general_attention(const sattn_general_attention_args *args,
                                     const sattn_options *options)
{
    sattn_general_plan plan;
    sattn_status status = make(&plan, args, options);
    if (status != SATTN_OK || args->batch == 0 || args->n_q == 0)
        return status;
    const sattn_workspace used = sattn_workspace_of(options, plan.size);
    status = sattn_general_check_data(&plan, &used);
    return status == SATTN_OK ? sattn_with_workspace(&used, plan.size, run_in, &plan) : status;
}

sattn_status sattn_general_attention_workspace_size(const sattn_general_attention_args *args,
                                                    const sattn_options *options, size_t *size)
{
    sattn_general_plan plan;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = make(&plan, args, options);
    if (status == SATTN_OK)
        *size = plan.size;
    return status;
}
