/* SPDX-License-Identifier: MIT
 *
 * statistics.h: distributions by order statistics, without an assumption about their form. */
#ifndef SATTN_BENCH_MEASURE_STATISTICS_H
#define SATTN_BENCH_MEASURE_STATISTICS_H

/* Fewer samples have no 95 % interval of the median: all n of them are on one side of it once in
 * 2^(n - 1) times, and 2^-4 is more than 5 %. */
enum { SATTN_STAT_LEAST = 6 };

/* A distribution of n samples.
 *   p10, p90    10th and 90th percentile: the *spread* is p90 - p10
 *   low, high   95 % confidence interval of the median (the whole range where n is less than
 *               SATTN_STAT_LEAST), for independent samples; slow drift makes it too narrow */
typedef struct sattn_stat {
    double median, p10, p90, low, high;
    int n; /* 0: not measured, the numbers are NaN */
} sattn_stat;

/* Sorts `samples`; a NaN counts as greater than all numbers. n of 0 or less: not measured. */
sattn_stat sattn_stat_of(double *samples, int n);

/* The distribution of the samples times `factor`, which is above 0. */
sattn_stat sattn_stat_scaled(sattn_stat stat, double factor);

typedef enum sattn_side { SATTN_SIDE_OPEN, SATTN_SIDE_BELOW, SATTN_SIDE_ABOVE } sattn_side;

/* On which side of `line` the median lies, as far as the samples show it: BELOW or ABOVE where the
 * whole 95 % interval does, OPEN where the line is in the interval or there are too few samples (or
 * none) for one. */
sattn_side sattn_stat_side(const sattn_stat *stat, double line);

#endif
