/* SPDX-License-Identifier: MIT
 *
 * steps.c: the public entry points of the steps of attention, and of exp, tanh and sigmoid. */
#include "dispatch/choose.h"
#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/share.h"
#include "dispatch/team.h"

#include <inttypes.h>

static sattn_status run_step(sattn_computation computation, const sattn_attention_args *args,
                             const sattn_options *options)
{
    sattn_plan plan;
    const sattn_status status = sattn_plan_make(&plan, computation, args, options);
    if (status != SATTN_OK)
        return status;
    return sattn_plan_run_args(&plan, &plan.args, options ? options->workspace : NULL,
                               options ? options->workspace_size : 0);
}

sattn_status sattn_qk(const sattn_attention_args *args, const sattn_options *options)
{
    return run_step(SATTN_COMPUTE_QK, args, options);
}

sattn_status sattn_softmax(const sattn_attention_args *args, const sattn_options *options)
{
    return run_step(SATTN_COMPUTE_SOFTMAX, args, options);
}

sattn_status sattn_av(const sattn_attention_args *args, const sattn_options *options)
{
    return run_step(SATTN_COMPUTE_AV, args, options);
}

sattn_status sattn_step_workspace_size(sattn_step step, const sattn_attention_args *args,
                                       const sattn_options *options, size_t *size)
{
    static const sattn_computation computations[] = {[SATTN_STEP_QK] = SATTN_COMPUTE_QK,
                                                     [SATTN_STEP_SOFTMAX] = SATTN_COMPUTE_SOFTMAX,
                                                     [SATTN_STEP_AV] = SATTN_COMPUTE_AV};
    sattn_plan plan;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK && ((int)step < 0 || (int)step > (int)SATTN_STEP_AV))
        status =
            sattn_fail(SATTN_ERR_ARGUMENT, "step = %d: expected a value of sattn_step", (int)step);
    if (status == SATTN_OK)
        status = sattn_plan_make(&plan, computations[step], args, options);
    if (status == SATTN_OK)
        *size = plan.layout.size;
    return status;
}

static sattn_status check_array(const float *x, const float *y, int64_t n)
{
    if (n < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "n = %" PRId64 ": expected 0 or more", n);
    if (n > PTRDIFF_MAX / 4)
        return sattn_fail(SATTN_ERR_TOO_LARGE,
                          "n = %" PRId64 ": so many floats reach beyond the address space", n);
    const struct {
        const char *name;
        const float *data;
    } arrays[] = {{"x", x}, {"y", y}};
    for (int i = 0; i < 2; ++i) {
        if (n > 0 && !arrays[i].data)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL: expected data", arrays[i].name);
        if ((uintptr_t)arrays[i].data % 4 != 0)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "%s = %p: expected an address that is a multiple of 4",
                              arrays[i].name, (const void *)arrays[i].data);
    }
    const sattn_span read = {(uintptr_t)x, (uint64_t)n * 4}, written = {(uintptr_t)y, read.bytes};
    if (n > 0 && x != y && sattn_spans_meet(&written, &read))
        return sattn_fail(SATTN_ERR_OVERLAP,
                          "y overlaps x: expected memory of its own, or exactly x");
    return SATTN_OK;
}

typedef struct array_call {
    const sattn_kernel *kernel;
    const float *x;
    float *y;
    int64_t n;
} array_call;

static void run_chunk(void *context, int64_t index, int worker)
{
    const array_call *const call = context;
    const int64_t first = index * SATTN_ARRAY_CHUNK, left = call->n - first;
    const sattn_array_args args = {.x = call->x + first,
                                   .y = call->y + first,
                                   .n = left < SATTN_ARRAY_CHUNK ? left : SATTN_ARRAY_CHUNK};
    (void)worker;
    sattn_kernel_run_array(call->kernel, &args);
}

static sattn_status run_array(sattn_op op, const float *x, float *y, int64_t n,
                              const sattn_options *options)
{
    array_call call = {.x = x, .y = y, .n = n};
    sattn_overrides overrides;
    sattn_decision decision;
    sattn_status status = check_array(x, y, n);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    const int asked = sattn_threads_asked(options);
    const sattn_shape_class shape_class = sattn_class_of_array(op, n, asked);
    if (status == SATTN_OK)
        status = sattn_choose_apart(&shape_class, &overrides, &call.kernel, &decision);
    if (status != SATTN_OK || n == 0)
        return status;
    const int threads = sattn_threads_for((double)n * SATTN_WORK_PER_EXP, asked);
    sattn_team_run(threads, (n - 1) / SATTN_ARRAY_CHUNK + 1, run_chunk, &call);
    return SATTN_OK;
}

sattn_status sattn_exp(const float *x, float *y, int64_t n, const sattn_options *options)
{
    return run_array(SATTN_OP_exp, x, y, n, options);
}

sattn_status sattn_tanh(const float *x, float *y, int64_t n, const sattn_options *options)
{
    return run_array(SATTN_OP_tanh, x, y, n, options);
}

sattn_status sattn_sigmoid(const float *x, float *y, int64_t n, const sattn_options *options)
{
    return run_array(SATTN_OP_sigmoid, x, y, n, options);
}
