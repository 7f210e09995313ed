/* SPDX-License-Identifier: MIT
 *
 * test_additive.c: one additive kernel against the kernel contract (kernels/contract.h) and the
 * oracle: every size and layout, guard pages, equal bits where they are promised, values that are
 * not finite, and case N36. How exact its tanh is over all floats is test_sweep.c's question. */
#include "tests/support/additive_problem.h"

#include "bench/verify/inputs.h"
#include "tests/support/claim.h"
#include "tests/support/math_reference.h"
#include "tests/support/tile_edges.h"

#include <stdio.h>
#include <string.h>

enum { EVERY_ROW = 20, EVERY_KEY = 40, EVERY_WIDTH = 150 };

static void check_step(test_run *run, const additive_shape *shape)
{
    additive_problem_check(run, shape, test_step_seed(run));
}

/* As it is, and with all the rest at random. */
static void check_both(test_run *run, additive_shape shape)
{
    if (test_step(run, TEST_SAMPLED))
        check_step(run, &shape);
    if (test_step(run, TEST_SAMPLED)) {
        test_random random = {.seed = test_step_seed(run)};
        additive_shape_vary(&shape, &random);
        check_step(run, &shape);
    }
}

/* ---- sizes */

static void test_tiles(test_run *run)
{
    int64_t rows[N_EDGES], keys[N_EDGES], features[N_EDGES];
    tile_edges(run->kernel->tile_rows, rows);
    tile_edges(run->kernel->tile_keys, keys);
    tile_edges(run->kernel->tile_d, features);
    for (int at = 0; at < N_EDGES * N_EDGES * N_EDGES; ++at) {
        additive_shape shape =
            additive_shape_plain(rows[at % 4], keys[at / 4 % 4], features[at / 16]);
        shape.placement = side_of(at);
        check_both(run, shape);
    }
}

static void test_rows(test_run *run)
{
    for (int64_t n_rows = 1; n_rows <= EVERY_ROW; ++n_rows) {
        additive_shape shape = additive_shape_plain(n_rows, 11, 10);
        shape.placement = side_of(n_rows);
        check_both(run, shape);
    }
}

static void test_keys(test_run *run)
{
    for (int64_t n_keys = 1; n_keys <= EVERY_KEY; ++n_keys) {
        additive_shape shape = additive_shape_plain(1 + n_keys % 3, n_keys, 9);
        shape.placement = side_of(n_keys);
        check_both(run, shape);
    }
}

static void test_features(test_run *run)
{
    static const int64_t wide[] = {255, 256, 257, 383, 509, 512, 513, 1021, 1024, 2048, 4099};
    for (int64_t at = 0; at < EVERY_WIDTH + (int64_t)COUNT(wide); ++at) {
        const int64_t width = at < EVERY_WIDTH ? at + 1 : wide[at - EVERY_WIDTH];
        additive_shape shape = additive_shape_plain(1 + width % 3, 1 + width * 5 % 11, width);
        shape.placement = side_of(at);
        shape.row_gap[ADDITIVE_K] = width % 4;
        check_both(run, shape);
    }
}

/* The lecture's sizes and odd ones: one decoder state or a few against all encoder states. */
static void test_lecture(test_run *run)
{
    static const int64_t sizes[][3] = {{1, 1, 32},    {1, 49, 512},  {1, 196, 512}, {1, 1000, 64},
                                       {1, 4096, 33}, {7, 131, 61},  {32, 49, 32},  {1, 1, 1009},
                                       {61, 7, 17},   {2, 257, 127}, {257, 1, 1}};
    for (size_t at = 0; at < COUNT(sizes); ++at)
        check_both(run, additive_shape_plain(sizes[at][0], sizes[at][1], sizes[at][2]));
}

/* Gaps, zero strides and misaligned starts, one operand at a time, on both flush sides. */
static void test_layouts(test_run *run)
{
    for (int side = 0; side < 2; ++side)
        for (int operand = 0; operand < ADDITIVE_OPERANDS; ++operand)
            for (int variant = 1; variant < 16; ++variant) {
                additive_shape shape = additive_shape_plain(3, 13, 20);
                shape.placement = side_of(side);
                shape.distance[operand] = (size_t)(4 * variant);
                shape.row_gap[operand] = variant;
                shape.k_repeats = variant == 1 || variant == 4;
                shape.q_repeats = variant == 2 || variant == 4;
                if (test_step(run, TEST_SAMPLED))
                    check_step(run, &shape);
            }
}

/* Sub-ranges of rows and keys leave the others alone and are not touched by them. */
static void test_ranges(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        additive_shape shape = additive_shape_plain(1 + test_random_below(&random, 20),
                                                    1 + test_random_below(&random, 60),
                                                    1 + test_random_below(&random, 40));
        additive_shape_vary(&shape, &random);
        shape.i0 = test_random_below(&random, shape.n_rows + 1);
        shape.i1 = shape.i0 + test_random_below(&random, shape.n_rows - shape.i0 + 1);
        shape.j0 = test_random_below(&random, shape.n_keys + 1);
        shape.j1 = shape.j0 + test_random_below(&random, shape.n_keys - shape.j0 + 1);
        additive_problem_check(run, &shape, random.seed);
    }
}

/* No keys, no rows, empty ranges in the middle; without keys, K may be NULL. */
static void test_empty(test_run *run)
{
    for (int variant = 0; variant < 16; ++variant) {
        const int kind = variant % 4;
        additive_shape shape =
            additive_shape_plain(kind == 1 ? 0 : 5, kind == 0 ? 0 : 9, 1 + 8 * (variant / 4));
        if (kind == 2)
            shape.i0 = shape.i1 = 3;
        if (kind == 3)
            shape.j0 = shape.j1 = 4;
        if (!test_step(run, TEST_ALWAYS))
            continue;
        additive_problem problem;
        additive_problem_make(&problem, run, &shape, test_step_seed(run));
        if (kind == 0)
            problem.args.k = NULL;
        additive_problem_run(&problem, run);
        additive_problem_verify(&problem, run);
        additive_problem_free(&problem);
    }
}

static void test_anything(test_run *run)
{
    for (int variant = 0; variant < 600; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_rows = test_random_chance(&random, 20) ? 40 : 4;
        const int64_t most_keys = test_random_chance(&random, 10) ? 200 : 30;
        const int64_t most_features = test_random_chance(&random, 10) ? 600 : 70;
        additive_shape shape = additive_shape_plain(1 + test_random_below(&random, most_rows),
                                                    1 + test_random_below(&random, most_keys),
                                                    1 + test_random_below(&random, most_features));
        additive_shape_vary(&shape, &random);
        additive_problem_check(run, &shape, random.seed);
    }
}

/* A kernel neither sets nor clears flushing, and is right with it and without it. */
static void test_fp_state(test_run *run)
{
    const uint64_t plain = test_fp_control();
    for (int variant = 0; variant < 12; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const additive_shape shape = additive_shape_plain(1 + variant, 30, 9 + 5 * variant);
        additive_problem problem;
        additive_problem_make(&problem, run, &shape, test_step_seed(run));
        test_fp_control_set(test_fp_control_flushing());
        additive_problem_run(&problem, run); /* fails if the state is another afterwards */
        test_fp_control_set(plain);
        additive_problem_verify(&problem, run);
        additive_problem_free(&problem);
    }
}

/* ---- bits */

static void compare_part(test_run *run, const additive_problem *all, const additive_shape *part)
{
    additive_problem some;
    additive_problem_make(&some, run, part, all->seed);
    additive_problem_run(&some, run);
    additive_same_bits(run, &some, all, "in another range");
    additive_problem_free(&some);
}

/* A score is the same alone, and however rows and keys are cut. */
static void test_cuts(test_run *run)
{
    for (int variant = 0; variant < 40; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        additive_shape shape = additive_shape_plain(1 + test_random_below(&random, 9),
                                                    1 + test_random_below(&random, 40),
                                                    1 + test_random_below(&random, 70));
        additive_shape_vary(&shape, &random);
        additive_problem all;
        additive_problem_make(&all, run, &shape, random.seed);
        additive_problem_run(&all, run);
        for (int64_t i = 0; i < shape.n_rows; ++i) {
            additive_shape part = shape;
            part.i0 = i;
            part.i1 = i + 1;
            compare_part(run, &all, &part);
        }
        for (int64_t j = 0; j < shape.n_keys; j += 1 + test_random_below(&random, 3)) {
            additive_shape part = shape;
            part.j0 = j;
            part.j1 = j + 1;
            compare_part(run, &all, &part);
            part.j0 = test_random_below(&random, shape.n_keys);
            part.j1 = part.j0 + 1 + test_random_below(&random, shape.n_keys - part.j0);
            compare_part(run, &all, &part);
        }
        additive_problem_free(&all);
    }
}

/* The same query and the same key give the same bits at every place of the score matrix. */
static void test_equal_places(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        additive_shape shape = additive_shape_plain(1 + test_random_below(&random, 9),
                                                    1 + test_random_below(&random, 40),
                                                    1 + test_random_below(&random, 70));
        additive_shape_vary(&shape, &random);
        shape.data = ADDITIVE_EQUAL;
        additive_problem problem;
        additive_problem_make(&problem, run, &shape, random.seed);
        additive_problem_run(&problem, run);
        additive_problem_verify(&problem, run);
        const uint32_t first = math_bits(additive_scores(&problem, 0)[0]);
        for (int64_t at = 0; at < shape.n_rows * shape.n_keys; ++at) {
            const float *const row = additive_scores(&problem, at / shape.n_keys);
            if (math_bits(row[at % shape.n_keys]) != first) {
                additive_problem_fail(&problem, run, "equal queries and keys, other bits");
                break;
            }
        }
        additive_problem_free(&problem);
    }
}

/* At other addresses and with other strides. */
static void test_alignment(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        additive_shape shape = additive_shape_plain(1 + test_random_below(&random, 9),
                                                    1 + test_random_below(&random, 40),
                                                    1 + test_random_below(&random, 90));
        additive_problem plain, shifted;
        additive_problem_make(&plain, run, &shape, random.seed);
        additive_problem_run(&plain, run);
        for (int operand = 0; operand < ADDITIVE_OPERANDS; ++operand) {
            shape.distance[operand] = 4 * (size_t)test_random_below(&random, 16);
            shape.row_gap[operand] = test_random_below(&random, 20);
        }
        shape.placement = side_of(variant);
        additive_problem_make(&shifted, run, &shape, random.seed);
        additive_problem_run(&shifted, run);
        additive_same_bits(run, &shifted, &plain, "at other addresses");
        additive_problem_free(&plain);
        additive_problem_free(&shifted);
    }
}

/* ---- tanh within a score */

static float score_of(const sattn_kernel *kernel, const float *q, const float *k, const float *v,
                      int64_t d)
{
    static _Alignas(64) float scratch[1 << 17];
    float score = NAN;
    const sattn_additive_args args = {
        .q = q, .k = k, .v = v, .s = &score, .i1 = 1, .j1 = 1, .d = d, .scratch = scratch};
    kernel->fn.additive(&args);
    return score;
}

/* With d = 1 and v = 1 a score is the tanh that test_sweep.c measures. It has the same bits at
 * every place of a longer row, where all other features have a weight of 0. */
static void test_lanes(test_run *run)
{
    enum { MOST = 67 };
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        float q[MOST], k[MOST], v[MOST] = {0};
        for (int x = 0; x < MOST; ++x) {
            const int scale = (int)test_random_below(&random, 30) - 26;
            q[x] = ldexpf(sattn_random_normal(random.seed, 1, (uint64_t)x), scale);
            k[x] = ldexpf(sattn_random_normal(random.seed, 2, (uint64_t)x), scale);
        }
        const int64_t d = 1 + test_random_below(&random, MOST);
        for (int64_t x = 0; x < d; ++x) {
            const float one = 1.0f;
            v[x] = one;
            const float got = score_of(run->kernel, q, k, v, d);
            const float alone = score_of(run->kernel, q + x, k + x, &one, 1);
            if (math_bits(got) != math_bits(alone))
                test_fail(run, "tanh(%a + %a) is %a in lane %lld of %lld, alone %a", (double)q[x],
                          (double)k[x], (double)got, (long long)x, (long long)d, (double)alone);
            const float sum = q[x] + k[x];
            const double want = math_reference(SATTN_OP_tanh, sum);
            const double error = math_error(SATTN_OP_tanh, sum, want, alone);
            if (sum != 0 && !(error <= sattn_kernel_stated_ulp(run->kernel)))
                test_fail(run, "tanh(%a) is %a, %g ULP off", (double)sum, (double)alone, error);
            v[x] = 0;
        }
    }
}

/* Features that lie tile_d apart meet in one accumulator of a hand-written kernel, where a fused
 * multiply-add takes the second product, not rounded by itself, to the first: in a tail of one
 * feature and in a whole vector. */
static void test_chain(test_run *run)
{
    enum { MOST_APART = 64 };
    const int64_t apart = run->kernel->tile_d;
    if (run->kernel->needs == SATTN_ISA_SCALAR || strstr(run->kernel->name, "_autovec")) {
        test_not_run(run, "a compiler decides on the chains and on what is fused");
        return;
    }
    for (int variant = 0; variant < 200 && apart <= MOST_APART; ++variant) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        const uint64_t seed = test_step_seed(run);
        float q[2 * MOST_APART], k[2 * MOST_APART], v[2 * MOST_APART] = {0};
        for (int64_t x = 0; x < 2 * apart; ++x) {
            q[x] = sattn_random_normal(seed, 1, (uint64_t)x);
            k[x] = sattn_random_normal(seed, 2, (uint64_t)x);
        }
        v[0] = sattn_random_normal(seed, 3, 0);
        v[apart] = sattn_random_normal(seed, 3, 1);
        const float one = 1.0f;
        const float first = score_of(run->kernel, q, k, &one, 1);
        const float second = score_of(run->kernel, q + apart, k + apart, &one, 1);
        const float want = fmaf(v[apart], second, v[0] * first);
        const int64_t d = variant % 2 ? apart + 1 : 2 * apart;
        const float got = score_of(run->kernel, q, k, v, d);
        if (got != want)
            test_fail(run, "%a * %a + %a * %a over %lld features is %a, by a multiply-add %a",
                      (double)v[0], (double)first, (double)v[apart], (double)second, (long long)d,
                      (double)got, (double)want);
    }
}

/* ---- values that are not finite */

/* One in q, k or v spoils its row, its column or all scores, and nothing else; an infinity counts
 * as a tanh of +-1. */
static void test_specials(test_run *run)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, 3.4e38f, -3.4e38f};
    static const int64_t widths[] = {1, 2, 5, 19, 33};
    for (size_t width = 0; width < COUNT(widths); ++width)
        for (int64_t x = 0; x < widths[width]; x += 1 + x / 3)
            for (int variant = 0; variant < 15; ++variant) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                test_random random = {.seed = test_step_seed(run)};
                const additive_shape shape = additive_shape_plain(3, 9, widths[width]);
                additive_problem problem;
                additive_problem_make(&problem, run, &shape, random.seed);
                const int operand = variant % 3;
                const int64_t rows[] = {shape.n_rows, shape.n_keys, 1};
                const int64_t row = test_random_below(&random, rows[operand]);
                test_operand_f32(&problem.operand[operand], 0, row)[x] = specials[variant / 3];
                additive_problem_run(&problem, run);
                additive_problem_verify(&problem, run);
                additive_problem_free(&problem);
            }
}

/* Infinite sums are exactly +-1 under tanh; infinities of both signs, and NaN, are NaN. */
static void test_infinite_sums(test_run *run)
{
    static const struct {
        float q, k, want;
    } cases[] = {
        {INFINITY, 1.0f, 1.0f},
        {-INFINITY, 1.0f, -1.0f},
        {1.0f, INFINITY, 1.0f},
        {INFINITY, INFINITY, 1.0f},
        {3e38f, 3e38f, 1.0f},
        {-3e38f, -3e38f, -1.0f},
        {INFINITY, -INFINITY, NAN},
        {NAN, 1.0f, NAN},
        {1.0f, -NAN, NAN},
        {-INFINITY, INFINITY, NAN},
        {NAN, INFINITY, NAN},
        {20.0f, 0.0f, 1.0f},
        {-INFINITY, -INFINITY, -1.0f},
        {0.0f, -100.0f, -1.0f},
        {-3e38f, 3e38f, 0.0f},
        {9.5f, 0.0f, 1.0f},
        {-4.75f, -4.75f, -1.0f},
    };
    for (size_t at = 0; at < COUNT(cases); ++at)
        for (int64_t d = 1; d <= 40; d += 13) {
            if (!test_step(run, TEST_ALWAYS))
                continue;
            float q[40] = {0}, k[40] = {0}, v[40];
            for (int x = 0; x < 40; ++x)
                v[x] = 1.0f;
            q[d - 1] = cases[at].q;
            k[d - 1] = cases[at].k;
            const float got = score_of(run->kernel, q, k, v, d);
            if (isnan(cases[at].want) ? !math_is_nan(got) : got != cases[at].want)
                test_fail(run, "tanh(%g + %g) is %.9g, not %g", (double)cases[at].q,
                          (double)cases[at].k, (double)got, (double)cases[at].want);
        }
}

/* ---- N36: v and the bias count, sizes of queries and keys differ, and nothing is scaled */

static void test_example(test_run *run)
{
    static const float q[2][2] = {{0.5f, 0.0f}, {1.5f, -1.0f}}; /* W_q q + b */
    static const float k[3][2] = {{0.0f, 0.0f}, {1.0f, 1.0f}, {-1.0f, 2.0f}};
    static const float v[2] = {1.0f, 2.0f};
    static const double values[3] = {1, 2, 4};
    static const double want[2][3] = {{0.4621172, 2.4283366, 1.4659380},
                                      {-0.6180401, 0.9866143, 1.9853055}};
    static const double outputs[2] = {2.4099752, 3.3352691};
    static _Alignas(64) float scratch[1 << 17];
    if (!test_step(run, TEST_ALWAYS))
        return;
    float s[2][3];
    const sattn_additive_args args = {.q = q[0],
                                      .k = k[0],
                                      .v = v,
                                      .s = s[0],
                                      .q_stride = 2,
                                      .k_stride = 2,
                                      .s_stride = 3,
                                      .i1 = 2,
                                      .j1 = 3,
                                      .d = 2,
                                      .scratch = scratch};
    run->kernel->fn.additive(&args);
    for (int i = 0; i < 2; ++i) {
        double sum = 0, output = 0;
        for (int j = 0; j < 3; ++j) {
            if (!(fabs((double)s[i][j] - want[i][j]) <= 1e-6))
                test_fail(run, "score %d, %d is %.9g, not %.7f", i, j, (double)s[i][j], want[i][j]);
            sum += exp((double)s[i][j]);
            output += exp((double)s[i][j]) * values[j];
        }
        if (!(fabs(output / sum - outputs[i]) <= 1e-6))
            test_fail(run, "output %d is %.9g, not %.7f", i, output / sum, outputs[i]);
    }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"claim", test_claim},
        {"tiles", test_tiles},
        {"rows", test_rows},
        {"keys", test_keys},
        {"features", test_features},
        {"lecture", test_lecture},
        {"layouts", test_layouts},
        {"ranges", test_ranges},
        {"empty", test_empty},
        {"anything", test_anything},
        {"fp-state", test_fp_state},
        {"cuts", test_cuts},
        {"equal-places", test_equal_places},
        {"alignment", test_alignment},
        {"lanes", test_lanes},
        {"chain", test_chain},
        {"specials", test_specials},
        {"infinite-sums", test_infinite_sums},
        {"example", test_example},
    };
    return test_main_of(argc, argv, SATTN_OP_additive, groups, COUNT(groups));
}
