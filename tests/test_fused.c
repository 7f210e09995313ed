/* SPDX-License-Identifier: MIT
 *
 * test_fused.c: one fused kernel against the kernel contract (kernels/contract.h) and the oracle.
 *
 * Sizes are taken from the kernel's registry row: tile - 1, tile, tile + 1, 2 tile + 1. Every call
 * runs between guard pages, with scratch of exactly the promised size that holds NaN. */
#include "tests/test_fused.h"

#include "tests/support/fused_problem.h"
#include "tests/support/tile_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(test_run *run, const fused_shape *shape)
{
    fused_problem_check(run, shape, test_step_seed(run));
}

static void check_varied(test_run *run, fused_shape shape)
{
    test_random random = {.seed = test_step_seed(run)};
    fused_shape_vary(&shape, &random);
    check(run, &shape);
}

static void test_tiles(test_run *run)
{
    int64_t rows[N_EDGES], keys[N_EDGES], columns[N_EDGES];
    tile_edges(run->kernel->tile_rows, rows);
    tile_edges(run->kernel->tile_keys, keys);
    tile_edges(run->kernel->tile_d, columns);
    for (int at = 0; at < N_EDGES * N_EDGES * N_EDGES * N_EDGES; ++at) {
        fused_shape shape = fused_shape_plain(rows[at % 4], keys[at / 4 % 4], columns[at / 16 % 4],
                                              columns[at / 64]);
        shape.placement = at % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        if (test_step(run, TEST_SAMPLED))
            check(run, &shape);
        if (test_step(run, TEST_SAMPLED))
            check_varied(run, shape);
    }
}

enum { EVERY_WIDTH = 576 };

static const int64_t wide[] = {1024, 2048};

static int64_t width_at(int at)
{
    return at < EVERY_WIDTH ? at + 1 : wide[at - EVERY_WIDTH];
}

/* A kernel for few rows may have a form of its own for each number of them. */
static const int64_t few_rows[] = {1, 5, 7, 8};
enum { N_FEW_ROWS = sizeof few_rows / sizeof few_rows[0] };

static void test_every_d(test_run *run)
{
    for (int at = 0; at < (EVERY_WIDTH + 2) * N_FEW_ROWS; ++at) {
        const int64_t d = width_at(at / N_FEW_ROWS);
        fused_shape shape = fused_shape_plain(few_rows[at % N_FEW_ROWS], 19, d, 1 + d % 3);
        shape.placement = d % 2 ? TEST_END_FLUSH : TEST_START_FLUSH;
        shape.row_gap[OPERAND_K] = d % 4;
        if (test_step(run, d >= 1024 ? TEST_ALWAYS : TEST_SAMPLED))
            check(run, &shape);
    }
}

static void test_every_d_v(test_run *run)
{
    for (int at = 0; at < (EVERY_WIDTH + 2) * N_FEW_ROWS; ++at) {
        const int64_t d_v = width_at(at / N_FEW_ROWS);
        fused_shape shape = fused_shape_plain(few_rows[at % N_FEW_ROWS], 19, 1 + d_v % 3, d_v);
        shape.placement = d_v % 2 ? TEST_END_FLUSH : TEST_START_FLUSH;
        shape.row_gap[OPERAND_V] = d_v % 4;
        if (test_step(run, d_v >= 1024 ? TEST_ALWAYS : TEST_SAMPLED))
            check(run, &shape);
    }
}

/* Every number of rows, as query rows of one head and as rows of a group. */
static void test_rows(test_run *run)
{
    const int64_t most = 2 * (run->kernel->tile_rows > 32 ? run->kernel->tile_rows : 32) + 1;
    for (int64_t n_rows = 1; n_rows <= most; ++n_rows) {
        const fused_shape shape = fused_shape_plain(n_rows, 21, 10, 7);
        if (test_step(run, TEST_SAMPLED))
            check(run, &shape);
        if (test_step(run, TEST_SAMPLED))
            check_varied(run, shape);
    }
}

static void test_keys(test_run *run)
{
    const int64_t most = 2 * (run->kernel->tile_keys > 128 ? run->kernel->tile_keys : 128) + 1;
    for (int64_t n_keys = 1; n_keys <= most; ++n_keys) {
        const fused_shape shape = fused_shape_plain(1 + n_keys % 5, n_keys, 9, 6);
        if (test_step(run, TEST_SAMPLED))
            check(run, &shape);
        if (test_step(run, TEST_SAMPLED))
            check_varied(run, shape);
    }
}

static void test_groups(test_run *run)
{
    static const int64_t groups[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 20};
    for (size_t at = 0; at < sizeof groups / sizeof groups[0]; ++at)
        for (int64_t n_rows = 1; n_rows <= 9; n_rows += n_rows < 3 ? 1 : 3)
            for (int variant = 0; variant < 3; ++variant) {
                fused_shape shape = fused_shape_plain(n_rows, 70, 17, 12);
                shape.n_group = groups[at];
                shape.q_is_shared = variant == 1;
                shape.heads_in_rows = variant == 2;
                if (test_step(run, TEST_SAMPLED))
                    check(run, &shape);
                if (test_step(run, TEST_SAMPLED))
                    check_varied(run, shape);
            }
}

/* Gaps, zero strides and misaligned starts, one operand at a time, on both flush sides. */
static void test_layouts(test_run *run)
{
    for (int side = 0; side < 2; ++side)
        for (int operand = 0; operand < OPERAND_COUNT; ++operand)
            for (int variant = 1; variant < 16; ++variant) {
                fused_shape shape = fused_shape_plain(6, 37, 20, 24);
                shape.n_group = 2;
                shape.placement = side ? TEST_START_FLUSH : TEST_END_FLUSH;
                shape.mask = variant % 2 ? PROBLEM_BOOL : PROBLEM_ADDITIVE;
                shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
                const bool bytes = operand == OPERAND_MASK && shape.mask == PROBLEM_BOOL;
                shape.distance[operand] = (size_t)(bytes ? variant : 4 * variant);
                shape.row_gap[operand] = variant;
                shape.k_repeats = variant == 1;
                shape.v_repeats = variant == 2;
                if (test_step(run, TEST_SAMPLED))
                    check(run, &shape);
            }
}

static void test_causal(test_run *run)
{
    static const int64_t extremes[] = {INT64_MIN,        INT64_MIN + 1,      INT64_MIN / 2,
                                       INT64_MAX,        INT64_MAX - 1,      INT64_MAX / 2,
                                       (int64_t)1 << 32, -((int64_t)1 << 32)};
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
        for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; ++o) {
            fused_shape shape = fused_shape_plain(n_rows, n_keys, 6, 5);
            shape.causal = true;
            shape.causal_offset = offsets[o];
            shape.n_group = 1 + at % 3;
            if (test_step(run, TEST_SAMPLED))
                check(run, &shape);
        }
        for (size_t o = 0; o < sizeof extremes / sizeof extremes[0]; ++o) {
            fused_shape shape = fused_shape_plain(n_rows, n_keys, 6, 5);
            shape.causal = true;
            shape.causal_offset = extremes[o];
            shape.i0 = n_rows / 2;
            if (test_step(run, TEST_SAMPLED))
                check(run, &shape);
        }
    }
}

/* Every way to broadcast, from nothing visible to everything visible, with and without a causal
 * limit. */
static void test_masks(test_run *run)
{
    static const int percents[] = {0, 3, 50, 97, 100};
    const int64_t sizes[][2] = {
        {1, 40}, {5, 2 * run->kernel->tile_keys + 5}, {2 * run->kernel->tile_rows + 1, 33}};
    for (int form = 0; form < 16; ++form)
        for (size_t percent = 0; percent < sizeof percents / sizeof percents[0]; ++percent)
            for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; ++size)
                for (int causal = 0; causal < 2; ++causal) {
                    fused_shape shape = fused_shape_plain(sizes[size][0], sizes[size][1], 7, 9);
                    shape.n_group = 3;
                    shape.mask = form & 8 ? PROBLEM_BOOL : PROBLEM_ADDITIVE;
                    shape.mask_by_group = form & 1;
                    shape.mask_by_row = form & 2;
                    shape.mask_by_key = form & 4;
                    shape.visible_percent = percents[percent];
                    shape.causal = causal;
                    shape.causal_offset = shape.n_k / 3;
                    shape.row_gap[OPERAND_MASK] = form % 3;
                    if (test_step(run, TEST_SAMPLED))
                        check(run, &shape);
                }
}

/* No keys, no rows, an empty key range in the middle; K and V may then be NULL. */
static void test_empty(test_run *run)
{
    for (int variant = 0; variant < 24; ++variant) {
        fused_shape shape = fused_shape_plain(5, variant % 3 == 0 ? 0 : 9, 8, 6);
        shape.causal = variant & 1;
        shape.mask = (problem_mask)(variant / 8);
        shape.mask_by_key = true;
        shape.partial = variant & 4;
        if (variant % 3 == 1)
            shape.i0 = shape.i1 = 3;
        if (variant % 3 == 2)
            shape.j0 = shape.j1 = 4;
        if (!test_step(run, TEST_ALWAYS))
            continue;
        fused_problem problem;
        fused_problem_make(&problem, run, &shape, test_step_seed(run));
        if (shape.n_k == 0)
            problem.args.k = problem.args.v = NULL;
        fused_problem_run(&problem, run);
        fused_problem_verify(&problem, run);
        fused_problem_free(&problem);
    }
}

/* A sub-range of rows leaves the other rows alone; a sub-range of keys does not read the others. */
static void test_ranges(test_run *run)
{
    for (int variant = 0; variant < 300; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, 70), 1 + test_random_below(&random, 400),
            1 + test_random_below(&random, 20), 1 + test_random_below(&random, 20));
        shape.n_group = 1 + test_random_below(&random, 4);
        fused_shape_vary(&shape, &random);
        shape.i0 = test_random_below(&random, shape.n_rows + 1);
        shape.i1 = shape.i0 + test_random_below(&random, shape.n_rows - shape.i0 + 1);
        shape.j0 = test_random_below(&random, shape.n_k + 1);
        shape.j1 = shape.j0 + test_random_below(&random, shape.n_k - shape.j0 + 1);
        shape.k_repeats = shape.v_repeats = shape.q_is_shared = false;
        shape.partial = !shape.without_statistics && test_random_chance(&random, 50);
        fused_problem_check(run, &shape, random.seed);
    }
}

enum { MAX_PARTS = 12 };

/* The parts of one row, merged in double. */
static void verify_merged(test_run *run, const fused_problem *whole, const fused_problem *parts,
                          int n_parts, int64_t g, int64_t i)
{
    double m = (double)-INFINITY;
    for (int c = 0; c < n_parts; ++c)
        m = fmax(m, (double)test_operand_f32(&parts[c].operand[OPERAND_STATS], 0, g)[i]);
    double sum = 0;
    double *const o = calloc((size_t)whole->shape.d_v, sizeof(double));
    float *const rounded = malloc((size_t)whole->shape.d_v * sizeof(float));
    if (!o || !rounded)
        exit(2);
    for (int c = 0; c < n_parts; ++c) {
        const double part_max = (double)test_operand_f32(&parts[c].operand[OPERAND_STATS], 0, g)[i];
        const double part_sum = (double)test_operand_f32(&parts[c].operand[OPERAND_STATS], 1, g)[i];
        if (part_sum == 0)
            continue;
        const double weight = exp(part_max - m);
        sum += weight * part_sum;
        for (int64_t y = 0; y < whole->shape.d_v; ++y)
            o[y] += weight * (double)test_operand_f32(&parts[c].operand[OPERAND_O], g, i)[y];
    }
    for (int64_t y = 0; y < whole->shape.d_v; ++y)
        rounded[y] = sum == 0 ? 0.0f : (float)(o[y] / sum);
    fused_problem_verify_row(whole, run, g, i, rounded, m + log(sum), n_parts);
    free(o);
    free(rounded);
}

static void check_parts(test_run *run, fused_shape shape, const int64_t *cuts, int n_parts)
{
    fused_problem whole, parts[MAX_PARTS];
    const uint64_t seed = test_step_seed(run);
    fused_problem_make(&whole, run, &shape, seed);
    fused_problem_run(&whole, run);
    fused_problem_verify(&whole, run);
    shape.partial = true;
    for (int c = 0; c < n_parts; ++c) {
        shape.j0 = cuts[c];
        shape.j1 = cuts[c + 1];
        fused_problem_make(&parts[c], run, &shape, seed);
        fused_problem_run(&parts[c], run);
        fused_problem_verify(&parts[c], run);
    }
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = 0; i < shape.n_rows; ++i)
            verify_merged(run, &whole, parts, n_parts, g, i);
    for (int c = 0; c < n_parts; ++c)
        fused_problem_free(&parts[c]);
    fused_problem_free(&whole);
}

/* Key ranges cut at block edges and anywhere, empty ones among them. */
static void test_partial(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(1 + test_random_below(&random, 9),
                                              1 + test_random_below(&random, 700), 5, 6);
        shape.n_group = 1 + test_random_below(&random, 3);
        fused_shape_vary(&shape, &random);
        shape.without_statistics = shape.k_repeats = shape.v_repeats = false;
        const int n_parts = 1 + (int)test_random_below(&random, MAX_PARTS);
        int64_t cuts[MAX_PARTS + 1] = {0};
        if (variant % 4 >= 2) { /* most parts see nothing */
            shape.has_window = true;
            shape.window_left %= 50;
            shape.window_right %= 9;
        }
        for (int c = 1; c < n_parts; ++c) {
            int64_t cut = test_random_below(&random, shape.n_k + 1);
            if (variant % 2)
                cut = cut / SATTN_KEY_BLOCK * SATTN_KEY_BLOCK;
            int at = c;
            for (; at > 1 && cuts[at - 1] > cut; --at)
                cuts[at] = cuts[at - 1];
            cuts[at] = cut;
        }
        cuts[n_parts] = shape.n_k;
        check_parts(run, shape, cuts, n_parts);
    }
}

/* The reference value must follow a maximum that rises by more than the lazy threshold with every
 * block, and may stay where it rises by less; falling scores must not disturb it. */
static void test_rising_rows(test_run *run)
{
    static const float heights[] = {16.5f, 15.5f, 16.0f, 40.0f, 100.0f, 1.0f, -16.5f, -90.0f};
    const int64_t lengths[] = {1, 3, 16, 64, run->kernel->tile_keys, SATTN_KEY_BLOCK};
    for (size_t height = 0; height < sizeof heights / sizeof heights[0]; ++height)
        for (size_t length = 0; length < sizeof lengths / sizeof lengths[0]; ++length)
            for (int variant = 0; variant < 4; ++variant) {
                fused_shape shape =
                    fused_shape_plain(variant & 1 ? 3 : run->kernel->tile_rows + 1, 700, 4, 5);
                shape.data = PROBLEM_STAIRS;
                shape.stair_height = heights[height];
                shape.stair_keys = lengths[length];
                shape.scale = 1.0f;
                shape.causal = variant & 2;
                shape.causal_offset = 600;
                if (test_step(run, TEST_SAMPLED))
                    check(run, &shape);
            }
}

/* Two large scores that f32 spaces by twice the lazy threshold, in two blocks, over values so large
 * that a weight of exp(32) would overflow: the output is the second one's value. */
static void test_spaced_scores(test_run *run)
{
    for (int64_t n_rows = 1; n_rows <= 35; n_rows += 17) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        fused_shape shape = fused_shape_plain(n_rows, 2 * SATTN_KEY_BLOCK, 1, 3);
        shape.scale = 1.0f;
        fused_problem problem;
        fused_problem_make(&problem, run, &shape, test_step_seed(run));
        for (int64_t i = 0; i < n_rows; ++i)
            *test_operand_f32(&problem.operand[OPERAND_Q], 0, i) = 1.0f;
        for (int64_t j = 0; j < shape.n_k; ++j) {
            *test_operand_f32(&problem.operand[OPERAND_K], 0, j) = j == 0 ? 0x1p28f + 32
                                                                   : j == SATTN_KEY_BLOCK
                                                                       ? 0x1p28f + 64
                                                                       : 0.0f;
            for (int64_t y = 0; y < shape.d_v; ++y)
                test_operand_f32(&problem.operand[OPERAND_V], 0, j)[y] = 1e25f;
        }
        fused_problem_run(&problem, run);
        fused_problem_verify(&problem, run);
        for (int64_t i = 0; i < n_rows; ++i)
            if (!isfinite(*test_operand_f32(&problem.operand[OPERAND_O], 0, i)))
                fused_problem_fail(&problem, run, "a weight leads to an overflow");
        fused_problem_free(&problem);
    }
}

static void test_score_sizes(test_run *run)
{
    static const float deviations[] = {0.0f, 1e-6f, 0.1f, 1.0f,  8.0f,  30.0f,
                                       1e3f, 1e4f,  1e8f, -1.0f, -30.0f};
    for (size_t at = 0; at < sizeof deviations / sizeof deviations[0]; ++at)
        for (int variant = 0; variant < 6; ++variant) {
            fused_shape shape =
                fused_shape_plain(variant & 1 ? 3 : 35, 300, 1 + 20 * (variant / 2), 6);
            shape.scale = (float)((double)deviations[at] / sqrt((double)shape.d));
            if (test_step(run, TEST_SAMPLED))
                check(run, &shape);
            shape.data = PROBLEM_EQUAL;
            if (test_step(run, TEST_SAMPLED))
                check(run, &shape);
        }
    for (int64_t n_keys = 1; n_keys < 40; n_keys += 6) {
        fused_shape shape = fused_shape_plain(5, n_keys, 3, 4);
        shape.data = PROBLEM_MINUS_ZERO;
        if (test_step(run, TEST_SAMPLED))
            check(run, &shape);
    }
}

/* Anything goes. */
static void test_anything(test_run *run)
{
    for (int variant = 0; variant < 2500; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_keys = test_random_chance(&random, 10) ? 600 : 60;
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, test_random_chance(&random, 20) ? 80 : 8),
            1 + test_random_below(&random, most_keys), 1 + test_random_below(&random, 40),
            1 + test_random_below(&random, 40));
        shape.n_group = 1 + test_random_below(&random, 5);
        shape.scale *= test_random_chance(&random, 20) ? 8.0f : 1.0f;
        fused_shape_vary(&shape, &random);
        check(run, &shape);
    }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"tiles", test_tiles},
        {"every-d", test_every_d},
        {"every-d_v", test_every_d_v},
        {"rows", test_rows},
        {"keys", test_keys},
        {"groups", test_groups},
        {"layouts", test_layouts},
        {"causal", test_causal},
        {"masks", test_masks},
        {"empty", test_empty},
        {"ranges", test_ranges},
        {"partial", test_partial},
        {"rising-rows", test_rising_rows},
        {"score-sizes", test_score_sizes},
        {"spaced-scores", test_spaced_scores},
        {"anything", test_anything},
        {"rows-alone", test_rows_alone},
        {"hidden-keys-behind", test_hidden_keys_behind},
        {"alignment", test_alignment},
        {"output-on-query", test_output_on_query},
        {"same-keys", test_same_keys},
        {"large-memory", test_large_memory},
        {"rows-together", test_rows_together},
        {"near-and-far", test_near_and_far},
        {"followed-rows", test_followed_rows},
        {"cut-keys", test_cut_keys},
        {"zero-slopes", test_zero_slopes},
        {"windows", test_windows},
        {"softcap", test_softcap},
        {"capped-infinities", test_capped_infinities},
        {"alibi", test_alibi},
        {"alibi-exact", test_alibi_exact},
        {"alibi-overflow", test_alibi_overflow},
        {"combined", test_combined},
        {"specials", test_specials},
        {"hidden-garbage", test_hidden_garbage},
        {"fp-state", test_fp_state},
        {"weights", test_weights},
        {"long-rows", test_long_rows},
    };
    return test_main(argc, argv, groups, sizeof groups / sizeof groups[0]);
}
