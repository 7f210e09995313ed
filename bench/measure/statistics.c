/* SPDX-License-Identifier: MIT
 *
 * statistics.c: order statistics, and the interval of the median from the binomial distribution
 * (David & Nagaraja 2003, Order Statistics, section 7.1). */
#include "bench/measure/statistics.h"

#include <math.h>
#include <stdlib.h>

/* A NaN comes behind all numbers. */
static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

/* Linear interpolation between the order statistics around (n - 1) * q. Where they are equal, or it
 * falls on one of them, the other is not touched: it may be infinite or NaN. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int below = (int)at;
    const int above = below + 1 < n ? below + 1 : below;
    if (at <= below || sorted[above] <= sorted[below])
        return sorted[below];
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

sattn_stat sattn_stat_of(double *samples, int n)
{
    const double none = (double)NAN;
    if (n <= 0)
        return (sattn_stat){none, none, none, none, none, 0};
    qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
    /* The median lies between the order statistics of rank l and n + 1 - l with the probability
     * that at least l and at most n - l of n fair coins show heads; normal approximation for 95 %.
     */
    const int rank = (int)floor((n - 1.96 * sqrt(n)) / 2);
    const int low = rank < 1 ? 0 : rank - 1;
    return (sattn_stat){
        .median = quantile(samples, n, 0.5),
        .p10 = quantile(samples, n, 0.1),
        .p90 = quantile(samples, n, 0.9),
        .low = samples[low],
        .high = samples[n - 1 - low],
        .n = n,
    };
}

sattn_stat sattn_stat_scaled(sattn_stat stat, double factor)
{
    stat.median *= factor;
    stat.p10 *= factor;
    stat.p90 *= factor;
    stat.low *= factor;
    stat.high *= factor;
    return stat;
}

sattn_side sattn_stat_side(const sattn_stat *stat, double line)
{
    if (stat->n < SATTN_STAT_LEAST)
        return SATTN_SIDE_OPEN;
    if (stat->high < line)
        return SATTN_SIDE_BELOW;
    return stat->low > line ? SATTN_SIDE_ABOVE : SATTN_SIDE_OPEN;
}
