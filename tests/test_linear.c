/* SPDX-License-Identifier: MIT
 *
 * test_linear.c: one linear kernel against the kernel contract (kernels/contract.h) and the oracle:
 * every size and layout, W packed and as it lies, guard pages, equal bits where they are promised,
 * and values that are not finite. */
#include "tests/support/linear_problem.h"
#include "tests/support/tile_edges.h"

#include <math.h>
#include <stdio.h>

enum { EVERY_ROW = 70, EVERY_OUTPUT = 140, EVERY_WIDTH = 140 };

static void check_step(test_run *run, const linear_shape *shape)
{
    linear_problem_check(run, shape, test_step_seed(run));
}

/* Packed and not, with bias and sums or without; and with all the rest at random. */
static void check_both(test_run *run, linear_shape shape)
{
    for (int variant = 0; variant < 2; ++variant) {
        shape.is_packed = variant == 1;
        shape.has_bias = (run->step & 2) != 0;
        shape.adds = (run->step & 4) != 0;
        if (test_step(run, TEST_SAMPLED))
            check_step(run, &shape);
    }
    if (test_step(run, TEST_SAMPLED)) {
        test_random random = {.seed = test_step_seed(run)};
        linear_shape_vary(&shape, &random);
        check_step(run, &shape);
    }
}

/* ---- sizes */

static void test_tiles(test_run *run)
{
    int64_t rows[N_EDGES], outputs[N_EDGES], features[N_EDGES];
    tile_edges(run->kernel->tile_rows, rows);
    tile_edges(run->kernel->tile_keys, outputs);
    tile_edges(run->kernel->tile_d, features);
    for (int at = 0; at < N_EDGES * N_EDGES * N_EDGES; ++at) {
        linear_shape shape =
            linear_shape_plain(rows[at % 4], outputs[at / 4 % 4], features[at / 16]);
        shape.placement = side_of(at);
        check_both(run, shape);
    }
}

static void test_rows(test_run *run)
{
    for (int64_t n_rows = 1; n_rows <= EVERY_ROW; ++n_rows) {
        linear_shape shape = linear_shape_plain(n_rows, 37, 19);
        shape.placement = side_of(n_rows);
        check_both(run, shape);
    }
}

static void test_outputs(test_run *run)
{
    static const int64_t many[] = {255, 257, 511, 512, 513, 529, 1023, 1025, 1100};
    for (int64_t at = 0; at < EVERY_OUTPUT + (int64_t)COUNT(many); ++at) {
        const int64_t n_out = at < EVERY_OUTPUT ? at + 1 : many[at - EVERY_OUTPUT];
        for (int64_t n_rows = 1; n_rows <= 9; n_rows += 4) {
            linear_shape shape = linear_shape_plain(n_rows + at % 3, n_out, 1 + n_out % 21);
            shape.placement = side_of(at);
            check_both(run, shape);
        }
    }
}

static void test_features(test_run *run)
{
    static const int64_t wide[] = {255, 256, 257, 383, 509, 512, 513, 1021, 1024, 1025, 2048, 4099};
    for (int64_t at = 0; at < EVERY_WIDTH + (int64_t)COUNT(wide); ++at) {
        const int64_t width = at < EVERY_WIDTH ? at + 1 : wide[at - EVERY_WIDTH];
        linear_shape shape = linear_shape_plain(1 + width % 7, 1 + width * 5 % 39, width);
        shape.placement = side_of(at);
        shape.row_gap[LINEAR_W] = width % 4;
        check_both(run, shape);
    }
}

/* The sizes of decoders and projections, and odd ones. */
static void test_models(test_run *run)
{
    static const int64_t sizes[][3] = {{1, 1, 1},     {1, 1, 1025},   {1, 96, 32},   {1, 1536, 512},
                                       {4, 96, 33},   {16, 131, 61},  {28, 192, 64}, {29, 192, 64},
                                       {49, 64, 512}, {65, 7, 17},    {131, 33, 9},  {197, 48, 96},
                                       {257, 1, 1},   {1, 1009, 61},  {5, 521, 5},   {9, 17, 1021},
                                       {70, 600, 5},  {131, 1030, 3}, {7, 1100, 70}, {20, 67, 700}};
    for (size_t at = 0; at < COUNT(sizes); ++at)
        check_both(run, linear_shape_plain(sizes[at][0], sizes[at][1], sizes[at][2]));
}

/* More rows than a strip has, and more outputs than a chunk: each strip meets each chunk. */
static void test_chunks(test_run *run)
{
    for (int variant = 0; variant < 8; ++variant) {
        linear_shape shape =
            linear_shape_plain(variant % 2 ? 65 : 130, variant % 4 > 1 ? 513 : 1050, 3);
        shape.is_packed = variant > 3;
        shape.has_bias = true;
        if (test_step(run, TEST_ALWAYS))
            check_step(run, &shape);
    }
}

/* Gaps, zero strides and misaligned starts, one operand at a time, on both flush sides. */
static void test_layouts(test_run *run)
{
    for (int side = 0; side < 2; ++side)
        for (int operand = 0; operand < LINEAR_OPERANDS; ++operand)
            for (int variant = 1; variant < 16; ++variant)
                for (int64_t n_rows = 3; n_rows <= 35; n_rows += 32) {
                    linear_shape shape = linear_shape_plain(n_rows, 41, 20);
                    shape.placement = side_of(side);
                    shape.distance[operand] = (size_t)(4 * variant);
                    shape.row_gap[operand] = variant;
                    shape.x_repeats = variant == 1 || variant == 4;
                    shape.w_repeats = variant == 2 || variant == 4;
                    check_both(run, shape);
                }
}

/* Sub-ranges of rows and outputs leave the others alone and are not touched by them. */
static void test_ranges(test_run *run)
{
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_rows = variant % 3 ? 20 : 140;
        linear_shape shape = linear_shape_plain(1 + test_random_below(&random, most_rows),
                                                1 + test_random_below(&random, 150),
                                                1 + test_random_below(&random, 40));
        linear_shape_vary(&shape, &random);
        shape.i0 = test_random_below(&random, shape.n_rows + 1);
        shape.i1 = shape.i0 + test_random_below(&random, shape.n_rows - shape.i0 + 1);
        shape.o0 = test_random_below(&random, shape.n_out + 1);
        shape.o1 = shape.o0 + test_random_below(&random, shape.n_out - shape.o0 + 1);
        linear_problem_check(run, &shape, random.seed);
    }
}

/* No outputs, no rows, empty ranges in the middle. */
static void test_empty(test_run *run)
{
    for (int variant = 0; variant < 32; ++variant) {
        const int kind = variant % 4;
        linear_shape shape =
            linear_shape_plain(kind == 1 ? 0 : 5, kind == 0 ? 0 : 9, 1 + 8 * (variant / 4));
        if (kind == 2)
            shape.i0 = shape.i1 = 3;
        if (kind == 3)
            shape.o0 = shape.o1 = 4;
        shape.has_bias = shape.adds = variant % 2 != 0;
        shape.is_packed = variant >= 16;
        if (test_step(run, TEST_ALWAYS))
            check_step(run, &shape);
    }
}

static void test_anything(test_run *run)
{
    for (int variant = 0; variant < 700; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_rows = test_random_chance(&random, 20) ? 140 : 9;
        const int64_t most_outputs = test_random_chance(&random, 10) ? 600 : 70;
        const int64_t most_features = test_random_chance(&random, 10) ? 600 : 70;
        linear_shape shape = linear_shape_plain(1 + test_random_below(&random, most_rows),
                                                1 + test_random_below(&random, most_outputs),
                                                1 + test_random_below(&random, most_features));
        linear_shape_vary(&shape, &random);
        linear_problem_check(run, &shape, random.seed);
    }
}

/* A kernel neither sets nor clears flushing, and is right with it and without it. */
static void test_fp_state(test_run *run)
{
    const uint64_t plain = test_fp_control();
    for (int variant = 0; variant < 20; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        linear_shape shape = linear_shape_plain(1 + 2 * variant, 30, 9 + 5 * variant);
        shape.is_packed = variant % 2 != 0;
        shape.adds = variant % 4 > 1;
        linear_problem problem;
        linear_problem_make(&problem, run, &shape, test_step_seed(run));
        test_fp_control_set(test_fp_control_flushing());
        linear_problem_run(&problem, run); /* fails if the state is another afterwards */
        test_fp_control_set(plain);
        linear_problem_verify(&problem, run);
        linear_problem_free(&problem);
    }
}

/* ---- bits */

static linear_shape random_shape(test_random *random)
{
    linear_shape shape =
        linear_shape_plain(1 + test_random_below(random, test_random_chance(random, 30) ? 80 : 9),
                           1 + test_random_below(random, 80), 1 + test_random_below(random, 70));
    linear_shape_vary(&shape, random);
    return shape;
}

/* Runs `shape` with the same numbers as `all`, which has to give the same bits. */
static void compare(test_run *run, const linear_problem *all, const linear_shape *shape,
                    const char *what)
{
    linear_problem some;
    linear_problem_make(&some, run, shape, all->seed);
    linear_problem_run(&some, run);
    linear_same_bits(run, &some, all, what);
    linear_problem_free(&some);
}

/* An output is the same alone, and however rows and outputs are cut. */
static void test_cuts(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const linear_shape shape = random_shape(&random);
        linear_problem all;
        linear_problem_make(&all, run, &shape, random.seed);
        linear_problem_run(&all, run);
        linear_problem_verify(&all, run);
        for (int64_t i = 0; i < shape.n_rows; i += 1 + test_random_below(&random, 5)) {
            linear_shape part = shape;
            part.i0 = i;
            part.i1 = i + 1;
            compare(run, &all, &part, "alone in a call");
            part.i1 = i + 1 + test_random_below(&random, shape.n_rows - i);
            compare(run, &all, &part, "in a part of the rows");
        }
        for (int64_t o = 0; o < shape.n_out; o += 1 + test_random_below(&random, 7)) {
            linear_shape part = shape;
            part.o0 = o;
            part.o1 = o + 1 + test_random_below(&random, shape.n_out - o);
            compare(run, &all, &part, "in a part of the outputs");
        }
        linear_problem_free(&all);
    }
}

/* The same from packed W as from W as it lies. */
static void test_packing(test_run *run)
{
    for (int variant = 0; variant < 150; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        linear_shape shape = random_shape(&random);
        if (variant % 10 == 0)
            shape.n_out = shape.o1 = 500 + test_random_below(&random, 600);
        if (variant % 10 == 1)
            shape.n_in = 500 + test_random_below(&random, 1000);
        shape.w_repeats = false;
        shape.is_packed = false;
        linear_problem plain;
        linear_problem_make(&plain, run, &shape, random.seed);
        linear_problem_run(&plain, run);
        linear_problem_verify(&plain, run);
        shape.is_packed = true;
        compare(run, &plain, &shape, "of packed weights");
        linear_problem_free(&plain);
    }
}

/* The same x and the same w give the same bits at every place. */
static void test_equal_places(test_run *run)
{
    for (int variant = 0; variant < 100; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        linear_shape shape = random_shape(&random);
        shape.data = LINEAR_EQUAL;
        shape.has_bias = shape.adds = false;
        linear_problem problem;
        linear_problem_make(&problem, run, &shape, random.seed);
        linear_problem_run(&problem, run);
        linear_problem_verify(&problem, run);
        const float first = linear_outputs(&problem, 0)[0];
        for (int64_t at = 0; at < shape.n_rows * shape.n_out; ++at)
            if (!linear_is_same(linear_outputs(&problem, at / shape.n_out)[at % shape.n_out],
                                first)) {
                linear_problem_fail(&problem, run, "equal rows of x and w, other bits");
                break;
            }
        linear_problem_free(&problem);
    }
}

/* At other addresses and with other strides. */
static void test_alignment(test_run *run)
{
    for (int variant = 0; variant < 100; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        linear_shape shape = linear_shape_plain(1 + test_random_below(&random, 70),
                                                1 + test_random_below(&random, 90),
                                                1 + test_random_below(&random, 90));
        shape.is_packed = variant % 2 != 0;
        shape.has_bias = variant % 4 > 1;
        shape.adds = variant % 8 > 3;
        linear_problem plain;
        linear_problem_make(&plain, run, &shape, random.seed);
        linear_problem_run(&plain, run);
        for (int operand = 0; operand < LINEAR_OPERANDS; ++operand) {
            shape.distance[operand] = 4 * (size_t)test_random_below(&random, 16);
            shape.row_gap[operand] = test_random_below(&random, 20);
        }
        shape.placement = side_of(variant);
        compare(run, &plain, &shape, "at other addresses");
        linear_problem_free(&plain);
    }
}

/* What the bias and Y add is added in this order, and each sum is rounded once. */
static void test_bias_and_sum(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        linear_shape shape = random_shape(&random);
        linear_problem whole, sums;
        shape.has_bias = variant % 4 != 1;
        shape.adds = variant % 4 != 2;
        linear_problem_make(&whole, run, &shape, random.seed);
        linear_problem_run(&whole, run);
        linear_problem_verify(&whole, run);
        shape.has_bias = shape.adds = false;
        linear_problem_make(&sums, run, &shape, random.seed);
        linear_problem_run(&sums, run);
        for (int64_t at = 0; at < shape.n_rows * shape.n_out; ++at) {
            const int64_t i = at / shape.n_out, o = at % shape.n_out;
            float want = linear_outputs(&sums, i)[o];
            if (whole.shape.has_bias)
                want += *test_operand_f32(&whole.operand[LINEAR_BIAS], 0, o);
            if (whole.shape.adds)
                want += whole.y_before[at];
            if (!linear_is_same(linear_outputs(&whole, i)[o], want)) {
                linear_problem_fail(&whole, run, "not the sum, plus the bias, plus y");
                break;
            }
        }
        linear_problem_free(&whole);
        linear_problem_free(&sums);
    }
}

/* ---- values that are not finite */

/* One in X, W, the bias or Y spoils its row, its column or its element, and nothing else. */
static void test_specials(test_run *run)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, 3.4e38f};
    static const int64_t widths[] = {1, 2, 5, 19, 33};
    for (size_t width = 0; width < COUNT(widths); ++width)
        for (int64_t x = 0; x < widths[width]; x += 1 + x / 3)
            for (int variant = 0; variant < 32; ++variant) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                test_random random = {.seed = test_step_seed(run)};
                const int operand = variant % 4;
                const int64_t n_rows = test_random_chance(&random, 80) ? 3 : 35;
                linear_shape shape = linear_shape_plain(n_rows, 39, widths[width]);
                shape.is_packed = test_random_chance(&random, 50);
                shape.has_bias = operand == LINEAR_BIAS || test_random_chance(&random, 50);
                shape.adds = operand == LINEAR_Y || test_random_chance(&random, 50);
                linear_problem problem;
                linear_problem_make(&problem, run, &shape, random.seed);
                const float special = specials[variant / 8];
                problem.y_i = test_random_below(&random, shape.n_rows);
                problem.y_o = test_random_below(&random, shape.n_out);
                if (operand == LINEAR_X)
                    test_operand_f32(&problem.operand[LINEAR_X], 0, problem.y_i)[x] = special;
                else if (operand == LINEAR_W)
                    *linear_weight(&problem, problem.y_o, x) = special;
                else if (operand == LINEAR_BIAS)
                    *test_operand_f32(&problem.operand[LINEAR_BIAS], 0, problem.y_o) = special;
                else
                    problem.y_special = special;
                linear_problem_run(&problem, run);
                linear_problem_verify(&problem, run);
                linear_problem_free(&problem);
            }
}

/* An infinity of the bias or of a product is one in the output, of the right sign. */
static void test_infinities(test_run *run)
{
    for (int variant = 0; variant < 32; ++variant) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        linear_shape shape = linear_shape_plain(variant % 2 ? 2 : 33, 35, 1 + 9 * (variant / 8));
        shape.is_packed = variant % 4 > 1;
        shape.has_bias = true;
        linear_problem problem;
        linear_problem_make(&problem, run, &shape, test_step_seed(run));
        const float sign = variant % 8 > 3 ? -1.0f : 1.0f;
        test_operand_f32(&problem.operand[LINEAR_X], 0, 1)[shape.n_in - 1] = sign * 2.0f;
        *linear_weight(&problem, 5, shape.n_in - 1) = INFINITY;
        *test_operand_f32(&problem.operand[LINEAR_BIAS], 0, 34) = -sign * INFINITY;
        linear_problem_run(&problem, run);
        linear_problem_verify(&problem, run);
        const float *const y = linear_outputs(&problem, 1);
        if (y[5] != sign * INFINITY || y[34] != -sign * INFINITY)
            linear_problem_fail(&problem, run, "an infinity was lost, or changed its sign");
        linear_problem_free(&problem);
    }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"tiles", test_tiles},         {"rows", test_rows},
        {"outputs", test_outputs},     {"features", test_features},
        {"models", test_models},       {"chunks", test_chunks},
        {"layouts", test_layouts},     {"ranges", test_ranges},
        {"empty", test_empty},         {"anything", test_anything},
        {"fp-state", test_fp_state},   {"cuts", test_cuts},
        {"packing", test_packing},     {"equal-places", test_equal_places},
        {"alignment", test_alignment}, {"bias-and-sum", test_bias_and_sum},
        {"specials", test_specials},   {"infinities", test_infinities},
    };
    return test_main_of(argc, argv, SATTN_OP_linear, groups, COUNT(groups));
}
