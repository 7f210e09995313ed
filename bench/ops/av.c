/* SPDX-License-Identifier: MIT
 *
 * av.c: O = P V over the visible keys by sattn_av, on weights that a softmax of the workload's own
 * scores left. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

static sattn_work work(const sattn_attention_args *args)
{
    const double pairs = sattn_visible_pairs(args);
    const double queries = (double)args->batch * (double)args->n_q_heads * (double)args->n_q;
    const double v_bytes = sattn_readable_keys(args) * (double)args->d_v * sizeof(float);
    return (sattn_work){.flops = 2 * (double)args->d_v * pairs,
                        .bytes = v_bytes + (queries * (double)args->d_v + pairs) * sizeof(float),
                        .kv_bytes = v_bytes};
}

static bool open_step(sattn_bench_call *call, char *why, size_t why_size)
{
    return sattn_bench_call_open_step(call, SATTN_STEP_AV, why, why_size);
}

static sattn_status run(sattn_bench_call *call)
{
    return sattn_av(&call->args, &call->options);
}

static const float *output_row(const sattn_attention_args *args, sattn_verify_place at)
{
    return (const float *)args->o.data + at.batch * args->o.stride_b + at.head * args->o.stride_h +
           at.row * args->o.stride_t;
}

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const sattn_visibility visible = sattn_sample_visibility(args, at.batch, at.head);
    const int64_t kv_head = sattn_sample_kv_head(args, at.head);
    const sattn_verify_outputs row = {
        .p = sattn_sample_scores_in(args, at),
        .v = sattn_sample_view(&args->v, at.batch, kv_head, 0),
        .v_stride = args->v.stride_t,
        .d_v = args->d_v,
        .visible = &visible,
        .i = at.row,
        .repaired = true,
    };
    sattn_verify_outputs_row(&row, output_row(args, at), at, result);
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    if (!sattn_sample_variant(args, variant, compare, result)) {
        *why = "verify: no memory";
        return SATTN_ERR_MEMORY;
    }
    sattn_verify_place at = {0};
    for (at.batch = 0; at.batch < args->batch; ++at.batch)
        for (at.head = 0; at.head < args->n_q_heads; ++at.head)
            for (at.row = 0; at.row < args->n_q; ++at.row)
                sattn_sample_scan(output_row(args, at), args->d_v, at, result);
    return SATTN_OK;
}

const sattn_bench_task sattn_task_av = {
    .tensors = SATTN_TENSOR_V | SATTN_TENSOR_SCORES_IN | SATTN_TENSOR_O,
    .output = SATTN_TENSOR_O,
    .scores_in = SATTN_IN_WEIGHTS,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_V | SATTN_TENSOR_SCORES_IN,
    .error_unit = "u sum p|v|",
    .work = work,
    .open = open_step,
    .run = run,
    .verify = verify,
};
