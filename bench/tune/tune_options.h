/* SPDX-License-Identifier: MIT
 *
 * tune_options.h: the options of `simdattn tune`. */
#ifndef SATTN_BENCH_TUNE_TUNE_OPTIONS_H
#define SATTN_BENCH_TUNE_TUNE_OPTIONS_H

#include "bench/bench/bench_threads.h"
#include "bench/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SATTN_TUNE_OWN_PATH = 4096 };

typedef struct sattn_tune_options {
    sattn_name_list ops, isas, shapes;
    sattn_thread_counts threads;
    double budget_s;
    double max_error; /* 0: whatever is within its bound */
    uint64_t seed;
    const char *out;               /* NULL: where the library looks */
    char own[SATTN_TUNE_OWN_PATH]; /* what SATTN_PROFILE names, or "" */
    bool fresh, verify, json, list, help;
} sattn_tune_options;

/* False: wrong usage or no memory; a sentence about it has gone to stderr. To be freed either way.
 */
bool sattn_tune_options_parse(int argc, char **argv, sattn_tune_options *options);
void sattn_tune_options_free(sattn_tune_options *options);

void sattn_tune_help(void);

#endif
