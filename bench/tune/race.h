/* SPDX-License-Identifier: MIT
 *
 * race.h: which of several ways of running a call is the fastest, as far as the machine lets one
 * tell.
 *
 * In a round every candidate that is still in the race is timed once, in a random order, so that
 * drift of the clock, a neighbour on the cache and the place in the order hit all of them alike.
 * What is compared are ratios within rounds. A candidate that is clearly behind the leader drops
 * out; the default never does. The race is over as soon as every other candidate is known to be
 * clearly behind the leader, or as good as equal to it; or when rounds or time are spent. A winner
 * other than the default has to be ahead of it by more than what the rounds differ in: else the
 * result is a tie, which the default keeps (cases D16).
 *
 * What times a candidate and what tells the time are functions of the caller's, so that tests give
 * them a clock of their own. */
#ifndef SATTN_BENCH_TUNE_RACE_H
#define SATTN_BENCH_TUNE_RACE_H

#include "bench/measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Candidates nearer than this to each other are as good as equal. */
#define SATTN_RACE_EQUAL 0.01

/* The time of one call, from a window of them. */
typedef struct sattn_race_window {
    double ns;
    bool is_tainted; /* its threads were preempted, or shared their core */
} sattn_race_window;

typedef struct sattn_race_track {
    sattn_race_window (*time)(void *context, size_t candidate);
    double (*now_ns)(void *context);
    /* NULL, or waits until it is worth while to time a candidate; not for the first round, which
     * counts for nothing. */
    void (*await)(void *context, size_t candidate);
    /* Whether something from outside, as throttling or steal, disturbed what was timed since the
     * last time this was asked. NULL: that is not known. */
    bool (*was_disturbed)(void *context);
    bool (*is_stopped)(void); /* NULL, or true: no further round */
    void *context;
} sattn_race_track;

typedef struct sattn_race_options {
    size_t n_candidates; /* at least 1 */
    size_t incumbent;    /* the default among them */
    const int *ranks;    /* [n_candidates]: of several that are as good as equal, the least wins */
    uint64_t seed;       /* of the random orders */
    double budget_ns;
    int max_rounds; /* 0: SATTN_RACE_ROUNDS */
} sattn_race_options;

enum {
    SATTN_RACE_LEAST = 12, /* rounds before anything is concluded: a few may agree by chance */
    SATTN_RACE_ROUNDS = 100,
};

/* What a candidate did. Statistics leave out tainted rounds, if enough others are left. */
typedef struct sattn_race_lane {
    sattn_stat time_ns;
    sattn_stat behind; /* its time over the winner's, in the rounds that have both */
    int rounds;        /* that it was in */
    bool dropped;      /* clearly behind before the race was over */
} sattn_race_lane;

typedef struct sattn_race_result {
    size_t winner;
    bool is_tie;      /* nothing is clearly the fastest, so the default was kept */
    bool is_complete; /* false: the time was spent, or the race stopped, before that was known */
    bool is_tainted;  /* a good part of what was timed was disturbed */
    /* Of the winner over the next; in a tie, of the best other candidate over the default. NaN:
     * there is no other. */
    double margin, spread; /* relative: median of their ratio less 1, and half of p90 less p10 */
    int rounds;
    sattn_race_lane *lanes; /* [n_candidates], freed by sattn_race_free */
} sattn_race_result;

/* Whether the times of something over those of something faster, in the same rounds, leave no
 * doubt: the ratio is above that of equals, and by more than the rounds differ. */
bool sattn_race_is_clear(const sattn_stat *ratio);
double sattn_race_spread(const sattn_stat *ratio); /* half of p90 less p10 */

/* False: no memory, and nothing to free. */
bool sattn_race_run(const sattn_race_track *track, const sattn_race_options *options,
                    sattn_race_result *result);
void sattn_race_free(sattn_race_result *result);

#endif
