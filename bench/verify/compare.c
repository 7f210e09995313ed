/* SPDX-License-Identifier: MIT
 *
 * compare.c: one finished row against the oracle's, and what is said about it (compare.h). */
#include "bench/verify/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this natural scale an error in its units is no longer one of rounding, but of the end of
 * the number range; the bound, which knows, still applies. */
#define LEAST_MEASURED 0x1p-100

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

static void record_failure(sattn_verify_result *result, sattn_verify_place at, double got,
                           double want, double bound, const char *why)
{
    if (result->n_failed++ > 0)
        return;
    result->failed_at = at;
    result->failed_got = got;
    result->failed_want = want;
    result->failed_bound = bound;
    result->failed_why = why;
}

/* A finite element that is within its bound: how exact is it? */
static void record_error(sattn_verify_result *result, sattn_verify_place at, double want,
                         double error, double bound, double magnitude)
{
    const double ratio = bound > 0 ? error / bound : 0;
    if (ratio > result->worst_ratio) {
        result->worst_ratio = ratio;
        result->worst_ratio_at = at;
    }
    if (magnitude < LEAST_MEASURED)
        return;
    const double unit = SATTN_UNIT_ROUNDOFF * magnitude;
    ++result->n_measured;
    result->mean_error += (error / unit - result->mean_error) / (double)result->n_measured;
    result->worst_bound = fmax(result->worst_bound, bound / unit);
    if (error / unit > result->worst_error) {
        result->worst_error = error / unit;
        result->worst_error_at = at;
    }
    if (fabs(want) < magnitude / 2)
        return;
    int exponent;
    frexp(want, &exponent);
    result->worst_ulp = fmax(result->worst_ulp, error / ldexp(1.0, exponent - 24));
    result->worst_relative = fmax(result->worst_relative, error / fabs(want));
}

static void compare_element(float got, double want, double bound, double magnitude,
                            sattn_verify_place at, sattn_verify_result *result)
{
    const sattn_float_class is = sattn_classify_f32(got);
    const sattn_float_class wants = sattn_classify_f64(want);
    const double value = (double)got;
    ++result->n_elements;
    if (wants != SATTN_CLASS_FINITE) {
        /* An infinity may meet a weight that is 0 in f32, and be NaN; a NaN stays one. */
        if (is != wants && is != SATTN_CLASS_NAN)
            record_failure(result, at, value, want, bound, "a visible non-finite V must show");
        return;
    }
    if (is != SATTN_CLASS_FINITE) {
        record_failure(result, at, value, want, bound, "not finite");
        return;
    }
    const double error = fabs(value - want);
    if (error <= bound)
        record_error(result, at, want, error, bound, magnitude);
    else
        record_failure(result, at, value, want, bound, "error above its bound");
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
        record_failure(result, at, value, want, bound, "log-sum-exp of another class");
        return;
    }
    if (wants != SATTN_CLASS_FINITE)
        return;
    const double error = fabs(value - want);
    if (error <= bound)
        result->worst_lse_ratio = fmax(result->worst_lse_ratio, bound > 0 ? error / bound : 0);
    else
        record_failure(result, at, value, want, bound, "log-sum-exp error above its bound");
}

/* A row that is one and the same value all over: NaN, or +0 where no key is visible. */
static void compare_constant(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                             const float *o, sattn_verify_place at, sattn_verify_result *result)
{
    for (int64_t y = 0; y < args->d_v; ++y) {
        at.column = y;
        ++result->n_elements;
        if (row->is_nan && sattn_classify_f32(o[y]) != SATTN_CLASS_NAN)
            record_failure(result, at, (double)o[y], row->o[y], 0, "the whole row must be NaN");
        if (!row->is_nan && bits_of(o[y]) != 0)
            record_failure(result, at, (double)o[y], 0, 0, "a row that sees no key must be +0");
    }
}

void sattn_verify_row(const sattn_ref_row_args *args, const sattn_ref_row_result *row,
                      const sattn_bound_params *params, const float *o, const float *lse,
                      sattn_verify_place at, double *bound, sattn_verify_result *result)
{
    ++result->n_rows;
    double lse_bound = 4 * SATTN_UNIT_ROUNDOFF * fabs(row->lse); /* the sink alone */
    if (row->is_nan || row->n_visible == 0) {
        compare_constant(args, row, o, at, result);
    } else {
        lse_bound = sattn_bound_row(args, row, params, bound);
        for (int64_t y = 0; y < args->d_v; ++y) {
            at.column = y;
            compare_element(o[y], row->o[y], bound[y], row->magnitude[y], at, result);
        }
    }
    if (lse)
        compare_lse(*lse, row, lse_bound, at, result);
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
