/* SPDX-License-Identifier: MIT
 *
 * test_cases_scores.c: softcap; the scores that a call returns, by a chain, where a fused kernel
 * refuses; output in place of the queries. */
#include "tests/test_cases.h"

#include "bench/verify/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sattn_attention_args with_scores(sattn_attention_args args, float *scores,
                                        sattn_scores_stage stage)
{
    args.scores = scores;
    args.scores_stage = stage;
    args.scores_stride_t = args.n_k;
    args.scores_stride_h = args.n_q * args.n_k;
    args.scores_stride_b = args.n_q_heads * args.n_q * args.n_k;
    return args;
}

/* N16: scale, softcap, bias, softmax, in this order. */
void case_softcap(test_run *run)
{
    const float q = 1, zeros[] = {0, 0}, eight[] = {8, 0}, v[] = {0, 1};
    const float hide[] = {0, -INFINITY};
    const uint8_t hide_bool[] = {1, 0};
    float o, scores[2];
    for (int additive = 0; additive < 2; ++additive) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        o = NAN;
        sattn_attention_args args = case_args(1, 2, 1, 1, &q, zeros, v, &o);
        args.softcap = 2;
        args.mask = additive ? case_mask_add(&args, hide) : case_mask_bool(&args, hide_bool);
        if (case_attend(run, "N16 softcap before the mask", &args))
            case_expect_plus_zero(run, "N16 softcap before the mask", &o, 1);
    }
    if (test_step(run, TEST_ALWAYS)) {
        const double capped[] = {1.9280552, 0};
        const double want = 1 / (1 + exp(capped[0]));
        sattn_attention_args args = case_args(1, 2, 1, 1, &q, eight, v, &o);
        args.scale = 0.5f;
        args.softcap = 2;
        if (case_is_chain(run))
            args = with_scores(args, scores, SATTN_SCORES_SOFTCAPPED);
        if (case_attend(run, "N16 softcap after scale", &args)) {
            if (case_is_chain(run))
                case_expect_near(run, "N16 softcap after scale", scores, capped, 2, 1e-6);
            case_expect_near(run, "N16 output of capped scores", &o, &want, 1, 1e-6);
        }
    }
    const float wrong[] = {-1, NAN, INFINITY};
    for (int at = 0; at < 3; ++at) {
        sattn_attention_args args = case_args(1, 2, 1, 1, &q, zeros, v, &o);
        args.softcap = wrong[at];
        o = 5;
        const sattn_status status = case_status(run, &args);
        if (test_step(run, TEST_ALWAYS) && (status == SATTN_OK || o != 5.0f))
            test_fail(run, "N16 softcap %g: %s", (double)wrong[at], sattn_status_string(status));
    }
}

enum { N_Q = 37, N_K = 150, HEADS = 4, KV_HEADS = 2, D = 5, D_V = 3, N_SCORES = HEADS * N_Q * N_K };

typedef struct scored_call {
    float q[HEADS * N_Q * D], k[KV_HEADS * N_K * D], v[KV_HEADS * N_K * D_V];
    float o[HEADS * N_Q * D_V], bias[N_Q * N_K];
    uint8_t allow[N_Q * N_K];
    int64_t n_valid;
    sattn_attention_args args;
} scored_call;

static const float scored_slopes[HEADS] = {0.25f, -0.0625f, 0.0f, 1.0f};
static const float scored_sinks[HEADS] = {0.5f, -INFINITY, 3.0f, -2.0f};

static void make_scored(test_run *run, scored_call *c, int variant)
{
    case_fill_normal(c->q, HEADS * N_Q * D, run->seed, 1);
    case_fill_normal(c->k, KV_HEADS * N_K * D, run->seed, 2);
    case_fill_normal(c->v, KV_HEADS * N_K * D_V, run->seed, 3);
    case_fill_normal(c->bias, N_Q * N_K, run->seed, 4);
    for (int64_t at = 0; at < N_Q * N_K; ++at) {
        /* Row 3 sees nothing, nobody sees key 11. */
        c->allow[at] = at * 5 % 8 > 2 && at / N_K != 3 && at % N_K != 11;
        c->bias[at] = c->allow[at] ? c->bias[at] : -INFINITY;
    }
    c->n_valid = variant & 8 ? 0 : N_K - 17;
    c->args = case_args(N_Q, N_K, D, D_V, c->q, c->k, c->v, c->o);
    c->args.n_q_heads = HEADS;
    c->args.n_kv_heads = KV_HEADS;
    case_dense(&c->args);
    c->args.n_k_valid = &c->n_valid;
    c->args.causal = variant & 1;
    if (variant & 2)
        c->args.mask = case_mask_bool(&c->args, c->allow);
    else if (variant & 4)
        c->args.mask = case_mask_add(&c->args, c->bias);
    c->args.softcap = variant & 16 ? 1.5f : 0.0f;
    c->args.has_window = variant & 32;
    c->args.window_left = 20;
    c->args.window_right = 3;
    if (variant & 64) {
        c->args.alibi_slopes = scored_slopes;
        c->args.sinks = scored_sinks;
    }
    case_fill(c->o, HEADS * N_Q * D_V, NAN);
}

static bool sees(const scored_call *c, int64_t i, int64_t j)
{
    const int64_t self = i + c->n_valid - N_Q;
    return j < c->n_valid && (!c->args.causal || j <= self) &&
           (!c->args.has_window || (j >= self - 20 && j <= self + 3)) &&
           (c->args.mask.kind == SATTN_MASK_NONE || c->allow[i * N_K + j]);
}

/* Every element of every stage in double. */
static void check_stage(test_run *run, const scored_call *c, const float *scores)
{
    static const char *const names[] = {"scores, scaled", "scores, softcapped", "scores, biased",
                                        "scores, probabilities"};
    const sattn_scores_stage stage = c->args.scores_stage;
    const float none = -INFINITY;
    for (int64_t h = 0; h < HEADS; ++h)
        for (int64_t i = 0; i < N_Q; ++i) {
            const bool has_bias = c->args.alibi_slopes != NULL;
            double row[N_K], sum = has_bias ? exp((double)scored_sinks[h]) : 0;
            for (int64_t j = 0; j < N_K; ++j) {
                const float *const q = c->q + (h * N_Q + i) * D;
                const float *const k = c->k + (h / 2 * N_K + j) * D;
                row[j] = 0;
                for (int x = 0; x < D; ++x)
                    row[j] += (double)q[x] * (double)k[x];
                if (stage != SATTN_SCORES_SCALED && c->args.softcap != 0.0f)
                    row[j] = (double)c->args.softcap * tanh(row[j] / (double)c->args.softcap);
                const double distance = fabs((double)(i + c->n_valid - N_Q - j));
                if (stage >= SATTN_SCORES_BIASED && has_bias)
                    row[j] -= (double)scored_slopes[h] * distance;
                if (stage >= SATTN_SCORES_BIASED && c->args.mask.kind == SATTN_MASK_ADDITIVE)
                    row[j] += (double)c->bias[i * N_K + j];
                sum += sees(c, i, j) ? exp(row[j]) : 0;
            }
            const float *const got = scores + (h * N_Q + i) * N_K;
            for (int64_t j = 0; j < N_K; ++j) {
                const bool hidden = stage >= SATTN_SCORES_BIASED ? !sees(c, i, j) : j >= c->n_valid;
                const double want =
                    stage == SATTN_SCORES_PROBABILITIES ? exp(row[j]) / sum : row[j];
                if (hidden && stage == SATTN_SCORES_PROBABILITIES)
                    case_expect_plus_zero(run, names[stage], &got[j], 1);
                else if (hidden)
                    case_expect_same(run, names[stage], &got[j], &none, 1);
                else
                    case_expect_near(run, names[stage], &got[j], &want, 1, 2e-5);
            }
        }
}

/* The call is refused, by names: the field that only a chain computes, and options.plan. */
static void expect_no_scores(test_run *run, const sattn_attention_args *args)
{
    const sattn_status status = case_status(run, args);
    if (status != SATTN_ERR_UNSUPPORTED || !strstr(sattn_last_error(), "scores") ||
        !strstr(sattn_last_error(), "options.plan"))
        test_fail(run, "scores: %s: \"%s\" instead of a refusal that names scores and options.plan",
                  sattn_status_string(status), sattn_last_error());
}

/* The output has the same bits with and without scores, and the scores are right. */
void case_scores_stages(test_run *run)
{
    static scored_call plain, c;
    float *const scores = test_allocate(N_SCORES * sizeof(float));
    if (!case_is_chain(run) && test_step(run, TEST_ALWAYS)) {
        make_scored(run, &c, 0);
        c.args = with_scores(c.args, scores, SATTN_SCORES_SCALED);
        expect_no_scores(run, &c.args);
    }
    for (int variant = 0; case_is_chain(run) && variant < 128; ++variant)
        for (int stage = 0; stage < 4; ++stage) {
            if ((variant & 6) == 6 || !test_step(run, TEST_SAMPLED))
                continue;
            make_scored(run, &plain, variant);
            make_scored(run, &c, variant);
            if (variant & 6 && stage >= SATTN_SCORES_BIASED)
                plain.k[11 * D] = c.k[11 * D] = NAN; /* a score that no stage may show */
            c.args = with_scores(c.args, scores, (sattn_scores_stage)stage);
            case_fill(scores, N_SCORES, NAN);
            if (!case_attend(run, "without scores", &plain.args) ||
                !case_attend(run, "with scores", &c.args))
                continue;
            check_stage(run, &c, scores);
            case_expect_same(run, "output with scores", c.o, plain.o, HEADS * N_Q * D_V);
            case_expect_right(run, "output with scores", &plain.args, 2);
        }
    free(scores);
}

/* N33: o exactly on q gives the bits of a call with an output of its own, also where hidden values
 * that are not finite ask for the repair. */
void case_in_place(test_run *run)
{
    enum { ROWS = 300, WIDTH = 9, KEYS = 260 };
    static float q[2 * ROWS * WIDTH], on_q[2 * ROWS * WIDTH], o[2 * ROWS * WIDTH];
    static float k[KEYS * WIDTH], v[KEYS * WIDTH];
    for (int variant = 0; variant < 8; ++variant) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        case_fill_normal(q, 2 * ROWS * WIDTH, run->seed, 1);
        case_fill_normal(k, KEYS * WIDTH, run->seed, 2);
        case_fill_normal(v, KEYS * WIDTH, run->seed, 3);
        if (variant & 1)
            v[(KEYS - 5) * WIDTH + 4] = v[7 * WIDTH] = NAN;
        memcpy(on_q, q, sizeof q);
        sattn_attention_args args = case_args(ROWS, KEYS, WIDTH, WIDTH, q, k, v, o);
        args.n_q_heads = 2;
        case_dense(&args);
        args.causal = variant & 2;
        if (variant & 4) {
            args.alibi_slopes = scored_slopes;
            args.sinks = scored_sinks;
            args.softcap = 3;
            args.has_window = true;
            args.window_left = 50;
            args.window_right = -1;
        }
        const bool ran = case_attend(run, "N33 output of its own", &args);
        args.q.data = args.o.data = on_q;
        if (ran && case_attend(run, "N33 output on the queries", &args))
            case_expect_same(run, "N33 output on the queries", on_q, o, 2 * ROWS * WIDTH);
    }
}
