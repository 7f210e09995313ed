/* SPDX-License-Identifier: MIT
 *
 * test_qk.c: one qk kernel against the kernel contract (kernels/contract.h) and the oracle. Sizes,
 * layouts and bits of rows are tested as for softmax and av (support/piece_groups.h); here is what
 * only qk has: bits of key ranges, scale, softcap, and values that are not finite. */
#include "kernels/vec/softcap.h"
#include "tests/support/piece_groups.h"

#include <math.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- bits */

static void compare_keys(test_run *run, const piece_problem *all, int64_t j0, int64_t j1)
{
    piece_shape shape = all->shape;
    shape.j0 = j0;
    shape.j1 = j1;
    piece_problem some;
    piece_problem_make(&some, run, &shape, all->seed);
    piece_problem_run(&some, run);
    piece_same_bits_all(run, &some, all, "in another range of keys");
    piece_problem_free(&some);
}

/* A key's scores are the same alone, and wherever a range of keys starts. */
static void test_key_ranges(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_rows = variant % 2 ? 5 : 2 * run->kernel->tile_rows + 2;
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, most_rows),
                                            1 + test_random_below(&random, 150),
                                            1 + test_random_below(&random, 70));
        shape.n_group = 1 + variant % 3;
        piece_shape_vary(&shape, &random);
        piece_problem all;
        piece_problem_make(&all, run, &shape, random.seed);
        piece_problem_run(&all, run);
        piece_problem_verify(&all, run);
        for (int64_t j = 0; j < shape.n_keys; j += 1 + test_random_below(&random, 3))
            compare_keys(run, &all, j, j + 1);
        for (int cut = 0; cut < 12; ++cut) {
            const int64_t j0 = test_random_below(&random, shape.n_keys);
            compare_keys(run, &all, j0, j0 + 1 + test_random_below(&random, shape.n_keys - j0));
        }
        piece_problem_free(&all);
    }
}

/* The same query and the same key give the same bits at every place of the score matrix. */
static void test_equal_places(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape =
            piece_plain_for(run, 1 + test_random_below(&random, 2 * run->kernel->tile_rows + 2),
                            1 + test_random_below(&random, 2 * run->kernel->tile_keys + 2),
                            1 + test_random_below(&random, 70));
        piece_shape_vary(&shape, &random);
        shape.data = PIECE_EQUAL; /* all keys, in rows of their own or in one */
        shape.in_repeats = true;
        piece_problem problem;
        piece_problem_make(&problem, run, &shape, random.seed);
        piece_problem_run(&problem, run);
        piece_problem_verify(&problem, run);
        const float first = *piece_out_row(&problem, 0, 0);
        for (int64_t i = 0; i < shape.n_rows; ++i)
            for (int64_t j = 0; j < shape.n_keys; ++j)
                if (!piece_is_same(piece_out_row(&problem, 0, i)[j], first)) {
                    piece_problem_fail(&problem, run, "equal queries and keys, other bits");
                    i = shape.n_rows - 1;
                    break;
                }
        piece_problem_free(&problem);
    }
}

/* ---- scale */

static void test_scales(test_run *run)
{
    static const float scales[] = {0.0f,   -0.0f,  -0.5f,     -3.0f, 1.0f, 1e-6f, 1e-20f,
                                   1e-38f, 1e-42f, 0x1p-149f, 30.0f, 1e4f, 1e8f,  -1e8f};
    for (size_t at = 0; at < COUNT(scales); ++at)
        for (int64_t width = 1; width <= 80; width += 1 + width / 2)
            for (int variant = 0; variant < 4; ++variant) {
                piece_shape shape = piece_plain_for(run, variant % 2 ? 3 : 35, 30, width);
                shape.scale = scales[at];
                shape.softcap = variant / 2 ? 2.0f : 0.0f;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
                shape.data = PIECE_MINUS_ZERO;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

static void fill(piece_problem *p, float q, float k)
{
    for (int64_t x = 0; x < p->shape.n_features; ++x) {
        for (int64_t i = 0; i < p->shape.n_rows; ++i)
            test_operand_f32(&p->operand[PIECE_IN], 0, i)[x] = q;
        for (int64_t j = 0; j < p->shape.n_keys; ++j)
            test_operand_f32(&p->operand[PIECE_SHARED], 0, j)[x] = k;
    }
}

/* q . k overflows, (scale q) . k does not; nor may a partial sum be formed with the raw q. */
static void test_scale_before_sum(test_run *run)
{
    const struct {
        int64_t d;
        float q, k, scale;
    } cases[] = {
        {128, 1.7e18f, 1.7e18f, (float)(1.0 / sqrt(128.0))},
        {1, 1e30f, 1e20f, 1e-20f},
        {70, 3e38f, 1e37f, 1e-38f / 70},
        {17, -2e25f, 1e20f, 1e-10f},
        {64, 1e20f, 3e18f, 0.01f},
        {33, 3e38f, 1.0f, 0.02f},
    };
    for (size_t at = 0; at < COUNT(cases); ++at)
        for (int64_t n_rows = 1; n_rows < 40; n_rows += 17)
            for (int64_t n_keys = 1; n_keys < 40; n_keys += 9) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                piece_shape shape = piece_plain_for(run, n_rows, n_keys, cases[at].d);
                shape.scale = cases[at].scale;
                piece_problem problem;
                piece_problem_make(&problem, run, &shape, test_step_seed(run));
                fill(&problem, cases[at].q, cases[at].k);
                piece_problem_run(&problem, run);
                piece_problem_verify(&problem, run);
                for (int64_t j = 0; j < n_keys; ++j)
                    if (!isfinite(piece_out_row(&problem, 0, n_rows - 1)[j])) {
                        piece_problem_fail(&problem, run, "the scaled score fits, but overflowed");
                        break;
                    }
                piece_problem_free(&problem);
            }
}

/* ---- softcap */

static void test_softcap(test_run *run)
{
    static const float caps[] = {0.5f, 2.0f, 30.0f, 1e30f, 0.001f};
    static const float scales[] = {0.0f, 1e-8f, 1e-3f, 0.1f, 1.0f, 5.0f, 40.0f, 1e4f};
    static const int64_t rows[] = {70, 2, 35, 2, 35, 2}; /* 70 are more than one strip */
    static const int64_t keys[] = {67, 37, 37, 3, 3, 3};
    for (size_t cap = 0; cap < COUNT(caps); ++cap)
        for (size_t scale = 0; scale < COUNT(scales); ++scale)
            for (int variant = 0; variant < 6; ++variant) {
                piece_shape shape =
                    piece_plain_for(run, rows[variant], keys[variant], 1 + 9 * (variant / 2));
                shape.softcap = caps[cap];
                shape.scale = scales[scale];
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

/* Raw scores q * k with d = 1: a sweep of one number, some of them not finite. A score that is
 * small next to the cap is the capped one, rounded right, so it comes back as it is. */
static void check_raw_scores(test_run *run, float softcap, int64_t n_rows)
{
    static const float raw[] = {0.0f,  -0.0f,  INFINITY, -INFINITY, NAN,    3e38f, -3e38f,
                                8.0f,  1e-3f,  -1e-3f,   1e-30f,    1e-40f, 0.25f, -0.625f,
                                20.0f, -20.0f, 9.5f,     1e4f,      -1e4f};
    piece_shape shape = piece_plain_for(run, n_rows, COUNT(raw), 1);
    shape.scale = 1.0f;
    shape.softcap = softcap;
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    fill(&problem, 1.0f, 0.0f);
    for (size_t j = 0; j < COUNT(raw); ++j)
        *test_operand_f32(&problem.operand[PIECE_SHARED], 0, (int64_t)j) = raw[j];
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    for (size_t j = 0; j < COUNT(raw); ++j) {
        const float got = piece_out_row(&problem, 0, n_rows - 1)[j];
        const bool is_right = isnan(raw[j])   ? isnan(got)
                              : isinf(raw[j]) ? got == copysignf(softcap, raw[j])
                              : fabsf(raw[j]) < softcap * SATTN_SOFTCAP_SMALL
                                  ? got == raw[j]
                                  : fabsf(got) <= softcap;
        if (!is_right) {
            char what[128];
            snprintf(what, sizeof what, "score %g is capped to %.9g", (double)raw[j], (double)got);
            piece_problem_fail(&problem, run, what);
        }
    }
    piece_problem_free(&problem);
}

static void test_capped_specials(test_run *run)
{
    static const float caps[] = {0.5f, 2.0f, 30.0f, 1e30f};
    for (size_t cap = 0; cap < COUNT(caps); ++cap)
        for (int64_t n_rows = 1; n_rows < 40; n_rows += 11)
            if (test_step(run, TEST_SAMPLED))
                check_raw_scores(run, caps[cap], n_rows);
}

/* ---- values that are not finite: one in Q or in K spoils its row or column, and nothing else */

static void test_specials(test_run *run)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    static const int64_t widths[] = {1, 2, 5, 19, 33};
    for (size_t width = 0; width < COUNT(widths); ++width)
        for (int64_t x = 0; x < widths[width]; ++x)
            for (int variant = 0; variant < 12; ++variant) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                test_random random = {.seed = test_step_seed(run)};
                piece_shape shape = piece_plain_for(
                    run, variant & 1 ? 3 : run->kernel->tile_rows + 2, 19, widths[width]);
                shape.n_group = 1 + (variant & 1);
                piece_problem problem;
                piece_problem_make(&problem, run, &shape, random.seed);
                const int operand = variant & 2 ? PIECE_IN : PIECE_SHARED;
                const int64_t n = operand == PIECE_IN ? shape.n_rows : shape.n_keys;
                const int64_t row = test_random_below(&random, n);
                test_operand_f32(&problem.operand[operand], 0, row)[x] = specials[variant / 4];
                piece_problem_run(&problem, run);
                piece_problem_verify(&problem, run);
                piece_problem_free(&problem);
            }
}

/* More rows than are scaled at a time, and more keys than are packed at a time. */
static void test_many_rows(test_run *run)
{
    static const int64_t rows[] = {511, 512, 513, 576, 577, 1025};
    static const int64_t keys[] = {1, 65, 191, 192, 193, 513, 1025};
    for (size_t i = 0; i < COUNT(rows); ++i)
        for (int n_group = 1; n_group <= 3; ++n_group) {
            if (!test_step(run, TEST_ALWAYS))
                continue;
            test_random random = {.seed = test_step_seed(run)};
            piece_shape shape = piece_plain_for(run, (rows[i] + n_group - 1) / n_group,
                                                keys[(i + 4 * (size_t)n_group) % COUNT(keys)],
                                                1 + test_random_below(&random, 9));
            shape.n_group = n_group;
            piece_shape_vary(&shape, &random);
            piece_problem problem;
            piece_problem_make(&problem, run, &shape, random.seed);
            piece_problem_run(&problem, run);
            piece_problem_verify(&problem, run);
            piece_problem_free(&problem);
        }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"tiles", piece_test_tiles},
        {"rows", piece_test_rows},
        {"keys", piece_test_keys},
        {"features", piece_test_features},
        {"primes", piece_test_primes},
        {"groups", piece_test_groups},
        {"layouts", piece_test_layouts},
        {"ranges", piece_test_ranges},
        {"many-rows", test_many_rows},
        {"empty", piece_test_empty},
        {"anything", piece_test_anything},
        {"rows-alone", piece_test_rows_alone},
        {"key-ranges", test_key_ranges},
        {"equal-places", test_equal_places},
        {"alignment", piece_test_alignment},
        {"fp-state", piece_test_fp_state},
        {"scales", test_scales},
        {"scale-before-sum", test_scale_before_sum},
        {"softcap", test_softcap},
        {"capped-specials", test_capped_specials},
        {"specials", test_specials},
    };
    return test_main_of(argc, argv, SATTN_OP_qk, groups, COUNT(groups));
}
