/* SPDX-License-Identifier: MIT
 *
 * conform_problem.c: memory, element types and the call, the same for every operator. */
#include "bench/conform/conform_problem.h"

#include "bench/half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const adapter_texts[SATTN_CONFORM_ADAPTERS] = {
    [SATTN_CONFORM_HEADS_BY_STRIDES] = "3-D tensors to heads by strides; nothing is copied",
    [SATTN_CONFORM_MASK_RANK] = "mask rank raised by extents of 1; nothing is copied",
    [SATTN_CONFORM_PAST_JOINED] = "past and new K and V joined by copy",
    [SATTN_CONFORM_PRESENT_COPIED] = "present K and V are that copy, compared exactly",
    [SATTN_CONFORM_MASK_COMPLETED] = "short mask completed with false or -inf by copy",
    [SATTN_CONFORM_F16_WIDENED] = "f16 widened to f32, results rounded to f16",
    [SATTN_CONFORM_F64_NARROWED] = "f64 narrowed to f32, results compared as f32",
    [SATTN_CONFORM_PRECISION_KEPT] = "softmax_precision f32 or less: f32 is used anyway",
    [SATTN_CONFORM_PRECISION_BELOW] = "softmax_precision f64: f32 is used, results are f32",
    [SATTN_CONFORM_AXIS_MOVED] = "softmax axis moved last, and back, by copy",
    [SATTN_CONFORM_LOG_OF_SOFTMAX] = "log-softmax as score minus log-sum-exp",
};

const char *sattn_conform_adapter_text(sattn_conform_adapter adapter)
{
    return adapter_texts[adapter];
}

void *sattn_conform_allocate(sattn_conform_problem *problem, size_t count, size_t size)
{
    if (problem->n_buffers == SATTN_CONFORM_BUFFERS)
        return NULL;
    void *const buffer = calloc(count ? count : 1, size);
    problem->buffers[problem->n_buffers] = buffer;
    problem->n_buffers += buffer != NULL;
    return buffer;
}

const float *sattn_conform_floats(sattn_conform_problem *problem,
                                  const sattn_conform_tensor *tensor, const char *name, char *why,
                                  size_t why_size)
{
    if (tensor->type == SATTN_NPY_F4)
        return tensor->data;
    float *const floats =
        sattn_conform_allocate(problem, (size_t)tensor->n_elements, sizeof *floats);
    if (!floats) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    sattn_conform_adapt(problem, tensor->type == SATTN_NPY_F2 ? SATTN_CONFORM_F16_WIDENED
                                                              : SATTN_CONFORM_F64_NARROWED);
    for (int64_t n = 0; n < tensor->n_elements; ++n) {
        const double value = sattn_conform_element(tensor, n);
        floats[n] = (float)value;
        if (isfinite(value) && !isfinite(floats[n])) {
            snprintf(why, why_size, "%s holds %g, which f32 has no number for", name, value);
            return NULL;
        }
    }
    return floats;
}

bool sattn_conform_problem_open(sattn_conform_problem *problem, const sattn_conform_test *test,
                                char *why, size_t why_size)
{
    *problem = (sattn_conform_problem){.test = test, .inner = 1};
    const bool good = sattn_conform_is_attention(test->op)
                          ? sattn_conform_attention_open(problem, why, why_size)
                          : sattn_conform_softmax_open(problem, why, why_size);
    if (!good)
        sattn_conform_problem_close(problem);
    return good;
}

void sattn_conform_problem_close(sattn_conform_problem *problem)
{
    for (int n = 0; n < problem->n_buffers; ++n)
        free(problem->buffers[n]);
    *problem = (sattn_conform_problem){0};
}

sattn_status sattn_conform_problem_run(sattn_conform_problem *problem, bool with_qk,
                                       const sattn_options *options)
{
    if (!sattn_conform_is_attention(problem->test->op))
        return sattn_conform_softmax_run(problem, options);
    sattn_attention_args args = problem->args;
    if (!with_qk)
        args.scores = NULL;
    /* What a call leaves out shows: every byte ff is a NaN. */
    memset(problem->y, 0xff, (size_t)problem->n_y * sizeof *problem->y);
    if (args.scores)
        memset(problem->qk, 0xff, (size_t)problem->n_qk * sizeof *problem->qk);
    return sattn_attention(&args, options);
}
