/* SPDX-License-Identifier: MIT
 *
 * tune_class.c: the race on this machine's clock, and the entry that comes of it. */
#include "bench/tune/tune_class.h"

#include "bench/measure/calibrate.h"
#include "bench/measure/clock.h"
#include "bench/measure/issue.h"
#include "bench/measure/taint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double window_ns = 0.4e6;

/* Of what verifying its candidates leaves of the time of a class; the rest is for other shapes. */
static const double race_share = 0.6;

/* Of the time of a race in which a core that is shared may be waited for: what is timed on such a
 * core decides nothing. */
static const double patience = 0.5;

/* ---- the race */

/* An admitted candidate on the track. */
typedef struct runner {
    sattn_measure_candidate measured;
    int64_t calls; /* in a window */
} runner;

typedef struct track {
    runner *runners;
    sattn_outside outside;
    sattn_crew *crew;
    int64_t (*now_ns)(void);
    sattn_tune_time *time;
    bool (*is_stopped)(void);
    int64_t patience_ns; /* left for waiting */
} track;

sattn_race_window sattn_tune_time_calls(const sattn_measure_candidate *measured, int64_t calls)
{
    const sattn_window done = sattn_run_calls(measured, calls);
    return (sattn_race_window){.ns = (double)sattn_window_charged_ns(&done) / (double)calls,
                               .is_tainted = sattn_window_preempted(&done) ||
                                             sattn_issue_is_shared(done.width) || done.ns <= 0};
}

static void gather_crew(void *context)
{
    sattn_bench_call *const call = context;
    if (call->crew)
        sattn_crew_gather(call->crew, call->options.threads);
}

static void await_free_core(void *context, size_t candidate)
{
    track *const t = context;
    if (t->runners[candidate].measured.threads <= 1)
        t->patience_ns -= sattn_issue_await(t->patience_ns, t->is_stopped);
}

static sattn_race_window time_window(void *context, size_t candidate)
{
    const track *const t = context;
    const runner *const r = &t->runners[candidate];
    sattn_prepare_calls(&r->measured);
    /* A few short calls would show what the other candidates left in the caches. */
    if (r->calls > 1)
        sattn_run_calls(&r->measured, 1);
    return t->time(&r->measured, r->calls);
}

static double now_ns(void *context)
{
    return (double)((const track *)context)->now_ns();
}

static bool was_disturbed(void *context)
{
    return sattn_outside_moved(&((track *)context)->outside);
}

/* Puts the admitted candidates on the track; returns how many there are. */
static size_t line_up(sattn_tune_field *field, track *t, int *ranks, int *lane_of)
{
    size_t n = 0;
    for (size_t c = 0; c < field->count; ++c) {
        sattn_tune_candidate *const candidate = &field->list[c];
        lane_of[c] = -1;
        if (candidate->verdict != SATTN_TUNE_ADMITTED)
            continue;
        runner *const r = &t->runners[n];
        candidate->call.crew = t->crew;
        r->measured = (sattn_measure_candidate){.name = candidate->variant.name,
                                                .call = sattn_bench_call_run,
                                                .prepare = gather_crew,
                                                .context = &candidate->call,
                                                .threads = field->job->threads};
        r->calls = sattn_calibrate_calls(&r->measured, window_ns);
        ranks[n] = (int)c;
        lane_of[c] = (int)n++;
    }
    return n;
}

bool sattn_tune_race(sattn_tune_field *field, size_t incumbent, const sattn_tune_setting *setting,
                     int *lane_of, sattn_race_result *result)
{
    track t = {.runners = calloc(field->count, sizeof *t.runners),
               .crew = setting->crew,
               .now_ns = setting->now_ns ? setting->now_ns : sattn_now_ns,
               .time = setting->time ? setting->time : sattn_tune_time_calls,
               .is_stopped = setting->is_stopped};
    int *const ranks = calloc(field->count, sizeof *ranks);
    bool good = t.runners && ranks;
    if (good) {
        const double begin = now_ns(&t);
        const size_t n = line_up(field, &t, ranks, lane_of);
        sattn_outside_begin(&t.outside);
        const sattn_race_track on_clock = {.time = time_window,
                                           .now_ns = now_ns,
                                           .await = setting->time ? NULL : await_free_core,
                                           .was_disturbed = setting->time ? NULL : was_disturbed,
                                           .is_stopped = setting->is_stopped,
                                           .context = &t};
        const sattn_race_options options = {.n_candidates = n,
                                            .incumbent = (size_t)lane_of[incumbent],
                                            .ranks = ranks,
                                            .seed = setting->seed,
                                            .budget_ns =
                                                setting->seconds * 1e9 - (now_ns(&t) - begin)};
        t.patience_ns = (int64_t)(patience * options.budget_ns);
        good = sattn_race_run(&on_clock, &options, result);
    }
    free(t.runners);
    free(ranks);
    return good;
}

/* ---- the entry */

static bool open_outcome(sattn_tune_outcome *outcome, const sattn_tune_job *job, size_t count)
{
    const double unknown = (double)NAN;
    sattn_tried *const tried = calloc(count, sizeof *tried);
    outcome->notes = calloc(count, sizeof *outcome->notes);
    outcome->entry = (sattn_profile_entry){.shape_class = job->shape_class,
                                           .usable = job->usable,
                                           .shape = outcome->shape,
                                           .margin = unknown,
                                           .spread = unknown,
                                           .tried = tried};
    outcome->gain = sattn_stat_of(NULL, 0);
    for (size_t c = 0; tried && outcome->notes && c < count; ++c)
        tried[c] =
            (sattn_tried){.time_ns = unknown, .time_p10_ns = unknown, .time_p90_ns = unknown};
    return tried && outcome->notes;
}

void sattn_tune_outcome_free(sattn_tune_outcome *outcome)
{
    free((void *)(uintptr_t)outcome->entry.tried);
    free(outcome->notes);
    *outcome = (sattn_tune_outcome){0};
}

static void fill_verdicts(const sattn_tune_field *field, sattn_tried *tried,
                          sattn_tune_outcome *outcome)
{
    for (size_t c = 0; c < field->count; ++c) {
        const sattn_tune_candidate *const candidate = &field->list[c];
        const bool was_compared = candidate->verified.n_measured > 0;
        tried[c].recipe = candidate->recipe;
        tried[c].error = was_compared ? candidate->verified.worst_error : (double)NAN;
        tried[c].error_bound = was_compared ? candidate->verified.worst_error_bound : (double)NAN;
        tried[c].is_admitted = candidate->verdict == SATTN_TUNE_ADMITTED;
        if (candidate->n_probes > 0) { /* for what is not raced */
            tried[c].time_ns = candidate->probe_ns[candidate->n_probes / 2];
            tried[c].time_p10_ns = candidate->probe_ns[0];
            tried[c].time_p90_ns = candidate->probe_ns[candidate->n_probes - 1];
            tried[c].samples = candidate->n_probes;
        }
        outcome->notes[c].verdict = candidate->verdict;
        snprintf(outcome->notes[c].why, sizeof outcome->notes[c].why, "%s", candidate->why);
    }
    outcome->entry.n_tried = field->count;
}

static void fill_race(const sattn_tune_field *field, const int *lane_of,
                      const sattn_race_result *race, sattn_tried *tried,
                      sattn_tune_outcome *outcome)
{
    sattn_profile_entry *const entry = &outcome->entry;
    const sattn_race_lane *const standard = lane_of[0] >= 0 ? &race->lanes[lane_of[0]] : NULL;
    for (size_t c = 0; c < field->count; ++c) {
        if (lane_of[c] < 0)
            continue;
        const sattn_race_lane *const lane = &race->lanes[lane_of[c]];
        if (lane->time_ns.n == 0)
            continue;
        tried[c].time_ns = lane->time_ns.median;
        tried[c].time_p10_ns = lane->time_ns.p10;
        tried[c].time_p90_ns = lane->time_ns.p90;
        tried[c].samples = lane->time_ns.n;
        if ((size_t)lane_of[c] == race->winner && race->is_complete)
            entry->taken = c; /* before the end, the default */
    }
    if (standard)
        outcome->gain = standard->behind;
    if (race->is_tie && entry->taken == 0) /* what is not exact enough keeps nothing */
        entry->kept = SATTN_KEPT_IN_A_TIE;
    entry->is_tainted = race->is_tainted;
    entry->is_complete = race->is_complete;
    entry->margin = race->margin;
    entry->spread = race->spread;
    outcome->rounds = race->rounds;
}

/* The default is the incumbent; where it is not exact enough, the first that is. */
static void race_admitted(sattn_tune_field *field, const sattn_tune_setting *setting,
                          sattn_tried *tried, sattn_tune_outcome *outcome)
{
    size_t incumbent = 0;
    int *const lane_of = calloc(field->count, sizeof *lane_of);
    sattn_race_result race;
    while (incumbent < field->count && field->list[incumbent].verdict != SATTN_TUNE_ADMITTED)
        ++incumbent;
    outcome->is_none_admitted = incumbent == field->count;
    if (outcome->is_none_admitted) {
        snprintf(outcome->error, sizeof outcome->error, "nothing was admitted; the default: %.180s",
                 field->list[0].why);
    } else if (lane_of && sattn_tune_race(field, incumbent, setting, lane_of, &race)) {
        fill_race(field, lane_of, &race, tried, outcome);
        sattn_race_free(&race);
    } else {
        snprintf(outcome->error, sizeof outcome->error, "out of memory");
    }
    free(lane_of);
}

static void name_shape(const sattn_tune_job *job, const char *part, sattn_tune_outcome *outcome)
{
    char what[64];
    sattn_tune_job_shape(job, what, sizeof what);
    snprintf(outcome->shape, sizeof outcome->shape, "%s%s%.24s%s", what, *part ? " (" : "", part,
             *part ? ")" : "");
}

static double left_s(const sattn_tune_limits *limits)
{
    return (double)(limits->deadline_ns - limits->now_ns()) * 1e-9;
}

/* The race, and what others of the class say to its winner. */
static void race_in_time(sattn_tune_field *field, const sattn_tune_setting *setting,
                         sattn_tried *tried, sattn_tune_outcome *outcome)
{
    const sattn_tune_job *const job = field->job;
    const sattn_tune_limits limits = field->limits;
    sattn_tune_setting rest = *setting;
    rest.seconds = race_share * left_s(&limits);
    race_admitted(field, &rest, tried, outcome);
    sattn_tune_field_close(field); /* before others take as much memory */
    rest.seconds = left_s(&limits);
    sattn_tune_confirm(job, &rest, outcome);
}

void sattn_tune_run(const sattn_tune_job *job, const sattn_recipe *recipes, size_t count,
                    const sattn_tune_setting *setting, sattn_tune_outcome *outcome)
{
    sattn_tune_limits limits = {.now_ns = setting->now_ns ? setting->now_ns : sattn_now_ns,
                                .is_stopped = setting->is_stopped};
    sattn_tune_field field = {0};
    limits.deadline_ns = limits.now_ns() + (int64_t)(setting->seconds * 1e9);
    *outcome = (sattn_tune_outcome){0};
    if (!open_outcome(outcome, job, count)) {
        snprintf(outcome->error, sizeof outcome->error, "out of memory");
        return;
    }
    sattn_tried *const tried = (sattn_tried *)(uintptr_t)outcome->entry.tried;
    outcome->entry.max_error = setting->max_error;
    if (sattn_tune_field_open(&field, job, recipes, count, outcome->error, sizeof outcome->error)) {
        name_shape(job, field.part, outcome);
        field.limits = limits;
        field.seed = setting->seed;
        if (setting->time)
            field.time = setting->time;
        if (sattn_tune_admit(&field, setting->max_error)) {
            fill_verdicts(&field, tried, outcome);
            outcome->failed =
                field.list[0].verdict == SATTN_TUNE_REJECTED && !field.list[0].is_inexact;
            if (!field.is_cut)
                race_in_time(&field, setting, tried, outcome);
        } else {
            snprintf(outcome->error, sizeof outcome->error, "out of memory");
        }
    }
    sattn_tune_field_close(&field);
}
