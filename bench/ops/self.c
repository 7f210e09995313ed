/* SPDX-License-Identifier: MIT
 *
 * self.c: a self-attention layer by sattn_self_attention: of a workload q are the inputs, o is the
 * output; the four weights are one tensor, without biases. It is verified by its parts, each by a
 * call of its own: rows of every map, and the attention between them; the layer's output is to be
 * the bits of theirs. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/layers.h"
#include "bench/verify/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPS = 4 }; /* of queries, keys, values and outputs */

static sattn_work work(const sattn_attention_args *args)
{
    const double n = (double)args->n_q, d = (double)args->d, weights = (double)MAPS * d * d;
    return (sattn_work){.flops = 2 * n * weights + 4 * d * sattn_visible_pairs(args),
                        .bytes = (weights + 2 * n * d) * sizeof(float)};
}

static sattn_self_attention_args layer_of(const sattn_bench_call *call)
{
    const sattn_attention_args *const a = &call->args;
    return (sattn_self_attention_args){.batch = 1,
                                       .n_k = a->n_q,
                                       .n_heads = call->workload->shape.n_heads,
                                       .x = a->q,
                                       .y = a->o,
                                       .w_q = sattn_workload_matrix(call->workload, 0),
                                       .w_k = sattn_workload_matrix(call->workload, 1),
                                       .w_v = sattn_workload_matrix(call->workload, 2),
                                       .w_o = sattn_workload_matrix(call->workload, 3),
                                       .causal = a->causal};
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_self_attention_args args = layer_of(call);
    if (sattn_self_attention_workspace_size(&args, &call->options, &call->workspace_size) ==
        SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_self_attention_args args = layer_of(call);
    return sattn_self_attention(&args, &call->options);
}

/* ---- verification */

static const sattn_bench_call *verified; /* `verify` is told of nothing but arguments */

static void note(const sattn_bench_call *call)
{
    verified = call;
}

/* The maps and the attention, one call after the other, into memory of their own. */
typedef struct layer_parts {
    const sattn_bench_call *call;
    sattn_options options; /* without the call's workspace */
    float *made[MAPS + 1]; /* Q, K, V, the heads' outputs, and their map: [n, d] each */
    sattn_verify_result *result;
} layer_parts;

static sattn_status run_map(const layer_parts *parts, int map, const float *x, float *y)
{
    const int64_t d = parts->call->args.d;
    const sattn_linear_weights weights = sattn_workload_matrix(parts->call->workload, map);
    const sattn_linear_rows rows = {.n_rows = parts->call->args.n_q,
                                    .x = {.data = x, .stride_t = d},
                                    .y = {.data = y, .stride_t = d}};
    const sattn_status status = sattn_linear(&weights, &rows, &parts->options);
    const int64_t last = rows.n_rows - 1, sampled[] = {0, last / 2, last};
    for (size_t s = 0; status == SATTN_OK && s < sizeof sampled / sizeof sampled[0]; ++s) {
        const sattn_verify_map row = {
            .x = x + sampled[s] * d, .w = weights.w.data, .w_stride = d, .n_in = d, .n_out = d};
        sattn_verify_map_row(&row, y + sampled[s] * d, (sattn_verify_place){.row = sampled[s]},
                             parts->result);
    }
    return status;
}

/* Heads are slices of the features. */
static sattn_status run_attention(const layer_parts *parts, const sattn_variant *variant,
                                  const char **why)
{
    const sattn_attention_args *const a = &parts->call->args;
    const int64_t n_heads = parts->call->workload->shape.n_heads, width = a->d / n_heads;
    const sattn_view q = {
        .data = parts->made[0], .stride_b = a->n_q * a->d, .stride_h = width, .stride_t = a->d};
    sattn_view k = q, v = q;
    k.data = parts->made[1];
    v.data = parts->made[2];
    const sattn_attention_args args = {
        .batch = 1,
        .n_q_heads = n_heads,
        .n_kv_heads = n_heads,
        .n_q = a->n_q,
        .n_k = a->n_q,
        .d = width,
        .d_v = width,
        .q = q,
        .k = k,
        .v = v,
        .o = {parts->made[3], SATTN_F32, q.stride_b, q.stride_h, q.stride_t},
        .causal = a->causal};
    const sattn_status status = sattn_attention(&args, &parts->options);
    return status == SATTN_OK ? sattn_attention_verify(&args, variant, parts->result, why) : status;
}

static sattn_status run_parts(const layer_parts *parts, const sattn_variant *variant,
                              const char **why)
{
    const float *const x = parts->call->args.q.data;
    sattn_status status = SATTN_OK;
    for (int map = 0; status == SATTN_OK && map < MAPS - 1; ++map)
        status = run_map(parts, map, x, parts->made[map]);
    if (status == SATTN_OK)
        status = run_attention(parts, variant, why);
    return status == SATTN_OK ? run_map(parts, MAPS - 1, parts->made[3], parts->made[4]) : status;
}

/* Of another library nothing is known but its output. */
static bool check_rows(const sattn_attention_args *args, sattn_verify_result *result)
{
    const sattn_verify_layer layer = {.n_q = args->n_q,
                                      .n_k = args->n_q,
                                      .d = args->d,
                                      .n_heads = verified->workload->shape.n_heads,
                                      .causal = args->causal,
                                      .q = args->q.data,
                                      .x = args->q.data,
                                      .w_q = sattn_workload_matrix(verified->workload, 0).w.data,
                                      .w_k = sattn_workload_matrix(verified->workload, 1).w.data,
                                      .w_v = sattn_workload_matrix(verified->workload, 2).w.data,
                                      .w_o = sattn_workload_matrix(verified->workload, 3).w.data};
    return sattn_verify_layer_rows(&layer, args->o.data, result);
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    const int64_t n = args->n_q * args->d;
    if (variant->peer) {
        *why = "verify: no memory";
        sattn_sample_scan_outputs(args, result);
        return check_rows(args, result) ? SATTN_OK : SATTN_ERR_MEMORY;
    }
    layer_parts parts = {.call = verified, .options = verified->options, .result = result};
    float *const memory = malloc((MAPS + 1) * (size_t)n * sizeof *memory);
    *why = "verify: a part of the layer was refused, or no memory";
    if (!memory)
        return SATTN_ERR_MEMORY;
    parts.options.workspace = NULL;
    parts.options.workspace_size = 0;
    for (int made = 0; made <= MAPS; ++made)
        parts.made[made] = memory + made * n;
    const sattn_status status = run_parts(&parts, variant, why);
    result->n_scanned += n;
    if (status == SATTN_OK &&
        memcmp(parts.made[MAPS], args->o.data, (size_t)n * sizeof *memory) != 0) {
        ++result->n_failed;
        result->failed_why = "the layer is not the bits of its parts";
    }
    free(memory);
    return status;
}

const sattn_bench_task sattn_task_self = {
    .takes = SATTN_SHAPE_SELF,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_O | SATTN_TENSOR_WEIGHTS,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_WEIGHTS,
    .is_layer = true,
    .error_unit = "that of linear, and of fused; of peers u",
    .work = work,
    .open = open_call,
    .run = run,
    .note = note,
    .verify = verify,
};
