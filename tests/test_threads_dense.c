/* SPDX-License-Identifier: MIT
 *
 * test_threads_dense.c: dense copies of K and V are no input of a result either. A call whose rows
 * lie a multiple of a page apart has the bits of the same call whose rows do not, for any number of
 * threads and key splits. */
#include "tests/test_threads.h"

#include "dispatch/plan.h"

#include <stdlib.h>
#include <string.h>

#if SATTN_TEST_DIVISOR > 3
static const int counts[] = {1, 5};
#else
static const int counts[] = {1, 2, 3, 5, 16};
#endif

typedef struct dense_case {
    const char *name;
    call_layout layout; /* rows of K a multiple of 4096 bytes apart */
    bool copies_values; /* those of V too */
    call_shape shape;
} dense_case;

static const dense_case cases[] = {
    {"causal",
     CALL_ROWS_FIRST,
     true,
     {.batch = 1,
      .n_q_heads = 32,
      .n_kv_heads = 16,
      .n_q = 70,
      .n_k = 150,
      .d = 64,
      .d_v = 64,
      .causal = true}},
    {"K alone, window, keys that do not exist, hidden NaN",
     CALL_ROWS_FIRST,
     false,
     {.batch = 3,
      .n_q_heads = 16,
      .n_kv_heads = 16,
      .n_q = 70,
      .n_k = 190,
      .d = 64,
      .d_v = 33,
      .has_window = true,
      .window_left = 60,
      .window_right = 20,
      .valid = CALL_VALID_MIXED,
      .poison = CALL_POISON_HIDDEN}},
    {"K and V, window, keys that do not exist, hidden NaN",
     CALL_ROWS_FIRST,
     true,
     {.batch = 3,
      .n_q_heads = 16,
      .n_kv_heads = 16,
      .n_q = 70,
      .n_k = 400,
      .d = 64,
      .d_v = 64,
      .has_window = true,
      .window_left = 60,
      .window_right = 20,
      .valid = CALL_VALID_MIXED,
      .poison = CALL_POISON_HIDDEN}},
    {"one head of many features",
     CALL_ROWS_FIRST,
     true,
     {.batch = 1,
      .n_q_heads = 1,
      .n_kv_heads = 1,
      .n_q = 300,
      .n_k = 40,
      .d = 1024,
      .d_v = 2048,
      .sinks = CALL_SINKS_FINITE}},
    {"in place, mask, hidden and visible NaN",
     CALL_ROWS_FIRST,
     true,
     {.batch = 2,
      .n_q_heads = 8,
      .n_kv_heads = 4,
      .n_q = 90,
      .n_k = 200,
      .d = 256,
      .d_v = 256,
      .in_place = true,
      .causal = true,
      .mask = CALL_MASK_BOOL,
      .mask_axes = 12,
      .poison = CALL_POISON_VISIBLE}},
    {"packed",
     CALL_PACKED,
     true,
     {.batch = 2,
      .n_q_heads = 4,
      .n_kv_heads = 2,
      .n_q = 130,
      .n_k = 130,
      .d = 128,
      .d_v = 128,
      .alibi = true,
      .softcap = 3.0f}},
};

static int64_t copies_of(const call *c, const sattn_options *options)
{
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &c->args, options), SATTN_OK);
    return plan.n_dense;
}

static void check_case(const dense_case *of, const char *plan, int splits)
{
    call want, c;
    call_shape shape = of->shape;
    shape.lse = true;
    shape.layout = CALL_GAPS;
    call_make(&want, &shape, 13);
    shape.layout = of->layout;
    call_make(&c, &shape, 13);
    want.is_sampled = true;
    sattn_options options = {.plan = plan, .key_splits = splits, .threads = 1};
    bool good = call_run(&want, &options) && call_verify(&want, splits);
    if (!good)
        fail_msg("%s, %s: %s", of->name, plan, want.failure);
    assert_int_equal(copies_of(&want, &options), 0);
    for (size_t at = 0; at < COUNT(counts); ++at) {
        options.threads = counts[at];
        call_reset(&c);
        assert_int_equal(copies_of(&c, &options) > 0, of->copies_values || splits > 0);
        good = at % 2 == 0 ? call_run_in_workspace(&c, &options) : call_run(&c, &options);
        if (!good || !call_same_bits(&c, &want))
            fail_msg("%s, %s, %d threads, %d splits: %s", of->name, plan, counts[at], splits,
                     c.failure);
    }
    call_free(&want);
    call_free(&c);
}

void threads_dense(void **state)
{
    (void)state;
    for (size_t at = 0; at < COUNT(cases); ++at) {
        check_case(&cases[at], "fused", 1);
        check_case(&cases[at], "fused", 3);
        check_case(&cases[at], "chain", 0); /* which copies V alone */
    }
}

enum { SEQUENCES = 6 }; /* of a ragged batch */

/* Sequence b as a call of its own. */
static sattn_attention_args sequence_of(const call *c, const sattn_ragged *ragged, int64_t b)
{
    sattn_attention_args args = c->args;
    const int64_t q0 = ragged->q_starts[b], k0 = ragged->k_starts[b];
    args.n_q = ragged->q_starts[b + 1] - q0;
    args.n_k = ragged->k_starts[b + 1] - k0;
    args.q.data = call_input_row(c, CALL_Q, 0, 0, q0);
    args.k.data = call_input_row(c, CALL_K, 0, 0, k0);
    args.v.data = call_input_row(c, CALL_V, 0, 0, k0);
    args.o.data = call_o_row(c, 0, 0, q0);
    args.lse += q0;
    return args;
}

/* In a workspace of exactly the size asked for, full of NaN, right behind which the starts lie; and
 * not where they lie in it. */
static void check_ragged_workspace(call *c, const call *want, const sattn_ragged *ragged,
                                   sattn_options options)
{
    const size_t starts = (size_t)(SEQUENCES + 1) * sizeof(int64_t);
    sattn_attention_args args = c->args;
    args.batch = SEQUENCES;
    size_t size;
    assert_int_equal(sattn_attention_ragged_workspace_size(&args, ragged, &options, &size),
                     SATTN_OK);
    unsigned char *const memory = aligned_alloc(64, size + 128);
    assert_non_null(memory);
    memset(memory, 0xff, size);
    memcpy(memory + size, ragged->q_starts, starts);
    sattn_ragged behind = *ragged;
    behind.q_starts = (const int64_t *)(void *)(memory + size);
    options.workspace = memory;
    options.workspace_size = size;
    call_reset(c);
    assert_int_equal(sattn_attention_ragged(&args, &behind, &options), SATTN_OK);
    assert_memory_equal(memory + size, ragged->q_starts, starts);
    if (!call_check(c) || !call_same_bits(c, want))
        fail_msg("%d threads, in a workspace: %s", options.threads, c->failure);
    memcpy(memory + size - 8, ragged->q_starts, starts);
    behind.q_starts = (const int64_t *)(void *)(memory + size - 8);
    assert_int_equal(sattn_attention_ragged(&args, &behind, &options), SATTN_ERR_OVERLAP);
    assert_non_null(strstr(sattn_last_error(), "workspace overlaps ragged.q_starts"));
    free(memory);
}

/* Sequences with copies and without, rest rows among them, and few rows that fill a tile or not. */
void threads_dense_ragged(void **state)
{
    (void)state;
    static const int64_t q_starts[] = {0, 101, 103, 203, 340, 356, 384};
    static const int64_t k_starts[] = {0, 120, 125, 340, 400, 430, 500};
    const sattn_ragged ragged = {q_starts, k_starts};
    const call_shape shape = {.batch = 1,
                              .n_q_heads = 16,
                              .n_kv_heads = 16,
                              .n_q = 384,
                              .n_k = 500,
                              .d = 64,
                              .d_v = 64,
                              .layout = CALL_ROWS_FIRST,
                              .causal = true,
                              .lse = true};
    call want, c;
    call_make(&want, &shape, 14);
    call_make(&c, &shape, 14);
    for (int64_t b = 0; b < SEQUENCES; ++b) {
        const sattn_attention_args args = sequence_of(&want, &ragged, b);
        assert_int_equal(sattn_attention(&args, NULL), SATTN_OK);
    }
    for (size_t at = 0; at < COUNT(counts); ++at) {
        sattn_attention_args args = c.args;
        args.batch = SEQUENCES;
        const sattn_options options = {.threads = counts[at]};
        call_reset(&c);
        assert_int_equal(sattn_attention_ragged(&args, &ragged, &options), SATTN_OK);
        if (!call_check(&c) || !call_same_bits(&c, &want))
            fail_msg("%d threads: %s", counts[at], c.failure);
        check_ragged_workspace(&c, &want, &ragged, options);
    }
    call_free(&want);
    call_free(&c);
}
