/* SPDX-License-Identifier: MIT
 *
 * piece_sizes.c: every size and layout of a qk, softmax or av call (piece_groups.h). */
#include "tests/support/piece_groups.h"
#include "tests/support/tile_edges.h"

enum { DENSE = 2 * 16 + 1, EVERY_WIDTH = 300 };

piece_shape piece_plain_for(const test_run *run, int64_t n_rows, int64_t n_keys, int64_t n_features)
{
    return piece_shape_plain(run->kernel->op, n_rows, n_keys, n_features);
}

void piece_check_step(test_run *run, const piece_shape *shape)
{
    piece_problem_check(run, shape, test_step_seed(run));
}

void piece_check_varied(test_run *run, piece_shape shape)
{
    test_random random = {.seed = test_step_seed(run)};
    piece_shape_vary(&shape, &random);
    piece_check_step(run, &shape);
}

static void check_both(test_run *run, const piece_shape *shape)
{
    if (test_step(run, TEST_SAMPLED))
        piece_check_step(run, shape);
    if (test_step(run, TEST_SAMPLED))
        piece_check_varied(run, *shape);
}

void piece_test_tiles(test_run *run)
{
    int64_t rows[N_EDGES], keys[N_EDGES], features[N_EDGES];
    tile_edges(run->kernel->tile_rows, rows);
    tile_edges(run->kernel->tile_keys, keys);
    tile_edges(run->kernel->tile_d, features);
    for (int at = 0; at < N_EDGES * N_EDGES * N_EDGES; ++at) {
        piece_shape shape = piece_plain_for(run, rows[at % 4], keys[at / 4 % 4], features[at / 16]);
        shape.placement = at % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        check_both(run, &shape);
    }
}

static int64_t most_of(int tile)
{
    return 2 * tile + 1 > DENSE ? 2 * tile + 1 : DENSE;
}

/* Every number of rows. */
void piece_test_rows(test_run *run)
{
    for (int64_t n_rows = 1; n_rows <= most_of(run->kernel->tile_rows); ++n_rows) {
        piece_shape shape = piece_plain_for(run, n_rows, 21, 10);
        shape.placement = n_rows % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        check_both(run, &shape);
    }
}

void piece_test_keys(test_run *run)
{
    for (int64_t n_keys = 1; n_keys <= most_of(run->kernel->tile_keys); ++n_keys) {
        piece_shape shape = piece_plain_for(run, 1 + n_keys % 5, n_keys, 9);
        shape.placement = n_keys % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        check_both(run, &shape);
    }
}

void piece_test_features(test_run *run)
{
    static const int64_t wide[] = {320, 383, 509, 512, 576, 1021, 1024, 2048, 4099};
    for (int64_t at = 0; at < EVERY_WIDTH + (int64_t)COUNT(wide); ++at) {
        const int64_t width = at < EVERY_WIDTH ? at + 1 : wide[at - EVERY_WIDTH];
        /* In turns a few rows, the rows of a whole tile, and one row with many keys. */
        const int64_t rows[] = {1 + width % 7, run->kernel->tile_rows, 1};
        const int64_t few = 1 + width * 5 % 23;
        const int64_t keys[] = {few, few, 8192 / width + few};
        piece_shape shape = piece_plain_for(run, rows[at % 3], keys[at % 3], width);
        shape.placement = at % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        shape.row_gap[PIECE_SHARED] = width % 4;
        check_both(run, &shape);
    }
}

void piece_test_primes(test_run *run)
{
    static const int64_t sizes[][3] = {{67, 131, 61},  {3, 1031, 127}, {127, 7, 257}, {1, 4099, 67},
                                       {257, 263, 17}, {31, 31, 31},   {1, 1, 1009},  {509, 1, 1}};
    for (size_t at = 0; at < COUNT(sizes); ++at) {
        piece_shape shape = piece_plain_for(run, sizes[at][0], sizes[at][1], sizes[at][2]);
        check_both(run, &shape);
        shape.n_group = 3;
        check_both(run, &shape);
    }
}

void piece_test_groups(test_run *run)
{
    for (int64_t n_group = 1; n_group <= 12; ++n_group)
        for (int64_t n_rows = 1; n_rows <= 9; n_rows += n_rows < 3 ? 1 : 3)
            for (int64_t variant = 0; variant < 3; ++variant) {
                piece_shape shape = piece_plain_for(run, n_rows, 70, 17);
                shape.n_group = n_group;
                shape.heads_in_rows = variant == 2;
                shape.row_gap[PIECE_IN] = shape.row_gap[PIECE_OUT] = variant * 3;
                check_both(run, &shape);
            }
}

/* Gaps, zero strides and misaligned starts, one operand at a time, on both flush sides. */
void piece_test_layouts(test_run *run)
{
    const bool may_mask = run->kernel->op != SATTN_OP_qk;
    for (int side = 0; side < 2; ++side)
        for (int operand = 0; operand < PIECE_OPERANDS; ++operand)
            for (int variant = 1; variant < 16; ++variant) {
                piece_shape shape = piece_plain_for(run, 6, 37, 20);
                shape.n_group = 2;
                shape.placement = side ? TEST_START_FLUSH : TEST_END_FLUSH;
                shape.mask = may_mask ? (piece_mask)(variant % 3) : PIECE_NO_MASK;
                shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
                const bool bytes = operand == PIECE_MASK && shape.mask == PIECE_BOOL;
                shape.distance[operand] = (size_t)(bytes ? variant : 4 * variant);
                shape.row_gap[operand] = variant;
                shape.shared_repeats = variant == 1 || variant == 4;
                shape.in_repeats = !may_mask && (variant == 2 || variant == 4);
                if (test_step(run, TEST_SAMPLED))
                    piece_check_step(run, &shape);
            }
}

/* A sub-range of rows, and of keys in qk, leaves the others alone and is not touched by them. */
void piece_test_ranges(test_run *run)
{
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 70),
                                            1 + test_random_below(&random, 300),
                                            1 + test_random_below(&random, 20));
        shape.n_group = 1 + test_random_below(&random, 4);
        piece_shape_vary(&shape, &random);
        shape.in_repeats = shape.shared_repeats = false;
        shape.i0 = test_random_below(&random, shape.n_rows + 1);
        shape.i1 = shape.i0 + test_random_below(&random, shape.n_rows - shape.i0 + 1);
        if (shape.op == SATTN_OP_qk) {
            shape.j0 = test_random_below(&random, shape.n_keys + 1);
            shape.j1 = shape.j0 + test_random_below(&random, shape.n_keys - shape.j0 + 1);
        }
        piece_problem_check(run, &shape, random.seed);
    }
}

/* No keys, no rows, no columns, an empty range in the middle; without keys, K and V may be NULL. */
void piece_test_empty(test_run *run)
{
    for (int variant = 0; variant < 48; ++variant) {
        const int kind = variant % 4;
        piece_shape shape = piece_plain_for(run, kind == 1 ? 0 : 5, kind == 0 ? 0 : 9, 8);
        shape.n_group = 1 + variant / 4 % 2;
        if (kind == 2)
            shape.i0 = shape.i1 = 3;
        if (shape.op == SATTN_OP_qk && kind == 3)
            shape.j0 = shape.j1 = 4;
        if (shape.op == SATTN_OP_softmax && variant & 8)
            shape.n_columns += 11;
        if (shape.op != SATTN_OP_qk) {
            shape.causal = variant & 4;
            shape.mask = (piece_mask)(variant / 16);
            shape.mask_by_key = true;
        }
        if (!test_step(run, TEST_ALWAYS))
            continue;
        piece_problem problem;
        piece_problem_make(&problem, run, &shape, test_step_seed(run));
        if (shape.n_keys == 0 && shape.op == SATTN_OP_qk)
            problem.args.qk.k = NULL;
        if (shape.n_keys == 0 && shape.op == SATTN_OP_av)
            problem.args.av.v = NULL;
        piece_problem_run(&problem, run);
        piece_problem_verify(&problem, run);
        piece_problem_free(&problem);
    }
}

/* Anything goes. */
void piece_test_anything(test_run *run)
{
    for (int variant = 0; variant < 1500; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_rows = test_random_chance(&random, 20) ? 80 : 8;
        const int64_t most_keys = test_random_chance(&random, 10) ? 600 : 60;
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, most_rows),
                                            1 + test_random_below(&random, most_keys),
                                            1 + test_random_below(&random, 40));
        shape.n_group = 1 + test_random_below(&random, 5);
        shape.spread = test_random_chance(&random, 20) ? 8.0f : 1.0f;
        piece_shape_vary(&shape, &random);
        piece_check_step(run, &shape);
    }
}

/* A kernel neither sets nor clears flushing, and is right with it and without it. */
void piece_test_fp_state(test_run *run)
{
    const uint64_t plain = test_fp_control();
    for (int variant = 0; variant < 20; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        piece_shape shape = piece_plain_for(run, 1 + variant * 2, 150, 9);
        shape.causal = shape.op != SATTN_OP_qk && variant & 1;
        piece_problem problem;
        piece_problem_make(&problem, run, &shape, test_step_seed(run));
        test_fp_control_set(test_fp_control_flushing());
        piece_problem_run(&problem, run); /* fails if the state is another afterwards */
        test_fp_control_set(plain);
        piece_problem_verify(&problem, run);
        piece_problem_free(&problem);
    }
}
