/* SPDX-License-Identifier: MIT
 *
 * gru_problem.c: see gru_problem.h. */
#include "tests/support/gru_problem.h"

#include "bench/verify/steps.h"
#include "tests/support/math_reference.h"

#include <math.h>

/* ---- the bound */

static double stated_ulp(const sattn_kernel *gru, sattn_op op)
{
    const sattn_kernel *const row = sattn_kernel_sibling(gru, op);
    return row ? sattn_kernel_stated_ulp(row) : NAN;
}

gru_judge gru_judge_of(test_run *run)
{
    return (gru_judge){run, stated_ulp(run->kernel, SATTN_OP_sigmoid),
                       stated_ulp(run->kernel, SATTN_OP_tanh)};
}

/* ---- a problem */

float gru_random_part(test_random *random)
{
    return (float)(test_random_below(random, 1 << 24) - (1 << 23)) * 0x1p-23f;
}

static float random_number(test_random *random)
{
    static const float sizes[] = {4, 4, 4, 4, 1, 1, 20, 120, 1e-3f, 1e-9f, 1e-39f, 0};
    const float part = gru_random_part(random);
    return part * sizes[test_random_below(random, (int64_t)(sizeof sizes / sizeof sizes[0]))];
}

void gru_problem_make(gru_problem *p, const gru_shape *shape, uint64_t seed)
{
    test_random random = {.seed = seed};
    *p = (gru_problem){.shape = *shape};
    for (int which = 0; which < GRU_OPERANDS; ++which) {
        const int64_t columns = (which <= GRU_GATES_H ? 3 : 1) * shape->n_hidden;
        test_extents extents = test_extents_f32(1, shape->i1, columns, shape->gap[which]);
        if (which != GRU_NEXT && shape->repeats[which])
            extents.row_stride = 0;
        p->operand[which] = test_operand_make_part(&extents, shape->i0, shape->i1, shape->placement,
                                                   shape->distance[which]);
        for (int64_t i = shape->i0; which != GRU_NEXT && i < shape->i1; ++i)
            for (int64_t j = 0; j < columns; ++j)
                test_operand_f32(&p->operand[which], 0, i)[j] = random_number(&random);
    }
}

void gru_problem_free(gru_problem *p)
{
    for (int which = 0; which < GRU_OPERANDS; ++which)
        test_operand_free(&p->operand[which]);
}

static test_operand *problem_output(gru_problem *p)
{
    return &p->operand[p->shape.in_place ? GRU_STATE : GRU_NEXT];
}

void gru_problem_run(gru_problem *p, test_run *run)
{
    const int64_t n = p->shape.n_hidden;
    for (int which = 0; which < GRU_OPERANDS; ++which)
        test_operand_seal(&p->operand[which]);
    const sattn_gru_args args = {.gates_x = p->operand[GRU_GATES_X].data,
                                 .gates_h = p->operand[GRU_GATES_H].data,
                                 .h = p->operand[GRU_STATE].data,
                                 .y = problem_output(p)->data,
                                 .gates_x_stride = p->operand[GRU_GATES_X].extents.row_stride,
                                 .gates_h_stride = p->operand[GRU_GATES_H].extents.row_stride,
                                 .h_stride = p->operand[GRU_STATE].extents.row_stride,
                                 .y_stride = problem_output(p)->extents.row_stride,
                                 .i0 = p->shape.i0,
                                 .i1 = p->shape.i1,
                                 .n_hidden = n};
    run->kernel->fn.gru(&args);
}

/* The seven numbers of an element, as they were before the call. */
static gru_numbers problem_numbers(const gru_problem *p, int64_t i, int64_t j)
{
    gru_numbers numbers;
    const float *const x = test_operand_sealed_f32(&p->operand[GRU_GATES_X], 0, i);
    const float *const s = test_operand_sealed_f32(&p->operand[GRU_GATES_H], 0, i);
    for (int gate = 0; gate < 3; ++gate) {
        numbers.gates_x[gate] = x[gate * p->shape.n_hidden + j];
        numbers.gates_h[gate] = s[gate * p->shape.n_hidden + j];
    }
    numbers.h = test_operand_sealed_f32(&p->operand[GRU_STATE], 0, i)[j];
    return numbers;
}

bool gru_is_same(float a, float b)
{
    return math_bits(a) == math_bits(b) || (math_is_nan(a) && math_is_nan(b));
}

float gru_alone(const sattn_kernel *kernel, const gru_numbers *numbers)
{
    float y = -1;
    const sattn_gru_args args = {.gates_x = numbers->gates_x,
                                 .gates_h = numbers->gates_h,
                                 .h = &numbers->h,
                                 .y = &y,
                                 .i1 = 1,
                                 .n_hidden = 1};
    kernel->fn.gru(&args);
    return y;
}

void gru_check_element(const gru_judge *judge, const gru_numbers *of, float got, int64_t i,
                       int64_t j)
{
    const sattn_ref_gru_element want = sattn_ref_gru(of->gates_x, of->gates_h, of->h);
    const double bound = sattn_verify_gates_error(&want, (double)of->gates_h[2], (double)of->h,
                                                  judge->sigmoid_ulp, judge->tanh_ulp);
    const bool is_right = isnan(want.y)   ? math_is_nan(got)
                          : isinf(want.y) ? want.y == (double)got
                                          : fabs((double)got - want.y) <= bound;
    if (!is_right)
        test_fail(
            judge->run,
            "row %lld, element %lld: x %.9g %.9g %.9g, h-gates %.9g %.9g %.9g, h %.9g: %.9g, not "
            "%.9g; off by %g, the bound is %g",
            (long long)i, (long long)j, (double)of->gates_x[0], (double)of->gates_x[1],
            (double)of->gates_x[2], (double)of->gates_h[0], (double)of->gates_h[1],
            (double)of->gates_h[2], (double)of->h, (double)got, want.y, fabs((double)got - want.y),
            bound);
}

void gru_problem_check(gru_problem *p, test_run *run)
{
    const gru_judge judge = gru_judge_of(run);
    test_operand *const out = problem_output(p);
    for (int64_t i = p->shape.i0; i < p->shape.i1; ++i)
        for (int64_t j = 0; j < p->shape.n_hidden; ++j) {
            const gru_numbers numbers = problem_numbers(p, i, j);
            const float got = test_operand_f32(out, 0, i)[j];
            gru_check_element(&judge, &numbers, got, i, j);
            if (!gru_is_same(got, gru_alone(run->kernel, &numbers)))
                test_fail(run, "row %lld, element %lld of %lld: other bits than alone",
                          (long long)i, (long long)j, (long long)p->shape.n_hidden);
        }
    test_operand_accept(out, p->shape.i0, p->shape.i1);
    for (int which = 0; which < GRU_OPERANDS; ++which) {
        int64_t at;
        if (!test_operand_is_unchanged(&p->operand[which], &at))
            test_fail(run, "operand %d was written to outside the output, at byte %lld", which,
                      (long long)at);
    }
}
