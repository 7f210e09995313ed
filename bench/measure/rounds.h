/* SPDX-License-Identifier: MIT
 *
 * rounds.h: makes the rounds of a measurement (measure.h) and keeps what each of them showed. */
#ifndef SATTN_BENCH_MEASURE_ROUNDS_H
#define SATTN_BENCH_MEASURE_ROUNDS_H

#include "bench/measure/measure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one candidate and its references did in every round. Arrays are by round. */
typedef struct sattn_track {
    int64_t calls;                                /* in a window */
    int64_t last_ns;                              /* length of its latest window */
    double rate[SATTN_MEASURE_MAX_REFERENCES];    /* latest, units per nanosecond */
    bool preempted;                               /* a window of the current round was */
    bool bad_clock;                               /* some window took no time */
    double *times, *cpu_times;                    /* nanoseconds per call */
    double *shares[SATTN_MEASURE_MAX_REFERENCES]; /* NULL: the reference does not apply */
    double *rates[SATTN_MEASURE_MAX_REFERENCES];
    double *parts[SATTN_MEASURE_MAX_PARTS]; /* nanoseconds per call; NULL: no such part */
    double width, *widths; /* least of the core in the current round, and by round; 0: not known */
    bool *tainted;
    sattn_taint taint;
} sattn_track;

typedef struct sattn_rounds {
    const sattn_measure_plan *plan;
    sattn_track *tracks; /* [n_candidates] */
    sattn_outside outside;
    int64_t patience_ns; /* left for waiting */
    bool (*is_stopped)(void);
    int made;
} sattn_rounds;

/* Room for max_rounds; false if there is no memory. To be closed either way. */
bool sattn_rounds_open(sattn_rounds *rounds, const sattn_measure_plan *plan, int max_rounds);
/* Calibrates, warms up, and makes rounds until the budget is spent. No option may be 0. */
void sattn_rounds_run(sattn_rounds *rounds, const sattn_measure_options *options);
/* With the budget spent, of which the next round would make `spent`: whether too few rounds are
 * clean, and twice the time may do, with as many in it as so far and one by luck. A machine that is
 * hardly ever quiet gets an answer too, marked as tainted. */
bool sattn_rounds_worth_more(int clean, int min_rounds, double spent);
void sattn_rounds_close(sattn_rounds *rounds);

#endif
