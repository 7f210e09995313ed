/* SPDX-License-Identifier: MIT
 *
 * piece_visible.c: which keys softmax and av count, and that others do not matter
 * (piece_groups.h). */
#include "tests/support/piece_groups.h"

#include "bench/verify/inputs.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t extremes[] = {INT64_MIN,        INT64_MIN + 1,      INT64_MIN / 2,
                                   INT64_MAX,        INT64_MAX - 1,      INT64_MAX / 2,
                                   (int64_t)1 << 32, -((int64_t)1 << 32)};

void piece_test_causal(test_run *run)
{
    const int64_t tile_rows = run->kernel->tile_rows;
    const int64_t tile_keys = run->kernel->tile_keys;
    const int64_t rows[] = {1, 3, tile_rows + 1, 2 * tile_rows + 1};
    const int64_t keys[] = {1, 5, tile_keys, 2 * tile_keys + 3};
    for (int at = 0; at < 16; ++at) {
        const int64_t n_rows = rows[at % 4];
        const int64_t n_keys = keys[at / 4];
        const int64_t offsets[] = {
            -n_rows - 3, -n_rows,    -n_rows + 1,     -2,           -1,
            0,           1,          n_keys / 2,      n_keys - 2,   n_keys - 1,
            n_keys,      n_keys + 2, n_keys - n_rows, tile_keys - 1};
        for (size_t o = 0; o < COUNT(offsets) + COUNT(extremes); ++o) {
            piece_shape shape = piece_plain_for(run, n_rows, n_keys, 5);
            shape.causal = true;
            shape.causal_offset = o < COUNT(offsets) ? offsets[o] : extremes[o - COUNT(offsets)];
            shape.n_group = 1 + at % 3;
            shape.i0 = o < COUNT(offsets) ? 0 : n_rows / 2;
            if (test_step(run, TEST_SAMPLED))
                piece_check_step(run, &shape);
        }
    }
}

/* Every side bounded or not, with widths around lanes and tiles, and at the ends of int64_t. */
void piece_test_windows(test_run *run)
{
    const int64_t tile = run->kernel->tile_keys;
    const int64_t widths[] = {-1,       0, 1, 2, 7, 16, tile - 1, tile, tile + 1, INT64_MAX - 1,
                              INT64_MAX};
    const int64_t offsets[] = {-40, -1, 0, 3, 40, 2 * tile, INT64_MIN, INT64_MAX, INT64_MIN + 9};
    for (size_t left = 0; left < COUNT(widths); ++left)
        for (size_t right = 0; right < COUNT(widths); ++right)
            for (size_t offset = 0; offset < COUNT(offsets); ++offset) {
                piece_shape shape =
                    piece_plain_for(run, 1 + (int64_t)(left * 7 + offset) % 40,
                                    offset % 3 ? 50 : 2 * tile + 5, 1 + (int64_t)right);
                shape.has_window = true;
                shape.window_left = widths[left];
                shape.window_right = widths[right];
                shape.causal_offset = offsets[offset];
                shape.causal = (left + right + offset) % 4 == 0;
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

/* Every way to broadcast, from nothing visible to everything visible, with and without a causal
 * limit. */
void piece_test_masks(test_run *run)
{
    static const int percents[] = {0, 3, 50, 97, 100};
    const int64_t sizes[][2] = {
        {1, 40}, {5, 2 * run->kernel->tile_keys + 5}, {2 * run->kernel->tile_rows + 1, 33}};
    for (int form = 0; form < 16; ++form)
        for (size_t percent = 0; percent < COUNT(percents); ++percent)
            for (size_t size = 0; size < COUNT(sizes); ++size)
                for (int causal = 0; causal < 2; ++causal) {
                    piece_shape shape = piece_plain_for(run, sizes[size][0], sizes[size][1], 9);
                    shape.n_group = 3;
                    shape.mask = form & 8 ? PIECE_BOOL : PIECE_ADDITIVE;
                    shape.mask_by_group = form & 1;
                    shape.mask_by_row = form & 2;
                    shape.mask_by_key = form & 4;
                    shape.visible_percent = percents[percent];
                    shape.causal = causal;
                    shape.causal_offset = shape.n_keys / 3;
                    shape.row_gap[PIECE_MASK] = form % 3;
                    if (test_step(run, TEST_SAMPLED))
                        piece_check_step(run, &shape);
                }
}

/* Length, causal limit, window and mask at once, in rows of all lengths. */
void piece_test_combined(test_run *run)
{
    static const int percents[] = {0, 3, 50, 97, 100};
    for (int variant = 0; variant < 400; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 40),
                                            1 + test_random_below(&random, 400),
                                            1 + test_random_below(&random, 20));
        shape.n_group = 1 + test_random_below(&random, 3);
        piece_shape_vary(&shape, &random);
        shape.has_window = true;
        shape.causal = variant % 2;
        shape.mask = (piece_mask)(variant % 3);
        shape.visible_percent = percents[variant % 5];
        if (shape.op == SATTN_OP_softmax)
            shape.n_columns = shape.n_keys + test_random_below(&random, 150);
        shape.i0 = test_random_below(&random, shape.n_rows);
        piece_check_step(run, &shape);
    }
}

/* The mask hides all keys but one: a softmax weight of exactly 1, one product in av. */
static void check_one_visible(test_run *run, int64_t n_keys, int64_t key, int variant)
{
    piece_shape shape = piece_plain_for(run, variant & 1 ? 3 : 18, n_keys, 5);
    shape.mask = variant & 2 ? PIECE_BOOL : PIECE_ADDITIVE;
    shape.mask_by_key = true;
    shape.visible_percent = 0;
    piece_problem problem;
    piece_problem_make(&problem, run, &shape, test_step_seed(run));
    if (shape.mask == PIECE_BOOL)
        test_operand_u8(&problem.operand[PIECE_MASK], 0, 0)[key] = 1;
    else
        test_operand_f32(&problem.operand[PIECE_MASK], 0, 0)[key] = -3.0f;
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    for (int64_t i = 0; i < shape.n_rows; ++i) {
        const float *const in = test_operand_f32(&problem.operand[PIECE_IN], 0, i);
        const float *const v = test_operand_f32(&problem.operand[PIECE_SHARED], 0, 0) +
                               key * problem.operand[PIECE_SHARED].extents.row_stride;
        const float *const out = piece_out_row(&problem, 0, i);
        /* A variable: some compilers would compare products in double (FLT_EVAL_METHOD). */
        const float due = shape.op == SATTN_OP_softmax ? 1.0f : in[key] * v[4];
        if (out[shape.op == SATTN_OP_softmax ? key : 4] != due) {
            piece_problem_fail(&problem, run, "the only visible key does not count in full");
            break;
        }
    }
    piece_problem_free(&problem);
}

void piece_test_one_visible(test_run *run)
{
    static const int64_t places[][2] = {{129, 0},     {129, 63},    {129, 64},    {129, 127},
                                        {8200, 0},    {8200, 4095}, {8200, 4096}, {8200, 8191},
                                        {8200, 8192}, {8200, 8199}, {1025, 512},  {1025, 511}};
    for (int64_t n_keys = 1; n_keys <= 300; ++n_keys)
        if (test_step(run, TEST_SAMPLED))
            check_one_visible(run, n_keys, n_keys - 1, (int)n_keys % 4);
    for (size_t at = 0; at < COUNT(places); ++at)
        for (int variant = 0; variant < 4; ++variant)
            if (test_step(run, TEST_SAMPLED))
                check_one_visible(run, places[at][0], places[at][1], variant);
}

/* ---- garbage where nothing sees it */

static bool is_seen_by_any(const piece_problem *p, int64_t j)
{
    for (int64_t g = 0; g < p->shape.n_group; ++g)
        for (int64_t i = p->shape.i0; i < p->shape.i1; ++i)
            if (piece_is_visible(p, g, i, j))
                return true;
    return false;
}

/* Puts `in` where a row does not see a key, and `shared` into rows of V that no row sees; those
 * before and behind every row's keys cannot be read at all (piece_shape.h). */
static void soil(piece_problem *p, float in, float shared)
{
    const piece_shape *const s = &p->shape;
    for (int64_t j = 0; j < s->n_keys; ++j) {
        for (int64_t g = 0; g < s->n_group; ++g)
            for (int64_t i = s->i0; i < s->i1; ++i)
                if (!piece_is_visible(p, g, i, j))
                    test_operand_f32(&p->operand[PIECE_IN], g, i)[j] = in;
        const bool is_there = j >= p->keys.begin && j < p->keys.end;
        if (s->n_features == 0 || !is_there || is_seen_by_any(p, j))
            continue;
        for (int64_t y = 0; y < s->n_features; ++y)
            test_operand_f32(&p->operand[PIECE_SHARED], 0, j)[y] = shared;
    }
}

void piece_test_hidden_garbage(test_run *run)
{
    static const float garbage[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f};
    static const float finite[] = {1e30f, -1e30f};
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 30),
                                            1 + test_random_below(&random, 200),
                                            1 + test_random_below(&random, 20));
        shape.n_group = 1 + test_random_below(&random, 3);
        if (variant % 4 == 0) /* a row's own keys are then those of its tile */
            shape.n_group = shape.n_rows = shape.i1 = 1;
        piece_shape_vary(&shape, &random);
        shape.shared_repeats = false;
        shape.causal = shape.causal || (!shape.mask && !shape.has_window);
        shape.in_place = shape.op == SATTN_OP_softmax && variant % 3 == 0;
        piece_problem clean, dirty;
        piece_problem_make(&clean, run, &shape, random.seed);
        piece_problem_make(&dirty, run, &shape, random.seed);
        soil(&clean, 0.0f, 0.0f);
        soil(&dirty, garbage[variant % 5], finite[variant % 2]);
        piece_problem_run(&clean, run);
        piece_problem_run(&dirty, run);
        piece_problem_verify(&dirty, run);
        piece_same_bits_all(run, &dirty, &clean, "with garbage in hidden keys");
        piece_problem_free(&clean);
        piece_problem_free(&dirty);
    }
}
