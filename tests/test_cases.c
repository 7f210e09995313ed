/* SPDX-License-Identifier: MIT
 *
 * test_cases.c: failures that other projects met, as exact checks of the public call with one
 * kernel forced. Numerics are here; memory, sizes and splits in test_cases_layout.c. */
#include "tests/test_cases.h"

#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

sattn_attention_args case_args(int64_t n_q, int64_t n_k, int64_t d, int64_t d_v, const float *q,
                               const float *k, const float *v, float *o)
{
    sattn_attention_args args = {.batch = 1,
                                 .n_q_heads = 1,
                                 .n_kv_heads = 1,
                                 .n_q = n_q,
                                 .n_k = n_k,
                                 .d = d,
                                 .d_v = d_v,
                                 .q.data = q,
                                 .k.data = k,
                                 .v.data = v,
                                 .o.data = o,
                                 .has_scale = true,
                                 .scale = 1.0f};
    case_dense(&args);
    return args;
}

void case_dense(sattn_attention_args *args)
{
    sattn_view *const inputs[] = {&args->q, &args->k, &args->v};
    const int64_t columns[] = {args->d, args->d, args->d_v};
    for (int i = 0; i < 3; ++i) {
        inputs[i]->stride_t = columns[i];
        inputs[i]->stride_h = (i == 0 ? args->n_q : args->n_k) * columns[i];
        inputs[i]->stride_b = (i == 0 ? args->n_q_heads : args->n_kv_heads) * inputs[i]->stride_h;
    }
    args->o.stride_t = args->d_v;
    args->o.stride_h = args->n_q * args->d_v;
    args->o.stride_b = args->n_q_heads * args->o.stride_h;
}

static sattn_mask mask_of(const sattn_attention_args *args, sattn_mask_kind kind, const void *data)
{
    const sattn_mask mask = {.kind = kind,
                             .data = data,
                             .extent = {1, 1, args->n_q, args->n_k},
                             .stride = {0, 0, args->n_k, 1}};
    return mask;
}

sattn_mask case_mask_bool(const sattn_attention_args *args, const uint8_t *mask)
{
    return mask_of(args, SATTN_MASK_BOOL, mask);
}

sattn_mask case_mask_add(const sattn_attention_args *args, const float *mask)
{
    return mask_of(args, SATTN_MASK_ADDITIVE, mask);
}

bool case_is_chain(const test_run *run)
{
    return run->kernel->op != SATTN_OP_fused;
}

sattn_options case_options(const test_run *run)
{
    return (sattn_options){.kernels = run->kernel->name,
                           .isa = sattn_isa_name(run->kernel->needs),
                           .plan = case_is_chain(run) ? "chain" : "fused"};
}

sattn_status case_status(test_run *run, const sattn_attention_args *args)
{
    const sattn_options options = case_options(run);
    return sattn_attention(args, &options);
}

bool case_attend(test_run *run, const char *what, const sattn_attention_args *args)
{
    const sattn_status status = case_status(run, args);
    if (status != SATTN_OK)
        test_fail(run, "%s: %s: %s", what, sattn_status_string(status), sattn_last_error());
    return status == SATTN_OK;
}

void case_expect_near(test_run *run, const char *what, const float *got, const double *want,
                      int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; ++i)
        if (sattn_classify_f32(got[i]) != SATTN_CLASS_FINITE ||
            !(fabs((double)got[i] - want[i]) <= tolerance)) {
            test_fail(run, "%s: element %lld is %.9g instead of %.9g", what, (long long)i,
                      (double)got[i], want[i]);
            return;
        }
}

void case_expect_same(test_run *run, const char *what, const float *got, const float *want,
                      int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (memcmp(&got[i], &want[i], sizeof got[i]) != 0) {
            test_fail(run, "%s: element %lld is %.9g instead of exactly %.9g", what, (long long)i,
                      (double)got[i], (double)want[i]);
            return;
        }
}

void case_expect_nan(test_run *run, const char *what, const float *got, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (sattn_classify_f32(got[i]) != SATTN_CLASS_NAN) {
            test_fail(run, "%s: element %lld is %.9g instead of NaN", what, (long long)i,
                      (double)got[i]);
            return;
        }
}

void case_expect_plus_zero(test_run *run, const char *what, const float *got, int64_t n)
{
    const float zero = 0.0f;
    for (int64_t i = 0; i < n; ++i)
        case_expect_same(run, what, &got[i], &zero, 1);
}

void case_fill(float *to, int64_t n, float value)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = value;
}

void case_fill_normal(float *to, int64_t n, uint64_t seed, uint64_t stream)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = sattn_random_normal(seed, stream, (uint64_t)i);
}

enum { MAX_KEYS = 300 };

static float one_hot_values[64 * 64];

/* V = I, so that the output row is the row of weights. n <= 64. */
static const float *identity(int64_t n)
{
    case_fill(one_hot_values, n * n, 0.0f);
    for (int64_t i = 0; i < n; ++i)
        one_hot_values[i * n + i] = 1.0f;
    return one_hot_values;
}

/* The weights of one row with the given logits (q = 1, k = logit). */
static bool weights_of(test_run *run, const char *what, const float *logits, int64_t n,
                       float *weights)
{
    const float q = 1.0f;
    case_fill(weights, n, NAN);
    const sattn_attention_args args = case_args(1, n, 1, n, &q, logits, identity(n), weights);
    return case_attend(run, what, &args);
}

static void case_masked_row(test_run *run)
{
    static const float v[] = {1, 2, 3, 4, 5, 6, 7, 8};
    float ones[8], o[8], lse[4];
    case_fill(ones, 8, 1.0f);
    for (int hidden = 0; hidden < 16; ++hidden) /* bit i: row i is masked */
        for (int additive = 0; additive < 2; ++additive) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            uint8_t allow[16];
            float bias[16];
            for (int at = 0; at < 16; ++at) {
                allow[at] = hidden >> at / 4 & 1 ? 0 : 1;
                bias[at] = allow[at] ? 0.0f : -INFINITY;
            }
            case_fill(o, 8, NAN);
            sattn_attention_args args = case_args(4, 4, 2, 2, ones, ones, v, o);
            args.mask = additive ? case_mask_add(&args, bias) : case_mask_bool(&args, allow);
            args.lse = lse;
            args.lse_stride_b = args.lse_stride_h = 4;
            if (!case_attend(run, "N01 masked row", &args))
                continue;
            for (int i = 0; i < 4; ++i) {
                const double row[] = {4, 5}, row_lse[] = {2 + log(4)};
                if (allow[4 * i]) {
                    case_expect_near(run, "N01 visible row", &o[2 * i], row, 2, 1e-6);
                    case_expect_near(run, "N01 log-sum-exp", &lse[i], row_lse, 1, 1e-6);
                } else {
                    const float none = -INFINITY;
                    case_expect_plus_zero(run, "N01 masked row", &o[2 * i], 2);
                    case_expect_same(run, "N01 log-sum-exp of a masked row", &lse[i], &none, 1);
                }
            }
        }
}

/* Logits, V and additive mask of one row with d_v = 1. */
static void expect_biased(test_run *run, const char *what, const float *logits, const float *v,
                          const float *bias, int64_t n, double want)
{
    const float q = 1.0f;
    float o = NAN;
    sattn_attention_args args = case_args(1, n, 1, 1, &q, logits, v, &o);
    args.mask = case_mask_add(&args, bias);
    if (test_step(run, TEST_ALWAYS) && case_attend(run, what, &args))
        case_expect_near(run, what, &o, &want, 1, 1e-6);
}

static void case_mask_sentinels(test_run *run)
{
    const float inf = INFINITY, big = -FLT_MAX;
    expect_biased(run, "N02 -inf mask", (float[]){0, 0}, (float[]){1, 3}, (float[]){-inf, -inf}, 2,
                  0);
    expect_biased(run, "N02 -40000 mask", (float[]){0, 0}, (float[]){1, 3},
                  (float[]){-40000, -40000}, 2, 2);
    expect_biased(run, "N03 -FLT_MAX mask", (float[]){3, -5, 0}, (float[]){1, 2, 6},
                  (float[]){big, big, big}, 3, 3);
    expect_biased(run, "N03 0 and -FLT_MAX", (float[]){3, -5, 0}, (float[]){1, 2, 6},
                  (float[]){0, big, big}, 3, 1);
    const volatile float causal = big, padding = big;
    const float sum = causal + padding; /* -inf */
    expect_biased(run, "N03 two masks added", (float[]){3, -5, 0}, (float[]){1, 2, 6},
                  (float[]){sum, sum, sum}, 3, 0);
    expect_biased(run, "N08 logits 0 and -inf", (float[]){0, -inf}, (float[]){1, 3e38f},
                  (float[]){0, 0}, 2, 1);
    expect_biased(run, "N08 bias -inf", (float[]){0, 0}, (float[]){1, 3e38f}, (float[]){0, -inf}, 2,
                  1);
}

static void case_one_visible_key(test_run *run)
{
    static const float value[] = {7, -3};
    static const int64_t places[] = {0, 63, 64, 127, 128};
    float q[3], k[3 * MAX_KEYS], v[2 * MAX_KEYS], bias[MAX_KEYS], o[2];
    uint8_t allow[MAX_KEYS];
    case_fill_normal(q, 3, run->seed, 1);
    case_fill_normal(k, 3 * MAX_KEYS, run->seed, 2);
    for (int64_t at = 0; at < MAX_KEYS + 5; ++at)
        for (int additive = 0; additive < 2; ++additive) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            const int64_t n = at < 5 ? 129 : at - 4;
            const int64_t j = at < 5 ? places[at] : n - 1;
            memset(allow, 0, sizeof allow);
            case_fill(bias, n, -INFINITY);
            case_fill_normal(v, 2 * n, run->seed, 3);
            allow[j] = 1;
            bias[j] = 0.0f;
            memcpy(&v[2 * j], value, sizeof value);
            case_fill(o, 2, NAN);
            sattn_attention_args args = case_args(1, n, 3, 2, q, k, v, o);
            args.mask = additive ? case_mask_add(&args, bias) : case_mask_bool(&args, allow);
            if (case_attend(run, "N04 one visible key", &args))
                case_expect_same(run, "N04 one visible key", o, value, 2);
        }
}

static void case_short_rows(test_run *run)
{
    static const float constants[] = {0, 1, -3, 88.7f, 1e30f, -1e30f};
    float logits[40], weights[40];
    double want[40];
    for (int64_t n = 1; n <= 33; ++n)
        for (int c = 0; c < 6; ++c) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            case_fill(logits, n, constants[c]);
            for (int64_t i = 0; i < n; ++i)
                want[i] = 1.0 / (double)n;
            if (weights_of(run, "N05 constant row", logits, n, weights))
                case_expect_near(run, "N05 constant row", weights, want, n, 1e-7);
            const float one = 1.0f;
            if (n == 1)
                case_expect_same(run, "N05 one key", weights, &one, 1);
        }
}

static void case_empty(test_run *run)
{
    float q[24] = {1}, o[24];
    for (int causal = 0; causal < 2; ++causal)
        if (test_step(run, TEST_ALWAYS)) {
            case_fill(o, 24, NAN);
            sattn_attention_args args = case_args(3, 0, 8, 8, q, NULL, NULL, o);
            args.causal = causal;
            if (case_attend(run, "N06 no keys", &args))
                case_expect_plus_zero(run, "N06 no keys", o, 24);
        }
    for (int which = 0; which < 4; ++which) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        case_fill(o, 24, 5.0f);
        sattn_attention_args args = case_args(3, 3, 8, 8, q, q, q, o);
        if (which == 0)
            args.n_q = 0;
        if (which == 1)
            args.batch = 0;
        if (which == 2)
            args.n_q_heads = args.n_kv_heads = 0;
        if (which == 3)
            args.d = 0;
        const sattn_status status = case_status(run, &args);
        if (status != (which == 3 ? SATTN_ERR_ARGUMENT : SATTN_OK))
            test_fail(run, "N06 n_q, batch, heads or d of 0: variant %d: %s", which,
                      sattn_status_string(status));
        const float five = 5.0f;
        for (int i = 0; i < 24; ++i)
            case_expect_same(run, "N06 nothing to compute, but something was written", &o[i], &five,
                             1);
    }
}

static void case_large_logits(test_run *run)
{
    static const struct {
        int64_t n;
        float logits[3];
        double weights[3];
    } rows[] = {
        {3, {1e4f, 9999, -1e4f}, {0.7310586, 0.2689414, 0}},
        {3, {800, 1, 1}, {1, 0, 0}},
        {2, {1e8f, 100000008}, {1 - 0.9996646, 0.9996646}},
        {2, {-1e30f, 1e30f}, {0, 1}},
        /* N08: edges of exp, absolutely */
        {2, {0, -87.33654f}, {1, 1.1755e-38}},
        {2, {0, -88.72283f}, {1, 0}},
        {2, {-104, 0}, {0, 1}},
        {2, {0, -3e38f}, {1, 0}},
        {3, {88.72283f, 88.72284f, 0}, {0.4999981, 0.5000019, 0}},
        {3, {0, -0.5f, -1}, {0.5064804, 0.3071959, 0.1863237}},
        {2, {0, -15.9f}, {1, 1.2437e-7}},
    };
    float weights[3];
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; ++at)
        if (test_step(run, TEST_ALWAYS) &&
            weights_of(run, "N07 large logits", rows[at].logits, rows[at].n, weights))
            case_expect_near(run, "N07 large logits", weights, rows[at].weights, rows[at].n, 2e-7);
}

static void case_infinite_logits(test_run *run)
{
    static const float patterns[][3] = {
        {0, INFINITY, 0},           {INFINITY, INFINITY, 0},           {-INFINITY, 0, INFINITY},
        {NAN, INFINITY, -INFINITY}, {-INFINITY, -INFINITY, -INFINITY},
    };
    float logits[64], weights[64];
    for (size_t at = 0; at < sizeof patterns / sizeof patterns[0]; ++at)
        for (int64_t n = 2; n <= 37; n += n < 4 ? 1 : 3) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            for (int64_t i = 0; i < n; ++i)
                logits[i] = at == 4 ? -INFINITY : i < 3 ? patterns[at][i] : 0.0f;
            if (n == 2 && at >= 2 && at != 4) /* would lose the +inf */
                logits[1] = INFINITY;
            if (weights_of(run, "N09 infinite logits", logits, n, weights))
                case_expect_nan(run, "N09 infinite logits", weights, n);
        }
}

static void case_nan_everywhere(test_run *run)
{
    enum { N = 19 };
    for (int p = 0; p < N; ++p)
        for (int where = 0; where < 12;
             ++where) { /* the same with softcap, with ALiBi and a sink */
            if (!test_step(run, TEST_SAMPLED))
                continue;
            static const float slope = 0.25f, sink = 1.0f;
            float q[N], k[N * N] = {0}, bias[N] = {0}, o[N];
            for (int i = 0; i < N; ++i) {
                q[i] = 1.0f;
                k[i * N + i] = 0.1f * (float)i;
            }
            if (where % 3 == 0)
                k[p * N + p] = NAN;
            else if (where % 3 == 1)
                q[p] = NAN;
            else
                bias[p] = NAN;
            case_fill(o, N, 1.0f);
            sattn_attention_args args = case_args(1, N, N, N, q, k, identity(N), o);
            args.mask = case_mask_add(&args, bias);
            args.softcap = where / 3 & 1 ? 2.0f : 0.0f;
            args.alibi_slopes = where / 3 & 2 ? &slope : NULL;
            args.sinks = where / 3 & 2 ? &sink : NULL;
            static const char *const names[] = {"N10 NaN in K", "N10 NaN in Q", "N10 NaN in mask"};
            if (case_attend(run, names[where % 3], &args))
                case_expect_nan(run, names[where % 3], o, N);
        }
}

/* How the last keys of a cache are hidden. */
typedef enum hiding { BY_BOOL, BY_BIAS, BY_CAUSAL, BY_LENGTH, BY_WINDOW, HIDINGS } hiding;

static void attend_hidden(test_run *run, hiding how, int64_t length, const float *q, const float *k,
                          const float *v, float *o)
{
    enum { CAPACITY = 20, N_Q = 3 };
    static const char *const names[] = {"N11 hidden by bool mask", "N11 hidden by additive mask",
                                        "N11 hidden by causal limit", "N11 beyond the length",
                                        "N11 hidden by a window"};
    uint8_t allow[N_Q * CAPACITY];
    float bias[N_Q * CAPACITY];
    for (int64_t at = 0; at < N_Q * CAPACITY; ++at) {
        allow[at] = at % CAPACITY < length;
        bias[at] = allow[at] ? 0.0f : -INFINITY;
    }
    const int64_t offset = length - N_Q;
    case_fill(o, 2 * N_Q * 6, NAN);
    sattn_attention_args args = case_args(N_Q, CAPACITY, 5, 6, q, k, v, o);
    args.n_q_heads = 2;
    case_dense(&args);
    if (how == BY_BOOL)
        args.mask = case_mask_bool(&args, allow);
    if (how == BY_BIAS)
        args.mask = case_mask_add(&args, bias);
    args.causal = how == BY_CAUSAL;
    args.has_window = how == BY_WINDOW;
    args.window_left = -1;
    if (how == BY_CAUSAL || how == BY_WINDOW)
        args.causal_offset = &offset;
    if (how == BY_LENGTH)
        args.n_k_valid = &length;
    case_attend(run, names[how], &args);
}

/* Bits as if zeros stood there. */
static void case_hidden_garbage(test_run *run)
{
    enum { CAPACITY = 20, D = 5, D_V = 6, N_OUT = 2 * 3 * 6 };
    static const float garbage[] = {NAN, INFINITY, -INFINITY};
    float q[2 * 3 * D], k[CAPACITY * D], v[CAPACITY * D_V], want[N_OUT], got[N_OUT];
    for (int64_t length = 0; length <= 17; ++length)
        for (int how = 0; how < HIDINGS; ++how)
            for (int what = 0; what < 9; ++what) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                case_fill_normal(q, 2 * 3 * D, run->seed, 1);
                case_fill_normal(k, length * D, run->seed, 2);
                case_fill_normal(v, length * D_V, run->seed, 3);
                case_fill(k + length * D, (CAPACITY - length) * D, 0.0f);
                case_fill(v + length * D_V, (CAPACITY - length) * D_V, 0.0f);
                attend_hidden(run, (hiding)how, length, q, k, v, want);
                for (int64_t j = length; j < CAPACITY; ++j) {
                    case_fill(k + j * D, D, garbage[what % 3]);
                    v[j * D_V + j % D_V] = garbage[(what / 3 + j) % 3];
                }
                attend_hidden(run, (hiding)how, length, q, k, v, got);
                case_expect_same(run, "N11 garbage in hidden keys", got, want, N_OUT);
            }
}

/* A V that one row sees and another does not: the first is not finite there, the second is clean.
 */
static void case_half_hidden_value(test_run *run)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    for (int what = 0; what < 3; ++what)
        for (int additive = 0; additive < 2; ++additive) {
            if (!test_step(run, TEST_ALWAYS))
                continue;
            const float q[] = {1, 1}, k[] = {0, 0}, v[] = {2, 3, specials[what], 5};
            const uint8_t allow[] = {1, 0, 1, 1};
            const float bias[] = {0, -INFINITY, 0, 0};
            float o[4];
            case_fill(o, 4, 1.0f);
            sattn_attention_args args = case_args(2, 2, 1, 2, q, k, v, o);
            args.mask = additive ? case_mask_add(&args, bias) : case_mask_bool(&args, allow);
            if (!case_attend(run, "N11 V hidden from one row", &args))
                continue;
            const double clean[] = {2, 3, 4};
            case_expect_near(run, "N11 V hidden from row 0", o, clean, 2, 1e-6);
            case_expect_near(run, "N11 finite column of row 1", &o[3], &clean[2], 1, 1e-6);
            if (sattn_classify_f32(o[2]) != sattn_classify_f32(specials[what]))
                test_fail(run, "N11 visible V of %g gave %g", (double)specials[what], (double)o[2]);
        }
}

static void case_group_mapping(test_run *run)
{
    static const int64_t heads[][2] = {{4, 2}, {6, 2}, {6, 3}, {8, 1}, {5, 5}, {12, 4}};
    for (size_t at = 0; at < sizeof heads / sizeof heads[0]; ++at)
        for (int64_t n_q = 1; n_q <= 40; n_q += 13) {
            if (!test_step(run, TEST_SAMPLED))
                continue;
            enum { MOST = 12 * 40 };
            float q[MOST * 2], k[5 * 3 * 2], v[5 * 3], o[MOST];
            case_fill_normal(q, MOST * 2, run->seed, 1);
            case_fill_normal(k, 5 * 3 * 2, run->seed, 2);
            case_fill(o, MOST, NAN);
            sattn_attention_args args = case_args(n_q, 3, 2, 1, q, k, v, o);
            args.n_q_heads = heads[at][0];
            args.n_kv_heads = heads[at][1];
            case_dense(&args);
            for (int64_t i = 0; i < args.n_kv_heads * 3; ++i)
                v[i] = (float)(i / 3 + 1);
            const int64_t group = args.n_q_heads / args.n_kv_heads;
            double want[MOST];
            for (int64_t i = 0; i < args.n_q_heads * n_q; ++i)
                want[i] = (double)(i / n_q / group + 1);
            if (case_attend(run, "N14 heads of a group", &args))
                case_expect_near(run, "N14 heads of a group", o, want, args.n_q_heads * n_q, 1e-6);
        }
}

static void expect_scaled(test_run *run, const char *what, sattn_attention_args args, double want)
{
    float o = NAN;
    args.o.data = &o;
    if (test_step(run, TEST_ALWAYS) && case_attend(run, what, &args))
        case_expect_near(run, what, &o, &want, 1, 1e-6);
}

static void case_scale(test_run *run)
{
    const float q = 1, k[] = {0, 1}, v[] = {0, 1};
    float o;
    sattn_attention_args args = case_args(1, 2, 1, 1, &q, k, v, &o);
    args.scale = -1.0f;
    expect_scaled(run, "N17 scale -1", args, 0.2689414);
    args.scale = 0.0f;
    expect_scaled(run, "N17 scale 0", args, 0.5);
    args.has_scale = false;
    expect_scaled(run, "N17 default scale", args, 0.7310586);
    args.scale = -7.0f;
    expect_scaled(run, "N17 scale not to be looked at", args, 0.7310586);

    const float three[] = {5, 6, 7}, values[] = {1, 3, 9};
    const uint8_t allow[] = {1, 1, 0};
    const float bias[] = {0, 0, -INFINITY};
    for (int additive = 0; additive < 2; ++additive) {
        sattn_attention_args masked = case_args(1, 3, 1, 1, &q, three, values, &o);
        masked.mask = additive ? case_mask_add(&masked, bias) : case_mask_bool(&masked, allow);
        masked.scale = 0.0f;
        expect_scaled(run, "N17 masked, scale 0", masked, 2);
        masked.scale = -1.0f;
        expect_scaled(run, "N17 masked, scale -1", masked, 1.5378828);
    }
}

static const int64_t head_sizes[] = {1,  2,  3,  5,  7,  8,  9,   15,  16,  17, 31,
                                     33, 40, 63, 65, 80, 96, 100, 128, 256, 576};

/* 1/sqrt of the true head dimension, not of a padded one. */
static void case_default_scale(test_run *run)
{
    static const float v[] = {1, 0};
    for (size_t at = 0; at < sizeof head_sizes / sizeof head_sizes[0]; ++at) {
        const int64_t d = head_sizes[at];
        float q[576] = {1}, k[2 * 576] = {d == 80 ? 8.0f : 2.0f}, o = NAN;
        sattn_attention_args args = case_args(1, 2, d, 1, q, k, v, &o);
        args.has_scale = false;
        const double want = 1 / (1 + exp(-(double)k[0] / sqrt((double)d)));
        if (test_step(run, TEST_SAMPLED) && case_attend(run, "N18 default scale", &args))
            case_expect_near(run, "N18 default scale", &o, &want, 1, 1e-6);
    }
}

static void case_signal_in_tail(test_run *run)
{
    for (size_t at = 0; at < sizeof head_sizes / sizeof head_sizes[0]; ++at) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const int64_t d = head_sizes[at];
        float q[576] = {0}, k[2 * 576] = {0}, v[2 * 576] = {0}, o[576];
        q[d - 1] = 1.0f;
        k[d - 1] = 10.0f;
        k[2 * d - 1] = -10.0f;
        for (int64_t y = 0; y < d; ++y)
            v[y] = (float)(y + 1);
        case_fill(o, d, NAN);
        const sattn_attention_args args = case_args(1, 2, d, d, q, k, v, o);
        if (!case_attend(run, "N19 signal in the last feature", &args))
            continue;
        for (int64_t y = 0; y < d; ++y) {
            const double want = (double)(y + 1);
            case_expect_near(run, "N19 signal in the last feature", &o[y], &want, 1, 1e-6 * want);
        }
    }
}

static void case_value_width(test_run *run)
{
    static const int64_t widths[][2] = {{3, 5}, {192, 128}, {576, 512}, {1, 64}, {64, 1}};
    static float q[576], k[2 * 576], v[2 * 512], o[512 + 16];
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; ++at) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        const int64_t d_v = widths[at][1];
        case_fill_normal(k, 2 * 576, run->seed, 2);
        case_fill(v, d_v, 1.0f);
        case_fill(v + d_v, d_v, 3.0f);
        case_fill(o, 512 + 16, -5.0f);
        const sattn_attention_args args = case_args(1, 2, widths[at][0], d_v, q, k, v, o);
        if (!case_attend(run, "N20 d_v is not d", &args))
            continue;
        for (int64_t y = 0; y < d_v + 16; ++y) {
            const double want = y < d_v ? 2 : -5;
            case_expect_near(run, y < d_v ? "N20 d_v is not d" : "N20 written behind the output",
                             &o[y], &want, 1, 0);
        }
    }
}

static void case_raw_overflow(test_run *run)
{
    enum { D = 128 };
    static float q[D], k[2 * D], v[2 * D], o[D];
    case_fill(q, D, 1.7e18f);
    case_fill(k, 2 * D, 1.7e18f);
    case_fill(v, D, 2.0f);
    case_fill(v + D, D, 4.0f);
    case_fill(o, D, NAN);
    sattn_attention_args args = case_args(1, 2, D, D, q, k, v, o);
    args.has_scale = false;
    if (!test_step(run, TEST_ALWAYS) || !case_attend(run, "N31 raw dot product overflows", &args))
        return;
    for (int y = 0; y < D; ++y) {
        const double want = 3;
        case_expect_near(run, "N31 raw dot product overflows", &o[y], &want, 1, 1e-6);
    }
}

/* The op of the kernel on the command line. */
int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"N01", case_masked_row},
        {"N02-N03-N08", case_mask_sentinels},
        {"N04", case_one_visible_key},
        {"N05", case_short_rows},
        {"N06", case_empty},
        {"N07-N08", case_large_logits},
        {"N09", case_infinite_logits},
        {"N10", case_nan_everywhere},
        {"N11", case_hidden_garbage},
        {"N11-some-rows", case_half_hidden_value},
        {"N12", case_causal_alignment},
        {"N13", case_chunked_prefill},
        {"N14", case_group_mapping},
        {"N16", case_softcap},
        {"N17", case_scale},
        {"N18", case_default_scale},
        {"N19", case_signal_in_tail},
        {"N20", case_value_width},
        {"N21", case_over_read},
        {"N23", case_unaligned},
        {"N24", case_strided},
        {"N25", case_far_strides},
        {"N26", case_size_overflow},
        {"N27", case_long_rows},
        {"N28", case_mask_polarity},
        {"N30", case_mask_broadcast},
        {"N31", case_raw_overflow},
        {"N33", case_in_place},
        {"N35", case_same_row_in_batches},
        {"N39", case_splits},
        {"N39-merge", case_merge},
        {"windows", case_windows},
        {"alibi", case_alibi},
        {"sinks", case_sinks},
        {"scores", case_scores_stages},
    };
    return test_main_of(argc, argv, test_op_asked_for(argc, argv), groups,
                        sizeof groups / sizeof groups[0]);
}
