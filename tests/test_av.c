/* SPDX-License-Identifier: MIT
 *
 * test_av.c: one av kernel against the kernel contract (kernels/contract.h) and the oracle. Sizes,
 * layouts, visibility and bits of rows are tested as for qk and softmax (support/piece_groups.h);
 * here is what only av has: weights of any kind, values that are not finite, very long rows. */
#include "tests/support/piece_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- weights of any kind */

static void test_weights(test_run *run)
{
    static const piece_data kinds[] = {PIECE_NORMAL, PIECE_EQUAL, PIECE_SIGNED, PIECE_MINUS_ZERO,
                                       PIECE_ZEROS};
    static const int64_t lengths[] = {1, 2, 7, 16, 65, 128, 129, 257, 700, 1500};
    for (size_t kind = 0; kind < COUNT(kinds); ++kind)
        for (size_t length = 0; length < COUNT(lengths); ++length)
            for (int64_t n_rows = 1; n_rows <= 40; n_rows += 13) {
                piece_shape shape = piece_plain_for(run, n_rows, lengths[length], 1 + 3 * n_rows);
                shape.data = kinds[kind];
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
                if (test_step(run, TEST_SAMPLED))
                    piece_check_varied(run, shape);
            }
}

/* ---- whole tiles of columns */

/* Many rows of so many columns have register tiles of their own, with every rest of rows and
 * keys. */
static void test_whole_columns(test_run *run)
{
    static const int64_t widths[] = {64, 128, 192};
    static const int64_t lengths[] = {1, 2, 3, 127, 130, 257};
    for (int64_t n_rows = 17; n_rows <= 68; n_rows += n_rows < 24 ? 1 : 11)
        for (size_t width = 0; width < COUNT(widths); ++width)
            for (size_t length = 0; length < COUNT(lengths); ++length) {
                piece_shape shape = piece_plain_for(run, n_rows, lengths[length], widths[width]);
                shape.placement = length % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
                if (test_step(run, TEST_SAMPLED))
                    piece_check_varied(run, shape);
            }
}

/* One weight of 1, all others 0: the output is that row of V, to the bit. */
static void test_one_hot(test_run *run)
{
    static const int64_t lengths[] = {1, 19, 64, 130, 300};
    for (size_t length = 0; length < COUNT(lengths); ++length)
        for (int64_t key = 0; key < lengths[length]; key += 1 + lengths[length] / 40)
            for (int64_t n_rows = 1; n_rows < 40; n_rows += 33) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                const piece_shape shape = piece_plain_for(run, n_rows, lengths[length], 37);
                piece_problem problem;
                piece_problem_make(&problem, run, &shape, test_step_seed(run));
                for (int64_t i = 0; i < n_rows; ++i)
                    for (int64_t j = 0; j < shape.n_keys; ++j)
                        test_operand_f32(&problem.operand[PIECE_IN], 0, i)[j] = j == key;
                piece_problem_run(&problem, run);
                for (int64_t i = 0; i < n_rows; ++i)
                    if (memcmp(piece_out_row(&problem, 0, i),
                               test_operand_f32(&problem.operand[PIECE_SHARED], 0, key),
                               (size_t)shape.n_features * sizeof(float)) != 0) {
                        piece_problem_fail(&problem, run, "a weight of 1 does not give V's row");
                        break;
                    }
                piece_problem_free(&problem);
            }
}

/* ---- values that are not finite, where a row sees them */

static void check_special(test_run *run, int64_t n_keys, int64_t key, int variant)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    const int64_t n_rows = variant % 2 ? 3 : run->kernel->tile_rows + 3;
    piece_shape shape = piece_plain_for(run, n_rows, n_keys, 7);
    shape.n_group = 1 + variant % 2;
    if (variant & 4) {
        shape.mask = variant & 8 ? PIECE_BOOL : PIECE_ADDITIVE;
        shape.mask_by_row = shape.mask_by_key = true;
    }
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    if (variant & 1)
        test_operand_f32(&problem.operand[PIECE_IN], 0, key % n_rows)[key] = specials[variant % 3];
    else
        test_operand_f32(&problem.operand[PIECE_SHARED], 0, key)[key % 7] = specials[variant % 3];
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    piece_problem_free(&problem);
}

static void test_specials(test_run *run)
{
    static const int64_t lengths[] = {1, 2, 5, 19, 33, 64, 65, 150, 300};
    enum { VARIANTS = 24 };
    for (size_t at = 0; at < COUNT(lengths); ++at)
        for (int64_t key = 0; key < lengths[at]; ++key) {
            const bool is_edge = key % 64 < 2 || key % 64 > 62 || key == lengths[at] - 1;
            for (int variant = 0; variant < VARIANTS; ++variant)
                if ((lengths[at] <= 33 || is_edge) && test_step(run, TEST_SAMPLED))
                    check_special(run, lengths[at], key, variant);
        }
}

/* A -inf bias hides; any other, NaN and -FLT_MAX included, does nothing here. */
static void test_bias_values(test_run *run)
{
    static const float biases[] = {-3.4e38f, 3.4e38f, 0.0f, -0.0f, INFINITY, NAN};
    for (size_t at = 0; at < COUNT(biases); ++at)
        for (int64_t n_keys = 1; n_keys < 300; n_keys += 1 + n_keys / 2) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            piece_shape shape = piece_plain_for(run, 5, n_keys, 11);
            shape.mask = PIECE_ADDITIVE;
            shape.mask_by_row = shape.mask_by_key = true;
            piece_problem problem, plain;
            piece_problem_make(&problem, run, &shape, test_step_seed(run));
            piece_problem_make(&plain, run, &shape, test_step_seed(run));
            for (int64_t i = 0; i < shape.n_rows; ++i)
                for (int64_t j = 0; j < n_keys; ++j) {
                    float *const bias = test_operand_f32(&problem.operand[PIECE_MASK], 0, i) + j;
                    *bias = *bias == -INFINITY ? *bias : biases[at];
                }
            piece_problem_run(&problem, run);
            piece_problem_run(&plain, run);
            piece_same_bits_all(run, &problem, &plain, "with another bias");
            piece_problem_free(&problem);
            piece_problem_free(&plain);
        }
}

/* ---- spans of keys: long rows do not drift */

enum { SPAN = 64 * SATTN_KEY_BLOCK };

static void hide_span(piece_problem *p, int64_t i, int64_t span)
{
    for (int64_t j = span * SPAN; j < (span + 1) * SPAN && j < p->shape.n_keys; ++j)
        test_operand_u8(&p->operand[PIECE_MASK], 0, i)[j] = 0;
}

/* Limits and windows that begin and end near the ends of spans, rows that see nothing of a span
 * beside such that do; each row also on its own. */
static void check_spans(test_run *run, int variant)
{
    static const int64_t lengths[] = {SPAN - 1, SPAN,         SPAN + 1,     SPAN + 200,
                                      2 * SPAN, 2 * SPAN + 1, 2 * SPAN + 9, 3 * SPAN + 77};
    static const int64_t widths[] = {0, 5, 200, SPAN, SPAN + 40};
    test_random random = {.seed = test_step_seed(run)};
    const int64_t n_keys = lengths[variant % 8];
    const int64_t n_spans = (n_keys + SPAN - 1) / SPAN;
    const int64_t n_rows = variant % 3 ? 1 + test_random_below(&random, 4) : 11;
    piece_shape shape = piece_plain_for(run, n_rows, n_keys, 1 + test_random_below(&random, 20));
    shape.n_group = 1 + variant % 2;
    shape.data = variant % 5 ? PIECE_NORMAL : PIECE_SIGNED;
    shape.causal = variant & 16;
    shape.has_window = variant & 32;
    shape.window_left = widths[test_random_below(&random, 5)];
    shape.window_right = test_random_below(&random, 4) - 1;
    shape.causal_offset = SPAN * (1 + test_random_below(&random, n_spans)) - n_rows / 2;
    shape.mask = variant & 64 ? PIECE_BOOL : PIECE_NO_MASK;
    shape.mask_by_row = shape.mask_by_key = true;
    piece_problem all, one;
    piece_problem_make(&all, run, &shape, random.seed);
    for (int64_t i = 0; i < n_rows && shape.mask == PIECE_BOOL; ++i)
        hide_span(&all, i, i % (n_spans + 1));
    piece_problem_run(&all, run);
    piece_problem_verify(&all, run);
    shape.i0 = test_random_below(&random, n_rows);
    shape.i1 = shape.i0 + 1;
    piece_problem_make(&one, run, &shape, random.seed);
    if (shape.mask == PIECE_BOOL)
        hide_span(&one, shape.i0, shape.i0 % (n_spans + 1));
    piece_problem_run(&one, run);
    piece_same_bits_all(run, &one, &all, "on its own");
    piece_problem_free(&all);
    piece_problem_free(&one);
}

/* A value that is not finite, seen by windows that begin in two spans and end in a third: what a
 * row makes of it does not depend on where its neighbours begin. */
static void check_infinite_span(test_run *run, float value)
{
    enum { ROWS = 11 };
    piece_shape shape = piece_plain_for(run, ROWS, 3 * SPAN, 3);
    shape.has_window = true;
    shape.window_left = SPAN + ROWS;
    shape.window_right = 20;
    shape.causal_offset = 2 * SPAN + ROWS / 2;
    piece_problem all, one;
    piece_problem_make(&all, run, &shape, test_step_seed(run));
    test_operand_f32(&all.operand[PIECE_SHARED], 0, SPAN + 100)[1] = value;
    piece_problem_run(&all, run);
    piece_problem_verify(&all, run);
    shape.i0 = ROWS - 1;
    piece_problem_make(&one, run, &shape, test_step_seed(run));
    test_operand_f32(&one.operand[PIECE_SHARED], 0, SPAN + 100)[1] = value;
    piece_problem_run(&one, run);
    piece_same_bits_all(run, &one, &all, "on its own, with a value that is not finite");
    piece_problem_free(&all);
    piece_problem_free(&one);
}

static void test_spans(test_run *run)
{
    static const float values[] = {INFINITY, -INFINITY, NAN};
    for (int variant = 0; variant < 128; ++variant)
        if (test_step(run, TEST_SAMPLED))
            check_spans(run, variant);
    for (size_t at = 0; at < COUNT(values); ++at)
        if (test_step(run, at == 0 ? TEST_ALWAYS : TEST_SAMPLED))
            check_infinite_span(run, values[at]);
}

/* Sums of equal terms: in one chain those of 1 stay at 2^24; of others the roundings of block after
 * block, or of span after span, go one way. */
static void check_equal_terms(test_run *run, float weight)
{
    static const int64_t n = 20000000;
    static const float one = 1.0f;
    float *const p = test_allocate((size_t)n * sizeof(float));
    for (int64_t j = 0; j < n; ++j)
        p[j] = weight;
    const size_t n_bytes = (sattn_av_scratch_bytes(1) + run->kernel->extra_scratch + 63) / 64 * 64;
    void *const scratch = aligned_alloc(64, n_bytes);
    if (!scratch)
        exit(2);
    float o = NAN;
    const sattn_av_args args = {.p = p,
                                .v = &one,
                                .o = &o,
                                .p_stride = n,
                                .o_stride = 1,
                                .n_group = 1,
                                .i1 = 1,
                                .d_v = 1,
                                .visible = {.n_k = n},
                                .scratch = scratch};
    run->kernel->fn.av(&args);
    free(scratch);
    free(p);
    const double want = (double)n * (double)weight;
    if (!(fabs((double)o - want) <= 1e-5 * want))
        test_fail(run, "%lld weights of %.9g and values of 1 add up to %.9g instead of %.9g",
                  (long long)n, (double)weight, (double)o, want);
}

static void test_long_rows(test_run *run)
{
    if (run->divisor > 1) {
        test_not_run(run, "20,000,000 keys take too long here");
        return;
    }
    if (test_step(run, TEST_ALWAYS))
        check_equal_terms(run, 1.0f);
    if (test_step(run, TEST_ALWAYS))
        check_equal_terms(run, 11.0f / 15);
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
        {"empty", piece_test_empty},
        {"anything", piece_test_anything},
        {"causal", piece_test_causal},
        {"windows", piece_test_windows},
        {"masks", piece_test_masks},
        {"combined", piece_test_combined},
        {"one-visible", piece_test_one_visible},
        {"hidden-garbage", piece_test_hidden_garbage},
        {"rows-alone", piece_test_rows_alone},
        {"alignment", piece_test_alignment},
        {"keys-behind", piece_test_keys_behind},
        {"same-keys", piece_test_same_keys},
        {"fp-state", piece_test_fp_state},
        {"weights", test_weights},
        {"whole-columns", test_whole_columns},
        {"one-hot", test_one_hot},
        {"specials", test_specials},
        {"bias-values", test_bias_values},
        {"spans", test_spans},
        {"long-rows", test_long_rows},
    };
    return test_main_of(argc, argv, SATTN_OP_av, groups, COUNT(groups));
}
