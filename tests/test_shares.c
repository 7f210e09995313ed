/* SPDX-License-Identifier: MIT
 *
 * test_shares.c: how a call is cut into tasks: blocks of rows, rest rows, key ranges, number of
 * threads, dense copies, the workspace of them all, and what a block of rows sees. That none of it
 * shows in a result, test_chain and test_threads check. */
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/execute.h"
#include "dispatch/plan.h"
#include "dispatch/ragged_plan.h"
#include "dispatch/share.h"
#include "dispatch/team.h"
#include "dispatch/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
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
    assert_int_equal(sattn_block_rows(3071, 1, 32, 2), 32);
    assert_int_equal(sattn_block_rows(3072, 1, 32, 2), 128);
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

static void test_rest_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t n_group, n_q, tile_rows, d, want;
    } rows[] = {
        {1, 197, 32, 64, 5},
        {1, 50, 32, 64, 18},
        {1, 192, 32, 64, 0},
        {1, 204, 32, 64, 12},
        {1, 205, 32, 64, 0},
        {1, 208, 32, 64, 0},
        {1, 209, 32, 64, 17},
        {1, 212, 32, 64, 20},
        {1, 213, 32, 64, 0},
        {1, 200, 32, 63, 8},
        {1, 201, 32, 63, 0},
        {1, 50, 32, 63, 0},
        {1, 198, 16, 64, 6},
        {1, 199, 16, 64, 0},
        {1, 201, 16, 64, 9},
        {1, 202, 16, 64, 10},
        {1, 203, 16, 64, 0},
        {4, 50, 32, 64, 2},
        {4, 49, 32, 64, 1},
        {3, 97, 32, 64, 1},
        {7, 50, 32, 64, 0},
        {5, 14, 32, 64, 0},
        {1, 512, 32, 64, 0},
        {1, 501, 32, 64, 0},
        {1, 485, 32, 64, 5},
        {1, 517, 32, 64, 0},
        {1, 261, 16, 64, 0},
        {129, 4, 32, 64, 0},
        {1, INT64_MAX, 32, 64, 0},
        {1, 77, 1, 64, 0},
        {(int64_t)1 << 40, 3, 32, 64, 0},
    };
    for (size_t at = 0; at < COUNT(rows); ++at)
        assert_int_equal(
            sattn_rest_rows(rows[at].n_group, rows[at].n_q, rows[at].tile_rows, rows[at].d),
            rows[at].want);
}

/* Few rows are a prefill where they fill its kernel's tile. */
static void test_fused_phase(void **state)
{
    (void)state;
    static const struct {
        int64_t n_group, n_q, tile_rows, d;
        bool fills;
    } units[] = {
        {1, 28, 32, 64, true}, {1, 27, 32, 64, false}, {1, 16, 32, 64, false},
        {4, 7, 32, 64, true},  {28, 1, 32, 64, true},  {1, 13, 16, 64, false},
        {1, 14, 16, 64, true}, {16, 1, 16, 64, true},  {4, 4, 16, 64, true},
        {1, 8, 16, 64, false}, {1, 17, 16, 64, true}, /* 16 and a rest of 1 */
        {4, 5, 16, 64, true},  {5, 4, 16, 64, false},  {17, 1, 16, 64, false},
        {1, 20, 16, 32, true}, {1, 21, 16, 32, false}, {1, 23, 16, 64, true},
        {3, 9, 16, 64, false}, {1, 28, 1, 64, false},  {1, 16, 0, 64, false},
    };
    for (size_t at = 0; at < COUNT(units); ++at) {
        const sattn_phase few = sattn_phase_of(units[at].n_group, units[at].n_q);
        assert_int_equal(
            sattn_fused_phase(units[at].n_group, units[at].n_q, units[at].tile_rows, units[at].d),
            units[at].fills ? SATTN_PHASE_PREFILL : few);
    }
    assert_int_equal(sattn_fused_phase(1, SATTN_FEW_ROWS + 1, 16, 64), SATTN_PHASE_PREFILL);
    assert_int_equal(sattn_fused_phase(INT64_MAX, INT64_MAX, 32, 64), SATTN_PHASE_PREFILL);
    for (int64_t tile_rows = 16; tile_rows <= 64; tile_rows *= 2)
        for (int64_t n_q = 1; n_q < SATTN_FILLING_ROWS_MIN; ++n_q) /* what is not looked at */
            assert_int_not_equal(sattn_fused_phase(1, n_q, tile_rows, 64), SATTN_PHASE_PREFILL);
}

/* Each level by its own tile; a chain by the number of rows alone. */
static void test_phase_of_plans(void **state)
{
    (void)state;
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t at = 0; at < count; ++at) {
        sattn_options options = {.isa = isas[at].name};
        sattn_overrides overrides;
        if ((isas[at].needs & ~sattn_cpu_this()->usable) ||
            sattn_overrides_get(&options, &overrides) != SATTN_OK)
            continue;
        const int64_t tile_rows = sattn_prefill_tile_rows(&overrides);
        if (tile_rows < 16)
            continue;
        const sattn_attention_args filled = shape_of(1, 1, tile_rows / 8 * 7, 100),
                                   less = shape_of(1, 1, tile_rows / 8 * 7 - 1, 100);
        assert_true(plan_of(&filled, &options).kernels[SATTN_OP_fused]->phases &
                    SATTN_PHASE_PREFILL);
        assert_true(plan_of(&less, &options).kernels[SATTN_OP_fused]->phases &
                    SATTN_PHASE_FEW_QUERY);
        options.plan = "chain";
        assert_true(plan_of(&filled, &options).kernels[SATTN_OP_qk]->phases &
                    SATTN_PHASE_FEW_QUERY);
    }
}

/* The kernel of a few rows is that of the registry's order for so many on this CPU, also in a
 * ragged batch of several numbers of rows. */
static void test_several_rows_of_plans(void **state)
{
    (void)state;
    enum { MOST = 9 };
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_cpu *const cpu = sattn_cpu_this();
    int64_t starts[MOST + 1] = {0};
    for (int64_t n_q = 1; n_q <= MOST; ++n_q)
        starts[n_q] = starts[n_q - 1] + n_q;
    sattn_attention_args all = shape_of(1, 1, starts[MOST], starts[MOST]);
    all.batch = MOST;
    const sattn_ragged ragged = {.q_starts = starts, .k_starts = starts};
    sattn_overrides overrides;
    sattn_ragged_plan batch;
    assert_int_equal(sattn_overrides_get(NULL, &overrides), SATTN_OK);
    assert_int_equal(sattn_ragged_plan_make(&batch, &all, &ragged, NULL), SATTN_OK);
    for (int64_t n_q = 1; n_q <= MOST; ++n_q) {
        const sattn_attention_args a = shape_of(1, 1, n_q, 100);
        const sattn_plan alone = plan_of(&a, NULL);
        const sattn_selection selection = {.op = SATTN_OP_fused,
                                           .phase = alone.phase,
                                           .usable = overrides.usable,
                                           .is_several =
                                               sattn_are_several(cpu, alone.phase, 1, n_q)};
        assert_ptr_equal(alone.kernels[SATTN_OP_fused], sattn_select(rows, count, &selection));
        assert_ptr_equal(sattn_ragged_plan_of(&batch, n_q)->kernels[SATTN_OP_fused],
                         alone.kernels[SATTN_OP_fused]);
        assert_int_equal(sattn_ragged_plan_of(&batch, n_q)->rows_are_followed, cpu->follows_rows);
    }
}

/* Plans know from the CPU whether it follows rows, whatever stood in their place before. */
static void test_cpu_of_plans(void **state)
{
    (void)state;
    const bool follows_rows = sattn_cpu_this()->follows_rows;
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    sattn_plan plan;
    plan.rows_are_followed = !follows_rows;
    assert_int_equal(sattn_plan_make_attention(&plan, &a, NULL), SATTN_OK);
    assert_int_equal(plan.rows_are_followed, follows_rows);
}

/* A plan names all kernels that it runs; one that was asked for by name does all rows. */
static void test_rest_kernel(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(2, 1, 197, 197);
    sattn_plan plan = plan_of(&a, NULL);
    const sattn_kernel *const first = plan.kernels[SATTN_OP_fused];
    const int64_t n_rest = sattn_plan_rest_rows(&plan, 197);
    assert_true(n_rest == 0 || (n_rest == 5 && plan.rest_kernel != first &&
                                (plan.rest_kernel->phases & SATTN_PHASE_FEW_QUERY)));
    assert_int_equal(n_rest > 0, first->tile_rows > 1);
    char names[200];
    snprintf(names, sizeof names, "%s%s%s", first->name, n_rest > 0 ? "," : "",
             n_rest > 0 ? plan.rest_kernel->name : "");
    sattn_plan_name_kernels(&plan);
    assert_string_equal(plan.names, names);
    const sattn_options forced = {.kernels = first->name};
    sattn_plan alone = plan_of(&a, &forced);
    sattn_plan_name_kernels(&alone);
    assert_null(alone.rest_kernel);
    assert_string_equal(alone.names, first->name);
}

/* Of 2 KV heads with 100 keys of 64 + 64 features. */
static void test_kv_bytes(void **state)
{
    (void)state;
    enum { ROW = 64 * 4, K = 2 * 100 * ROW, V = K };
    const int64_t n_valid[3] = {40, 100, 0};
    const sattn_attention_args plain = shape_of(2, 3, 1, 100);
    sattn_attention_args a = plain;
    assert_int_equal(sattn_kv_bytes(&a), K + V);
    a.v.stride_h = 0; /* heads share it */
    assert_int_equal(sattn_kv_bytes(&a), K + V / 2);
    a.v.stride_t = 0;
    assert_int_equal(sattn_kv_bytes(&a), K + ROW);
    a = plain;
    a.batch = 3;
    a.k.stride_b = 200 * 64;
    assert_int_equal(sattn_kv_bytes(&a), 3 * K + V);
    a.k.stride_b = 1; /* entries overlap, so extents may be as large */
    a.batch = INT64_MAX;
    assert_int_equal(sattn_kv_bytes(&a), (int64_t)1 << 62);
    a = plain;
    a.batch = 3;
    a.k.stride_b = a.v.stride_b = 200 * 64;
    a.n_k_valid = n_valid;
    assert_int_equal(sattn_kv_bytes(&a), 140 * (K + V) / 100);
    a = plain;
    a.causal = a.has_window = true;
    a.window_left = 9;
    a.window_right = -1;
    assert_int_equal(sattn_kv_bytes(&a), 10 * (K + V) / 100);
}

static int64_t told_bytes, told_bytes_of_rest;
static bool told_followed, told_followed_of_rest;

static void note_hints(const sattn_fused_args *args)
{
    told_bytes = args->kv_bytes;
    told_followed = args->rows_are_followed;
}

static void note_hints_of_rest(const sattn_fused_args *args)
{
    told_bytes_of_rest = args->kv_bytes;
    told_followed_of_rest = args->rows_are_followed;
}

/* Kernels are told of the whole call, and of the CPU; that of the rest rows finds K and V where the
 * other left them. */
static void test_hints_of_kernels(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(2, 1, 197, 197);
    const sattn_kernel kernel = {.fn = {.fused = note_hints}, .tile_rows = 32};
    const sattn_kernel rest = {.fn = {.fused = note_hints_of_rest}};
    sattn_plan plan = plan_of(&a, NULL);
    plan.kernels[SATTN_OP_fused] = &kernel;
    unsigned char *const memory = aligned_alloc(64, plan.layout.size);
    assert_non_null(memory);
    for (int variant = 0; variant < 4; ++variant) {
        const bool has_rest = variant & 1, followed = variant & 2;
        plan.rest_kernel = has_rest ? &rest : NULL;
        plan.rows_are_followed = followed;
        told_bytes = told_bytes_of_rest = -1;
        told_followed = told_followed_of_rest = !followed;
        sattn_plan_execute(&plan, &a, false, memory);
        assert_int_equal(told_bytes, 2 * 197 * 128 * 4);
        assert_int_equal(told_bytes_of_rest, has_rest ? 0 : -1);
        assert_int_equal(told_followed, followed);
        assert_int_equal(told_followed_of_rest, has_rest ? followed : !followed);
    }
    free(memory);
}

static void test_dense_rule(void **state)
{
    (void)state;
    assert_true(sattn_dense_pays(1024, 64, 32) && sattn_dense_pays(5120, 64, 4096));
    assert_false(sattn_dense_pays(1024, 63, 128) || sattn_dense_pays(1024, 64, 31));
    assert_true(sattn_dense_pays(1536, 512, 512));
    assert_false(sattn_dense_pays(1536, 511, 512) || sattn_dense_pays(512, 512, 511));
    assert_true(sattn_dense_pays(768, 1024, 512));
    assert_false(sattn_dense_pays(768, 1023, 1024) || sattn_dense_pays(256, 4096, 511));
    assert_false(sattn_dense_pays(0, 4096, 4096)); /* all keys are one row */
    assert_false(sattn_dense_pays(1040, 4096, 4096) || sattn_dense_pays(64, 4096, 4096));
    assert_true(sattn_dense_pays(1024, 512, 512 * 64) && !sattn_dense_pays(1024, 512, 513 * 64));
    assert_int_equal(sattn_dense_stride(64), 64);
    assert_int_equal(sattn_dense_stride(1024), 1040);
    assert_false(sattn_dense_pays(sattn_dense_stride(4096), 4096, 4096));
}

/* Rows first, n_heads * 64 elements apart. */
static sattn_attention_args rows_first(int64_t n_heads, int64_t n_q, int64_t n_k)
{
    sattn_attention_args a = shape_of(n_heads, 1, n_q, n_k);
    a.q.stride_h = a.k.stride_h = a.v.stride_h = a.o.stride_h = 64;
    a.q.stride_t = a.k.stride_t = a.v.stride_t = a.o.stride_t = n_heads * 64;
    return a;
}

static void test_dense_plans(void **state)
{
    (void)state;
    const int built = sattn_team_is_built();
    const sattn_options one = {0}, two = {.threads = 2}, many = {.threads = 64};
    const sattn_options chain = {.plan = "chain"};
    sattn_attention_args a = rows_first(16, 512, 512);
    sattn_plan plan = plan_of(&a, &one);
    assert_int_equal(plan.n_dense, 1);
    assert_int_equal(plan.layout.dense_size, 64 + 2 * 512 * 64 * sizeof(float));
    assert_true(plan.layout.size >= plan.layout.dense + plan.layout.dense_size);
    assert_true(plan.layout.dense >= plan.layout.shared + plan.layout.shared_size);
    assert_true((plan.layout.dense | plan.layout.dense_size) % 64 == 0);
    assert_int_equal(plan_of(&a, &two).n_dense, built ? 2 : 1);
    assert_int_equal(plan_of(&a, &many).n_dense, built ? 64 / (512 / 32) + 2 : 1);
    assert_int_equal(plan_of(&a, &chain).layout.dense_size, 64 + 512 * 64 * sizeof(float));
    a.v.stride_t = 1040;
    assert_int_equal(plan_of(&a, &one).layout.dense_size, 64 + 512 * 64 * sizeof(float));
    assert_int_equal(plan_of(&a, &chain).n_dense, 0);
    a = rows_first(16, 1, 512); /* decode */
    assert_int_equal(plan_of(&a, &one).n_dense, 0);
    a = rows_first(16, 2048, 1 << 17); /* 64 MiB, and more than that */
    assert_int_equal(plan_of(&a, &two).n_dense, 1);
    a.n_k += 1;
    assert_int_equal(plan_of(&a, &two).n_dense, 0);
    a = rows_first(16, 0, 512);
    assert_int_equal(plan_of(&a, &one).n_dense, 0);
}

/* One place for copies: the unit that has it shares it, another gets it once it is free. */
static void test_dense_copies(void **state)
{
    (void)state;
    enum { N_K = 300, D = 64, STRIDE = 1024, BEGIN = 40, END = 290 };
    static float k[N_K * STRIDE], v[N_K * STRIDE];
    for (int i = 0; i < N_K * STRIDE; ++i) {
        k[i] = (float)i;
        v[i] = -(float)i;
    }
    enum { SIZE = 64 + 2 * N_K * D * sizeof(float) };
    const sattn_plan plan = {.computation = SATTN_COMPUTE_FUSED,
                             .layout = {.n_dense = 1, .dense_size = SIZE}};
    unsigned char *const memory = aligned_alloc(64, SIZE);
    assert_non_null(memory);
    memset(memory, 0xff, SIZE);
    const sattn_unit whole = {.k = k,
                              .v = v,
                              .k_stride = STRIDE,
                              .v_stride = STRIDE,
                              .n_group = 2,
                              .n_q = 64,
                              .d = D,
                              .d_v = D,
                              .keys = {BEGIN, END}};
    sattn_unit first = whole, again = whole, other = whole, few = whole;
    sattn_dense dense;
    few.n_q = 1;
    sattn_dense_begin(&dense, &plan, memory);
    sattn_dense_copy *const copy = sattn_dense_enter(&dense, 7, &first);
    assert_non_null(copy);
    for (int64_t j = BEGIN; j < END; ++j)
        for (int64_t x = 0; x < D; ++x) {
            assert_true(first.k_dense.data[j * first.k_dense.stride + x] == k[j * STRIDE + x]);
            assert_true(first.v_dense.data[j * first.v_dense.stride + x] == v[j * STRIDE + x]);
        }
    assert_true(isnan(first.k_dense.data[(BEGIN - 1) * first.k_dense.stride + D - 1]));
    assert_null(sattn_dense_enter(&dense, 8, &other));
    assert_null(other.k_dense.data);
    k[BEGIN * STRIDE] = -1;
    assert_ptr_equal(sattn_dense_enter(&dense, 7, &again), copy);
    assert_true(again.k_dense.data[BEGIN * again.k_dense.stride] ==
                BEGIN * STRIDE); /* copied once */
    assert_ptr_equal(again.v_dense.data, first.v_dense.data);
    sattn_dense_leave(&dense, copy);
    assert_null(sattn_dense_enter(&dense, 8, &other));
    sattn_dense_leave(&dense, copy);
    other.k += 1;
    assert_ptr_equal(sattn_dense_enter(&dense, 8, &other), copy);
    assert_true(other.k_dense.data[(END - 1) * other.k_dense.stride] == k[(END - 1) * STRIDE + 1]);
    sattn_dense_leave(&dense, copy);
    assert_null(sattn_dense_enter(&dense, 9, &few)); /* not worth one */
    sattn_dense_leave(&dense, NULL);
    sattn_dense_end(&dense);
    free(memory);
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
        cmocka_unit_test(test_rest_rows),
        cmocka_unit_test(test_fused_phase),
        cmocka_unit_test(test_phase_of_plans),
        cmocka_unit_test(test_several_rows_of_plans),
        cmocka_unit_test(test_rest_kernel),
        cmocka_unit_test(test_kv_bytes),
        cmocka_unit_test(test_cpu_of_plans),
        cmocka_unit_test(test_hints_of_kernels),
        cmocka_unit_test(test_dense_rule),
        cmocka_unit_test(test_dense_plans),
        cmocka_unit_test(test_dense_copies),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_visibility_of_a_cut),
        cmocka_unit_test(test_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
