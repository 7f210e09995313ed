/* SPDX-License-Identifier: MIT
 *
 * steps_additive.c: additive alignment against the oracle. The bound: docs/numerics.md, "additive".
 */
#include "bench/verify/record.h"
#include "bench/verify/steps.h"

#include <float.h>
#include <math.h>

/* What tanh of a sum below FLT_MIN and the products below it may add to a score. */
static double underflow(const sattn_verify_alignments *row)
{
    double sum = 0;
    for (int64_t x = 0; x < row->d; ++x)
        sum += fabs((double)row->v[x]) * row->tanh_ulp + 1;
    return sum * 0x1p-149;
}

/* Relative to sum_x |v_x tanh(q_x + k_x)|: the rounding of q + k, which tanh does not enlarge, tanh
 * itself, the product and the additions. */
static double relative_error(const sattn_verify_alignments *row)
{
    const double tanh_error = 2 * row->tanh_ulp * SATTN_UNIT_ROUNDOFF;
    return (1 + SATTN_UNIT_ROUNDOFF) * (1 + tanh_error) *
               (1 + sattn_bound_gamma(0, (double)row->d + 1)) -
           1;
}

void sattn_verify_alignments_row(const sattn_verify_alignments *row, const float *got,
                                 sattn_verify_place at, sattn_verify_result *result)
{
    const double error = relative_error(row) + SATTN_ORACLE_ERROR;
    const double least = underflow(row);
    ++result->n_rows;
    for (int64_t j = 0; j < row->n; ++j) {
        double size;
        const double want =
            sattn_ref_additive(row->q, row->k + j * row->k_stride, row->v, row->d, &size);
        const sattn_verify_element element = {
            .got = got[j],
            .want = want,
            .bound = error * size + least,
            .unit = size < SATTN_VERIFY_LEAST_MEASURED ? 0 : SATTN_UNIT_ROUNDOFF * size,
            .in_ulp = fabs(want) >= size / 2,
            .may_spoil = size * (1 + error) >= (double)FLT_MAX && size < INFINITY};
        at.column = j;
        sattn_verify_record(&element, at, result);
    }
}
