/* SPDX-License-Identifier: MIT
 *
 * attend.c: an attention layer with keys and values of their own by sattn_attention_layer. Of a
 * workload q are the queries, k are the inputs, o is the output; its weights are those of the keys
 * and of the values, without biases. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/layers.h"

#include <stdio.h>

static sattn_work work(const sattn_attention_args *args)
{
    const double d = (double)args->d, n_q = (double)args->n_q, n_k = (double)args->n_k;
    const double weights = 2 * d * d;
    return (sattn_work){.flops = 2 * n_k * weights + 4 * d * n_q * n_k,
                        .bytes = (weights + (n_k + 2 * n_q) * d) * sizeof(float),
                        .kv_bytes = n_k * d * sizeof(float)};
}

/* Matrix 0 makes keys, 1 makes values. */
static sattn_attention_layer_args layer_of(const sattn_bench_call *call)
{
    const sattn_attention_args *const a = &call->args;
    return (sattn_attention_layer_args){.batch = 1,
                                        .n_q = a->n_q,
                                        .n_k = a->n_k,
                                        .q = a->q,
                                        .x = a->k,
                                        .y = a->o,
                                        .w_k = sattn_workload_matrix(call->workload, 0),
                                        .w_v = sattn_workload_matrix(call->workload, 1)};
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_attention_layer_args args = layer_of(call);
    if (sattn_attention_layer_workspace_size(&args, &call->options, &call->workspace_size) ==
        SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_attention_layer_args args = layer_of(call);
    return sattn_attention_layer(&args, &call->options);
}

/* ---- verification */

static const sattn_bench_call *verified; /* `verify` is told of nothing but arguments */

static void note(const sattn_bench_call *call)
{
    verified = call;
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    (void)variant;
    const sattn_verify_layer layer = {.n_q = args->n_q,
                                      .n_k = args->n_k,
                                      .d = args->d,
                                      .n_heads = 1,
                                      .q = args->q.data,
                                      .x = args->k.data,
                                      .w_k = sattn_workload_matrix(verified->workload, 0).w.data,
                                      .w_v = sattn_workload_matrix(verified->workload, 1).w.data};
    *why = "verify: no memory";
    sattn_sample_scan_outputs(args, result);
    return sattn_verify_layer_rows(&layer, args->o.data, result) ? SATTN_OK : SATTN_ERR_MEMORY;
}

const sattn_bench_task sattn_task_attend = {
    .takes = SATTN_SHAPE_ATTEND,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_O | SATTN_TENSOR_WEIGHTS,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K | SATTN_TENSOR_WEIGHTS,
    .is_layer = true,
    .error_unit = "u",
    .work = work,
    .open = open_call,
    .run = run,
    .note = note,
    .verify = verify,
};
