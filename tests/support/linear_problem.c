/* SPDX-License-Identifier: MIT
 *
 * linear_problem.c: makes, runs and judges one call of a linear kernel. */
#include "tests/support/linear_problem.h"

#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"
#include "tests/support/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

linear_shape linear_shape_plain(int64_t n_rows, int64_t n_out, int64_t n_in)
{
    const linear_shape shape = {
        .n_rows = n_rows, .n_out = n_out, .n_in = n_in, .i1 = n_rows, .o1 = n_out};
    return shape;
}

void linear_shape_vary(linear_shape *shape, test_random *random)
{
    shape->placement = test_random_chance(random, 50) ? TEST_END_FLUSH : TEST_START_FLUSH;
    shape->is_packed = test_random_chance(random, 50);
    shape->has_bias = test_random_chance(random, 60);
    shape->adds = test_random_chance(random, 40);
    if (test_random_chance(random, 30))
        shape->data = (linear_data)test_random_below(random, LINEAR_DATA);
    for (int operand = 0; operand < LINEAR_OPERANDS; ++operand) {
        shape->row_gap[operand] = test_random_chance(random, 50) ? 0 : test_random_below(random, 9);
        if (test_random_chance(random, 30))
            shape->distance[operand] = 4 * (size_t)test_random_below(random, 16);
    }
    shape->x_repeats = test_random_chance(random, 3);
    shape->w_repeats = test_random_chance(random, 3);
}

/* ---- values */

static float value(const linear_problem *p, int operand, int64_t row, int64_t x)
{
    const uint64_t stream = (uint64_t)operand + 1;
    const bool repeats = operand == LINEAR_X   ? p->shape.x_repeats
                         : operand == LINEAR_W ? p->shape.w_repeats && !p->shape.is_packed
                                               : false;
    const bool is_equal = p->shape.data == LINEAR_EQUAL;
    const uint64_t place = (uint64_t)(repeats || is_equal ? 0 : row) << 32 | (uint64_t)x;
    const float normal = sattn_random_normal(p->seed, stream, place);
    const int size = (int)(sattn_random_bits(p->seed, stream + 8, place) % 41) - 20;
    switch (p->shape.data) {
    case LINEAR_WIDE:
        return ldexpf(normal, size);
    case LINEAR_TINY:
        return ldexpf(normal, size - (operand == LINEAR_X || operand == LINEAR_W ? 63 : 126));
    case LINEAR_ZEROS:
        return normal > 0 ? 0.0f : -0.0f;
    default:
        return normal;
    }
}

/* ---- packed W */

static int64_t groups_of(int64_t n, int size)
{
    return (n + size - 1) / size;
}

static int64_t block_size(const sattn_kernel *kernel, int64_t n_in)
{
    return groups_of(n_in, kernel->tile_d) * kernel->tile_keys * kernel->tile_d;
}

/* Where feature k of output o lies, in a block that starts with output `first`. */
static int64_t place_in_block(const sattn_kernel *kernel, int64_t o, int64_t k)
{
    const int64_t group = k / kernel->tile_d;
    return (group * kernel->tile_keys + o % kernel->tile_keys) * kernel->tile_d +
           k % kernel->tile_d;
}

/* The blocks that the call may read. Outputs in them that it does not ask for stay the canary. */
static void pack(linear_problem *p, const sattn_kernel *kernel)
{
    const linear_shape *const s = &p->shape;
    const int64_t n_features = groups_of(s->n_in, kernel->tile_d) * kernel->tile_d;
    const int64_t end = groups_of(s->o1, kernel->tile_keys) * kernel->tile_keys;
    for (int64_t o = s->o0; o < end && s->o0 < s->o1; ++o) {
        float *const block = test_operand_f32(&p->operand[LINEAR_W], 0, o / kernel->tile_keys);
        for (int64_t k = 0; k < n_features; ++k) {
            float *const to = block + place_in_block(kernel, o, k);
            if (o >= s->n_out || k >= s->n_in)
                *to = 0.0f;
            else if (o < s->o1)
                *to = value(p, LINEAR_W, o, k);
        }
    }
}

static test_operand make_packed(linear_problem *p, const sattn_kernel *kernel)
{
    const linear_shape *const s = &p->shape;
    const int64_t n_blocks = groups_of(s->n_out, kernel->tile_keys);
    const test_extents extents = test_extents_f32(1, n_blocks, block_size(kernel, s->n_in), 0);
    const size_t n_bytes = (size_t)(n_blocks * extents.n_columns) * sizeof(float);
    const size_t to_aligned =
        s->placement == TEST_END_FLUSH ? (ALIGNMENT - n_bytes % ALIGNMENT) % ALIGNMENT : 0;
    return test_operand_make(&extents, s->placement, to_aligned);
}

float *linear_weight(const linear_problem *problem, int64_t o, int64_t k)
{
    const test_operand *const w = &problem->operand[LINEAR_W];
    if (!problem->shape.is_packed)
        return test_operand_f32(w, 0, o) + k;
    const sattn_kernel *const kernel = problem->kernel;
    return test_operand_f32(w, 0, o / kernel->tile_keys) + place_in_block(kernel, o, k);
}

/* ---- operands */

static test_operand make_rows(const linear_shape *s, int operand, const test_extents *dense,
                              int64_t begin, int64_t end, bool repeats)
{
    test_extents extents = *dense;
    if (repeats)
        extents.row_stride = 0;
    return test_operand_make_part(&extents, begin, end, s->placement, s->distance[operand]);
}

static void make_operands(linear_problem *p)
{
    const linear_shape *const s = &p->shape;
    const test_extents x = test_extents_f32(1, s->n_rows, s->n_in, s->row_gap[LINEAR_X]);
    const test_extents w = test_extents_f32(1, s->n_out, s->n_in, s->row_gap[LINEAR_W]);
    const test_extents bias = test_extents_f32(1, s->n_out, 1, 0);
    const test_extents y = test_extents_f32(1, s->n_rows, s->n_out, s->row_gap[LINEAR_Y]);
    p->operand[LINEAR_X] = make_rows(s, LINEAR_X, &x, s->i0, s->i1, s->x_repeats);
    p->operand[LINEAR_W] = s->is_packed ? make_packed(p, p->kernel)
                                        : make_rows(s, LINEAR_W, &w, s->o0, s->o1, s->w_repeats);
    p->operand[LINEAR_BIAS] =
        make_rows(s, LINEAR_BIAS, &bias, s->has_bias ? s->o0 : 0, s->has_bias ? s->o1 : 0, false);
    p->operand[LINEAR_Y] = test_operand_make(&y, s->placement, s->distance[LINEAR_Y]);
    p->y_before = test_allocate((size_t)(s->n_rows * s->n_out + 1) * sizeof(float));
    const size_t n_bytes =
        (sattn_linear_scratch_bytes(s->n_in) + p->kernel->extra_scratch + 63) / 64 * 64;
    const test_extents scratch = test_extents_f32(1, 1, (int64_t)(n_bytes / sizeof(float)), 0);
    p->scratch = test_operand_make(&scratch, s->placement, 0);
}

static void fill(linear_problem *p)
{
    const linear_shape *const s = &p->shape;
    for (int64_t i = s->i0; i < s->i1; ++i)
        for (int64_t k = 0; k < s->n_in; ++k)
            test_operand_f32(&p->operand[LINEAR_X], 0, i)[k] = value(p, LINEAR_X, i, k);
    for (int64_t o = s->o0; o < s->o1; ++o) {
        for (int64_t k = 0; k < s->n_in && !s->is_packed; ++k)
            *linear_weight(p, o, k) = value(p, LINEAR_W, o, k);
        if (s->has_bias)
            *test_operand_f32(&p->operand[LINEAR_BIAS], 0, o) = value(p, LINEAR_BIAS, o, 0);
    }
    if (s->is_packed)
        pack(p, p->kernel);
}

void linear_problem_make(linear_problem *problem, const test_run *run, const linear_shape *shape,
                         uint64_t seed)
{
    *problem = (linear_problem){.shape = *shape, .kernel = run->kernel, .seed = seed};
    linear_shape *const s = &problem->shape;
    if (s->is_packed)
        s->o0 -= s->o0 % run->kernel->tile_keys;
    make_operands(problem);
    fill(problem);
    const test_operand *const operand = problem->operand;
    problem->args = (sattn_linear_args){
        .x = operand[LINEAR_X].data,
        .w = s->is_packed ? NULL : operand[LINEAR_W].data,
        .packed = s->is_packed ? operand[LINEAR_W].data : NULL,
        .bias = s->has_bias ? operand[LINEAR_BIAS].data : NULL,
        .y = operand[LINEAR_Y].data,
        .x_stride = operand[LINEAR_X].extents.row_stride,
        .w_stride = s->is_packed ? 0 : operand[LINEAR_W].extents.row_stride,
        .y_stride = operand[LINEAR_Y].extents.row_stride,
        .i0 = s->i0,
        .i1 = s->i1,
        .o0 = s->o0,
        .o1 = s->o1,
        .n_in = s->n_in,
        .adds = s->adds,
        .scratch = problem->scratch.data,
    };
}

void linear_problem_free(linear_problem *problem)
{
    for (int operand = 0; operand < LINEAR_OPERANDS; ++operand)
        test_operand_free(&problem->operand[operand]);
    test_operand_free(&problem->scratch);
    free(problem->y_before);
}

/* ---- run */

void linear_problem_fail(const linear_problem *problem, test_run *run, const char *what)
{
    static const char *const data[] = {"normal", "equal", "wide", "tiny", "+-0"};
    const linear_shape *const s = &problem->shape;
    test_fail(run,
              "%s [rows %lld..%lld of %lld, outputs %lld..%lld of %lld, %lld features%s%s%s, "
              "%s%s%s, %s flush]",
              what, (long long)s->i0, (long long)s->i1, (long long)s->n_rows, (long long)s->o0,
              (long long)s->o1, (long long)s->n_out, (long long)s->n_in,
              s->is_packed ? ", packed" : "", s->has_bias ? ", bias" : "", s->adds ? ", adds" : "",
              data[s->data], s->x_repeats ? ", one row of x" : "",
              s->w_repeats ? ", one row of w" : "",
              s->placement == TEST_END_FLUSH ? "end" : "start");
}

float *linear_outputs(const linear_problem *problem, int64_t i)
{
    return test_operand_f32(&problem->operand[LINEAR_Y], 0, i);
}

/* What the call finds in Y: numbers where it adds to them, and the canary elsewhere. */
static void prepare_outputs(linear_problem *p)
{
    const linear_shape *const s = &p->shape;
    test_operand_spoil(&p->operand[LINEAR_Y], 0, s->n_rows);
    for (int64_t i = s->i0; i < s->i1 && s->adds; ++i)
        for (int64_t o = s->o0; o < s->o1; ++o)
            linear_outputs(p, i)[o] = value(p, LINEAR_Y, i, o);
    if (p->y_special != 0)
        linear_outputs(p, p->y_i)[p->y_o] = p->y_special;
    for (int64_t i = 0; i < s->n_rows; ++i)
        for (int64_t o = 0; o < s->n_out; ++o)
            p->y_before[i * s->n_out + o] = linear_outputs(p, i)[o];
}

static void call(void *problem, test_run *run)
{
    run->kernel->fn.linear(&((linear_problem *)problem)->args);
}

static void fail(const void *problem, test_run *run, const char *what)
{
    linear_problem_fail(problem, run, what);
}

void linear_problem_run(linear_problem *problem, test_run *run)
{
    static const char *const names[] = {"x", "w", "the bias", "y"};
    const linear_shape *const s = &problem->shape;
    const test_watch watch = {.operand = problem->operand,
                              .names = names,
                              .n_operands = LINEAR_OPERANDS,
                              .output = LINEAR_Y,
                              .i0 = s->i0,
                              .i1 = s->i1,
                              .begin = s->o0,
                              .end = s->o1,
                              .problem = problem,
                              .call = call,
                              .fail = fail};
    test_operand_spoil(&problem->scratch, 0, 1);
    prepare_outputs(problem);
    test_watch_call(&watch, run);
}

/* ---- verify */

/* Rows [o0, o1) of W, dense. */
static float *copy_weights(const linear_problem *p)
{
    const linear_shape *const s = &p->shape;
    float *const w = test_allocate((size_t)((s->o1 - s->o0) * s->n_in + 1) * sizeof(float));
    for (int64_t o = s->o0; o < s->o1; ++o)
        for (int64_t k = 0; k < s->n_in; ++k)
            w[(o - s->o0) * s->n_in + k] = *linear_weight(p, o, k);
    return w;
}

void linear_problem_verify(const linear_problem *problem, test_run *run)
{
    const linear_shape *const s = &problem->shape;
    const bool is_empty = s->i0 == s->i1 || s->o0 == s->o1;
    const test_operand *const operand = problem->operand;
    float *const w = copy_weights(problem);
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    for (int64_t i = s->i0; i < s->i1 && !is_empty; ++i) {
        const sattn_verify_map row = {
            .x = test_operand_f32(&operand[LINEAR_X], 0, i),
            .w = w,
            .bias = s->has_bias ? test_operand_f32(&operand[LINEAR_BIAS], 0, s->o0) : NULL,
            .added_to = s->adds ? &problem->y_before[i * s->n_out + s->o0] : NULL,
            .w_stride = s->n_in,
            .n_in = s->n_in,
            .n_out = s->o1 - s->o0};
        const sattn_verify_place at = {.row = i};
        sattn_verify_map_row(&row, linear_outputs(problem, i) + s->o0, at, &result);
    }
    free(w);
    if (!is_empty && !sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        linear_problem_fail(problem, run, text);
    }
}

void linear_problem_check(test_run *run, const linear_shape *shape, uint64_t seed)
{
    linear_problem problem;
    linear_problem_make(&problem, run, shape, seed);
    linear_problem_run(&problem, run);
    linear_problem_verify(&problem, run);
    linear_problem_free(&problem);
}

bool linear_is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

void linear_same_bits(test_run *run, const linear_problem *got, const linear_problem *want,
                      const char *what)
{
    const linear_shape *const s = &got->shape;
    for (int64_t i = s->i0; i < s->i1; ++i)
        for (int64_t o = s->o0; o < s->o1; ++o) {
            const float a = linear_outputs(got, i)[o];
            const float b = linear_outputs(want, i)[o];
            if (!linear_is_same(a, b)) {
                char text[160];
                snprintf(text, sizeof text, "other bits %s: row %lld output %lld: %.9g, but %.9g",
                         what, (long long)i, (long long)o, (double)a, (double)b);
                linear_problem_fail(got, run, text);
                return;
            }
        }
}
