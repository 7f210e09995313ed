/* SPDX-License-Identifier: MIT
 *
 * test_direct.c: calls that need nothing around their kernel are the same bits as by the way of all
 * others, and whatever may be wrong with their memory is left to that way. */
#include "dispatch/direct.h"

#include "dispatch/execute.h"
#include "dispatch/team.h"
#include "dispatch/unit.h"
#include "tests/test_selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FLOATS = 1 << 17 };
static float q[FLOATS], k[FLOATS], v[FLOATS], o[FLOATS], expected[FLOATS];

static void fill_inputs(void)
{
    uint32_t bits = 99;
    for (int i = 0; i < FLOATS; ++i) {
        bits = bits * 1664525u + 1013904223u;
        q[i] = (float)(bits >> 20) / 1024.0f - 2.0f;
        k[i] = (float)(bits >> 12 & 4095) / 1024.0f - 2.0f;
        v[i] = (float)(bits >> 4 & 4095) / 1024.0f - 2.0f;
    }
}

/* Rows first, or heads first, with gaps; the strides of an extent of 1 are nonsense. */
static sattn_attention_args call_of(int64_t batch, int64_t n_kv_heads, int64_t n_group, int64_t n_q,
                                    int64_t n_k, bool rows_first)
{
    enum { D = 24, D_V = 17, GAP = 3 };
    const int64_t n_q_heads = n_kv_heads * n_group, junk = INT64_MAX;
    sattn_attention_args a = {.batch = batch,
                              .n_q_heads = n_q_heads,
                              .n_kv_heads = n_kv_heads,
                              .n_q = n_q,
                              .n_k = n_k,
                              .d = D,
                              .d_v = D_V,
                              .q = {.data = q},
                              .k = {.data = k},
                              .v = {.data = v},
                              .o = {.data = o}};
    a.q.stride_t = rows_first ? n_q_heads * D : D + GAP;
    a.q.stride_h = rows_first ? D : n_q * (D + GAP);
    a.q.stride_b = n_q_heads * n_q * (D + GAP);
    a.k.stride_t = rows_first ? n_kv_heads * D : D;
    a.k.stride_h = rows_first ? D : n_k * D;
    a.k.stride_b = n_kv_heads * n_k * D;
    a.v.stride_t = rows_first ? n_kv_heads * D_V : D_V + GAP;
    a.v.stride_h = rows_first ? D_V : n_k * (D_V + GAP);
    a.v.stride_b = n_kv_heads * n_k * (D_V + GAP);
    a.o.stride_t = rows_first ? n_q_heads * D_V : D_V;
    a.o.stride_h = rows_first ? D_V : n_q * D_V;
    a.o.stride_b = n_q_heads * n_q * D_V;
    if (batch == 1)
        a.q.stride_b = a.k.stride_b = a.v.stride_b = a.o.stride_b = junk;
    if (n_q_heads == 1)
        a.q.stride_h = a.o.stride_h = junk;
    if (n_kv_heads == 1)
        a.k.stride_h = a.v.stride_h = junk;
    if (n_q == 1)
        a.q.stride_t = a.o.stride_t = junk;
    if (n_k == 1)
        a.k.stride_t = a.v.stride_t = junk;
    return a;
}

static void test_same_bits(void **state)
{
    (void)state;
    static const struct {
        int64_t batch, n_kv_heads, n_group, n_q, n_k;
    } shapes[] = {{1, 1, 1, 1, 1},    {1, 1, 1, 1, 300}, {1, 3, 1, 1, 200},
                  {2, 2, 4, 1, 130},  {1, 1, 7, 3, 100}, {3, 1, 1, 5, 64},
                  {1, 2, 1, 37, 150}, {2, 2, 2, 33, 65}, {1, 1, 1, 69, 128}};
    for (size_t s = 0; s < COUNT(shapes); ++s)
        for (int variant = 0; variant < 4; ++variant) {
            sattn_attention_args a =
                call_of(shapes[s].batch, shapes[s].n_kv_heads, shapes[s].n_group, shapes[s].n_q,
                        shapes[s].n_k, variant & 1);
            a.softcap = variant & 2 ? 5.0f : 0.0f;
            a.has_scale = variant & 2;
            a.scale = 0.3f;
            a.causal = shapes[s].n_q == 1; /* hides nothing */
            sattn_plan plan;
            assert_int_equal(sattn_plan_make_attention(&plan, &a, NULL), SATTN_OK);
            assert_true(plan.is_direct);
            assert_true(plan.kv_bytes == sattn_kv_bytes(&a));
            unsigned char *const memory = aligned_alloc(64, (plan.layout.size + 63) / 64 * 64);
            const sattn_pointers pointers = {.q = q, .k = k, .v = v, .o = o};
            memset(o, 0x55, sizeof o);
            memcpy(expected, o, sizeof o);
            assert_true(sattn_direct_run(&plan, &pointers, memory, plan.layout.size));
            a.o.data = expected;
            sattn_plan_execute(&plan, &a, false, memory);
            if (memcmp(o, expected, sizeof o) != 0)
                fail_msg("shape %zu, variant %d: other bits", s, variant);
            free(memory);
        }
}

/* A call with something that needs more than its kernel; false: there are no more. */
static bool add_need(sattn_attention_args *a, int index)
{
    static float floats[64];
    static const int64_t counts[2] = {5, 5};
    static const uint8_t mask[64];
    switch (index) {
    case 0:
        a->lse = floats;
        a->lse_stride_h = 3;
        return true;
    case 1:
        a->n_k_valid = counts;
        return true;
    case 2:
        a->causal = true;
        return true;
    case 3:
        a->sinks = floats;
        return true;
    case 4:
        a->alibi_slopes = floats;
        return true;
    case 5:
        a->has_window = true;
        a->window_left = a->window_right = -1;
        return true;
    case 6:
        a->mask = (sattn_mask){.kind = SATTN_MASK_BOOL, .data = mask, .extent = {1, 1, 1, 1}};
        return true;
    case 7:
        a->n_k = 0;
        return true;
    case 8:
        a->batch = 0;
        return true;
    default:
        return false;
    }
}

static void test_which_are_direct(void **state)
{
    (void)state;
    const sattn_attention_args a = call_of(1, 1, 2, 3, 10, false);
    sattn_attention_args other = a;
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &a, NULL), SATTN_OK);
    assert_true(plan.is_direct);
    for (int i = 0; add_need(&other, i); ++i) {
        assert_int_equal(sattn_plan_make_attention(&plan, &other, NULL), SATTN_OK);
        if (plan.is_direct)
            fail_msg("call %d is direct", i);
        other = a;
    }
    const sattn_options ranges = {.key_splits = 2}, chain = {.plan = "chain"};
    const sattn_attention_args longer = call_of(1, 1, 1, 1, 1000, false);
    assert_int_equal(sattn_plan_make_attention(&plan, &longer, &ranges), SATTN_OK);
    assert_false(plan.is_direct);
    assert_int_equal(sattn_plan_make_attention(&plan, &a, &chain), SATTN_OK);
    assert_false(plan.is_direct);
}

/* Threads want tasks, and dense copies somebody who makes them. */
static void test_what_is_shared_is_not_direct(void **state)
{
    (void)state;
    const sattn_options two = {.threads = 2};
    const sattn_attention_args decode = call_of(1, 64, 1, 1, 4096, false);
    sattn_attention_args prefill = call_of(1, 1, 1, 64, 512, false);
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &decode, &two), SATTN_OK);
    assert_int_equal(plan.workers, sattn_team_is_built() ? 2 : 1);
    assert_int_equal(plan.n_blocks * plan.splits, 1);
    assert_int_equal(plan.is_direct, plan.workers == 1);
    prefill.k.stride_t = prefill.v.stride_t = 1024;
    assert_int_equal(sattn_plan_make_attention(&plan, &prefill, NULL), SATTN_OK);
    assert_true(plan.n_dense > 0 && plan.n_blocks == 1 && plan.workers == 1);
    assert_false(plan.is_direct);
}

static sattn_fused_args noted;

static void note_args(const sattn_fused_args *args)
{
    noted = *args;
}

/* What a kernel may use and what no bit depends on is the same too. */
static void test_hints(void **state)
{
    (void)state;
    const sattn_attention_args a = call_of(1, 2, 1, 1, 100, false);
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &a, NULL), SATTN_OK);
    sattn_kernel kernel = *plan.kernels[SATTN_OP_fused];
    kernel.fn.fused = note_args;
    plan.kernels[SATTN_OP_fused] = &kernel;
    unsigned char *const memory = aligned_alloc(64, (plan.layout.size + 63) / 64 * 64);
    const sattn_pointers pointers = {.q = q, .k = k, .v = v, .o = o};
    for (int followed = 0; followed < 2; ++followed) {
        plan.rows_are_followed = followed;
        assert_true(sattn_direct_run(&plan, &pointers, memory, plan.layout.size));
        const int64_t direct = noted.kv_bytes;
        assert_true(direct > 0);
        assert_int_equal(noted.rows_are_followed, followed);
        sattn_plan_execute(&plan, &a, false, memory);
        assert_int_equal(direct, noted.kv_bytes);
        assert_int_equal(noted.rows_are_followed, followed);
    }
    free(memory);
}

/* Nothing is written where a look from afar does not suffice. */
static void test_memory_to_look_at(void **state)
{
    (void)state;
    const sattn_attention_args a = call_of(1, 1, 1, 2, 10, false);
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &a, NULL), SATTN_OK);
    const size_t size = plan.layout.size;
    unsigned char *const memory = aligned_alloc(64, (size / 64 + 2) * 64);
    const sattn_pointers right = {.q = q, .k = k, .v = v, .o = o};
    sattn_pointers wrong[16];
    for (size_t i = 0; i < COUNT(wrong); ++i)
        wrong[i] = right;
    wrong[0].q = NULL;
    wrong[1].k = NULL;
    wrong[2].v = NULL;
    wrong[3].o = NULL;
    wrong[4].k = (const unsigned char *)k + 2;
    wrong[5].o = (unsigned char *)o + 1;
    wrong[6].q = o;
    wrong[7].k = o + 2 * 17 - 1;  /* the last element of o */
    wrong[8].o = v + 9 * 20 + 16; /* the last element of v */
    wrong[9].q = memory + size - 4;
    wrong[10].k = memory;
    wrong[11].v = memory;
    wrong[12].o = memory + size - 4;
    wrong[13].lse = o;
    wrong[14].n_k_valid = (const int64_t *)(const void *)k;
    wrong[15].mask = v;
    memset(o, 0x55, sizeof o);
    memcpy(expected, o, sizeof o);
    for (size_t i = 0; i < COUNT(wrong); ++i)
        if (sattn_direct_run(&plan, &wrong[i], memory, size))
            fail_msg("pointers %zu are taken", i);
    assert_false(sattn_direct_run(&plan, &right, NULL, size));
    assert_false(sattn_direct_run(&plan, &right, memory + 32, size));
    assert_false(sattn_direct_run(&plan, &right, memory, size - 1));
    assert_memory_equal(o, expected, sizeof o);
    assert_true(sattn_direct_run(&plan, &right, memory, size));
    assert_true(memcmp(o, expected, sizeof o) != 0);
    free(memory);
}

/* Where there are no keys, K and V are nowhere, whatever their strides: so the output may be there.
 */
static void test_no_keys_take_no_memory(void **state)
{
    (void)state;
    sattn_attention_args a = call_of(1, 2, 1, 3, 0, true);
    a.k.data = a.v.data = o;
    memset(o, 0x55, sizeof o);
    memset(expected, 0, sizeof expected);
    if (sattn_attention(&a, NULL) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
    assert_memory_equal(o, expected, (size_t)(a.n_q * a.o.stride_t) * sizeof(float));
}

int main(void)
{
    fill_inputs();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_which_are_direct),
        cmocka_unit_test(test_what_is_shared_is_not_direct),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_memory_to_look_at),
        cmocka_unit_test(test_no_keys_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
