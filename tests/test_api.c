/* SPDX-License-Identifier: MIT
 *
 * test_api.c: what the public functions refuse, that they say what is wrong, and that nothing is
 * written then; plans, workspaces, in-place output. */
#include "dispatch/repair.h"
#include "dispatch/simdattn.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, N_Q = 3, N_K = 5, D = 6, D_V = 6 };

/* One legal call, with memory for its tensors, packed. */
typedef struct call {
    float q[BATCH * HEADS * N_Q * D], k[BATCH * KV_HEADS * N_K * D];
    float v[BATCH * KV_HEADS * N_K * D_V], o[BATCH * HEADS * N_Q * D_V];
    float slopes[HEADS], sinks[HEADS];
    float lse[BATCH * HEADS * N_Q], mask_add[N_Q * N_K], scores[BATCH * HEADS * N_Q * N_K];
    uint8_t mask_bool[N_Q * N_K];
    int64_t n_k_valid[BATCH], causal_offset[BATCH];
    sattn_attention_args args;
    sattn_options options;
} call;

static void make_call(call *c)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < sizeof c->q / 4; ++i)
        c->q[i] = (float)(i % 7) - 3.0f;
    for (size_t i = 0; i < sizeof c->k / 4; ++i)
        c->k[i] = (float)(i % 5) - 2.0f;
    for (size_t i = 0; i < sizeof c->v / 4; ++i)
        c->v[i] = (float)(i % 11) - 5.0f;
    for (size_t i = 0; i < sizeof c->o / 4; ++i)
        c->o[i] = 777.0f;
    for (size_t i = 0; i < sizeof c->mask_bool; ++i)
        c->mask_bool[i] = i % 3 != 0;
    for (int b = 0; b < BATCH; ++b)
        c->n_k_valid[b] = N_K - b;
    c->args = (sattn_attention_args){
        .batch = BATCH,
        .n_q_heads = HEADS,
        .n_kv_heads = KV_HEADS,
        .n_q = N_Q,
        .n_k = N_K,
        .d = D,
        .d_v = D_V,
        .q = {.data = c->q, .stride_b = HEADS * N_Q * D, .stride_h = N_Q * D, .stride_t = D},
        .k = {.data = c->k, .stride_b = KV_HEADS * N_K * D, .stride_h = N_K * D, .stride_t = D},
        .v = {.data = c->v,
              .stride_b = KV_HEADS * N_K * D_V,
              .stride_h = N_K * D_V,
              .stride_t = D_V},
        .o = {.data = c->o, .stride_b = HEADS * N_Q * D_V, .stride_h = N_Q * D_V, .stride_t = D_V},
    };
}

/* The call fails with `status`, names `text`, and leaves the output alone. */
static void expect_refusal(call *c, sattn_status status, const char *text)
{
    float before[BATCH * HEADS * N_Q * D_V];
    memcpy(before, c->o, sizeof before);
    const sattn_status got = sattn_attention(&c->args, &c->options);
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
    assert_memory_equal(before, c->o, sizeof before);
}

/* Applies `change` to a fresh legal call and expects the refusal. */
#define REFUSED(status, text, change)                                                              \
    do {                                                                                           \
        call c;                                                                                    \
        make_call(&c);                                                                             \
        change;                                                                                    \
        expect_refusal(&c, status, text);                                                          \
    } while (0)

static void test_legal_call(void **state)
{
    (void)state;
    call c;
    make_call(&c);
    assert_int_equal(sattn_attention(&c.args, &c.options), SATTN_OK);
    for (size_t i = 0; i < sizeof c.o / 4; ++i)
        assert_true(isfinite(c.o[i]) && c.o[i] != 777.0f);
    c.args.n_k_valid = c.n_k_valid;
    c.args.causal = true;
    c.args.causal_offset = c.causal_offset;
    assert_int_equal(sattn_attention(&c.args, NULL), SATTN_OK);
}

static void test_extents(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "batch = -1", c.args.batch = -1);
    REFUSED(SATTN_ERR_ARGUMENT, "n_q = -7", c.args.n_q = -7);
    REFUSED(SATTN_ERR_ARGUMENT, "n_k = -1", c.args.n_k = -1);
    REFUSED(SATTN_ERR_ARGUMENT, "d = 0", c.args.d = 0);
    REFUSED(SATTN_ERR_ARGUMENT, "d_v = 0", c.args.d_v = 0);
    REFUSED(SATTN_ERR_ARGUMENT, "n_q_heads = -4", c.args.n_q_heads = -4);
    REFUSED(SATTN_ERR_ARGUMENT, "n_kv_heads = 0", c.args.n_kv_heads = 0);
    REFUSED(SATTN_ERR_ARGUMENT, "n_q_heads = 4", c.args.n_kv_heads = 3);
    REFUSED(SATTN_ERR_ARGUMENT, "n_q_heads = 2", (c.args.n_q_heads = 2, c.args.n_kv_heads = 4));
}

static void test_strides_and_types(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "k.stride_t = 5", c.args.k.stride_t = 5);
    REFUSED(SATTN_ERR_ARGUMENT, "q.stride_b = -1", c.args.q.stride_b = -1);
    REFUSED(SATTN_ERR_ARGUMENT, "v.stride_h = -30", c.args.v.stride_h = -30);
    REFUSED(SATTN_ERR_OVERLAP, "o: with these strides", c.args.o.stride_t = 0);
    REFUSED(SATTN_ERR_OVERLAP, "o: with these strides", c.args.o.stride_h = D_V);
    REFUSED(SATTN_ERR_OVERLAP, "o: with these strides", c.args.o.stride_b = 0);
    REFUSED(SATTN_ERR_OVERLAP, "o: with these strides", /* twice the extent does not fit int64_t */
            (c.args.n_q = INT64_MAX, c.args.q.stride_t = c.args.o.stride_t = 0));
    REFUSED(SATTN_ERR_OVERLAP, "lse: with these strides", c.args.lse = c.lse);
    const sattn_dtype types[] = {SATTN_F16, SATTN_BF16};
    for (int i = 0; i < 2; ++i) {
        REFUSED(SATTN_ERR_UNSUPPORTED, "q.dtype", c.args.q.dtype = types[i]);
        REFUSED(SATTN_ERR_UNSUPPORTED, "k.dtype", c.args.k.dtype = types[i]);
        REFUSED(SATTN_ERR_UNSUPPORTED, "v.dtype", c.args.v.dtype = types[i]);
        REFUSED(SATTN_ERR_UNSUPPORTED, "o.dtype", c.args.o.dtype = types[i]);
    }
    REFUSED(SATTN_ERR_ARGUMENT, "v.dtype = 9", c.args.v.dtype = (sattn_dtype)9);
    call c; /* the stride of an extent of 1 is ignored, whatever it holds */
    make_call(&c);
    c.args.batch = 1;
    c.args.q.stride_b = c.args.k.stride_b = c.args.v.stride_b = c.args.o.stride_b = INT64_MIN;
    assert_int_equal(sattn_attention(&c.args, NULL), SATTN_OK);
    c.args.n_k = 0; /* and so is that of an extent of 0 */
    c.args.k.stride_t = c.args.v.stride_t = INT64_MAX;
    assert_int_equal(sattn_attention(&c.args, NULL), SATTN_OK);
    for (size_t i = 0; i < HEADS * N_Q * D_V; ++i)
        assert_true(c.o[i] == 0.0f && !signbit(c.o[i]));
}

static void test_values(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "scale = nan", (c.args.has_scale = true, c.args.scale = NAN));
    REFUSED(SATTN_ERR_ARGUMENT, "scale = inf", (c.args.has_scale = true, c.args.scale = INFINITY));
    REFUSED(SATTN_ERR_ARGUMENT, "softcap = -1", c.args.softcap = -1.0f);
    REFUSED(SATTN_ERR_ARGUMENT, "softcap = nan", c.args.softcap = NAN);
    REFUSED(SATTN_ERR_ARGUMENT, "n_k_valid[1] = 6",
            (c.n_k_valid[1] = 6, c.args.n_k_valid = c.n_k_valid));
    REFUSED(SATTN_ERR_ARGUMENT, "n_k_valid[0] = -1",
            (c.n_k_valid[0] = -1, c.args.n_k_valid = c.n_k_valid));
    REFUSED(SATTN_ERR_ARGUMENT, "q.data is NULL", c.args.q.data = NULL);
    REFUSED(SATTN_ERR_ARGUMENT, "k.data is NULL", c.args.k.data = NULL);
    REFUSED(SATTN_ERR_ARGUMENT, "v.data is NULL", c.args.v.data = NULL);
    REFUSED(SATTN_ERR_ARGUMENT, "o.data is NULL", c.args.o.data = NULL);
    REFUSED(SATTN_ERR_ARGUMENT, "q.data =", c.args.q.data = (const char *)c.q + 1);
}

static void test_slopes_and_sinks(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "alibi_slopes[3] = nan",
            (c.slopes[3] = NAN, c.args.alibi_slopes = c.slopes));
    REFUSED(SATTN_ERR_ARGUMENT, "alibi_slopes[0] = -inf",
            (c.slopes[0] = -INFINITY, c.args.alibi_slopes = c.slopes));
    REFUSED(SATTN_ERR_ARGUMENT, "alibi_slopes =",
            c.args.alibi_slopes = (const float *)(const void *)((const char *)c.slopes + 1));
    REFUSED(SATTN_ERR_ARGUMENT,
            "sinks =", c.args.sinks = (const float *)(const void *)((const char *)c.sinks + 2));
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps alibi_slopes", c.args.alibi_slopes = c.o + 17);
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps sinks", c.args.sinks = c.o + BATCH);
    REFUSED(SATTN_ERR_OVERLAP, "lse overlaps sinks",
            (c.args.lse = c.lse, c.args.lse_stride_h = N_Q, c.args.lse_stride_b = N_Q * HEADS,
             c.args.sinks = c.lse + 5));
}

/* Against the same call without: its rows lose the sink's share. */
static void check_sink(const char *plan, int splits, float sink)
{
    call with, without;
    make_call(&with);
    make_call(&without);
    for (int h = 0; h < HEADS; ++h)
        with.sinks[h] = h == 1 ? -INFINITY : sink + 0.25f * (float)h;
    sattn_attention_args *const args[] = {&with.args, &without.args};
    float *const lse[] = {with.lse, without.lse};
    with.options.plan = plan;
    with.options.key_splits = splits;
    with.args.sinks = with.sinks;
    for (int i = 0; i < 2; ++i) {
        args[i]->lse = lse[i];
        args[i]->lse_stride_h = N_Q;
        args[i]->lse_stride_b = N_Q * HEADS;
        args[i]->causal = true;
    }
    assert_int_equal(sattn_attention(&without.args, NULL), SATTN_OK);
    assert_int_equal(sattn_attention(&with.args, &with.options), SATTN_OK);
    for (size_t row = 0; row < BATCH * HEADS * N_Q; ++row) {
        const double lse_without = (double)without.lse[row];
        const double logit = (double)with.sinks[row / N_Q % HEADS];
        const double larger = fmax(lse_without, logit);
        const double sum = exp(lse_without - larger) + exp(logit - larger);
        const double share = exp(lse_without - larger) / sum;
        assert_true(fabs((double)with.lse[row] - (larger + log(sum))) < 1e-5);
        for (size_t y = 0; y < D_V; ++y)
            assert_true(fabs((double)with.o[row * D_V + y] -
                             share * (double)without.o[row * D_V + y]) < 1e-5);
    }
}

static void test_sinks(void **state)
{
    (void)state;
    static const float sinks[] = {-90.0f, -3.0f, 0.0f, 2.0f, 60.0f, FLT_MAX};
    for (size_t i = 0; i < sizeof sinks / sizeof sinks[0]; ++i) {
        check_sink("chain", 0, sinks[i]);
        for (int splits = 0; splits < 3; ++splits)
            check_sink("fused", splits, sinks[i]);
    }
}

/* The rows that numbers alone do not decide, in both plans: what the sink makes of a row that sees
 * no key, of one whose scores are all -inf, of a V that is not finite; and what NaN and +inf make
 * of every row. Q is such that query 2 has nothing but scores of -inf. */
static void test_sinks_of_special_rows(void **state)
{
    (void)state;
    static const char *const plans[] = {"fused", "chain"};
    for (int at = 0; at < 6; ++at) {
        call c;
        make_call(&c);
        c.options.plan = plans[at % 2];
        c.options.key_splits = at == 2 ? 2 : 0;
        c.args.n_k = 3;
        c.args.causal = true;
        c.args.causal_offset = c.causal_offset;
        c.causal_offset[0] = -1; /* query 0 sees no key, 1 sees key 0, 2 keys 0 and 1 */
        c.args.batch = 1;
        c.args.lse = c.lse;
        c.args.lse_stride_h = N_Q;
        c.args.sinks = c.sinks;
        for (size_t i = 0; i < HEADS; ++i)
            c.sinks[i] = at < 3 ? 0.5f : i % 2 ? NAN : INFINITY;
        c.sinks[3] = at < 3 ? -INFINITY : c.sinks[3];
        for (size_t x = 0; x < D; ++x)
            for (size_t h = 0; h < HEADS; ++h)
                c.q[(h * N_Q + 2) * D + x] = x == 0 ? -INFINITY : 0.0f;
        for (size_t i = 0; i < sizeof c.k / 4; ++i)
            c.k[i] = 1.0f;
        c.v[D_V + 1] = NAN;     /* visible to query 2 */
        c.v[2 * D_V + 2] = NAN; /* hidden from all */
        assert_int_equal(sattn_attention(&c.args, &c.options), SATTN_OK);
        for (size_t h = 0; h < HEADS; ++h)
            for (size_t i = 0; i < N_Q; ++i)
                for (size_t y = 0; y < D_V; ++y) {
                    const float o = c.o[(h * N_Q + i) * D_V + y], lse = c.lse[h * N_Q + i];
                    const bool alone = h == 3; /* no sink */
                    if (at >= 3) {
                        assert_true(isnan(o) && isnan(lse));
                    } else if (i == 0) {
                        assert_true(o == 0.0f && lse == c.sinks[h]);
                    } else if (i == 1) {
                        assert_true(isfinite(o) && isfinite(lse));
                    } else if (alone) {
                        assert_true(isnan(o) && isnan(lse));
                    } else {
                        assert_true(h < 2 && y == 1 ? isnan(o) : o == 0.0f);
                        assert_true(lse == c.sinks[h]);
                    }
                }
    }
}

static void set_mask(call *c, sattn_mask_kind kind)
{
    c->args.mask =
        (sattn_mask){.kind = kind,
                     .data = kind == SATTN_MASK_BOOL ? (void *)c->mask_bool : c->mask_add,
                     .extent = {1, 1, N_Q, N_K},
                     .stride = {0, 0, N_K, 1}};
}

static void test_mask(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "mask.kind = 7",
            (set_mask(&c, SATTN_MASK_BOOL), c.args.mask.kind = (sattn_mask_kind)7));
    REFUSED(SATTN_ERR_ARGUMENT, "mask.extent[3] = 4",
            (set_mask(&c, SATTN_MASK_BOOL), c.args.mask.extent[3] = 4));
    REFUSED(SATTN_ERR_ARGUMENT, "mask.extent[0] = 0",
            (set_mask(&c, SATTN_MASK_BOOL), c.args.mask.extent[0] = 0));
    REFUSED(SATTN_ERR_ARGUMENT, "mask.stride[3] = 2",
            (set_mask(&c, SATTN_MASK_ADDITIVE), c.args.mask.stride[3] = 2));
    REFUSED(SATTN_ERR_ARGUMENT, "mask.stride[2] = -5",
            (set_mask(&c, SATTN_MASK_ADDITIVE), c.args.mask.stride[2] = -5));
    REFUSED(SATTN_ERR_ARGUMENT, "mask.data is NULL",
            (set_mask(&c, SATTN_MASK_BOOL), c.args.mask.data = NULL));
}

/* What later versions compute is refused by name, not ignored. */
static void test_not_built_yet(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "options.threads = -1", c.options.threads = -1);
    REFUSED(SATTN_ERR_ARGUMENT, "options.key_splits = -1", c.options.key_splits = -1);
}

static void use_scores(call *c, sattn_scores_stage stage)
{
    c->args.scores = c->scores;
    c->args.scores_stage = stage;
    c->args.scores_stride_t = N_K;
    c->args.scores_stride_h = N_Q * N_K;
    c->args.scores_stride_b = HEADS * N_Q * N_K;
}

/* A fused kernel is asked for, and with it what only a chain computes: both are named. */
static void test_plans_that_do_not_fit(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_UNSUPPORTED, "options.plan = \"fused\": scores",
            (c.options.plan = "fused", use_scores(&c, SATTN_SCORES_BIASED)));
    REFUSED(SATTN_ERR_ARGUMENT, "options.plan = \"Chain\"", c.options.plan = "Chain");
    REFUSED(SATTN_ERR_ARGUMENT, "options.plan = \"\"", c.options.plan = "");
    REFUSED(SATTN_ERR_UNSUPPORTED, "options.key_splits = 2",
            (c.options.plan = "chain", c.options.key_splits = 2));
    REFUSED(SATTN_ERR_UNSUPPORTED, "options.key_splits = 3",
            (use_scores(&c, SATTN_SCORES_SCALED), c.options.key_splits = 3));
}

static void test_scores_fields(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_ARGUMENT, "scores_stage = 4", use_scores(&c, (sattn_scores_stage)4));
    REFUSED(SATTN_ERR_ARGUMENT, "scores_stride_t = 4",
            (use_scores(&c, SATTN_SCORES_SCALED), c.args.scores_stride_t = 4));
    REFUSED(SATTN_ERR_OVERLAP, "scores: with these",
            (use_scores(&c, SATTN_SCORES_SCALED), c.args.scores_stride_h = 1));
    REFUSED(SATTN_ERR_ARGUMENT, "scores =",
            (use_scores(&c, SATTN_SCORES_SCALED),
             c.args.scores = (float *)(void *)((char *)c.scores + 1)));
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps scores",
            (use_scores(&c, SATTN_SCORES_PROBABILITIES), c.args.scores = c.o));
    REFUSED(SATTN_ERR_OVERLAP, "scores overlaps q.data",
            (use_scores(&c, SATTN_SCORES_PROBABILITIES), c.args.scores = c.q));
    REFUSED(SATTN_ERR_OVERLAP, "scores overlaps v.data",
            (use_scores(&c, SATTN_SCORES_PROBABILITIES), c.args.v.data = c.scores + 7));
    REFUSED(SATTN_ERR_ARGUMENT, "scores_in is set", c.args.scores_in = c.scores);
    REFUSED(SATTN_ERR_TOO_LARGE, "scores:",
            (use_scores(&c, SATTN_SCORES_SCALED), c.args.scores_stride_b = INT64_MAX / 3));
    REFUSED(SATTN_ERR_TOO_LARGE, "n_k = ",
            (c.options.plan = "chain", c.args.n_k = INT64_MAX / 8, c.args.k.stride_t = 0,
             c.args.v.stride_t = 0));
    REFUSED(SATTN_ERR_ARGUMENT, "window_right = -2",
            (c.args.has_window = true, c.args.window_right = -2));
}

/* N26: sizes whose product overflows are refused before anything is allocated. */
static void test_too_large(void **state)
{
    (void)state;
    const int64_t huge = (int64_t)1 << 33;
    REFUSED(SATTN_ERR_TOO_LARGE, "k:", c.args.k.stride_b = INT64_MAX / 2);
    REFUSED(SATTN_ERR_TOO_LARGE, "q:", c.args.q.stride_h = INT64_MAX);
    REFUSED(SATTN_ERR_TOO_LARGE, "o:", (c.args.n_q = huge, c.args.o.stride_t = huge));
    REFUSED(SATTN_ERR_TOO_LARGE, "workspace",
            (set_mask(&c, SATTN_MASK_BOOL), c.args.mask.extent[3] = 1, c.args.n_k = INT64_MAX / 8,
             c.args.k.stride_t = 0, c.args.v.stride_t = 0));
    REFUSED(SATTN_ERR_TOO_LARGE, "d = 2199023255552: expected at most 2^40",
            (c.args.d = (int64_t)1 << 41, c.args.n_q = c.args.n_k = 1, c.args.batch = 1,
             c.args.n_q_heads = c.args.n_kv_heads = 1));
}

static void test_overlap(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps k", c.args.o.data = c.k);
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps q", c.args.o.data = c.q + D); /* by one row */
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps q", /* exact, but other strides */
            (c.args.o.data = c.q, c.args.batch = 1, c.args.o.stride_h = D_V,
             c.args.o.stride_t = HEADS * D_V));
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps lse",
            (c.args.lse = c.o, c.args.lse_stride_h = N_Q, c.args.lse_stride_b = N_Q * HEADS));
    REFUSED(SATTN_ERR_OVERLAP, "lse overlaps v.data",
            (c.args.lse = c.v, c.args.lse_stride_h = N_Q, c.args.lse_stride_b = N_Q * HEADS));
    REFUSED(SATTN_ERR_OVERLAP, "o.data overlaps mask",
            (set_mask(&c, SATTN_MASK_ADDITIVE), c.args.mask.data = c.o + 40));
    /* o on q is the one exception, and only o is told of it. */
    REFUSED(SATTN_ERR_OVERLAP, "or exactly q", c.args.o.data = c.q + D);
    REFUSED(SATTN_ERR_OVERLAP, "lse overlaps q.data",
            (c.args.lse = c.q, c.args.lse_stride_h = N_Q, c.args.lse_stride_b = N_Q * HEADS));
    assert_null(strstr(sattn_last_error(), "exactly q"));
}

/* Q, K, V and O as views into one buffer [T][4][H][D]: legal, and equal to the packed call. */
static void test_interleaved_output(void **state)
{
    (void)state;
    enum { T = 4, H = 2, ROW = 4 * H * D };
    float packed[3][H * T * D], o[H * T * D], interleaved[T * ROW];
    for (int i = 0; i < 3 * H * T * D; ++i)
        packed[i / (H * T * D)][i % (H * T * D)] = (float)(i * 7 % 13) / 5.0f - 1.0f;
    for (int part = 0; part < 3; ++part)
        for (int h = 0; h < H; ++h)
            for (int t = 0; t < T; ++t)
                memcpy(interleaved + t * ROW + part * H * D + h * D, packed[part] + (h * T + t) * D,
                       D * sizeof(float));
    sattn_attention_args a = {.batch = 1,
                              .n_q_heads = H,
                              .n_kv_heads = H,
                              .n_q = T,
                              .n_k = T,
                              .d = D,
                              .d_v = D,
                              .causal = true,
                              .q = {.data = packed[0], .stride_h = T * D, .stride_t = D},
                              .k = {.data = packed[1], .stride_h = T * D, .stride_t = D},
                              .v = {.data = packed[2], .stride_h = T * D, .stride_t = D},
                              .o = {.data = o, .stride_h = T * D, .stride_t = D}};
    assert_int_equal(sattn_attention(&a, NULL), SATTN_OK);
    a.q = (sattn_view){.data = interleaved, .stride_h = D, .stride_t = ROW};
    a.k = (sattn_view){.data = interleaved + H * D, .stride_h = D, .stride_t = ROW};
    a.v = (sattn_view){.data = interleaved + 2 * H * D, .stride_h = D, .stride_t = ROW};
    a.o = (sattn_mut_view){.data = interleaved + 3 * H * D, .stride_h = D, .stride_t = ROW};
    assert_int_equal(sattn_attention(&a, NULL), SATTN_OK);
    for (int h = 0; h < H; ++h)
        for (int t = 0; t < T; ++t)
            assert_memory_equal(interleaved + t * ROW + 3 * H * D + h * D, o + (h * T + t) * D,
                                D * sizeof(float));
}

static bool hidden_by_mask(const call *c, int64_t i, int64_t j)
{
    if (c->args.mask.kind == SATTN_MASK_BOOL)
        return c->mask_bool[i * N_K + j] == 0;
    return c->args.mask.kind == SATTN_MASK_ADDITIVE && c->mask_add[i * N_K + j] == -INFINITY;
}

/* Output element (b, h, i, y) is not finite exactly where a visible V of its column is not, and has
 * the bits of `finite`, the output with zeros for such values, everywhere else. */
static void check_against_finite(const call *c, const float *finite)
{
    for (int64_t b = 0; b < BATCH; ++b)
        for (int64_t h = 0; h < HEADS; ++h)
            for (int64_t i = 0; i < c->args.n_q; ++i)
                for (int64_t y = 0; y < D_V; ++y) {
                    const int64_t kv = b * KV_HEADS + h * KV_HEADS / HEADS;
                    const int64_t at = ((b * HEADS + h) * N_Q + i) * D_V + y;
                    bool brought = false;
                    for (int64_t j = 0; j < c->n_k_valid[b] && j <= i + c->causal_offset[b]; ++j)
                        brought |=
                            !hidden_by_mask(c, i, j) && !isfinite(c->v[(kv * N_K + j) * D_V + y]);
                    if (brought)
                        assert_true(!isfinite(c->o[at]));
                    else
                        assert_memory_equal(&c->o[at], &finite[at], sizeof(float));
                }
}

/* N11: what a hidden V row holds does not matter, by mask or causal limit, whichever element of
 * whichever head it spoils. */
static void test_hidden_values(void **state)
{
    (void)state;
    const float specials[] = {NAN, INFINITY, -INFINITY};
    const sattn_mask_kind kinds[] = {SATTN_MASK_NONE, SATTN_MASK_BOOL, SATTN_MASK_ADDITIVE};
    for (uint32_t trial = 0; trial < 200; ++trial) {
        call c, zeroed;
        uint32_t random = trial * 2654435761u;
        make_call(&c);
        c.args.n_q = trial % 5 == 0 ? 1 : N_Q;
        set_mask(&c, kinds[trial % 3]);
        c.args.mask.extent[2] = c.args.n_q;
        for (size_t i = 0; i < N_Q * N_K; ++i)
            c.mask_add[i] = c.mask_bool[i] ? 0.25f * (float)i : -INFINITY;
        c.args.causal = true;
        c.args.n_k_valid = c.n_k_valid;
        c.args.causal_offset = c.causal_offset;
        c.causal_offset[0] = trial % 4;
        c.causal_offset[1] = trial % 7;
        c.options.key_splits = (int)(trial % 4);
        for (uint32_t n = 0; n <= trial % 8; ++n) {
            random = random * 1664525u + 1013904223u;
            c.v[(random >> 8) % (sizeof c.v / 4)] = specials[random % 3];
        }
        memcpy(&zeroed, &c, sizeof c);
        for (size_t i = 0; i < sizeof c.v / 4; ++i)
            zeroed.v[i] = isfinite(c.v[i]) ? c.v[i] : 0.0f;
        zeroed.args.v.data = zeroed.v;
        zeroed.args.o.data = zeroed.o;
        assert_int_equal(sattn_attention(&zeroed.args, &zeroed.options), SATTN_OK);
        assert_int_equal(sattn_attention(&c.args, &c.options), SATTN_OK);
        check_against_finite(&c, zeroed.o);
    }
}

/* The scan before a repair sees one NaN or infinity, wherever it stands, and takes no finite number
 * for one; what lies between rows is none of its business. */
static void test_scan_of_the_output(void **state)
{
    (void)state;
    enum { ROWS = 3, WIDEST = 72 };
    static const float finite[] = {FLT_MAX, -FLT_MAX, 0x1p-149f, -0x1p-149f, 0.0f, -0.0f, 1.0f};
    static const float specials[] = {NAN, -NAN, INFINITY, -INFINITY};
    float o[ROWS * (WIDEST + 1)];
    for (int64_t d_v = 1; d_v <= WIDEST; ++d_v)
        for (int64_t gap = 0; gap <= 1; ++gap) {
            const sattn_averaged averaged = {
                .o = o, .o_stride = d_v + gap, .n_group = 1, .n_rows = ROWS, .d_v = d_v};
            for (int64_t at = 0; at < ROWS * (d_v + gap); ++at)
                o[at] = at % (d_v + gap) < d_v ? finite[at % 7] : NAN;
            assert_false(sattn_output_is_suspect(&averaged));
            for (int64_t at = 0; at < ROWS * (d_v + gap); ++at) {
                const float kept = o[at];
                o[at] = specials[at % 4];
                assert_int_equal(sattn_output_is_suspect(&averaged), at % (d_v + gap) < d_v);
                o[at] = kept;
            }
        }
}

/* N33: o exactly on q gives the bits of a call with an output of its own, also where hidden
 * non-finite values ask for the repair. */
static void test_output_on_queries(void **state)
{
    (void)state;
    call apart, same;
    for (int splits = 1; splits <= 2; ++splits) {
        make_call(&apart);
        apart.args.causal = true;
        apart.args.causal_offset = apart.causal_offset;
        apart.causal_offset[1] = 1;
        apart.v[4 * D_V + 1] = NAN;       /* hidden from every row */
        apart.v[1 * D_V + 2] = -INFINITY; /* visible to rows 1 and 2 */
        /* The second batch entry: hidden from rows 0 and 1, which see two and three keys. */
        apart.v[(KV_HEADS * N_K + 3) * D_V + 4] = NAN;
        same = apart;
        same.args.q.data = same.args.o.data = same.q;
        same.args.k.data = same.k;
        same.args.v.data = same.v;
        same.args.causal_offset = same.causal_offset;
        apart.options.key_splits = same.options.key_splits = splits;
        assert_int_equal(sattn_attention(&apart.args, &apart.options), SATTN_OK);
        assert_int_equal(sattn_attention(&same.args, &same.options), SATTN_OK);
        assert_memory_equal(apart.o, same.q, sizeof apart.o);
        assert_true(isfinite(apart.o[0]) && isfinite(apart.o[1]) && isfinite(apart.o[2]));
        assert_true(!isfinite(apart.o[D_V + 2]));
        assert_true(isfinite(apart.o[D_V + 1]));
    }
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    sattn_attention_args a = {.d = 8, .d_v = 8};
    assert_int_equal(sattn_attention(&a, NULL), SATTN_OK);
    a = (sattn_attention_args){.batch = 3,
                               .n_q_heads = 2,
                               .n_kv_heads = 1,
                               .n_k = 4,
                               .d = 8,
                               .d_v = 8,
                               .k = {.stride_t = 8},
                               .v = {.stride_t = 8}};
    assert_int_equal(sattn_attention(&a, NULL), SATTN_OK); /* n_q = 0 */
    assert_int_equal(sattn_attention(NULL, NULL), SATTN_ERR_ARGUMENT);
}

static void test_plan_and_workspace(void **state)
{
    (void)state;
    call c, direct;
    sattn_plan *plan;
    size_t size;
    make_call(&direct);
    assert_int_equal(sattn_attention(&direct.args, NULL), SATTN_OK);
    make_call(&c);
    assert_int_equal(sattn_plan_create(&plan, &c.args, NULL), SATTN_OK);
    size = sattn_plan_workspace_size(plan);
    unsigned char *const memory = aligned_alloc(64, size + 64);
    assert_non_null(memory);
    memset(memory, 0xa5, size + 64);
    const sattn_pointers p = {.q = c.q, .k = c.k, .v = c.v, .o = c.o};
    assert_int_equal(sattn_plan_run(plan, &p, memory, size - 1), SATTN_ERR_WORKSPACE);
    assert_int_equal(sattn_plan_run(plan, &p, memory + 4, size), SATTN_ERR_WORKSPACE);
    const sattn_pointers inside = {.q = memory + size - 4, .k = c.k, .v = c.v, .o = c.o};
    assert_int_equal(sattn_plan_run(plan, &inside, memory, size), SATTN_ERR_OVERLAP);
    assert_non_null(strstr(sattn_last_error(), "workspace overlaps q.data"));
    assert_true(c.o[0] == 777.0f);
    assert_int_equal(sattn_plan_run(plan, &p, memory, size), SATTN_OK);
    assert_memory_equal(c.o, direct.o, sizeof c.o);
    for (size_t i = size; i < size + 64; ++i)
        assert_int_equal(memory[i], 0xa5);
    const sattn_pointers with_lse = {.q = c.q, .k = c.k, .v = c.v, .o = c.o, .lse = c.lse};
    assert_int_equal(sattn_plan_run(plan, &with_lse, memory, size), SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "pointers.lse"));
    const sattn_pointers with_mask = {.q = c.q, .k = c.k, .v = c.v, .o = c.o, .mask = c.mask_bool};
    assert_int_equal(sattn_plan_run(plan, &with_mask, memory, size), SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "pointers.mask"));
    sattn_pointers with_more = {.q = c.q, .k = c.k, .v = c.v, .o = c.o, .sinks = c.sinks};
    assert_int_equal(sattn_plan_run(plan, &with_more, memory, size), SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "pointers.sinks"));
    with_more.sinks = NULL;
    with_more.alibi_slopes = c.slopes;
    assert_int_equal(sattn_plan_run(plan, &with_more, memory, size), SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "pointers.alibi_slopes"));
    size_t asked;
    assert_int_equal(sattn_attention_workspace_size(&c.args, NULL, &asked), SATTN_OK);
    assert_int_equal(asked, size);
    sattn_plan_destroy(plan);
    free(memory);
}

static void test_kernel_option(void **state)
{
    (void)state;
    REFUSED(SATTN_ERR_KERNEL, "\"nonsense\" is not a kernel", c.options.kernels = "nonsense");
    REFUSED(SATTN_ERR_KERNEL, "\"sattn_qk_f32_mmx\" is not a kernel; usable here: sattn_qk_f32_",
            c.options.kernels = "sattn_qk_f32_mmx");
    REFUSED(SATTN_ERR_KERNEL, "begin with one of: sattn_fused_ sattn_qk_",
            c.options.kernels = "nonsense");
    REFUSED(SATTN_ERR_KERNEL, "options.isa = \"avx51\"", c.options.isa = "avx51");
    call c;
    sattn_plan *plan;
    make_call(&c);
    c.options.isa = "scalar";
    assert_int_equal(sattn_plan_create(&plan, &c.args, &c.options), SATTN_OK);
    assert_string_equal(sattn_plan_kernel(plan), "sattn_fused_f32_scalar");
    sattn_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legal_call),
        cmocka_unit_test(test_extents),
        cmocka_unit_test(test_strides_and_types),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_slopes_and_sinks),
        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_sinks_of_special_rows),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_not_built_yet),
        cmocka_unit_test(test_plans_that_do_not_fit),
        cmocka_unit_test(test_scores_fields),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_interleaved_output),
        cmocka_unit_test(test_hidden_values),
        cmocka_unit_test(test_scan_of_the_output),
        cmocka_unit_test(test_output_on_queries),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_plan_and_workspace),
        cmocka_unit_test(test_kernel_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
