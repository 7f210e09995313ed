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

/* ---- blocks of keys: long rows do not drift */

/* n weights of 1 and values of 1: a sum in one chain stays at 2^24. */
static void test_long_rows(test_run *run)
{
    static const int64_t n = 20000000;
    static const float one = 1.0f;
    if (run->divisor > 1) {
        test_not_run(run, "20,000,000 keys take too long here");
        return;
    }
    if (!test_step(run, TEST_ALWAYS))
        return;
    float *const p = test_allocate((size_t)n * sizeof(float));
    for (int64_t j = 0; j < n; ++j)
        p[j] = one;
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
    if (o != (float)n)
        test_fail(run, "%lld weights and values of 1 add up to %.9g", (long long)n, (double)o);
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
        {"one-hot", test_one_hot},
        {"specials", test_specials},
        {"bias-values", test_bias_values},
        {"long-rows", test_long_rows},
    };
    return test_main_of(argc, argv, SATTN_OP_av, groups, COUNT(groups));
}
