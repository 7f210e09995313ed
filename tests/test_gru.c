/* SPDX-License-Identifier: MIT
 *
 * test_gru.c: one gru kernel against the kernel contract (kernels/contract.h), the oracle and the
 * bound that docs/numerics.md derives: every width around its vectors, rows and strides, between
 * guard pages and at any alignment, in place, special values, and an element's bits wherever it
 * stands. */
#include "kernels/ref/ref.h"
#include "tests/support/buffers.h"
#include "tests/support/harness.h"
#include "tests/support/math_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the bound */

static const double unit = 0x1p-24;

/* What the registry states of the function that a gru kernel has in common with another row: the
 * one of the same ISA and tag. */
static double stated_ulp(const sattn_kernel *gru, const char *op)
{
    char name[128];
    snprintf(name, sizeof name, "sattn_%s_%s", op, gru->name + strlen("sattn_gru_"));
    const sattn_kernel *const row = sattn_kernel_by_name(name);
    return row ? sattn_kernel_stated_ulp(row) : NAN;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Both functions are monotone: how far their value moves where the argument is off by `by`. */
static double moved(double (*f)(double), double x, double by)
{
    return fmax(fabs(f(x + by) - f(x)), fabs(f(x - by) - f(x)));
}

/* Error of sigmoid or tanh of an argument that is off by `by`; values are at most 1 in size. */
static double function_error(double (*f)(double), double x, double by, double ulp)
{
    const double shift = isinf(x) ? 0 : moved(f, x, by);
    return shift + ulp * fmin(math_ulp(fabs(f(x)) + shift), unit);
}

/* docs/numerics.md, "gru" */
static double gru_bound(const sattn_ref_gru_element *e, float state_gate, float h,
                        double sigmoid_ulp, double tanh_ulp)
{
    const double reset =
        function_error(sigmoid, e->reset_sum, unit * fabs(e->reset_sum), sigmoid_ulp);
    const double update =
        function_error(sigmoid, e->update_sum, unit * fabs(e->update_sum), sigmoid_ulp);
    const double product = reset * fabs((double)state_gate);
    const double sum = product + unit * (fabs(e->candidate_sum) + product) + 0x1p-150;
    const double candidate = function_error(tanh, e->candidate_sum, sum, tanh_ulp);
    const double way = fabs((double)h - e->candidate);
    const double before = candidate * (1 - e->update + update) + update * way +
                          unit * (e->update + update) * (way + candidate);
    return before + unit * (fabs(e->y) + before) + 0x1p-150;
}

/* ---- a problem */

typedef struct gru_shape {
    int64_t n_hidden, i0, i1;
    int64_t gap[4]; /* elements behind each row of gates_x, gates_h, h and y */
    bool in_place;
    test_placement placement;
    size_t distance[4]; /* bytes from the flush side */
} gru_shape;

enum { GATES_X, GATES_H, STATE, NEXT, N_OPERANDS };

typedef struct gru_problem {
    gru_shape shape;
    test_operand operand[N_OPERANDS];
} gru_problem;

/* Numbers of all sizes, those most often where gates are neither 0 nor 1. */
static float random_number(test_random *random)
{
    static const float sizes[] = {4, 4, 4, 4, 1, 1, 20, 120, 1e-3f, 1e-9f, 1e-39f, 0};
    const float part = (float)(test_random_below(random, 1 << 24) - (1 << 23)) * 0x1p-23f;
    return part * sizes[test_random_below(random, (int64_t)COUNT(sizes))];
}

static void problem_make(gru_problem *p, const gru_shape *shape, uint64_t seed)
{
    test_random random = {.seed = seed};
    *p = (gru_problem){.shape = *shape};
    for (int which = 0; which < N_OPERANDS; ++which) {
        const int64_t columns = (which <= GATES_H ? 3 : 1) * shape->n_hidden;
        const test_extents extents = test_extents_f32(1, shape->i1, columns, shape->gap[which]);
        p->operand[which] = test_operand_make_part(&extents, shape->i0, shape->i1, shape->placement,
                                                   shape->distance[which]);
        for (int64_t i = shape->i0; which != NEXT && i < shape->i1; ++i)
            for (int64_t j = 0; j < columns; ++j)
                test_operand_f32(&p->operand[which], 0, i)[j] = random_number(&random);
    }
}

static void problem_free(gru_problem *p)
{
    for (int which = 0; which < N_OPERANDS; ++which)
        test_operand_free(&p->operand[which]);
}

static test_operand *problem_output(gru_problem *p)
{
    return &p->operand[p->shape.in_place ? STATE : NEXT];
}

static void problem_run(gru_problem *p, test_run *run)
{
    const int64_t n = p->shape.n_hidden;
    for (int which = 0; which < N_OPERANDS; ++which)
        test_operand_seal(&p->operand[which]);
    const sattn_gru_args args = {.gates_x = p->operand[GATES_X].data,
                                 .gates_h = p->operand[GATES_H].data,
                                 .h = p->operand[STATE].data,
                                 .y = problem_output(p)->data,
                                 .gates_x_stride = 3 * n + p->shape.gap[GATES_X],
                                 .gates_h_stride = 3 * n + p->shape.gap[GATES_H],
                                 .h_stride = n + p->shape.gap[STATE],
                                 .y_stride = n + p->shape.gap[p->shape.in_place ? STATE : NEXT],
                                 .i0 = p->shape.i0,
                                 .i1 = p->shape.i1,
                                 .n_hidden = n};
    run->kernel->fn.gru(&args);
}

/* The seven numbers of an element, as they were before the call. */
typedef struct gru_numbers {
    float gates_x[3], gates_h[3], h;
} gru_numbers;

static gru_numbers problem_numbers(const gru_problem *p, int64_t i, int64_t j)
{
    gru_numbers numbers;
    const float *const x = test_operand_sealed_f32(&p->operand[GATES_X], 0, i);
    const float *const s = test_operand_sealed_f32(&p->operand[GATES_H], 0, i);
    for (int gate = 0; gate < 3; ++gate) {
        numbers.gates_x[gate] = x[gate * p->shape.n_hidden + j];
        numbers.gates_h[gate] = s[gate * p->shape.n_hidden + j];
    }
    numbers.h = test_operand_sealed_f32(&p->operand[STATE], 0, i)[j];
    return numbers;
}

static bool is_same(float a, float b)
{
    return math_bits(a) == math_bits(b) || (math_is_nan(a) && math_is_nan(b));
}

/* The element as a row of one. */
static float next_alone(const sattn_kernel *kernel, const gru_numbers *numbers)
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

static void check_element(test_run *run, const gru_numbers *of, float got, const char *where)
{
    const double sigmoid_ulp = stated_ulp(run->kernel, "sigmoid");
    const double tanh_ulp = stated_ulp(run->kernel, "tanh");
    const sattn_ref_gru_element want = sattn_ref_gru(of->gates_x, of->gates_h, of->h);
    const double bound = gru_bound(&want, of->gates_h[2], of->h, sigmoid_ulp, tanh_ulp);
    const bool is_right = isnan(want.y)   ? math_is_nan(got)
                          : isinf(want.y) ? want.y == (double)got
                                          : fabs((double)got - want.y) <= bound;
    if (!is_right)
        test_fail(
            run,
            "%s: x %.9g %.9g %.9g, h-gates %.9g %.9g %.9g, h %.9g: %.9g, not %.9g; off by %g, "
            "the bound is %g",
            where, (double)of->gates_x[0], (double)of->gates_x[1], (double)of->gates_x[2],
            (double)of->gates_h[0], (double)of->gates_h[1], (double)of->gates_h[2], (double)of->h,
            (double)got, want.y, fabs((double)got - want.y), bound);
}

/* Every element against the oracle and against itself alone, and nothing else written. */
static void problem_check(gru_problem *p, test_run *run)
{
    test_operand *const out = problem_output(p);
    for (int64_t i = p->shape.i0; i < p->shape.i1; ++i)
        for (int64_t j = 0; j < p->shape.n_hidden; ++j) {
            const gru_numbers numbers = problem_numbers(p, i, j);
            const float got = test_operand_f32(out, 0, i)[j];
            char where[64];
            snprintf(where, sizeof where, "row %lld, element %lld of %lld", (long long)i,
                     (long long)j, (long long)p->shape.n_hidden);
            check_element(run, &numbers, got, where);
            if (!is_same(got, next_alone(run->kernel, &numbers)))
                test_fail(run, "%s: other bits than alone", where);
        }
    test_operand_accept(out, p->shape.i0, p->shape.i1);
    for (int which = 0; which < N_OPERANDS; ++which) {
        int64_t at;
        if (!test_operand_is_unchanged(&p->operand[which], &at))
            test_fail(run, "operand %d was written to outside the output, at byte %lld", which,
                      (long long)at);
    }
}

static void check_shape(test_run *run, const gru_shape *shape)
{
    gru_problem problem;
    problem_make(&problem, shape, test_step_seed(run));
    problem_run(&problem, run);
    problem_check(&problem, run);
    problem_free(&problem);
}

/* ---- shapes */

static void test_widths(test_run *run)
{
    const int64_t dense = 3 * (run->kernel->tile_d > 16 ? run->kernel->tile_d : 16) + 3;
    for (int64_t n = 0; n <= 1025; n += n < dense ? 1 : 26)
        for (int variant = 0; variant < 4; ++variant) {
            const gru_shape shape = {.n_hidden = n,
                                     .i1 = 1 + variant / 2,
                                     .in_place = variant & 1,
                                     .placement = variant & 1 ? TEST_START_FLUSH : TEST_END_FLUSH};
            if (test_step(run, TEST_SAMPLED))
                check_shape(run, &shape);
        }
    static const int64_t usual[] = {127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025};
    for (size_t at = 0; at < COUNT(usual); ++at) {
        const gru_shape shape = {.n_hidden = usual[at], .i1 = 1, .placement = TEST_END_FLUSH};
        if (test_step(run, TEST_SAMPLED))
            check_shape(run, &shape);
    }
}

/* Rows [i0, i1) of which those before and behind are not there. */
static void test_rows(test_run *run)
{
    static const int64_t widths[] = {1, 5, 16, 37, 70};
    for (size_t width = 0; width < COUNT(widths); ++width)
        for (int64_t i0 = 0; i0 < 7; i0 += 3)
            for (int64_t count = 0; count < 5; ++count) {
                const gru_shape shape = {.n_hidden = widths[width],
                                         .i0 = i0,
                                         .i1 = i0 + count,
                                         .in_place = count & 1,
                                         .placement =
                                             count & 2 ? TEST_START_FLUSH : TEST_END_FLUSH};
                if (test_step(run, TEST_SAMPLED))
                    check_shape(run, &shape);
            }
}

static void test_layouts(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        gru_shape shape = {.n_hidden = 1 + test_random_below(&random, 100),
                           .i0 = test_random_below(&random, 3),
                           .in_place = test_random_chance(&random, 50),
                           .placement =
                               test_random_chance(&random, 50) ? TEST_START_FLUSH : TEST_END_FLUSH};
        shape.i1 = shape.i0 + 1 + test_random_below(&random, 4);
        for (int which = 0; which < N_OPERANDS; ++which)
            shape.gap[which] = test_random_below(&random, 20);
        check_shape(run, &shape);
    }
}

static void test_alignment(test_run *run)
{
    for (int which = 0; which < N_OPERANDS; ++which)
        for (size_t distance = 0; distance < 64; distance += 4) {
            gru_shape shape = {
                .n_hidden = 2 * run->kernel->tile_d + 5, .i1 = 2, .placement = TEST_END_FLUSH};
            shape.distance[which] = distance;
            if (test_step(run, TEST_SAMPLED))
                check_shape(run, &shape);
        }
}

/* ---- values */

/* The same numbers give the same bits at every place of a row. */
static void test_equal_places(test_run *run)
{
    for (int variant = 0; variant < 40; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const gru_shape shape = {.n_hidden = 1 + test_random_below(&random, 300), .i1 = 2};
        gru_problem problem;
        problem_make(&problem, &shape, random.seed);
        for (int which = GATES_X; which <= STATE; ++which)
            for (int64_t i = 0; i < 2; ++i)
                for (int gate = 0; gate < (which == STATE ? 1 : 3); ++gate) {
                    float *const to =
                        test_operand_f32(&problem.operand[which], 0, i) + gate * shape.n_hidden;
                    for (int64_t j = 0; j < shape.n_hidden; ++j)
                        to[j] =
                            test_operand_f32(&problem.operand[which], 0, 0)[gate * shape.n_hidden];
                }
        problem_run(&problem, run);
        const float *const first = test_operand_f32(&problem.operand[NEXT], 0, 0);
        for (int64_t i = 0; i < 2; ++i)
            for (int64_t j = 0; j < shape.n_hidden; ++j)
                if (!is_same(test_operand_f32(&problem.operand[NEXT], 0, i)[j], first[0]))
                    test_fail(run, "equal numbers, other bits at row %lld, element %lld",
                              (long long)i, (long long)j);
        problem_check(&problem, run);
        problem_free(&problem);
    }
}

/* Row of a number of elements that are each a list of seven numbers. */
static void check_list(test_run *run, const gru_numbers *list, int64_t n)
{
    float *const x = test_allocate((size_t)n * 8 * sizeof(float));
    float *const s = x + 3 * n, *const h = s + 3 * n, *const y = h + n;
    for (int64_t j = 0; j < n; ++j) {
        for (int gate = 0; gate < 3; ++gate) {
            x[gate * n + j] = list[j].gates_x[gate];
            s[gate * n + j] = list[j].gates_h[gate];
        }
        h[j] = list[j].h;
    }
    const sattn_gru_args args = {
        .gates_x = x, .gates_h = s, .h = h, .y = y, .i1 = 1, .n_hidden = n};
    run->kernel->fn.gru(&args);
    for (int64_t j = 0; j < n; ++j)
        check_element(run, &list[j], y[j], "in a list");
    free(x);
}

enum { LIST = 2048 };

/* All combinations of these for the seven numbers: where one of them is NaN or infinite the oracle
 * says what is due. */
static void test_specials(test_run *run)
{
    static const float values[] = {0.0f, -1.5f, 2.0f, 200.0f, -200.0f, INFINITY, -INFINITY, NAN};
    static gru_numbers list[LIST];
    const int64_t stride = run->divisor > 1 ? 37 * run->divisor : 1;
    const int64_t total = 8 * 8 * 8 * 8 * 8 * 8 * 8;
    for (int64_t first = 0; first < total; first += LIST * stride) {
        int64_t n = 0;
        for (int64_t at = first; n < LIST && at < total; at += stride, ++n) {
            for (int gate = 0; gate < 3; ++gate) {
                list[n].gates_x[gate] = values[at >> (3 * gate) & 7];
                list[n].gates_h[gate] = values[at >> (9 + 3 * gate) & 7];
            }
            list[n].h = values[at >> 18 & 7];
        }
        if (test_step(run, TEST_ALWAYS))
            check_list(run, list, n);
    }
}

/* A gate at its end is 0 or 1: the state stays as it is, or is the candidate. */
static void check_gate_ends(test_run *run, float x, float h)
{
    const float tanh_of_x = next_alone(run->kernel, &(gru_numbers){{0, -200, x}, {0, 0, 0}, 0});
    const struct {
        gru_numbers of;
        float y;
    } cases[] = {
        {{{0, -INFINITY, x}, {0, 0, 0}, h}, tanh_of_x},    /* z = 0 */
        {{{-INFINITY, -200, x}, {0, 0, 9}, h}, tanh_of_x}, /* r = 0 */
        {{{INFINITY, -200, 0}, {0, 0, x}, h}, tanh_of_x},  /* r = 1 */
        {{{200, -200, 0}, {0, 0, x}, h}, tanh_of_x},
        {{{0, -200, INFINITY}, {0, 0, 3}, h}, 1.0f}, /* n = 1 */
        {{{0, -200, -INFINITY}, {0, 0, 3}, h}, -1.0f},
        {{{0, INFINITY, INFINITY}, {0, 0, 0}, 1.0f}, 1.0f}, /* z = 1, n = h */
        {{{0, INFINITY, 0}, {0, 0, 0}, h}, h},              /* z = 1, n = 0 */
        {{{0, 200, 0}, {0, 0, 0}, h}, h},
    };
    for (size_t at = 0; at < COUNT(cases); ++at) {
        const float got = next_alone(run->kernel, &cases[at].of);
        if (got != cases[at].y)
            test_fail(run, "gates at their ends, case %zu, x %g, h %g: %.9g instead of %.9g", at,
                      (double)x, (double)h, (double)got, (double)cases[at].y);
    }
}

static void test_gate_ends(test_run *run)
{
    static const float states[] = {0.0f, 0.25f, -1.0f, 3.0f, 1e-30f, 1e30f, -FLT_MAX};
    static const float inputs[] = {0.0f, 0.5f, -0.125f, 2.0f, -30.0f};
    for (size_t state = 0; state < COUNT(states); ++state)
        for (size_t input = 0; input < COUNT(inputs); ++input)
            if (test_step(run, TEST_ALWAYS))
                check_gate_ends(run, inputs[input], states[state]);
}

/* Numbers of every size, a list at a time. */
static void test_sizes(test_run *run)
{
    static const float sizes[] = {1e-38f, 1e-6f, 0.1f, 1, 5, 30, 100, 1e4f, 1e20f, 3e38f};
    static gru_numbers list[LIST];
    for (size_t x = 0; x < COUNT(sizes); ++x)
        for (size_t s = 0; s < COUNT(sizes); ++s)
            for (size_t h = 0; h < COUNT(sizes); h += 3) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                test_random random = {.seed = test_step_seed(run)};
                for (int at = 0; at < LIST; ++at) {
                    float part[7];
                    for (int k = 0; k < 7; ++k)
                        part[k] =
                            (float)(test_random_below(&random, 1 << 24) - (1 << 23)) * 0x1p-23f;
                    for (int gate = 0; gate < 3; ++gate) {
                        list[at].gates_x[gate] = part[gate] * sizes[x];
                        list[at].gates_h[gate] = part[3 + gate] * sizes[s];
                    }
                    list[at].h = part[6] * sizes[h];
                }
                check_list(run, list, LIST);
            }
}

/* ---- floating-point control */

/* With flushing on, numbers below FLT_MIN may count as 0; the control word is as before. */
static void test_fp_state(test_run *run)
{
    const gru_shape shape = {.n_hidden = 1000, .i1 = 1};
    if (!test_step(run, TEST_ALWAYS))
        return;
    gru_problem problem;
    problem_make(&problem, &shape, test_step_seed(run));
    const uint64_t before = test_fp_control();
    problem_run(&problem, run);
    const uint64_t after = test_fp_control();
    static float plain[1000];
    memcpy(plain, problem.operand[NEXT].data, sizeof plain);
    test_fp_control_set(test_fp_control_flushing());
    const uint64_t flushing = test_fp_control(); /* an emulated CPU may not hold all of it */
    problem_run(&problem, run);
    const uint64_t after_flushing = test_fp_control();
    test_fp_control_set(before);
    if (after != before || after_flushing != flushing)
        test_fail(run, "the floating-point control word was changed");
    for (int64_t j = 0; j < shape.n_hidden; ++j) {
        const float flushed = test_operand_f32(&problem.operand[NEXT], 0, 0)[j];
        /* Each gate, product and result may lose FLT_MIN, of which numbers of up to 120 depend. */
        const double off = fabs((double)flushed - (double)plain[j]);
        if (!is_same(flushed, plain[j]) && !(off <= 256 * (double)FLT_MIN))
            test_fail(run, "with flushing on, element %lld is %a instead of %a", (long long)j,
                      (double)flushed, (double)plain[j]);
    }
    problem_free(&problem);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"widths", test_widths},
        {"rows", test_rows},
        {"layouts", test_layouts},
        {"alignment", test_alignment},
        {"equal-places", test_equal_places},
        {"specials", test_specials},
        {"gate-ends", test_gate_ends},
        {"sizes", test_sizes},
        {"fp-state", test_fp_state},
    };
    return test_main_of(argc, argv, SATTN_OP_gru, groups, COUNT(groups));
}
