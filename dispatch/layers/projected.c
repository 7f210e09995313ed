/* SPDX-License-Identifier: MIT
 *
 * projected.c: see projected.h. Q, K, V and the heads' outputs lie in the workspace as
 * [batch, rows, features]; a head is a slice of their features, so that nothing is moved between
 * the maps (`linear`) and the attention (`fused`, or qk, softmax and av where weights are
 * returned). */
#include "dispatch/layers/projected.h"

#include "dispatch/error.h"

#include <inttypes.h>
#include <string.h>

enum { TENSORS = 5 + SATTN_MAPS * SATTN_LINEAR_TENSORS };

static const sattn_linear_names names[SATTN_MAPS] = {[SATTN_MAP_Q] = SATTN_LINEAR_NAMES("w_q"),
                                                     [SATTN_MAP_K] = SATTN_LINEAR_NAMES("w_k"),
                                                     [SATTN_MAP_V] = SATTN_LINEAR_NAMES("w_v"),
                                                     [SATTN_MAP_O] = SATTN_LINEAR_NAMES("w_o")};

typedef struct projected_plan {
    const sattn_projected *layer;
    sattn_projection maps[SATTN_MAPS];
    sattn_plan attention;
    bool has_offsets;      /* of the causal limit, which would else depend on n_k_valid */
    size_t at[SATTN_MAPS]; /* of Q, K, V and the heads' outputs, in the workspace, bytes */
    size_t offsets_at, shared_at, size;
} projected_plan;

static int64_t rows_of(const sattn_projected *layer, sattn_map map)
{
    return map == SATTN_MAP_Q || map == SATTN_MAP_O ? layer->n_q : layer->n_k;
}

/* ---- checks */

static sattn_status check_heads(const char *name, int64_t features, int64_t n_heads)
{
    if (features % n_heads == 0)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_ARGUMENT,
                      "n_heads = %" PRId64 ": expected a divisor of %s = %" PRId64, n_heads, name,
                      features);
}

static sattn_status check_extents(const sattn_projected *layer)
{
    const sattn_extent extents[] = {{"batch", layer->batch, 0},
                                    {"n_q", layer->n_q, 0},
                                    {"n_k", layer->n_k, 0},
                                    {"n_heads", layer->n_heads, 1}};
    sattn_status status = sattn_extents_check(extents, sizeof extents / sizeof extents[0]);
    for (int map = 0; status == SATTN_OK && map < SATTN_MAPS; ++map)
        if (layer->w[map])
            status = sattn_linear_check_shape(layer->w[map], &names[map],
                                              rows_of(layer, (sattn_map)map));
    return status;
}

static sattn_status check_maps(const sattn_projected *layer)
{
    const sattn_linear_weights *const q = layer->w[SATTN_MAP_Q], *const k = layer->w[SATTN_MAP_K],
                                      *const v = layer->w[SATTN_MAP_V],
                                      *const o = layer->w[SATTN_MAP_O];
    sattn_status status = sattn_layer_check_equal("w_v.n_in", v->n_in, "w_k.n_in", k->n_in);
    if (status == SATTN_OK && q)
        status = sattn_layer_check_equal("w_q.n_in", q->n_in, "w_k.n_in", k->n_in);
    if (status == SATTN_OK && q)
        status = sattn_layer_check_equal("w_q.n_out", q->n_out, "w_k.n_out", k->n_out);
    if (status == SATTN_OK && o)
        status = sattn_layer_check_equal("w_o.n_in", o->n_in, "w_v.n_out", v->n_out);
    if (status == SATTN_OK)
        status = check_heads("w_k.n_out", k->n_out, layer->n_heads);
    return status == SATTN_OK ? check_heads("w_v.n_out", v->n_out, layer->n_heads) : status;
}

/* All but the weights of maps. */
static int tensors_of(const sattn_projected *layer, sattn_tensor tensors[TENSORS])
{
    const sattn_linear_weights *const o = layer->w[SATTN_MAP_O];
    int n = 0;
    if (!layer->w[SATTN_MAP_Q])
        tensors[n++] = sattn_tensor_read("q", "q.data", &layer->q, layer->batch, layer->n_q,
                                         layer->w[SATTN_MAP_K]->n_out);
    tensors[n++] = sattn_tensor_read("x", "x.data", &layer->x, layer->batch, layer->n_k,
                                     layer->w[SATTN_MAP_K]->n_in);
    tensors[n++] = sattn_tensor_written("y", "y.data", &layer->y, layer->batch, layer->n_q,
                                        o ? o->n_out : layer->w[SATTN_MAP_V]->n_out);
    if (layer->weights.data) {
        tensors[n] = sattn_tensor_written("weights", "weights.data", &layer->weights, layer->batch,
                                          layer->n_q, layer->n_k);
        tensors[n].operand.heads = layer->n_heads;
        tensors[n++].operand.stride_h = layer->weights.stride_h;
    }
    if (layer->n_k_valid)
        tensors[n++] =
            sattn_tensor_array("n_k_valid", layer->n_k_valid, layer->batch, sizeof(int64_t));
    return n;
}

static sattn_status check_shape(const sattn_projected *layer)
{
    sattn_tensor tensors[TENSORS];
    sattn_status status = check_extents(layer);
    if (status == SATTN_OK)
        status = check_maps(layer);
    return status == SATTN_OK ? sattn_tensors_check_shapes(tensors, tensors_of(layer, tensors))
                              : status;
}

static sattn_status check_data(const projected_plan *plan, const sattn_workspace *used)
{
    const sattn_projected *const layer = plan->layer;
    sattn_tensor tensors[TENSORS];
    int n = tensors_of(layer, tensors);
    for (int map = 0; map < SATTN_MAPS; ++map)
        if (layer->w[map])
            n += sattn_linear_tensors_of(layer->w[map], &names[map],
                                         plan->maps[map].linear.packed_size, tensors + n);
    const sattn_status status = sattn_tensors_check_data(tensors, n, used);
    return status == SATTN_OK ? sattn_lengths_check(layer->n_k_valid, layer->batch, layer->n_k)
                              : status;
}

/* ---- the parts; `workspace` is NULL while they are planned */

/* Q, K, V or the heads' outputs, with the step from head to head. */
static sattn_mut_view made_by(const projected_plan *plan, sattn_map map, unsigned char *workspace)
{
    const sattn_projected *const layer = plan->layer;
    const sattn_linear_weights *const w = layer->w[map];
    const int64_t features = map == SATTN_MAP_O ? w->n_in : w->n_out;
    sattn_mut_view made =
        sattn_dense_written(sattn_room_at(workspace, plan->at[map]), rows_of(layer, map), features);
    made.stride_h = features / layer->n_heads;
    return made;
}

static sattn_view as_read(sattn_mut_view view)
{
    return (sattn_view){.data = view.data,
                        .stride_b = view.stride_b,
                        .stride_h = view.stride_h,
                        .stride_t = view.stride_t};
}

static sattn_attention_args attention_of(const projected_plan *plan, unsigned char *workspace)
{
    const sattn_projected *const layer = plan->layer;
    return (sattn_attention_args){
        .batch = layer->batch,
        .n_q_heads = layer->n_heads,
        .n_kv_heads = layer->n_heads,
        .n_q = layer->n_q,
        .n_k = layer->n_k,
        .d = layer->w[SATTN_MAP_K]->n_out / layer->n_heads,
        .d_v = layer->w[SATTN_MAP_V]->n_out / layer->n_heads,
        .q = layer->w[SATTN_MAP_Q] ? as_read(made_by(plan, SATTN_MAP_Q, workspace)) : layer->q,
        .k = as_read(made_by(plan, SATTN_MAP_K, workspace)),
        .v = as_read(made_by(plan, SATTN_MAP_V, workspace)),
        .o = layer->w[SATTN_MAP_O] ? made_by(plan, SATTN_MAP_O, workspace) : layer->y,
        .causal = layer->causal,
        .n_k_valid = layer->n_k_valid,
        .scores = layer->weights.data,
        .scores_stage = SATTN_SCORES_PROBABILITIES,
        .scores_stride_b = layer->weights.stride_b,
        .scores_stride_h = layer->weights.stride_h,
        .scores_stride_t = layer->weights.stride_t};
}

/* ---- the plan */

static sattn_status plan_map(projected_plan *plan, sattn_map map, sattn_room *room,
                             const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_projected *const layer = plan->layer;
    const sattn_linear_weights *const w = layer->w[map];
    const int64_t rows = rows_of(layer, map);
    if (!w)
        return SATTN_OK;
    plan->at[map] = sattn_room_take(room, sattn_layer_product(layer->batch, rows),
                                    map == SATTN_MAP_O ? w->n_in : w->n_out, sizeof(float));
    const sattn_mut_view made = made_by(plan, map, NULL);
    const sattn_view heads = as_read(made);
    const sattn_status status =
        sattn_projection_make(&plan->maps[map], w, &names[map], layer->batch, rows,
                              map == SATTN_MAP_O ? &heads : &layer->x,
                              map == SATTN_MAP_O ? &layer->y : &made, overrides, options);
    if (status == SATTN_OK)
        sattn_room_share(room, sattn_linear_plan_size(&plan->maps[map].linear));
    return status;
}

static sattn_status make(projected_plan *plan, const sattn_projected *layer,
                         const sattn_options *options)
{
    static const int64_t present = 0;
    const sattn_options inner = sattn_layer_options(options);
    sattn_overrides overrides;
    sattn_room room = {0};
    sattn_status status = check_shape(layer);
    if (status == SATTN_OK)
        status = sattn_layer_check_options(options, &layer->weights);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    plan->layer = layer;
    plan->has_offsets = layer->causal && layer->n_k_valid;
    for (int map = 0; status == SATTN_OK && map < SATTN_MAPS; ++map)
        status = plan_map(plan, (sattn_map)map, &room, &overrides, &inner);
    if (status == SATTN_OK && plan->has_offsets)
        plan->offsets_at = sattn_room_take(&room, layer->batch, 1, sizeof(int64_t));
    if (status == SATTN_OK)
        status = sattn_room_check(&room);
    if (status != SATTN_OK)
        return status;
    sattn_attention_args attention = attention_of(plan, NULL);
    attention.causal_offset = plan->has_offsets ? &present : NULL;
    status = sattn_plan_make_attention(&plan->attention, &attention, &inner);
    if (status != SATTN_OK)
        return status;
    sattn_room_share(&room, plan->attention.layout.size);
    return sattn_room_close(&room, &plan->shared_at, &plan->size);
}

/* ---- the run */

static void map_inputs(const projected_plan *plan, sattn_map map, unsigned char *workspace)
{
    sattn_projection_run(&plan->maps[map], plan->layer->x.data, workspace + plan->at[map],
                         workspace + plan->shared_at);
}

static void run_in(void *context, unsigned char *workspace)
{
    const projected_plan *const plan = context;
    const sattn_projected *const layer = plan->layer;
    unsigned char *const shared = workspace + plan->shared_at;
    if (layer->w[SATTN_MAP_Q])
        map_inputs(plan, SATTN_MAP_Q, workspace);
    map_inputs(plan, SATTN_MAP_K, workspace);
    map_inputs(plan, SATTN_MAP_V, workspace);
    sattn_attention_args attention = attention_of(plan, workspace);
    if (plan->has_offsets) {
        attention.causal_offset = sattn_room_at(workspace, plan->offsets_at);
        memset(workspace + plan->offsets_at, 0, (size_t)layer->batch * sizeof(int64_t));
    }
    sattn_plan_execute(&plan->attention, &attention, false, shared);
    if (layer->w[SATTN_MAP_O])
        sattn_projection_run(&plan->maps[SATTN_MAP_O], workspace + plan->at[SATTN_MAP_O],
                             layer->y.data, shared);
}

sattn_status sattn_projected_run(const sattn_projected *layer, const sattn_options *options)
{
    projected_plan plan;
    sattn_status status = make(&plan, layer, options);
    if (status != SATTN_OK || layer->batch == 0 || layer->n_q == 0)
        return status;
    const sattn_workspace used = sattn_workspace_of(options, plan.size);
    status = check_data(&plan, &used);
    return status == SATTN_OK ? sattn_with_workspace(&used, plan.size, run_in, &plan) : status;
}

sattn_status sattn_projected_workspace_size(const sattn_projected *layer,
                                            const sattn_options *options, size_t *size)
{
    projected_plan plan;
    const sattn_status status = make(&plan, layer, options);
    if (status == SATTN_OK)
        *size = plan.size;
    return status;
}
