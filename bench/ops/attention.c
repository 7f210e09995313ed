/* SPDX-License-Identifier: MIT
 *
 * attention.c: a whole attention by sattn_plan_run, as a user of the library calls it: by one fused
 * kernel, or by the chain of the three steps. The loops over batch and heads, merges and checks of
 * the output are in the time; planning and allocation are not. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"

#include <string.h>

sattn_work sattn_attention_work(const sattn_attention_args *args)
{
    const double columns = (double)(args->d + args->d_v);
    const double queries = (double)args->batch * (double)args->n_q_heads * (double)args->n_q;
    const double kv_bytes = sattn_readable_keys(args) * columns * sizeof(float);
    return (sattn_work){.flops = 2 * columns * sattn_visible_pairs(args),
                        .bytes = kv_bytes + queries * columns * sizeof(float),
                        .kv_bytes = kv_bytes};
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_pointers pointers = sattn_bench_call_pointers(&call->args);
    return sattn_plan_run(call->plan, &pointers, call->workspace, call->workspace_size);
}

sattn_status sattn_attention_verify(const sattn_attention_args *args, const sattn_variant *variant,
                                    sattn_verify_result *result, const char **why)
{
    const sattn_verify_selection usual = {.tile_queries = variant->tile_rows,
                                          .n_random = SATTN_SAMPLED_ROWS,
                                          .n_heads = SATTN_SAMPLED_HEADS,
                                          .seed = SATTN_SAMPLE_SEED};
    const bool is_chain = variant->plan && strcmp(variant->plan, "chain") == 0;
    const sattn_bound_params params = is_chain ? sattn_bound_chain() : sattn_bound_defaults();
    return sattn_verify_attention(args, variant->selection ? variant->selection : &usual, &params,
                                  result, why);
}

const sattn_bench_task sattn_task_attention = {
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_O,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K | SATTN_TENSOR_V,
    .error_unit = "u sum p|v|",
    .work = sattn_attention_work,
    .open = sattn_bench_call_open_plan,
    .run = run,
    .verify = sattn_attention_verify,
};
