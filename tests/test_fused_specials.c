/* SPDX-License-Identifier: MIT
 *
 * test_fused_specials.c: NaN and infinities at every place, garbage where nobody may look, the
 * floating-point control state, and rows so long that a narrow running sum would stop growing. */
#include "tests/test_fused.h"

#include "bench/verify/inputs.h"
#include "tests/support/fused_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum special_place { IN_Q, IN_K, IN_V, IN_BIAS, SPECIAL_PLACES } special_place;

static const float specials[] = {NAN, -NAN, INFINITY, -INFINITY};
enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

static void put(fused_problem *p, special_place where, int64_t key, float value)
{
    const fused_shape *const s = &p->shape;
    if (where == IN_Q)
        test_operand_f32(&p->operand[OPERAND_Q], 0, key % s->n_rows)[key % s->d] = value;
    else if (where == IN_K)
        test_operand_f32(&p->operand[OPERAND_K], 0, key)[key % s->d] = value;
    else if (where == IN_V)
        test_operand_f32(&p->operand[OPERAND_V], 0, key)[key % s->d_v] = value;
    else
        test_operand_f32(&p->operand[OPERAND_MASK], 0, key % s->n_rows)[key] = value;
}

static void check_special(test_run *run, int64_t n_keys, int64_t key, int variant)
{
    const float value = specials[variant % N_SPECIALS];
    const special_place where = (special_place)(variant / N_SPECIALS % SPECIAL_PLACES);
    fused_shape shape = fused_shape_plain(3 + run->kernel->tile_rows * (variant % 2), n_keys, 5, 7);
    shape.n_group = 1 + variant % 2;
    if (where == IN_BIAS) {
        shape.mask = PROBLEM_ADDITIVE;
        shape.mask_by_row = shape.mask_by_key = true;
    }
    shape.partial = variant / N_SPECIALS / SPECIAL_PLACES;
    shape.softcap = key % 4 == 1 ? 2.0f : 0.0f;
    shape.slopes = key % 3 == 2 ? TEST_SLOPES_MIXED : TEST_NO_SLOPES;
    shape.has_window = key % 4 == 3 && where != IN_V; /* hidden values are dispatch's business */
    shape.window_left = n_keys / 3;
    shape.window_right = key % 8 == 7 ? 0 : -1;
    shape.causal_offset = shape.has_window ? key : 0;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    put(&problem, where, key, value);
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    fused_problem_free(&problem);
}

/* The scores of keys [begin, end) are -inf by value in some rows, +inf in others. If that is all
 * keys, every row is NaN; else the first are finite, also where no finite score came before. */
static void check_infinite(test_run *run, int64_t n_keys, int64_t begin, int64_t end, bool partial)
{
    fused_shape shape = fused_shape_plain(5, n_keys, 3, 4);
    shape.partial = partial;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t j = begin; j < end; ++j)
        test_operand_f32(&problem.operand[OPERAND_K], 0, j)[1] = -INFINITY;
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    fused_problem_free(&problem);
}

void test_specials(test_run *run)
{
    static const int64_t lengths[] = {1, 2, 5, 19, 33, 64, 65, 128, 150, 300};
    enum { VARIANTS = 2 * N_SPECIALS * SPECIAL_PLACES };
    for (size_t at = 0; at < sizeof lengths / sizeof lengths[0]; ++at) {
        const int64_t n_keys = lengths[at];
        for (int64_t key = 0; key < n_keys; ++key) {
            const bool is_edge = key % 64 < 2 || key % 64 > 62 || key == n_keys - 1;
            for (int variant = 0; variant < VARIANTS; ++variant)
                if ((n_keys <= 33 || is_edge) && test_step(run, TEST_SAMPLED))
                    check_special(run, n_keys, key, variant);
        }
        for (int partial = 0; partial < 2; ++partial) {
            if (test_step(run, TEST_SAMPLED))
                check_infinite(run, n_keys, 0, n_keys, partial);
            if (n_keys > SATTN_KEY_BLOCK && test_step(run, TEST_ALWAYS))
                check_infinite(run, n_keys, 0, SATTN_KEY_BLOCK, partial);
            if (test_step(run, TEST_SAMPLED))
                check_infinite(run, n_keys, n_keys / 2, n_keys, partial);
        }
    }
}

/* Hides key j from every row, by the mask. */
static void hide_key(fused_problem *p, int64_t j)
{
    const fused_shape *const s = &p->shape;
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < (s->mask_by_row ? s->n_rows : 1); ++i) {
            if (s->mask == PROBLEM_BOOL)
                test_operand_u8(&p->operand[OPERAND_MASK], g, i)[j] = 0;
            else
                test_operand_f32(&p->operand[OPERAND_MASK], g, i)[j] = -INFINITY;
        }
}

/* Hidden rows of K hold `k`, hidden rows of V hold `v`: those that the mask hides from all. Keys
 * outside every row's limits cannot be read at all (fused_shape.h). */
static void make_with_garbage(fused_problem *p, test_run *run, const fused_shape *shape,
                              uint64_t seed, float k, float v)
{
    fused_problem_make(p, run, shape, seed);
    for (int64_t j = p->keys.begin; j < p->keys.end; ++j) {
        if (sattn_random_bits(seed, 99, (uint64_t)j) % 3 != 0)
            continue;
        hide_key(p, j);
        for (int64_t x = 0; x < shape->d; ++x)
            test_operand_f32(&p->operand[OPERAND_K], 0, j)[x] = k;
        for (int64_t y = 0; y < shape->d_v; ++y)
            test_operand_f32(&p->operand[OPERAND_V], 0, j)[y] = v;
    }
}

/* A key that one row sees and another does not: only the first may be spoilt. */
static void check_hidden_from_some(test_run *run, fused_shape shape, uint64_t seed, float value)
{
    shape.mask_by_row = true;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, seed);
    const fused_keys keys = problem.keys;
    if (keys.begin < keys.end) {
        test_operand_f32(&problem.operand[OPERAND_K], 0, (keys.begin + keys.end) / 2)[0] = value;
        test_operand_f32(&problem.operand[OPERAND_K], 0, keys.end - 1)[0] = value;
    }
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    fused_problem_free(&problem);
}

void test_hidden_garbage(test_run *run)
{
    static const float garbage[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f};
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, 40), 1 + test_random_below(&random, 200),
            1 + test_random_below(&random, 20), 1 + test_random_below(&random, 20));
        fused_shape_vary(&shape, &random);
        shape.n_group = 1 + test_random_below(&random, 3);
        shape.k_repeats = shape.v_repeats = shape.without_statistics = false;
        shape.mask = variant % 2 ? PROBLEM_BOOL : PROBLEM_ADDITIVE;
        shape.mask_by_key = true;
        const float value = garbage[variant % 5];
        fused_problem clean, dirty;
        make_with_garbage(&clean, run, &shape, random.seed, 0.0f, 0.0f);
        make_with_garbage(&dirty, run, &shape, random.seed, value, 1e30f);
        fused_problem_run(&clean, run);
        fused_problem_run(&dirty, run);
        fused_problem_verify(&dirty, run);
        for (int64_t g = 0; g < shape.n_group; ++g)
            for (int64_t i = 0; i < shape.n_rows; ++i)
                fused_problem_same_bits(run, &dirty, g, i, &clean, g, i,
                                        "with garbage in hidden keys");
        fused_problem_free(&clean);
        fused_problem_free(&dirty);
        if (!isfinite(value))
            check_hidden_from_some(run, shape, random.seed, value);
    }
}

/* A kernel neither sets nor clears flushing, and is right with it and without it. */
void test_fp_state(test_run *run)
{
    const uint64_t plain = test_fp_control();
    for (int variant = 0; variant < 20; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        fused_shape shape = fused_shape_plain(1 + variant * 2, 150, 9, 11);
        shape.causal = variant & 1;
        fused_problem problem;
        fused_problem_make(&problem, run, &shape, test_step_seed(run));
        test_fp_control_set(test_fp_control_flushing());
        fused_problem_run(&problem, run); /* fails if the state is another afterwards */
        test_fp_control_set(plain);
        fused_problem_verify(&problem, run);
        fused_problem_free(&problem);
    }
}

enum { N_WEIGHTS = 4096 };

/* Weights below this are exactly 0 (docs/numerics.md, "Lost weights"). */
static const double least_weight = 0x1p-90;

/* Errors of `got`, in u of `want`; where that is lost, or so near to it that it may be, 0 has none.
 */
static double weight_error(double got, double want)
{
    const double rounding = 1e-5 * least_weight;
    if (want < least_weight - rounding)
        return got == 0 ? 0 : (double)INFINITY;
    if (want < least_weight + rounding && got == 0)
        return 0;
    return fabs(got - want) / want / SATTN_UNIT_ROUNDOFF;
}

static void report_weights(test_run *run, const char *rows, double worst, double most)
{
    if (!(worst <= most))
        test_fail(run, "%s: error %g u of the weight, at most %g is allowed", rows, worst, most);
}

/* Rows with two visible keys, of scores 0 and t, and values 0 and 1: the output is exp(t) / (1 +
 * exp(t)), so an error of the kernel's exp stands out. The second key is in the first key's block,
 * where t is at most 0, or in the next, where a lazy reference value lets t reach 16. */
static void check_weights(test_run *run, float lowest, float highest, int64_t second_key)
{
    fused_shape shape = fused_shape_plain(N_WEIGHTS, second_key + 1, 1, 1);
    shape.scale = 1.0f;
    shape.mask = PROBLEM_BOOL;
    shape.mask_by_key = true;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t j = 0; j <= second_key; ++j) {
        const bool is_second = j == second_key;
        test_operand_u8(&problem.operand[OPERAND_MASK], 0, 0)[j] = j == 0 || is_second;
        *test_operand_f32(&problem.operand[OPERAND_K], 0, j) = is_second ? 1.0f : 0.0f;
        *test_operand_f32(&problem.operand[OPERAND_V], 0, j) = is_second ? 1.0f : 0.0f;
    }
    for (int64_t i = 0; i < N_WEIGHTS; ++i)
        *test_operand_f32(&problem.operand[OPERAND_Q], 0, i) =
            lowest + (highest - lowest) * ((float)i / (float)(N_WEIGHTS - 1));
    fused_problem_run(&problem, run);
    double worst = 0;
    for (int64_t i = 0; i < N_WEIGHTS; ++i) {
        const double t = (double)*test_operand_sealed_f32(&problem.operand[OPERAND_Q], 0, i);
        const double got = (double)*test_operand_f32(&problem.operand[OPERAND_O], 0, i);
        const double error = weight_error(got, 1 / (1 + exp(-t)));
        if (!(error <= worst))
            worst = error;
    }
    char rows[64];
    snprintf(rows, sizeof rows, "scores 0 and %g to %g", (double)lowest, (double)highest);
    report_weights(run, rows, worst, 5.1); /* 2 for exp; 1 each for sum, reciprocal and product */
    fused_problem_free(&problem);
}

/* Rows with a visible key in each of three blocks, of scores 0, 15.9 and x, and a value of 1 under
 * the second. As that does not raise the reference value, the factor that the third leads to is
 * exp(-x), far below what the second weighs in the end, which must not be lost. */
static void check_rescaled_weights(test_run *run)
{
    static const float second = 15.9f;
    const int64_t keys[] = {0, SATTN_KEY_BLOCK, 2 * SATTN_KEY_BLOCK};
    fused_shape shape = fused_shape_plain(N_WEIGHTS, keys[2] + 1, 2, 1);
    shape.scale = 1.0f;
    shape.mask = PROBLEM_BOOL;
    shape.mask_by_key = true;
    fused_problem problem;
    fused_problem_make(&problem, run, &shape, test_step_seed(run));
    for (int64_t j = 0; j <= keys[2]; ++j) {
        float *const k = test_operand_f32(&problem.operand[OPERAND_K], 0, j);
        test_operand_u8(&problem.operand[OPERAND_MASK], 0, 0)[j] = j % SATTN_KEY_BLOCK == 0;
        k[0] = j == keys[1] ? second : 0.0f;
        k[1] = j == keys[2] ? 1.0f : 0.0f;
        *test_operand_f32(&problem.operand[OPERAND_V], 0, j) = j == keys[1] ? 1.0f : 0.0f;
    }
    for (int64_t i = 0; i < N_WEIGHTS; ++i) {
        float *const q = test_operand_f32(&problem.operand[OPERAND_Q], 0, i);
        q[0] = 1.0f;
        q[1] = second + 20.0f + 40.0f * ((float)i / (float)N_WEIGHTS);
    }
    fused_problem_run(&problem, run);
    double worst = 0;
    for (int64_t i = 0; i < N_WEIGHTS; ++i) {
        const double x = (double)test_operand_sealed_f32(&problem.operand[OPERAND_Q], 0, i)[1];
        const double weight = exp((double)second - x);
        const double got = (double)*test_operand_f32(&problem.operand[OPERAND_O], 0, i);
        const double error = weight_error(got, weight / (1 + weight + exp(-x)));
        if (!(error <= worst))
            worst = error;
    }
    /* 3 more than above: for the factor's exp and product */
    report_weights(run, "rescaled weights", worst, 8.1);
    fused_problem_free(&problem);
}

void test_weights(test_run *run)
{
    static const float ranges[][2] = {{-1, 0},    {-0.01f, 0}, {-16, 0},
                                      {-60, -16}, {-87, -60},  {-62.39f, -62.38f},
                                      {-90, -80}, {-200, 0},   {-3e38f, -1e3f}};
    static const float lazy[][2] = {{0, 1}, {0, 15.9f}, {-80, 0}, {15.9f, 40}};
    for (size_t at = 0; at < sizeof ranges / sizeof ranges[0]; ++at)
        if (test_step(run, TEST_SAMPLED))
            check_weights(run, ranges[at][0], ranges[at][1], 1);
    for (size_t at = 0; at < sizeof lazy / sizeof lazy[0]; ++at)
        if (test_step(run, TEST_SAMPLED))
            check_weights(run, lazy[at][0], lazy[at][1], SATTN_KEY_BLOCK);
    if (test_step(run, TEST_ALWAYS))
        check_rescaled_weights(run);
}

/* One row of n_keys keys with a head dimension of 1 and values of 1; fails unless the output is 1
 * and the weights add up to `sum`. */
static void check_long_row(test_run *run, const float *k, int64_t k_stride, int64_t n_keys,
                           double sum)
{
    static const float one = 1.0f;
    float o = NAN, row_max = NAN, row_sum = NAN;
    const size_t n_bytes =
        (sattn_fused_scratch_bytes(1, 1) + run->kernel->extra_scratch + 63) / 64 * 64;
    void *const scratch = aligned_alloc(64, n_bytes);
    if (!scratch)
        exit(2);
    const sattn_fused_args args = {.q = &one,
                                   .k = k,
                                   .v = &one,
                                   .o = &o,
                                   .q_stride = 1,
                                   .k_stride = k_stride,
                                   .o_stride = 1,
                                   .n_group = 1,
                                   .i1 = 1,
                                   .j1 = n_keys,
                                   .visible = {.n_k = n_keys},
                                   .d = 1,
                                   .d_v = 1,
                                   .scale = 1.0f,
                                   .row_max = &row_max,
                                   .row_sum = &row_sum,
                                   .scratch = scratch};
    run->kernel->fn.fused(&args);
    free(scratch);
    const double total = (double)row_sum * exp((double)row_max);
    if (!(fabs((double)o - 1) <= 1e-5) || !(fabs(total / sum - 1) <= 1e-5))
        test_fail(run,
                  "%lld keys: output %.9g instead of 1, weights add up to %.9g instead of %.9g",
                  (long long)n_keys, (double)o, total, sum);
}

void test_long_rows(test_run *run)
{
    static const int64_t n_equal = 20000000;
    enum { N_SPREAD = 65536 };
    static const float equal = 0.5f;
    if (run->divisor >= 10)
        test_not_run(run, "20,000,000 keys take too long here");
    else if (test_step(run, TEST_ALWAYS))
        check_long_row(run, &equal, 0, n_equal, (double)n_equal * exp(0.5));
    if (!test_step(run, TEST_ALWAYS))
        return;
    float *const k = malloc(N_SPREAD * sizeof(float));
    if (!k)
        exit(2);
    double sum = 0;
    for (int j = 0; j < N_SPREAD; ++j) {
        k[j] = (float)(-2 * sattn_random_uniform(run->seed, 1, (uint64_t)j));
        sum += exp((double)k[j]);
    }
    check_long_row(run, k, 1, N_SPREAD, sum);
    free(k);
}
