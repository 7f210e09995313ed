/* SPDX-License-Identifier: MIT
 *
 * test_softmax_alibi.c: ALiBi in a softmax kernel: in rows of every form, exact where a row sees a
 * single key, whose score is then the row's maximum, and beyond f32. */
#include "tests/support/piece_groups.h"
#include "tests/test_softmax.h"

#include <math.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t offset_at(size_t at, int64_t n_keys)
{
    const int64_t near[] = {-50, -1, 0, 3, n_keys / 2, n_keys - 1, n_keys + 700};
    return at < COUNT(near) ? near[at] : test_far_offsets[at - COUNT(near)];
}
enum { N_OFFSETS = 7 + TEST_FAR_OFFSETS };

/* Short rows, which may share vectors, rows of a few vectors, and rows longer than any part that a
 * row is cut into; dense and with gaps, in place, with limits, masks and columns behind the keys.
 */
static void check_alibi(test_run *run, test_slopes slopes, size_t offset, int variant)
{
    static const int64_t lengths[] = {1, 3, 7, 8, 13, 16, 17, 33, 64, 130, 300, 600, 1100, 9001};
    test_random random = {.seed = test_step_seed(run)};
    const int64_t n_keys = lengths[((size_t)variant * 3 + offset) % COUNT(lengths)];
    const int64_t n_rows = n_keys > 1000 ? 2 : 1 + test_random_below(&random, 40);
    piece_shape shape = piece_plain_for(run, n_rows, n_keys, 1);
    if (variant > 1)
        piece_shape_vary(&shape, &random);
    if (variant > 3) {
        shape.causal = shape.has_window = false;
        shape.mask = PIECE_NO_MASK;
        shape.row_gap[PIECE_IN] = shape.row_gap[PIECE_OUT] = 0;
    }
    shape.n_group = variant % 2 ? 1 : 1 + test_random_below(&random, 9);
    shape.slopes = slopes;
    shape.causal_offset = offset_at(offset, n_keys);
    shape.in_place = variant % 3 == 1;
    shape.without_statistics = variant % 4 == 3;
    piece_check_step(run, &shape);
}

void test_alibi(test_run *run)
{
    for (int slopes = TEST_SLOPES_ZERO; slopes < TEST_SLOPES_KINDS; ++slopes)
        for (size_t offset = 0; offset < N_OFFSETS; ++offset)
            for (int variant = 0; variant < 9; ++variant)
                if (test_step(run, TEST_SAMPLED))
                    check_alibi(run, (test_slopes)slopes, offset, variant);
}

/* Row i sees this key, another in every row where there are enough. */
static int64_t only_key(const piece_problem *p, int64_t i)
{
    return (i * 37 + (int64_t)(p->seed % 101)) % p->shape.n_keys;
}

static void see_one_key(piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < s->n_rows; ++i)
            for (int64_t j = 0; j < s->n_keys; ++j) {
                const bool is_seen = j == only_key(p, i);
                if (s->mask == PIECE_BOOL)
                    test_operand_u8(&p->operand[PIECE_MASK], g, i)[j] = is_seen;
                else
                    test_operand_f32(&p->operand[PIECE_MASK], g, i)[j] =
                        is_seen ? (float)(i % 5) - 2.5f : -INFINITY;
            }
}

static float due_score(const piece_problem *p, int64_t g, int64_t i)
{
    const piece_shape *const s = &p->shape;
    const int64_t j = only_key(p, i);
    const float score = test_operand_sealed_f32(&p->operand[PIECE_IN], g, i)[j];
    const float due = test_add_alibi(score, test_slope(s->slopes, g), i, s->causal_offset, j);
    return s->mask == PIECE_ADDITIVE ? due + test_operand_f32(&p->operand[PIECE_MASK], g, i)[j]
                                     : due;
}

/* Half of the scores cancel all but a rounding of slope times distance. */
static void check_exact(test_run *run, test_slopes slopes, size_t offset, int variant)
{
    static const int64_t lengths[] = {1, 5, 8, 19, 33, 64, 130, 293, 1030, 5000};
    const int64_t n_keys = lengths[(size_t)variant % COUNT(lengths)];
    piece_shape shape =
        piece_plain_for(run, n_keys > 1000 ? 2 : run->kernel->tile_rows + 4, n_keys, 1);
    shape.n_group = variant % 2 ? 5 : 1;
    shape.mask = variant & 4 ? PIECE_BOOL : PIECE_ADDITIVE;
    shape.mask_by_group = variant & 8;
    shape.mask_by_row = shape.mask_by_key = true;
    shape.slopes = slopes;
    shape.causal_offset = offset_at(offset, n_keys);
    shape.in_place = variant % 3 == 0;
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    see_one_key(&problem);
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = 1; i < shape.n_rows; i += 2) {
            const int64_t j = only_key(&problem, i);
            test_operand_f32(&problem.operand[PIECE_IN], g, i)[j] =
                test_slope(slopes, g) * test_distance(i, shape.causal_offset, j);
        }
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = 0; i < shape.n_rows; ++i) {
            const float due = due_score(&problem, g, i);
            const float got = test_operand_f32(&problem.operand[PIECE_STATS], 0, g)[i];
            if (got != due || piece_out_row(&problem, g, i)[only_key(&problem, i)] != 1.0f) {
                char what[160];
                snprintf(what, sizeof what,
                         "head %lld row %lld key %lld: the only score is %.9g instead of %.9g, or "
                         "its weight not 1",
                         (long long)g, (long long)i, (long long)only_key(&problem, i), (double)got,
                         (double)due);
                piece_problem_fail(&problem, run, what);
            }
        }
    piece_problem_free(&problem);
}

void test_alibi_exact(test_run *run)
{
    for (int slopes = TEST_SLOPES_ZERO; slopes < TEST_SLOPES_KINDS; ++slopes)
        for (size_t offset = 0; offset < N_OFFSETS; ++offset)
            for (int variant = 0; variant < 6; ++variant)
                if (test_step(run, TEST_SAMPLED))
                    check_exact(run, (test_slopes)slopes, offset,
                                (int)offset * 7 + variant * 11 + slopes);
}

/* Without a mask all forms of a row are in use: the weights of rows with slopes of 0 are those of
 * rows without. */
void test_zero_slopes(test_run *run)
{
    for (int variant = 0; variant < 150; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape =
            piece_plain_for(run, 1 + test_random_below(&random, 40),
                            1 + test_random_below(&random, variant % 10 ? 200 : 5000), 1);
        shape.n_group = 1 + test_random_below(&random, 3);
        if (variant % 3)
            piece_shape_vary(&shape, &random);
        shape.in_place = variant % 2;
        shape.slopes = TEST_NO_SLOPES;
        piece_problem without, with;
        piece_problem_make(&without, run, &shape, random.seed);
        piece_problem_run(&without, run);
        shape.slopes = TEST_SLOPES_ZERO;
        piece_problem_make(&with, run, &shape, random.seed);
        piece_problem_run(&with, run);
        piece_same_bits_all(run, &with, &without, "with slopes of 0");
        piece_problem_free(&without);
        piece_problem_free(&with);
    }
}

/* Slopes so steep that scores leave f32: -inf is a weight of 0, or a NaN row if all are; +inf a NaN
 * row. Only the distances 0 and 1 stay finite. */
void test_alibi_overflow(test_run *run)
{
    static const float slopes[] = {3e38f, -3e38f, 3.4e38f};
    static const int64_t lengths[] = {1, 2, 7, 16, 40, 150, 600, 9001};
    for (size_t length = 0; length < COUNT(lengths); ++length)
        for (size_t offset = 0; offset < N_OFFSETS; ++offset)
            for (int variant = 0; variant < 4; ++variant) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                piece_shape shape = piece_plain_for(run, variant % 2 ? 3 : 18, lengths[length], 1);
                shape.n_group = 3;
                shape.slopes = TEST_SLOPES_MIXED;
                shape.causal_offset = offset_at(offset, lengths[length]);
                shape.causal = variant == 1;
                shape.mask = variant == 2 ? PIECE_ADDITIVE : PIECE_NO_MASK;
                shape.mask_by_row = shape.mask_by_key = true;
                shape.has_window = variant == 3;
                shape.window_left = shape.window_right = 1;
                piece_problem problem;
                piece_problem_make(&problem, run, &shape, test_step_seed(run));
                for (int64_t g = 0; g < shape.n_group; ++g)
                    test_operand_f32(&problem.operand[PIECE_SLOPES], 0, 0)[g] = slopes[g];
                piece_problem_run(&problem, run);
                piece_problem_verify(&problem, run);
                piece_problem_free(&problem);
            }
}
