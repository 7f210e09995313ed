/* SPDX-License-Identifier: MIT
 *
 * rounds.c: one round after the other, until the budget is spent (rounds.h). */
#include "bench/measure/rounds.h"

#include "bench/measure/calibrate.h"
#include "bench/measure/clock.h"
#include "bench/measure/issue.h"

#include <math.h>
#include <stdlib.h>

/* ---- memory */

static double *new_samples(int rounds)
{
    return calloc((size_t)rounds, sizeof(double));
}

static bool open_track(sattn_track *track, const sattn_measure_plan *plan,
                       const sattn_measure_candidate *candidate, int max_rounds)
{
    track->taint = sattn_taint_none();
    track->times = new_samples(max_rounds);
    track->cpu_times = new_samples(max_rounds);
    track->widths = new_samples(max_rounds);
    track->tainted = calloc((size_t)max_rounds, sizeof *track->tainted);
    bool good = track->times && track->cpu_times && track->widths && track->tainted;
    for (int p = 0; p < candidate->n_parts; ++p) {
        track->parts[p] = new_samples(max_rounds);
        good = good && track->parts[p];
    }
    for (size_t r = 0; r < plan->n_references; ++r)
        if (candidate->work[r] > 0) {
            track->shares[r] = new_samples(max_rounds);
            track->rates[r] = new_samples(max_rounds);
            good = good && track->shares[r] && track->rates[r];
        }
    return good;
}

bool sattn_rounds_open(sattn_rounds *rounds, const sattn_measure_plan *plan, int max_rounds)
{
    const size_t n = plan->n_candidates;
    *rounds = (sattn_rounds){.plan = plan};
    rounds->tracks = calloc(n ? n : 1, sizeof *rounds->tracks);
    bool good = rounds->tracks != NULL;
    for (size_t c = 0; good && c < n; ++c)
        good = open_track(&rounds->tracks[c], plan, &plan->candidates[c], max_rounds);
    return good;
}

void sattn_rounds_close(sattn_rounds *rounds)
{
    for (size_t c = 0; rounds->tracks && c < rounds->plan->n_candidates; ++c) {
        sattn_track *const track = &rounds->tracks[c];
        free(track->times);
        free(track->cpu_times);
        free(track->widths);
        free(track->tainted);
        for (int p = 0; p < SATTN_MEASURE_MAX_PARTS; ++p)
            free(track->parts[p]);
        for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
            free(track->shares[r]);
            free(track->rates[r]);
        }
    }
    free(rounds->tracks);
    *rounds = (sattn_rounds){0};
}

/* ---- one round */

static void count_window(sattn_track *track, const sattn_window *done)
{
    if (sattn_taint_add_window(&track->taint, done))
        track->preempted = true;
    track->width = sattn_issue_lesser(track->width, done->width);
    track->bad_clock = track->bad_clock || done->ns <= 0;
}

static void measure_candidate(sattn_rounds *rounds, size_t c, bool keep)
{
    sattn_track *const track = &rounds->tracks[c];
    const sattn_measure_candidate *const candidate = &rounds->plan->candidates[c];
    sattn_prepare_calls(candidate);
    /* A few short calls would show what the other candidates left in the caches. */
    if (track->calls > 1)
        sattn_run_calls(candidate, 1);
    const sattn_window done = sattn_run_calls(candidate, track->calls);
    track->last_ns = sattn_window_charged_ns(&done);
    if (!keep)
        return;
    track->times[rounds->made] = (double)track->last_ns / (double)track->calls;
    track->cpu_times[rounds->made] = (double)done.cpu_ns / (double)track->calls;
    for (int p = 0; p < candidate->n_parts; ++p)
        track->parts[p][rounds->made] = (double)candidate->part_ns[p] / (double)track->calls;
    count_window(track, &done);
}

static void measure_references(sattn_rounds *rounds, size_t c, bool keep)
{
    sattn_track *const track = &rounds->tracks[c];
    for (size_t r = 0; r < rounds->plan->n_references; ++r) {
        if (!track->rates[r])
            continue;
        int64_t worked;
        const int64_t work = sattn_work_for(track->rate[r], track->last_ns);
        const sattn_window done = sattn_run_reference(&rounds->plan->references[r], work, &worked);
        if (done.ns > 0 && worked > 0)
            track->rate[r] = (double)worked / (double)sattn_window_charged_ns(&done);
        if (!keep)
            continue;
        track->rates[r][rounds->made] = track->rate[r];
        count_window(track, &done);
    }
}

/* Ends the current round of one candidate. */
static void keep_round(sattn_rounds *rounds, size_t c, bool all_tainted)
{
    sattn_track *const track = &rounds->tracks[c];
    const int round = rounds->made;
    track->widths[round] = track->width;
    track->tainted[round] = all_tainted || track->preempted;
    sattn_taint_add_outside(&track->taint, &rounds->outside);
    if (all_tainted && !track->preempted)
        ++track->taint.tainted;
    for (size_t r = 0; r < rounds->plan->n_references; ++r)
        if (track->rates[r])
            track->shares[r][round] =
                rounds->plan->candidates[c].work[r] / track->times[round] / track->rates[r][round];
}

/* What is measured beside another hardware thread is left out in the end. */
static void await_free_core(sattn_rounds *rounds, size_t c)
{
    if (rounds->plan->candidates[c].threads <= 1)
        rounds->patience_ns -= sattn_issue_await(rounds->patience_ns, rounds->is_stopped);
}

/* Forwards: each candidate, then its references. Backwards the mirror image of that, so that over
 * two rounds a steady drift cancels from every ratio. */
static void measure_round(sattn_rounds *rounds, bool backwards, bool keep)
{
    const size_t n = rounds->plan->n_candidates;
    for (size_t i = 0; i < n; ++i) {
        const size_t c = backwards ? n - 1 - i : i;
        rounds->tracks[c].preempted = false;
        rounds->tracks[c].width = 0;
        if (keep)
            await_free_core(rounds, c);
        if (backwards)
            measure_references(rounds, c, keep);
        measure_candidate(rounds, c, keep);
        if (!backwards)
            measure_references(rounds, c, keep);
    }
    const bool all_tainted = sattn_outside_moved(&rounds->outside);
    if (!keep)
        return;
    for (size_t c = 0; c < n; ++c)
        keep_round(rounds, c, all_tainted);
    ++rounds->made;
}

/* ---- all rounds */

static void calibrate(sattn_rounds *rounds, double window_ns)
{
    const sattn_measure_plan *const plan = rounds->plan;
    for (size_t c = 0; c < plan->n_candidates; ++c) {
        sattn_track *const track = &rounds->tracks[c];
        track->calls = sattn_calibrate_calls(&plan->candidates[c], window_ns);
        for (size_t r = 0; r < plan->n_references; ++r)
            if (track->rates[r])
                track->rate[r] = sattn_calibrate_rate(&plan->references[r], window_ns);
    }
}

static bool is_clean(const sattn_track *track, int round)
{
    return !track->tainted[round] && !sattn_issue_is_shared(track->widths[round]);
}

/* Of the candidate that has fewest. */
static int clean_rounds(const sattn_rounds *rounds)
{
    int fewest = rounds->made;
    for (size_t c = 0; c < rounds->plan->n_candidates; ++c) {
        int clean = 0;
        for (int i = 0; i < rounds->made; ++i)
            clean += is_clean(&rounds->tracks[c], i);
        fewest = clean < fewest ? clean : fewest;
    }
    return fewest;
}

bool sattn_rounds_worth_more(int clean, int min_rounds, double spent)
{
    return clean < min_rounds && (clean + 1) * 2 >= min_rounds * spent && spent <= 2;
}

/* At the end, when as much is known of the free core as will be. */
static void judge_widths(sattn_rounds *rounds)
{
    for (size_t c = 0; c < rounds->plan->n_candidates; ++c) {
        sattn_track *const track = &rounds->tracks[c];
        for (int i = 0; i < rounds->made; ++i)
            track->tainted[i] =
                sattn_taint_add_round(&track->taint, track->widths[i], track->tainted[i]);
    }
}

void sattn_rounds_run(sattn_rounds *rounds, const sattn_measure_options *options)
{
    calibrate(rounds, options->window_s * 1e9);
    sattn_outside_begin(&rounds->outside);
    rounds->patience_ns = (int64_t)(options->patience_s * 1e9);
    rounds->is_stopped = options->is_stopped;
    measure_round(rounds, false, false); /* warm-up: everything has run, clocks are up */
    const int64_t begin = sattn_now_ns();
    const double budget_ns = options->budget_s * 1e9;
    while (rounds->made < options->max_rounds) {
        const double elapsed = (double)(sattn_now_ns() - begin);
        const double after_next = elapsed + elapsed / (rounds->made > 0 ? rounds->made : 1);
        const bool enough = rounds->made >= options->min_rounds && after_next > budget_ns;
        if (enough && !sattn_rounds_worth_more(clean_rounds(rounds), options->min_rounds,
                                               after_next / budget_ns))
            break;
        if (rounds->made >= options->min_rounds && options->is_stopped != NULL &&
            options->is_stopped())
            break;
        if (options->progress != NULL) {
            const double by_time = elapsed / budget_ns;
            const double by_rounds = (double)rounds->made / options->min_rounds;
            options->progress(options->progress_context, fmin(fmin(by_time, by_rounds), 1));
        }
        measure_round(rounds, rounds->made % 2 != 0, true);
    }
    judge_widths(rounds);
    if (options->progress != NULL)
        options->progress(options->progress_context, 1);
}
