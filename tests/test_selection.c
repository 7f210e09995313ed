/* SPDX-License-Identifier: MIT
 *
 * test_selection.c: shape classes with their keys and texts, recipes with their names, and the
 * table of a profile. */
#include "tests/test_selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sattn_shape_class class_of(const sattn_attention_args *args)
{
    return sattn_class_of(args, SATTN_COMPUTE_FUSED, 1);
}

static uint64_t class_key_of(const sattn_attention_args *args)
{
    const sattn_shape_class c = class_of(args);
    return sattn_class_key(&c);
}

static void check_text(const sattn_shape_class *c, const char *expected)
{
    char text[SATTN_CLASS_TEXT];
    sattn_class_print(c, text);
    assert_string_equal(text, expected);
}

/* ---- classes */

static void test_class_of_arguments(void **state)
{
    (void)state;
    sattn_attention_args a = shape_of(2, 1, 10, 300);
    a.causal = true;
    sattn_shape_class c = class_of(&a);
    check_text(&c, "attention few-query rows<=16 keys<=512 d<=64 d_v<=64 group=1 causal dense "
                   "threads=1");
    c = sattn_class_of(&a, SATTN_COMPUTE_CHAIN, 1); /* the same call */
    assert_true(sattn_class_key(&c) == class_key_of(&a));
    c = sattn_class_of(&a, SATTN_COMPUTE_QK, 3);
    check_text(&c, "qk few-query rows<=16 keys<=512 d<=64 group=1 dense threads=3");
    c = sattn_class_of(&a, SATTN_COMPUTE_SOFTMAX, 9);
    check_text(&c, "softmax few-query rows<=16 keys<=512 group=1 causal threads=16");
    c = sattn_class_of(&a, SATTN_COMPUTE_AV, 1);
    check_text(&c, "av few-query rows<=16 keys<=512 d_v<=64 group=1 causal dense threads=1");
    c = sattn_class_of_array(SATTN_OP_exp, 1025, 2);
    check_text(&c, "exp n<=2048 threads=2");
    c = sattn_class_of_array(SATTN_OP_tanh, 0, 1);
    check_text(&c, "tanh n<=1 threads=1");
    c = sattn_class_of_array(SATTN_OP_sigmoid, 3, 1);
    check_text(&c, "sigmoid n<=4 threads=1");
    c = sattn_class_of_array(SATTN_OP_gru, 512, 1);
    check_text(&c, "gru n<=512 threads=1");
    c = sattn_class_of_additive(1, 1000, 512, false, 1);
    check_text(&c, "additive decode rows<=1 keys<=1024 d<=512 dense threads=1");
    c = sattn_class_of_additive(5, 49, 33, true, 2);
    check_text(&c, "additive few-query rows<=8 keys<=64 d<=64 strided threads=2");
    c = sattn_class_of_linear(1, 1536, 1024, true, 1);
    check_text(&c, "linear decode rows<=1 outputs<=2048 inputs<=1024 packed threads=1");
    c = sattn_class_of_linear(4, 1536, 1024, true, 1);
    check_text(&c, "linear few-query rows<=4 outputs<=2048 inputs<=1024 packed threads=1");
    c = sattn_class_of_linear(5, 1536, 1024, true, 1);
    check_text(&c, "linear prefill rows<=8 outputs<=2048 inputs<=1024 packed threads=1");
    c = sattn_class_of_linear(28, 1536, 1024, false, 1);
    check_text(&c, "linear few-query rows<=32 outputs<=2048 inputs<=1024 in-place threads=1");
    c = sattn_class_of_linear(197, 768, 769, false, 3);
    check_text(&c, "linear prefill rows<=256 outputs<=1024 inputs<=1024 in-place threads=3");
}

/* What falls into one class and what does not. */
static void test_edges_of_classes(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        int log2;
    } edges[] = {{0, 0}, {1, 0},     {2, 1},     {3, 2},         {4, 2},
                 {5, 3}, {4096, 12}, {4097, 13}, {INT64_MAX, 63}};
    for (size_t i = 0; i < COUNT(edges); ++i) {
        sattn_attention_args a = shape_of(1, 1, 1, 1);
        a.n_k = edges[i].n;
        assert_int_equal(class_of(&a).keys_log2, edges[i].log2);
        a = shape_of(1, 1, 1, 1);
        a.n_q = edges[i].n;
        assert_int_equal(class_of(&a).rows_log2, edges[i].log2);
    }
    sattn_attention_args a = shape_of(1, 12, 3, 100);
    assert_int_equal(class_of(&a).rows_log2, 6); /* 36 rows of a group */
    assert_int_equal(class_of(&a).phase, SATTN_PHASE_PREFILL);
    assert_int_equal(class_of(&a).group, 16);
    a = shape_of(1, 7, 1, 100);
    assert_int_equal(class_of(&a).group, 7);
    a.n_q_heads = a.n_q = INT64_MAX; /* of no batch entry: it computes nothing */
    assert_int_equal(class_of(&a).rows_log2, 63);
    assert_int_equal(class_of(&a).group, 1 << 30);
    a = shape_of(1, 1, 1, 100);
    assert_false(class_of(&a).is_strided);
    a.v.stride_t = 65;
    assert_true(class_of(&a).is_strided);
    a.n_k = 1; /* its stride is not looked at */
    assert_false(class_of(&a).is_strided);
    a.n_q_heads = a.n_kv_heads = 0;
    assert_int_equal(class_of(&a).group, 1);
}

static void test_what_hides_keys(void **state)
{
    (void)state;
    static const int64_t offset[1] = {0};
    sattn_attention_args a = shape_of(1, 1, 1, 100);
    a.causal = true;
    assert_int_equal(class_of(&a).mask, SATTN_MASKED_BY_NOTHING); /* the last query sees all */
    a.causal_offset = offset;
    assert_int_equal(class_of(&a).mask, SATTN_MASKED_BY_CAUSAL);
    a.causal_offset = NULL;
    a.n_q = 2;
    assert_int_equal(class_of(&a).mask, SATTN_MASKED_BY_CAUSAL);
    a.has_window = true;
    assert_int_equal(class_of(&a).mask, SATTN_MASKED_BY_WINDOW);
    a.mask.kind = SATTN_MASK_ADDITIVE;
    assert_int_equal(class_of(&a).mask, SATTN_MASKED_BY_MASK);
    assert_int_equal(sattn_class_of(&a, SATTN_COMPUTE_QK, 1).mask, SATTN_MASKED_BY_NOTHING);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

enum { CLASSES_MAX = 200000 };
static uint64_t keys[CLASSES_MAX];
static size_t n_keys;

static void note_class(sattn_shape_class c)
{
    char text[SATTN_CLASS_TEXT], again[SATTN_CLASS_TEXT];
    sattn_shape_class parsed;
    sattn_class_print(&c, text);
    if (!sattn_class_parse(text, &parsed))
        fail_msg("not taken: %s", text);
    sattn_class_print(&parsed, again);
    assert_string_equal(again, text);
    assert_true(sattn_class_key(&parsed) == sattn_class_key(&c));
    assert_true(n_keys < CLASSES_MAX);
    keys[n_keys++] = sattn_class_key(&c);
}

/* The last digit of a number in some base; what is left of it has one digit less. */
static size_t digit(size_t *number, size_t base)
{
    const size_t last = *number % base;
    *number /= base;
    return last;
}

/* Classes of every field, at and about its ends: each has a key of its own, and a text that says it
 * all. */
static void test_keys_and_texts(void **state)
{
    (void)state;
    static const int logs[] = {0, 1, 31, 63}, counts[] = {1, 2, 8, 16, 32, 1 << 30};
    static const sattn_phase phases[] = {SATTN_PHASE_PREFILL, SATTN_PHASE_FEW_QUERY,
                                         SATTN_PHASE_DECODE};
    n_keys = 0;
    for (size_t at = 0; at < 3 * 4 * 4 * 4 * 4 * 6 * 4 * 2 * 6; ++at) {
        size_t rest = at;
        sattn_shape_class c = {.call = SATTN_CALL_ATTENTION};
        c.phase = phases[digit(&rest, COUNT(phases))];
        c.rows_log2 = logs[digit(&rest, COUNT(logs))];
        c.keys_log2 = logs[digit(&rest, COUNT(logs))];
        c.d_log2 = logs[digit(&rest, COUNT(logs))];
        c.d_v_log2 = logs[digit(&rest, COUNT(logs))];
        c.group = counts[digit(&rest, COUNT(counts))];
        c.mask = (sattn_mask_class)digit(&rest, SATTN_MASK_CLASS_COUNT);
        c.is_strided = digit(&rest, 2) == 1;
        c.threads = counts[digit(&rest, COUNT(counts))];
        if (at % 2 == 0) /* half of them take long enough */
            note_class(c);
    }
    const sattn_attention_args a = shape_of(2, 4, 5, 6);
    for (int call = SATTN_COMPUTE_QK; call <= SATTN_COMPUTE_AV; ++call)
        note_class(sattn_class_of(&a, (sattn_computation)call, 1));
    for (int log2 = 0; log2 <= 62; ++log2) {
        note_class(sattn_class_of_array(SATTN_OP_exp, (int64_t)1 << log2, 1));
        note_class(sattn_class_of_array(SATTN_OP_tanh, (int64_t)1 << log2, 1));
        note_class(sattn_class_of_array(SATTN_OP_sigmoid, (int64_t)1 << log2, 1));
        note_class(sattn_class_of_array(SATTN_OP_gru, (int64_t)1 << log2, 1));
        for (int bit = 0; bit < 2; ++bit) {
            note_class(sattn_class_of_additive(1, (int64_t)1 << log2, 40, bit, 1));
            note_class(sattn_class_of_additive(4, 40, (int64_t)1 << log2, bit, 2));
            note_class(sattn_class_of_linear(1, (int64_t)1 << log2, 40, bit, 1));
            note_class(sattn_class_of_linear(4, 40, (int64_t)1 << log2, bit, 2));
        }
    }
    qsort(keys, n_keys, sizeof keys[0], compare_keys);
    assert_true(keys[0] != 0);
    for (size_t i = 1; i < n_keys; ++i)
        assert_true(keys[i] != keys[i - 1]);
}

static void test_texts_that_are_none(void **state)
{
    (void)state;
    static const char right[] = "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked "
                                "dense threads=1";
    static const char *const wrong[] = {
        "",
        "attention",
        "Attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked dense threads=1 ",
        "attention  decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=513 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=0512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=-1 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=+512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "exp n<=18446744073709551616 threads=1",
        "attention decode rows<=0 keys<=512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=9 unmasked dense threads=1",
        "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=0 unmasked dense threads=1",
        "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 hidden dense threads=1",
        "attention decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked threads=1",
        "exp n<=512 threads=2147483648",
        "attention all rows<=1 keys<=512 d<=64 d_v<=64 group=1 unmasked dense threads=1",
        "qk decode rows<=1 keys<=512 d<=64 d_v<=64 group=1 dense threads=1",
        "exp keys<=512 threads=1",
        "log n<=512 threads=1",
        "gru rows<=1 n<=512 threads=1",
        "additive decode rows<=1 keys<=512 d<=64 packed threads=1",
        "linear decode rows<=1 outputs<=512 inputs<=64 dense threads=1",
        "linear decode rows<=1 keys<=512 d<=64 packed threads=1",
    };
    sattn_shape_class c;
    assert_true(sattn_class_parse(right, &c));
    for (size_t i = 0; i < COUNT(wrong); ++i)
        if (sattn_class_parse(wrong[i], &c))
            fail_msg("taken: \"%s\"", wrong[i]);
    char cut[SATTN_CLASS_TEXT];
    for (size_t length = 0; length < strlen(right); ++length) {
        snprintf(cut, sizeof cut, "%.*s", (int)length, right);
        assert_false(sattn_class_parse(cut, &c));
    }
}

/* ---- recipes */

static void test_recipes_by_names(void **state)
{
    (void)state;
    size_t count;
    char text[SATTN_RECIPE_TEXT];
    const sattn_kernel *const rows = sattn_registry(&count);
    static const sattn_call calls[SATTN_OP_COUNT] = {
        [SATTN_OP_fused] = SATTN_CALL_ATTENTION, [SATTN_OP_qk] = SATTN_CALL_QK,
        [SATTN_OP_softmax] = SATTN_CALL_SOFTMAX, [SATTN_OP_av] = SATTN_CALL_AV,
        [SATTN_OP_exp] = SATTN_CALL_EXP,         [SATTN_OP_tanh] = SATTN_CALL_TANH,
        [SATTN_OP_sigmoid] = SATTN_CALL_SIGMOID, [SATTN_OP_additive] = SATTN_CALL_ADDITIVE,
        [SATTN_OP_linear] = SATTN_CALL_LINEAR,   [SATTN_OP_gru] = SATTN_CALL_GRU};
    sattn_recipe r, again;
    for (size_t i = 0; i < count; ++i) {
        const sattn_call call = calls[rows[i].op];
        assert_int_equal(sattn_call_of_op(rows[i].op), call);
        assert_int_equal(sattn_call_op(call), rows[i].op);
        const char *const plan = rows[i].op == SATTN_OP_fused ? "fused" : "";
        assert_true(sattn_recipe_parse(call, plan, rows[i].name, 0, &r));
        assert_ptr_equal(r.kernels[rows[i].op], &rows[i]);
        assert_string_equal(sattn_recipe_plan(&r), plan);
        assert_true(sattn_recipe_needs(&r) == rows[i].needs);
        sattn_recipe_print(&r, text);
        assert_string_equal(text, rows[i].name);
        for (int other = 0; other < SATTN_CALL_COUNT; ++other) /* of no other call */
            assert_true(other == (int)call ||
                        !sattn_recipe_parse((sattn_call)other, plan, rows[i].name, 0, &again));
    }
    assert_true(sattn_recipe_parse(SATTN_CALL_ATTENTION, "chain", scalar_chain, 0, &r));
    assert_string_equal(sattn_recipe_plan(&r), "chain");
    sattn_recipe_print(&r, text);
    assert_string_equal(text, scalar_chain);
    assert_true(sattn_recipe_parse(SATTN_CALL_ATTENTION, "fused", scalar_fused, 4, &again));
    assert_int_equal(again.key_splits, 4);
    assert_false(sattn_recipes_equal(&r, &again));
    assert_true(sattn_recipes_equal(&r, &r));
}

static void test_recipe_with_rest_kernel(void **state)
{
    (void)state;
    size_t count;
    char names[SATTN_RECIPE_TEXT], text[SATTN_RECIPE_TEXT];
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i) {
        sattn_recipe r;
        snprintf(names, sizeof names, "%s,%s", scalar_fused, rows[i].name);
        const bool is_rest =
            rows[i].op == SATTN_OP_fused && strcmp(rows[i].name, scalar_fused) != 0;
        assert_int_equal(sattn_recipe_parse(SATTN_CALL_ATTENTION, "fused", names, 0, &r), is_rest);
        if (!is_rest)
            continue;
        assert_ptr_equal(r.rest_kernel, &rows[i]);
        assert_true(sattn_recipe_needs(&r) == rows[i].needs);
        sattn_recipe_print(&r, text);
        assert_string_equal(text, names);
    }
}

static void test_recipes_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *kernels;
        int key_splits;
    } wrong[] = {
        {"", "sattn_fused_f32_scalar", 0},
        {"fuse", "sattn_fused_f32_scalar", 0},
        {"fused", "", 0},
        {"fused", "sattn_fused_f32_mmx", 0},
        {"fused", "sattn_fused_f32_scalar,", 0},
        {"fused", ",sattn_fused_f32_scalar", 0},
        {"fused", "sattn_fused_f32_scalar,sattn_fused_f32_scalar", 0},
        {"fused", "sattn_fused_f32_scalar,sattn_fused_f32_mmx", 0},
        {"fused", "sattn_fused_f32_scalar", -1},
        {"fused", "sattn_qk_f32_scalar", 0},
        {"chain", "sattn_fused_f32_scalar", 0},
        {"chain", "sattn_qk_f32_scalar,sattn_softmax_f32_scalar", 0},
        {"chain", "sattn_softmax_f32_scalar,sattn_qk_f32_scalar,sattn_av_f32_scalar", 0},
        {"chain", "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar,x", 0},
        {"chain", "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar", 2},
    };
    sattn_recipe r;
    for (size_t i = 0; i < COUNT(wrong); ++i)
        if (sattn_recipe_parse(SATTN_CALL_ATTENTION, wrong[i].plan, wrong[i].kernels,
                               wrong[i].key_splits, &r))
            fail_msg("taken: %s of %s", wrong[i].plan, wrong[i].kernels);
    assert_false(sattn_recipe_parse(SATTN_CALL_EXP, "", "sattn_exp_f32_scalar", 1, &r));
}

/* ---- the table */

/* Recipes that need given features, of kernels that nobody runs. */
static const sattn_kernel kernels[] = {{.op = SATTN_OP_fused, .name = "a", .needs = 0},
                                       {.op = SATTN_OP_fused, .name = "b", .needs = 1},
                                       {.op = SATTN_OP_fused, .name = "c", .needs = 3}};

static sattn_profile_entry entry_of(const sattn_shape_class *c, sattn_features usable,
                                    sattn_tried tried[2], const sattn_kernel *kernel)
{
    memset(tried, 0, 2 * sizeof tried[0]);
    tried[1].recipe.kernels[SATTN_OP_fused] = kernel;
    return (sattn_profile_entry){.shape_class = *c,
                                 .usable = usable,
                                 .shape = "measured",
                                 .is_complete = true,
                                 .n_tried = 2,
                                 .tried = tried,
                                 .taken = 1};
}

static void test_entries_are_found(void **state)
{
    (void)state;
    enum { N = 1000 };
    static sattn_profile_entry entries[N];
    static sattn_tried tried[N][2];
    for (int i = 0; i < N; ++i) {
        const sattn_shape_class c = {.call = SATTN_CALL_ATTENTION,
                                     .phase = SATTN_PHASE_DECODE,
                                     .rows_log2 = i % 10,
                                     .keys_log2 = i / 10 % 10,
                                     .d_log2 = i / 100,
                                     .group = 1,
                                     .threads = 1};
        entries[N - 1 - i] = entry_of(&c, 0, tried[i], &kernels[0]);
        tried[i][1].samples = i;
    }
    sattn_profile *const profile = sattn_profile_make(entries, N, "a path");
    assert_non_null(profile);
    assert_string_equal(sattn_profile_path(profile), "a path");
    memset(tried, 0xff, sizeof tried); /* it has copies */
    for (int i = 0; i < N; ++i) {
        sattn_shape_class c = entries[N - 1 - i].shape_class;
        const sattn_profile_entry *const found = sattn_profile_find(profile, &c, 0);
        assert_non_null(found);
        assert_int_equal(found->tried[1].samples, i);
        assert_string_equal(found->shape, "measured");
        c.threads = 2;
        assert_null(sattn_profile_find(profile, &c, 0));
    }
    size_t n;
    const sattn_profile_entry *const sorted = sattn_profile_entries(profile, &n);
    assert_int_equal(n, N);
    for (size_t i = 1; i < n; ++i)
        assert_true(sattn_class_key(&sorted[i - 1].shape_class) <
                    sattn_class_key(&sorted[i].shape_class));
    sattn_profile_destroy(profile);
    sattn_profile_destroy(NULL);
}

/* The entry of just these features, else one of more whose choice needs none that are missing. */
static void test_entries_of_more_features(void **state)
{
    (void)state;
    const sattn_shape_class c = {.call = SATTN_CALL_ATTENTION, .group = 1, .threads = 1};
    sattn_tried tried[4][2];
    const sattn_profile_entry entries[] = {
        entry_of(&c, 1, tried[0], &kernels[1]),  /* needs 1 */
        entry_of(&c, 7, tried[1], &kernels[0]),  /* needs nothing */
        entry_of(&c, 15, tried[2], &kernels[1]), /* needs 1 */
        entry_of(&c, 32, tried[3], &kernels[2]), /* needs 3, which it has not got */
    };
    static const struct {
        sattn_features usable;
        int entry; /* -1: none */
    } cases[] = {{1, 0},  {7, 1}, {15, 2}, {0, 1},   {3, 1},
                 {11, 2}, {9, 2}, {8, -1}, {31, -1}, {32, 3}};
    sattn_profile *const profile = sattn_profile_make(entries, COUNT(entries), "");
    assert_non_null(profile);
    for (size_t i = 0; i < COUNT(cases); ++i) {
        const sattn_profile_entry *const found = sattn_profile_find(profile, &c, cases[i].usable);
        const sattn_features expected =
            cases[i].entry >= 0 ? entries[cases[i].entry].usable : ~(sattn_features)0;
        if ((found ? found->usable : ~(sattn_features)0) != expected)
            fail_msg("usable %d: the wrong entry", (int)cases[i].usable);
    }
    sattn_profile_destroy(profile);
}

static void test_empty_profiles(void **state)
{
    (void)state;
    const sattn_shape_class c = {.call = SATTN_CALL_EXP, .threads = 1};
    sattn_profile *const profile = sattn_profile_make(NULL, 0, "");
    size_t n = 1;
    assert_non_null(profile);
    assert_null(sattn_profile_find(profile, &c, ~(sattn_features)0));
    sattn_profile_entries(profile, &n);
    assert_int_equal(n, 0);
    sattn_profile_destroy(profile);
    assert_null(sattn_profile_find(sattn_profile_none(), &c, 0));
    assert_string_equal(sattn_profile_path(sattn_profile_none()), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_of_arguments),
        cmocka_unit_test(test_edges_of_classes),
        cmocka_unit_test(test_what_hides_keys),
        cmocka_unit_test(test_keys_and_texts),
        cmocka_unit_test(test_texts_that_are_none),
        cmocka_unit_test(test_recipes_by_names),
        cmocka_unit_test(test_recipe_with_rest_kernel),
        cmocka_unit_test(test_recipes_that_are_none),
        cmocka_unit_test(test_entries_are_found),
        cmocka_unit_test(test_entries_of_more_features),
        cmocka_unit_test(test_empty_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
