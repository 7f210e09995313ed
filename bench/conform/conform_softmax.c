/* SPDX-License-Identifier: MIT
 *
 * conform_softmax.c: ONNX's Softmax and LogSoftmax over any axis, by sattn_softmax over the last.
 *
 * A tensor [outer, n, inner] is softmax over rows of n: as it lies where inner is 1, else as a copy
 * [outer, inner, n]. The logarithm is x - lse, in double precision and rounded once, so that its
 * error is that of the log-sum-exp, which is an f32. */
#include "bench/conform/conform_problem.h"

#include <stdio.h>
#include <string.h>

/* Moves the axis of [outer, n, inner] last (`back`: and back). */
static void move_axis(const float *from, float *to, int64_t outer, int64_t n, int64_t inner,
                      bool back)
{
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < inner; ++i) {
                const int64_t there = (o * n + j) * inner + i, last = (o * inner + i) * n + j;
                to[back ? there : last] = from[back ? last : there];
            }
}

static bool out_of_memory(char *why, size_t why_size)
{
    snprintf(why, why_size, "out of memory");
    return false;
}

bool sattn_conform_softmax_open(sattn_conform_problem *problem, char *why, size_t why_size)
{
    const sattn_conform_test *const test = problem->test;
    const sattn_conform_tensor *const x = &test->inputs[SATTN_CONFORM_X];
    const int64_t given = test->attributes.axis, axis = given < 0 ? given + x->rank : given;
    for (int64_t a = axis + 1; a < x->rank; ++a)
        problem->inner *= x->shape[a];
    const int64_t n = x->shape[axis], rows = x->n_elements / n;
    problem->n_y = x->n_elements;
    problem->y = sattn_conform_allocate(problem, (size_t)problem->n_y, sizeof(float));
    problem->lse = sattn_conform_allocate(problem, (size_t)rows, sizeof(float));
    float *const weights =
        problem->inner == 1 ? problem->y
                            : sattn_conform_allocate(problem, (size_t)problem->n_y, sizeof(float));
    if (!problem->y || !problem->lse || !weights)
        return out_of_memory(why, why_size);
    const float *scores = sattn_conform_floats(problem, x, "x", why, why_size);
    if (!scores)
        return false;
    if (problem->inner > 1) {
        float *const moved = sattn_conform_allocate(problem, (size_t)problem->n_y, sizeof *moved);
        if (!moved)
            return out_of_memory(why, why_size);
        move_axis(scores, moved, rows / problem->inner, n, problem->inner, false);
        scores = moved;
        sattn_conform_adapt(problem, SATTN_CONFORM_AXIS_MOVED);
    }
    problem->args = (sattn_attention_args){.batch = 1,
                                           .n_q_heads = 1,
                                           .n_kv_heads = 1,
                                           .n_q = rows,
                                           .n_k = n,
                                           .scores_in = scores,
                                           .scores_in_stride_t = n,
                                           .scores = weights,
                                           .scores_stride_t = n,
                                           .scores_stage = SATTN_SCORES_PROBABILITIES};
    if (test->op == SATTN_CONFORM_LOG_SOFTMAX) {
        problem->args.lse = problem->lse;
        sattn_conform_adapt(problem, SATTN_CONFORM_LOG_OF_SOFTMAX);
    }
    return true;
}

sattn_status sattn_conform_softmax_run(sattn_conform_problem *problem, const sattn_options *options)
{
    const sattn_attention_args *const a = &problem->args;
    const int64_t rows = a->n_q, n = a->n_k;
    float *const weights = a->scores;
    memset(problem->y, 0xff, (size_t)problem->n_y * sizeof *problem->y);
    memset(weights, 0xff, (size_t)problem->n_y * sizeof *weights);
    memset(problem->lse, 0xff, (size_t)rows * sizeof *problem->lse);
    const sattn_status status = sattn_softmax(a, options);
    if (status != SATTN_OK)
        return status;
    if (problem->test->op == SATTN_CONFORM_LOG_SOFTMAX)
        for (int64_t e = 0; e < rows * n; ++e)
            weights[e] = (float)((double)a->scores_in[e] - (double)problem->lse[e / n]);
    if (problem->inner > 1)
        move_axis(weights, problem->y, rows / problem->inner, n, problem->inner, true);
    return SATTN_OK;
}
