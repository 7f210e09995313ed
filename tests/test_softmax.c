/* SPDX-License-Identifier: MIT
 *
 * test_softmax.c: one softmax kernel against the kernel contract (kernels/contract.h) and the
 * oracle. Sizes, layouts, visibility and bits of rows are tested as for qk and av
 * (support/piece_groups.h); here is what only softmax has. */
#include "tests/test_softmax.h"

#include "tests/support/piece_groups.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- lengths */

/* Dense rows may be read and written as one array, rows with gaps may not; short rows may share
 * vectors. So: every length in both forms, with few rows and with many. */
static void check_length(test_run *run, int64_t n_keys, int64_t n_rows, bool always)
{
    for (int form = 0; form < 4; ++form) {
        piece_shape shape = piece_plain_for(run, n_rows, n_keys, 1);
        shape.placement = (n_keys + form) % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        shape.in_place = form == 1;
        shape.row_gap[PIECE_IN] = form == 2 ? 3 : 0;
        shape.row_gap[PIECE_OUT] = form == 3 ? 5 : 0;
        shape.spread = form == 0 ? 4.0f : 1.0f;
        if (test_step(run, always ? TEST_ALWAYS : TEST_SAMPLED))
            piece_check_step(run, &shape);
    }
}

static void test_lengths(test_run *run)
{
    static const int64_t long_rows[] = {1009,  2048,  4096,  8190,  8191, 8192, 8193,
                                        8194,  8195,  8196,  8197,  8198, 8199, 8200,
                                        16383, 16384, 16385, 32771, 70000};
    for (int64_t n_keys = 1; n_keys <= 520; ++n_keys)
        check_length(run, n_keys, 1 + n_keys * 7 % 20, false);
    for (size_t at = 0; at < COUNT(long_rows); ++at)
        check_length(run, long_rows[at], 1 + (int64_t)at % 2, false);
    for (int64_t n_keys = 1; n_keys <= 20; ++n_keys)
        check_length(run, n_keys, 300 + n_keys, false);
    check_length(run, 70000, 1, true);
}

/* Long rows with a mask, a causal limit and a window. */
static void test_long_visible(test_run *run)
{
    static const int percents[] = {0, 1, 50, 100};
    static const int64_t long_rows[] = {513, 1024, 2047, 4097, 8193, 16385};
    for (size_t at = 0; at < COUNT(long_rows); ++at)
        for (int variant = 0; variant < 8; ++variant) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            test_random random = {.seed = test_step_seed(run)};
            piece_shape shape = piece_plain_for(run, 3, long_rows[at], 1);
            piece_shape_vary(&shape, &random);
            shape.visible_percent = percents[variant % 4];
            shape.in_place = variant % 2;
            piece_check_step(run, &shape);
        }
}

/* Columns behind n_k, which may hold anything and are +0 afterwards. */
static void test_columns(test_run *run)
{
    for (int64_t n_keys = 0; n_keys <= 40; ++n_keys)
        for (int64_t more = 1; more <= 40; more += 3)
            for (int in_place = 0; in_place < 2; ++in_place) {
                piece_shape shape = piece_plain_for(run, 1 + n_keys % 6, n_keys, 1);
                shape.n_columns = n_keys + more;
                shape.in_place = in_place;
                shape.row_gap[PIECE_OUT] = more % 3;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

/* ---- in place */

static void test_in_place(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape =
            piece_plain_for(run, 1 + test_random_below(&random, 40),
                            1 + test_random_below(&random, variant % 10 ? 100 : 1500), 1);
        shape.n_group = 1 + test_random_below(&random, 3);
        piece_shape_vary(&shape, &random);
        piece_problem apart, aliased;
        piece_problem_make(&apart, run, &shape, random.seed);
        piece_problem_run(&apart, run);
        shape.in_place = true;
        piece_problem_make(&aliased, run, &shape, random.seed);
        piece_problem_run(&aliased, run);
        piece_problem_verify(&aliased, run);
        piece_same_bits_all(run, &aliased, &apart, "in place");
        piece_problem_free(&apart);
        piece_problem_free(&aliased);
    }
}

/* ---- sizes of scores */

static void test_score_sizes(test_run *run)
{
    static const float spreads[] = {0.0f,  1e-30f, 1e-6f, 0.1f, 1.0f, 8.0f,
                                    30.0f, 1e3f,   1e4f,  1e8f, 1e37f};
    static const int64_t lengths[] = {1, 2, 7, 19, 64, 130, 300, 700, 1100, 9001};
    static const piece_data kinds[] = {PIECE_NORMAL, PIECE_EQUAL, PIECE_MINUS_ZERO, PIECE_ZEROS};
    for (size_t at = 0; at < COUNT(spreads); ++at)
        for (size_t length = 0; length < COUNT(lengths); ++length)
            for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
                piece_shape shape =
                    piece_plain_for(run, 1 + (int64_t)(at * 5 + length) % 19, lengths[length], 1);
                shape.spread = spreads[at];
                shape.data = kinds[kind];
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

/* Scores that rise, or fall, by a step per key: the maximum is last, or first. */
static void test_rising_rows(test_run *run)
{
    static const float steps[] = {1e-3f, 0.1f, 1.0f, 17.0f, 100.0f, -0.1f, -1.0f, -30.0f};
    static const int64_t lengths[] = {2, 9, 16, 33, 130, 257, 600, 2000, 9001};
    for (size_t at = 0; at < COUNT(steps); ++at)
        for (size_t length = 0; length < COUNT(lengths); ++length)
            for (int variant = 0; variant < 3; ++variant) {
                piece_shape shape = piece_plain_for(run, 1 + 2 * variant, lengths[length], 1);
                shape.data = PIECE_RISING;
                shape.spread = steps[at];
                shape.in_place = variant == 1;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"tiles", piece_test_tiles},
        {"rows", piece_test_rows},
        {"keys", piece_test_keys},
        {"lengths", test_lengths},
        {"long-visible", test_long_visible},
        {"columns", test_columns},
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
        {"in-place", test_in_place},
        {"fp-state", piece_test_fp_state},
        {"score-sizes", test_score_sizes},
        {"rising-rows", test_rising_rows},
        {"specials", test_specials},
        {"all-infinite", test_all_infinite},
        {"bias-sizes", test_bias_sizes},
        {"known-rows", test_known_rows},
        {"alibi", test_alibi},
        {"alibi-exact", test_alibi_exact},
        {"zero-slopes", test_zero_slopes},
        {"alibi-overflow", test_alibi_overflow},
        {"weights", test_weights},
        {"equal-million", test_equal_million},
    };
    return test_main_of(argc, argv, SATTN_OP_softmax, groups, COUNT(groups));
}
