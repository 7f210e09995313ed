/* SPDX-License-Identifier: MIT
 *
 * test_cases_bias.c: ALiBi and sinks, as exact checks of the public call with one kernel forced:
 * where a distance counts from, which head gets which slope and sink, in what order things are
 * added, and what a sink makes of rows that see nothing or nothing but -inf. */
#include "tests/test_cases.h"

#include <math.h>
#include <stdlib.h>

#define LN_2 0.69314718f

/* Two queries, three keys, Q = 0: with a slope of ln 2 a key weighs half for each step away. */
static void expect_distances(test_run *run, const char *what, sattn_attention_args args,
                             float slope, const double want[2])
{
    float o[2] = {NAN, NAN};
    args.o.data = o;
    args.alibi_slopes = &slope;
    if (test_step(run, TEST_ALWAYS) && case_attend(run, what, &args))
        case_expect_near(run, what, o, want, 2, 1e-4);
}

static void check_distances(test_run *run)
{
    static const float q[2], k[3], v[] = {1, 10, 100};
    static const uint8_t allow[] = {1, 0, 1, 1, 1, 0};
    static const float bias[] = {0, 0, LN_2, 0, -INFINITY, 0};
    float o[2];
    const int64_t two = 2, none = 0, back = -1, far = INT64_MAX, before = INT64_MIN;
    const sattn_attention_args plain = case_args(2, 3, 1, 1, q, k, v, o);
    sattn_attention_args args = plain; /* offset 1, the default: distances 1 0 1 and 2 1 0 */
    expect_distances(run, "ALiBi from the bottom right", args, LN_2,
                     (double[]){60.5 / 2, 105.25 / 1.75});
    expect_distances(run, "ALiBi, slope 0", args, 0, (double[]){37, 37});
    expect_distances(run, "ALiBi, negative slope", args, -LN_2, (double[]){212.0 / 5, 124.0 / 7});
    args.causal = true;
    expect_distances(run, "ALiBi, causal", args, LN_2, (double[]){7, 105.25 / 1.75});
    args = plain;
    args.has_window = true;
    args.window_left = 1;
    args.window_right = 0;
    expect_distances(run, "ALiBi in a window", args, LN_2, (double[]){7, 70});
    args = plain;
    args.n_k_valid = &two; /* offset 0 */
    expect_distances(run, "ALiBi of two keys of three", args, LN_2, (double[]){4, 7});
    args = plain;
    args.causal_offset = &none; /* distances 0 1 2 and 1 0 1 */
    expect_distances(run, "ALiBi from the top left", args, LN_2, (double[]){31 / 1.75, 60.5 / 2});
    args.causal_offset = &back; /* distances 1 2 3 and 0 1 2 */
    expect_distances(run, "ALiBi from before the first key", args, LN_2,
                     (double[]){31 / 1.75, 31 / 1.75});
    args.causal_offset = &far; /* the same float for every key */
    expect_distances(run, "ALiBi from INT64_MAX", args, LN_2, (double[]){37, 37});
    args.causal_offset = &before;
    expect_distances(run, "ALiBi from INT64_MIN", args, -LN_2, (double[]){37, 37});
    args = plain;
    args.mask = case_mask_bool(&args, allow);
    expect_distances(run, "ALiBi and a bool mask", args, LN_2, (double[]){50.5, 5.25 / 0.75});
    args.mask = case_mask_add(&args, bias);
    expect_distances(run, "ALiBi and a bias", args, LN_2, (double[]){110.5 / 2.5, 100.25 / 1.25});
}

/* Softcap, then ALiBi, then the mask: capped to 1.928, the score of 8 and that of 0 differ by one
 * step's bias of as much. */
static void check_order(test_run *run)
{
    const float q = 1, k[] = {8, 0}, v[] = {0, 1}, slope = 1.9280552f, bias[] = {1, 0};
    float o = NAN;
    const double even = 0.5, more = 1 / (1 + exp(1));
    sattn_attention_args args = case_args(1, 2, 1, 1, &q, k, v, &o);
    args.scale = 0.5f;
    args.softcap = 2;
    args.alibi_slopes = &slope;
    if (!test_step(run, TEST_ALWAYS))
        return;
    if (case_attend(run, "softcap before ALiBi", &args))
        case_expect_near(run, "softcap before ALiBi", &o, &even, 1, 1e-6);
    args.mask = case_mask_add(&args, bias);
    if (case_attend(run, "softcap before the mask", &args))
        case_expect_near(run, "softcap before the mask", &o, &more, 1, 1e-6);
}

/* N14: slopes and sinks belong to query heads. Two keys at distances 1 and 0, V = 1 and 0: with a
 * slope of h ln 2 and a sink of g ln 2 the first key weighs 2^-h / (2^-h + 1 + 2^g). */
static void check_heads(test_run *run, int64_t n_heads, int64_t n_kv_heads)
{
    enum { MOST = 12, N_Q = 3, BATCH = 2 };
    static const float q[BATCH * MOST * N_Q], k[BATCH * MOST * 2];
    float v[BATCH * MOST * 2], o[BATCH * MOST * N_Q], slopes[MOST], sinks[MOST];
    double want[BATCH * MOST * N_Q];
    if (!test_step(run, TEST_ALWAYS))
        return;
    sattn_attention_args args = case_args(N_Q, 2, 1, 1, q, k, v, o);
    args.batch = BATCH;
    args.n_q_heads = n_heads;
    args.n_kv_heads = n_kv_heads;
    case_dense(&args);
    args.alibi_slopes = slopes;
    args.sinks = sinks;
    for (int64_t at = 0; at < BATCH * MOST * 2; ++at)
        v[at] = at % 2 ? 0.0f : 1.0f;
    for (int64_t h = 0; h < n_heads; ++h) {
        const int64_t g = (h * 5 + 3) % 4;
        slopes[h] = (float)h * LN_2;
        sinks[h] = g == 3 ? -INFINITY : (float)g * LN_2;
        for (int64_t b = 0; b < BATCH; ++b)
            for (int64_t i = 0; i < N_Q; ++i) { /* offset -1 */
                const double first = exp2(-fabs((double)(i - 1)) * (double)h);
                const double second = exp2(-fabs((double)(i - 2)) * (double)h);
                const double sink = g == 3 ? 0 : exp2((double)g);
                want[(b * n_heads + h) * N_Q + i] = first / (first + second + sink);
            }
    }
    if (case_attend(run, "N14 slopes and sinks of query heads", &args))
        case_expect_near(run, "N14 slopes and sinks of query heads", o, want, BATCH * n_heads * N_Q,
                         1e-6);
}

/* Long rows of many blocks, every head and mask, against the oracle. */
static void check_long(test_run *run, int variant)
{
    enum { N_Q = 70, N_K = 420, HEADS = 4, KV_HEADS = 2, D = 6, D_V = 5 };
    static float q[HEADS * N_Q * D], k[KV_HEADS * N_K * D], v[KV_HEADS * N_K * D_V];
    static float o[HEADS * N_Q * D_V], lse[HEADS * N_Q], bias[N_Q * N_K];
    static const float slopes[] = {0.5f, -0.01f, 0.0f, 0.0625f};
    static const float sinks[] = {1.5f, -INFINITY, 100.0f, -3.0f};
    const int64_t n_valid = N_K - 30, offset = 200;
    case_fill_normal(q, HEADS * N_Q * D, run->seed, 1);
    case_fill_normal(k, KV_HEADS * N_K * D, run->seed, 2);
    case_fill_normal(v, KV_HEADS * N_K * D_V, run->seed, 3);
    case_fill_normal(bias, N_Q * N_K, run->seed, 4);
    for (int64_t at = 0; at < N_Q * N_K; ++at)
        bias[at] = at * 11 % 7 > 1 && at / N_K != 5 ? bias[at] : -INFINITY;
    sattn_attention_args args = case_args(N_Q, N_K, D, D_V, q, k, v, o);
    args.n_q_heads = HEADS;
    args.n_kv_heads = KV_HEADS;
    case_dense(&args);
    args.alibi_slopes = variant & 1 ? slopes : NULL;
    args.sinks = variant & 1 && variant & 2 ? NULL : sinks;
    args.causal = variant & 2;
    args.causal_offset = variant & 4 ? &offset : NULL;
    args.n_k_valid = &n_valid;
    args.softcap = variant & 8 ? 3.0f : 0.0f;
    args.has_window = variant & 16;
    args.window_left = 100;
    args.window_right = 20;
    args.lse = lse;
    args.lse_stride_h = N_Q;
    if (variant & 8) {
        args.mask = case_mask_add(&args, bias);
        v[210 * D_V + 1] = NAN; /* hidden from some rows */
    }
    case_fill(o, HEADS * N_Q * D_V, NAN);
    if (case_attend(run, "ALiBi and sinks over many keys", &args))
        case_expect_right(run, "ALiBi and sinks over many keys", &args, 2);
}

void case_alibi(test_run *run)
{
    static const int64_t heads[][2] = {{4, 2}, {6, 3}, {8, 1}, {5, 5}, {12, 4}};
    check_distances(run);
    check_order(run);
    for (size_t at = 0; at < sizeof heads / sizeof heads[0]; ++at)
        check_heads(run, heads[at][0], heads[at][1]);
    for (int variant = 0; variant < 32; ++variant)
        if (test_step(run, TEST_SAMPLED))
            check_long(run, variant);
}

/* ---- sinks */

/* One query with the given logits and V = 1, 2, 3, .. */
static sattn_attention_args sink_args(const float *logits, int64_t n, const float *sink, float *o,
                                      float *lse)
{
    static const float q = 1, v[] = {1, 2, 3, 4};
    sattn_attention_args args = case_args(1, n, 1, 1, &q, logits, v, o);
    args.sinks = sink;
    args.lse = lse;
    args.lse_stride_b = args.lse_stride_h = 1;
    return args;
}

static void check_finite_sinks(test_run *run)
{
    static const struct {
        float logits[2], sink;
        double o, lse;
    } rows[] = {
        {{0, 0}, 0, 1, 1.0986122886681098},
        {{0, 0}, -INFINITY, 1.5, 0.6931471805599453},
        {{0, 0}, -1000, 1.5, 0.6931471805599453},
        {{0, 0}, 1000, 0, 1000},
        {{1e4f, 1e4f}, 1e4f, 1, 10001.0986122886681098},
        {{-1e4f, -1e4f}, -1e4f, 1, -9998.9013877113318902},
        {{0, -INFINITY}, 0, 0.5, 0.6931471805599453},
        {{1, 0}, -1, 1.1546979, 1.4076059644443806},
    };
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; ++at) {
        float o = NAN, lse = NAN;
        const sattn_attention_args args = sink_args(rows[at].logits, 2, &rows[at].sink, &o, &lse);
        if (!test_step(run, TEST_ALWAYS) || !case_attend(run, "a sink", &args))
            continue;
        case_expect_near(run, "a sink", &o, &rows[at].o, 1, 5e-7);
        case_expect_near(run, "log-sum-exp with a sink", &lse, &rows[at].lse, 1,
                         fabs(rows[at].lse) * 1e-7 + 1e-6);
    }
}

/* N01, N06: a row that sees no key is +0, whatever the sink; its log-sum-exp is the sink, to the
 * bit. */
static void check_empty_rows(test_run *run)
{
    static const float sinks[] = {0.3f, -7e8f, -INFINITY, 1e-40f};
    static const uint8_t hide[] = {0, 0};
    const float logits[] = {0, 0};
    const int64_t none = 0, before = -9;
    for (int at = 0; at < 16; ++at) {
        float o = NAN, lse = NAN;
        sattn_attention_args args = sink_args(logits, 2, &sinks[at % 4], &o, &lse);
        if (at / 4 == 0)
            args.mask = case_mask_bool(&args, hide);
        else if (at / 4 == 1)
            args.n_k_valid = &none;
        else if (at / 4 == 2)
            args.n_k = 0;
        else
            args.has_window = true;
        args.causal_offset = at / 4 == 3 ? &before : NULL;
        args.window_right = 2;
        if (!test_step(run, TEST_ALWAYS) || !case_attend(run, "N01 empty row with a sink", &args))
            continue;
        case_expect_plus_zero(run, "N01 empty row with a sink", &o, 1);
        case_expect_same(run, "N01 log-sum-exp of an empty row with a sink", &lse, &sinks[at % 4],
                         1);
    }
}

/* N09: a sink of NaN or +inf makes its head's rows NaN, and no other's; with a finite one a row of
 * nothing but -inf scores is 0 times its V. */
static void check_infinite_sinks(test_run *run)
{
    enum { N_Q = 19, N_K = 7, HEADS = 3, D = 2 };
    static const float spoilt[] = {NAN, INFINITY};
    float q[HEADS * N_Q * D], k[N_K * D], v[N_K * D], o[HEADS * N_Q * D], want[HEADS * N_Q * D];
    for (int at = 0; at < 2 * HEADS; ++at) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        const int64_t size = N_Q * D, h = at / 2;
        float sinks[HEADS] = {1, 2, -1};
        case_fill_normal(q, HEADS * size, run->seed, 1);
        case_fill_normal(k, N_K * D, run->seed, 2);
        case_fill_normal(v, N_K * D, run->seed, 3);
        sattn_attention_args args = case_args(N_Q, N_K, D, D, q, k, v, want);
        args.n_q_heads = HEADS;
        case_dense(&args);
        args.sinks = sinks;
        const bool ran = case_attend(run, "N09 finite sinks", &args);
        args.o.data = o;
        sinks[h] = spoilt[at % 2];
        if (!ran || !case_attend(run, "N09 a sink of NaN or +inf", &args))
            continue;
        case_expect_nan(run, "N09 a sink of NaN or +inf", o + h * size, size);
        for (int64_t other = 0; other < HEADS; ++other)
            if (other != h)
                case_expect_same(run, "N09 heads beside it", o + other * size, want + other * size,
                                 size);
    }
    const float infinite[] = {-INFINITY, -INFINITY}, sinks[] = {0.25f, -INFINITY};
    for (int at = 0; at < 2; ++at) {
        float row = 1, lse = NAN;
        const sattn_attention_args args = sink_args(infinite, 2, &sinks[at], &row, &lse);
        if (!test_step(run, TEST_ALWAYS) || !case_attend(run, "N09 -inf beside a sink", &args))
            continue;
        if (at == 1) {
            case_expect_nan(run, "N09 -inf and no sink", &row, 1);
        } else if (row != 0.0f || lse != sinks[0]) {
            test_fail(run, "N09 -inf beside a sink: %g, log-sum-exp %.9g", (double)row,
                      (double)lse);
        }
    }
}

void case_sinks(test_run *run)
{
    check_finite_sinks(run);
    check_empty_rows(run);
    check_infinite_sinks(run);
}
