/* SPDX-License-Identifier: MIT
 *
 * test_fetch.c: how far ahead kernels for few rows prefetch K and V. No result shows it. */
#include "tests/support/fetch_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WIDTH = 64, FAR_ROWS = 32, NEAR_ROWS = 8, NEAR_ROWS_OF_SEVERAL = 16 }; /* 8, 2 and 4 KB */

static _Alignas(VEC_LINE) float line[32];

/* 100 keys, from a cache, on a core that follows rows. */
static sattn_fused_args call_of(int64_t stride)
{
    return (sattn_fused_args){.k = line,
                              .v = line,
                              .k_stride = stride,
                              .v_stride = stride,
                              .d = WIDTH,
                              .d_v = WIDTH,
                              .visible = {.n_k = 100},
                              .kv_bytes = 1,
                              .rows_are_followed = true};
}

static const int64_t from_memory = (int64_t)1 << 40;

/* A lone row from a cache whose vectors are parts of one line each. */
static void test_lone_rows(void **state)
{
    (void)state;
    const sattn_fused_args lone = call_of(WIDTH);
    assert_true(test_fetch_of(&lone, 1).is_followed);
    assert_false(test_fetch_of(&lone, 2).is_followed);
    sattn_fused_args others[6];
    for (size_t i = 0; i < 6; ++i)
        others[i] = lone;
    others[0].rows_are_followed = false;
    others[1].kv_bytes = from_memory;
    others[2].k = line + 8;
    others[3].v = line + 8;
    others[4].k_stride = WIDTH + 8;
    others[5].v_stride = WIDTH + 8;
    for (size_t i = 0; i < 6; ++i)
        if (test_fetch_of(&others[i], 1).is_followed)
            fail_msg("call %zu is not prefetched", i);
}

static void check_rows(const sattn_fused_args *args, int n_rows, int64_t ahead)
{
    const fused_decode_fetch fetch = test_fetch_of(args, n_rows);
    assert_int_equal(fetch.k_ahead, ahead * args->k_stride * (int64_t)sizeof(float));
    assert_int_equal(fetch.v_ahead, ahead * args->v_stride * (int64_t)sizeof(float));
}

/* Where the core follows rows, no more than six that meet in a set of the first cache. */
static void test_rows_that_meet(void **state)
{
    (void)state;
    static const struct {
        int64_t stride, rows; /* elements apart, most rows ahead */
    } layouts[] = {{0, 1},    {64, 96},  {65, 1000}, {80, 384},   {256, 24},
                   {512, 12}, {768, 24}, {1024, 6},  {1040, 384}, {1536, 12},
                   {2048, 6}, {3072, 6}, {3584, 12}, {1 << 20, 6}};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
        const int64_t most = layouts[i].rows;
        sattn_fused_args args = call_of(layouts[i].stride);
        check_rows(&args, 1, most < NEAR_ROWS ? most : NEAR_ROWS);
        check_rows(&args, 4, most < NEAR_ROWS_OF_SEVERAL ? most : NEAR_ROWS_OF_SEVERAL);
        args.kv_bytes = from_memory;
        check_rows(&args, 1, most < FAR_ROWS ? most : FAR_ROWS);
        check_rows(&args, 4, most < FAR_ROWS ? most : FAR_ROWS);
    }
}

static void test_rows_of_other_cores(void **state)
{
    (void)state;
    for (int64_t stride = WIDTH; stride <= 4096; stride *= 2) {
        sattn_fused_args args = call_of(stride);
        args.rows_are_followed = false;
        check_rows(&args, 1, NEAR_ROWS);
        args.kv_bytes = from_memory;
        check_rows(&args, 1, FAR_ROWS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lone_rows),
        cmocka_unit_test(test_rows_that_meet),
        cmocka_unit_test(test_rows_of_other_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
