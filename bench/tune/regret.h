/* SPDX-License-Identifier: MIT
 *
 * regret.h: what a profile is worth: on calls that it was not made with, how much longer takes what
 * it chooses than the best of a fresh race of all candidates; and how much longer what would be
 * chosen without it. */
#ifndef SATTN_BENCH_TUNE_REGRET_H
#define SATTN_BENCH_TUNE_REGRET_H

#include "bench/bench/bench_places.h"
#include "bench/environment/environment.h"
#include "bench/tune/tune_store.h"

/* Of one choice. The noise is what rounds differ in: half of p90 less p10 of the ratio to the
 * fastest, or of the fastest to the next. NaN: there is no other. */
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
    size_t turn; /* counted from 1; 0: the time was spent, or the run interrupted, before it */
    int rounds;
    bool is_tainted;
    bool is_decided; /* its race came to an end, or to rounds enough to tell what is faster */
    char error[256]; /* what is wrong or refused, or "" */
} sattn_regret_row;

typedef struct sattn_regret_run {
    const sattn_tune_options *options;
    const sattn_environment *environment;
    sattn_places *places;
    const sattn_tune_store *store;
    sattn_regret_row *rows;
    size_t count;
    int64_t begin_ns;
    double seconds;
} sattn_regret_run;

/* Over the rows that are decided: what the others show is what their few rounds happened to. */
typedef struct sattn_regret_summary {
    int n, n_beyond;
    int n_undecided; /* of those that were begun and have no error */
    int n_waiting;   /* not begun */
    double median, p95, worst, worst_beyond;
} sattn_regret_summary;

sattn_regret_summary sattn_regret_summarise(const sattn_regret_run *run, bool with_profile);

/* Of the seconds that are left, those for the next of n_left rows; 0: there is no time for it. Few
 * rows that are decided say more than many that are not. */
double sattn_regret_share_s(double left_s, size_t n_left);

/* The rows 0 to n - 1 in a random order. */
void sattn_regret_shuffle(size_t *order, size_t n, uint64_t seed);

/* Races the candidates on the row's shape, for so many seconds and as long as verifying takes. */
void sattn_regret_run_row(const sattn_regret_run *run, sattn_regret_row *row, double seconds);

/* What a race says of a row: candidate c of the field was on lane_of[c], or -1: on none. */
void sattn_regret_take_race(sattn_regret_row *row, const sattn_tune_field *field,
                            const int *lane_of, size_t chosen, const sattn_race_result *race);

/* The exit code of a run: failed where something is wrong or refused, nothing where no race was
 * decided. */
int sattn_regret_exit_code(const sattn_regret_run *run);

/* `tune --verify`. Returns an exit code. */
int sattn_regret_verify(const sattn_tune_options *options, sattn_features usable);

/* ---- the report */

/* What the table will mean, before it is measured; the rows in their own order, and what they come
 * to. */
void sattn_regret_print_begin(const sattn_regret_run *run);
void sattn_regret_print_end(const sattn_regret_run *run);
json_t *sattn_regret_document(const sattn_regret_run *run); /* NULL: out of memory */

#endif
