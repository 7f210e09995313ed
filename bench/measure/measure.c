/* SPDX-License-Identifier: MIT
 *
 * measure.c: makes the rounds (rounds.h) and summarises them. */
#include "bench/measure/measure.h"

#include "bench/measure/calibrate.h"
#include "bench/measure/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MIN_ROUNDS = 5, DEFAULT_MAX_ROUNDS = 300 };
static const double default_budget_s = 1;
static const double default_window_s = 1e-3;

static sattn_measure_options with_defaults(const sattn_measure_options *options)
{
    sattn_measure_options all = options ? *options : (sattn_measure_options){0};
    if (!(all.budget_s > 0))
        all.budget_s = default_budget_s;
    if (!(all.window_s > 0))
        all.window_s = default_window_s;
    if (all.min_rounds <= 0)
        all.min_rounds = DEFAULT_MIN_ROUNDS;
    if (all.max_rounds <= 0)
        all.max_rounds = DEFAULT_MAX_ROUNDS;
    if (all.max_rounds < all.min_rounds)
        all.max_rounds = all.min_rounds;
    return all;
}

/* ---- statuses */

const char *sattn_measure_status_string(sattn_measure_status status)
{
    switch (status) {
    case SATTN_MEASURE_OK:
        return "ok";
    case SATTN_MEASURE_TAINTED:
        return "tainted: too few windows without preemption, throttling, steal or another hardware "
               "thread";
    case SATTN_MEASURE_TOO_FAST:
        return "invalid: hardly longer than an empty call";
    case SATTN_MEASURE_ABOVE_PEAK:
        return "invalid: faster than its limit allows";
    case SATTN_MEASURE_BAD_CLOCK:
        return "invalid: the clock did not advance";
    }
    return "invalid: unknown status";
}

bool sattn_measure_valid(sattn_measure_status status)
{
    return status == SATTN_MEASURE_OK || status == SATTN_MEASURE_TAINTED;
}

static sattn_measure_status judge(const sattn_track *track, const sattn_measure_result *result)
{
    if (track->bad_clock || !(result->time_ns.median > 0))
        return SATTN_MEASURE_BAD_CLOCK;
    if (result->time_ns.median - result->empty_call_ns < 1)
        return SATTN_MEASURE_TOO_FAST;
    if (result->bound >= 0 && result->share[result->bound].median > SATTN_MEASURE_SANE_SHARE)
        return SATTN_MEASURE_ABOVE_PEAK;
    return result->taint.kept ? SATTN_MEASURE_TAINTED : SATTN_MEASURE_OK;
}

/* ---- summaries */

static double *new_samples(int rounds)
{
    return calloc((size_t)rounds, sizeof(double));
}

/* Samples of the rounds that are not to be skipped, in order. */
static int gather(const double *samples, const bool *skip, int n, double *out)
{
    int kept = 0;
    for (int i = 0; i < n; ++i)
        if (skip == NULL || !skip[i])
            out[kept++] = samples[i];
    return kept;
}

/* `room` holds as many samples as there are rounds; `in_order`, if not NULL, receives the samples
 * before they are sorted. */
static sattn_stat summarise(const double *samples, const bool *skip, int n, double *room,
                            double *in_order)
{
    const int kept = gather(samples, skip, n, room);
    if (in_order)
        memcpy(in_order, room, (size_t)kept * sizeof *room);
    return sattn_stat_of(room, kept);
}

static void fill_result(const sattn_rounds *rounds, size_t c, double *room,
                        sattn_measure_result *result)
{
    const sattn_track *const track = &rounds->tracks[c];
    const int made = rounds->made;
    result->calls_per_window = track->calls;
    result->rounds = made;
    result->taint = track->taint;
    result->taint.kept = gather(track->times, track->tainted, made, room) < result->min_rounds;
    const bool *const skip = result->taint.kept ? NULL : track->tainted;
    memcpy(result->round_times, track->times, (size_t)made * sizeof *track->times);
    memcpy(result->round_tainted, track->tainted, (size_t)made * sizeof *track->tainted);
    for (int p = 0; p < SATTN_MEASURE_MAX_PARTS; ++p)
        if (result->round_parts[p])
            memcpy(result->round_parts[p], track->parts[p], (size_t)made * sizeof *track->times);
    result->time_ns = summarise(track->times, skip, made, room, result->times);
    result->cpu_ns = summarise(track->cpu_times, skip, made, room, NULL);
    for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
        result->share[r] = result->reference_rate[r] = sattn_stat_of(NULL, 0);
        if (!track->rates[r])
            continue;
        result->share[r] = summarise(track->shares[r], skip, made, room, result->shares[r]);
        result->reference_rate[r] =
            sattn_stat_scaled(summarise(track->rates[r], skip, made, room, NULL), 1e9);
        if (rounds->plan->references[r].is_unit)
            continue;
        if (result->bound < 0 || result->share[r].median > result->share[result->bound].median)
            result->bound = (int)r;
    }
    result->status = judge(track, result);
}

bool sattn_measure_part(const sattn_measure_result *result, int part, sattn_measure_result *of_part)
{
    const int made = result->rounds;
    double *const room = new_samples(made);
    *of_part = (sattn_measure_result){.bound = -1,
                                      .calls_per_window = result->calls_per_window,
                                      .empty_call_ns = result->empty_call_ns,
                                      .rounds = made,
                                      .min_rounds = result->min_rounds,
                                      .taint = result->taint,
                                      .times = new_samples(made),
                                      .round_times = new_samples(made),
                                      .round_tainted = calloc((size_t)made, sizeof(bool)),
                                      .cpu_ns = sattn_stat_of(NULL, 0)};
    const bool good = room && of_part->times && of_part->round_times && of_part->round_tainted;
    if (good) {
        const bool *const skip = of_part->taint.kept ? NULL : result->round_tainted;
        memcpy(of_part->round_times, result->round_parts[part], (size_t)made * sizeof *room);
        memcpy(of_part->round_tainted, result->round_tainted, (size_t)made * sizeof *skip);
        of_part->time_ns = summarise(of_part->round_times, skip, made, room, of_part->times);
        of_part->status = result->status;
    } else {
        sattn_measure_free(of_part, 1);
    }
    free(room);
    return good;
}

typedef double pair_fn(double time, double other);

static double ratio_of(double time, double other)
{
    return other / time;
}

static double difference_of(double time, double other)
{
    return time - other;
}

static int gather_pairs(const sattn_measure_result *result, const sattn_measure_result *other,
                        pair_fn *of, bool clean_only, double *out)
{
    const int rounds = result->rounds < other->rounds ? result->rounds : other->rounds;
    int kept = 0;
    for (int i = 0; i < rounds; ++i)
        if (!clean_only || (!result->round_tainted[i] && !other->round_tainted[i]))
            out[kept++] = of(result->round_times[i], other->round_times[i]);
    return kept;
}

static sattn_stat over_pairs(const sattn_measure_result *result, const sattn_measure_result *other,
                             pair_fn *of)
{
    double *const room = new_samples(result->rounds);
    if (!room)
        return sattn_stat_of(NULL, 0);
    int n = gather_pairs(result, other, of, true, room);
    if (n < result->min_rounds)
        n = gather_pairs(result, other, of, false, room);
    const sattn_stat stat = sattn_stat_of(room, n);
    free(room);
    return stat;
}

sattn_stat sattn_measure_ratio(const sattn_measure_result *result,
                               const sattn_measure_result *other)
{
    return over_pairs(result, other, ratio_of);
}

sattn_stat sattn_measure_difference(const sattn_measure_result *result,
                                    const sattn_measure_result *other)
{
    return over_pairs(result, other, difference_of);
}

/* ---- the whole */

static bool open_result(const sattn_measure_plan *plan, const sattn_measure_candidate *candidate,
                        int max_rounds, sattn_measure_result *result)
{
    result->times = new_samples(max_rounds);
    result->round_times = new_samples(max_rounds);
    result->round_tainted = calloc((size_t)max_rounds, sizeof *result->round_tainted);
    bool good = result->times && result->round_times && result->round_tainted;
    for (int p = 0; p < candidate->n_parts; ++p) {
        result->round_parts[p] = new_samples(max_rounds);
        good = good && result->round_parts[p];
    }
    for (size_t r = 0; r < plan->n_references; ++r)
        if (candidate->work[r] > 0) {
            result->shares[r] = new_samples(max_rounds);
            good = good && result->shares[r];
        }
    return good;
}

void sattn_measure_free(sattn_measure_result *results, size_t n_candidates)
{
    for (size_t c = 0; c < n_candidates; ++c) {
        sattn_measure_result *const result = &results[c];
        free(result->times);
        free(result->round_times);
        free(result->round_tainted);
        result->times = result->round_times = NULL;
        result->round_tainted = NULL;
        for (int p = 0; p < SATTN_MEASURE_MAX_PARTS; ++p) {
            free(result->round_parts[p]);
            result->round_parts[p] = NULL;
        }
        for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
            free(result->shares[r]);
            result->shares[r] = NULL;
        }
    }
}

bool sattn_measure(const sattn_measure_plan *plan, const sattn_measure_options *options,
                   sattn_measure_result *results)
{
    const sattn_measure_options all = with_defaults(options);
    for (size_t c = 0; c < plan->n_candidates; ++c)
        results[c] = (sattn_measure_result){.bound = -1, .min_rounds = all.min_rounds};
    sattn_rounds rounds;
    double *const room = new_samples(all.max_rounds);
    bool good = sattn_rounds_open(&rounds, plan, all.max_rounds) && room != NULL;
    for (size_t c = 0; good && c < plan->n_candidates; ++c)
        good = open_result(plan, &plan->candidates[c], all.max_rounds, &results[c]);
    if (good) {
        const double empty_ns = sattn_empty_call_ns(all.window_s * 1e9 / 4);
        sattn_rounds_run(&rounds, &all);
        for (size_t c = 0; c < plan->n_candidates; ++c) {
            results[c].empty_call_ns = empty_ns;
            fill_result(&rounds, c, room, &results[c]);
        }
    } else {
        sattn_measure_free(results, plan->n_candidates);
    }
    free(room);
    sattn_rounds_close(&rounds);
    return good;
}
