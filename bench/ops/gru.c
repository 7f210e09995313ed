/* SPDX-License-Identifier: MIT
 *
 * gru.c: gated recurrent units from their projections, by sattn_gru. What it counts are two
 * sigmoids and a tanh for each unit: a loop of exps is what they are compared with, and one that
 * reads the projections. */
#include "bench/bench/bench_call.h"
#include "bench/ops/layer_args.h"
#include "bench/ops/sample.h"
#include "bench/verify/steps.h"

/* Of a unit: seven numbers are read, one is written. */
static const double exps = 3, numbers = 8;

static sattn_work work(const sattn_attention_args *args)
{
    const double units = (double)args->n_q * (double)args->d_v;
    return (sattn_work){.elements = exps * units, .bytes = numbers * units * sizeof(float)};
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    (void)call; /* units need no workspace */
    (void)why;
    (void)why_size;
    return true;
}

static sattn_status run(sattn_bench_call *call)
{
    const sattn_gate_args args = sattn_layer_gates(&call->args);
    return sattn_gru(&args, &call->options);
}

/* Of the kernel that is being verified: what compares a row is told of nothing but the call. */
static double sigmoid_ulp, tanh_ulp;

static void compare(const sattn_attention_args *args, sattn_verify_place at,
                    sattn_verify_result *result)
{
    const sattn_mut_view *const o = &args->o;
    const sattn_verify_gates row = {.gates_x = sattn_sample_view(&args->q, 0, 0, at.row),
                                    .gates_h = sattn_sample_view(&args->k, 0, 0, at.row),
                                    .h = sattn_sample_view(&args->v, 0, 0, at.row),
                                    .n_hidden = args->d_v,
                                    .sigmoid_ulp = sigmoid_ulp,
                                    .tanh_ulp = tanh_ulp};
    sattn_verify_gates_row(&row, (const float *)o->data + at.row * o->stride_t, at, result);
}

static sattn_status verify(const sattn_attention_args *args, const sattn_variant *variant,
                           sattn_verify_result *result, const char **why)
{
    const sattn_kernel *const kernel = sattn_kernel_by_name(variant->name);
    const sattn_kernel *const sigmoid = sattn_kernel_sibling(kernel, SATTN_OP_sigmoid);
    const sattn_kernel *const tanh = sattn_kernel_sibling(kernel, SATTN_OP_tanh);
    if (!sigmoid || !tanh) {
        *why = "no sigmoid or tanh of its ISA states its error";
        return SATTN_ERR_UNSUPPORTED;
    }
    sigmoid_ulp = sattn_kernel_stated_ulp(sigmoid);
    tanh_ulp = sattn_kernel_stated_ulp(tanh);
    if (!sattn_sample_variant(args, variant, compare, result)) {
        *why = "verify: no memory";
        return SATTN_ERR_MEMORY;
    }
    sattn_verify_place at = {0};
    for (; at.row < args->n_q; ++at.row)
        sattn_sample_scan((const float *)args->o.data + at.row * args->o.stride_t, args->d_v, at,
                          result);
    return SATTN_OK;
}

const sattn_bench_task sattn_task_gru = {
    .takes = SATTN_SHAPE_GATES,
    .tensors = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_O,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_EXP,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V,
    .memory_always = true,
    .error_unit = "u (|n| + |z (h - n)| + what tanh leaves of its sum)",
    .work = work,
    .open = open_call,
    .run = run,
    .verify = verify,
};
