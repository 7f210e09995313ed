/* SPDX-License-Identifier: MIT
 *
 * steps_softmax.c: the rows of softmax against the oracle. Bound: docs/numerics.md, "The steps";
 * delta, g, H, beta and W are its symbols. */
#include "bench/verify/record.h"
#include "bench/verify/steps.h"
#include "bench/verify/visible.h"

#include <math.h>
#include <stdlib.h>

/* -ln of the least weight: what trails further is 0. */
#define LAST_TRAILING 87.33654475055310

/* What an operation on numbers below FLT_MIN may be off by. */
#define LEAST_STEP 0x1p-149

typedef struct weights_key {
    double logit;
    double weight; /* exp(logit - max) */
    double delta;
} weights_key;

typedef struct weights_row {
    sattn_ref_scores scores;
    sattn_ref_softmax softmax;
    weights_key *keys; /* from key_begin on */
    double own_max;    /* of the keys' logits, without the sink */
    double exp_error;  /* of one exp, relative */
    double n_blocks;
    double n_sinks;   /* 1, or 0 */
    double alpha;     /* relative error of a weight: its rescaling, and the division's two; of a
                         sink one more rescaling, division, product */
    double beta;      /* of the sum by its additions and rescalings, relative */
    double top_delta; /* how far the largest computed logit may exceed the largest one */
    double w;         /* relative error of the sum */
} weights_row;

sattn_ref_scores sattn_verify_scores_of(const float *s, const sattn_visibility *visible, int64_t g,
                                        int64_t i)
{
    const sattn_verify_limits limits = {.n_k = visible->n_k,
                                        .causal = visible->causal,
                                        .has_window = visible->has_window,
                                        .offset = visible->causal_offset,
                                        .window_left = visible->window_left,
                                        .window_right = visible->window_right};
    const sattn_verify_keys keys = sattn_verify_visible(&limits, i);
    const int64_t at = g * visible->mask_group_stride + i * visible->mask_row_stride;
    return (sattn_ref_scores){.s = s,
                              .key_begin = keys.begin,
                              .key_end = keys.end,
                              .alibi_slope =
                                  visible->alibi_slopes ? (double)visible->alibi_slopes[g] : 0.0,
                              .position = sattn_verify_add(i, visible->causal_offset),
                              .mask_bool = visible->mask_bool ? visible->mask_bool + at : NULL,
                              .mask_add = visible->mask_add ? visible->mask_add + at : NULL,
                              .mask_key_stride = visible->mask_key_stride};
}

static bool is_visible(const sattn_ref_scores *scores, int64_t j)
{
    return j >= scores->key_begin && j < scores->key_end && sattn_ref_scores_visible(scores, j);
}

/* delta: the roundings of ALiBi and the mask. */
static double weights_delta(const weights_row *r, int64_t j, double logit)
{
    const sattn_ref_scores *const scores = &r->scores;
    const sattn_bound_bias bias = {
        .alibi_slope = scores->alibi_slope,
        .position = scores->position,
        .key = j,
        .mask = scores->mask_add ? (double)scores->mask_add[j * scores->mask_key_stride] : 0,
    };
    return sattn_bound_biased(&bias, 0, logit, LEAST_STEP);
}

/* g: how far a logit may trail `max`. */
static double weights_trail(const weights_row *r, double max, double logit, double delta)
{
    return max - logit + delta + r->top_delta;
}

/* H: relative error of a weight before it is summed or divided, of n_exps values of exp. */
static double weights_h(const weights_row *r, double logit, double delta, double n_exps)
{
    const double e = r->exp_error;
    const double trail = weights_trail(r, r->softmax.max, logit, delta);
    return expm1(delta + SATTN_UNIT_ROUNDOFF * trail + n_exps * e * (1 + e));
}

/* The keys, own_max and top_delta. */
static void weights_find_top(weights_row *r)
{
    const int64_t n = r->scores.key_end - r->scores.key_begin;
    r->own_max = -INFINITY;
    for (int64_t at = 0; at < n; ++at) {
        weights_key *const key = &r->keys[at];
        key->logit = sattn_ref_logit(&r->scores, r->scores.key_begin + at);
        key->weight = exp(key->logit - r->softmax.max);
        key->delta = weights_delta(r, r->scores.key_begin + at, key->logit);
        r->own_max = key->logit > r->own_max ? key->logit : r->own_max;
    }
    for (int64_t at = 0; at < n; ++at) {
        const weights_key *const key = &r->keys[at];
        const double exceeds = key->logit + key->delta - r->own_max;
        if (isfinite(key->logit) && exceeds > r->top_delta)
            r->top_delta = exceeds;
    }
}

/* Without keys where there was no memory for them. */
static weights_row weights_prepare(const sattn_verify_weights *row)
{
    weights_row r = {.scores = sattn_verify_scores_of(row->s, row->visible, row->g, row->i)};
    const int64_t n = r.scores.key_end - r.scores.key_begin;
    r.keys = malloc(((size_t)n + 1) * sizeof *r.keys);
    r.scores.has_sink = row->sink != NULL;
    r.scores.sink = row->sink ? (double)*row->sink : 0;
    r.softmax = sattn_ref_softmax_of(&r.scores);
    r.n_sinks = row->sink ? 1 : 0;
    r.exp_error = sattn_bound_defaults().exp_error * SATTN_UNIT_ROUNDOFF;
    if (!r.keys || r.softmax.is_nan || r.softmax.n_visible == 0)
        return r;
    const double longest = (double)(n < SATTN_KEY_BLOCK ? n : SATTN_KEY_BLOCK);
    const int64_t first_block = r.scores.key_begin / SATTN_KEY_BLOCK;
    const int64_t last_block = (r.scores.key_end - 1) / SATTN_KEY_BLOCK;
    r.n_blocks = (double)(last_block - first_block + 1);
    r.alpha = sattn_bound_gamma(0, 3 + 3 * r.n_sinks);
    r.beta = sattn_bound_gamma(0, longest - 1 + 2 * r.n_blocks - 1 + 2 * r.n_sinks);
    weights_find_top(&r);
    double w = 0;
    for (int64_t at = 0; at < n; ++at) {
        const weights_key *const key = &r.keys[at];
        if (key->weight == 0) /* its h may be infinite */
            continue;
        const double h = weights_h(&r, key->logit, key->delta, r.n_blocks + r.n_sinks);
        w += key->weight * (h + (1 + h) * r.beta);
    }
    const double sink_weight = row->sink ? exp(r.scores.sink - r.softmax.max) : 0;
    if (sink_weight > 0) {
        const double h = weights_h(&r, r.scores.sink, 0, 1);
        w += sink_weight * (h + (1 + h) * SATTN_UNIT_ROUNDOFF);
    }
    r.w = w / r.softmax.sum + (double)n * SATTN_LEAST_WEIGHT;
    return r;
}

static void verify_weight(const weights_row *r, int64_t j, float got, sattn_verify_place at,
                          sattn_verify_result *result)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    const weights_key *const key = &r->keys[j - r->scores.key_begin];
    const double logit = key->logit;
    const double delta = key->delta;
    const double want = key->weight / r->softmax.sum;
    double bound = 0;
    const double lost = LAST_TRAILING * (1 + 2 * u) + 2 * delta + 2 * r->top_delta;
    if (logit > -INFINITY && weights_trail(r, r->own_max, logit, delta) <= lost) {
        const double h = weights_h(r, logit, delta, (r->n_blocks > 1 ? 2 : 1) + r->n_sinks);
        const double relative = ((1 + h) * (1 + r->alpha) - 1 + r->w) / (1 - r->w);
        bound = r->w < 1 ? want * (relative + SATTN_ORACLE_ERROR) : 1;
        bound += SATTN_LEAST_WEIGHT * (1 + 4 * u);
    }
    const sattn_verify_element element = {.got = got,
                                          .want = bound > 0 ? want : 0,
                                          .bound = bound,
                                          .unit = u / r->softmax.sum,
                                          .in_ulp = want * r->softmax.sum >= 0.5};
    sattn_verify_record(&element, at, result);
}

/* m and the sum of exp(logit - m). */
static void verify_statistics(const weights_row *r, float m, float sum, sattn_verify_place at,
                              sattn_verify_result *result)
{
    const sattn_float_class m_class = sattn_classify_f32(m);
    const sattn_float_class sum_class = sattn_classify_f32(sum);
    if (r->softmax.n_visible == 0) {
        sattn_verify_record_bits(m, -INFINITY, "row_max of a row that sees no key", at, result);
        sattn_verify_record_bits(sum, 0.0f, "row_sum of a row that sees no key", at, result);
        return;
    }
    if (r->softmax.is_nan) {
        const bool says_so = m_class == SATTN_CLASS_NAN || m_class == SATTN_CLASS_PLUS_INF ||
                             sum_class == SATTN_CLASS_NAN ||
                             (m_class == SATTN_CLASS_MINUS_INF && sum > 0);
        ++result->n_elements;
        if (!says_so)
            sattn_verify_fail((double)sum, (double)NAN, 0, "statistics of a NaN row", at, result);
        return;
    }
    const double n = (double)r->softmax.n_visible;
    double want = r->softmax.sum * exp(r->softmax.max - (double)m);
    double bound = want * (r->w + SATTN_ORACLE_ERROR);
    if (r->w >= 1) { /* logits may be anything, but the largest weight is 1, all others at most */
        want = (1 + n) / 2;
        bound = (n - 1) / 2 + n * ((1 + r->exp_error) * (1 + r->beta) - 1);
    }
    const sattn_verify_element elements[] = {
        {.got = m, .want = r->softmax.max, .bound = 2 * r->top_delta},
        {.got = sum, .want = want, .bound = bound}};
    for (int e = 0; e < 2; ++e)
        sattn_verify_record(&elements[e], at, result);
}

static void verify_lse(const weights_row *r, float got, sattn_verify_place at,
                       sattn_verify_result *result)
{
    if (r->softmax.is_nan) {
        sattn_verify_record_nan(got, "log-sum-exp of a NaN row", at, result);
    } else if (r->softmax.n_visible == 0 && r->softmax.max == -INFINITY) {
        sattn_verify_record_bits(got, -INFINITY, "log-sum-exp of a row that sees no key", at,
                                 result);
    } else if (r->softmax.n_visible == 0) { /* the sink, as it is */
        const sattn_verify_element element = {.got = got, .want = r->scores.sink};
        sattn_verify_record(&element, at, result);
    } else {
        const double u = SATTN_UNIT_ROUNDOFF;
        const double log_sum = log(r->softmax.sum);
        const double want = r->softmax.max + log_sum;
        const double bound =
            -log1p(-fmin(r->w, 0.9)) + r->top_delta + u * (4 * log_sum + 1.01 * fabs(want) + 1);
        const sattn_verify_element element = {.got = got, .want = want, .bound = bound};
        sattn_verify_record(&element, at, result);
    }
}

void sattn_verify_weights_row(const sattn_verify_weights *row, const float *got,
                              const float *row_max, const float *row_sum, sattn_verify_place at,
                              sattn_verify_result *result)
{
    const weights_row r = weights_prepare(row);
    ++result->n_rows;
    if (!r.keys)
        sattn_verify_fail((double)NAN, (double)NAN, 0, "no memory to verify the row", at, result);
    for (int64_t j = 0; j < row->n_columns && r.keys; ++j) {
        at.column = j;
        if (!is_visible(&r.scores, j))
            sattn_verify_record_bits(got[j], 0.0f, "the weight of a hidden key must be +0", at,
                                     result);
        else if (r.softmax.is_nan)
            sattn_verify_record_nan(got[j], "every visible weight must be NaN", at, result);
        else
            verify_weight(&r, j, got[j], at, result);
    }
    at.column = -1;
    if (row_max && row_sum)
        verify_statistics(&r, *row_max, *row_sum, at, result);
    if (row->lse)
        verify_lse(&r, *row->lse, at, result);
    free(r.keys);
}
