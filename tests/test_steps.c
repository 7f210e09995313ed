/* SPDX-License-Identifier: MIT
 *
 * test_steps.c: sattn_qk, sattn_softmax, sattn_av, sattn_exp and sattn_tanh: what they refuse,
 * naming it and leaving everything as it was; what they write and where; that together they are a
 * chain, bit for bit. How exact each kernel is, its own tests check. */
#include "dispatch/simdattn.h"
#include "kernels/contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, N_Q = 5, N_K = 7, D = 6, D_V = 3 };
enum { ROWS = BATCH * HEADS * N_Q, GAP = 2, ROW = N_K + GAP, N_SCORES = ROWS * ROW };

typedef sattn_status step_fn(const sattn_attention_args *args, const sattn_options *options);

/* One legal call of each step, rows of scores with gaps between. */
typedef struct call {
    float q[ROWS * D], k[BATCH * KV_HEADS * N_K * D], v[BATCH * KV_HEADS * N_K * D_V];
    float o[ROWS * D_V], lse[ROWS], scores[N_SCORES], scores_in[N_SCORES], bias[N_Q * N_K];
    uint8_t allow[N_Q * N_K];
    int64_t n_k_valid[BATCH], causal_offset[BATCH];
    sattn_attention_args args;
    sattn_options options;
} call;

static void make_call(call *c)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < sizeof c->q / 4; ++i)
        c->q[i] = (float)(i * 5 % 7) / 3.0f - 1.0f;
    for (size_t i = 0; i < sizeof c->k / 4; ++i)
        c->k[i] = (float)(i * 3 % 11) / 4.0f - 1.0f;
    for (size_t i = 0; i < sizeof c->v / 4; ++i)
        c->v[i] = (float)(i % 13) - 6.0f;
    for (size_t i = 0; i < N_SCORES; ++i) {
        c->scores_in[i] = (float)(i * 7 % 17) / 8.0f - 1.0f;
        c->scores[i] = 777.0f;
    }
    for (size_t i = 0; i < sizeof c->o / 4; ++i)
        c->o[i] = 777.0f;
    for (size_t i = 0; i < N_Q * N_K; ++i) {
        c->allow[i] = i % 4 != 1;
        c->bias[i] = c->allow[i] ? 0.25f * (float)(i % 5) : -INFINITY;
    }
    for (int b = 0; b < BATCH; ++b) {
        c->n_k_valid[b] = N_K - 2 * b;
        c->causal_offset[b] = 2 - 3 * b;
    }
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
        .scores = c->scores,
        .scores_stride_b = HEADS * N_Q * ROW,
        .scores_stride_h = N_Q * ROW,
        .scores_stride_t = ROW,
        .scores_in = c->scores_in,
        .scores_in_stride_b = HEADS * N_Q * ROW,
        .scores_in_stride_h = N_Q * ROW,
        .scores_in_stride_t = ROW,
        .n_k_valid = c->n_k_valid,
    };
}

static void use_lse(call *c)
{
    c->args.lse = c->lse;
    c->args.lse_stride_b = HEADS * N_Q;
    c->args.lse_stride_h = N_Q;
}

static void use_mask(call *c, sattn_mask_kind kind)
{
    c->args.mask = (sattn_mask){.kind = kind,
                                .data = kind == SATTN_MASK_BOOL ? (void *)c->allow : c->bias,
                                .extent = {1, 1, N_Q, N_K},
                                .stride = {0, 0, N_K, 1}};
}

static void expect_refusal(step_fn *step, call *c, sattn_status status, const char *text)
{
    call before;
    memcpy(&before, c, sizeof before);
    const sattn_status got = step(&c->args, &c->options);
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
    assert_memory_equal(&before, c, sizeof before);
}

/* Applies `change` to a fresh legal call and expects the step to refuse it. */
#define REFUSED(step, status, text, change)                                                        \
    do {                                                                                           \
        call c;                                                                                    \
        make_call(&c);                                                                             \
        change;                                                                                    \
        expect_refusal(step, &c, status, text);                                                    \
    } while (0)

static void test_qk_refusals(void **state)
{
    (void)state;
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "d = 0", c.args.d = 0);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "batch = -1", c.args.batch = -1);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "n_q_heads = 4", c.args.n_kv_heads = 3);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "q.stride_t = 5", c.args.q.stride_t = 5);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scores_stride_t = 6", c.args.scores_stride_t = 6);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scores_stride_h = -1", c.args.scores_stride_h = -1);
    REFUSED(sattn_qk, SATTN_ERR_OVERLAP, "scores: with these", c.args.scores_stride_t = 0);
    REFUSED(sattn_qk, SATTN_ERR_OVERLAP, "scores: with these", c.args.scores_stride_b = 1);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scores_stage = 2",
            c.args.scores_stage = SATTN_SCORES_BIASED);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scores_stage = 3",
            c.args.scores_stage = SATTN_SCORES_PROBABILITIES);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scale = inf",
            (c.args.has_scale = true, c.args.scale = INFINITY));
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "softcap = -2", c.args.softcap = -2.0f);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "n_k_valid[1] = 8", c.n_k_valid[1] = N_K + 1);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "scores is NULL", c.args.scores = NULL);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "k.data is NULL", c.args.k.data = NULL);
    REFUSED(sattn_qk, SATTN_ERR_UNSUPPORTED, "k.dtype", c.args.k.dtype = SATTN_BF16);
    REFUSED(sattn_qk, SATTN_ERR_OVERLAP, "scores overlaps q.data", c.args.scores = c.q + 3);
    REFUSED(sattn_qk, SATTN_ERR_OVERLAP, "scores overlaps k.data", c.args.k.data = c.scores);
    REFUSED(sattn_qk, SATTN_ERR_OVERLAP, "scores overlaps n_k_valid",
            c.args.scores = (float *)(void *)c.n_k_valid);
    REFUSED(sattn_qk, SATTN_ERR_TOO_LARGE, "scores:", c.args.scores_stride_b = INT64_MAX / 2);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "options.threads = -3", c.options.threads = -3);
    REFUSED(sattn_qk, SATTN_ERR_ARGUMENT, "options.plan = \"fast\"", c.options.plan = "fast");
    REFUSED(sattn_qk, SATTN_ERR_KERNEL, "sattn_qk_f32_scalar", c.options.kernels = "sattn_qk_f32");
    assert_int_equal(sattn_qk(NULL, NULL), SATTN_ERR_ARGUMENT);
}

static void test_softmax_refusals(void **state)
{
    (void)state;
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "scores is NULL", c.args.scores = NULL);
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "scores_in is NULL", c.args.scores_in = NULL);
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "scores_in_stride_t = 3",
            c.args.scores_in_stride_t = 3);
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "scores_in =",
            c.args.scores_in = (const float *)(const void *)((const char *)c.scores_in + 2));
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "window_left = -2",
            (c.args.has_window = true, c.args.window_left = -2));
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "mask.extent[2] = 3",
            (use_mask(&c, SATTN_MASK_BOOL), c.args.mask.extent[2] = 3));
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "mask.data is NULL",
            (use_mask(&c, SATTN_MASK_BOOL), c.args.mask.data = NULL));
    REFUSED(sattn_softmax, SATTN_ERR_ARGUMENT, "alibi_slopes[2] = inf",
            (c.bias[0] = c.bias[1] = 0.0f, c.bias[2] = INFINITY, c.args.alibi_slopes = c.bias));
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "scores overlaps sinks", c.args.sinks = c.scores + 9);
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "lse overlaps alibi_slopes",
            (use_lse(&c), c.args.alibi_slopes = c.lse));
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "or exactly scores_in", /* one row further */
            c.args.scores = c.scores_in + ROW);
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "or exactly scores_in", /* other strides */
            (c.args.scores = c.scores_in, c.args.scores_stride_t = ROW + 1,
             c.args.scores_stride_h = 0, c.args.n_q_heads = c.args.n_kv_heads = 1));
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "scores overlaps lse",
            (use_lse(&c), c.args.lse = c.scores + 4));
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "lse overlaps scores_in",
            (use_lse(&c), c.args.lse = c.scores_in + 4));
    REFUSED(sattn_softmax, SATTN_ERR_OVERLAP, "scores overlaps mask.data",
            (use_mask(&c, SATTN_MASK_ADDITIVE), c.args.mask.data = c.scores + 8));
    REFUSED(
        sattn_softmax, SATTN_ERR_OVERLAP, "scores overlaps causal_offset",
        (c.args.causal_offset = c.causal_offset, c.args.scores = (float *)(void *)c.causal_offset));
}

static void test_av_refusals(void **state)
{
    (void)state;
    REFUSED(sattn_av, SATTN_ERR_ARGUMENT, "d_v = 0", c.args.d_v = 0);
    REFUSED(sattn_av, SATTN_ERR_ARGUMENT, "scores_in is NULL", c.args.scores_in = NULL);
    REFUSED(sattn_av, SATTN_ERR_ARGUMENT, "v.data is NULL", c.args.v.data = NULL);
    REFUSED(sattn_av, SATTN_ERR_ARGUMENT, "o.data is NULL", c.args.o.data = NULL);
    REFUSED(sattn_av, SATTN_ERR_OVERLAP, "o.data overlaps scores_in", c.args.o.data = c.scores_in);
    REFUSED(sattn_av, SATTN_ERR_OVERLAP, "o.data overlaps v.data", c.args.o.data = c.v + 1);
    REFUSED(sattn_av, SATTN_ERR_UNSUPPORTED, "o.dtype", c.args.o.dtype = SATTN_F16);
    REFUSED(sattn_av, SATTN_ERR_TOO_LARGE, "workspace",
            (c.args.d_v = (int64_t)1 << 39, c.args.n_q = c.args.batch = 1,
             c.args.n_k = (int64_t)1 << 36, c.args.v.stride_t = 0, c.args.v.stride_h = 0,
             c.args.n_q_heads = c.args.n_kv_heads = 1, use_mask(&c, SATTN_MASK_BOOL),
             c.args.mask.extent[2] = c.args.mask.extent[3] = 1));
}

/* Fields of other steps may hold anything. */
static void test_foreign_fields(void **state)
{
    (void)state;
    call c;
    make_call(&c);
    c.args.d_v = 0;
    c.args.v = (sattn_view){.dtype = SATTN_F16, .stride_t = -1};
    c.args.o = (sattn_mut_view){.data = c.q, .stride_t = -1};
    c.args.scores_in = NULL;
    c.args.has_window = true;
    c.args.window_left = -9;
    c.args.sinks = c.scores;
    c.args.alibi_slopes = c.scores;
    c.args.mask.kind = (sattn_mask_kind)9;
    assert_int_equal(sattn_qk(&c.args, NULL), SATTN_OK);
    make_call(&c);
    c.args.d = c.args.d_v = 0;
    c.args.q = c.args.k = c.args.v = (sattn_view){0};
    c.args.o = (sattn_mut_view){0};
    c.args.softcap = c.args.scale = NAN;
    c.args.scores_stage = (sattn_scores_stage)44;
    assert_int_equal(sattn_softmax(&c.args, NULL), SATTN_OK);
    make_call(&c);
    c.args.d = 0;
    c.args.q = c.args.k = (sattn_view){0};
    c.args.scores = NULL;
    c.args.lse = c.v;
    c.args.sinks = c.args.alibi_slopes = c.o;
    assert_int_equal(sattn_av(&c.args, NULL), SATTN_OK);
}

/* Every score, -inf behind the valid keys, and not a byte in the gaps. */
static void test_qk_values(void **state)
{
    (void)state;
    for (int capped = 0; capped < 2; ++capped) {
        call c;
        make_call(&c);
        c.args.softcap = 0.75f;
        c.args.scores_stage = capped ? SATTN_SCORES_SOFTCAPPED : SATTN_SCORES_SCALED;
        assert_int_equal(sattn_qk(&c.args, NULL), SATTN_OK);
        for (int64_t row = 0; row < ROWS; ++row) {
            const int64_t b = row / (HEADS * N_Q), h = row / N_Q % HEADS;
            for (int64_t j = 0; j < ROW; ++j) {
                const float got = c.scores[row * ROW + j];
                double want = 0;
                for (int64_t x = 0; x < D && j < N_K; ++x)
                    want += (double)c.q[row * D + x] *
                            (double)c.k[((b * KV_HEADS + h / 2) * N_K + j) * D + x];
                want /= sqrt(D);
                want = capped ? 0.75 * tanh(want / 0.75) : want;
                if (j >= N_K)
                    assert_true(got == 777.0f);
                else if (j >= c.n_k_valid[b])
                    assert_true(got == -INFINITY);
                else
                    assert_true(fabs((double)got - want) < 1e-6);
            }
        }
    }
}

static bool sees(const call *c, int64_t b, int64_t i, int64_t j)
{
    const int64_t self = i + (c->args.causal_offset ? c->causal_offset[b] : c->n_k_valid[b] - N_Q);
    return j < c->n_k_valid[b] && (!c->args.causal || j <= self) &&
           (!c->args.has_window || (j >= self - 1 && j <= self + 2)) &&
           (c->args.mask.kind == SATTN_MASK_NONE || c->allow[i * N_K + j]);
}

/* Combinations of what hides keys. */
static void make_variant(call *c, int variant)
{
    make_call(c);
    use_lse(c);
    c->args.causal = variant & 1;
    c->args.has_window = variant & 2;
    c->args.window_left = 1;
    c->args.window_right = 2;
    if (variant & 4)
        c->args.causal_offset = c->causal_offset;
    use_mask(c, (sattn_mask_kind)(variant / 8 % 3));
    if (variant >= 24)
        c->n_k_valid[1] = 0;
}

enum { VARIANTS = 48 };

static void check_weights(const call *c, const float *scores_in)
{
    for (int64_t row = 0; row < ROWS; ++row) {
        const int64_t b = row / (HEADS * N_Q), i = row % N_Q;
        double weights[N_K], sum = 0;
        for (int64_t j = 0; j < N_K; ++j) {
            const bool biased = c->args.mask.kind == SATTN_MASK_ADDITIVE;
            const double bias = biased ? (double)c->bias[i * N_K + j] : 0;
            weights[j] = sees(c, b, i, j) ? exp((double)scores_in[row * ROW + j] + bias) : 0;
            sum += weights[j];
        }
        for (int64_t j = 0; j < N_K; ++j) {
            const float got = c->scores[row * ROW + j];
            if (weights[j] == 0)
                assert_true(got == 0.0f && !signbit(got));
            else
                assert_true(fabs((double)got - weights[j] / sum) < 1e-6);
        }
        assert_true(c->scores[row * ROW + N_K] == 777.0f);
        if (sum == 0)
            assert_true(c->lse[row] == -INFINITY);
        else
            assert_true(fabs((double)c->lse[row] - log(sum)) < 1e-6);
    }
}

static void test_softmax_values(void **state)
{
    (void)state;
    for (int variant = 0; variant < VARIANTS; ++variant) {
        call c, same;
        make_variant(&c, variant);
        for (int64_t row = 0; row < ROWS; ++row) /* hidden scores and gaps do not matter */
            for (int64_t j = 0; j < ROW; ++j)
                if (j >= N_K || !sees(&c, row / (HEADS * N_Q), row % N_Q, j))
                    c.scores_in[row * ROW + j] = NAN;
        assert_int_equal(sattn_softmax(&c.args, NULL), SATTN_OK);
        check_weights(&c, c.scores_in);
        make_variant(&same, variant);
        memcpy(same.scores, c.scores_in, sizeof same.scores);
        same.args.scores_in = same.scores;
        assert_int_equal(sattn_softmax(&same.args, NULL), SATTN_OK);
        for (int64_t row = 0; row < ROWS; ++row)
            assert_memory_equal(same.scores + row * ROW, c.scores + row * ROW, N_K * sizeof(float));
        assert_memory_equal(same.lse, c.lse, sizeof c.lse);
    }
}

/* Weights of hidden keys, and what their V holds, do not matter; a visible V that is not finite
 * spoils its column alone. */
static void test_av_values(void **state)
{
    (void)state;
    for (int variant = 0; variant < VARIANTS; ++variant)
        for (int spoilt = 0; spoilt < N_K; ++spoilt) {
            call c;
            make_variant(&c, variant);
            c.v[(KV_HEADS * N_K + spoilt) * D_V + 1] = spoilt % 2 ? NAN : INFINITY;
            for (int64_t row = 0; row < ROWS; ++row)
                for (int64_t j = 0; j < ROW; ++j)
                    if (j >= N_K || !sees(&c, row / (HEADS * N_Q), row % N_Q, j))
                        c.scores_in[row * ROW + j] = NAN;
            assert_int_equal(sattn_av(&c.args, NULL), SATTN_OK);
            for (int64_t row = 0; row < ROWS; ++row)
                for (int64_t y = 0; y < D_V; ++y) {
                    const int64_t b = row / (HEADS * N_Q), kv = row / N_Q % HEADS / 2;
                    const float got = c.o[row * D_V + y];
                    double want = 0;
                    bool finite = true;
                    for (int64_t j = 0; j < N_K; ++j) {
                        const float v = c.v[((b * KV_HEADS + kv) * N_K + j) * D_V + y];
                        if (!sees(&c, b, row % N_Q, j))
                            continue;
                        finite &= isfinite(v);
                        want += (double)c.scores_in[row * ROW + j] * (double)v;
                    }
                    if (finite)
                        assert_true(fabs((double)got - want) < 1e-5);
                    else
                        assert_true(!isfinite(got));
                }
        }
}

/* The three steps are the chain. */
static void test_steps_are_a_chain(void **state)
{
    (void)state;
    for (int variant = 0; variant < VARIANTS; ++variant) {
        call c, chain;
        make_variant(&c, variant);
        c.args.softcap = variant % 5 == 0 ? 1.25f : 0.0f;
        c.args.scores_stage = SATTN_SCORES_SOFTCAPPED;
        memcpy(&chain, &c, sizeof c);
        chain.args.q.data = chain.q; /* the copy's own outputs; inputs are equal */
        chain.args.o.data = chain.o;
        chain.args.lse = chain.lse;
        chain.args.scores = NULL;
        chain.args.scores_in = NULL;
        chain.options.plan = "chain";
        assert_int_equal(sattn_attention(&chain.args, &chain.options), SATTN_OK);
        assert_int_equal(sattn_qk(&c.args, NULL), SATTN_OK);
        c.args.scores_in = c.scores;
        c.args.scores_in_stride_t = ROW;
        assert_int_equal(sattn_softmax(&c.args, NULL), SATTN_OK);
        assert_int_equal(sattn_av(&c.args, NULL), SATTN_OK);
        assert_memory_equal(c.o, chain.o, sizeof c.o);
        assert_memory_equal(c.lse, chain.lse, sizeof c.lse);
    }
}

/* A mask of one entry per row: what a row sees, it sees with all its flaws. */
static void test_mask_without_key_axis(void **state)
{
    (void)state;
    call c;
    make_call(&c);
    use_mask(&c, SATTN_MASK_BOOL);
    c.args.mask.extent[3] = 1;
    c.args.mask.stride[2] = 1;
    c.args.n_k_valid = NULL;
    for (int i = 0; i < N_Q; ++i)
        c.allow[i] = i % 2 == 0;
    for (int64_t kv = 0; kv < BATCH * KV_HEADS; ++kv)
        c.v[(kv * N_K + 1) * D_V] = NAN;
    assert_int_equal(sattn_av(&c.args, NULL), SATTN_OK);
    for (int64_t row = 0; row < ROWS; ++row) {
        const bool seen = row % N_Q % 2 == 0;
        assert_true(seen ? isnan(c.o[row * D_V]) : c.o[row * D_V] == 0.0f);
        assert_true(isfinite(c.o[row * D_V + 1]));
    }
}

static void test_workspaces(void **state)
{
    (void)state;
    step_fn *const steps[] = {sattn_qk, sattn_softmax, sattn_av};
    const size_t scratch[] = {sattn_qk_scratch_bytes(D), sattn_softmax_scratch_bytes(N_K),
                              sattn_av_scratch_bytes(D_V)};
    for (int step = 0; step < 3; ++step) {
        call c, own;
        size_t size = 0;
        make_variant(&c, 9);
        make_variant(&own, 9);
        assert_int_equal(steps[step](&own.args, NULL), SATTN_OK);
        sattn_attention_args shape = c.args;
        shape.q.data = shape.k.data = shape.v.data = shape.scores_in = NULL;
        shape.scores = NULL;
        shape.o.data = NULL;
        shape.mask.data = NULL;
        assert_int_equal(sattn_step_workspace_size((sattn_step)step, &shape, NULL, &size),
                         SATTN_OK);
        assert_true(size >= scratch[step]);
        unsigned char *const memory = aligned_alloc(64, size + 64);
        assert_non_null(memory);
        memset(memory, 0xa5, size + 64);
        c.options.workspace = memory;
        c.options.workspace_size = size - 1;
        expect_refusal(steps[step], &c, SATTN_ERR_WORKSPACE, "workspace_size");
        c.options.workspace_size = size;
        c.options.workspace = memory + 4;
        expect_refusal(steps[step], &c, SATTN_ERR_WORKSPACE, "workspace =");
        c.options.workspace = memory;
        assert_int_equal(steps[step](&c.args, &c.options), SATTN_OK);
        for (size_t i = size; i < size + 64; ++i)
            assert_int_equal(memory[i], 0xa5);
        assert_memory_equal(c.scores, own.scores, sizeof c.scores);
        assert_memory_equal(c.o, own.o, sizeof c.o);
        free(memory);
    }
    size_t size = 1;
    call c;
    make_call(&c);
    assert_int_equal(sattn_step_workspace_size((sattn_step)3, &c.args, NULL, &size),
                     SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
    assert_int_equal(sattn_step_workspace_size(SATTN_STEP_AV, &c.args, NULL, NULL),
                     SATTN_ERR_ARGUMENT);
}

/* Threads, and with them the workspace, follow the work: fields that a step does not look at must
 * not change what is said to be enough. */
static void test_workspace_of_foreign_fields(void **state)
{
    (void)state;
    enum { KEYS = 4096, FEATURES = 128, N_HEADS = 8 };
    const sattn_options options = {.threads = 8};
    size_t plain = 0, foreign = 1;
    sattn_attention_args args = {
        .batch = 1,
        .n_q_heads = N_HEADS,
        .n_kv_heads = N_HEADS,
        .n_q = 1,
        .n_k = KEYS,
        .d = FEATURES,
        .q = {.stride_h = FEATURES},
        .k = {.stride_h = (int64_t)KEYS * FEATURES, .stride_t = FEATURES},
        .scores_stride_h = KEYS,
    };
    assert_int_equal(sattn_step_workspace_size(SATTN_STEP_QK, &args, &options, &plain), SATTN_OK);
    args.causal = args.has_window = true;
    assert_int_equal(sattn_step_workspace_size(SATTN_STEP_QK, &args, &options, &foreign), SATTN_OK);
    assert_int_equal(plain, foreign);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    step_fn *const steps[] = {sattn_qk, sattn_softmax, sattn_av};
    for (int step = 0; step < 3; ++step)
        for (int which = 0; which < 4; ++which) {
            call c;
            make_call(&c);
            use_lse(&c);
            c.args.n_k_valid = NULL;
            if (which == 0)
                c.args.batch = 0;
            if (which == 1)
                c.args.n_q = 0;
            if (which == 2)
                c.args.n_q_heads = c.args.n_kv_heads = 0;
            if (which == 3) { /* no keys: rows of +0 and -inf */
                c.args.n_k = 0;
                c.args.k.data = c.args.v.data = NULL;
                c.args.scores = NULL;
                c.args.scores_in = NULL;
            }
            c.lse[3] = 5.0f;
            assert_int_equal(steps[step](&c.args, NULL), SATTN_OK);
            assert_true(c.scores[0] == 777.0f);
            assert_true(c.o[3] == (step == 2 && which == 3 ? 0.0f : 777.0f));
            assert_true(c.lse[3] == (step == 1 && which == 3 ? -INFINITY : 5.0f));
        }
}

/* A kernel of another op in the list applies to that op. */
static void test_kernel_lists(void **state)
{
    (void)state;
    call c;
    make_call(&c);
    c.options.kernels = "sattn_av_f32_scalar,sattn_fused_f32_scalar,sattn_qk_f32_scalar";
    assert_int_equal(sattn_qk(&c.args, &c.options), SATTN_OK);
    assert_int_equal(sattn_softmax(&c.args, &c.options), SATTN_OK);
    assert_int_equal(sattn_av(&c.args, &c.options), SATTN_OK);
}

static size_t index_of(int64_t b, int64_t h, int64_t i)
{
    return (size_t)((b * HEADS + h) * N_Q + i);
}

/* One row of scores for all queries, and weights that are shared by all heads. */
static void test_broadcast_inputs(void **state)
{
    (void)state;
    call c;
    make_call(&c);
    c.args.scores_in_stride_b = c.args.scores_in_stride_h = c.args.scores_in_stride_t = 0;
    assert_int_equal(sattn_softmax(&c.args, NULL), SATTN_OK);
    for (int64_t h = 0; h < HEADS; ++h)
        for (int64_t i = 0; i < N_Q; ++i)
            assert_memory_equal(c.scores + index_of(0, h, i) * ROW, c.scores, N_K * sizeof(float));
    assert_int_equal(sattn_av(&c.args, NULL), SATTN_OK);
    for (int64_t h = 0; h < HEADS; ++h)
        assert_memory_equal(c.o + index_of(1, h, 4) * D_V, c.o + index_of(1, h, 0) * D_V,
                            D_V * sizeof(float));
}

typedef sattn_status array_fn(const float *x, float *y, int64_t n, const sattn_options *options);

static void test_arrays(void **state)
{
    (void)state;
    static array_fn *const functions[] = {sattn_exp, sattn_tanh};
    float x[40], y[42];
    for (int f = 0; f < 2; ++f) {
        for (int i = 0; i < 40; ++i)
            x[i] = 0.37f * (float)i - 7.0f;
        for (int64_t n = 0; n <= 40; ++n) {
            for (int i = 0; i < 42; ++i)
                y[i] = 777.0f;
            assert_int_equal(functions[f](x, y, n, NULL), SATTN_OK);
            for (int64_t i = 0; i < 42; ++i) {
                const double want = i >= n ? 777 : f ? tanh((double)x[i]) : exp((double)x[i]);
                assert_true(fabs((double)y[i] - want) <= 1e-6 * fabs(want));
            }
        }
        assert_int_equal(functions[f](x, x, 40, NULL), SATTN_OK);
        assert_memory_equal(x, y, 40 * sizeof(float));
        const sattn_options threads = {.threads = -1}, isa = {.isa = "mmx"};
        assert_int_equal(functions[f](NULL, NULL, 0, NULL), SATTN_OK);
        assert_int_equal(functions[f](x, y, -1, NULL), SATTN_ERR_ARGUMENT);
        assert_non_null(strstr(sattn_last_error(), "n = -1"));
        assert_int_equal(functions[f](NULL, y, 3, NULL), SATTN_ERR_ARGUMENT);
        assert_non_null(strstr(sattn_last_error(), "x is NULL"));
        assert_int_equal(functions[f](x, NULL, 3, NULL), SATTN_ERR_ARGUMENT);
        assert_non_null(strstr(sattn_last_error(), "y is NULL"));
        assert_int_equal(functions[f](x, y, INT64_MAX, NULL), SATTN_ERR_TOO_LARGE);
        assert_int_equal(functions[f](x, x + 1, 3, NULL), SATTN_ERR_OVERLAP);
        assert_int_equal(functions[f](x + 2, x, 3, NULL), SATTN_ERR_OVERLAP);
        assert_int_equal(functions[f](x, x + 3, 3, NULL), SATTN_OK);
        assert_int_equal(functions[f](x, y, 3, &threads), SATTN_ERR_ARGUMENT);
        assert_int_equal(functions[f](x, y, 3, &isa), SATTN_ERR_KERNEL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qk_refusals),
        cmocka_unit_test(test_softmax_refusals),
        cmocka_unit_test(test_av_refusals),
        cmocka_unit_test(test_foreign_fields),
        cmocka_unit_test(test_qk_values),
        cmocka_unit_test(test_softmax_values),
        cmocka_unit_test(test_av_values),
        cmocka_unit_test(test_steps_are_a_chain),
        cmocka_unit_test(test_mask_without_key_axis),
        cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_workspace_of_foreign_fields),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_kernel_lists),
        cmocka_unit_test(test_broadcast_inputs),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
