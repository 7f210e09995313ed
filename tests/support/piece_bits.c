/* SPDX-License-Identifier: MIT
 *
 * piece_bits.c: where the contract of qk, softmax and av promises equal bits, not just equal
 * results (piece_groups.h). */
#include "tests/support/piece_groups.h"

#include <math.h>
#include <string.h>

/* Of a row that sees next to nothing, keys that lie far apart. */
static void see_few_keys(piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    if (!s->mask || s->visible_percent > 0)
        return;
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < (s->mask_by_row ? s->n_rows : 1); ++i)
            for (int64_t j = i; j < p->operand[PIECE_MASK].extents.n_columns; j += 3000)
                if (s->mask == PIECE_BOOL)
                    test_operand_u8(&p->operand[PIECE_MASK], g, i)[j] = 1;
                else
                    test_operand_f32(&p->operand[PIECE_MASK], g, i)[j] = -1.0f;
}

/* A problem with one row, or some rows, of a bigger one. Rows keep their index, so data and limits
 * stay the same; their place in a tile and their neighbours change. */
static void compare_rows(test_run *run, const piece_problem *all, int64_t i0, int64_t i1)
{
    piece_shape shape = all->shape;
    shape.i0 = i0;
    shape.i1 = i1;
    piece_problem some;
    piece_problem_make(&some, run, &shape, all->seed);
    see_few_keys(&some);
    piece_problem_run(&some, run);
    piece_same_bits_all(run, &some, all, "in another batch of rows");
    piece_problem_free(&some);
}

/* One head alone, which is then head 0 of its problem: give it the data of head g. */
static void compare_head(test_run *run, const piece_problem *all, int64_t g)
{
    piece_shape shape = all->shape;
    shape.n_group = 1;
    piece_problem alone;
    piece_problem_make(&alone, run, &shape, all->seed);
    const test_operand *const mask = &alone.operand[PIECE_MASK];
    if (shape.slopes)
        *test_operand_f32(&alone.operand[PIECE_SLOPES], 0, 0) = test_slope(shape.slopes, g);
    for (int64_t i = 0; i < shape.n_rows; ++i) {
        memcpy(test_operand_f32(&alone.operand[PIECE_IN], 0, i),
               test_operand_f32(&all->operand[PIECE_IN], g, i),
               (size_t)piece_in_width(&shape) * sizeof(float));
        if (shape.mask == PIECE_BOOL)
            memcpy(test_operand_u8(mask, 0, i), test_operand_u8(&all->operand[PIECE_MASK], g, i),
                   (size_t)mask->extents.n_columns);
        if (shape.mask == PIECE_ADDITIVE)
            memcpy(test_operand_f32(mask, 0, i), test_operand_f32(&all->operand[PIECE_MASK], g, i),
                   (size_t)mask->extents.n_columns * sizeof(float));
    }
    piece_problem_run(&alone, run);
    for (int64_t i = 0; i < shape.n_rows; ++i) {
        const piece_pair pair = {.got = &alone, .want = all, .g_got = 0, .g_want = g};
        piece_same_bits(run, &pair, i, 0, piece_out_width(&shape), "without the rest of the group");
    }
    piece_problem_free(&alone);
}

/* A length near the edge of a key block. */
static int64_t length_at_edge(test_random *random)
{
    return SATTN_KEY_BLOCK * (1 + test_random_below(random, 3)) + test_random_below(random, 35) -
           17;
}

/* Rows see more keys than a block holds, from keys on that differ from row to row. */
static void window_over_blocks(piece_shape *shape, test_random *random)
{
    if (shape->op == SATTN_OP_qk)
        return;
    shape->n_keys = shape->n_columns = shape->j1 = (int64_t)3 * SATTN_KEY_BLOCK + 100;
    shape->has_window = true;
    shape->causal = false;
    shape->window_left = SATTN_KEY_BLOCK + test_random_below(random, 2 * SATTN_KEY_BLOCK);
    shape->window_right = SATTN_KEY_BLOCK;
    shape->causal_offset = shape->window_left + test_random_below(random, 90);
    shape->visible_percent = 90;
}

/* The same for the parts that longer rows are cut into, of 4,096 or 8,192 keys: the first rows
 * begin just before a part does, the last in it, and some end with one. */
static void window_over_parts(piece_shape *shape, test_random *random)
{
    enum { PART = 8192 };
    if (shape->op == SATTN_OP_qk)
        return;
    const int64_t begin = PART * test_random_below(random, 2) + PART / 2 - 2;
    const int64_t end = begin + PART / 2 * (1 + test_random_below(random, 3));
    shape->n_rows = shape->i1 = 5;
    shape->n_keys = shape->n_columns = shape->j1 = 3 * PART - 100;
    shape->has_window = true;
    shape->causal = false;
    shape->causal_offset = end - 3;
    shape->window_left = end - 3 - begin;
    shape->window_right = test_random_below(random, 3);
    if (shape->mask && test_random_chance(random, 40))
        shape->visible_percent = 0; /* but a few, see below */
}

void piece_test_rows_alone(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t tile_rows = run->kernel->tile_rows > 6 ? run->kernel->tile_rows : 6;
        const int64_t most_rows = 2 * tile_rows + 2;
        piece_shape shape = piece_plain_for(run, 2 + test_random_below(&random, most_rows),
                                            1 + test_random_below(&random, 300),
                                            1 + test_random_below(&random, 40));
        if (shape.op == SATTN_OP_av && variant % 6 == 5) /* whole tiles of columns, many rows */
            shape = piece_plain_for(run, 17 + test_random_below(&random, 50), shape.n_keys,
                                    64 * (1 + test_random_below(&random, 2)));
        piece_shape_vary(&shape, &random);
        shape.n_group = 1 + variant % 5;
        if (variant % 3 == 0)
            shape.spread = 9.0f;
        if (variant % 8 == 2)
            shape.data = PIECE_ZEROS;
        if (variant % 4 == 1)
            window_over_blocks(&shape, &random);
        if (variant % 8 == 7)
            window_over_parts(&shape, &random);
        piece_problem all;
        piece_problem_make(&all, run, &shape, random.seed);
        see_few_keys(&all);
        piece_problem_run(&all, run);
        piece_problem_verify(&all, run);
        for (int64_t i = 0; i < shape.n_rows; ++i)
            compare_rows(run, &all, i, i + 1);
        for (int cut = 0; cut < 8; ++cut) {
            const int64_t i0 = test_random_below(&random, shape.n_rows);
            compare_rows(run, &all, i0, i0 + 1 + test_random_below(&random, shape.n_rows - i0));
        }
        for (int64_t g = 0; g < shape.n_group; ++g)
            compare_head(run, &all, g);
        piece_problem_free(&all);
    }
}

/* At other addresses and with other strides. */
void piece_test_alignment(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 40),
                                            1 + test_random_below(&random, 150),
                                            1 + test_random_below(&random, 70));
        shape.n_group = 1 + test_random_below(&random, 3);
        if (shape.op != SATTN_OP_qk) {
            shape.mask = (piece_mask)(variant % 3);
            shape.slopes = (test_slopes)(variant % TEST_SLOPES_KINDS);
        }
        shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
        shape.placement = TEST_START_FLUSH;
        piece_problem plain, shifted;
        piece_problem_make(&plain, run, &shape, random.seed);
        piece_problem_run(&plain, run);
        for (int operand = 0; operand < PIECE_OPERANDS; ++operand) {
            shape.distance[operand] = 4 * (size_t)test_random_below(&random, 16);
            shape.row_gap[operand] = test_random_below(&random, 20);
        }
        shape.placement = variant % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        shape.heads_in_rows = variant % 4 == 3;
        piece_problem_make(&shifted, run, &shape, random.seed);
        piece_problem_run(&shifted, run);
        piece_same_bits_all(run, &shifted, &plain, "at other addresses");
        piece_problem_free(&plain);
        piece_problem_free(&shifted);
    }
}

/* A problem of n_keys keys, and one whose further keys are hidden: by the causal limit, by the
 * window, by a mask, or by n_k in a longer row of P. */
typedef enum behind { BEHIND_CAUSAL, BEHIND_WINDOW, BEHIND_MASK, BEHIND_COLUMNS, BEHINDS } behind;

static void hide_from(piece_problem *p, int64_t first)
{
    for (int64_t g = 0; g < p->shape.n_group; ++g)
        for (int64_t i = 0; i < p->shape.n_rows; ++i)
            for (int64_t j = first; j < p->shape.n_keys; ++j)
                test_operand_u8(&p->operand[PIECE_MASK], g, i)[j] = 0;
}

static void compare_longer(test_run *run, const piece_problem *exact, behind by, int64_t n_more)
{
    piece_shape shape = exact->shape;
    if (by == BEHIND_COLUMNS) {
        shape.n_columns += shape.op == SATTN_OP_softmax ? n_more : 0;
    } else {
        shape.n_keys += n_more;
        shape.j1 = shape.n_columns = shape.n_keys;
    }
    piece_problem longer;
    piece_problem_make(&longer, run, &shape, exact->seed);
    if (by == BEHIND_MASK)
        hide_from(&longer, exact->shape.n_keys);
    piece_problem_run(&longer, run);
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = 0; i < shape.n_rows; ++i) {
            const piece_pair pair = {.got = &longer, .want = exact, .g_got = g, .g_want = g};
            const int64_t end = piece_out_width(&exact->shape);
            piece_same_bits(run, &pair, i, 0, end, "with hidden keys behind the last");
        }
    piece_problem_free(&longer);
}

void piece_test_keys_behind(test_run *run)
{
    for (int variant = 0; variant < 240; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const behind by = (behind)(variant % BEHINDS);
        test_random random = {.seed = test_step_seed(run)};
        const int64_t n_keys = test_random_chance(&random, 50)
                                   ? length_at_edge(&random)
                                   : 1 + test_random_below(&random, 300);
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 40), n_keys,
                                            1 + test_random_below(&random, 20));
        if (test_random_chance(&random, 60))
            piece_shape_vary(&shape, &random);
        shape.n_group = 1 + test_random_below(&random, 3);
        if (variant % 16 < BEHINDS) /* longer than any part that a row is cut into */
            shape.n_keys = shape.j1 =
                4090 * (1 + test_random_below(&random, 3)) + test_random_below(&random, 20);
        if (variant % 16 < BEHINDS)
            shape.n_rows = shape.i1 = 2;
        if (variant % 16 >= 16 - BEHINDS)
            shape.data = PIECE_ZEROS;
        shape.n_columns = shape.n_keys;
        shape.shared_repeats = false;
        shape.causal = shape.causal || by == BEHIND_CAUSAL;
        if (by == BEHIND_CAUSAL || by == BEHIND_WINDOW) /* the last row sees key n_keys - 1 */
            shape.causal_offset = shape.n_keys - shape.n_rows;
        if (by == BEHIND_WINDOW) {
            shape.has_window = true;
            shape.window_right = 0;
        }
        if (by == BEHIND_MASK) {
            shape.mask = PIECE_BOOL;
            shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
        }
        piece_problem exact;
        piece_problem_make(&exact, run, &shape, random.seed);
        piece_problem_run(&exact, run);
        piece_problem_verify(&exact, run);
        const int64_t most_more = test_random_chance(&random, 5) ? 10000 : 200;
        compare_longer(run, &exact, by, 1 + test_random_below(&random, most_more));
        piece_problem_free(&exact);
    }
}

/* What a problem sees by length, causal limit, window and mask, by a mask of all its own. */
static void see_the_same(piece_problem *to, const piece_problem *from)
{
    const piece_shape *const s = &from->shape;
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = 0; i < s->n_rows; ++i)
            for (int64_t j = 0; j < to->shape.n_keys; ++j) {
                const bool is_visible = piece_is_visible(from, g, i, j);
                if (to->shape.mask == PIECE_BOOL) {
                    test_operand_u8(&to->operand[PIECE_MASK], g, i)[j] = is_visible;
                    continue;
                }
                const float *const bias = test_operand_f32(&from->operand[PIECE_MASK], g, i);
                float visible_bias = 0.0f;
                if (is_visible && s->mask == PIECE_ADDITIVE)
                    visible_bias = bias[s->mask_by_key ? j : 0];
                test_operand_f32(&to->operand[PIECE_MASK], g, i)[j] =
                    is_visible ? visible_bias : -INFINITY;
            }
}

/* Bits depend on which keys a row sees, not on what hides the others. */
void piece_test_same_keys(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        piece_shape shape = piece_plain_for(run, 1 + test_random_below(&random, 30),
                                            variant % 8 == 7 ? 5000 : length_at_edge(&random),
                                            1 + test_random_below(&random, 20));
        shape.n_group = 1 + test_random_below(&random, 2);
        piece_shape_vary(&shape, &random);
        shape.shared_repeats = false;
        if (variant % 10 == 4)
            shape.data = PIECE_ZEROS;
        if (variant % 3 == 0)
            window_over_blocks(&shape, &random);
        if (variant % 12 == 5)
            window_over_parts(&shape, &random);
        piece_problem limited, masked;
        piece_problem_make(&limited, run, &shape, random.seed);
        see_few_keys(&limited);
        piece_problem_run(&limited, run);
        piece_problem_verify(&limited, run);
        shape.causal = shape.has_window = false;
        shape.mask = shape.mask == PIECE_ADDITIVE || variant % 2 ? PIECE_ADDITIVE : PIECE_BOOL;
        shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
        piece_problem_make(&masked, run, &shape, random.seed);
        see_the_same(&masked, &limited);
        piece_problem_run(&masked, run);
        piece_same_bits_all(run, &masked, &limited, "with the same keys hidden by a mask");
        piece_problem_free(&limited);
        piece_problem_free(&masked);
    }
}
