/* SPDX-License-Identifier: MIT
 *
 * test_shapes.c: the table of named shapes is complete and consistent. */
#include "bench/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { FEW_QUERIES = 8 /* of decode with speculation, at most */ };

static bool is_text(const char *text)
{
    return text && text[0] != '\0' && text[0] != ' ';
}

static void test_names(void **state)
{
    (void)state;
    size_t n;
    const sattn_shape *const shapes = sattn_shapes(&n);
    assert_true(n > 0);
    for (size_t s = 0; s < n; ++s) {
        assert_true(is_text(shapes[s].name));
        /* A name is a word of command lines, comma lists and file names. */
        assert_int_equal(strspn(shapes[s].name, "abcdefghijklmnopqrstuvwxyz0123456789.-"),
                         strlen(shapes[s].name));
        assert_int_equal(sattn_preset_by_name(shapes[s].name), 0);
        assert_ptr_equal(sattn_shape_by_name(shapes[s].name), &shapes[s]); /* so names are unique */
    }
    assert_null(sattn_shape_by_name("no-such-shape"));
    assert_null(sattn_shape_by_name(""));
}

static void test_provenance(void **state)
{
    (void)state;
    size_t n;
    const sattn_shape *const shapes = sattn_shapes(&n);
    for (size_t s = 0; s < n; ++s) {
        assert_true(is_text(shapes[s].model) && is_text(shapes[s].source));
        assert_true(shapes[s].source_batch == 0 || shapes[s].source_batch > shapes[s].batch);
        assert_true(shapes[s].source_heads == 0 || shapes[s].source_heads > shapes[s].n_q_heads);
    }
}

static bool is_layer(const sattn_shape *shape)
{
    return shape->kind == SATTN_SHAPE_DECODER || shape->kind == SATTN_SHAPE_SELF ||
           shape->kind == SATTN_SHAPE_GENERAL || shape->kind == SATTN_SHAPE_ATTEND;
}

static void test_extents(void **state)
{
    (void)state;
    size_t n;
    const sattn_shape *const shapes = sattn_shapes(&n);
    for (size_t s = 0; s < n; ++s) {
        const sattn_shape *const a = &shapes[s];
        assert_true(a->batch > 0 && a->n_q_heads > 0 && a->n_kv_heads > 0);
        assert_true(a->n_q > 0 && a->n_k > 0 && a->d > 0 && a->d_v > 0);
        if (a->kind == SATTN_SHAPE_ARRAY) {
            const int64_t others[] = {a->batch, a->n_q_heads, a->n_kv_heads, a->n_q, a->d, a->d_v};
            for (size_t e = 0; e < sizeof others / sizeof others[0]; ++e)
                assert_int_equal(others[e], 1);
            assert_true(a->mask.kind == SATTN_MASK_NONE && !a->causal && a->real_layer < 0);
            assert_true(a->softcap == 0 && a->window == 0 && !a->has_alibi && !a->has_sinks);
        }
        assert_true((sattn_shape_weights(a) > 0) == is_layer(a));
        if (is_layer(a)) {
            const bool is_self = a->kind == SATTN_SHAPE_SELF;
            assert_true(a->batch == 1 && a->n_q_heads == 1 && a->n_kv_heads == 1);
            assert_true(a->kind == SATTN_SHAPE_DECODER || a->d == a->d_v);
            assert_true(!is_self || a->n_q == a->n_k);
            assert_true(a->kind != SATTN_SHAPE_DECODER || a->n_q == 1);
            assert_true(is_self ? a->n_heads > 0 && a->d % a->n_heads == 0 : a->n_heads == 0);
        }
        assert_int_equal(a->n_q_heads % a->n_kv_heads, 0);
        if (a->is_interleaved) /* loops over memory read whole tensors */
            assert_true(!a->causal && a->window == 0 && a->mask.kind == SATTN_MASK_NONE);
        assert_true(a->scale >= 0 && a->scale <= 1 && a->softcap >= 0);
        assert_true(a->window >= 0 && a->window < a->n_k); /* it hides some key */
        const bool has_mask = a->mask.content != SATTN_CONTENT_NONE;
        assert_true(has_mask == (a->mask.kind != SATTN_MASK_NONE));
        assert_true(has_mask || !(a->mask.per_batch || a->mask.per_head || a->mask.per_query));
        if (a->mask.content == SATTN_CONTENT_CAUSAL || a->mask.content == SATTN_CONTENT_BIAS)
            assert_true(a->mask.per_query && !a->causal);
        if (a->mask.content == SATTN_CONTENT_BIAS)
            assert_int_equal(a->mask.kind, SATTN_MASK_ADDITIVE);
    }
}

static void test_presets(void **state)
{
    (void)state;
    size_t n, n_models = 0, n_prompt = 0, n_decode = 0, n_real = 0;
    size_t n_steps = 0, n_lines = 0, n_arrays = 0, n_data = 0, n_calls = 0;
    size_t n_decoders = 0, n_self = 0, n_general = 0, n_attend = 0, n_alignments = 0, n_dots = 0;
    int64_t widest_states = 0;
    const sattn_shape *const shapes = sattn_shapes(&n);
    for (size_t s = 0; s < n; ++s) {
        const sattn_shape *const a = &shapes[s];
        const bool is_real = (a->presets & SATTN_PRESET_REAL) != 0;
        const bool is_decode = (a->presets & SATTN_PRESET_DECODE) != 0;
        assert_true(a->presets != 0 && !(a->presets & ~(unsigned)SATTN_PRESET_FULL));
        assert_true((a->kind == SATTN_SHAPE_ARRAY) ==
                    (a->presets == SATTN_PRESET_ARRAYS)); /* no op has both */
        n_steps += (a->presets & SATTN_PRESET_STEPS) != 0;
        n_lines += (a->presets & SATTN_PRESET_LINES) != 0;
        n_arrays += a->kind == SATTN_SHAPE_ARRAY;
        n_data += (a->presets & SATTN_PRESET_DATA) != 0;
        n_calls += (a->presets & SATTN_PRESET_CALLS) != 0;
        if (a->presets & SATTN_PRESET_CALLS) /* so short that what is around the kernel counts */
            assert_true(a->n_q == 1 && a->n_k * a->d <= 64 * 64 && !a->has_sinks);
        if (a->presets & SATTN_PRESET_LECTURE) {
            n_decoders += a->kind == SATTN_SHAPE_DECODER;
            if (a->kind == SATTN_SHAPE_DECODER && a->d_v > widest_states)
                widest_states = a->d_v;
            n_self += a->kind == SATTN_SHAPE_SELF;
            n_general += a->kind == SATTN_SHAPE_GENERAL;
            n_attend += a->kind == SATTN_SHAPE_ATTEND;
            n_alignments += a->kind == SATTN_SHAPE_ALIGNMENT;
            n_dots += a->kind == SATTN_SHAPE_ATTENTION;
        }
        assert_true(is_real == (a->real_layer >= 0));
        assert_true(!is_decode || a->n_q <= FEW_QUERIES);
        n_models += (a->presets & SATTN_PRESET_MODELS) != 0;
        if (!(a->presets & SATTN_PRESET_QUICK))
            continue;
        n_real += is_real;
        n_decode += is_decode;
        n_prompt += !is_real && !is_decode && a->n_q > FEW_QUERIES;
    }
    assert_true(n_models >= 25);
    assert_true(n_steps >= 8 && n_lines >= 4 && n_arrays >= 4 && n_data >= 2 && n_calls >= 4);
    assert_true(n_decoders >= 9 && widest_states == 2048 && n_self >= 3 && n_alignments >= 4 &&
                n_dots >= 4);
    assert_true(n_general >= 3 && n_attend >= 3);
    assert_true(n_prompt >= 3 && n_decode >= 2 && n_real >= 2);
}

/* Prompts and decode of real models with each thing that a call may do to its scores. */
static void test_semantics(void **state)
{
    (void)state;
    int prompt[4] = {0}, decode[4] = {0};
    size_t n;
    const sattn_shape *const shapes = sattn_shapes(&n);
    for (size_t s = 0; s < n; ++s) {
        const sattn_shape *const a = &shapes[s];
        const bool has[4] = {a->softcap > 0, a->window > 0, a->has_alibi, a->has_sinks};
        for (int what = 0; what < 4; ++what) {
            prompt[what] += has[what] && (a->presets & SATTN_PRESET_MODELS) && a->n_q > 32;
            decode[what] += has[what] && (a->presets & SATTN_PRESET_DECODE) && a->n_q == 1;
        }
    }
    for (int what = 0; what < 4; ++what)
        assert_true(prompt[what] > 0 && decode[what] > 0);
    const sattn_shape *const gemma2 = sattn_shape_by_name("gemma2-27b-512");
    assert_true(gemma2 && gemma2->softcap == 50 && gemma2->scale == 1.0 / 12);
}

static void test_preset_names(void **state)
{
    (void)state;
    char names[128];
    unsigned all = 0;
    bool has_full = false;
    snprintf(names, sizeof names, "%s", sattn_preset_names());
    for (char *name = strtok(names, ", "); name; name = strtok(NULL, ", ")) {
        const unsigned preset = sattn_preset_by_name(name);
        if (preset == SATTN_PRESET_FULL) { /* the union of all, and of what has no name */
            has_full = true;
            continue;
        }
        assert_true(preset != 0 && (all & preset) == 0);
        all |= preset;
    }
    assert_int_equal(all, SATTN_PRESET_QUICK | SATTN_PRESET_MODELS | SATTN_PRESET_DECODE |
                              SATTN_PRESET_REAL | SATTN_PRESET_DATA | SATTN_PRESET_LIMITS |
                              SATTN_PRESET_LECTURE);
    assert_true(has_full);
    assert_int_equal(sattn_preset_by_name("quic"), 0);
    assert_int_equal(sattn_preset_by_name(""), 0);
}

static void test_descriptions(void **state)
{
    (void)state;
    size_t n;
    const sattn_shape *const shapes = sattn_shapes(&n);
    for (size_t s = 0; s < n; ++s) {
        char text[256], extents[96];
        sattn_shape_describe(&shapes[s], text, sizeof text);
        if (shapes[s].kind == SATTN_SHAPE_ARRAY) {
            snprintf(extents, sizeof extents, "n=%lld", (long long)shapes[s].n_k);
            assert_string_equal(text, extents);
        } else if (shapes[s].kind == SATTN_SHAPE_MAP) {
            snprintf(extents, sizeof extents, "rows=%lld outputs=%lld inputs=%lld%s",
                     (long long)shapes[s].n_q, (long long)shapes[s].n_k, (long long)shapes[s].d,
                     shapes[s].is_packed ? " packed" : "");
            assert_string_equal(text, extents);
        } else if (shapes[s].kind == SATTN_SHAPE_GATES) {
            snprintf(extents, sizeof extents, "rows=%lld units=%lld", (long long)shapes[s].n_q,
                     (long long)shapes[s].d / 3);
            assert_string_equal(text, extents);
        } else if (shapes[s].kind == SATTN_SHAPE_DECODER) {
            snprintf(extents, sizeof extents,
                     "T=%lld states of %lld, GRU of %lld units, 10000 words",
                     (long long)shapes[s].n_k, (long long)shapes[s].d_v, (long long)shapes[s].d);
            assert_string_equal(text, extents);
        } else if (shapes[s].kind == SATTN_SHAPE_SELF) {
            snprintf(extents, sizeof extents, "T=%lld D=%lld H=%lld%s", (long long)shapes[s].n_q,
                     (long long)shapes[s].d, (long long)shapes[s].n_heads,
                     shapes[s].causal ? " causal" : "");
            assert_string_equal(text, extents);
        } else if (is_layer(&shapes[s])) {
            snprintf(extents, sizeof extents, "Tq=%lld Tk=%lld D=%lld", (long long)shapes[s].n_q,
                     (long long)shapes[s].n_k, (long long)shapes[s].d);
            assert_string_equal(text, extents);
        }
        if (shapes[s].kind != SATTN_SHAPE_ATTENTION && shapes[s].kind != SATTN_SHAPE_ALIGNMENT)
            continue;
        snprintf(extents, sizeof extents, " Tq=%lld Tk=%lld D=%lld", (long long)shapes[s].n_q,
                 (long long)shapes[s].n_k, (long long)shapes[s].d);
        assert_non_null(strstr(text, extents));
        assert_true((strstr(text, " causal") != NULL) == shapes[s].causal);
        assert_true((strstr(text, " window=") != NULL) == (shapes[s].window > 0));
        assert_true((strstr(text, " softcap=") != NULL) == (shapes[s].softcap > 0));
        assert_true((strstr(text, " ALiBi") != NULL) == shapes[s].has_alibi);
        assert_true((strstr(text, " sinks") != NULL) == shapes[s].has_sinks);
        assert_true((strstr(text, " interleaved") != NULL) == shapes[s].is_interleaved);
        assert_true((strstr(text, " mask") != NULL) == (shapes[s].mask.kind != SATTN_MASK_NONE));
        char cut[8];
        sattn_shape_describe(&shapes[s], cut, sizeof cut);
        assert_int_equal(strlen(cut), sizeof cut - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_extents),      cmocka_unit_test(test_presets),
        cmocka_unit_test(test_semantics),    cmocka_unit_test(test_preset_names),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
