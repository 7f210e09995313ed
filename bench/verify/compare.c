/* SPDX-License-Identifier: MIT
 *
 * compare.c: one finished row against the oracle's, and what is said about it (compare.h). */
#include "bench/verify/compare.h"

#include "bench/verify/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

sattn_float_class sattn_classify_f32(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        return SATTN_CLASS_FINITE;
    if (bits & 0x007fffffu)
        return SATTN_CLASS_NAN;
    return bits >> 31 ? SATTN_CLASS_MINUS_INF : SATTN_CLASS_PLUS_INF;
}

sattn_float_class sattn_classify_f64(double value)
{
    const uint64_t exponent = UINT64_C(0x7ff0000000000000);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & exponent) != exponent)
        return SATTN_CLASS_FINITE;
    if (bits & UINT64_C(0x000fffffffffffff))
        return SATTN_CLASS_NAN;
    return bits >> 63 ? SATTN_CLASS_MINUS_INF : SATTN_CLASS_PLUS_INF;
}

const char *sattn_float_class_name(sattn_float_class value_class)
{
    switch (value_class) {
    case SATTN_CLASS_FINITE:
        return "finite";
    case SATTN_CLASS_NAN:
        return "NaN";
    case SATTN_CLASS_PLUS_INF:
        return "+inf";
    case SATTN_CLASS_MINUS_INF:
        return "-inf";
    }
    return "unknown";
}

void sattn_verify_result_init(sattn_verify_result *result)
{
    *result = (sattn_verify_result){.failed_why = ""};
}

bool sattn_verify_passed(const sattn_verify_result *result)
{
    return result->n_elements > 0 && result->n_failed == 0;
}

void sattn_verify_fail(double got, double want, double bound, const char *why,
                       sattn_verify_place at, sattn_verify_result *result)
{
    if (result->n_failed++ > 0)
        return;
    result->failed_at = at;
    result->failed_got = got;
    result->failed_want = want;
    result->failed_bound = bound;
    result->failed_why = why;
}

double sattn_verify_ulp(double value)
{
    int exponent;
    frexp(value, &exponent);
    return value == 0 || exponent < -125 ? 0x1p-149 : ldexp(1.0, exponent - 24);
}

/* How exact a finite element is; one that is above its bound counts too. */
static void measure_error(const sattn_verify_element *element, double error, sattn_verify_place at,
                          sattn_verify_result *result)
{
    const double unit = element->unit;
    double ratio = error > 0 ? (double)INFINITY : 0;
    if (element->bound > 0)
        ratio = error / element->bound;
    if (ratio > result->worst_ratio) {
        result->worst_ratio = ratio;
        result->worst_ratio_at = at;
    }
    if (unit <= 0)
        return;
    ++result->n_measured;
    result->mean_error += (error / unit - result->mean_error) / (double)result->n_measured;
    if (element->bound / unit > result->worst_bound)
        result->worst_bound = element->bound / unit;
    if (error / unit > result->worst_error || result->n_measured == 1) {
        result->worst_error = error / unit;
        result->worst_error_bound = element->bound / unit;
        result->worst_error_at = at;
    }
    if (!element->in_ulp || element->want == 0)
        return;
    result->worst_ulp = fmax(result->worst_ulp, error / sattn_verify_ulp(element->want));
    result->worst_relative = fmax(result->worst_relative, error / fabs(element->want));
}

void sattn_verify_record(const sattn_verify_element *element, sattn_verify_place at,
                         sattn_verify_result *result)
{
    const sattn_float_class is = sattn_classify_f32(element->got);
    const sattn_float_class wants = sattn_classify_f64(element->want);
    const double value = (double)element->got;
    ++result->n_elements;
    if (element->may_spoil && is != SATTN_CLASS_FINITE)
        return;
    if (wants != SATTN_CLASS_FINITE) {
        if (is != wants && is != SATTN_CLASS_NAN)
            sattn_verify_fail(value, element->want, element->bound,
                              "a visible non-finite input must show", at, result);
        return;
    }
    if (is != SATTN_CLASS_FINITE) {
        sattn_verify_fail(value, element->want, element->bound, "not finite", at, result);
        return;
    }
    const double error = fabs(value - element->want);
    measure_error(element, error, at, result);
    if (!(error <= element->bound))
        sattn_verify_fail(value, element->want, element->bound, "error above its bound", at,
                          result);
}

void sattn_verify_record_bits(float got, float want, const char *why, sattn_verify_place at,
                              sattn_verify_result *result)
{
    ++result->n_elements;
    if (bits_of(got) != bits_of(want))
        sattn_verify_fail((double)got, (double)want, 0, why, at, result);
}

void sattn_verify_record_nan(float got, const char *why, sattn_verify_place at,
                             sattn_verify_result *result)
{
    ++result->n_elements;
    if (sattn_classify_f32(got) != SATTN_CLASS_NAN)
        sattn_verify_fail((double)got, (double)NAN, 0, why, at, result);
}

static void compare_lse(float got, const sattn_ref_row_result *row, double bound,
                        sattn_verify_place at, sattn_verify_result *result)
{
    const double want = row->lse;
    const double value = (double)got;
    const sattn_float_class is = sattn_classify_f32(got);
    const sattn_float_class wants = sattn_classify_f64(want);
    at.column = -1;
    ++result->n_elements;
    /* All logits -inf: the output is NaN, and the log-sum-exp may say so too. */
    if (is != wants && !(row->is_nan && is == SATTN_CLASS_NAN)) {
        sattn_verify_fail(value, want, bound, "log-sum-exp of another class", at, result);
        return;
    }
    if (wants != SATTN_CLASS_FINITE)
        return;
    const double error = fabs(value - want);
    if (error <= bound)
        result->worst_lse_ratio = fmax(result->worst_lse_ratio, bound > 0 ? error / bound : 0);
    else
        sattn_verify_fail(value, want, bound, "log-sum-exp error above its bound", at, result);
}

/* A row that is one and the same value all over: NaN, or +0 where no key is visible. */
static void compare_constant(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                             const float *o, sattn_verify_place at, sattn_verify_result *result)
{
    for (int64_t y = 0; y < args->d_v; ++y) {
        at.column = y;
        if (row->is_nan)
            sattn_verify_record_nan(o[y], "the whole row must be NaN", at, result);
        else
            sattn_verify_record_bits(o[y], 0.0f, "a row that sees no key must be +0", at, result);
    }
}

/* Whether the NaN of column y is 0 times an infinite V: a weight that is not quite 0 would make it
 * an infinity. */
static bool is_nan_by_zero_weight(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                                  int64_t y)
{
    bool found = false;
    for (int64_t j = args->key_begin; j < args->key_end; ++j) {
        const float v = args->v[j * args->v_stride + y];
        if (!sattn_ref_is_visible(args, j))
            continue;
        if (isnan(v))
            return false;
        found = found || (isinf(v) && row->weights[j - args->key_begin] == 0);
    }
    return found;
}

double sattn_verify_bound(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                          const sattn_bound_params *params, double *bound)
{
    return row->is_nan || row->n_visible == 0 ? 0 : sattn_bound_row(args, row, params, bound);
}

void sattn_verify_against(const sattn_ref_row_args *args, const sattn_verify_answer *answer,
                          const float *o, const float *lse, sattn_verify_place at,
                          sattn_verify_result *result)
{
    const sattn_ref_row_result *const row = answer->row;
    const bool overflows = answer->overflows;
    ++result->n_rows;
    if (overflows && row->is_nan)
        return; /* the score that makes it so may be any other */
    if (row->is_nan || row->n_visible == 0) {
        compare_constant(args, row, o, at, result);
    } else {
        for (int64_t y = 0; y < args->d_v; ++y) {
            at.column = y;
            const double size = row->magnitude[y];
            const sattn_verify_element element = {
                .got = o[y],
                .want = row->o[y],
                .bound = answer->bound[y],
                .unit = overflows || size < SATTN_VERIFY_LEAST_MEASURED
                            ? 0
                            : SATTN_UNIT_ROUNDOFF * size,
                .in_ulp = fabs(row->o[y]) >= size / 2,
                .may_spoil =
                    overflows || (isnan(row->o[y]) && is_nan_by_zero_weight(args, row, y))};
            sattn_verify_record(&element, at, result);
        }
    }
    if (lse && !overflows)
        compare_lse(*lse, row, answer->lse_bound, at, result);
}

void sattn_verify_row(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                      const sattn_bound_params *params, const float *o, const float *lse,
                      sattn_verify_place at, double *bound, sattn_verify_result *result)
{
    const sattn_verify_answer answer = {.row = row,
                                        .bound = bound,
                                        .lse_bound = sattn_verify_bound(args, row, params, bound),
                                        .overflows = sattn_row_may_overflow(args, row)};
    sattn_verify_against(args, &answer, o, lse, at, result);
}

void sattn_verify_describe(const sattn_verify_result *result, char *text, size_t size)
{
    const sattn_verify_place *const at = &result->failed_at;
    if (result->n_elements == 0)
        snprintf(text, size, "nothing was compared");
    else if (result->n_failed > 0)
        snprintf(text, size,
                 "%" PRId64 " failed; first at batch %" PRId64 ", head %" PRId64 ", row %" PRId64
                 ", column %" PRId64 ": %s: got %.9g, want %.9g, bound %.3g",
                 result->n_failed, at->batch, at->head, at->row, at->column, result->failed_why,
                 result->failed_got, result->failed_want, result->failed_bound);
    else
        snprintf(text, size,
                 "%" PRId64 " rows, %" PRId64 " elements good, %" PRId64
                 " more finite; worst error %.3g u, mean %.3g u, worst error/bound %.3g",
                 result->n_rows, result->n_elements, result->n_scanned, result->worst_error,
                 result->mean_error, result->worst_ratio);
}
