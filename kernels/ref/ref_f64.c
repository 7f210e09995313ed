/* SPDX-License-Identifier: MIT
 *
 * ref_f64.c: the oracle. One row of attention as the textbook has it, in numbered passes:
 *
 *   1. s_j = cap(scale q . k_j) - slope |position - j| + mask_j for every visible key; the largest
 *   2. p_j = exp(s_j - max); their sum, the sink's term included
 *   3. p_j /= sum; log-sum-exp = max + log sum
 *   4. o_y = sum_j p_j v_jy, and the same with |v_jy|
 *
 * The steps on their own are the same passes over what the step before left, as floats.
 *
 * Products of two floats are exact in double, and sums carry their rounding error along
 * (ref_sum.h), so rows of any length stay exact to about 2^-52. */
#include "kernels/ref/ref.h"
#include "kernels/ref/ref_sum.h"

#include <stddef.h>

/* A value that f32 has no number for is infinite, as in a kernel. */
static inline double ref_overflow(double value)
{
    return isinf((float)value) ? (double)(float)value : value;
}

/* |a - b|: it may be too large for int64_t, but not for uint64_t. */
static inline double ref_distance(int64_t a, int64_t b)
{
    return a > b ? (double)((uint64_t)a - (uint64_t)b) : (double)((uint64_t)b - (uint64_t)a);
}

/* What ALiBi and an additive mask, where there is one, make of a score, in this order. */
static inline double ref_bias(double score, double slope, int64_t position, int64_t j,
                              const float *mask_add)
{
    double logit = ref_overflow(score);
    if (slope != 0)
        logit = ref_overflow(logit - slope * ref_distance(position, j));
    return mask_add ? ref_overflow(logit + (double)*mask_add) : logit;
}

double sattn_ref_score(const float *q, const float *k, int64_t d, double scale, double softcap,
                       double *size)
{
    ref_sum dot = {0};
    *size = 0;
    for (int64_t x = 0; x < d; ++x) {
        const double product = scale * (double)q[x] * (double)k[x];
        ref_add(&dot, product);
        *size += fabs(product);
    }
    const double score = ref_total(&dot);
    return softcap != 0 ? softcap * tanh(score / softcap) : score;
}

/* Pass 1: the logits, into weights. */
static void ref_score(const sattn_ref_row_args *a, sattn_ref_row_result *r)
{
    r->max_logit = a->has_sink ? a->sink : -INFINITY;
    r->n_visible = 0;
    r->is_nan = false;
    for (int64_t j = a->key_begin; j < a->key_end; ++j) {
        const int64_t at = j - a->key_begin;
        double logit = -INFINITY;
        double dot_size = 0;
        if (sattn_ref_is_visible(a, j)) {
            logit = sattn_ref_score(a->q, a->k + j * a->k_stride, a->d, a->scale, a->softcap,
                                    &dot_size);
            logit = ref_bias(logit, a->alibi_slope, a->position, j,
                             a->mask_add ? a->mask_add + j * a->mask_key_stride : NULL);
            ++r->n_visible;
        }
        r->weights[at] = logit;
        if (r->logits)
            r->logits[at] = logit;
        if (r->dot_sizes)
            r->dot_sizes[at] = dot_size;
        if (logit > r->max_logit)
            r->max_logit = logit;
        if (isnan(logit))
            r->is_nan = true;
    }
    if (isnan(r->max_logit) || r->max_logit == INFINITY)
        r->is_nan = true;
}

/* Passes 2 and 3: weights of sum 1 from logits that have a finite maximum. */
static void ref_weigh(const sattn_ref_row_args *a, sattn_ref_row_result *r)
{
    const int64_t n = a->key_end - a->key_begin;
    ref_sum sum = {0};
    for (int64_t at = 0; at < n; ++at) {
        r->weights[at] = exp(r->weights[at] - r->max_logit);
        ref_add(&sum, r->weights[at]);
    }
    if (a->has_sink)
        ref_add(&sum, exp(a->sink - r->max_logit));
    const double total = ref_total(&sum);
    for (int64_t at = 0; at < n; ++at)
        r->weights[at] /= total;
    r->lse = r->max_logit + log(total);
}

/* Adds one key's weighted values to n columns. */
static inline void ref_add_values(double weight, const float *v, int n, ref_sum *sum, double *size)
{
    for (int y = 0; y < n; ++y) {
        const double product = weight * (double)v[y];
        ref_add(&sum[y], product);
        size[y] += fabs(product);
    }
}

/* Pass 4, for n columns from `first` on. */
static void ref_average(const sattn_ref_row_args *a, sattn_ref_row_result *r, int64_t first, int n)
{
    ref_sum sum[SATTN_REF_COLUMNS] = {{0}};
    double size[SATTN_REF_COLUMNS] = {0};
    for (int64_t j = a->key_begin; j < a->key_end; ++j) {
        if (!sattn_ref_is_visible(a, j))
            continue;
        ref_add_values(r->weights[j - a->key_begin], a->v + j * a->v_stride + first, n, sum, size);
    }
    for (int y = 0; y < n; ++y) {
        r->o[first + y] = ref_total(&sum[y]);
        r->magnitude[first + y] = size[y];
    }
}

static void ref_fill(const sattn_ref_row_args *a, sattn_ref_row_result *r, double value)
{
    for (int64_t y = 0; y < a->d_v; ++y) {
        r->o[y] = value;
        r->magnitude[y] = value;
    }
}

void sattn_ref_row(const sattn_ref_row_args *args, sattn_ref_row_result *result)
{
    ref_score(args, result);
    if (result->is_nan) {
        result->lse = NAN;
        ref_fill(args, result, NAN);
    } else if (result->max_logit == -INFINITY) {
        result->lse = -INFINITY;
        result->is_nan = result->n_visible > 0;
        ref_fill(args, result, result->is_nan ? (double)NAN : 0.0);
    } else {
        ref_weigh(args, result);
        for (int64_t first = 0; first < args->d_v; first += SATTN_REF_COLUMNS) {
            const int64_t rest = args->d_v - first;
            ref_average(args, result, first,
                        rest < SATTN_REF_COLUMNS ? (int)rest : SATTN_REF_COLUMNS);
        }
    }
}

bool sattn_ref_scores_visible(const sattn_ref_scores *row, int64_t j)
{
    const int64_t at = j * row->mask_key_stride;
    if (row->mask_bool && row->mask_bool[at] == 0)
        return false;
    return !row->mask_add || row->mask_add[at] != -INFINITY;
}

double sattn_ref_logit(const sattn_ref_scores *row, int64_t j)
{
    if (!sattn_ref_scores_visible(row, j))
        return -INFINITY;
    const float *const mask = row->mask_add ? row->mask_add + j * row->mask_key_stride : NULL;
    return ref_bias((double)row->s[j], row->alibi_slope, row->position, j, mask);
}

sattn_ref_softmax sattn_ref_softmax_of(const sattn_ref_scores *row)
{
    sattn_ref_softmax r = {.max = row->has_sink ? row->sink : -INFINITY};
    for (int64_t j = row->key_begin; j < row->key_end; ++j) {
        if (!sattn_ref_scores_visible(row, j))
            continue;
        const double logit = sattn_ref_logit(row, j);
        ++r.n_visible;
        if (isnan(logit))
            r.is_nan = true;
        if (logit > r.max)
            r.max = logit;
    }
    if (isnan(r.max) || r.max == INFINITY || (r.max == -INFINITY && r.n_visible > 0))
        r.is_nan = true;
    if (r.is_nan || r.max == -INFINITY)
        return r;
    ref_sum sum = {0};
    for (int64_t j = row->key_begin; j < row->key_end; ++j)
        ref_add(&sum, exp(sattn_ref_logit(row, j) - r.max));
    if (row->has_sink)
        ref_add(&sum, exp(row->sink - r.max));
    r.sum = ref_total(&sum);
    return r;
}

void sattn_ref_average(const sattn_ref_scores *row, const float *v, int64_t v_stride, int n,
                       double *o, double *magnitude)
{
    ref_sum sum[SATTN_REF_COLUMNS] = {{0}};
    for (int y = 0; y < n; ++y)
        magnitude[y] = 0;
    for (int64_t j = row->key_begin; j < row->key_end; ++j)
        if (sattn_ref_scores_visible(row, j))
            ref_add_values((double)row->s[j], v + j * v_stride, n, sum, magnitude);
    for (int y = 0; y < n; ++y)
        o[y] = ref_total(&sum[y]);
}
