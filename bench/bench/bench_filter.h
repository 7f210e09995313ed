/* SPDX-License-Identifier: MIT
 *
 * bench_filter.h: which names of rows --benchmark_filter lets through. */
#ifndef SATTN_BENCH_BENCH_BENCH_FILTER_H
#define SATTN_BENCH_BENCH_BENCH_FILTER_H

#include <regex.h>
#include <stdbool.h>

typedef struct sattn_bench_filter {
    bool given, inverted;
    regex_t regex;
} sattn_bench_filter;

/* `text` may be NULL: everything passes. False: it is no regular expression, and a sentence has
 * gone to stderr. */
bool sattn_bench_filter_open(sattn_bench_filter *filter, const char *text);
bool sattn_bench_filter_passes(const sattn_bench_filter *filter, const char *name);
void sattn_bench_filter_close(sattn_bench_filter *filter);

#endif
