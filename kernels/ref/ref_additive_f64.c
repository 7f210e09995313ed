/* SPDX-License-Identifier: MIT
 *
 * ref_additive_f64.c: the oracle of additive alignment (Bahdanau, Cho & Bengio 2015), one score in
 * double. The sum of two floats is exact to 2^-53 of it. */
#include "kernels/ref/ref.h"
#include "kernels/ref/ref_sum.h"

double sattn_ref_additive(const float *q, const float *k, const float *v, int64_t d, double *size)
{
    ref_sum score = {0};
    *size = 0;
    for (int64_t x = 0; x < d; ++x) {
        const double term = (double)v[x] * tanh((double)q[x] + (double)k[x]);
        ref_add(&score, term);
        *size += fabs(term);
    }
    return ref_total(&score);
}
