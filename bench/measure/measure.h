/* SPDX-License-Identifier: MIT
 *
 * measure.h: paired measurement of kernels against reference loops, and of kernels against each
 * other.
 *
 * The unit is a round. In a round every candidate runs once for a window of time (as many calls as
 * fill it, one call if that is longer), and right after it each of its references runs for an
 * equally long window. Rounds go through the candidates in alternating order, so that drift of the
 * clock frequency, a neighbour on the shared cache and the first place in the order hit both sides
 * of every ratio alike. Ratios are taken within a round and then summarised by their median.
 *
 *   sattn_pin pin;
 *   sattn_pin_begin(&pin, -1, NULL);
 *   if (!sattn_measure(&plan, &options, results))
 *       out of memory
 *   sattn_stat faster = sattn_measure_ratio(&results[0], &results[1]);
 *   sattn_measure_free(results, n);
 *   sattn_pin_end(&pin);
 *
 * The time is CLOCK_MONOTONIC around the calls of a window and nothing else; before windows of
 * several calls there is one that is not timed, so that caches are as these calls leave them.
 * Windows in which the thread was preempted, the control group throttled, the virtual CPU stolen or
 * the core shared with another hardware thread are tainted: they are left out while enough clean
 * ones remain, and counted in any case. */
#ifndef SATTN_BENCH_MEASURE_MEASURE_H
#define SATTN_BENCH_MEASURE_MEASURE_H

#include "bench/measure/calls.h"
#include "bench/measure/statistics.h"
#include "bench/measure/taint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_measure_plan {
    const sattn_measure_candidate *candidates;
    size_t n_candidates;
    const sattn_measure_reference *references;
    size_t n_references; /* <= SATTN_MEASURE_MAX_REFERENCES */
} sattn_measure_plan;

/* Zero means the default. */
typedef struct sattn_measure_options {
    double budget_s; /* for all rounds, without calibration; up to twice it under load; 1 */
    double window_s; /* 1e-3 */
    /* Of the budget, spent on waiting for a core that another hardware thread uses; none. */
    double patience_s;
    int min_rounds; /* 5; these are made even if the budget is short */
    int max_rounds; /* 300 */
    /* If not NULL, called between rounds with the share of the work that is done, in [0, 1]. */
    void (*progress)(void *context, double done);
    void *progress_context;
    /* If not NULL, asked between rounds: true ends the measurement as soon as it has min_rounds. */
    bool (*is_stopped)(void);
} sattn_measure_options;

typedef enum sattn_measure_status {
    SATTN_MEASURE_OK,
    SATTN_MEASURE_TAINTED,    /* measured, but too few clean rounds: see taint */
    SATTN_MEASURE_TOO_FAST,   /* invalid: less than 1 ns above the cost of an empty call */
    SATTN_MEASURE_ABOVE_PEAK, /* invalid: share of a reference above SATTN_MEASURE_SANE_SHARE */
    SATTN_MEASURE_BAD_CLOCK,  /* invalid: time did not advance, or ran backwards */
} sattn_measure_status;

/* Beyond this share of what the reference reaches, the calls did not do the work they claim. Read
 * loops are beaten by up to a few percent, so the line is well above 1. */
#define SATTN_MEASURE_SANE_SHARE 1.5

const char *sattn_measure_status_string(sattn_measure_status status);
bool sattn_measure_valid(sattn_measure_status status); /* OK or TAINTED */

typedef struct sattn_measure_result {
    sattn_measure_status status;
    /* Wall time of one call. Where tainted windows had to be kept: of these, if the process has one
     * thread at work, the time on the CPU. */
    sattn_stat time_ns;
    sattn_stat cpu_ns; /* processor time of one call, all threads of the process */
    /* By reference: (time of the reference for the same work) / (time of the candidate), and what
     * the reference reached next to this candidate, in units per second. */
    sattn_stat share[SATTN_MEASURE_MAX_REFERENCES];
    sattn_stat reference_rate[SATTN_MEASURE_MAX_REFERENCES];
    int bound; /* reference with the largest median share: what limits it; -1: none */
    int64_t calls_per_window;
    double empty_call_ns; /* cost of one call of an empty function in the same loop */
    int rounds;           /* rounds made; time_ns.n of them are in the statistics */
    int min_rounds;       /* so many clean ones are enough to leave tainted ones out */
    sattn_taint taint;
    /* The rounds behind the statistics, in the order of measurement: times[i] belongs to
     * shares[bound][i]. NULL where there is none. Freed by sattn_measure_free. */
    double *times;
    double *shares[SATTN_MEASURE_MAX_REFERENCES];
    /* All rounds, tainted or not: [rounds]. */
    double *round_times;
    bool *round_tainted;
    double *round_parts[SATTN_MEASURE_MAX_PARTS]; /* of its parts; NULL: no such part */
} sattn_measure_result;

/* Measures all candidates of the plan, interleaved, and fills results[0 .. n_candidates). False if
 * memory ran out (then nothing needs freeing). `options` may be NULL. */
bool sattn_measure(const sattn_measure_plan *plan, const sattn_measure_options *options,
                   sattn_measure_result *results);
void sattn_measure_free(sattn_measure_result *results, size_t n_candidates);

/* How often `result` is as fast as `other`, another candidate of the same measurement: (time of
 * `other`) / (time of `result`) in the same round, over the rounds that are clean on both sides, or
 * over all of them if these are too few. No better than the worse of the two statuses. n is 0 if
 * memory ran out. */
sattn_stat sattn_measure_ratio(const sattn_measure_result *result,
                               const sattn_measure_result *other);

/* By how many nanoseconds a call of `result` takes longer than one of `other`, over the same
 * rounds.
 */
sattn_stat sattn_measure_difference(const sattn_measure_result *result,
                                    const sattn_measure_result *other);

/* What one part of a candidate's calls took, as a result of its own over the same rounds, without a
 * bound and without processor time; to be freed like others. False: no memory. */
bool sattn_measure_part(const sattn_measure_result *result, int part,
                        sattn_measure_result *of_part);

#endif
