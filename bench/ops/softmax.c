/* SPDX-License-Identifier: MIT
 *
 * softmax.c: P = softmax(S) by row, by sattn_softmax, on scores of the workload's own Q and K. A
 * visible pair is one element: it costs one exponential. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

static sattn_work work(const sattn_attention_args *args)
{
    const double pairs = sattn_visible_pairs(args);
    const double written =
        (double)args->batch * (double)args->n_q_heads * (double)args->n_q * (double)args->n_k;
    return (sattn_work){.elements = pairs, .bytes = (pairs + written) * sizeof(float)};
}

static bool open_step(sattn_bench_call *call, char *why, size_t why_size)
{
    return sattn_bench_call_open_step(call, SATTN_STEP_SOFTMAX, why, why_size);
}

static sattn_status run(sattn_bench_call *call)
{
    return sattn_softmax(&call->args, &call->options);
}

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const sattn_visibility visible = sattn_sample_visibility(args, at.batch, at.head);
    const sattn_verify_weights row = {
        .s = sattn_sample_scores_in(args, at),
        .n_columns = args->n_k,
        .visible = &visible,
        .i = at.row,
        .sink = args->sinks ? args->sinks + at.head : NULL,
    };
    sattn_verify_weights_row(&row, sattn_sample_scores(args, at), NULL, NULL, at, result);
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
                sattn_sample_scan(sattn_sample_scores(args, at), args->n_k, at, result);
    return SATTN_OK;
}

const sattn_bench_task sattn_task_softmax = {
    .tensors = SATTN_TENSOR_SCORES_IN | SATTN_TENSOR_SCORES,
    .output = SATTN_TENSOR_SCORES,
    .scores_in = SATTN_IN_SCORES,
    .compute = SATTN_LIMIT_EXP,
    .memory = SATTN_LIMIT_COPY,
    .streamed = SATTN_TENSOR_SCORES_IN,
    .memory_always = true,
    .error_unit = "u times the row's largest weight",
    .work = work,
    .open = open_step,
    .run = run,
    .verify = verify,
};
