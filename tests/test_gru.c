/* SPDX-License-Identifier: MIT
 *
 * test_gru.c: one gru kernel against the kernel contract (kernels/contract.h), the oracle and its
 * bound: every width around its vectors, rows and strides, between guard pages and at any
 * alignment, in place, special values, and an element's bits wherever it stands. */
#include "tests/support/gru_problem.h"
#include "tests/support/math_reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- shapes */

static void check_shape(test_run *run, const gru_shape *shape)
{
    gru_problem problem;
    gru_problem_make(&problem, shape, test_step_seed(run));
    gru_problem_run(&problem, run);
    gru_problem_check(&problem, run);
    gru_problem_free(&problem);
}

static void test_widths(test_run *run)
{
    const int64_t dense = 3 * (run->kernel->tile_d > 16 ? run->kernel->tile_d : 16) + 3;
    for (int64_t n = 0; n <= 1025; n += n < dense ? 1 : 26)
        for (int variant = 0; variant < 4; ++variant) {
            const gru_shape shape = {.n_hidden = n,
                                     .i1 = 1 + variant / 2,
                                     .in_place = variant == 1 || variant == 2,
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
        for (int which = 0; which < GRU_OPERANDS; ++which)
            shape.gap[which] = test_random_below(&random, 20);
        check_shape(run, &shape);
    }
}

/* Some inputs, or all, with one row for all rows of the call. */
static void test_repeats(test_run *run)
{
    for (int inputs = 1; inputs < 8; ++inputs)
        for (int64_t n_hidden = 1; n_hidden < 80; n_hidden += 13) {
            const gru_shape shape = {
                .n_hidden = n_hidden,
                .i0 = n_hidden % 2,
                .i1 = 4,
                .repeats = {(inputs & 1) != 0, (inputs & 2) != 0, (inputs & 4) != 0},
                .in_place = inputs < 4 && n_hidden % 3 == 0,
                .placement = n_hidden & 1 ? TEST_START_FLUSH : TEST_END_FLUSH};
            if (test_step(run, TEST_SAMPLED))
                check_shape(run, &shape);
        }
}

static void test_alignment(test_run *run)
{
    for (int which = 0; which < GRU_OPERANDS; ++which)
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
        gru_problem_make(&problem, &shape, random.seed);
        for (int which = GRU_GATES_X; which <= GRU_STATE; ++which)
            for (int64_t i = 0; i < 2; ++i)
                for (int gate = 0; gate < (which == GRU_STATE ? 1 : 3); ++gate) {
                    float *const to =
                        test_operand_f32(&problem.operand[which], 0, i) + gate * shape.n_hidden;
                    for (int64_t j = 0; j < shape.n_hidden; ++j)
                        to[j] =
                            test_operand_f32(&problem.operand[which], 0, 0)[gate * shape.n_hidden];
                }
        gru_problem_run(&problem, run);
        const float *const first = test_operand_f32(&problem.operand[GRU_NEXT], 0, 0);
        for (int64_t i = 0; i < 2; ++i)
            for (int64_t j = 0; j < shape.n_hidden; ++j)
                if (!gru_is_same(test_operand_f32(&problem.operand[GRU_NEXT], 0, i)[j], first[0]))
                    test_fail(run, "equal numbers, other bits at row %lld, element %lld",
                              (long long)i, (long long)j);
        gru_problem_check(&problem, run);
        gru_problem_free(&problem);
    }
}

/* A row of n elements. */
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
    for (int64_t j = 0; j < n; ++j)
        y[j] = 1e9f; /* nothing of the list before */
    run->kernel->fn.gru(&args);
    const gru_judge judge = gru_judge_of(run);
    for (int64_t j = 0; j < n; ++j)
        gru_check_element(&judge, &list[j], y[j], 0, j);
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
    const float tanh_of_x = gru_alone(run->kernel, &(gru_numbers){{0, -200, x}, {0, 0, 0}, 0});
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
        const float got = gru_alone(run->kernel, &cases[at].of);
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
                        part[k] = gru_random_part(&random);
                    for (int gate = 0; gate < 3; ++gate) {
                        list[at].gates_x[gate] = part[gate] * sizes[x];
                        list[at].gates_h[gate] = part[3 + gate] * sizes[s];
                    }
                    list[at].h = part[6] * sizes[h];
                }
                check_list(run, list, LIST);
            }
}

/* An element is made by the sigmoid and the tanh of the kernel's siblings, to the bit; sums are
 * rounded once each, those with a product as well. */
static void test_steps(test_run *run)
{
    enum { N = 1000 };
    static float x[3 * N], s[3 * N], h[N], y[N], reset[N], update[N], candidate[N];
    const sattn_kernel *const sigmoid = sattn_kernel_sibling(run->kernel, SATTN_OP_sigmoid);
    const sattn_kernel *const tanh_of = sattn_kernel_sibling(run->kernel, SATTN_OP_tanh);
    if (!test_step(run, TEST_ALWAYS))
        return;
    test_random random = {.seed = test_step_seed(run)};
    for (int j = 0; j < 3 * N; ++j) {
        x[j] = 3 * gru_random_part(&random);
        s[j] = 3 * gru_random_part(&random);
    }
    for (int j = 0; j < N; ++j) {
        h[j] = gru_random_part(&random);
        reset[j] = x[j] + s[j];
        update[j] = x[N + j] + s[N + j];
    }
    math_call(sigmoid, reset, reset, N);
    math_call(sigmoid, update, update, N);
    for (int j = 0; j < N; ++j)
        candidate[j] = fmaf(reset[j], s[2 * N + j], x[2 * N + j]);
    math_call(tanh_of, candidate, candidate, N);
    const sattn_gru_args args = {
        .gates_x = x, .gates_h = s, .h = h, .y = y, .i1 = 1, .n_hidden = N};
    run->kernel->fn.gru(&args);
    for (int j = 0; j < N; ++j) {
        const float want = fmaf(update[j], h[j] - candidate[j], candidate[j]);
        if (!gru_is_same(y[j], want))
            test_fail(run, "element %d is %a, step by step %a", j, (double)y[j], (double)want);
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
    gru_problem_make(&problem, &shape, test_step_seed(run));
    const uint64_t before = test_fp_control();
    gru_problem_run(&problem, run);
    const uint64_t after = test_fp_control();
    static float plain[1000];
    memcpy(plain, problem.operand[GRU_NEXT].data, sizeof plain);
    test_fp_control_set(test_fp_control_flushing());
    const uint64_t flushing = test_fp_control(); /* an emulated CPU may not hold all of it */
    gru_problem_run(&problem, run);
    const uint64_t after_flushing = test_fp_control();
    test_fp_control_set(before);
    if (after != before || after_flushing != flushing)
        test_fail(run, "the floating-point control word was changed");
    for (int64_t j = 0; j < shape.n_hidden; ++j) {
        const float flushed = test_operand_f32(&problem.operand[GRU_NEXT], 0, 0)[j];
        /* Each gate, product and result may lose FLT_MIN, of which numbers of up to 120 depend. */
        const double off = fabs((double)flushed - (double)plain[j]);
        if (!gru_is_same(flushed, plain[j]) && !(off <= 256 * (double)FLT_MIN))
            test_fail(run, "with flushing on, element %lld is %a instead of %a", (long long)j,
                      (double)flushed, (double)plain[j]);
    }
    gru_problem_free(&problem);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"widths", test_widths},       {"rows", test_rows},
        {"layouts", test_layouts},     {"repeats", test_repeats},
        {"alignment", test_alignment}, {"equal-places", test_equal_places},
        {"specials", test_specials},   {"gate-ends", test_gate_ends},
        {"sizes", test_sizes},         {"steps", test_steps},
        {"fp-state", test_fp_state},
    };
    return test_main_of(argc, argv, SATTN_OP_gru, groups, COUNT(groups));
}
