/* SPDX-License-Identifier: MIT
 *
 * array.c: exp, tanh and sigmoid of arrays, by sattn_exp and so on. Numbers are normal deviates, so
 * wide that exp meets most of its range, and the others both their bends and their flat parts; no
 * result is denormal or infinite. */
#include "bench/bench/bench_call.h"
#include "bench/ops/sample.h"
#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"

enum {
    BLOCK = 1024,      /* numbers compared at a time */
    ALL_BLOCKS = 16,   /* arrays of so many blocks or fewer are compared whole */
    RANDOM_BLOCKS = 8, /* of longer ones these, besides the first and the last */
};

static sattn_work work(const sattn_attention_args *args)
{
    const double n = (double)args->n_k;
    return (sattn_work){.elements = n, .bytes = 2 * n * sizeof(float)};
}

static bool open_array(sattn_bench_call *call, char *why, size_t why_size)
{
    (void)call; /* arrays need no workspace */
    (void)why;
    (void)why_size;
    return true;
}

static sattn_status run_exp(sattn_bench_call *call)
{
    return sattn_exp(call->args.scores_in, call->args.scores, call->args.n_k, &call->options);
}

static sattn_status run_tanh(sattn_bench_call *call)
{
    return sattn_tanh(call->args.scores_in, call->args.scores, call->args.n_k, &call->options);
}

static sattn_status run_sigmoid(sattn_bench_call *call)
{
    return sattn_sigmoid(call->args.scores_in, call->args.scores, call->args.n_k, &call->options);
}

static void verify_block(sattn_verify_function function, const sattn_attention_args *args,
                         const sattn_variant *variant, int64_t block, sattn_verify_result *result)
{
    const int64_t from = block * BLOCK;
    const int64_t n = args->n_k - from < BLOCK ? args->n_k - from : BLOCK;
    const double bound = sattn_kernel_stated_ulp(sattn_kernel_by_name(variant->name));
    const sattn_verify_place at = {.row = block};
    sattn_verify_array(function, args->scores_in + from, args->scores + from, n, bound, at, result);
}

static sattn_status verify(sattn_verify_function function, const sattn_attention_args *args,
                           const sattn_variant *variant, sattn_verify_result *result)
{
    const int64_t blocks = (args->n_k + BLOCK - 1) / BLOCK;
    if (blocks <= ALL_BLOCKS) {
        for (int64_t b = 0; b < blocks; ++b)
            verify_block(function, args, variant, b, result);
    } else {
        verify_block(function, args, variant, 0, result);
        verify_block(function, args, variant, blocks - 1, result);
        for (uint64_t r = 0; r < RANDOM_BLOCKS; ++r) {
            const double place = sattn_random_uniform(SATTN_SAMPLE_SEED, 0, r);
            verify_block(function, args, variant, (int64_t)(place * (double)blocks), result);
        }
    }
    sattn_sample_scan(args->scores, args->n_k, (sattn_verify_place){0}, result);
    return SATTN_OK;
}

static sattn_status verify_exp(const sattn_attention_args *args, const sattn_variant *variant,
                               sattn_verify_result *result, const char **why)
{
    (void)why;
    return verify(SATTN_VERIFY_EXP, args, variant, result);
}

static sattn_status verify_tanh(const sattn_attention_args *args, const sattn_variant *variant,
                                sattn_verify_result *result, const char **why)
{
    (void)why;
    return verify(SATTN_VERIFY_TANH, args, variant, result);
}

static sattn_status verify_sigmoid(const sattn_attention_args *args, const sattn_variant *variant,
                                   sattn_verify_result *result, const char **why)
{
    (void)why;
    return verify(SATTN_VERIFY_SIGMOID, args, variant, result);
}

#define ARRAY_TASK(name, spread_)                                                                  \
    {                                                                                              \
        .takes = SATTN_SHAPE_ARRAY, .tensors = SATTN_TENSOR_SCORES_IN | SATTN_TENSOR_SCORES,       \
        .output = SATTN_TENSOR_SCORES, .scores_in = SATTN_IN_NUMBERS, .spread = (spread_),         \
        .compute = SATTN_LIMIT_EXP, .memory = SATTN_LIMIT_COPY,                                    \
        .streamed = SATTN_TENSOR_SCORES_IN, .memory_always = true, .error_unit = "ULP",            \
        .work = work, .open = open_array, .run = run_##name, .verify = verify_##name,              \
    }

const sattn_bench_task sattn_task_exp = ARRAY_TASK(exp, 12);
const sattn_bench_task sattn_task_tanh = ARRAY_TASK(tanh, 2);
const sattn_bench_task sattn_task_sigmoid = ARRAY_TASK(sigmoid, 4);
