/* SPDX-License-Identifier: MIT
 *
 * test_cases_layout.c: failures that other projects met with memory, strides, sizes, batches and
 * split key ranges. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "tests/test_cases.h"

#include "bench/verify/compare.h"
#include "dispatch/merge.h"
#include "tests/support/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void case_expect_right(test_run *run, const char *what, const sattn_attention_args *args,
                       int64_t n_splits)
{
    const sattn_verify_selection selection = {.all_rows = true};
    sattn_bound_params params = sattn_bound_defaults();
    /* A chain rounds each weight twice more, when it is normalised, as a merge would. */
    params.n_splits = case_is_chain(run) ? n_splits + 1 : n_splits;
    params.scale_roundings = args->has_scale ? 0 : 2;
    sattn_verify_result result;
    const char *why = "";
    sattn_verify_result_init(&result);
    const sattn_status status = sattn_verify_attention(args, &selection, &params, &result, &why);
    if (status != SATTN_OK || !sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        test_fail(run, "%s: %s %s", what, status == SATTN_OK ? text : "the oracle refuses:", why);
    }
}

/* A dense operand of n_rows x n_columns floats between guard pages, filled with normal deviates. */
static test_operand guarded(int64_t n_rows, int64_t n_columns, test_placement placement,
                            size_t distance, uint64_t seed, uint64_t stream)
{
    const test_extents extents = {.n_groups = 1,
                                  .n_rows = n_rows,
                                  .n_columns = n_columns,
                                  .row_stride = n_columns,
                                  .element_size = sizeof(float)};
    const test_operand operand = test_operand_make(&extents, placement, distance);
    case_fill_normal(operand.data, n_rows * n_columns, seed, stream);
    return operand;
}

static void check_guarded(test_run *run, int64_t n_q, int64_t n_k, int64_t d, int64_t d_v,
                          test_placement placement)
{
    const uint64_t seed = run->seed;
    enum { Q, K, V, MASK, O, SLOPES, SINKS, N };
    test_operand t[N] = {
        [Q] = guarded(n_q, d, placement, 0, seed, 1),
        [K] = guarded(n_k, d, placement, 0, seed, 2),
        [V] = guarded(n_k, d_v, placement, 0, seed, 3),
        [MASK] = guarded(n_q, n_k, placement, 0, seed, 4),
        [O] = guarded(n_q, d_v, placement, 0, seed, 5),
        [SLOPES] = guarded(1, 1, placement, 0, seed, 6),
        [SINKS] = guarded(1, 1, placement, 0, seed, 7),
    };
    sattn_attention_args args =
        case_args(n_q, n_k, d, d_v, t[Q].data, t[K].data, t[V].data, t[O].data);
    args.has_scale = false;
    args.mask = case_mask_add(&args, t[MASK].data);
    if (n_q % 2 == 0) {
        args.alibi_slopes = t[SLOPES].data;
        args.sinks = t[SINKS].data;
    }
    for (int i = 0; i < N; ++i)
        test_operand_seal(&t[i]);
    if (case_attend(run, "N21 at the edge of a page", &args)) {
        int64_t at = 0;
        test_operand_accept(&t[O], 0, n_q);
        for (int i = 0; i < N; ++i)
            if (!test_operand_is_unchanged(&t[i], &at))
                test_fail(run, "N21: operand %d was written at byte %lld", i, (long long)at);
        case_expect_right(run, "N21 at the edge of a page", &args, 2);
    }
    for (int i = 0; i < N; ++i)
        test_operand_free(&t[i]);
}

void case_over_read(test_run *run)
{
    static const test_placement placements[] = {TEST_END_FLUSH, TEST_START_FLUSH};
    for (int side = 0; side < 2; ++side) {
        for (int64_t n = 1; n <= 67; ++n) {
            if (test_step(run, TEST_SAMPLED))
                check_guarded(run, 3, n, n, 1 + n % 7, placements[side]);
            if (test_step(run, TEST_SAMPLED))
                check_guarded(run, n, 1 + n % 5, 3, n, placements[side]);
        }
        if (test_step(run, TEST_SAMPLED))
            check_guarded(run, 2, 4096, 3, 3, placements[side]);
        if (test_step(run, TEST_SAMPLED))
            check_guarded(run, 4096, 2, 3, 3, placements[side]);
    }
}

void case_unaligned(test_run *run)
{
    enum { N_Q = 7, N_K = 9, D = 16 };
    float want[N_Q * D];
    for (size_t distance = 0; distance < 64; distance += 4) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        for (int reference = distance == 0 || run->only_step > 0; reference >= 0; --reference) {
            const size_t off = reference ? 0 : distance;
            test_operand q = guarded(N_Q, D, TEST_START_FLUSH, off, run->seed, 1);
            test_operand k = guarded(N_K, D, TEST_START_FLUSH, off, run->seed, 2);
            test_operand v = guarded(N_K, D, TEST_START_FLUSH, off, run->seed, 3);
            test_operand o = guarded(N_Q, D, TEST_START_FLUSH, off, run->seed, 4);
            sattn_attention_args args = case_args(N_Q, N_K, D, D, q.data, k.data, v.data, o.data);
            if (case_attend(run, "N23 misaligned", &args)) {
                if (reference)
                    memcpy(want, o.data, sizeof want);
                else
                    case_expect_same(run, "N23 misaligned", o.data, want, N_Q * D);
                case_expect_right(run, "N23 misaligned", &args, 1);
            }
            test_operand_free(&q);
            test_operand_free(&k);
            test_operand_free(&v);
            test_operand_free(&o);
        }
    }
}

/* Q, K and V as views of one buffer [batch][n][3][heads][d] with a padded batch stride, and of a
 * cache that holds rows further apart than their width. */
static void check_packed(test_run *run, int64_t n, int64_t heads, int64_t d, int64_t row_gap)
{
    enum { BATCH = 2, PAD = 7 };
    const int64_t row = 3 * heads * d + row_gap;
    const int64_t stride_b = n * row + PAD;
    const int64_t n_floats = BATCH * stride_b;
    float *const packed = malloc((size_t)n_floats * sizeof(float));
    float *const dense = malloc((size_t)(4 * BATCH * heads * n * d) * sizeof(float));
    float *const o = malloc((size_t)(BATCH * heads * n * d) * sizeof(float));
    if (!packed || !dense || !o)
        exit(2);
    case_fill(packed, n_floats, NAN);
    const int64_t tensor = BATCH * heads * n * d;
    case_fill_normal(dense, 3 * tensor, run->seed, 1);
    for (int64_t at = 0; at < 3 * tensor; ++at) {
        const int64_t x = at % d, i = at / d % n, h = at / d / n % heads;
        const int64_t b = at / d / n / heads % BATCH, which = at / tensor;
        packed[b * stride_b + i * row + (which * heads + h) * d + x] = dense[at];
    }
    sattn_attention_args args =
        case_args(n, n, d, d, dense, dense + tensor, dense + 2 * tensor, dense + 3 * tensor);
    args.batch = BATCH;
    args.n_q_heads = args.n_kv_heads = heads;
    args.has_scale = false;
    case_dense(&args);
    const bool ran = case_attend(run, "N24 dense", &args);
    case_expect_right(run, "N24 dense", &args, 1);
    sattn_view *const views[] = {&args.q, &args.k, &args.v};
    for (int which = 0; which < 3; ++which)
        *views[which] = (sattn_view){.data = packed + which * heads * d,
                                     .stride_b = stride_b,
                                     .stride_h = d,
                                     .stride_t = row};
    args.o.data = o;
    case_fill(o, tensor, NAN);
    if (ran && case_attend(run, "N24 packed views", &args))
        case_expect_same(run, "N24 packed views", o, dense + 3 * tensor, tensor);
    free(packed);
    free(dense);
    free(o);
}

void case_strided(test_run *run)
{
    static const int64_t sizes[][4] = {
        {5, 2, 3, 0}, {5, 2, 3, 11}, {1, 1, 1, 0}, {40, 3, 16, 0}, {130, 2, 8, 5}, {70, 1, 64, 900},
    };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; ++at)
        if (test_step(run, TEST_SAMPLED))
            check_packed(run, sizes[at][0], sizes[at][1], sizes[at][2], sizes[at][3]);
}

/* Strides that do not fit 32 bits, over memory of which only the rows in use are ever touched. */
enum { FAR_Q, FAR_K, FAR_V, FAR_O, FAR_MASK, FAR_OPERANDS };
enum { AXIS_BATCH, AXIS_HEAD, AXIS_ROW, AXES };
enum { FAR_D = 5, FAR_ROW = 8, FAR_N = 8 * FAR_ROW };

static const int64_t far_stride = ((int64_t)1 << 31) + 64;

static void far_strides(int axis, bool far, int64_t strides[AXES])
{
    strides[AXIS_BATCH] = 4 * FAR_ROW;
    strides[AXIS_HEAD] = 2 * FAR_ROW;
    strides[AXIS_ROW] = FAR_ROW;
    if (far)
        strides[axis] = far_stride;
}

static int64_t far_at(const int64_t strides[AXES], int row)
{
    return (row >> 2 & 1) * strides[AXIS_BATCH] + (row >> 1 & 1) * strides[AXIS_HEAD] +
           (row & 1) * strides[AXIS_ROW];
}

static void check_far(test_run *run, int operand, int axis)
{
    static float near[FAR_OPERANDS][FAR_N], want[FAR_N];
    const size_t map_size = ((size_t)far_stride + FAR_N) * sizeof(float);
    float *const far = mmap(NULL, map_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
        test_fail(run, "N25: no address space for a mapping of 8.6 GB");
        return;
    }
    for (int pass = 0; pass < 2; ++pass) { /* dense first, then with one far stride */
        float *data[FAR_OPERANDS];
        int64_t strides[FAR_OPERANDS][AXES];
        for (int t = 0; t < FAR_OPERANDS; ++t) {
            const bool is_far = pass == 1 && t == operand;
            data[t] = is_far ? far : near[t];
            far_strides(axis, is_far, strides[t]);
            for (int row = 0; row < 8; ++row)
                case_fill_normal(data[t] + far_at(strides[t], row), FAR_D, run->seed,
                                 (uint64_t)(100 * t + row));
        }
        sattn_attention_args args = case_args(2, 2, FAR_D, FAR_D, NULL, NULL, NULL, NULL);
        args.batch = args.n_q_heads = args.n_kv_heads = 2;
        sattn_view *const views[] = {&args.q, &args.k, &args.v};
        for (int t = 0; t < 3; ++t)
            *views[t] = (sattn_view){.data = data[t],
                                     .stride_b = strides[t][AXIS_BATCH],
                                     .stride_h = strides[t][AXIS_HEAD],
                                     .stride_t = strides[t][AXIS_ROW]};
        args.o = (sattn_mut_view){.data = data[FAR_O],
                                  .stride_b = strides[FAR_O][AXIS_BATCH],
                                  .stride_h = strides[FAR_O][AXIS_HEAD],
                                  .stride_t = strides[FAR_O][AXIS_ROW]};
        args.mask =
            (sattn_mask){.kind = SATTN_MASK_ADDITIVE,
                         .data = data[FAR_MASK],
                         .extent = {2, 2, 2, 2},
                         .stride = {strides[FAR_MASK][AXIS_BATCH], strides[FAR_MASK][AXIS_HEAD],
                                    strides[FAR_MASK][AXIS_ROW], 1}};
        if (!case_attend(run, "N25 stride beyond 32 bits", &args))
            break;
        for (int row = 0; row < 8; ++row) {
            float *const o = data[FAR_O] + far_at(strides[FAR_O], row);
            if (pass == 0)
                memcpy(want + row * FAR_D, o, FAR_D * sizeof(float));
            else
                case_expect_same(run, "N25 stride beyond 32 bits", o, want + row * FAR_D, FAR_D);
        }
    }
    munmap(far, map_size);
}

void case_far_strides(test_run *run)
{
    for (int operand = 0; operand < FAR_OPERANDS; ++operand)
        for (int axis = 0; axis < AXES; ++axis)
            if (test_step(run, TEST_ALWAYS))
                check_far(run, operand, axis);
}

static void expect_too_large(test_run *run, const char *what, const sattn_attention_args *args,
                             int key_splits)
{
    sattn_options options = case_options(run);
    size_t size = 0;
    options.key_splits = key_splits;
    if (!test_step(run, TEST_ALWAYS))
        return;
    const sattn_status needed = sattn_attention_workspace_size(args, &options, &size);
    const sattn_status status = sattn_attention(args, &options);
    if (needed != SATTN_ERR_TOO_LARGE || status != SATTN_ERR_TOO_LARGE)
        test_fail(run, "N26 %s: workspace size: %s; call: %s", what, sattn_status_string(needed),
                  sattn_status_string(status));
}

/* Sizes whose product does not fit 64 bits, or the address space. Nothing may be touched. */
void case_size_overflow(test_run *run)
{
    const int64_t two_33 = (int64_t)1 << 33;
    float q[4] = {0}, o[4] = {7, 7, 7, 7};
    const sattn_attention_args small = case_args(2, 2, 1, 1, q, q, q, o);
    sattn_attention_args args = small;
    args.k.stride_t = INT64_MAX / 2;
    args.n_k = 5;
    expect_too_large(run, "row stride times rows", &args, 0);
    args = small;
    args.batch = two_33;
    args.q.stride_b = args.k.stride_b = args.v.stride_b = args.o.stride_b = two_33;
    expect_too_large(run, "batch stride times batch", &args, 0);
    args = small;
    args.n_q = args.n_k = (int64_t)1 << 61;
    case_dense(&args);
    expect_too_large(run, "rows times element size", &args, 0);
    args = small;
    args.d = args.d_v = INT64_MAX / 2;
    case_dense(&args);
    expect_too_large(run, "columns times element size", &args, 0);
    args = small;
    args.n_q = args.n_k = two_33;
    args.mask = (sattn_mask){.kind = SATTN_MASK_ADDITIVE,
                             .data = q,
                             .extent = {1, 1, two_33, two_33},
                             .stride = {0, 0, two_33, 1}};
    expect_too_large(run, "mask of 2^33 times 2^33", &args, 0);
    args = small;
    args.n_q = (int64_t)1 << 40;
    args.n_k = (int64_t)1 << 30;
    if (!case_is_chain(run))
        expect_too_large(run, "partial results of 2^31 splits", &args, INT32_MAX);
    args = small;
    args.n_k = INT64_MAX / 2;
    args.k.stride_t = args.v.stride_t = 0;
    args.causal = true;
    expect_too_large(run, "rows of scores, or a list of keys", &args, 0);
    for (int i = 0; i < 4; ++i)
        if (o[i] != 7.0f)
            test_fail(run, "N26: something was written");
}

/* With any number of threads up to 16 the call gives `want`. */
static void check_threads(test_run *run, const sattn_attention_args *args, const float *want)
{
    const int64_t n = args->batch * args->n_q_heads * args->d_v;
    sattn_options options = case_options(run);
    options.key_splits = 1;
    const bool is_slow =
        run->divisor >= 10; /* an emulator's threads wait for each other at length */
    for (int threads = is_slow ? 2 : 16; threads > 1; threads -= threads > 4 ? 6 : 1) {
        options.threads = threads;
        case_fill(args->o.data, n, NAN);
        const sattn_status status = sattn_attention(args, &options);
        if (status != SATTN_OK)
            test_fail(run, "N35 %d threads: %s: %s", threads, sattn_status_string(status),
                      sattn_last_error());
        else
            case_expect_same(run, "N35 row with threads", args->o.data, want, n);
    }
}

/* A decode row has the same bits alone and as the first of any batch, with any number of threads.
 */
static void check_batches(test_run *run, int64_t n_k, bool masked)
{
    enum { HEADS = 4, KV_HEADS = 2, D = 24, D_V = 20, MOST = 64 };
    static const int64_t batches[] = {1, 2, 31, 32, 33, 64};
    const size_t n_k_floats = (size_t)(MOST * KV_HEADS * n_k);
    float *const k = malloc(n_k_floats * D * sizeof(float));
    float *const v = malloc(n_k_floats * D_V * sizeof(float));
    uint8_t *const allow = malloc((size_t)(MOST * n_k));
    static float q[MOST * HEADS * D], o[MOST * HEADS * D_V], alone[HEADS * D_V];
    static float want[MOST * HEADS * D_V];
    if (!k || !v || !allow)
        exit(2);
    case_fill_normal(q, MOST * HEADS * D, run->seed, 1);
    case_fill_normal(k, MOST * KV_HEADS * n_k * D, run->seed, 2);
    case_fill_normal(v, MOST * KV_HEADS * n_k * D_V, run->seed, 3);
    for (int64_t at = 0; at < MOST * n_k; ++at)
        allow[at] = at * 7 % 5 != 0;
    for (size_t at = 0; at < sizeof batches / sizeof batches[0]; ++at) {
        sattn_attention_args args = case_args(1, n_k, D, D_V, q, k, v, o);
        args.batch = batches[at];
        args.n_q_heads = HEADS;
        args.n_kv_heads = KV_HEADS;
        args.has_scale = false;
        case_dense(&args);
        if (masked)
            args.mask = (sattn_mask){.kind = SATTN_MASK_BOOL,
                                     .data = allow,
                                     .extent = {args.batch, 1, 1, n_k},
                                     .stride = {n_k, 0, 0, 1}};
        case_fill(o, MOST * HEADS * D_V, NAN);
        if (!case_attend(run, "N35 row in a batch", &args))
            continue;
        if (at == 0)
            memcpy(alone, o, sizeof alone);
        else
            case_expect_same(run, "N35 row in a batch", o, alone, HEADS * D_V);
        if (at < 2)
            case_expect_right(run, "N35 row in a batch", &args, 1);
        memcpy(want, o, sizeof want);
        if (args.batch == 31)
            check_threads(run, &args, want);
    }
    free(k);
    free(v);
    free(allow);
}

void case_same_row_in_batches(test_run *run)
{
    static const int64_t keys[] = {1, 63, 64, 65, 200};
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; ++at)
        for (int masked = 0; masked < 2; ++masked)
            if (test_step(run, TEST_SAMPLED))
                check_batches(run, keys[at], masked);
}

static bool attend_split(test_run *run, const char *what, const sattn_attention_args *args,
                         int splits)
{
    sattn_options options = case_options(run);
    options.key_splits = splits;
    const sattn_status status = sattn_attention(args, &options);
    if (case_is_chain(run) && splits > 1) { /* refused, never ignored */
        if (status != SATTN_ERR_UNSUPPORTED || !strstr(sattn_last_error(), "key_splits"))
            test_fail(run, "%s: %d splits of a chain: %s", what, splits,
                      sattn_status_string(status));
        return false;
    }
    if (status != SATTN_OK)
        test_fail(run, "%s: %d splits: %s: %s", what, splits, sattn_status_string(status),
                  sattn_last_error());
    return status == SATTN_OK;
}

static void check_three_keys(test_run *run, int splits)
{
    const float q = 1, k[] = {0, 1, 2}, v[] = {1, 2, 4}, none = -INFINITY;
    const uint8_t hide_all[] = {0, 0, 0};
    float o = NAN, lse = NAN;
    sattn_attention_args args = case_args(1, 3, 1, 1, &q, k, v, &o);
    args.lse = &lse;
    args.lse_stride_b = args.lse_stride_h = 1;
    const double want = 3.2404513, want_lse = 2.4076060;
    if (attend_split(run, "N39 three keys", &args, splits)) {
        case_expect_near(run, "N39 three keys", &o, &want, 1, 5e-7);
        case_expect_near(run, "N39 log-sum-exp", &lse, &want_lse, 1, 5e-7);
    }
    args.mask = case_mask_bool(&args, hide_all);
    if (attend_split(run, "N39 all chunks empty", &args, splits)) {
        case_expect_plus_zero(run, "N39 all chunks empty", &o, 1);
        case_expect_same(run, "N39 all chunks empty: log-sum-exp", &lse, &none, 1);
    }
}

/* Long enough that every split has keys; `hidden_block` is masked as a whole. */
static void check_many_keys(test_run *run, int splits, int variant)
{
    enum { N_Q = 5, N_K = 8 * SATTN_KEY_BLOCK + 37, HEADS = 2, D = 7, D_V = 9 };
    static const float slopes[HEADS] = {0.02f, -0.001f}, sinks[HEADS] = {2.0f, 30.0f};
    static float q[HEADS * N_Q * D], k[N_K * D], v[N_K * D_V], o[HEADS * N_Q * D_V],
        lse[HEADS * N_Q];
    static uint8_t allow[N_Q * N_K];
    case_fill_normal(q, HEADS * N_Q * D, run->seed, 1);
    case_fill_normal(k, N_K * D, run->seed, 2);
    case_fill_normal(v, N_K * D_V, run->seed, 3);
    for (int at = 0; at < N_Q * N_K; ++at)
        allow[at] = at % N_K / SATTN_KEY_BLOCK != 3 && (at / N_K != 1 || at % N_K >= 900);
    sattn_attention_args args = case_args(N_Q, N_K, D, D_V, q, k, v, o);
    args.n_q_heads = HEADS;
    case_dense(&args);
    args.lse = lse;
    args.lse_stride_h = N_Q;
    args.lse_stride_b = HEADS * N_Q;
    const int64_t offset = 100;
    if (variant & 1)
        args.mask = case_mask_bool(&args, allow);
    args.causal = variant & 2;
    if (variant & 4) /* most splits see nothing */
        args.causal_offset = &offset;
    if (variant & 8) /* a hidden value that must not matter */
        v[(3 * SATTN_KEY_BLOCK + 5) * D_V] = NAN;
    if (variant & 16) {
        args.alibi_slopes = slopes;
        args.sinks = sinks;
        args.softcap = 4;
    }
    args.has_window = variant & 32; /* over a few blocks, and not from a block's start */
    args.window_left = 300;
    args.window_right = 70;
    case_fill(o, HEADS * N_Q * D_V, NAN);
    if (attend_split(run, "N39 many keys", &args, splits))
        case_expect_right(run, "N39 many keys", &args, splits + 1);
}

void case_splits(test_run *run)
{
    static const int splits[] = {1, 2, 3, 4, 8, 9, 40};
    for (size_t at = 0; at < sizeof splits / sizeof splits[0]; ++at) {
        if (test_step(run, TEST_ALWAYS))
            check_three_keys(run, splits[at]);
        for (int variant = 0; variant < 64; ++variant)
            if (test_step(run, TEST_SAMPLED))
                check_many_keys(run, splits[at], variant);
    }
}

enum { MERGE_PARTS = 8 };

/* One value a part. */
static sattn_row_parts parts_of(const float *o, const float *row_max, const float *row_sum, int n)
{
    return (sattn_row_parts){.o = o,
                             .row_max = row_max,
                             .row_sum = row_sum,
                             .o_step = 1,
                             .stat_step = 1,
                             .n_parts = n,
                             .d_v = 1};
}

/* n parts; each holds the logits for which part_of says so, of {0, 1, 2} with V = {1, 2, 4}. */
static void merge_three(test_run *run, const char *what, const int part_of[3], int n_parts,
                        double want, double want_lse)
{
    static const float logits[] = {0, 1, 2}, values[] = {1, 2, 4};
    float o[MERGE_PARTS] = {0}, m[MERGE_PARTS], sum[MERGE_PARTS] = {0}, out = NAN;
    case_fill(m, MERGE_PARTS, -INFINITY);
    for (int j = 0; j < 3; ++j)
        if (part_of[j] >= 0)
            m[part_of[j]] = fmaxf(m[part_of[j]], logits[j]);
    for (int j = 0; j < 3; ++j)
        if (part_of[j] >= 0) {
            const float weight = expf(logits[j] - m[part_of[j]]);
            sum[part_of[j]] += weight;
            o[part_of[j]] += weight * values[j];
        }
    const sattn_row_parts parts = parts_of(o, m, sum, n_parts);
    const sattn_row_statistics row = sattn_merge_row(&parts, -INFINITY, &out);
    const float lse = sattn_log_sum_exp(row.max, row.sum);
    case_expect_near(run, what, &out, &want, 1, 1e-6);
    if (isfinite(want_lse))
        case_expect_near(run, what, &lse, &want_lse, 1, 1e-6);
    else if (sattn_classify_f32(lse) != SATTN_CLASS_MINUS_INF)
        test_fail(run, "%s: log-sum-exp is %g instead of -inf", what, (double)lse);
}

/* Three parts with one logit each, and a sink: one part more, of value 0. */
static void merge_sink(test_run *run, float sink)
{
    const float o[] = {1, 2, 4}, m[] = {0, 1, 2}, sum[] = {1, 1, 1};
    const double total = 1 + exp(1) + exp(2) + exp((double)sink);
    const double want = (1 + 2 * exp(1) + 4 * exp(2)) / total, want_lse = log(total);
    float out = NAN;
    const sattn_row_parts parts = parts_of(o, m, sum, 3);
    const sattn_row_statistics row = sattn_merge_row(&parts, sink, &out);
    const float lse = sattn_log_sum_exp(row.max, row.sum);
    case_expect_near(run, "N39 merge with a sink", &out, &want, 1, 1e-6);
    case_expect_near(run, "N39 merge with a sink: log-sum-exp", &lse, &want_lse, 1,
                     1e-6 + 1e-7 * fabs(want_lse));
}

/* One part is like `m` and `sum`, the other ordinary or empty: the row must be NaN. */
static void merge_nan(test_run *run, const char *what, float m_bad, float sum_bad, bool with_finite)
{
    for (int first = 0; first < 2; ++first) {
        const float o[] = {first ? sum_bad * 0.0f : 1.0f, first ? 1.0f : sum_bad * 0.0f};
        const float good_m = with_finite ? 0.5f : -INFINITY, good_sum = with_finite ? 1.0f : 0.0f;
        const float m[] = {first ? m_bad : good_m, first ? good_m : m_bad};
        const float sum[] = {first ? sum_bad : good_sum, first ? good_sum : sum_bad};
        float out = 1.0f;
        const sattn_row_parts parts = parts_of(o, m, sum, 2);
        sattn_merge_row(&parts, -INFINITY, &out);
        case_expect_nan(run, what, &out, 1);
    }
}

void case_merge(test_run *run)
{
    static const struct {
        int part_of[3];
        double want, want_lse;
    } rows[] = {
        {{0, 0, 0}, 3.2404513, 2.4076060},    {{0, 1, 2}, 3.2404513, 2.4076060},
        {{2, 1, 0}, 3.2404513, 2.4076060},    {{3, 3, 7}, 3.2404513, 2.4076060},
        {{7, 0, 7}, 3.2404513, 2.4076060},    {{-1, 4, -1}, 2, 1},
        {{-1, -1, -1}, 0, (double)-INFINITY},
    };
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; ++at)
        if (test_step(run, TEST_ALWAYS))
            merge_three(run, "N39 merge", rows[at].part_of, MERGE_PARTS, rows[at].want,
                        rows[at].want_lse);
    static const float sinks[] = {-INFINITY, -90, -1, 0, 2, 5, 80};
    for (size_t at = 0; at < sizeof sinks / sizeof sinks[0]; ++at)
        if (test_step(run, TEST_ALWAYS))
            merge_sink(run, sinks[at]);
    for (int with_finite = 0; with_finite < 2; ++with_finite)
        if (test_step(run, TEST_ALWAYS)) {
            merge_nan(run, "N39 merge with a NaN part", 1.0f, NAN, with_finite);
            merge_nan(run, "N39 merge with a +inf part", INFINITY, NAN, with_finite);
        }
    if (test_step(run, TEST_ALWAYS)) /* every visible key has score -inf */
        merge_nan(run, "N39 merge with nothing but -inf scores", -INFINITY, 1.0f, false);
}
