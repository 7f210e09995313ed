/* SPDX-License-Identifier: MIT
 *
 * test_semantics_exact.c: ALiBi, softcap, sinks and windows in calls small enough to work out by
 * hand, alone and together. V is mostly the unit matrix, so that a row of the output is the row of
 * weights. Each is run with 1, 2, 3 and 8 key splits where the kernel knows them. */
#include "tests/test_semantics.h"

#include "bench/verify/compare.h"
#include "tests/support/one_kernel.h"

#include <math.h>
#include <string.h>

enum { ROWS = 8, KEYS = 400 };

/* One batch entry; each query head with the keys of one KV head; d = 1, Q = 1 but where a case says
 * otherwise. */
typedef struct exact {
    float q[ROWS], k[KEYS], v[KEYS], o[ROWS * 8], lse[ROWS];
    sattn_attention_args args;
} exact;

static void exact_make(exact *e, int64_t n_q, int64_t n_k)
{
    memset(e, 0, sizeof *e);
    for (int i = 0; i < ROWS; ++i)
        e->q[i] = 1.0f;
    e->args = (sattn_attention_args){.batch = 1,
                                     .n_q_heads = 1,
                                     .n_kv_heads = 1,
                                     .n_q = n_q,
                                     .n_k = n_k,
                                     .d = 1,
                                     .d_v = 1,
                                     .q = {.data = e->q, .stride_h = n_q, .stride_t = 1},
                                     .k = {.data = e->k, .stride_t = 1},
                                     .v = {.data = e->v, .stride_t = 1},
                                     .o = {.data = e->o, .stride_h = n_q, .stride_t = 1},
                                     .has_scale = true,
                                     .scale = 1.0f,
                                     .lse = e->lse,
                                     .lse_stride_h = n_q};
}

/* V = I of n keys, so d_v = n. */
static void exact_unit_values(exact *e)
{
    const int64_t n = e->args.n_k;
    for (int64_t at = 0; at < n * n; ++at)
        e->v[at] = at / n == at % n ? 1.0f : 0.0f;
    e->args.d_v = e->args.v.stride_t = e->args.o.stride_t = n;
    e->args.o.stride_h = e->args.n_q * n;
}

/* Elements, as many as the call has. */
typedef struct exact_want {
    double of[30];
} exact_want;

static bool is_near(float got, double want, double tolerance)
{
    if (!isfinite(want))
        return sattn_classify_f32(got) == sattn_classify_f64(want);
    return sattn_classify_f32(got) == SATTN_CLASS_FINITE &&
           fabs((double)got - want) <= tolerance * fmax(1, fabs(want));
}

/* Runs the call and compares o [heads * n_q][d_v], and the log-sum-exp where given. */
static void expect(test_run *run, const char *what, exact *e, const exact_want *want,
                   const exact_want *want_lse)
{
    static const int splits[] = {1, 2, 3, 8};
    const int64_t rows = e->args.n_q_heads * e->args.n_q, size = rows * e->args.d_v;
    sattn_options options = one_kernel_options(run);
    for (int at = 0; at < (one_kernel_is_chain(run) ? 1 : 4); ++at) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        options.key_splits = splits[at];
        memset(e->o, 0xff, sizeof e->o);
        memset(e->lse, 0xff, sizeof e->lse);
        const sattn_status status = sattn_attention(&e->args, &options);
        if (status != SATTN_OK) {
            test_fail(run, "%s: %s: %s", what, sattn_status_string(status), sattn_last_error());
            continue;
        }
        for (int64_t x = 0; x < size; ++x)
            if (!is_near(e->o[x], want->of[x], 2e-6))
                test_fail(run, "%s: element %lld is %.9g instead of %.9g", what, (long long)x,
                          (double)e->o[x], want->of[x]);
        for (int64_t i = 0; want_lse && i < rows; ++i)
            if (!is_near(e->lse[i], want_lse->of[i], 2e-6))
                test_fail(run, "%s: log-sum-exp %lld is %.9g instead of %.9g", what, (long long)i,
                          (double)e->lse[i], want_lse->of[i]);
    }
}

/* Weights proportional to exp(logit), one more logit for the sink. */
static void weights_of(const double *logits, int n, double sink, double *weights)
{
    double sum = exp(sink);
    for (int j = 0; j < n; ++j)
        sum += exp(logits[j]);
    for (int j = 0; j < n; ++j)
        weights[j] = exp(logits[j]) / sum;
}

/* Q = 0: softmax of -slope |i + offset - j|, causal or not; the offset is 2 by default here. */
void exact_alibi(test_run *run)
{
    enum { N_Q = 3, N_K = 5, HEADS = 2 }; /* as many as exact_want has room for */
    static const double slopes[] = {1, -0.5};
    static const int64_t offsets[] = {2, 0, -3, 7, 1000000};
    for (size_t which = 0; which < sizeof offsets / sizeof offsets[0]; ++which)
        for (int causal = 0; causal < 2; ++causal) {
            exact e;
            exact_want want;
            const int64_t offset = offsets[which];
            exact_make(&e, N_Q, N_K);
            exact_unit_values(&e);
            memset(e.q, 0, sizeof e.q);
            e.args.n_q_heads = HEADS;
            e.args.causal = causal;
            e.args.causal_offset = which > 0 ? &offset : NULL;
            e.args.alibi_slopes = (float[]){1.0f, -0.5f};
            for (int row = 0; row < HEADS * N_Q; ++row) {
                const int64_t self = row % N_Q + offset;
                double logits[N_K];
                bool any = false;
                for (int j = 0; j < N_K; ++j) {
                    /* Relative to the distance of key 0, or exp would leave nothing. */
                    const double far = fabs((double)self), near = fabs((double)(self - j));
                    const bool sees = !causal || j <= self;
                    logits[j] = sees ? slopes[row / N_Q] * (far - near) : (double)-INFINITY;
                    any |= sees;
                }
                weights_of(logits, N_K, -INFINITY, want.of + row * N_K);
                for (int j = 0; !any && j < N_K; ++j)
                    want.of[row * N_K + j] = 0;
            }
            expect(run, "ALiBi", &e, &want, NULL);
        }
}

/* Order: scale, softcap, ALiBi, mask; the sink comes as it is. */
void exact_softcap(test_run *run)
{
    const double capped = 2 * tanh(0.5 * 8 / 2);
    exact e;
    exact_make(&e, 1, 2);
    e.v[1] = 1;
    e.k[0] = 8;
    e.args.scale = 0.5f;
    e.args.softcap = 2;
    expect(run, "N16 softcap after scale", &e, &(exact_want){{1 / (1 + exp(capped))}},
           &(exact_want){{log(exp(capped) + 1)}});
    e.args.scale = -0.5f;
    expect(run, "N16 softcap of a negative score", &e, &(exact_want){{1 / (1 + exp(-capped))}},
           NULL);

    e.k[0] = e.k[1] = 100; /* both capped to 1 */
    e.args.scale = 1;
    e.args.softcap = 1;
    e.args.alibi_slopes = (float[]){0.6931471805599453f}; /* key 0 is one away, key 1 none */
    expect(run, "ALiBi after softcap", &e, &(exact_want){{2.0 / 3}}, NULL);
    e.args.alibi_slopes = NULL;
    e.args.mask = (sattn_mask){.kind = SATTN_MASK_ADDITIVE,
                               .data = (float[]){0, 1.0986122886681098f},
                               .extent = {1, 1, 1, 2},
                               .stride = {0, 0, 0, 1}};
    expect(run, "mask after softcap", &e, &(exact_want){{0.75}}, NULL);
    e.args.mask.data = (float[]){0, -INFINITY};
    expect(run, "N16 a hidden key is not capped", &e, &(exact_want){{0}}, NULL);
    e.args.mask.kind = SATTN_MASK_NONE;
    e.k[0] = e.k[1] = 0;
    e.args.sinks = (float[]){3};
    expect(run, "a sink is not capped", &e, &(exact_want){{1 / (2 + exp(3))}},
           &(exact_want){{log(2 + exp(3))}});
}

/* N12, N13, N17 and N39 with a sink. */
void exact_sinks(test_run *run)
{
    static const float powers[] = {1, 10, 100, 1000, 10000};
    const int64_t top_left = 0, four = 4;
    exact e;
    exact_make(&e, 2, 5);
    memset(e.q, 0, sizeof e.q);
    memcpy(e.v, powers, sizeof powers);
    e.args.causal = true;
    e.args.sinks = (float[]){0}; /* counts as one more key with a value of 0 */
    e.args.causal_offset = &top_left;
    expect(run, "N12 top left, sink", &e, &(exact_want){{1.0 / 2, 11.0 / 3}},
           &(exact_want){{log(2), log(3)}});
    e.args.causal_offset = NULL;
    expect(run, "N12 bottom right, sink", &e, &(exact_want){{1111.0 / 5, 11111.0 / 6}},
           &(exact_want){{log(5), log(6)}});
    e.args.n_k_valid = &four;
    expect(run, "N13 four of five keys, sink", &e, &(exact_want){{111.0 / 4, 1111.0 / 5}}, NULL);

    exact_make(&e, 5, 2);
    memset(e.q, 0, sizeof e.q);
    memcpy(e.v, powers, sizeof powers);
    e.args.causal = true;
    e.args.sinks = (float[]){-1.5f};
    expect(run, "N12 rows without a key, sink", &e,
           &(exact_want){{0, 0, 0, 1 / (1 + exp(-1.5)), 11 / (2 + exp(-1.5))}},
           &(exact_want){{-1.5, -1.5, -1.5, log(1 + exp(-1.5)), log(2 + exp(-1.5))}});

    exact_make(&e, 1, 2);
    e.k[1] = e.v[1] = 1;
    e.args.sinks = (float[]){0};
    e.args.scale = -1;
    expect(run, "N17 scale -1, sink", &e, &(exact_want){{exp(-1) / (2 + exp(-1))}}, NULL);
    e.args.scale = 0;
    expect(run, "N17 scale 0, sink", &e, &(exact_want){{1.0 / 3}}, NULL);
    e.args.has_scale = false;
    expect(run, "N17 default scale, sink", &e, &(exact_want){{exp(1) / (2 + exp(1))}}, NULL);

    /* N39: logits 0, 1, 2 and a sink, the keys in three key blocks of 128, all others hidden. */
    static uint8_t allow[KEYS];
    const double sum = 1 + exp(1) + exp(2) + exp(0.5);
    exact_make(&e, 1, 2 * 128 + 5);
    for (int j = 0; j < 3; ++j) {
        e.k[j * 128] = (float)j;
        e.v[j * 128] = (float)(1 << j);
        allow[j * 128] = 1;
    }
    e.args.mask = (sattn_mask){.kind = SATTN_MASK_BOOL,
                               .data = allow,
                               .extent = {1, 1, 1, e.args.n_k},
                               .stride = {0, 0, 0, 1}};
    expect(run, "N39 three keys", &e, &(exact_want){{3.2404513}}, &(exact_want){{2.4076060}});
    e.args.sinks = (float[]){0.5f};
    expect(run, "N39 three keys and a sink", &e,
           &(exact_want){{(1 + 2 * exp(1) + 4 * exp(2)) / sum}}, &(exact_want){{log(sum)}});
    memset(allow, 0, sizeof allow);
    expect(run, "N39 no key, sink", &e, &(exact_want){{0}}, &(exact_want){{0.5}});
    e.args.sinks = NULL;
    expect(run, "N39 no key", &e, &(exact_want){{0}}, &(exact_want){{(double)-INFINITY}});
}

/* Any float is a sink. Four heads with the sinks of each kind: none spoils another. */
void exact_sink_values(test_run *run)
{
    const double nan = (double)NAN;
    exact e;
    exact_make(&e, 1, 2);
    e.k[1] = e.v[1] = 1;
    e.args.n_q_heads = 7;
    e.args.sinks = (float[]){-INFINITY, 1, NAN, 1, INFINITY, 1e30f, -1e30f};
    const double without = exp(1) / (1 + exp(1)), with = exp(1) / (1 + 2 * exp(1));
    const double lse = log(1 + exp(1)), lse_with = log(1 + 2 * exp(1));
    expect(run, "sinks by head", &e, &(exact_want){{without, with, nan, with, nan, 0, without}},
           &(exact_want){{lse, lse_with, nan, lse_with, nan, 1e30, lse}});
    e.v[0] = -4;
    expect(run, "sinks by head, both values count", &e,
           &(exact_want){{without - 4 / (1 + exp(1)), with - 4 / (1 + 2 * exp(1)), nan,
                          with - 4 / (1 + 2 * exp(1)), nan, 0, without - 4 / (1 + exp(1))}},
           NULL);

    /* Scores that are -inf and not hidden: a finite sink has all the weight. */
    e.k[0] = e.k[1] = -INFINITY;
    expect(run, "sinks and scores of -inf", &e, &(exact_want){{nan, 0, nan, 0, nan, 0, 0}},
           &(exact_want){{nan, 1, nan, 1, nan, 1e30, -1e30}});
    e.k[0] = INFINITY;
    expect(run, "sinks and a score of +inf", &e, &(exact_want){{nan, nan, nan, nan, nan, nan, nan}},
           &(exact_want){{nan, nan, nan, nan, nan, nan, nan}});
}

/* Left 2 and right 0 are three keys; with a sink, ALiBi and softcap in the window. */
void exact_limits(test_run *run)
{
    static const float powers[] = {1, 10, 100, 1000, 10000};
    const int64_t two = 2;
    const double e1 = exp(-1), e2 = exp(-2);
    exact e;
    exact_make(&e, 3, 5);
    memset(e.q, 0, sizeof e.q);
    memcpy(e.v, powers, sizeof powers);
    e.args.has_window = true;
    e.args.window_left = 2;
    e.args.causal_offset = &two;
    expect(run, "window of three keys", &e, &(exact_want){{37, 370, 3700}}, NULL);
    e.args.sinks = (float[]){0};
    expect(run, "window of three keys and a sink", &e,
           &(exact_want){{111.0 / 4, 1110.0 / 4, 11100.0 / 4}}, NULL);
    e.args.window_right = 1;
    expect(run, "window of four keys and a sink", &e,
           &(exact_want){{1111.0 / 5, 11110.0 / 5, 11100.0 / 4}}, NULL);
    e.args.causal = true;
    e.args.alibi_slopes = (float[]){1};
    const double sum = e2 + e1 + 1 + 1, row = (e2 + 10 * e1 + 100) / sum;
    expect(run, "causal window with ALiBi and a sink", &e,
           &(exact_want){{row, 10 * row, 100 * row}},
           &(exact_want){{log(sum), log(sum), log(sum)}});
    e.args.window_left = e.args.window_right = -1;
    e.args.softcap = 5;
    const double wide = e2 * e2 + e1 * e2 + e2 + e1 + 1 + 1;
    expect(run, "no window, the last row sees all", &e,
           &(exact_want){{row, (e1 * e2 + 10 * e2 + 100 * e1 + 1000) / (wide - e2 * e2),
                          (e2 * e2 + 10 * e1 * e2 + 100 * e2 + 1000 * e1 + 10000) / wide}},
           NULL);
}
