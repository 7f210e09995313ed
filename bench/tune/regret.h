/* SPDX-License-Identifier: MIT
 *
 * regret.h: what a profile is worth: on calls that it was not made with, how much longer takes what
 * it chooses than the best of a fresh race of all candidates; and how much longer what would be
 * chosen without it. */
#ifndef SATTN_BENCH_TUNE_REGRET_H
#define SATTN_BENCH_TUNE_REGRET_H

#include "bench/bench_places.h"
#include "bench/environment/environment.h"
#include "bench/tune/tune_store.h"

/* Of one choice. The noise is what rounds differ in. */
typedef struct sattn_regret {
    sattn_recipe recipe;
    double time_ns;
    double regret; /* its time over that of the fastest, less 1 */
    double noise;
    double beyond; /* what of the regret is beyond doubt and noise, else 0 */
} sattn_regret;

typedef struct sattn_regret_row {
    sattn_tune_job job;
    const char *source; /* what the profile has for the class, in a few words */
    sattn_recipe best;
    sattn_regret with, without; /* profile */
    int rounds;
    bool is_tainted, is_done;
    char error[256]; /* why there is no result, or "" */
} sattn_regret_row;

typedef struct sattn_regret_run {
    const sattn_tune_options *options;
    const sattn_environment *environment;
    sattn_places *places;
    const sattn_tune_store *store;
    sattn_regret_row *rows;
    size_t count;
    double seconds;
} sattn_regret_run;

/* Over the rows that have a result. */
typedef struct sattn_regret_summary {
    int n, n_beyond;
    double median, p95, worst, worst_beyond;
} sattn_regret_summary;

sattn_regret_summary sattn_regret_summarise(const sattn_regret_run *run, bool with_profile);

/* `tune --verify`. Returns an exit code. */
int sattn_regret_verify(const sattn_tune_options *options, sattn_features usable);

/* ---- the report */

void sattn_regret_print_begin(const sattn_regret_run *run);
void sattn_regret_print_row(const sattn_regret_row *row);
void sattn_regret_print_end(const sattn_regret_run *run);
json_t *sattn_regret_document(const sattn_regret_run *run); /* NULL: out of memory */

#endif
