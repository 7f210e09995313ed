/* SPDX-License-Identifier: MIT
 *
 * test_chain.c: attention as a chain: when it is chosen, that its blocks of query rows cannot be
 * seen in a result, its workspace, plans with new pointers, calls from two threads at once. What it
 * computes is checked case by case in test_cases. */
#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"
#include "dispatch/chain.h"
#include "dispatch/execute.h"
#include "dispatch/simdattn.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 6, KV_HEADS = 2, N_Q = 90, N_K = 400, D = 10, D_V = 7 };

typedef struct call {
    float q[HEADS * N_Q * D], k[KV_HEADS * N_K * D], v[KV_HEADS * N_K * D_V];
    float o[HEADS * N_Q * D_V], lse[HEADS * N_Q], scores[HEADS * N_Q * N_K];
    float bias[N_Q * N_K], slopes[HEADS], sinks[HEADS];
    int64_t n_k_valid, causal_offset;
    sattn_attention_args args;
} call;

static void fill(float *to, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; ++i)
        to[i] = sattn_random_normal(7, stream, i);
}

static void make_call(call *c, int variant)
{
    memset(c, 0, sizeof *c);
    fill(c->q, sizeof c->q / 4, 1);
    fill(c->k, sizeof c->k / 4, 2);
    fill(c->v, sizeof c->v / 4, 3);
    fill(c->bias, sizeof c->bias / 4, 4);
    for (size_t i = 0; i < sizeof c->bias / 4; ++i)
        c->bias[i] = i % 3 == 0 ? -INFINITY : c->bias[i];
    c->n_k_valid = N_K - 3;
    c->causal_offset = 250;
    c->args = (sattn_attention_args){
        .batch = 1,
        .n_q_heads = HEADS,
        .n_kv_heads = KV_HEADS,
        .n_q = N_Q,
        .n_k = N_K,
        .d = D,
        .d_v = D_V,
        .q = {.data = c->q, .stride_h = N_Q * D, .stride_t = D},
        .k = {.data = c->k, .stride_h = N_K * D, .stride_t = D},
        .v = {.data = c->v, .stride_h = N_K * D_V, .stride_t = D_V},
        .o = {.data = c->o, .stride_h = N_Q * D_V, .stride_t = D_V},
        .lse = c->lse,
        .lse_stride_h = N_Q,
        .n_k_valid = &c->n_k_valid,
        .causal_offset = &c->causal_offset,
        .causal = variant & 1,
        .has_window = variant & 2,
        .window_left = variant & 4 ? 40 : 200,
        .window_right = variant & 8 ? 5 : -1,
        .softcap = variant & 8 ? 3.0f : 0.0f,
    };
    for (int h = 0; h < HEADS; ++h) {
        c->slopes[h] = 0.01f * (float)(h + 1);
        c->sinks[h] = h == 1 ? -INFINITY : (float)h - 2.0f;
    }
    c->args.alibi_slopes = variant % 5 < 2 ? c->slopes : NULL;
    c->args.sinks = variant % 7 < 3 ? c->sinks : NULL;
    if (variant & 16)
        c->args.mask = (sattn_mask){.kind = SATTN_MASK_ADDITIVE,
                                    .data = c->bias,
                                    .extent = {1, 1, N_Q, N_K},
                                    .stride = {0, 0, N_K, 1}};
    if (variant & 32) {
        c->v[(N_K - 30) * D_V + 2] = NAN; /* hidden from some rows, at either end of their keys */
        c->v[80 * D_V + 4] = NAN;
    }
}

/* Emulated, one in eleven variants. */
enum { IS_EMULATED = SATTN_TEST_DIVISOR > 3, VARIANTS = 64, STEP = IS_EMULATED ? 11 : 1 };

static void use_scores(call *c, sattn_scores_stage stage)
{
    c->args.scores = c->scores;
    c->args.scores_stage = stage;
    c->args.scores_stride_t = N_K;
    c->args.scores_stride_h = N_Q * N_K;
}

static const sattn_options chain = {.plan = "chain"};

/* The call with so many query rows of each head to a block. */
static void run_in_blocks(call *c, const sattn_options *options, int64_t rows)
{
    sattn_plan plan;
    assert_int_equal(sattn_plan_make_attention(&plan, &c->args, options), SATTN_OK);
    plan.block_rows = rows;
    plan.n_blocks = (N_Q + rows - 1) / rows;
    assert_int_equal(sattn_layout_parts(&plan), SATTN_OK);
    assert_int_equal(sattn_layout_places(&plan.layout, 1, 0), SATTN_OK);
    unsigned char *const memory = aligned_alloc(64, plan.layout.size);
    assert_non_null(memory);
    sattn_plan_execute(&plan, &c->args, false, memory);
    free(memory);
}

/* One ULP of freedom would be too much: bits, for every way to cut the rows, of a chain and of a
 * fused kernel, whole or with its keys cut. */
static void test_blocks_do_not_show(void **state)
{
    (void)state;
    static const int64_t cuts[] = {1, 2, 7, 13, 32, 45, 89};
    static const sattn_options plans[] = {
        {.plan = "chain"}, {.plan = "fused"}, {.plan = "fused", .key_splits = 2}};
    static call whole, cut;
    for (int variant = 0; variant < VARIANTS; variant += STEP)
        for (size_t at = 0; at < sizeof cuts / sizeof cuts[0]; ++at) {
            const sattn_options *const options = &plans[(size_t)(variant + (int)at) % 3];
            make_call(&whole, variant);
            make_call(&cut, variant);
            if (variant % 2 == 0 && options == plans) {
                use_scores(&whole, (sattn_scores_stage)(variant / 2 % 4));
                use_scores(&cut, (sattn_scores_stage)(variant / 2 % 4));
            }
            run_in_blocks(&whole, options, N_Q);
            run_in_blocks(&cut, options, cuts[at]);
            assert_memory_equal(cut.o, whole.o, sizeof cut.o);
            assert_memory_equal(cut.lse, whole.lse, sizeof cut.lse);
            assert_memory_equal(cut.scores, whole.scores, sizeof cut.scores);
        }
}

static void test_against_the_oracle(void **state)
{
    (void)state;
    static call c;
    const sattn_verify_selection selection = {.all_rows = true};
    sattn_bound_params params = sattn_bound_defaults();
    params.n_splits = 2; /* the two roundings of a normalised weight */
    params.scale_roundings = 2;
    for (int variant = 0; variant < VARIANTS; variant += STEP) {
        sattn_verify_result result;
        const char *why = "";
        make_call(&c, variant);
        assert_int_equal(sattn_attention(&c.args, &chain), SATTN_OK);
        sattn_verify_result_init(&result);
        assert_int_equal(sattn_verify_attention(&c.args, &selection, &params, &result, &why),
                         SATTN_OK);
        if (!sattn_verify_passed(&result)) {
            char text[400];
            sattn_verify_describe(&result, text, sizeof text);
            fail_msg("variant %d: %s", variant, text);
        }
    }
}

static const char *kernels_of(const call *c, const sattn_options *options)
{
    static char names[512];
    sattn_plan *plan;
    assert_int_equal(sattn_plan_create(&plan, &c->args, options), SATTN_OK);
    snprintf(names, sizeof names, "%s", sattn_plan_kernel(plan));
    sattn_plan_destroy(plan);
    return names;
}

/* Fused, but a chain where scores are asked for; by name, either. */
static void test_choice_of_plan(void **state)
{
    (void)state;
    static call c;
    make_call(&c, 1);
    assert_non_null(strstr(kernels_of(&c, NULL), "sattn_fused_"));
    const char *const names = kernels_of(&c, &chain);
    const char *const qk = strstr(names, "sattn_qk_"), *const av = strstr(names, ",sattn_av_");
    const char *const softmax = strstr(names, ",sattn_softmax_");
    assert_true(qk == names && softmax && av && softmax < av);
    make_call(&c, 10); /* a window, softcap */
    assert_non_null(strstr(kernels_of(&c, NULL), "sattn_fused_"));
    make_call(&c, 0);
    use_scores(&c, SATTN_SCORES_PROBABILITIES);
    assert_non_null(strstr(kernels_of(&c, NULL), "sattn_qk_"));
    const sattn_options scalar = {.plan = "chain", .isa = "scalar"};
    assert_string_equal(kernels_of(&c, &scalar),
                        "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar");
    /* One list; each name applies to its op, whether the plan has it or not. */
    const sattn_options some = {.plan = "chain",
                                .kernels = "sattn_fused_f32_scalar,sattn_softmax_f32_scalar"};
    assert_non_null(strstr(kernels_of(&c, &some), "sattn_softmax_f32_scalar"));
    assert_null(strstr(kernels_of(&c, &some), "fused"));
}

static void test_workspace(void **state)
{
    (void)state;
    static call c, own;
    for (int variant = 0; variant < VARIANTS; variant += STEP)
        for (int stage = -1; stage < 4; ++stage) {
            size_t size;
            make_call(&c, variant);
            make_call(&own, variant);
            if (stage >= 0) {
                use_scores(&c, (sattn_scores_stage)stage);
                use_scores(&own, (sattn_scores_stage)stage);
            }
            assert_int_equal(sattn_attention_workspace_size(&c.args, &chain, &size), SATTN_OK);
            unsigned char *const memory = aligned_alloc(64, size + 64);
            assert_non_null(memory);
            memset(memory, 0xff, size + 64); /* NaN, should anything be read before it is written */
            sattn_options options = {
                .plan = "chain", .workspace = memory, .workspace_size = size - 1};
            assert_int_equal(sattn_attention(&c.args, &options), SATTN_ERR_WORKSPACE);
            assert_true(c.o[0] == 0.0f);
            options.workspace_size = size;
            assert_int_equal(sattn_attention(&c.args, &options), SATTN_OK);
            assert_int_equal(sattn_attention(&own.args, &chain), SATTN_OK);
            assert_memory_equal(c.o, own.o, sizeof c.o);
            assert_memory_equal(c.scores, own.scores, sizeof c.scores);
            for (size_t i = size; i < size + 64; ++i)
                assert_int_equal(memory[i], 0xff);
            free(memory);
        }
}

static sattn_attention_args shape_of(int64_t n_group, int64_t n_q, int64_t n_k)
{
    return (sattn_attention_args){.batch = 1,
                                  .n_q_heads = n_group,
                                  .n_kv_heads = 1,
                                  .n_q = n_q,
                                  .n_k = n_k,
                                  .d = 8,
                                  .d_v = 8,
                                  .q = {.stride_h = n_q * 8, .stride_t = 8},
                                  .k = {.stride_t = 8},
                                  .v = {.stride_t = 8},
                                  .o = {.stride_h = n_q * 8, .stride_t = 8}};
}

/* The documented bounds, over shapes from none to the absurd. */
static void test_block_sizes(void **state)
{
    (void)state;
    static const int64_t groups[] = {1, 3, 8, 100, 70000}, queries[] = {1, 5, 1000, 1 << 20};
    static const int64_t keys[] = {0, 1, 49, 256, 257, 1024, 4096, 131072, 1 << 22, 1 << 26};
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; ++g)
        for (size_t i = 0; i < sizeof queries / sizeof queries[0]; ++i)
            for (size_t j = 0; j < sizeof keys / sizeof keys[0]; ++j)
                for (int windowed = 0; windowed < 2; ++windowed) {
                    sattn_attention_args a = shape_of(groups[g], queries[i], keys[j]);
                    sattn_plan plan;
                    a.has_window = windowed;
                    a.window_left = 1000;
                    a.causal = true;
                    assert_int_equal(sattn_plan_make_attention(&plan, &a, &chain), SATTN_OK);
                    const int64_t rows = plan.block_rows;
                    const int64_t stride = sattn_chain_row_stride(sattn_chain_columns(&a, rows));
                    const int64_t bytes = rows * groups[g] * stride * 4;
                    const int64_t tile = plan.kernels[SATTN_OP_qk]->tile_rows;
                    const size_t scratch = plan.layout.scores - plan.layout.scratch;
                    const int64_t columns = sattn_chain_columns(&a, rows);
                    assert_true(scratch >= sattn_qk_scratch_bytes(a.d) &&
                                scratch >= sattn_softmax_scratch_bytes(columns) &&
                                scratch >= sattn_av_scratch_bytes(a.d_v));
                    assert_true(rows >= 1 && (rows <= queries[i] || rows == 1));
                    assert_true(bytes <= SATTN_CHAIN_BYTES || rows * groups[g] < 2 * tile ||
                                rows == 1);
                    assert_true(bytes <= SATTN_CHAIN_BYTES_MAX || rows == 1);
                    /* Where rows are long enough to matter, blocks are not needlessly small. */
                    assert_true(rows == queries[i] || bytes >= SATTN_CHAIN_BYTES / 4 ||
                                rows * groups[g] >= tile);
                    if (windowed)
                        assert_true(stride <= 1001 + rows + SATTN_KEY_BLOCK + 32);
                }
    for (int64_t n = 0; n < 5000; ++n) {
        const int64_t stride = sattn_chain_row_stride(n);
        assert_true(stride >= n && (n <= SATTN_CHAIN_DENSE_COLUMNS || stride % 32 == 16));
        assert_true(stride <= sattn_chain_row_stride(n + 1));
    }
    /* Legal where there are no queries; sums of it overflow. */
    const sattn_attention_args empty = shape_of(1, 0, 4);
    assert_int_equal(sattn_chain_block_rows(&empty, INT64_MAX, 64), 1);
}

/* A plan runs again with other tensors, scores among them. */
static void test_plan_reuse(void **state)
{
    (void)state;
    static call first, second, direct;
    sattn_plan *plan;
    make_call(&first, 3);
    make_call(&second, 3);
    use_scores(&first, SATTN_SCORES_BIASED);
    for (size_t i = 0; i < sizeof second.q / 4; ++i)
        second.q[i] = -0.5f * second.q[i];
    memcpy(&direct, &second, sizeof second);
    use_scores(&direct, SATTN_SCORES_BIASED);
    direct.args.q.data = direct.q;
    direct.args.o.data = direct.o;
    direct.args.lse = direct.lse;
    assert_int_equal(sattn_attention(&direct.args, NULL), SATTN_OK);
    assert_int_equal(sattn_plan_create(&plan, &first.args, NULL), SATTN_OK);
    sattn_pointers p = {.q = second.q,
                        .k = second.k,
                        .v = second.v,
                        .o = second.o,
                        .n_k_valid = &second.n_k_valid,
                        .causal_offset = &second.causal_offset,
                        .lse = second.lse,
                        .sinks = second.args.sinks,
                        .alibi_slopes = second.args.alibi_slopes};
    assert_int_equal(sattn_plan_run(plan, &p, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "pointers.scores"));
    p.scores = second.scores;
    for (int run = 0; run < 2; ++run) {
        assert_int_equal(sattn_plan_run(plan, &p, NULL, 0), SATTN_OK);
        assert_memory_equal(second.o, direct.o, sizeof direct.o);
        assert_memory_equal(second.lse, direct.lse, sizeof direct.lse);
        assert_memory_equal(second.scores, direct.scores, sizeof direct.scores);
    }
    sattn_plan_destroy(plan);
}

typedef struct worker {
    pthread_t thread;
    const sattn_plan *plan;
    call *c;
    sattn_status status;
} worker;

static void *run_worker(void *user)
{
    worker *const w = user;
    const sattn_pointers p = {.q = w->c->q,
                              .k = w->c->k,
                              .v = w->c->v,
                              .o = w->c->o,
                              .n_k_valid = &w->c->n_k_valid,
                              .causal_offset = &w->c->causal_offset,
                              .lse = w->c->lse,
                              .sinks = w->c->args.sinks,
                              .alibi_slopes = w->c->args.alibi_slopes};
    for (int i = 0; i < 20 && w->status == SATTN_OK; ++i)
        w->status = sattn_plan_run(w->plan, &p, NULL, 0);
    return NULL;
}

/* One plan, two threads; emulated, one after the other, since qemu-user 7.2 at times leaves the
 * main thread spinning after its threads have ended. */
static void test_two_threads(void **state)
{
    (void)state;
    static call calls[2], want;
    sattn_plan *plan;
    make_call(&want, 35);
    assert_int_equal(sattn_attention(&want.args, NULL), SATTN_OK);
    assert_int_equal(sattn_plan_create(&plan, &want.args, NULL), SATTN_OK);
    worker workers[2];
    for (int i = 0; i < 2; ++i) {
        make_call(&calls[i], 35);
        workers[i] = (worker){.plan = plan, .c = &calls[i], .status = SATTN_OK};
        if (IS_EMULATED)
            run_worker(&workers[i]);
        else
            assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(IS_EMULATED ? 0 : pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].status, SATTN_OK);
        assert_memory_equal(calls[i].o, want.o, sizeof want.o);
        assert_memory_equal(calls[i].lse, want.lse, sizeof want.lse);
    }
    sattn_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_do_not_show), cmocka_unit_test(test_against_the_oracle),
        cmocka_unit_test(test_choice_of_plan),     cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_block_sizes),        cmocka_unit_test(test_plan_reuse),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
