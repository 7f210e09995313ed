/* SPDX-License-Identifier: MIT
 *
 * record.h: one element against what it should be, into a sattn_verify_result. What compares whole
 * attentions and what compares steps judge elements alike. */
#ifndef SATTN_BENCH_VERIFY_RECORD_H
#define SATTN_BENCH_VERIFY_RECORD_H

#include "bench/verify/compare.h"

/* Below this natural scale an error in its units is no longer one of rounding, but of the end of
 * the number range; the bound, which knows, still applies. */
#define SATTN_VERIFY_LEAST_MEASURED 0x1p-100

typedef struct sattn_verify_element {
    float got;
    double want, bound;
    double unit;    /* what errors are given in; 0: the bound applies, nothing is measured */
    bool in_ulp;    /* ULP and relative error mean something here */
    bool may_spoil; /* anything that is not finite is good as well */
} sattn_verify_element;

/* One unit in the last place of a number of this size; below FLT_MIN that of FLT_MIN. */
double sattn_verify_ulp(double value);

/* Counts the element, and fails it where its class or its error is wrong. A non-finite `want` may
 * come as NaN too: an infinity may meet a weight that is 0 in f32. A NaN stays one. */
void sattn_verify_record(const sattn_verify_element *element, sattn_verify_place at,
                         sattn_verify_result *result);

/* Counts an element that has to have exactly these bits. */
void sattn_verify_record_bits(float got, float want, const char *why, sattn_verify_place at,
                              sattn_verify_result *result);

/* Counts an element that has to be NaN. */
void sattn_verify_record_nan(float got, const char *why, sattn_verify_place at,
                             sattn_verify_result *result);

/* Fails an element that was counted. `why` is static text. */
void sattn_verify_fail(double got, double want, double bound, const char *why,
                       sattn_verify_place at, sattn_verify_result *result);

#endif
