/* SPDX-License-Identifier: MIT
 *
 * general.c: a general attention layer by sattn_general_attention, with one alignment or another on
 * the same tensors. Of a workload q are the queries, k are the inputs, o is the output; its weights
 * are W, U and v, of which a bilinear alignment takes U for its W. All alignments are counted
 * alike, as a dot product's scores and the sums behind them, so that their rates compare as their
 * times do: what maps and tanhs add is not counted as work. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/layers.h"

#include <stdio.h>

static sattn_work work(const sattn_attention_args *args)
{
    const double d = (double)args->d, n_q = (double)args->n_q, n_k = (double)args->n_k;
    return (sattn_work){.flops = 4 * d * n_q * n_k,
                        .bytes = (n_k + 2 * n_q) * d * sizeof(float),
                        .kv_bytes = n_k * d * sizeof(float)};
}

/* Matrix 0 is W, 1 is U; behind them lies v. */
static const float *weights_at(const sattn_bench_call *call, int number)
{
    return sattn_workload_matrix(call->workload, number).w.data;
}

static sattn_general_attention_args layer_of(const sattn_bench_call *call)
{
    const sattn_attention_args *const a = &call->args;
    sattn_general_attention_args args = {.batch = 1,
                                         .n_q = a->n_q,
                                         .n_k = a->n_k,
                                         .d_q = a->d,
                                         .d_x = a->d,
                                         .q = a->q,
                                         .x = a->k,
                                         .y = a->o,
                                         .align = call->variant->align};
    if (args.align == SATTN_ALIGN_ADDITIVE) {
        args.w_q = sattn_workload_matrix(call->workload, 0);
        args.v = weights_at(call, 2);
    }
    if (args.align == SATTN_ALIGN_ADDITIVE || args.align == SATTN_ALIGN_BILINEAR)
        args.w_x = sattn_workload_matrix(call->workload, 1);
    return args;
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_general_attention_args args = layer_of(call);
    if (sattn_general_attention_workspace_size(&args, &call->options, &call->workspace_size) ==
        SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_general_attention_args args = layer_of(call);
    return sattn_general_attention(&args, &call->options);
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
    sattn_verify_layer layer = {.n_q = args->n_q,
                                .n_k = args->n_k,
                                .d = args->d,
                                .n_heads = 1,
                                .q = args->q.data,
                                .x = args->k.data};
    if (variant->align == SATTN_ALIGN_ADDITIVE) {
        layer.w_q = weights_at(verified, 0);
        layer.v = weights_at(verified, 2);
    }
    if (variant->align != SATTN_ALIGN_SCALED_DOT) {
        layer.w_k = weights_at(verified, 1);
        layer.scale = 1;
    }
    *why = "verify: no memory";
    sattn_sample_scan_outputs(args, result);
    return sattn_verify_layer_rows(&layer, args->o.data, result) ? SATTN_OK : SATTN_ERR_MEMORY;
}

const sattn_bench_task sattn_task_general = {
    .takes = SATTN_SHAPE_GENERAL,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_O | SATTN_TENSOR_WEIGHTS,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K,
    .is_layer = true,
    .error_unit = "u",
    .work = work,
    .open = open_call,
    .run = run,
    .note = note,
    .verify = verify,
};
