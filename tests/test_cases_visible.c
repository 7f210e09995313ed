/* SPDX-License-Identifier: MIT
 *
 * test_cases_visible.c: which keys a row sees: failures that other projects met with causal limits,
 * windows and masks; and rows so long that sums drift. */
#include "tests/test_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Q = 0, so that an output is the mean of the visible values. */
static void expect_means(test_run *run, const char *what, int64_t n_q, int64_t n_k, int64_t n_valid,
                         const int64_t *offset, const float *v, const double *want)
{
    float q[8] = {0}, k[8] = {0}, o[8];
    if (!test_step(run, TEST_ALWAYS))
        return;
    case_fill(o, 8, NAN);
    sattn_attention_args args = case_args(n_q, n_k, 1, 1, q, k, v, o);
    args.causal = true;
    args.causal_offset = offset;
    args.n_k_valid = &n_valid;
    if (case_attend(run, what, &args))
        case_expect_near(run, what, o, want, n_q, 1e-4);
}

void case_causal_alignment(test_run *run)
{
    static const float v[] = {1, 10, 100, 1000, 10000};
    const int64_t top_left = 0, below = -3, far = INT64_MAX, none = INT64_MIN;
    expect_means(run, "N12 top left", 2, 5, 5, &top_left, v, (double[]){1, 5.5});
    expect_means(run, "N12 bottom right", 2, 5, 5, NULL, v, (double[]){277.75, 2222.2});
    expect_means(run, "N12 more queries than keys, top left", 5, 2, 2, &top_left, v,
                 (double[]){1, 5.5, 5.5, 5.5, 5.5});
    expect_means(run, "N12 more queries than keys, bottom right", 5, 2, 2, NULL, v,
                 (double[]){0, 0, 0, 1, 5.5});
    expect_means(run, "N12 negative offset", 5, 2, 2, &below, v, (double[]){0, 0, 0, 1, 5.5});
    expect_means(run, "N12 offset INT64_MAX", 2, 5, 5, &far, v, (double[]){2222.2, 2222.2});
    expect_means(run, "N12 offset INT64_MIN", 2, 5, 5, &none, v, (double[]){0, 0});
    expect_means(run, "N13 four of five keys", 2, 5, 4, NULL, v, (double[]){37, 277.75});
}

/* One shot, in chunks and token by token: the same bits, also with a window, and with softcap,
 * ALiBi and sinks. */
static void check_chunks(test_run *run, int64_t n, int64_t chunk, int variant)
{
    static const float slopes[] = {0.5f, 0.25f, -0.125f, 0.0f};
    static const float sinks[] = {0.5f, -INFINITY, 2.0f, -1.0f};
    enum { HEADS = 4, KV_HEADS = 2, D = 12, D_V = 10 };
    const size_t rows = (size_t)(HEADS * n);
    float *const q = test_allocate(rows * D * sizeof(float));
    float *const piece = test_allocate(rows * D * sizeof(float));
    float *const k = test_allocate(rows * D * sizeof(float));
    float *const v = test_allocate(rows * D_V * sizeof(float));
    float *const whole = test_allocate(rows * D_V * sizeof(float));
    float *const o = test_allocate(rows * D_V * sizeof(float));
    case_fill_normal(q, HEADS * n * D, run->seed, 1);
    case_fill_normal(k, KV_HEADS * n * D, run->seed, 2);
    case_fill_normal(v, KV_HEADS * n * D_V, run->seed, 3);
    sattn_attention_args args = case_args(n, n, D, D_V, q, k, v, whole);
    args.n_q_heads = HEADS;
    args.n_kv_heads = KV_HEADS;
    args.causal = true;
    case_dense(&args);
    args.has_window = variant & 1;
    args.window_left = n / 3;
    args.window_right = -1;
    args.softcap = variant & 2 ? 2.0f : 0.0f;
    args.alibi_slopes = variant & 2 ? slopes : NULL;
    args.sinks = variant & 2 ? sinks : NULL;
    bool good = case_attend(run, "N13 at once", &args);
    if (good)
        case_expect_right(run, "N13 at once", &args, 2);
    for (int64_t i0 = 0; good && i0 < n; i0 += chunk) {
        const int64_t n_rows = i0 + chunk < n ? chunk : n - i0, n_valid = i0 + n_rows;
        for (int64_t h = 0; h < HEADS; ++h)
            memcpy(piece + h * n_rows * D, q + (h * n + i0) * D,
                   (size_t)(n_rows * D) * sizeof(float));
        sattn_attention_args part = args;
        part.n_q = n_rows;
        part.n_k_valid = &n_valid; /* and the default offset with it */
        part.q.data = piece;
        part.q.stride_h = n_rows * D;
        part.o.data = o;
        part.o.stride_h = n_rows * D_V;
        good = case_attend(run, "N13 in chunks", &part);
        for (int64_t h = 0; good && h < HEADS; ++h)
            case_expect_same(run, "N13 in chunks", o + h * n_rows * D_V, whole + (h * n + i0) * D_V,
                             n_rows * D_V);
    }
    free(q);
    free(piece);
    free(k);
    free(v);
    free(whole);
    free(o);
}

/* Chunks of more than SATTN_FEW_ROWS rows and those of fewer are asked of one kernel, as the run
 * forces it; of the other kernels of a chain only where they are the same for both. */
void case_chunked_prefill(test_run *run)
{
    static const int64_t sizes[][2] = {{4, 1}, {40, 17}, {150, 64}, {300, 128}, {300, 37}};
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; ++at) {
        const int64_t n = sizes[at][0], chunk = sizes[at][1];
        const bool one_phase =
            sattn_phase_of(2, n) == sattn_phase_of(2, chunk) &&
            (n % chunk == 0 || sattn_phase_of(2, n % chunk) == sattn_phase_of(2, n));
        for (int variant = 0; variant < 4; ++variant)
            if ((one_phase || !case_is_chain(run) || run->kernel->op == SATTN_OP_qk) &&
                test_step(run, variant ? TEST_SAMPLED : TEST_ALWAYS))
                check_chunks(run, n, chunk, variant);
    }
}

void case_mask_polarity(test_run *run)
{
    static const float k[] = {0, 0}, v[] = {1, 3}, zero_one[] = {1, 0};
    static const uint8_t allow[][2] = {{1, 0}, {2, 0}, {255, 0}};
    const float q = 1;
    for (int which = 0; which < 4; ++which) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        const double want = which == 3 ? 1.5378828 : 1;
        float o = NAN;
        sattn_attention_args args = case_args(1, 2, 1, 1, &q, k, v, &o);
        args.mask =
            which == 3 ? case_mask_add(&args, zero_one) : case_mask_bool(&args, allow[which]);
        if (case_attend(run, "N28 what a mask means", &args))
            case_expect_near(run, "N28 what a mask means", &o, &want, 1, 1e-6);
    }
}

/* A mask of any broadcast shape equals the same mask written out. */
static void check_broadcast(test_run *run, int shape, bool additive)
{
    enum { B = 2, H = 2, N_Q = 3, N_K = 5, D = 3, N = B * H * N_Q * N_K };
    float q[B * H * N_Q * D], k[B * H * N_K * D], v[B * H * N_K * D], bias[N], full_bias[N];
    float o[B * H * N_Q * D], want[B * H * N_Q * D];
    uint8_t allow[N], full_allow[N];
    case_fill_normal(q, B * H * N_Q * D, run->seed, 1);
    case_fill_normal(k, B * H * N_K * D, run->seed, 2);
    case_fill_normal(v, B * H * N_K * D, run->seed, 3);
    const int64_t full[4] = {B, H, N_Q, N_K};
    sattn_attention_args args = case_args(N_Q, N_K, D, D, q, k, v, want);
    args.batch = B;
    args.n_q_heads = args.n_kv_heads = H;
    case_dense(&args);
    sattn_mask mask = {.kind = additive ? SATTN_MASK_ADDITIVE : SATTN_MASK_BOOL};
    int64_t size = 1;
    for (int axis = 3; axis >= 0; --axis) {
        mask.extent[axis] = shape >> axis & 1 ? full[axis] : 1;
        mask.stride[axis] = mask.extent[axis] > 1 ? size : INT64_MIN; /* ignored */
        size *= mask.extent[axis];
    }
    for (int64_t at = 0; at < size; ++at) {
        allow[at] = at % 3 != 1;
        bias[at] = allow[at] ? 0.5f * (float)(at % 7) : -INFINITY;
    }
    for (int64_t at = 0; at < N; ++at) {
        const int64_t index[4] = {at / (H * N_Q * N_K), at / (N_Q * N_K) % H, at / N_K % N_Q,
                                  at % N_K};
        int64_t from = 0;
        for (int axis = 0; axis < 4; ++axis)
            from += mask.extent[axis] > 1 ? index[axis] * mask.stride[axis] : 0;
        full_allow[at] = allow[from];
        full_bias[at] = bias[from];
    }
    args.mask = (sattn_mask){.kind = mask.kind,
                             .data = additive ? (void *)full_bias : full_allow,
                             .extent = {B, H, N_Q, N_K},
                             .stride = {H * N_Q * N_K, N_Q * N_K, N_K, 1}};
    const bool ran = case_attend(run, "N30 mask written out", &args);
    case_expect_right(run, "N30 mask written out", &args, 1);
    mask.data = additive ? (void *)bias : allow;
    args.mask = mask;
    args.o.data = o;
    if (ran && case_attend(run, "N30 mask broadcast", &args))
        case_expect_same(run, "N30 mask broadcast", o, want, B * H * N_Q * D);
}

void case_mask_broadcast(test_run *run)
{
    for (int shape = 0; shape < 16; ++shape)
        for (int additive = 0; additive < 2; ++additive)
            if (test_step(run, TEST_ALWAYS))
                check_broadcast(run, shape, additive);
}

/* Equal scores and V = 1: the weights of any number of keys add up to 1. */
void case_long_rows(test_run *run)
{
    static const int64_t lengths[] = {65536, 2000000, 20000000};
    for (size_t at = 0; at < sizeof lengths / sizeof lengths[0]; ++at) {
        if (!test_step(run, at == 0 ? TEST_ALWAYS : TEST_SAMPLED))
            continue;
        const int64_t n = lengths[at];
        float *const k = test_allocate((size_t)n * sizeof(float));
        const float q = 1, one = 1;
        const double want = 1;
        float o = NAN;
        for (int64_t j = 0; j < n; ++j)
            k[j] = at == 0 ? -2.0f * (float)(j % 1000) / 1000 : 0.25f;
        sattn_attention_args args = case_args(1, n, 1, 1, &q, k, &one, &o);
        args.v.stride_t = 0;
        if (case_attend(run, "N27 a long row", &args))
            case_expect_near(run, "N27 a long row", &o, &want, 1, 1e-5);
        free(k);
    }
}

/* Q = 0: means over the keys of the window, cut at either end. */
static void case_window_means(test_run *run)
{
    static const float v[] = {1, 10, 100, 1000, 10000};
    static const struct {
        int64_t left, right, offset;
        bool causal;
        double want[3];
    } rows[] = {
        {2, 0, 2, false, {37, 370, 3700}},
        {2, 0, 2, true, {37, 370, 3700}},
        {2, 1, 2, true, {37, 370, 3700}},
        {1, 1, 1, false, {37, 370, 3700}},
        {0, 0, 2, false, {100, 1000, 10000}},
        {-1, 0, 2, false, {37, 277.75, 2222.2}},
        {0, -1, 2, false, {3700, 5500, 10000}},
        {-1, -1, 0, false, {2222.2, 2222.2, 2222.2}},
        {1, 0, 4, false, {5500, 10000, 0}},
        {1, 1, -3, false, {0, 0, 1}},
        {INT64_MAX, INT64_MAX, INT64_MIN, false, {0, 1, 5.5}},
        {INT64_MAX, 0, 2, false, {37, 277.75, 2222.2}},
        {0, 0, INT64_MAX, false, {0, 0, 0}},
    };
    float q[3] = {0}, k[5] = {0}, o[3];
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; ++at) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        sattn_attention_args args = case_args(3, 5, 1, 1, q, k, v, o);
        args.causal = rows[at].causal;
        args.causal_offset = &rows[at].offset;
        args.has_window = true;
        args.window_left = rows[at].left;
        args.window_right = rows[at].right;
        case_fill(o, 3, NAN);
        if (case_attend(run, "window", &args))
            case_expect_near(run, "window", o, rows[at].want, 3, 1e-3);
    }
}

/* Windows over many blocks of keys, with masks, hidden NaN and a log-sum-exp. */
static void check_window(test_run *run, int64_t left, int64_t right, int variant)
{
    enum { N_Q = 70, N_K = 420, HEADS = 4, KV_HEADS = 2, D = 6, D_V = 5 };
    static float q[HEADS * N_Q * D], k[KV_HEADS * N_K * D], v[KV_HEADS * N_K * D_V];
    static float o[HEADS * N_Q * D_V], lse[HEADS * N_Q];
    static uint8_t allow[N_Q * N_K];
    case_fill_normal(q, HEADS * N_Q * D, run->seed, 1);
    case_fill_normal(k, KV_HEADS * N_K * D, run->seed, 2);
    case_fill_normal(v, KV_HEADS * N_K * D_V, run->seed, 3);
    for (int64_t at = 0; at < N_Q * N_K; ++at)
        allow[at] = at * 11 % 7 > 1;
    const int64_t n_valid = N_K - 30, offset = 200;
    sattn_attention_args args = case_args(N_Q, N_K, D, D_V, q, k, v, o);
    args.n_q_heads = HEADS;
    args.n_kv_heads = KV_HEADS;
    case_dense(&args);
    args.has_window = true;
    args.window_left = left;
    args.window_right = right;
    args.causal = variant & 1;
    args.causal_offset = variant & 2 ? &offset : NULL;
    args.n_k_valid = &n_valid;
    args.lse = lse;
    args.lse_stride_h = N_Q;
    if (variant & 4)
        args.mask = case_mask_bool(&args, allow);
    if (variant & 8) { /* what some rows hide and others see, and what nobody reads */
        v[210 * D_V + 1] = NAN;
        k[(N_K - 1) * D] = NAN;
        v[(N_K - 1) * D_V] = INFINITY;
    }
    case_fill(o, HEADS * N_Q * D_V, NAN);
    if (case_attend(run, "window over many keys", &args))
        case_expect_right(run, "window over many keys", &args, 1);
}

void case_windows(test_run *run)
{
    static const int64_t sizes[][2] = {{0, 0}, {10, -1}, {-1, 3}, {127, 0}, {128, 1}, {300, 500}};
    case_window_means(run);
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; ++at)
        for (int variant = 0; variant < 16; ++variant)
            if (test_step(run, TEST_SAMPLED))
                check_window(run, sizes[at][0], sizes[at][1], variant);
}
