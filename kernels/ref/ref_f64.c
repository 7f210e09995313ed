/* SPDX-License-Identifier: MIT
 *
 * ref_f64.c: the oracle. One row of attention as the textbook has it, in numbered passes:
 *
 *   1. s_j = scale q . k_j, softcapped, plus bias, for every visible key; the largest of them
 *   2. p_j = exp(s_j - max); their sum, the sink's term included
 *   3. p_j /= sum; log-sum-exp = max + log sum
 *   4. o_y = sum_j p_j v_jy, and the same with |v_jy|
 *
 * Products of two floats are exact in double. Sums carry their rounding error along (Neumaier 1974;
 * here without his branch, by Knuth's TwoSum, algorithm 3.1 of Ogita, Rump & Oishi 2005), so rows
 * of any length stay exact to about 2^-52. */
#include "kernels/ref/ref.h"

#include <stddef.h>

#if defined(__FAST_MATH__)
#error "the oracle needs IEEE arithmetic: build it without -ffast-math"
#endif

enum {
    COLUMNS = 64 /* output columns that one pass over the keys sums up */
};

/* The exact sum is high + low, but for rounding errors of second order. */
typedef struct ref_sum {
    double high, low;
} ref_sum;

static inline void ref_add(ref_sum *sum, double term)
{
    const double total = sum->high + term;
    const double term_part = total - sum->high;
    const double high_part = total - term_part;
    sum->low += (sum->high - high_part) + (term - term_part);
    sum->high = total;
}

/* An infinite or NaN total has a meaningless rest. */
static inline double ref_total(const ref_sum *sum)
{
    return isfinite(sum->high) ? sum->high + sum->low : sum->high;
}

static double ref_logit(const sattn_ref_row_args *a, int64_t j, double *dot_size)
{
    const float *const k = a->k + j * a->k_stride;
    ref_sum dot = {0};
    double size = 0;
    for (int64_t x = 0; x < a->d; ++x) {
        const double product = a->scale * (double)a->q[x] * (double)k[x];
        ref_add(&dot, product);
        size += fabs(product);
    }
    *dot_size = size;
    double logit = ref_total(&dot);
    if (a->softcap != 0)
        logit = a->softcap * tanh(logit / a->softcap);
    if (a->mask_add)
        logit += (double)a->mask_add[j * a->mask_key_stride];
    return logit;
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
            logit = ref_logit(a, j, &dot_size);
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

/* Pass 4, for n columns from `first` on. */
static void ref_average(const sattn_ref_row_args *a, sattn_ref_row_result *r, int64_t first, int n)
{
    ref_sum sum[COLUMNS] = {{0}};
    double size[COLUMNS] = {0};
    for (int64_t j = a->key_begin; j < a->key_end; ++j) {
        if (!sattn_ref_is_visible(a, j))
            continue;
        const float *const v = a->v + j * a->v_stride + first;
        const double weight = r->weights[j - a->key_begin];
        for (int y = 0; y < n; ++y) {
            const double product = weight * (double)v[y];
            ref_add(&sum[y], product);
            size[y] += fabs(product);
        }
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
        for (int64_t first = 0; first < args->d_v; first += COLUMNS) {
            const int64_t rest = args->d_v - first;
            ref_average(args, result, first, rest < COLUMNS ? (int)rest : COLUMNS);
        }
    }
}
