/* SPDX-License-Identifier: MIT
 *
 * bench_options.h: the options of `simdattn bench`. */
#ifndef SATTN_BENCH_BENCH_BENCH_OPTIONS_H
#define SATTN_BENCH_BENCH_BENCH_OPTIONS_H

#include "bench/bench/bench_threads.h"
#include "bench/names.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum sattn_cache_state { SATTN_WARM = 1, SATTN_COLD = 2 } sattn_cache_state;

typedef struct sattn_bench_options {
    char arguments[512]; /* as given, separated by spaces; longer ones are cut */
    const char *preset_name;
    unsigned preset; /* 0: shapes are named, or each op has its own */
    sattn_name_list ops, isas, kernels, shapes;
    unsigned cache; /* set of sattn_cache_state; 0: as the preset says */
    sattn_thread_counts threads;
    double seconds; /* of measuring, per row; 0: what the time for the whole preset allows */
    const char *out, *dataset;
    bool list, json, help, peers;
    /* Google Benchmark's, of which the first two are followed here */
    const char *filter;
    bool list_tests;
    bool google_display; /* its own output instead of the table */
    const char *google_out;
    int google_argc;
    const char **google_argv; /* the rest, to be handed over; [0] is the program */
} sattn_bench_options;

/* False: wrong usage or no memory; a sentence about it has gone to stderr. To be freed either way.
 */
bool sattn_bench_options_parse(int argc, char **argv, sattn_bench_options *options);
void sattn_bench_options_free(sattn_bench_options *options);

/* The end of parsing: refuses what does not go together, and fills in what was not given. */
bool sattn_bench_options_complete(sattn_bench_options *options);

void sattn_bench_help(void);

#endif
