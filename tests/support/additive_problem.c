/* SPDX-License-Identifier: MIT
 *
 * additive_problem.c: makes, runs and judges one call of an additive kernel. */
#include "tests/support/additive_problem.h"

#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"
#include "tests/support/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

additive_shape additive_shape_plain(int64_t n_rows, int64_t n_keys, int64_t n_features)
{
    const additive_shape shape = {
        .n_rows = n_rows, .n_keys = n_keys, .n_features = n_features, .i1 = n_rows, .j1 = n_keys};
    return shape;
}

void additive_shape_vary(additive_shape *shape, test_random *random)
{
    shape->placement = test_random_chance(random, 50) ? TEST_END_FLUSH : TEST_START_FLUSH;
    if (test_random_chance(random, 40))
        shape->data = (additive_data)test_random_below(random, ADDITIVE_DATA);
    for (int operand = 0; operand < ADDITIVE_OPERANDS; ++operand) {
        shape->row_gap[operand] = test_random_chance(random, 50) ? 0 : test_random_below(random, 9);
        if (test_random_chance(random, 30))
            shape->distance[operand] = 4 * (size_t)test_random_below(random, 16);
    }
    shape->q_repeats = test_random_chance(random, 3);
    shape->k_repeats = test_random_chance(random, 3);
}

/* ---- values */

static float value(const additive_problem *p, int operand, int64_t row, int64_t x)
{
    const uint64_t stream = (uint64_t)operand + 1;
    const uint64_t place = (uint64_t)row << 32 | (uint64_t)x;
    const float normal = sattn_random_normal(p->seed, stream, place);
    if (operand == ADDITIVE_V)
        return normal;
    switch (p->shape.data) {
    case ADDITIVE_EQUAL:
        return sattn_random_normal(p->seed, stream, (uint64_t)x);
    case ADDITIVE_WIDE:
        return ldexpf(normal, (int)(sattn_random_bits(p->seed, stream + 8, place) % 24) - 16);
    case ADDITIVE_TINY:
        return ldexpf(normal, -(int)(sattn_random_bits(p->seed, stream + 8, place) % 32) - 118);
    case ADDITIVE_ZEROS:
        return normal > 0 ? 0.0f : -0.0f;
    default:
        return normal;
    }
}

static void fill(additive_problem *p, int operand, int64_t begin, int64_t end, bool repeats)
{
    for (int64_t row = begin; row < end; ++row)
        for (int64_t x = 0; x < p->shape.n_features; ++x)
            test_operand_f32(&p->operand[operand], 0, row)[x] =
                value(p, operand, repeats ? 0 : row, x);
}

/* ---- operands */

static test_operand make_rows(const additive_shape *s, int operand, int64_t n_rows, int64_t begin,
                              int64_t end, bool repeats)
{
    test_extents extents = test_extents_f32(1, n_rows, s->n_features, s->row_gap[operand]);
    if (repeats)
        extents.row_stride = 0;
    return test_operand_make_part(&extents, begin, end, s->placement, s->distance[operand]);
}

void additive_problem_make(additive_problem *problem, const test_run *run,
                           const additive_shape *shape, uint64_t seed)
{
    const additive_shape *const s = shape;
    *problem = (additive_problem){.shape = *shape, .seed = seed};
    test_operand *const operand = problem->operand;
    operand[ADDITIVE_Q] = make_rows(s, ADDITIVE_Q, s->n_rows, s->i0, s->i1, s->q_repeats);
    operand[ADDITIVE_K] = make_rows(s, ADDITIVE_K, s->n_keys, s->j0, s->j1, s->k_repeats);
    operand[ADDITIVE_V] = make_rows(s, ADDITIVE_V, 1, 0, 1, false);
    const test_extents scores = test_extents_f32(1, s->n_rows, s->n_keys, s->row_gap[ADDITIVE_S]);
    operand[ADDITIVE_S] = test_operand_make(&scores, s->placement, s->distance[ADDITIVE_S]);
    const size_t n_bytes =
        (sattn_additive_scratch_bytes(s->n_features) + run->kernel->extra_scratch + 63) / 64 * 64;
    const test_extents scratch = test_extents_f32(1, 1, (int64_t)(n_bytes / sizeof(float)), 0);
    problem->scratch = test_operand_make(&scratch, s->placement, 0);
    fill(problem, ADDITIVE_Q, s->i0, s->i1, s->q_repeats);
    fill(problem, ADDITIVE_K, s->j0, s->j1, s->k_repeats);
    fill(problem, ADDITIVE_V, 0, 1, false);
    problem->args = (sattn_additive_args){
        .q = operand[ADDITIVE_Q].data,
        .k = operand[ADDITIVE_K].data,
        .v = operand[ADDITIVE_V].data,
        .s = operand[ADDITIVE_S].data,
        .q_stride = operand[ADDITIVE_Q].extents.row_stride,
        .k_stride = operand[ADDITIVE_K].extents.row_stride,
        .s_stride = operand[ADDITIVE_S].extents.row_stride,
        .i0 = s->i0,
        .i1 = s->i1,
        .j0 = s->j0,
        .j1 = s->j1,
        .d = s->n_features,
        .scratch = problem->scratch.data,
    };
}

void additive_problem_free(additive_problem *problem)
{
    for (int operand = 0; operand < ADDITIVE_OPERANDS; ++operand)
        test_operand_free(&problem->operand[operand]);
    test_operand_free(&problem->scratch);
}

/* ---- run */

void additive_problem_fail(const additive_problem *problem, test_run *run, const char *what)
{
    static const char *const data[] = {"normal", "equal", "wide", "tiny", "+-0"};
    const additive_shape *const s = &problem->shape;
    test_fail(run,
              "%s [rows %lld..%lld of %lld, keys %lld..%lld of %lld, %lld features, %s%s%s, %s "
              "flush]",
              what, (long long)s->i0, (long long)s->i1, (long long)s->n_rows, (long long)s->j0,
              (long long)s->j1, (long long)s->n_keys, (long long)s->n_features, data[s->data],
              s->q_repeats ? ", one query" : "", s->k_repeats ? ", one key" : "",
              s->placement == TEST_END_FLUSH ? "end" : "start");
}

float *additive_scores(const additive_problem *problem, int64_t i)
{
    return test_operand_f32(&problem->operand[ADDITIVE_S], 0, i);
}

static void call(void *problem, test_run *run)
{
    run->kernel->fn.additive(&((additive_problem *)problem)->args);
}

static void fail(const void *problem, test_run *run, const char *what)
{
    additive_problem_fail(problem, run, what);
}

void additive_problem_run(additive_problem *problem, test_run *run)
{
    static const char *const names[] = {"q", "k", "v", "the scores"};
    const additive_shape *const s = &problem->shape;
    const test_watch watch = {.operand = problem->operand,
                              .names = names,
                              .n_operands = ADDITIVE_OPERANDS,
                              .output = ADDITIVE_S,
                              .i0 = s->i0,
                              .i1 = s->i1,
                              .begin = s->j0,
                              .end = s->j1,
                              .problem = problem,
                              .call = call,
                              .fail = fail};
    test_operand_spoil(&problem->scratch, 0, 1);
    test_operand_spoil(&problem->operand[ADDITIVE_S], 0, problem->shape.n_rows);
    test_watch_call(&watch, run);
}

/* ---- verify */

void additive_problem_verify(const additive_problem *problem, test_run *run)
{
    const additive_shape *const s = &problem->shape;
    const bool is_empty = s->i0 == s->i1 || s->j0 == s->j1;
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    for (int64_t i = s->i0; i < s->i1 && !is_empty; ++i) {
        const sattn_verify_alignments row = {
            .q = test_operand_f32(&problem->operand[ADDITIVE_Q], 0, i),
            .k = test_operand_f32(&problem->operand[ADDITIVE_K], 0, s->j0),
            .v = test_operand_f32(&problem->operand[ADDITIVE_V], 0, 0),
            .k_stride = problem->args.k_stride,
            .d = s->n_features,
            .n = s->j1 - s->j0,
            .tanh_ulp = sattn_kernel_stated_ulp(run->kernel)};
        const sattn_verify_place at = {.row = i};
        sattn_verify_alignments_row(&row, additive_scores(problem, i) + s->j0, at, &result);
    }
    if (!is_empty && !sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        additive_problem_fail(problem, run, text);
    }
}

void additive_problem_check(test_run *run, const additive_shape *shape, uint64_t seed)
{
    additive_problem problem;
    additive_problem_make(&problem, run, shape, seed);
    additive_problem_run(&problem, run);
    additive_problem_verify(&problem, run);
    additive_problem_free(&problem);
}

void additive_same_bits(test_run *run, const additive_problem *got, const additive_problem *want,
                        const char *what)
{
    const additive_shape *const s = &got->shape;
    for (int64_t i = s->i0; i < s->i1; ++i)
        for (int64_t j = s->j0; j < s->j1; ++j) {
            const float a = additive_scores(got, i)[j];
            const float b = additive_scores(want, i)[j];
            if (memcmp(&a, &b, sizeof a) != 0) {
                char text[160];
                snprintf(text, sizeof text, "other bits %s: row %lld key %lld: %.9g, but %.9g",
                         what, (long long)i, (long long)j, (double)a, (double)b);
                additive_problem_fail(got, run, text);
                return;
            }
        }
}
