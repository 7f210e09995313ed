/* SPDX-License-Identifier: MIT
 *
 * steps.c: qk, av, exp, tanh and sigmoid against the oracle. Bounds: docs/numerics.md, "The steps".
 */
#include "bench/verify/steps.h"

#include "bench/verify/record.h"
#include "bench/verify/visible.h"

#include <math.h>

/* What an operation on numbers below FLT_MIN may be off by. */
#define LEAST_STEP 0x1p-149

static double measured_unit(double magnitude)
{
    return magnitude < SATTN_VERIFY_LEAST_MEASURED ? 0 : SATTN_UNIT_ROUNDOFF * magnitude;
}

/* What roundings below FLT_MIN may add to a score: those of scale q, times k, and those of the
 * products. */
static double scores_underflow(const float *k, int64_t d)
{
    double sum = 0;
    for (int64_t x = 0; x < d; ++x)
        sum += fabs((double)k[x]) + 2;
    return sum * LEAST_STEP;
}

void sattn_verify_scores_row(const sattn_verify_scores *row, const float *got,
                             sattn_verify_place at, sattn_verify_result *result)
{
    const double softcap = (double)row->softcap;
    const double scale = (double)row->scale;
    const double dot_error = sattn_bound_gamma(0, (double)row->d + 1);
    const bool query_may_overflow = sattn_query_may_overflow(row->q, row->d, scale);
    ++result->n_rows;
    for (int64_t j = 0; j < row->n; ++j) {
        const float *const k = row->k + j * row->k_stride;
        double size;
        const double want = sattn_ref_score(row->q, k, row->d, scale, softcap, &size);
        double bound = dot_error * size + scores_underflow(k, row->d) + SATTN_ORACLE_ERROR * size;
        if (softcap != 0)
            bound = sattn_bound_capped(softcap, want, 0, bound) + softcap * LEAST_STEP;
        const double magnitude = softcap != 0 ? fmin(size, softcap) : size;
        const sattn_verify_element element = {
            .got = got[j],
            .want = want,
            .bound = bound,
            .unit = measured_unit(magnitude),
            .in_ulp = fabs(want) >= magnitude / 2,
            .may_spoil =
                query_may_overflow || sattn_dot_may_overflow(row->q, k, row->d, scale, size)};
        at.column = j;
        sattn_verify_record(&element, at, result);
    }
}

static bool all_finite(const float *v, int n)
{
    for (int y = 0; y < n; ++y)
        if (sattn_classify_f32(v[y]) != SATTN_CLASS_FINITE)
            return false;
    return true;
}

/* Marks the columns in which a hidden key, of those that may be read, is not finite. */
static void find_spoilt(const sattn_verify_outputs *row, const sattn_ref_scores *weights,
                        int64_t first, int n, bool *spoilt)
{
    for (int y = 0; y < n; ++y)
        spoilt[y] = false;
    for (int64_t j = 0; j < row->visible->n_k && !row->repaired; ++j) {
        const bool in_range = j >= weights->key_begin && j < weights->key_end;
        const float *const v = row->v + j * row->v_stride + first;
        if ((in_range && sattn_ref_scores_visible(weights, j)) || all_finite(v, n))
            continue;
        for (int y = 0; y < n; ++y)
            if (sattn_classify_f32(v[y]) != SATTN_CLASS_FINITE)
                spoilt[y] = true;
    }
}

static int64_t count_visible(const sattn_ref_scores *weights)
{
    int64_t n = 0;
    for (int64_t j = weights->key_begin; j < weights->key_end; ++j)
        n += sattn_ref_scores_visible(weights, j) ? 1 : 0;
    return n;
}

/* Relative to sum_j p_j |v_j|: a chain within a key block, and the additions of the blocks of a
 * span of 64. Spans are added with their errors: one rounding more, and those that errors pass. */
static double outputs_error(const sattn_ref_scores *weights)
{
    const int64_t n = weights->key_end - weights->key_begin;
    const int64_t n_blocks =
        (weights->key_end - 1) / SATTN_KEY_BLOCK - weights->key_begin / SATTN_KEY_BLOCK + 1;
    const int64_t longest = n < SATTN_KEY_BLOCK ? n : SATTN_KEY_BLOCK;
    const int64_t n_added = n_blocks < 65 ? n_blocks : 65;
    const double errors = 3 * (double)n_blocks * SATTN_UNIT_ROUNDOFF * SATTN_UNIT_ROUNDOFF;
    return sattn_bound_gamma(0, (double)(longest + n_added)) + errors;
}

static void verify_columns(const sattn_verify_outputs *row, const sattn_ref_scores *weights,
                           int64_t first, int n, const float *got, sattn_verify_place at,
                           sattn_verify_result *result)
{
    double want[SATTN_REF_COLUMNS], magnitude[SATTN_REF_COLUMNS];
    bool spoilt[SATTN_REF_COLUMNS];
    const double error = outputs_error(weights) + SATTN_ORACLE_ERROR;
    const double n_keys = (double)(weights->key_end - weights->key_begin);
    sattn_ref_average(weights, row->v + first, row->v_stride, n, want, magnitude);
    find_spoilt(row, weights, first, n, spoilt);
    for (int y = 0; y < n; ++y) {
        const sattn_verify_element element = {.got = got[first + y],
                                              .want = want[y],
                                              .bound =
                                                  error * magnitude[y] + 3 * n_keys * LEAST_STEP,
                                              .unit = measured_unit(magnitude[y]),
                                              .in_ulp = fabs(want[y]) >= magnitude[y] / 2,
                                              .may_spoil = spoilt[y]};
        at.column = first + y;
        sattn_verify_record(&element, at, result);
    }
}

void sattn_verify_outputs_row(const sattn_verify_outputs *row, const float *got,
                              sattn_verify_place at, sattn_verify_result *result)
{
    const sattn_ref_scores weights = sattn_verify_scores_of(row->p, row->visible, row->g, row->i);
    ++result->n_rows;
    if (count_visible(&weights) == 0) {
        for (int64_t y = 0; y < row->d_v; ++y) {
            bool spoilt = false;
            at.column = y;
            find_spoilt(row, &weights, y, 1, &spoilt);
            if (!spoilt || sattn_classify_f32(got[y]) == SATTN_CLASS_FINITE)
                sattn_verify_record_bits(got[y], 0.0f, "a row that sees no key must be +0", at,
                                         result);
        }
        return;
    }
    for (int64_t first = 0; first < row->d_v; first += SATTN_REF_COLUMNS) {
        const int64_t rest = row->d_v - first;
        verify_columns(row, &weights, first,
                       rest < SATTN_REF_COLUMNS ? (int)rest : SATTN_REF_COLUMNS, got, at, result);
    }
}

static const double exp_highest = 88.72283905206835;  /* ln FLT_MAX */
static const double exp_lowest = -103.97207708399180; /* ln 2^-150 */

static void verify_exp(float x, float y, double bound_ulp, sattn_verify_place at,
                       sattn_verify_result *result)
{
    const double want = exp((double)x);
    if ((double)x > exp_highest) {
        sattn_verify_record_bits(y, INFINITY, "exp above ln FLT_MAX must be +inf", at, result);
    } else if ((double)x < exp_lowest) {
        sattn_verify_record_bits(y, 0.0f, "exp below ln 2^-150 must be +0", at, result);
    } else {
        const double ulp = sattn_verify_ulp(want);
        const sattn_verify_element element = {
            .got = y, .want = want, .bound = bound_ulp * ulp, .unit = ulp, .in_ulp = true};
        sattn_verify_record(&element, at, result);
    }
}

static void verify_tanh(float x, float y, double bound_ulp, sattn_verify_place at,
                        sattn_verify_result *result)
{
    const double want = tanh((double)x);
    if (x == 0) {
        sattn_verify_record_bits(y, x, "tanh of a zero must be that zero", at, result);
    } else if (sattn_classify_f32(x) != SATTN_CLASS_FINITE) {
        sattn_verify_record_bits(y, x > 0 ? 1.0f : -1.0f, "tanh of infinity must be +-1", at,
                                 result);
    } else {
        const double ulp = sattn_verify_ulp(want);
        const sattn_verify_element element = {
            .got = y, .want = want, .bound = bound_ulp * ulp, .unit = ulp, .in_ulp = true};
        sattn_verify_record(&element, at, result);
    }
}

static void verify_sigmoid(float x, float y, double bound_ulp, sattn_verify_place at,
                           sattn_verify_result *result)
{
    const double want = 1 / (1 + exp(-(double)x));
    if ((double)x < exp_lowest) {
        sattn_verify_record_bits(y, 0.0f, "sigmoid below ln 2^-150 must be +0", at, result);
    } else {
        const double ulp = sattn_verify_ulp(want);
        const sattn_verify_element element = {
            .got = y, .want = want, .bound = bound_ulp * ulp, .unit = ulp, .in_ulp = true};
        sattn_verify_record(&element, at, result);
    }
}

void sattn_verify_array(sattn_verify_function function, const float *x, const float *y, int64_t n,
                        double bound_ulp, sattn_verify_place at, sattn_verify_result *result)
{
    ++result->n_rows;
    for (int64_t e = 0; e < n; ++e) {
        at.column = e;
        if (sattn_classify_f32(x[e]) == SATTN_CLASS_NAN)
            sattn_verify_record_nan(y[e], "a function of NaN must be NaN", at, result);
        else if (function == SATTN_VERIFY_EXP)
            verify_exp(x[e], y[e], bound_ulp, at, result);
        else if (function == SATTN_VERIFY_SIGMOID)
            verify_sigmoid(x[e], y[e], bound_ulp, at, result);
        else
            verify_tanh(x[e], y[e], bound_ulp, at, result);
    }
}
