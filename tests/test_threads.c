/* SPDX-License-Identifier: MIT
 *
 * test_threads.c: the number of threads is no input of a result. With a fixed number of key splits
 * every call has the same bits for any number of threads, however it is called: with a workspace or
 * without, from several threads of the user's, from inside a parallel region, in a child process,
 * on a small stack, under another rounding mode. Where the number of splits is left to the library
 * it may depend on the threads, and the result is that of the same number asked for. */
#define _POSIX_C_SOURCE 200809L
#include "tests/test_threads.h"

#include "dispatch/plan.h"
#include "dispatch/team.h"

#include <stdio.h>
#include <string.h>

/* An emulated processor gets few of everything. */
#if SATTN_TEST_DIVISOR > 3
static const int counts[] = {2, 5};
#else
static const int counts[] = {2, 1, 3, 4, 7, 16, 64}; /* up and down, so that teams change size */
#endif

enum { CHECKED_SHAPES = SATTN_TEST_DIVISOR > 3 ? 3 : 100 };

typedef struct thread_shape {
    const char *name;
    bool is_shared; /* work for seven threads, in as many parts, however the keys are split */
    call_shape shape;
} thread_shape;

/* Extents and features; all have a log-sum-exp. */
static const thread_shape shapes[] = {
    {"prefill",
     true,
     {.batch = 1,
      .n_q_heads = 4,
      .n_kv_heads = 2,
      .n_q = 150,
      .n_k = 300,
      .d = 48,
      .d_v = 33,
      .layout = CALL_ROWS_FIRST}},
    {"prefill, one head",
     true,
     {.batch = 1,
      .n_q_heads = 1,
      .n_kv_heads = 1,
      .n_q = 301,
      .n_k = 410,
      .d = 32,
      .d_v = 40,
      .causal = true,
      .sinks = CALL_SINKS_FINITE}},
    {"decode, one head, many keys",
     false,
     {.batch = 1,
      .n_q_heads = 1,
      .n_kv_heads = 1,
      .n_q = 1,
      .n_k = 20000,
      .d = 64,
      .d_v = 64,
      .sinks = CALL_SINKS_FINITE}},
    {"prefill with rest rows, in place",
     true,
     {.batch = 1,
      .n_q_heads = 6,
      .n_kv_heads = 2,
      .n_q = 97,
      .n_k = 300,
      .d = 64,
      .d_v = 64,
      .layout = CALL_PACKED,
      .in_place = true,
      .causal = true,
      .sinks = CALL_SINKS_SOME,
      .poison = CALL_POISON_VISIBLE}},
    {"causal, window, ALiBi, softcap, sinks",
     true,
     {.batch = 2,
      .n_q_heads = 6,
      .n_kv_heads = 2,
      .n_q = 200,
      .n_k = 333,
      .d = 40,
      .d_v = 24,
      .layout = CALL_GAPS,
      .causal = true,
      .has_window = true,
      .window_left = 150,
      .window_right = 3,
      .alibi = true,
      .softcap = 5.0f,
      .sinks = CALL_SINKS_SOME}},
    {"in place, hidden and visible NaN",
     true,
     {.batch = 1,
      .n_q_heads = 4,
      .n_kv_heads = 2,
      .n_q = 190,
      .n_k = 300,
      .d = 36,
      .d_v = 36,
      .in_place = true,
      .causal = true,
      .poison = CALL_POISON_VISIBLE}},
    {"masks, hidden NaN",
     true,
     {.batch = 2,
      .n_q_heads = 3,
      .n_kv_heads = 1,
      .n_q = 150,
      .n_k = 290,
      .d = 32,
      .d_v = 36,
      .mask = CALL_MASK_ADDITIVE,
      .mask_axes = 15,
      .valid = CALL_VALID_LESS,
      .poison = CALL_POISON_VISIBLE,
      .sinks = CALL_SINKS_LARGE}},
    {"few queries",
     true,
     {.batch = 3,
      .n_q_heads = 8,
      .n_kv_heads = 2,
      .n_q = 4,
      .n_k = 1100,
      .d = 64,
      .d_v = 32,
      .mask = CALL_MASK_BOOL,
      .mask_axes = 12,
      .alibi = true}},
    {"decode",
     true,
     {.batch = 2,
      .n_q_heads = 8,
      .n_kv_heads = 2,
      .n_q = 1,
      .n_k = 3000,
      .d = 64,
      .d_v = 64,
      .layout = CALL_PACKED,
      .has_window = true,
      .window_left = 2500,
      .window_right = -1}},
    {"decode in place, hidden NaN",
     true,
     {.batch = 3,
      .n_q_heads = 7,
      .n_kv_heads = 1,
      .n_q = 1,
      .n_k = 3000,
      .d = 64,
      .d_v = 64,
      .in_place = true,
      .mask = CALL_MASK_BOOL,
      .mask_axes = 8,
      .poison = CALL_POISON_VISIBLE,
      .sinks = CALL_SINKS_SPECIAL}},
    {"one KV head for 128",
     false,
     {.batch = 1, .n_q_heads = 128, .n_kv_heads = 1, .n_q = 1, .n_k = 520, .d = 96, .d_v = 80}},
    {"narrow",
     false,
     {.batch = 1,
      .n_q_heads = 2,
      .n_kv_heads = 2,
      .n_q = 3000,
      .n_k = 20,
      .d = 3,
      .d_v = 5,
      .causal = true,
      .offset = CALL_OFFSET_MIXED}},
    {"less work than threads",
     false,
     {.batch = 1, .n_q_heads = 1, .n_kv_heads = 1, .n_q = 2, .n_k = 3, .d = 1, .d_v = 1}},
    {"one block of keys",
     false,
     {.batch = 2,
      .n_q_heads = 1,
      .n_kv_heads = 1,
      .n_q = 1,
      .n_k = 1,
      .d = 2,
      .d_v = 2,
      .sinks = CALL_SINKS_FINITE}},
    {"no keys", false, {.batch = 2, .n_q_heads = 2, .n_kv_heads = 1, .n_q = 40, .d = 4, .d_v = 4}},
};

static call_shape with_lse(const thread_shape *from)
{
    call_shape shape = from->shape;
    shape.lse = true;
    return shape;
}

static void expect_good(bool good, const thread_shape *of, const sattn_options *options,
                        const call *c)
{
    if (!good)
        fail_msg("%s, %s, %d threads, %d splits: %s", of->name,
                 options->plan ? options->plan : "any plan", options->threads, options->key_splits,
                 c->failure);
}

/* A test of threads that nothing is shared among would be none. */
static void expect_workers(const call *c, const thread_shape *of, const sattn_options *options)
{
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &c->args, options), SATTN_OK);
    const int wanted = sattn_team_is_built() && options->threads > 1;
    if (of->is_shared && options->threads <= 7)
        assert_int_equal(plan.workers > 1, wanted);
}

static bool run_either(call *c, const sattn_options *options, bool in_workspace)
{
    return in_workspace ? call_run_in_workspace(c, options) : call_run(c, options);
}

/* Any number of threads, the same splits: the same bits; and those of one thread are right. */
static void check_counts(const thread_shape *of, call_shape shape, sattn_options options)
{
    call want, c;
    call_make(&want, &shape, 7);
    call_make(&c, &shape, 7);
    want.is_sampled = shape.n_q_heads * shape.n_q > 100;
    options.threads = 1;
    /* 0 splits: a chain, which never cuts its keys. */
    expect_good(call_run(&want, &options) && call_verify(&want, options.key_splits), of, &options,
                &want);
    for (size_t at = 0; at < COUNT(counts); ++at) {
        options.threads = counts[at];
        call_reset(&c);
        expect_workers(&c, of, &options);
        expect_good(run_either(&c, &options, at % 2 == 0) && call_same_bits(&c, &want), of,
                    &options, &c);
    }
    call_free(&want);
    call_free(&c);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const int splits[] = {1, 2, 5};
    for (size_t at = 0; at < COUNT(shapes) && at < CHECKED_SHAPES; ++at)
        for (size_t which = 0; which < COUNT(splits); ++which) {
            const sattn_options options = {.key_splits = splits[which], .plan = "fused"};
            check_counts(&shapes[at], with_lse(&shapes[at]), options);
        }
}

static void test_chain(void **state)
{
    (void)state;
    for (size_t at = 0; at < COUNT(shapes) && at < CHECKED_SHAPES; ++at) {
        const sattn_options options = {.plan = "chain"};
        call_shape shape = with_lse(&shapes[at]);
        check_counts(&shapes[at], shape, options);
        shape.scores = true;
        shape.stage = (sattn_scores_stage)(at % 4);
        check_counts(&shapes[at], shape, options);
    }
}

/* Every fused kernel that is not the first choice. */
static void test_every_kernel(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i) {
        if (rows[i].op != SATTN_OP_fused || rows[i].needs & ~sattn_cpu_this()->usable)
            continue;
        for (size_t at = 3; at < COUNT(shapes) && at < CHECKED_SHAPES + 1; at += 4) {
            const sattn_options options = {
                .key_splits = 1 + (int)at % 2, .plan = "fused", .kernels = rows[i].name};
            check_counts(&shapes[at], with_lse(&shapes[at]), options);
        }
    }
}

/* The library's number of splits: right, and what one gets by asking for that number. */
static void test_chosen_splits(void **state)
{
    (void)state;
    int n_split = 0;
    for (size_t at = 0; at < COUNT(shapes) && at < CHECKED_SHAPES; ++at) {
        call want, c;
        const call_shape shape = with_lse(&shapes[at]);
        call_make(&want, &shape, 8);
        call_make(&c, &shape, 8);
        c.is_sampled = shape.n_q_heads * shape.n_q > 100;
        for (size_t which = 0; which < COUNT(counts); ++which) {
            const sattn_options chosen = {.threads = counts[which], .plan = "fused"};
            sattn_plan plan;
            assert_int_equal(sattn_plan_make_attention(&plan, &c.args, &chosen), SATTN_OK);
            n_split += plan.splits > 1;
            const sattn_options asked = {.key_splits = (int)plan.splits, .plan = "fused"};
            call_reset(&want);
            call_reset(&c);
            expect_good(call_run(&want, &asked), &shapes[at], &asked, &want);
            expect_good(run_either(&c, &chosen, which % 2 == 0) && call_verify(&c, plan.splits) &&
                            call_same_bits(&c, &want),
                        &shapes[at], &chosen, &c);
        }
        call_free(&want);
        call_free(&c);
    }
    assert_int_equal(n_split > 0, sattn_team_is_built());
}

/* N35: one decode row, alone and in batches, for any number of threads. */
static void test_row_in_batches(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 2, 31, 32, 33, 64};
    for (int splits = 1; splits <= 2; ++splits) {
        call alone;
        call_shape shape = {.batch = 1,
                            .n_q_heads = 4,
                            .n_kv_heads = 2,
                            .n_q = 1,
                            .n_k = 700,
                            .d = 32,
                            .d_v = 24,
                            .alibi = true,
                            .sinks = CALL_SINKS_FINITE,
                            .lse = true};
        sattn_options options = {.key_splits = splits, .threads = 1};
        call_make(&alone, &shape, 9);
        assert_true(call_run(&alone, &options));
        for (size_t at = 0; at<COUNT(batches); at += SATTN_TEST_DIVISOR> 3 ? 3 : 1)
            for (size_t which = 0; which < COUNT(counts); ++which) {
                call c;
                shape.batch = batches[at];
                options.threads = counts[which];
                call_make(&c, &shape, 9);
                bool good = call_run(&c, &options);
                c.args.batch = 1; /* compares the first alone */
                good = good && call_same_bits(&c, &alone);
                if (!good)
                    fail_msg("batch of %d, %d threads: %s", (int)batches[at], counts[which],
                             c.failure);
                call_free(&c);
            }
        call_free(&alone);
    }
}

/* The same of a query among others, with each fused kernel. */
static void test_row_among_queries(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 31, 32, 33, 64};
    size_t count;
    const sattn_kernel *const kernels = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i) {
        if (kernels[i].op != SATTN_OP_fused || kernels[i].needs & ~sattn_cpu_this()->usable)
            continue;
        for (size_t at = 0; at<COUNT(rows); at += SATTN_TEST_DIVISOR> 3 ? 3 : 1)
            for (int threads = 1; threads <= 4; threads += 3) {
                const sattn_options options = {
                    .key_splits = 1 + (int)at % 2, .threads = threads, .kernels = kernels[i].name};
                call_shape shape = {.batch = 2,
                                    .n_q_heads = 4,
                                    .n_kv_heads = 2,
                                    .n_q = 1,
                                    .n_k = 400,
                                    .d = 32,
                                    .d_v = 24,
                                    .lse = true};
                call alone, c;
                call_make(&alone, &shape, 10);
                shape.n_q = rows[at];
                call_make(&c, &shape, 10);
                bool good = call_run(&alone, &options) && call_run(&c, &options);
                c.args.n_q = 1;
                good = good && call_same_bits(&c, &alone);
                if (!good)
                    fail_msg("%s, row 0 of %d, %d threads: %s%s", kernels[i].name, (int)rows[at],
                             threads, c.failure, alone.failure);
                call_free(&alone);
                call_free(&c);
            }
    }
}

/* The argument, if there is one, is the name of the one test to run. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_after_fork_from_the_start), /* first: before any call */
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_every_kernel),
        cmocka_unit_test(test_chosen_splits),
        cmocka_unit_test(test_row_in_batches),
        cmocka_unit_test(test_row_among_queries),
        cmocka_unit_test(threads_steps),
        cmocka_unit_test(threads_arrays),
        cmocka_unit_test(threads_control_state),
        cmocka_unit_test(threads_refusals),
        cmocka_unit_test(threads_of_the_user),
        cmocka_unit_test(threads_one_plan),
        cmocka_unit_test(threads_nested),
        cmocka_unit_test(threads_small_stack),
        cmocka_unit_test(threads_after_fork),
        cmocka_unit_test(threads_dense),
        cmocka_unit_test(threads_dense_ragged),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
