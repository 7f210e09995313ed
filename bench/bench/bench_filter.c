/* SPDX-License-Identifier: MIT
 *
 * bench_filter.c: --benchmark_filter, as Google Benchmark understands it. */
#define _POSIX_C_SOURCE 200809L /* regcomp */

#include "bench/bench/bench_filter.h"

#include <stdio.h>
#include <string.h>

bool sattn_bench_filter_open(sattn_bench_filter *filter, const char *text)
{
    *filter = (sattn_bench_filter){0};
    if (!text || !*text || strcmp(text, "all") == 0) /* Google Benchmark's word for everything */
        return true;
    filter->inverted = *text == '-';
    const int code = regcomp(&filter->regex, text + filter->inverted, REG_EXTENDED | REG_NOSUB);
    filter->given = code == 0;
    if (code == 0)
        return true;
    char message[160];
    regerror(code, &filter->regex, message, sizeof message);
    fprintf(stderr, "simdattn bench: --benchmark_filter=%s: %s\n", text, message);
    return false;
}

bool sattn_bench_filter_passes(const sattn_bench_filter *filter, const char *name)
{
    if (!filter->given)
        return true;
    return (regexec(&filter->regex, name, 0, NULL, 0) == 0) != filter->inverted;
}

void sattn_bench_filter_close(sattn_bench_filter *filter)
{
    if (filter->given)
        regfree(&filter->regex);
}
