/* SPDX-License-Identifier: MIT
 *
 * additive.c: S_ij = v . tanh(q_i + k_j) by sattn_additive. What it counts are the tanhs: a loop of
 * exps is what they are compared with, and with few queries one that reads K. */
#include "bench/bench/bench_call.h"
#include "bench/ops/layer_args.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

#include <stdio.h>

static sattn_work work(const sattn_attention_args *args)
{
    const double batch = (double)args->batch, d = (double)args->d;
    const double n_q = (double)args->n_q, n_k = (double)args->n_k;
    const double k_bytes = batch * n_k * d * sizeof(float);
    return (sattn_work){.elements = batch * n_q * n_k * d,
                        .bytes = k_bytes + batch * n_q * (d + n_k) * sizeof(float),
                        .kv_bytes = k_bytes};
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_alignment_args args = sattn_layer_alignment(&call->args);
    if (sattn_additive_workspace_size(&args, &call->options, &call->workspace_size) == SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_alignment_args args = sattn_layer_alignment(&call->args);
    return sattn_additive(&args, &call->options);
}

/* Of the kernel that is being verified: what compares a row is told of nothing but the call. */
static double tanh_ulp;

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const sattn_verify_alignments row = {.q = sattn_sample_view(&args->q, at.batch, 0, at.row),
                                         .k = sattn_sample_view(&args->k, at.batch, 0, 0),
                                         .v = args->v.data,
                                         .k_stride = args->k.stride_t,
                                         .d = args->d,
                                         .n = args->n_k,
                                         .tanh_ulp = tanh_ulp};
    sattn_verify_alignments_row(&row, sattn_sample_scores(args, at), at, result);
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    tanh_ulp = sattn_kernel_stated_ulp(sattn_kernel_by_name(variant->name));
    if (!(tanh_ulp > 0)) {
        *why = "the note of its registry row states no error of tanh in ULP";
        return SATTN_ERR_UNSUPPORTED;
    }
    if (!sattn_sample_variant(args, variant, compare, result)) {
        *why = "verify: no memory";
        return SATTN_ERR_MEMORY;
    }
    sattn_sample_scan_scores(args, result);
    return SATTN_OK;
}

const sattn_bench_task sattn_task_additive = {
    .takes = SATTN_SHAPE_ALIGNMENT,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_SCORES,
    .output = SATTN_TENSOR_SCORES,
    .compute = SATTN_LIMIT_EXP,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K,
    .error_unit = "u sum |v tanh|",
    .work = work,
    .open = open_call,
    .run = run,
    .verify = verify,
};
