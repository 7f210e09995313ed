/* SPDX-License-Identifier: MIT
 *
 * test_fused_bits.c: where the kernel contract promises equal bits, not just equal results. */
#include "tests/test_fused.h"

#include "tests/support/fused_problem.h"

#include <math.h>
#include <string.h>

/* A problem with one row, or some rows, of a bigger one. Rows keep their index, so data and causal
 * limits stay the same. */
static void compare_rows(test_run *run, const fused_problem *all, int64_t i0, int64_t i1)
{
    fused_shape shape = all->shape;
    shape.i0 = i0;
    shape.i1 = i1;
    fused_problem some;
    fused_problem_make(&some, run, &shape, all->seed);
    fused_problem_run(&some, run);
    for (int64_t g = 0; g < shape.n_group; ++g)
        for (int64_t i = i0; i < i1; ++i)
            fused_problem_same_bits(run, &some, g, i, all, g, i, "in another batch of rows");
    fused_problem_free(&some);
}

/* One head alone, which is then head 0 of its problem: give it the data of head g. */
static void compare_head(test_run *run, const fused_problem *all, int64_t g)
{
    fused_shape shape = all->shape;
    shape.n_group = 1;
    fused_problem alone;
    fused_problem_make(&alone, run, &shape, all->seed);
    if (shape.slopes)
        *test_operand_f32(&alone.operand[OPERAND_SLOPES], 0, 0) = test_slope(shape.slopes, g);
    for (int64_t i = 0; i < shape.n_rows; ++i) {
        memcpy(test_operand_f32(&alone.operand[OPERAND_Q], 0, i),
               test_operand_f32(&all->operand[OPERAND_Q], g, i), (size_t)shape.d * sizeof(float));
        const size_t n_columns = shape.mask_by_key ? (size_t)shape.n_k : 1;
        if (shape.mask == PROBLEM_BOOL)
            memcpy(test_operand_u8(&alone.operand[OPERAND_MASK], 0, i),
                   test_operand_u8(&all->operand[OPERAND_MASK], g, i), n_columns);
        if (shape.mask == PROBLEM_ADDITIVE)
            memcpy(test_operand_f32(&alone.operand[OPERAND_MASK], 0, i),
                   test_operand_f32(&all->operand[OPERAND_MASK], g, i), n_columns * sizeof(float));
    }
    fused_problem_run(&alone, run);
    for (int64_t i = 0; i < shape.n_rows; ++i)
        fused_problem_same_bits(run, &alone, 0, i, all, g, i, "without the rest of the group");
    fused_problem_free(&alone);
}

/* Rows see more keys than a block holds, from keys on that differ from row to row. */
static void window_over_blocks(fused_shape *shape, test_random *random)
{
    shape->n_k = shape->j1 = (int64_t)3 * SATTN_KEY_BLOCK + 100;
    shape->has_window = true;
    shape->causal = false;
    shape->window_left = SATTN_KEY_BLOCK / 2 + test_random_below(random, 2 * SATTN_KEY_BLOCK);
    shape->window_right = test_random_below(random, SATTN_KEY_BLOCK);
    shape->causal_offset = shape->window_left + test_random_below(random, 90) - 10;
    shape->visible_percent = 90;
}

static fused_shape shape_to_cut(test_run *run, int variant, test_random *random)
{
    const int64_t most_rows = 2 * run->kernel->tile_rows + 2;
    fused_shape shape = fused_shape_plain(
        2 + test_random_below(random, most_rows), 1 + test_random_below(random, 300),
        1 + test_random_below(random, 40), 1 + test_random_below(random, 40));
    fused_shape_vary(&shape, random);
    shape.n_group = 1 + variant % 5;
    shape.without_statistics = false;
    if (variant % 3 == 0) {
        shape.data = PROBLEM_STAIRS;
        shape.stair_height = 9.0f;
        shape.stair_keys = 20;
        shape.scale = 1.0f;
    }
    if (variant % 4 == 1)
        window_over_blocks(&shape, random);
    return shape;
}

void test_rows_alone(test_run *run)
{
    for (int variant = 0; variant < 60; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const fused_shape shape = shape_to_cut(run, variant, &random);
        fused_problem all;
        fused_problem_make(&all, run, &shape, random.seed);
        fused_problem_run(&all, run);
        fused_problem_verify(&all, run);
        for (int64_t i = 0; i < shape.n_rows; ++i)
            compare_rows(run, &all, i, i + 1);
        for (int cut = 0; cut < 8; ++cut) {
            const int64_t i0 = test_random_below(&random, shape.n_rows);
            compare_rows(run, &all, i0, i0 + 1 + test_random_below(&random, shape.n_rows - i0));
        }
        for (int64_t g = 0; g < shape.n_group; ++g)
            compare_head(run, &all, g);
        fused_problem_free(&all);
    }
}

static void same_bits_all(test_run *run, const fused_problem *got, const fused_problem *want,
                          const char *what)
{
    for (int64_t g = 0; g < got->shape.n_group; ++g)
        for (int64_t i = got->shape.i0; i < got->shape.i1; ++i)
            fused_problem_same_bits(run, got, g, i, want, g, i, what);
}

/* The same problem in another form, which must not show. */
static void compare_form(test_run *run, const fused_problem *all, const fused_shape *form,
                         const char *what)
{
    fused_problem other;
    fused_problem_make(&other, run, form, all->seed);
    fused_problem_run(&other, run);
    fused_problem_verify(&other, run);
    same_bits_all(run, &other, all, what);
    fused_problem_free(&other);
}

/* Each row of O lies on its row of Q. */
static void compare_on_query(test_run *run, const fused_problem *apart)
{
    fused_shape shape = apart->shape;
    shape.o_is_q = true;
    compare_form(run, apart, &shape, "with o on q");
}

/* A problem whose K and V are taken to come from memory, as if they came from a cache. */
static void compare_near(test_run *run, const fused_problem *far)
{
    fused_shape shape = far->shape;
    shape.kv_bytes = 1;
    compare_form(run, far, &shape, "where K and V are taken to be near");
}

/* K and V of several megabytes of a call of many more, which kernels for few rows fetch in another
 * way. That must not show. */
void test_large_memory(test_run *run)
{
    static const struct {
        int64_t n_group, megabytes, d, d_v;
    } calls[] = {{2, 4, 249, 128}, {3, 3, 256, 128}, {4, 4, 256, 128}, {7, 7, 256, 128},
                 {8, 8, 256, 128}, {1, 1, 64, 64},   {2, 1, 128, 80},  {5, 1, 64, 64},
                 {6, 1, 90, 41},   {12, 1, 128, 20}, {13, 1, 40, 150}};
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; ++at) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const int64_t key_bytes = (calls[at].d + calls[at].d_v) * (int64_t)sizeof(float);
        const int64_t n_k = (calls[at].megabytes << 20) / key_bytes + 2 * SATTN_KEY_BLOCK + 5;
        fused_shape shape = fused_shape_plain(1, n_k, calls[at].d, calls[at].d_v);
        shape.n_group = calls[at].n_group;
        shape.kv_bytes = FUSED_SHAPE_KV_FAR;
        fused_problem all;
        fused_problem_make(&all, run, &shape, test_step_seed(run));
        fused_problem_run(&all, run);
        fused_problem_verify(&all, run);
        compare_head(run, &all, 0);
        compare_head(run, &all, shape.n_group - 1);
        compare_near(run, &all);
        fused_problem_free(&all);
    }
}

/* Rows of Q that share one passage through K and V, since these are larger than a second-level
 * cache: the wide ones first, whose keys are few. Beside which others a row does so must not show.
 */
void test_rows_together(test_run *run)
{
    static const int64_t widths[][2] = {{512, 512}, {1030, 3}, {9, 1100}, {301, 600}};
    for (int variant = 0; variant < 24; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t *const width = widths[variant % 4];
        const int64_t n_k = (1 << 18) / (width[0] + width[1]) + 1 + test_random_below(&random, 99);
        const int64_t n_group = 1 + variant / 4 % 3;
        fused_shape shape = fused_shape_plain(1 + test_random_below(&random, 330 / n_group), n_k,
                                              width[0], width[1]);
        if (variant / 4 % 2)
            fused_shape_vary(&shape, &random);
        if (variant / 4 == 2)
            window_over_blocks(&shape, &random);
        shape.n_group = n_group;
        if (variant / 4 == 4) {
            shape.n_k += (int64_t)2 * SATTN_KEY_BLOCK;
            shape.j0 = SATTN_KEY_BLOCK;
            shape.j1 = shape.n_k;
        }
        fused_problem all;
        fused_problem_make(&all, run, &shape, random.seed);
        fused_problem_run(&all, run);
        fused_problem_verify(&all, run);
        for (int cut = 0; cut < 2; ++cut) {
            const int64_t i0 = test_random_below(&random, shape.n_rows);
            compare_rows(run, &all, i0, i0 + 1 + test_random_below(&random, shape.n_rows - i0));
        }
        if (shape.d == shape.d_v && !shape.q_is_shared)
            compare_on_query(run, &all);
        fused_problem_free(&all);
    }
}

/* Near and far for all numbers of rows that a strip may have, and widths that kernels take in other
 * tiles, with few keys: kernels know nothing of their sizes but what they are told. */
void test_near_and_far(test_run *run)
{
    static const int64_t widths[] = {40, 64, 100, 128, 576};
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 28};
    enum { N_WIDTHS = sizeof widths / sizeof widths[0], N_ROWS = sizeof rows / sizeof rows[0] };
    for (int at = 0; at < N_WIDTHS * N_ROWS; ++at) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const int64_t width = widths[at / N_ROWS];
        fused_shape shape =
            fused_shape_plain(1, (int64_t)2 * SATTN_KEY_BLOCK + 5 * (at % 8) + 1, width, width);
        shape.n_group = rows[at % N_ROWS];
        shape.kv_bytes = FUSED_SHAPE_KV_FAR;
        fused_problem far;
        fused_problem_make(&far, run, &shape, test_step_seed(run));
        fused_problem_run(&far, run);
        fused_problem_verify(&far, run);
        compare_near(run, &far);
        fused_problem_free(&far);
    }
}

/* The same problem on a core that follows rows. */
static void compare_followed(test_run *run, const fused_problem *all)
{
    fused_shape shape = all->shape;
    shape.rows_are_followed = true;
    compare_form(run, all, &shape, "where the core follows rows");
}

/* Rows of K and V that begin with lines, as wide as one row of Q takes in tiles of their own: in
 * turn one row that meets dense ones in a cache, and some rows that meet those a page apart. */
void test_followed_rows(test_run *run)
{
    enum { N_NARROW = 136, N_WIDTHS = N_NARROW + 6, LINE = 16, PAGE = 1024 };
    for (int at = 0; at < 2 * N_WIDTHS; ++at) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const int nth = at / 2;
        const bool spread = at % 2;
        const int64_t width = nth < N_NARROW ? nth + 1 : 256 + 65 * (nth - N_NARROW);
        const int64_t apart = spread ? PAGE : (width + LINE - 1) / LINE * LINE;
        fused_shape shape = fused_shape_plain(1, SATTN_KEY_BLOCK + nth % 19 + 1, width, width);
        shape.placement = TEST_START_FLUSH;
        shape.row_gap[OPERAND_K] = shape.row_gap[OPERAND_V] = apart - width;
        shape.n_group = spread ? 1 + nth % 9 : 1;
        shape.kv_bytes = spread && nth % 2 ? FUSED_SHAPE_KV_FAR : 1;
        fused_problem all;
        fused_problem_make(&all, run, &shape, test_step_seed(run));
        fused_problem_run(&all, run);
        fused_problem_verify(&all, run);
        compare_followed(run, &all);
        fused_problem_free(&all);
    }
}

/* The causal limit hides the last keys of the longer problem; its other keys are the same. */
void test_hidden_keys_behind(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, 40), 1 + test_random_below(&random, 300),
            1 + test_random_below(&random, 20), 1 + test_random_below(&random, 20));
        fused_shape_vary(&shape, &random);
        shape.n_group = 1 + test_random_below(&random, 3);
        shape.k_repeats = shape.v_repeats = shape.without_statistics = false;
        shape.causal = true;
        shape.causal_offset = shape.n_k - shape.n_rows; /* the last row sees key n_k - 1 */
        fused_problem exact, longer;
        fused_problem_make(&exact, run, &shape, random.seed);
        fused_problem_run(&exact, run);
        fused_problem_verify(&exact, run);
        shape.n_k += 1 + test_random_below(&random, 200);
        shape.j1 = shape.n_k;
        fused_problem_make(&longer, run, &shape, random.seed);
        fused_problem_run(&longer, run);
        for (int64_t g = 0; g < shape.n_group; ++g)
            for (int64_t i = 0; i < shape.n_rows; ++i)
                fused_problem_same_bits(run, &longer, g, i, &exact, g, i,
                                        "with hidden keys behind the last");
        fused_problem_free(&exact);
        fused_problem_free(&longer);
    }
}

void test_alignment(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, 40), 1 + test_random_below(&random, 150),
            1 + test_random_below(&random, 70), 1 + test_random_below(&random, 70));
        shape.n_group = 1 + test_random_below(&random, 3);
        shape.mask = (problem_mask)(variant % 3);
        shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
        shape.slopes = (test_slopes)(variant % TEST_SLOPES_KINDS);
        shape.softcap = variant % 4 == 3 ? 2.0f : 0.0f;
        shape.placement = TEST_START_FLUSH;
        for (int operand = 0; operand < OPERAND_COUNT; ++operand)
            shape.row_gap[operand] = 16 - (operand == OPERAND_V ? shape.d_v : shape.d) % 16;
        fused_problem aligned, shifted;
        fused_problem_make(&aligned, run, &shape, random.seed);
        fused_problem_run(&aligned, run);
        for (int operand = 0; operand < OPERAND_COUNT; ++operand) {
            shape.distance[operand] = 4 * (size_t)test_random_below(&random, 16);
            shape.row_gap[operand] = test_random_below(&random, 20);
        }
        shape.placement = variant % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
        fused_problem_make(&shifted, run, &shape, random.seed);
        fused_problem_run(&shifted, run);
        for (int64_t g = 0; g < shape.n_group; ++g)
            for (int64_t i = 0; i < shape.n_rows; ++i)
                fused_problem_same_bits(run, &shifted, g, i, &aligned, g, i, "at other addresses");
        fused_problem_free(&aligned);
        fused_problem_free(&shifted);
    }
}

/* What a problem sees by length, causal limit, window and mask, by a mask of all its own. */
static void see_the_same(fused_problem *to, const fused_problem *from)
{
    const fused_shape *const s = &from->shape;
    const test_operand *const mask = &from->operand[OPERAND_MASK];
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = 0; i < s->n_rows; ++i) {
            const fused_keys keys = fused_keys_of_row(s, i);
            for (int64_t j = 0; j < s->n_k; ++j) {
                const int64_t at = s->mask_by_key ? j : 0;
                bool is_visible = j >= keys.begin && j < keys.end;
                float bias = 0.0f;
                if (s->mask == PROBLEM_BOOL)
                    is_visible = is_visible && test_operand_u8(mask, g, i)[at] != 0;
                if (s->mask == PROBLEM_ADDITIVE)
                    bias = test_operand_f32(mask, g, i)[at];
                if (to->shape.mask == PROBLEM_BOOL)
                    test_operand_u8(&to->operand[OPERAND_MASK], g, i)[j] = is_visible;
                else
                    test_operand_f32(&to->operand[OPERAND_MASK], g, i)[j] =
                        is_visible ? bias : -INFINITY;
            }
        }
}

/* A shape that limits what its rows see, in blocks enough to cut. */
static fused_shape limited_shape(int variant, test_random *random)
{
    fused_shape shape = fused_shape_plain(
        1 + test_random_below(random, variant % 3 ? 40 : 5), 1 + test_random_below(random, 520),
        1 + test_random_below(random, 20), 1 + test_random_below(random, 20));
    fused_shape_vary(&shape, random);
    shape.n_group = 1 + test_random_below(random, 3);
    shape.k_repeats = shape.v_repeats = shape.without_statistics = false;
    shape.partial = test_random_chance(random, 30);
    if (variant % 3 == 0)
        window_over_blocks(&shape, random);
    return shape;
}

/* Bits depend on which keys a row sees, not on what hides the others. */
void test_same_keys(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = limited_shape(variant, &random);
        fused_problem limited, masked;
        fused_problem_make(&limited, run, &shape, random.seed);
        fused_problem_run(&limited, run);
        fused_problem_verify(&limited, run);
        shape.causal = shape.has_window = false;
        shape.mask =
            shape.mask == PROBLEM_ADDITIVE || variant % 2 ? PROBLEM_ADDITIVE : PROBLEM_BOOL;
        shape.mask_by_group = shape.mask_by_row = shape.mask_by_key = true;
        fused_problem_make(&masked, run, &shape, random.seed);
        see_the_same(&masked, &limited);
        fused_problem_run(&masked, run);
        same_bits_all(run, &masked, &limited, "with the same keys hidden by a mask");
        fused_problem_free(&limited);
        fused_problem_free(&masked);
    }
}

/* The key range is cut at block edges so that it still holds every key that some row may see. */
void test_cut_keys(test_run *run)
{
    for (int variant = 0; variant < 200; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = limited_shape(variant, &random);
        fused_problem whole, cut;
        fused_problem_make(&whole, run, &shape, random.seed);
        fused_problem_run(&whole, run);
        shape.j0 = whole.keys.begin / SATTN_KEY_BLOCK * SATTN_KEY_BLOCK;
        shape.j1 = (whole.keys.end + SATTN_KEY_BLOCK - 1) / SATTN_KEY_BLOCK * SATTN_KEY_BLOCK;
        if (variant % 2 || shape.j1 > shape.n_k)
            shape.j1 = whole.keys.end;
        fused_problem_make(&cut, run, &shape, random.seed);
        fused_problem_run(&cut, run);
        fused_problem_verify(&cut, run);
        same_bits_all(run, &cut, &whole, "with hidden keys cut off");
        fused_problem_free(&whole);
        fused_problem_free(&cut);
    }
}

/* A slope of 0 adds -0 to a score, which changes nothing. */
void test_zero_slopes(test_run *run)
{
    for (int variant = 0; variant < 150; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        fused_shape shape = limited_shape(variant, &random);
        shape.slopes = TEST_NO_SLOPES;
        fused_problem without, with;
        fused_problem_make(&without, run, &shape, random.seed);
        fused_problem_run(&without, run);
        shape.slopes = TEST_SLOPES_ZERO;
        fused_problem_make(&with, run, &shape, random.seed);
        fused_problem_run(&with, run);
        same_bits_all(run, &with, &without, "with slopes of 0");
        fused_problem_free(&without);
        fused_problem_free(&with);
    }
}

void test_output_on_query(test_run *run)
{
    for (int variant = 0; variant < 120; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t d = 1 + test_random_below(&random, 70);
        fused_shape shape = fused_shape_plain(1 + test_random_below(&random, 80),
                                              1 + test_random_below(&random, 200), d, d);
        fused_shape_vary(&shape, &random);
        shape.n_group = 1 + test_random_below(&random, 6);
        shape.q_is_shared = false;
        fused_problem apart;
        fused_problem_make(&apart, run, &shape, random.seed);
        fused_problem_run(&apart, run);
        compare_on_query(run, &apart);
        fused_problem_free(&apart);
    }
}
