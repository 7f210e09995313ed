/* SPDX-License-Identifier: MIT
 *
 * test_fused_bias.c: softcap and ALiBi in a fused kernel: within the oracle's bound, and exact
 * where a row sees a single key, whose score is then the row's reference value. */
#include "tests/test_fused.h"

#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"
#include "tests/support/fused_problem.h"

#include <math.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- rows that see one key each */

static int64_t only_key(const fused_problem *p, int64_t i)
{
    const fused_shape *const s = &p->shape;
    return s->j0 + (i * 37 + (int64_t)(p->seed % 101)) % (s->j1 - s->j0);
}

/* Row i of every head sees only_key(i), which is another for every row where there are enough; a
 * mask of floats adds 0 or a bias to its score. */
static void see_one_key(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < s->n_rows; ++i)
            for (int64_t j = 0; j < s->n_k; ++j) {
                const bool is_seen = j == only_key(p, i);
                if (s->mask == PROBLEM_BOOL)
                    test_operand_u8(&p->operand[OPERAND_MASK], g, i)[j] = is_seen;
                else
                    test_operand_f32(&p->operand[OPERAND_MASK], g, i)[j] =
                        is_seen ? (float)(i % 5) - 2.5f : -INFINITY;
            }
}

static fused_shape one_key_shape(const test_run *run, int variant, int64_t d)
{
    const int64_t n_rows = variant % 3 ? 1 + variant % 5 : run->kernel->tile_rows + 3;
    fused_shape shape = fused_shape_plain(n_rows, 293, d, 3);
    shape.n_group = variant % 2 ? 5 : 1;
    shape.mask = variant & 4 ? PROBLEM_BOOL : PROBLEM_ADDITIVE;
    shape.mask_by_group = variant & 8;
    shape.mask_by_row = shape.mask_by_key = true;
    shape.partial = variant & 16;
    if (variant & 32) {
        shape.j0 = 100;
        shape.j1 = 260;
    }
    return shape;
}

/* ---- softcap */

/* The score of the only key, against what a step of its own would have to return. */
static void verify_capped(const fused_problem *p, test_run *run)
{
    const fused_shape *const s = &p->shape;
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = 0; i < s->n_rows; ++i) {
            const sattn_verify_place at = {.head = g, .row = i, .column = only_key(p, i)};
            const sattn_verify_scores row = {
                .q = test_operand_f32(&p->operand[OPERAND_Q], g, i),
                .k = test_operand_f32(&p->operand[OPERAND_K], 0, only_key(p, i)),
                .k_stride = p->args.k_stride,
                .d = s->d,
                .n = 1,
                .scale = s->scale,
                .softcap = s->softcap};
            sattn_verify_scores_row(&row, test_operand_f32(&p->operand[OPERAND_STATS], 0, g) + i,
                                    at, &result);
        }
    if (!sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        fused_problem_fail(p, run, text);
    }
}

static void check_capped_score(test_run *run, float softcap, float scale, int variant)
{
    fused_shape shape = one_key_shape(run, variant, 1 + variant % 7);
    shape.mask = PROBLEM_BOOL;
    shape.softcap = softcap;
    shape.scale = scale;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    see_one_key(&problem);
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    verify_capped(&problem, run);
    fused_problem_free(&problem);
}

/* Raw scores with d = 1, each the only key of its row: no digits of a small one may be lost to a
 * quotient score / softcap below the normal numbers. */
static void check_raw_scores(test_run *run, float softcap)
{
    static const float raw[] = {0.0f,  -0.0f, 8.0f,   1e-3f, -1e-3f, 1e-30f, -1e-30f, 1e-37f,
                                0.25f, 20.0f, -20.0f, 9.5f,  1e4f,   3e38f,  -3e38f};
    const int64_t n = COUNT(raw);
    fused_shape shape = fused_shape_plain(n, n, 1, 3);
    shape.softcap = softcap;
    shape.scale = 1.0f;
    shape.mask = PROBLEM_BOOL;
    shape.mask_by_row = shape.mask_by_key = true;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t i = 0; i < n; ++i) {
        *test_operand_f32(&problem.operand[OPERAND_Q], 0, i) = 1.0f;
        *test_operand_f32(&problem.operand[OPERAND_K], 0, i) = raw[i];
        for (int64_t j = 0; j < n; ++j)
            test_operand_u8(&problem.operand[OPERAND_MASK], 0, i)[j] = i == j;
    }
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    for (int64_t i = 0; i < n; ++i) {
        const float got = test_operand_f32(&problem.operand[OPERAND_STATS], 0, 0)[i];
        const double want = (double)softcap * tanh((double)raw[i] / (double)softcap);
        if (!(fabs((double)got - want) <= 0x1p-20 * fabs(want))) {
            char what[128];
            snprintf(what, sizeof what, "score %g is capped to %.9g", (double)raw[i], (double)got);
            fused_problem_fail(&problem, run, what);
        }
    }
    fused_problem_free(&problem);
}

void test_softcap(test_run *run)
{
    static const float caps[] = {0.5f, 2.0f, 30.0f, 50.0f, 1e30f, 0.001f};
    static const float scales[] = {0.0f, 1e-8f, 1e-3f, 0.1f, 1.0f, 5.0f, 40.0f, 1e4f};
    for (size_t cap = 0; cap < COUNT(caps); ++cap)
        if (test_step(run, TEST_ALWAYS))
            check_raw_scores(run, caps[cap]);
    for (size_t cap = 0; cap < COUNT(caps); ++cap)
        for (size_t scale = 0; scale < COUNT(scales); ++scale)
            for (int variant = 0; variant < 8; ++variant) {
                fused_shape shape = fused_shape_plain(variant & 1 ? 3 : 35, variant & 2 ? 150 : 21,
                                                      1 + 9 * (variant / 4), 6);
                shape.softcap = caps[cap];
                shape.scale = scales[scale];
                shape.causal = variant & 2;
                shape.causal_offset = 100;
                if (test_step(run, TEST_SAMPLED))
                    fused_problem_check(run, &shape, test_step_seed(run));
                if (test_step(run, TEST_SAMPLED))
                    check_capped_score(run, caps[cap], scales[scale], variant);
            }
}

/* Under a cap an infinite score is the cap itself, as is any that is large enough. */
void test_capped_infinities(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(1 + test_random_below(&random, 40),
                                              1 + test_random_below(&random, 200),
                                              1 + test_random_below(&random, 9), 5);
        fused_shape_vary(&shape, &random);
        shape.softcap = variant % 2 ? 2.0f : 30.0f;
        shape.k_repeats = shape.q_is_shared = shape.without_statistics = false;
        fused_problem large, infinite;
        fused_problem_make(&large, run, &shape, random.seed);
        fused_problem_make(&infinite, run, &shape, random.seed);
        for (int64_t j = large.keys.begin; j < large.keys.end; ++j)
            if (j % 5 < 2) {
                const float sign = j % 5 ? 1.0f : -1.0f;
                test_operand_f32(&large.operand[OPERAND_K], 0, j)[j % shape.d] = sign * 1e30f;
                test_operand_f32(&infinite.operand[OPERAND_K], 0, j)[j % shape.d] = sign * INFINITY;
            }
        fused_problem_run(&large, run);
        fused_problem_run(&infinite, run);
        fused_problem_verify(&large, run);
        for (int64_t i = 0; i < shape.n_rows; ++i)
            fused_problem_same_bits(run, &infinite, 0, i, &large, 0, i,
                                    "with infinite scores under a cap");
        fused_problem_free(&large);
        fused_problem_free(&infinite);
    }
}

/* ---- ALiBi */

static void check_alibi(test_run *run, test_slopes slopes, int64_t offset, int variant)
{
    test_random random = {.seed = test_step_seed(run)};
    fused_shape shape =
        fused_shape_plain(1 + test_random_below(&random, variant % 4 ? 9 : 40),
                          1 + test_random_below(&random, variant % 3 ? 60 : 300), 4, 3);
    fused_shape_vary(&shape, &random);
    shape.n_group = variant % 2 ? 1 : 1 + test_random_below(&random, 9);
    shape.slopes = slopes;
    shape.causal_offset = offset;
    if (variant < 4) {
        shape.causal = shape.has_window = false;
        shape.mask = PROBLEM_NO_MASK;
    }
    fused_problem_check(run, &shape, random.seed);
}

void test_alibi(test_run *run)
{
    static const int64_t near[] = {-50, -1, 0, 3, 40, 299, 5000};
    for (int slopes = TEST_SLOPES_ZERO; slopes < TEST_SLOPES_KINDS; ++slopes)
        for (size_t at = 0; at < COUNT(near) + TEST_FAR_OFFSETS; ++at)
            for (int variant = 0; variant < 8; ++variant)
                if (test_step(run, TEST_SAMPLED))
                    check_alibi(run, (test_slopes)slopes,
                                at < COUNT(near) ? near[at] : test_far_offsets[at - COUNT(near)],
                                variant);
}

/* With q = 1 and d = 1 the only key's score is k, then its distance times the slope from it by one
 * fused multiply-add, then the mask's bias added. Half of the keys cancel all but a rounding. */
static void check_alibi_exact(test_run *run, test_slopes slopes, int64_t offset, int variant)
{
    fused_shape shape = one_key_shape(run, variant, 1);
    shape.slopes = slopes;
    shape.causal_offset = offset;
    shape.scale = 1.0f;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    see_one_key(&problem);
    for (int64_t i = 0; i < shape.n_rows; ++i) {
        const int64_t j = only_key(&problem, i);
        const float slope = test_slope(slopes, i % shape.n_group);
        if (i % 2)
            *test_operand_f32(&problem.operand[OPERAND_K], 0, j) =
                slope * test_distance(i, offset, j);
        for (int64_t g = 0; g < shape.n_group; ++g)
            *test_operand_f32(&problem.operand[OPERAND_Q], g, i) = 1.0f;
    }
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = 0; i < shape.n_rows; ++i) {
            const int64_t j = only_key(&problem, i);
            float due = test_add_alibi(*test_operand_f32(&problem.operand[OPERAND_K], 0, j),
                                       test_slope(slopes, g), i, offset, j);
            if (shape.mask == PROBLEM_ADDITIVE)
                due += test_operand_f32(&problem.operand[OPERAND_MASK], g, i)[j];
            const float got = test_operand_f32(&problem.operand[OPERAND_STATS], 0, g)[i];
            if (got != due) {
                char what[160];
                snprintf(what, sizeof what,
                         "head %lld row %lld key %lld: the only score is %.9g instead of %.9g",
                         (long long)g, (long long)i, (long long)j, (double)got, (double)due);
                fused_problem_fail(&problem, run, what);
            }
        }
    fused_problem_free(&problem);
}

void test_alibi_exact(test_run *run)
{
    static const int64_t near[] = {-300, -7, 0, 100, 299, 1000};
    for (int slopes = TEST_SLOPES_ZERO; slopes < TEST_SLOPES_KINDS; ++slopes)
        for (size_t at = 0; at < COUNT(near) + TEST_FAR_OFFSETS; ++at)
            for (int variant = 0; variant < 6; ++variant) {
                const int kind = (int)(at * 5 + (size_t)(variant * 11)) % 64;
                if (test_step(run, TEST_SAMPLED))
                    check_alibi_exact(
                        run, (test_slopes)slopes,
                        at < COUNT(near) ? near[at] : test_far_offsets[at - COUNT(near)], kind);
            }
}

/* Slopes so steep that scores leave f32: -inf is a weight of 0, or a NaN row if all are; +inf a NaN
 * row. Only the distances 0 and 1 stay finite. */
void test_alibi_overflow(test_run *run)
{
    static const float slopes[] = {3e38f, -3e38f, 3.4e38f};
    static const int64_t offsets[] = {-200, -1, 0, 5, 70, 129, 400};
    for (size_t at = 0; at < COUNT(offsets); ++at)
        for (int variant = 0; variant < 12; ++variant) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            fused_shape shape = fused_shape_plain(variant % 2 ? 3 : run->kernel->tile_rows + 1,
                                                  variant % 4 ? 150 : 7, 3, 4);
            shape.n_group = 3;
            shape.slopes = TEST_SLOPES_MIXED;
            shape.causal_offset = offsets[at];
            shape.causal = variant % 3 == 1;
            shape.mask = variant % 3 == 2 ? PROBLEM_ADDITIVE : PROBLEM_NO_MASK;
            shape.mask_by_row = shape.mask_by_key = true;
            shape.has_window = variant >= 8;
            shape.window_left = shape.window_right = 1;
            shape.partial = variant & 4;
            fused_problem problem;
            fused_problem_make(&problem, run, &shape, test_step_seed(run));
            for (int64_t g = 0; g < shape.n_group; ++g)
                test_operand_f32(&problem.operand[OPERAND_SLOPES], 0, 0)[g] = slopes[g];
            fused_problem_run(&problem, run);
            fused_problem_verify(&problem, run);
            fused_problem_free(&problem);
        }
}
