/* SPDX-License-Identifier: MIT
 *
 * linear.c: Y = X W^T by sattn_linear, without a bias, whose cost does not show. Weights of shapes
 * that say so are packed before the first call, as a layer does once. */
#include "bench/bench/bench_call.h"
#include "bench/ops/layer_args.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

#include <stdio.h>
#include <stdlib.h>

static sattn_work work(const sattn_attention_args *args)
{
    const double n_in = (double)args->d, n_out = (double)args->n_k, n_rows = (double)args->n_q;
    const double w_bytes = n_in * n_out * sizeof(float);
    return (sattn_work){.flops = 2 * n_rows * n_in * n_out,
                        .bytes = w_bytes + n_rows * (n_in + n_out) * sizeof(float),
                        .kv_bytes = w_bytes};
}

static bool refused(char *why, size_t why_size)
{
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

/* The packed weights of every set, one behind the other. */
static bool pack(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_workload *const w = call->workload;
    sattn_attention_args args = call->args;
    sattn_linear_weights weights = sattn_layer_weights(&args);
    size_t size;
    if (sattn_linear_pack_size(&weights, args.n_q, &call->options, &size) != SATTN_OK)
        return refused(why, why_size);
    call->packed_size = (size + 63) / 64 * 64;
    call->packed = aligned_alloc(64, call->packed_size * (size_t)w->n_sets);
    if (!call->packed) {
        snprintf(why, why_size, "out of memory for packed weights");
        return false;
    }
    for (int64_t set = 0; set < w->n_sets; ++set) {
        sattn_workload_place(w, set, &args);
        weights = sattn_layer_weights(&args);
        if (sattn_linear_pack(&weights, args.n_q, &call->options,
                              call->packed + (size_t)set * call->packed_size,
                              call->packed_size) != SATTN_OK)
            return refused(why, why_size);
    }
    return true;
}

/* Of the set that the call is on. */
static sattn_linear_weights weights_of(const sattn_bench_call *call)
{
    sattn_linear_weights weights = sattn_layer_weights(&call->args);
    if (call->packed) {
        const char *const first = call->workload->args.k.data;
        const size_t set =
            (size_t)((const char *)weights.w.data - first) / call->workload->set_bytes;
        weights.packed = call->packed + set * call->packed_size;
    }
    return weights;
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    if (call->workload->shape.is_packed && !pack(call, why, why_size))
        return false;
    const sattn_linear_weights weights = weights_of(call);
    return sattn_linear_workspace_size(&weights, call->args.n_q, &call->options,
                                       &call->workspace_size) == SATTN_OK ||
           refused(why, why_size);
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_linear_weights weights = weights_of(call);
    const sattn_linear_rows rows = sattn_layer_rows(&call->args);
    return sattn_linear(&weights, &rows, &call->options);
}

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const sattn_verify_map row = {.x = sattn_sample_view(&args->q, at.batch, 0, at.row),
                                  .w = args->k.data,
                                  .w_stride = args->k.stride_t,
                                  .n_in = args->d,
                                  .n_out = args->n_k};
    sattn_verify_map_row(&row, sattn_sample_scores(args, at), at, result);
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    if (!sattn_sample_variant(args, variant, compare, result)) {
        *why = "verify: no memory";
        return SATTN_ERR_MEMORY;
    }
    sattn_sample_scan_scores(args, result);
    return SATTN_OK;
}

const sattn_bench_task sattn_task_linear = {
    .takes = SATTN_SHAPE_MAP,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_SCORES,
    .output = SATTN_TENSOR_SCORES,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K,
    .error_unit = "u sum |w x|",
    .work = work,
    .open = open_call,
    .run = run,
    .verify = verify,
};
