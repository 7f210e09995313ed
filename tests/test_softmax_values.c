/* SPDX-License-Identifier: MIT
 *
 * test_softmax_values.c: values that softmax must get right whatever the size of the call: NaN and
 * infinities, biases at the ends of f32, weights near and below FLT_MIN, and very long rows. */
#include "tests/support/piece_groups.h"
#include "tests/test_softmax.h"

#include "bench/verify/bound.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- NaN and infinities */

/* ON_INFINITE: in the bias of a score that is -inf. */
typedef enum special_place {
    IN_SCORE,
    IN_BIAS,
    ON_INFINITE,
    IN_MASKED_SCORE,
    SPECIAL_PLACES
} special_place;

static void check_special(test_run *run, int64_t n_keys, int64_t key, int variant)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    const special_place where = (special_place)(variant / 3 % SPECIAL_PLACES);
    const int64_t n_rows = variant % 2 ? 3 : run->kernel->tile_rows + 3;
    piece_shape shape = piece_plain_for(run, n_rows, n_keys, 1);
    shape.n_group = 1 + variant % 2;
    shape.in_place = variant / (3 * SPECIAL_PLACES);
    shape.slopes = key % 3 == 2 ? TEST_SLOPES_MIXED : TEST_NO_SLOPES;
    if (where != IN_SCORE) {
        shape.mask = where == IN_MASKED_SCORE ? PIECE_BOOL : PIECE_ADDITIVE;
        shape.mask_by_row = shape.mask_by_key = true;
    }
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    const int64_t row = key % n_rows;
    const int operand = where == IN_BIAS || where == ON_INFINITE ? PIECE_MASK : PIECE_IN;
    if (where == ON_INFINITE)
        test_operand_f32(&problem.operand[PIECE_IN], 0, row)[key] = -INFINITY;
    test_operand_f32(&problem.operand[operand], 0, row)[key] = specials[variant % 3];
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    piece_problem_free(&problem);
}

void test_specials(test_run *run)
{
    static const int64_t lengths[] = {1, 2, 5, 8, 16, 19, 33, 64, 65, 150, 530};
    static const int64_t far_keys[] = {0, 4095, 4096, 8999, 9000};
    enum { VARIANTS = 2 * 3 * SPECIAL_PLACES };
    for (size_t at = 0; at < COUNT(lengths); ++at)
        for (int64_t key = 0; key < lengths[at]; ++key) {
            const bool is_edge = key % 64 < 2 || key % 64 > 62 || key == lengths[at] - 1;
            for (int variant = 0; variant < VARIANTS; ++variant)
                if ((lengths[at] <= 33 || is_edge) && test_step(run, TEST_SAMPLED))
                    check_special(run, lengths[at], key, variant);
        }
    for (size_t key = 0; key < COUNT(far_keys); ++key)
        for (int variant = 0; variant < VARIANTS; ++variant)
            if (test_step(run, TEST_SAMPLED))
                check_special(run, 9001, far_keys[key], variant);
}

/* Every visible score is -inf by value, in some rows or in all; a mask may hide a part of them. */
static void check_all_infinite(test_run *run, int64_t n_keys, int variant)
{
    piece_shape shape = piece_plain_for(run, 5, n_keys, 1);
    shape.mask = (piece_mask)(variant % 3);
    shape.mask_by_row = shape.mask_by_key = true;
    shape.visible_percent = 40;
    shape.in_place = variant & 8;
    shape.slopes = n_keys % 2 ? TEST_SLOPES_HALVING : TEST_NO_SLOPES;
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t i = 0; i < shape.n_rows; ++i)
        for (int64_t j = 0; j < n_keys && (variant & 4 || i % 2); ++j)
            test_operand_f32(&problem.operand[PIECE_IN], 0, i)[j] = -INFINITY;
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    piece_problem_free(&problem);
}

void test_all_infinite(test_run *run)
{
    static const int64_t lengths[] = {1, 2, 7, 16, 19, 40, 130, 600, 9001};
    for (size_t at = 0; at < COUNT(lengths); ++at)
        for (int variant = 0; variant < 16; ++variant)
            if (test_step(run, TEST_SAMPLED))
                check_all_infinite(run, lengths[at], variant);
}

/* ---- biases */

/* Only -inf hides: -FLT_MAX is added, and where it is added to all, the scores are absorbed. */
static void check_bias(test_run *run, float bias, int64_t n_keys, int variant)
{
    piece_shape shape = piece_plain_for(run, 4, n_keys, 1);
    shape.mask = PIECE_ADDITIVE;
    shape.mask_by_row = shape.mask_by_key = true;
    shape.visible_percent = 100;
    shape.spread = 3.0f;
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t i = 0; i < shape.n_rows; ++i)
        for (int64_t j = 0; j < n_keys; ++j)
            if (variant == 0 || (variant == 1 && j > 0) || (variant == 2 && (i + j) % 3 == 0))
                test_operand_f32(&problem.operand[PIECE_MASK], 0, i)[j] = bias;
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    piece_problem_free(&problem);
}

void test_bias_sizes(test_run *run)
{
    static const float biases[] = {-FLT_MAX, -1e30f, -40000.0f, -100.0f, 0.0f, -0.0f, 1e4f, 1e30f};
    static const int64_t lengths[] = {1, 3, 8, 19, 64, 130, 600};
    for (size_t at = 0; at < COUNT(biases); ++at)
        for (size_t length = 0; length < COUNT(lengths); ++length)
            for (int variant = 0; variant < 3; ++variant)
                if (test_step(run, TEST_SAMPLED))
                    check_bias(run, biases[at], lengths[length], variant);
}

/* ---- rows whose weights are known */

void test_known_rows(test_run *run)
{
    static const struct {
        int n;
        float s[3];
        double p[3];
    } rows[] = {
        {3, {1e4f, 9999.0f, -1e4f}, {0.7310585786300049, 0.2689414213699951, 0}},
        {3, {800.0f, 1.0f, 1.0f}, {1, 0, 0}},
        {2, {1e8f, 100000008.0f}, {0.0003353501304664781, 0.9996646498695336}},
        {3, {-FLT_MAX, -FLT_MAX, -FLT_MAX}, {1.0 / 3, 1.0 / 3, 1.0 / 3}},
        {3, {0.0f, -FLT_MAX, -FLT_MAX}, {1, 0, 0}},
        {2, {FLT_MAX, -FLT_MAX}, {1, 0}},
        {1, {88.7f}, {1}},
        {1, {-1e30f}, {1}},
        {2, {0.0f, -0.0f}, {0.5, 0.5}},
        {2, {0.0f, -INFINITY}, {1, 0}},
    };
    for (size_t at = 0; at < COUNT(rows); ++at)
        for (int64_t n_rows = 1; n_rows <= 40; n_rows += 13) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            const piece_shape shape = piece_plain_for(run, n_rows, rows[at].n, 1);
            piece_problem problem;
            piece_problem_make(&problem, run, &shape, test_step_seed(run));
            for (int64_t i = 0; i < n_rows; ++i)
                for (int j = 0; j < rows[at].n; ++j)
                    test_operand_f32(&problem.operand[PIECE_IN], 0, i)[j] = rows[at].s[j];
            piece_problem_run(&problem, run);
            piece_problem_verify(&problem, run);
            for (int j = 0; j < rows[at].n; ++j) {
                const double got = (double)piece_out_row(&problem, 0, n_rows - 1)[j];
                if (!(fabs(got - rows[at].p[j]) <= 1e-6))
                    piece_problem_fail(&problem, run, "a weight that is known is another");
            }
            piece_problem_free(&problem);
        }
}

/* ---- weights of one score against a dominant one: an error of the kernel's exp stands out */

enum { N_WEIGHTS = 2048 };

/* Nothing here is finer than 2^-149, and below 2^-126 of the largest a weight is 0. */
static bool is_weight_right(double t, double want, double got, double most)
{
    const double least = -126 * 0.6931471805599453;
    if (t < least - 1e-4)
        return got == 0;
    if (t <= least + 1e-4 && got == 0)
        return true;
    return fabs(got - want) / fmax(want, 0x1p-126) <= most * SATTN_UNIT_ROUNDOFF;
}

/* Rows [0, t]: the second weight is 1 / (1 + exp(-t)), the first 1 / (1 + exp(t)). */
static void check_pairs(test_run *run, float lowest, float highest)
{
    const piece_shape shape = piece_plain_for(run, N_WEIGHTS, 2, 1);
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t i = 0; i < N_WEIGHTS; ++i) {
        float *const row = test_operand_f32(&problem.operand[PIECE_IN], 0, i);
        row[i % 2] = 0.0f;
        row[1 - i % 2] = lowest + (highest - lowest) * ((float)i / (float)(N_WEIGHTS - 1));
    }
    piece_problem_run(&problem, run);
    for (int64_t i = 0; i < N_WEIGHTS; ++i) {
        const float *const row = test_operand_sealed_f32(&problem.operand[PIECE_IN], 0, i);
        const double t = (double)row[1 - i % 2];
        const double got = (double)piece_out_row(&problem, 0, i)[1 - i % 2];
        const double want = 1 / (1 + exp(-t));
        /* 2 for exp; 1 each for sum, reciprocal and product */
        if (!is_weight_right(t, want, got, 5.1)) {
            char what[128];
            snprintf(what, sizeof what, "scores 0 and %.9g: weight %.9g instead of %.9g", t, got,
                     want);
            piece_problem_fail(&problem, run, what);
            break;
        }
    }
    piece_problem_free(&problem);
}

/* One row: a score of 0 `n_peaks` times, and scores below it by so much that only their own weights
 * show an error. */
static void check_dominated(test_run *run, const float range[2], int64_t n_keys, int n_peaks)
{
    const piece_shape shape = piece_plain_for(run, 1, n_keys, 1);
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    float *const row = test_operand_f32(&problem.operand[PIECE_IN], 0, 0);
    for (int64_t j = 0; j < n_keys; ++j)
        row[j] =
            fminf(range[0] + (range[1] - range[0]) * ((float)j / (float)(n_keys - 1)), range[1]);
    for (int64_t j = 0; j < n_peaks; ++j)
        row[n_keys / 2 + j] = 0.0f;
    piece_problem_run(&problem, run);
    for (int64_t j = 0; j < n_keys; ++j) {
        const double t = (double)test_operand_sealed_f32(&problem.operand[PIECE_IN], 0, 0)[j];
        const double got = (double)piece_out_row(&problem, 0, 0)[j];
        const double want = exp(t) / n_peaks;
        /* Where a part of the row is weighed against its own maximum, t is rounded. */
        if (!is_weight_right(t, want, got, n_keys > 1024 ? 8 + fabs(t) : 8)) {
            char what[128];
            snprintf(what, sizeof what, "%d zeros, score %.9g: weight %.9g instead of %.9g",
                     n_peaks, t, got, want);
            piece_problem_fail(&problem, run, what);
            break;
        }
    }
    piece_problem_free(&problem);
}

void test_weights(test_run *run)
{
    static const float ranges[][2] = {{-1, 0},    {-0.01f, 0}, {-16, 0},  {-60, -16},
                                      {-87, -60}, {-90, -80},  {-200, 0}, {-3e38f, -1e3f}};
    static const int64_t lengths[] = {600, 1024, 9001};
    static const float far[][2] = {
        {-60, -26}, {-87, -60}, {-90, -80}, {-106, -86}, {-3e38f, -1e3f}};
    for (size_t at = 0; at < COUNT(ranges); ++at)
        if (test_step(run, TEST_SAMPLED))
            check_pairs(run, ranges[at][0], ranges[at][1]);
    for (size_t at = 0; at < COUNT(far); ++at)
        for (int n_peaks = 1; n_peaks <= 256; n_peaks *= 4)
            for (size_t length = 0; length < COUNT(lengths); ++length)
                if (test_step(run, TEST_SAMPLED))
                    check_dominated(run, far[at], lengths[length], n_peaks);
}

/* ---- long rows do not drift */

void test_equal_million(test_run *run)
{
    static const int64_t n = 20000000;
    if (run->divisor > 1) {
        test_not_run(run, "20,000,000 keys take too long here");
        return;
    }
    if (!test_step(run, TEST_ALWAYS))
        return;
    float *const row = test_allocate((size_t)n * sizeof(float));
    for (int64_t j = 0; j < n; ++j)
        row[j] = 0.5f;
    const size_t n_bytes =
        (sattn_softmax_scratch_bytes(n) + run->kernel->extra_scratch + 63) / 64 * 64;
    void *const scratch = aligned_alloc(64, n_bytes);
    if (!scratch)
        exit(2);
    float row_max = NAN, row_sum = NAN;
    const sattn_softmax_args args = {.s = row,
                                     .p = row,
                                     .s_stride = n,
                                     .p_stride = n,
                                     .n_group = 1,
                                     .i1 = 1,
                                     .n_columns = n,
                                     .visible = {.n_k = n},
                                     .row_max = &row_max,
                                     .row_sum = &row_sum,
                                     .scratch = scratch};
    run->kernel->fn.softmax(&args);
    free(scratch);
    double total = 0;
    for (int64_t j = 0; j < n; ++j)
        total += (double)row[j];
    free(row);
    if (!(fabs(total - 1) <= 1e-5) || !(fabs((double)row_sum / (double)n - 1) <= 1e-5) ||
        row_max != 0.5f)
        test_fail(run, "%lld equal scores of 0.5: weights add up to %.9g, m %.9g, sum %.9g",
                  (long long)n, total, (double)row_max, (double)row_sum);
}
