/* SPDX-License-Identifier: MIT
 *
 * test_shares.c: how a call is cut into tasks: blocks of rows, key ranges, number of threads, the
 * workspace of them all, and what a block of rows sees. That none of it shows in a result,
 * test_chain and test_threads check. */
#include "dispatch/plan.h"
#include "dispatch/share.h"
#include "dispatch/team.h"
#include "dispatch/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void test_threads_for_work(void **state)
{
    (void)state;
    const double one = SATTN_WORK_PER_THREAD;
    assert_int_equal(sattn_threads_for(0, 64), 1);
    assert_int_equal(sattn_threads_for(1.9 * one, 64), 1);
    assert_int_equal(sattn_threads_for(2 * one, 64), 2);
    assert_int_equal(sattn_threads_for(7.5 * one, 64), 7);
    assert_int_equal(sattn_threads_for(1e30, 64), 64);
    assert_int_equal(sattn_threads_for(1e30, INT32_MAX), SATTN_THREADS_MAX);
    assert_int_equal(sattn_threads_for(1e30, 1), 1);
}

static void test_blocks(void **state)
{
    (void)state;
    static const int64_t groups[] = {1, 2, 3, 4, 5, 7, 8, 12, 32, 71, 128, 1000, (int64_t)1 << 40};
    static const int64_t tiles[] = {1, 8, 16, 32, 64};
    for (size_t g = 0; g < COUNT(groups); ++g)
        for (size_t t = 0; t < COUNT(tiles); ++t)
            for (int threads = 1; threads <= 64; threads *= 4)
                for (int64_t n_rows = 1; n_rows < (int64_t)1 << 40; n_rows = 3 * n_rows + 1) {
                    const int64_t rows =
                        sattn_block_rows((double)n_rows, groups[g], tiles[t], threads);
                    assert_true(rows >= 1);
                    assert_true(rows == 1 || rows <= 2 * SATTN_BLOCK_ROWS / groups[g]);
                    assert_true(n_rows / rows < 1000000 ||
                                rows * groups[g] >= SATTN_BLOCK_ROWS / 2);
                    /* Whole tiles, unless the fewest rows of such a block are too many. */
                    assert_true(rows * groups[g] % tiles[t] == 0 || rows * groups[g] <= tiles[t] ||
                                tiles[t] * groups[g] > 2 * SATTN_BLOCK_ROWS_FEW);
                }
    assert_int_equal(sattn_block_rows(1 << 20, 1, 32, 2), 128);
    assert_int_equal(sattn_block_rows(1024, 1, 32, 2), 32);
    assert_int_equal(sattn_block_rows(1536, 1, 32, 2), 128);
    assert_int_equal(sattn_block_rows(1 << 20, 8, 32, 2), 16);
    assert_int_equal(sattn_block_rows(1 << 20, 7, 32, 2), 32);
}

static void test_splits(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 64; ++threads)
        for (int blocks = 1; blocks <= 70; ++blocks)
            for (int keys = 0; keys <= 1 << 16; keys = 4 * keys + 100) {
                const int64_t splits = sattn_chosen_splits(blocks, keys, threads);
                assert_true(splits >= 1 && splits <= threads);
                assert_true(splits == 1 || keys / splits >= SATTN_SPLIT_KEYS_MIN);
                if (blocks >= threads)
                    assert_int_equal(splits, 1);
                else if (keys >= SATTN_SPLIT_KEYS_MIN * threads) /* no thread waits for long */
                    assert_true((double)((blocks * splits + threads - 1) / threads) /
                                    (double)splits <=
                                1.12 * blocks / threads);
            }
    assert_int_equal(sattn_chosen_splits(1, 4096, 2), 2);
    assert_int_equal(sattn_chosen_splits(3, 1 << 20, 4), 4);
}

static sattn_attention_args shape_of(int64_t n_heads, int64_t n_group, int64_t n_q, int64_t n_k)
{
    enum { D = 64 };
    return (sattn_attention_args){
        .batch = 1,
        .n_q_heads = n_heads * n_group,
        .n_kv_heads = n_heads,
        .n_q = n_q,
        .n_k = n_k,
        .d = D,
        .d_v = D,
        .q = {.stride_h = n_q * D, .stride_t = D},
        .k = {.stride_h = n_k * D, .stride_t = D},
        .v = {.stride_h = n_k * D, .stride_t = D},
        .o = {.stride_h = n_q * D, .stride_t = D},
    };
}

static sattn_plan plan_of(const sattn_attention_args *args, const sattn_options *options)
{
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, args, options), SATTN_OK);
    return plan;
}

static void test_plans(void **state)
{
    (void)state;
    const sattn_options one = {0}, eight = {.threads = 8},
                        seven_ranges = {.threads = 8, .key_splits = 7};
    const bool is_built = sattn_team_is_built();
    sattn_attention_args prefill = shape_of(2, 4, 1024, 1024), decode = shape_of(3, 4, 1, 32768);
    sattn_plan plan = plan_of(&prefill, &one);
    assert_true(plan.workers == 1 && plan.block_rows == 1024 && plan.n_blocks == 1 &&
                plan.splits == 1 && !plan.parts_apart);
    plan = plan_of(&prefill, &eight);
    assert_int_equal(plan.workers, is_built ? 8 : 1);
    assert_true(plan.splits == 1 && plan.n_blocks * plan.block_rows >= 1024);
    assert_true(!is_built || plan.block_rows * 4 <= SATTN_BLOCK_ROWS);
    plan = plan_of(&decode, &eight);
    assert_int_equal(plan.block_rows, 1);
    assert_int_equal(plan.splits, is_built ? 5 : 1); /* 15 parts: two rounds of 8 threads */
    assert_int_equal(plan.workers, is_built ? 8 : 1);
    assert_int_equal(plan.parts_apart, is_built);
    plan = plan_of(&decode, &seven_ranges);
    assert_int_equal(plan.splits, 7);
    assert_int_equal(plan.parts_apart, is_built);
    decode.has_window = true; /* too few keys to be worth a thread, and to be cut */
    decode.causal = true;
    decode.window_left = 100;
    plan = plan_of(&decode, &eight);
    assert_true(plan.workers == 1 && plan.splits == 1);
    const sattn_attention_args small = shape_of(1, 1, 40, 40), many = shape_of(64, 4, 1, 32768);
    plan = plan_of(&small, &eight);
    assert_true(plan.workers == 1 && plan.n_blocks == 1);
    plan = plan_of(&many, &seven_ranges); /* a block's ranges one after the other */
    assert_true(plan.splits == 7 && !plan.parts_apart);
}

/* Memory of its own for every worker and every block, within the size, and on lines of its own. */
static void test_layout(void **state)
{
    (void)state;
    sattn_attention_args a = shape_of(3, 4, 2, 8192);
    float lse[1];
    a.causal = true;
    a.lse = lse;
    a.lse_stride_h = 2;
    for (int apart = 0; apart < 2; ++apart) {
        const sattn_options options = {.threads = apart ? 4 : 2, .key_splits = 3};
        const sattn_plan plan = plan_of(&a, &options);
        const sattn_workspace_layout *const at = &plan.layout;
        const size_t parts = 3 * 4 * 2 * sizeof(float);
        const size_t n_blocks = plan.parts_apart ? 3 : 0;
        assert_int_equal(plan.parts_apart, apart && sattn_team_is_built());
        const size_t owner = plan.parts_apart ? at->block_size : at->worker_size;
        assert_true(at->parts + parts * 64 <= owner && at->row_sum + parts <= at->parts &&
                    at->row_max + parts <= at->row_sum);
        assert_true(at->blocks == (size_t)plan.workers * at->worker_size);
        assert_true(at->pending == at->blocks + n_blocks * at->block_size);
        assert_true(at->shared >= at->pending + n_blocks * sizeof(int64_t));
        assert_true(at->v_keys >= at->v_copy + 8192 * 64 * sizeof(float));
        assert_true(at->repaired >= at->v_keys + 8192 * sizeof(int64_t));
        assert_true(at->size >= at->shared + at->repaired + 4 * 2 * 64 * sizeof(float));
        assert_true((at->worker_size | at->block_size | at->blocks | at->shared | at->scratch |
                     at->parts | at->row_max | at->row_sum) %
                        64 ==
                    0);
    }
}

/* What rows [i0, ..) and keys [j0, ..) see is what the whole sees of them, offsets and windows of
 * any size. */
static void test_visibility_of_a_cut(void **state)
{
    (void)state;
    enum { N_K = 9, ROWS = 7 };
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 3, -8, 0, 4, INT64_MAX - 3, INT64_MAX};
    static const int64_t widths[] = {-1, 0, 3, INT64_MAX - 2, INT64_MAX};
    for (size_t o = 0; o < COUNT(ends); ++o)
        for (size_t l = 0; l < COUNT(widths) * COUNT(widths); ++l)
            for (int64_t i0 = 0; i0 < ROWS; ++i0)
                for (int64_t j0 = 0; j0 < N_K; ++j0) {
                    const sattn_visibility whole = {.n_k = N_K,
                                                    .causal = (l + o) % 2,
                                                    .has_window = true,
                                                    .causal_offset = ends[o],
                                                    .window_left = widths[l % COUNT(widths)],
                                                    .window_right = widths[l / COUNT(widths)]};
                    const sattn_visibility cut = sattn_visibility_from(&whole, i0, j0, N_K - j0);
                    for (int64_t i = 0; i < ROWS; ++i) {
                        const sattn_key_range want = sattn_visible_range(&whole, i0 + i);
                        const sattn_key_range got = sattn_visible_range(&cut, i);
                        for (int64_t j = j0; j < N_K; ++j)
                            assert_int_equal(j - j0 >= got.begin && j - j0 < got.end,
                                             j >= want.begin && j < want.end);
                    }
                }
}

enum { TASKS = 1000, WORKERS = 6 };

typedef struct tally {
    _Atomic int done[TASKS], wrong_worker;
    _Atomic int busy[WORKERS];
} tally;

static void count_task(void *context, int64_t index, int worker)
{
    tally *const t = context;
    if (worker < 0 || worker >= WORKERS || atomic_fetch_add(&t->busy[worker], 1) != 0)
        atomic_fetch_add(&t->wrong_worker, 1);
    else
        atomic_fetch_sub(&t->busy[worker], 1);
    atomic_fetch_add(&t->done[index], 1);
}

/* Each task once, and no two at a time as the same worker. */
static void test_team(void **state)
{
    (void)state;
    static tally t;
    for (int workers = 1; workers <= WORKERS; ++workers)
        for (int64_t n_tasks = 0; n_tasks <= TASKS; n_tasks = 3 * n_tasks + 1) {
            memset(&t, 0, sizeof t);
            sattn_team_run(workers, n_tasks, count_task, &t);
            assert_int_equal(t.wrong_worker, 0);
            for (int64_t i = 0; i < TASKS; ++i)
                assert_int_equal(t.done[i], i < n_tasks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_for_work),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_visibility_of_a_cut),
        cmocka_unit_test(test_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
