/* SPDX-License-Identifier: MIT
 *
 * test_explain_options.c: the command line of `simdattn explain`. */
#include "bench/explain/explain_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A line of words with single spaces between them. */
static bool parse(const char *line, sattn_explain_options *options)
{
    static char words[512]; /* which the options point into */
    char *argv[32];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *at = words; at && *at; ++argc) {
        char *const space = strchr(at, ' ');
        argv[argc] = at;
        at = space ? space + 1 : NULL;
        if (space)
            *space = '\0';
    }
    return sattn_explain_options_parse(argc, argv, options);
}

static void check_extents(const sattn_shape *s, int64_t n_q_heads, int64_t n_kv_heads, int64_t n_q,
                          int64_t n_k, int64_t d, int64_t d_v)
{
    assert_int_equal(s->n_q_heads, n_q_heads);
    assert_int_equal(s->n_kv_heads, n_kv_heads);
    assert_int_equal(s->n_q, n_q);
    assert_int_equal(s->n_k, n_k);
    assert_int_equal(s->d, d);
    assert_int_equal(s->d_v, d_v);
}

static void test_extents(void **state)
{
    (void)state;
    sattn_explain_options o;
    assert_true(parse("--n-q 3 --n-k=50 --d 64", &o));
    check_extents(&o.shape, 1, 1, 3, 50, 64, 64);
    assert_true(o.op == SATTN_OP_fused && o.threads == 1 && o.shape.batch == 1);
    assert_string_equal(o.shape.name, "");
    assert_true(parse("--d-v 32 --d 64 --heads 8 --n-q 3 --n-k 50 --batch 2 --threads 4", &o));
    check_extents(&o.shape, 8, 8, 3, 50, 64, 32);
    assert_true(o.shape.batch == 2 && o.threads == 4);
    assert_true(parse("--heads 8 --kv-heads 2 --n-q 1 --n-k 1 --d 1", &o));
    check_extents(&o.shape, 8, 2, 1, 1, 1, 1);
    assert_true(parse("--kv-heads 2 --n-q 1 --n-k 1 --d 1", &o));
    check_extents(&o.shape, 2, 2, 1, 1, 1, 1);
    assert_true(parse("--op softmax --n-q 5 --n-k 6", &o));
    assert_true(o.op == SATTN_OP_softmax && o.shape.n_k == 6);
    assert_true(parse("--op av --n-q 5 --n-k 6 --d 7", &o));
    assert_int_equal(o.shape.d_v, 7);
    assert_true(parse("--op tanh --n 1000", &o));
    assert_true(o.shape.kind == SATTN_SHAPE_ARRAY && o.shape.n_k == 1000);
}

static void test_named_shapes(void **state)
{
    (void)state;
    sattn_explain_options o;
    assert_true(parse("--shape llama3-8b-decode", &o)); /* the beginning of one name */
    assert_string_equal(o.shape.name, "llama3-8b-decode-2049");
    check_extents(&o.shape, 32, 8, 1, 2049, 128, 128);
    assert_false(o.is_changed || o.has_window || o.shape.is_interleaved);
    assert_true(parse("--n-k 100 --shape llama3-8b-decode-2049 --heads 64", &o));
    check_extents(&o.shape, 64, 8, 1, 100, 128, 128);
    assert_true(o.is_changed);
    assert_true(parse("--shape llama3-8b-decode --strided", &o));
    assert_true(o.is_changed && o.shape.is_interleaved);
    assert_true(parse("--shape p-90x90-d64", &o)); /* one of `tune --verify` */
    check_extents(&o.shape, o.shape.n_q_heads, o.shape.n_kv_heads, 90, 90, 64, 64);
    assert_true(parse("--op exp --shape exp-700", &o));
    assert_true(o.shape.kind == SATTN_SHAPE_ARRAY && o.shape.n_k == 700);
    assert_true(parse("--shape bert-large-384", &o));
    assert_true(o.shape.mask.kind == SATTN_MASK_ADDITIVE && !o.is_changed);
    assert_true(parse("--shape gpt-oss-120b-window-512", &o));
    assert_true(o.has_window && o.window_left == 127 && o.window_right == 0 && !o.is_changed);
    assert_true(parse("--op exp --shape array-4096", &o));
    assert_int_equal(o.shape.n_k, 4096);
}

static void test_what_hides_keys(void **state)
{
    (void)state;
    sattn_explain_options o;
    assert_true(parse("--n-q 9 --n-k 9 --d 8 --causal --mask bool --window 511,0 --scores", &o));
    assert_true(o.shape.causal && o.shape.mask.kind == SATTN_MASK_BOOL && o.has_scores);
    assert_true(o.has_window && o.window_left == 511 && o.window_right == 0);
    assert_int_equal(o.shape.window, 512);
    assert_true(parse("--n-q 9 --n-k 9 --d 8 --window -1,7 --mask additive", &o));
    assert_true(o.has_window && o.window_left == -1 && o.window_right == 7);
    assert_int_equal(o.shape.window, 0);
    assert_int_equal(o.shape.mask.kind, SATTN_MASK_ADDITIVE);
}

static void test_wrong_usage(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "--n-q 3 --n-k 50",
        "--n-q 0 --n-k 50 --d 64",
        "--n-q 1x --n-k 50 --d 64",
        "--n-q -3 --n-k 50 --d 64",
        "--n-q 3 --n-k 99999999999999999999 --d 64",
        "--n-q",
        "--op av --n-q 3 --n-k 50",
        "--op exp --n-q 3",
        "--op exp --n 10 --d 3",
        "--op exp --shape llama3-8b-decode",
        "--n 10",
        "--op fused --n 10",
        "--shape array-4096",
        "--shape",
        "--shape llama",
        "--shape no-such-shape",
        "--shape=",
        "--shape one-key --threads 0",
        "--shape one-key --window 5",
        "--shape one-key --window 5,",
        "--shape one-key --window 5,-2",
        "--shape one-key --mask float",
        "--shape one-key --isa avx51",
        "--shape one-key --plan both",
        "--shape one-key --kernel sattn_fused_f32_mmx",
        "--shape one-key --key-splits 0",
        "--shape one-key --profile=",
        "--shape one-key --results=",
        "--shape one-key --causal=1",
        "--shape one-key --jsn",
        "--op exp --n 100 --causal",
        "--op exp --n 100 --window 3,0",
        "--op exp --n 100 --mask bool",
        "--op tanh --n 100 --strided",
        "--op tanh --n 100 --scores",
        "--op exp --n 100 --plan fused",
        "--op exp --n 100 --key-splits 4",
        "--op qk --shape one-key --plan chain",
        "--op av --shape one-key --key-splits 4",
        "--op softmax --shape one-key --scores",
        "one-key",
    };
    sattn_explain_options o;
    for (size_t i = 0; i < COUNT(lines); ++i)
        if (parse(lines[i], &o))
            fail_msg("'%s' is taken", lines[i]);
    assert_true(parse("--op softmax --shape one-key --causal --window 3,0 --mask bool", &o));
    assert_true(parse("--op fused --shape one-key --plan fused --key-splits 4", &o));
    assert_true(parse("--help", &o) && o.help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extents),
        cmocka_unit_test(test_named_shapes),
        cmocka_unit_test(test_what_hides_keys),
        cmocka_unit_test(test_wrong_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
