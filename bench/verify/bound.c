/* SPDX-License-Identifier: MIT
 *
 * bound.c: the a-priori error bound of docs/numerics.md, section "The bound". Names follow it: for
 * key k of a row, delta_k bounds the error of its logit, x_k the logarithm of its weight's error
 * factor, H_k = expm1(x_k), alpha_k and beta_k what numerator and denominator add by summing. */
#include "bench/verify/bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fused kernel's weight is exactly 0 for t below -62.38, a factor that rescales below -87.33;
 * that meets keys that trail the maximum by the lazy threshold less. From here on they may lose
 * their weight. */
#define VANISHING 60.0

/* Up to here every integer is a float. */
#define EXACT_INTEGERS 0x1p24

/* The error terms of one key. All but delta only where it has a weight. */
typedef struct bound_key {
    double delta, h, alpha, beta;
} bound_key;

typedef struct bound_row {
    const sattn_ref_row_args *args;
    const sattn_ref_row_result *row;
    const sattn_bound_params *params;
    bound_key *keys;
    int64_t n;           /* keys of the range */
    double n_blocks;     /* key blocks that it touches */
    double n_splits;     /* partial results that are merged; a sink counts as one */
    double block_length; /* keys summed from zero */
    double dot_error;    /* of a score, relative to sum_x |scale q_x k_x| */
    double dot_flush;    /* of a score, absolute */
    double top_delta;    /* how far the largest computed logit may exceed the largest one */
} bound_row;

/* Higham 2002, lemma 3.1; Higham & Mary 2019, theorem 2.4. */
double sattn_bound_gamma(double lambda, double n)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    if (n <= 0)
        return 0;
    if (lambda > 0)
        return expm1(lambda * sqrt(n) * u + n * u * u / (1 - u));
    return n * u < 1 ? n * u / (1 - n * u) : (double)INFINITY;
}

double sattn_bound_capped(double cap, double capped, double slack, double delta)
{
    const double size = fmin(fabs(capped) + slack, cap);
    const double least = fmax(fabs(capped) - slack, 0) / cap;
    const double tau = tanh(delta / cap);
    double passed = delta;
    if (least > tau)
        passed = fmin(delta, cap * tau * ((1 - least * least) + 0x1p-50) / (1 - least * tau));
    return passed + SATTN_SOFTCAP_ERROR * SATTN_UNIT_ROUNDOFF * size;
}

double sattn_bound_bias_of(const sattn_bound_bias *bias)
{
    return bias->mask - bias->alibi_slope * fabs((double)bias->position - (double)bias->key);
}

double sattn_bound_biased(const sattn_bound_bias *bias, double delta, double logit,
                          double underflow)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    double error = delta;
    if (bias->alibi_slope != 0) {
        const double distance = fabs((double)bias->position - (double)bias->key);
        if (distance > EXACT_INTEGERS)
            error += fabs(bias->alibi_slope) * u * distance;
        error += underflow * (1 + distance);
        error = error * (1 + u) + u * fabs(logit - bias->mask);
    }
    if (bias->mask != 0)
        error = error * (1 + u) + u * fabs(logit);
    return error;
}

static double bound_delta(const bound_row *b, int64_t at)
{
    const sattn_ref_row_args *const a = b->args;
    const double logit = b->row->logits[at];
    const int64_t key = a->key_begin + at;
    const sattn_bound_bias bias = {
        .alibi_slope = a->alibi_slope,
        .position = a->position,
        .key = key,
        .mask = a->mask_add ? (double)a->mask_add[key * a->mask_key_stride] : 0,
    };
    double delta = b->dot_error * b->row->dot_sizes[at] + b->dot_flush;
    if (isinf(b->row->dot_sizes[at])) /* so is the score, which a softcap has made finite */
        delta = 0;
    if (a->softcap != 0) {
        const double added = sattn_bound_bias_of(&bias);
        const double slack = 0x1p-50 * (fabs(logit) + fabs(added));
        delta = sattn_bound_capped(a->softcap, logit - added, slack, delta);
    }
    return sattn_bound_biased(&bias, delta, logit, b->params->underflow);
}

/* From this size on a sum of d products, or a product, may overflow by its roundings. */
static double overflowing_size(int64_t d)
{
    return (double)FLT_MAX / (1 + sattn_bound_gamma(0, (double)d + 1));
}

bool sattn_query_may_overflow(const float *q, int64_t d, double scale)
{
    const double most = overflowing_size(d);
    for (int64_t x = 0; x < d; ++x) {
        const double scaled = fabs(scale * (double)q[x]);
        if (isfinite(scaled) && scaled >= most)
            return true;
    }
    return false;
}

bool sattn_dot_may_overflow(const float *q, const float *k, int64_t d, double scale, double size)
{
    double finite_size = size;
    if (!isfinite(size)) {
        finite_size = 0;
        for (int64_t x = 0; x < d; ++x) {
            const double product = fabs(scale * (double)q[x]) * fabs((double)k[x]);
            finite_size += isfinite(product) ? product : 0;
        }
    }
    return finite_size >= overflowing_size(d);
}

bool sattn_row_may_overflow(const sattn_ref_row_args *args, const sattn_ref_row_result *row)
{
    if (row->n_visible > 0 && sattn_query_may_overflow(args->q, args->d, args->scale))
        return true;
    for (int64_t j = args->key_begin; j < args->key_end; ++j)
        if (sattn_ref_is_visible(args, j) &&
            sattn_dot_may_overflow(args->q, args->k + j * args->k_stride, args->d, args->scale,
                                   row->dot_sizes[j - args->key_begin]))
            return true;
    return false;
}

/* The largest finite |x| so far, as bits: these are ordered as the numbers are. */
static uint32_t bound_larger(uint32_t most, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0x7fffffffu;
    return bits < 0x7f800000u && bits > most ? bits : most;
}

static bound_row bound_prepare(const sattn_ref_row_args *a, const sattn_ref_row_result *row,
                               const sattn_bound_params *params, bound_key *keys)
{
    bound_row b = {.args = a, .row = row, .params = params, .keys = keys};
    b.n = a->key_end - a->key_begin;
    const int64_t block = params->key_block > 0 ? params->key_block : a->key_end;
    const int64_t first_block = a->key_begin / block, last_block = (a->key_end - 1) / block;
    b.n_blocks = (double)(last_block - first_block + 1);
    b.n_splits = (double)params->n_splits + (a->has_sink ? 1 : 0);
    b.block_length = (double)(b.n < block ? b.n : block);
    b.dot_error = sattn_bound_gamma(params->lambda, (double)a->d + 1 + params->scale_roundings);

    double q_max = 0;
    uint32_t k_most = 0;
    for (int64_t at = 0; at < b.n; ++at) {
        if (!isfinite(row->logits[at])) /* hidden, or of weight 0 exactly */
            continue;
        const float *const k = a->k + (a->key_begin + at) * a->k_stride;
        for (int64_t x = 0; x < a->d; ++x)
            k_most = bound_larger(k_most, k[x]);
    }
    float k_max;
    memcpy(&k_max, &k_most, sizeof k_max);
    b.dot_flush = params->underflow * (double)a->d * ((double)k_max + q_max + 2);
    for (int64_t at = 0; at < b.n; ++at)
        if (isfinite(row->logits[at])) {
            keys[at].delta = bound_delta(&b, at);
            const double exceeds = row->logits[at] + keys[at].delta - row->max_logit;
            b.top_delta = exceeds > b.top_delta ? exceeds : b.top_delta;
        }
    return b;
}

static bound_key bound_weight(const bound_row *b, double logit, double delta)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    const double exp_error = b->params->exp_error * u;
    const double lazy = b->params->lazy_threshold;
    const double trails = b->row->max_logit - logit + delta + b->top_delta;
    double n_rescales = b->n_blocks - 1;
    if (lazy > 0 && 1 + trails / lazy < n_rescales)
        n_rescales = 1 + trails / lazy;
    const double merges = b->n_splits > 1 ? b->n_splits : 0;
    const double n_exps = 1 + n_rescales + (merges > 0 ? 1 : 0);
    double exponent = trails;
    if (b->n_blocks > 1 || merges > 0)
        exponent += 2 * lazy;
    bound_key key = {.delta = delta};
    key.h = expm1(delta + u * exponent + n_exps * exp_error * (1 + exp_error));
    if (trails > VANISHING)
        key.h += 1;
    if (trails - 2 * delta - 2 * b->top_delta > 2 * lazy + 90) /* its weight is 0 for certain */
        key.h = 1;
    const double n_roundings = b->n_blocks + n_rescales + (merges > 0 ? merges + 1 : 0);
    key.alpha = sattn_bound_gamma(b->params->lambda,
                                  b->block_length + n_roundings + b->params->weight_roundings);
    key.beta = sattn_bound_gamma(b->params->lambda, b->block_length - 1 + n_roundings);
    return key;
}

/* Sums over the keys that the whole row shares. */
typedef struct bound_sums {
    double weight;      /* sum p ((1 + H) (1 + beta) - 1): relative error of the denominator */
    double denominator; /* sum p (1 + H) beta */
    double sink_h;      /* p H of the sink, whose value row is 0 */
} bound_sums;

static bound_sums bound_denominator(const bound_row *b)
{
    bound_sums sums = {0};
    for (int64_t at = 0; at < b->n; ++at) {
        const double weight = b->row->weights[at];
        if (weight == 0)
            continue;
        const bound_key key = bound_weight(b, b->row->logits[at], b->keys[at].delta);
        b->keys[at] = key;
        sums.weight += weight * (key.h + (1 + key.h) * key.beta);
        sums.denominator += weight * (1 + key.h) * key.beta;
    }
    if (b->args->has_sink) {
        const double weight = exp(b->args->sink - b->row->lse);
        const bound_key key = bound_weight(b, b->args->sink, 0);
        if (weight == 0) /* its H may be infinite */
            return sums;
        sums.weight += weight * (key.h + (1 + key.h) * key.beta);
        sums.denominator += weight * (1 + key.h) * key.beta;
        sums.sink_h = weight * key.h;
    }
    return sums;
}

enum {
    COLUMNS = 64 /* output columns that one pass over the keys bounds */
};

static void bound_columns(const bound_row *b, const bound_sums *sums, int64_t first, int n,
                          double *bound)
{
    const sattn_ref_row_args *const a = b->args;
    const double u = SATTN_UNIT_ROUNDOFF;
    const double *const o = b->row->o + first;
    double moved[COLUMNS] = {0};  /* sum p |v - o| H         */
    double summed[COLUMNS] = {0}; /* sum p |v| (1 + H) alpha */
    double v_max[COLUMNS] = {0};
    for (int64_t at = 0; at < b->n; ++at) {
        const int64_t j = a->key_begin + at;
        if (!sattn_ref_is_visible(a, j))
            continue;
        const float *const v = a->v + j * a->v_stride + first;
        const double weight = b->row->weights[at];
        const bound_key *const key = &b->keys[at];
        const double by_h = weight > 0 ? weight * key->h : 0;
        const double by_alpha = weight > 0 ? weight * (1 + key->h) * key->alpha : 0;
        for (int y = 0; y < n; ++y) {
            const double value = (double)v[y];
            moved[y] += fabs(value - o[y]) * by_h;
            summed[y] += fabs(value) * by_alpha;
            v_max[y] = fabs(value) > v_max[y] ? fabs(value) : v_max[y];
        }
    }
    for (int y = 0; y < n; ++y) {
        const double size = fabs(o[y]);
        const double flush = 2 * (double)b->n * v_max[y] * SATTN_LEAST_WEIGHT +
                             (6 * (double)b->n + 16) * b->params->underflow;
        double error = moved[y] + size * sums->sink_h + summed[y] + size * sums->denominator;
        error = sums->weight < 1 ? error / (1 - sums->weight) : (double)INFINITY;
        error = error * (1 + 3 * u) + 2.01 * u * size;
        error += flush + SATTN_ORACLE_ERROR * b->row->magnitude[first + y];
        /* Any weights make the output a mean of the values, but for the roundings of its sums. */
        const double mean = size + 1.05 * v_max[y] + flush;
        const double least = error < mean ? error : mean;
        bound[first + y] = isfinite(o[y]) ? least : (double)INFINITY;
    }
}

sattn_bound_params sattn_bound_defaults(void)
{
    return (sattn_bound_params){.lambda = 0,
                                .key_block = 128,
                                .n_splits = 1,
                                .lazy_threshold = 16,
                                .exp_error = 2,
                                .underflow = 0x1p-149,
                                .scale_roundings = 0};
}

sattn_bound_params sattn_bound_chain(void)
{
    sattn_bound_params params = sattn_bound_defaults();
    params.lazy_threshold = 0;
    params.weight_roundings = 2;
    return params;
}

double sattn_bound_row(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                       const sattn_bound_params *params, double *bound)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    bound_key *const keys = calloc((size_t)(args->key_end - args->key_begin) + 1, sizeof *keys);
    if (!keys) { /* no error is below NaN */
        for (int64_t y = 0; y < args->d_v; ++y)
            bound[y] = NAN;
        return NAN;
    }
    const bound_row b = bound_prepare(args, row, params, keys);
    bound_sums sums = bound_denominator(&b);
    if (sattn_row_may_overflow(args, row))
        sums.weight = INFINITY;
    for (int64_t first = 0; first < args->d_v; first += COLUMNS) {
        const int64_t rest = args->d_v - first;
        bound_columns(&b, &sums, first, rest < COLUMNS ? (int)rest : COLUMNS, bound);
    }
    free(keys);
    if (!(sums.weight < 1))
        return INFINITY;
    const double log_size = fabs(row->lse - row->max_logit) + params->lazy_threshold;
    return -log1p(-sums.weight) + u * (4 * log_size + 1.01 * fabs(row->lse) + 1) +
           SATTN_ORACLE_ERROR;
}
