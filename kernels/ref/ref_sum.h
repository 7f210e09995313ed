/* SPDX-License-Identifier: MIT
 *
 * ref_sum.h: the sums of the oracle. They carry their rounding error along (Neumaier 1974; here
 * without his branch, by Knuth's TwoSum, algorithm 3.1 of Ogita, Rump & Oishi 2005), so that sums
 * of any length stay exact to about 2^-52. */
#ifndef SATTN_KERNELS_REF_SUM_H
#define SATTN_KERNELS_REF_SUM_H

#include "kernels/ref/ref.h"

#include <math.h>

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

#endif
