/* SPDX-License-Identifier: MIT
 *
 * qk.c: S = (scale * Q) K^T by sattn_qk. Every pair of a query and a key that exists is counted,
 * visible or not, since each gets its score. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

#include <math.h>

static sattn_work work(const sattn_attention_args *args)
{
    const double pairs = sattn_existing_pairs(args);
    const double queries = (double)args->batch * (double)args->n_q_heads * (double)args->n_q;
    const double k_bytes = sattn_existing_keys(args) * (double)args->d * sizeof(float);
    return (sattn_work){.flops = 2 * (double)args->d * pairs,
                        .bytes = k_bytes + (queries * (double)args->d + pairs) * sizeof(float),
                        .kv_bytes = k_bytes};
}

static bool open_step(sattn_bench_call *call, char *why, size_t why_size)
{
    return sattn_bench_call_open_step(call, SATTN_STEP_QK, why, why_size);
}

static sattn_status run(sattn_bench_call *call)
{
    return sattn_qk(&call->args, &call->options);
}

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const int64_t kv_head = sattn_sample_kv_head(args, at.head);
    const sattn_verify_scores row = {
        .q = sattn_sample_view(&args->q, at.batch, at.head, at.row),
        .k = sattn_sample_view(&args->k, at.batch, kv_head, 0),
        .k_stride = args->k.stride_t,
        .d = args->d,
        .n = sattn_sample_keys(args, at.batch),
        .scale = args->has_scale ? args->scale : (float)(1.0 / sqrt((double)args->d)),
        .softcap = args->softcap,
    };
    sattn_verify_scores_row(&row, sattn_sample_scores(args, at), at, result);
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

const sattn_bench_task sattn_task_qk = {
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_SCORES,
    .output = SATTN_TENSOR_SCORES,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K,
    .error_unit = "u sum |q k|",
    .work = work,
    .open = open_step,
    .run = run,
    .verify = verify,
};
