/* SPDX-License-Identifier: MIT
 *
 * test_fused_visible.c: windows of a fused kernel, alone and with all else that decides what a row
 * sees and what its scores become. */
#include "tests/test_fused.h"

#include "tests/support/fused_problem.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every side bounded or not, with widths around lanes, tiles and key blocks, and at the ends of
 * int64_t; in rows of one block, and of more. */
void test_windows(test_run *run)
{
    const int64_t tile = run->kernel->tile_keys;
    const int64_t block = SATTN_KEY_BLOCK;
    const int64_t widths[] = {-1,
                              0,
                              1,
                              2,
                              7,
                              16,
                              tile - 1,
                              tile,
                              tile + 1,
                              block - 1,
                              block,
                              block + 1,
                              2 * block + 9,
                              INT64_MAX - 1,
                              INT64_MAX};
    const int64_t offsets[] = {
        -40, -1, 0, 3, 40, 2 * block, INT64_MIN, INT64_MAX, INT64_MIN + 9, INT64_MAX - 5};
    int at = 0;
    for (size_t left = 0; left < COUNT(widths); ++left)
        for (size_t right = 0; right < COUNT(widths); ++right)
            for (size_t offset = 0; offset < COUNT(offsets); ++offset, ++at) {
                if (at % 3 != 0) /* the numbers of kinds have no divisor in common with 3 */
                    continue;
                const int64_t n_k = at % 8 ? 50 : 2 * block + 5 + tile % block;
                fused_shape shape =
                    fused_shape_plain(1 + (int64_t)(left * 7 + offset * 5 + right) % 40, n_k, 3,
                                      1 + (int64_t)right % 5);
                shape.has_window = true;
                shape.window_left = widths[left];
                shape.window_right = widths[right];
                shape.causal_offset = offsets[offset];
                shape.causal = (left + right + offset) % 4 == 0;
                shape.partial = at % 5 == 0;
                shape.placement = at % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
                if (test_step(run, TEST_SAMPLED))
                    fused_problem_check(run, &shape, test_step_seed(run));
            }
}

/* Limits of all kinds, masks, softcap, slopes, ranges and partial results at once. */
void test_combined(test_run *run)
{
    static const int percents[] = {0, 3, 50, 97, 100};
    for (int variant = 0; variant < 800; ++variant) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t most_keys = variant % 4 ? 90 : 400;
        fused_shape shape = fused_shape_plain(
            1 + test_random_below(&random, 40), 1 + test_random_below(&random, most_keys),
            1 + test_random_below(&random, 20), 1 + test_random_below(&random, 20));
        fused_shape_vary(&shape, &random);
        shape.n_group = 1 + test_random_below(&random, 4);
        shape.has_window = variant % 4 != 1;
        shape.causal = variant & 1;
        shape.mask = (problem_mask)(variant % 3);
        shape.visible_percent = percents[variant % 5];
        shape.slopes = (test_slopes)(variant / 2 % TEST_SLOPES_KINDS);
        if (variant % 7 < 4)
            shape.softcap = 1.5f * (float)(1 + variant % 7);
        shape.i0 = test_random_below(&random, shape.n_rows);
        if (variant % 6 >= 3) {
            shape.j0 = test_random_below(&random, shape.n_k);
            shape.j1 = shape.j0 + test_random_below(&random, shape.n_k - shape.j0 + 1);
        }
        shape.partial = !shape.without_statistics && variant % 5 == 2;
        shape.data = variant % 11 == 5 ? PROBLEM_STAIRS : PROBLEM_NORMAL;
        shape.stair_height = 7.0f;
        shape.stair_keys = 10;
        fused_problem_check(run, &shape, random.seed);
    }
}
