/* SPDX-License-Identifier: MIT
 *
 * tune_run.c: shares the time out among classes, and keeps what is finished. */
#include "bench/tune/tune_run.h"

#include "bench/measure/clock.h"
#include "bench/stop.h"
#include "bench/verbs.h"

#include <stdio.h>

/* A class gets its share of the time that is left, of all classes; or this, as long as there is so
 * much: of a short run some classes come to an end, and not a little of each. The second is for
 * those that the first was too short for. */
enum { PASSES = 2 };
static const double wanted_share_s[PASSES] = {1.2, 6};

/* A file is written no more often than this. */
#define WRITE_NS INT64_C(2000000000)

static double elapsed_s(const sattn_tune_session *session)
{
    return (double)(session->now_ns() - session->begin_ns) * 1e-9;
}

const sattn_profile_entry *sattn_tune_known(const sattn_tune_session *session, size_t job)
{
    const sattn_tune_outcome *const outcome = &session->outcomes[job];
    if (session->states[job] == SATTN_TUNE_DONE)
        return outcome->entry.n_tried > 0 && !*outcome->error ? &outcome->entry : NULL;
    return session->states[job] != SATTN_TUNE_WAITING
               ? sattn_tune_store_find(session->store, &session->jobs->jobs[job],
                                       session->options->max_error)
               : NULL;
}

static bool is_complete(const sattn_tune_session *session, size_t job)
{
    const sattn_profile_entry *const known = sattn_tune_known(session, job);
    return known && known->is_complete;
}

/* It would say nothing else if it were run again. */
static bool is_settled(const sattn_tune_session *session, size_t job)
{
    return is_complete(session, job) ||
           (session->states[job] == SATTN_TUNE_DONE && *session->outcomes[job].error);
}

sattn_tune_coverage sattn_tune_coverage_of(const sattn_tune_session *session, sattn_tune_tier tier)
{
    sattn_tune_coverage coverage = {0};
    for (size_t j = 0; j < session->jobs->count; ++j) {
        if (session->jobs->jobs[j].tier != tier)
            continue;
        const bool complete = is_complete(session, j);
        ++coverage.classes;
        coverage.complete += complete;
        coverage.shapes += complete ? session->jobs->jobs[j].n_shapes : 0;
    }
    return coverage;
}

/* ---- time */

/* Of a class that is not settled. */
static double share_s(const sattn_tune_session *session, int pass)
{
    const double left = session->options->budget_s - elapsed_s(session);
    int open = 0;
    for (size_t j = 0; j < session->jobs->count; ++j)
        open += !is_settled(session, j);
    const double even = left / open;
    const double wanted = left < wanted_share_s[pass] ? left : wanted_share_s[pass];
    return even > wanted ? even : wanted;
}

static void show_progress(sattn_tune_session *session, size_t job)
{
    const double by_time = elapsed_s(session) / session->options->budget_s;
    const double by_count = (double)job / (double)session->jobs->count;
    const double done = by_time > by_count ? by_time : by_count;
    char text[SATTN_CLASS_TEXT];
    snprintf(text, sizeof text, "%zu of %zu classes: %.60s", job + 1, session->jobs->count,
             session->jobs->jobs[job].shape.name);
    sattn_progress_update(&session->line, done < 1 ? done : 1, text);
}

/* ---- jobs */

void sattn_tune_run_job(const sattn_tune_job *job, const sattn_tune_setting *setting,
                        sattn_tune_outcome *outcome)
{
    sattn_tune_recipes recipes;
    sattn_crew_gather(setting->crew, job->threads);
    if (sattn_tune_list_recipes(job, &recipes, outcome->error, sizeof outcome->error))
        sattn_tune_run(job, recipes.list, recipes.count, setting, outcome);
}

static void run_job(sattn_tune_session *session, size_t j, int pass)
{
    const sattn_tune_setting setting = {.seconds = share_s(session, pass),
                                        .max_error = session->options->max_error,
                                        .seed = session->options->seed,
                                        .crew = &session->places->crew,
                                        .is_stopped = sattn_stop_asked};
    sattn_tune_outcome_free(&session->outcomes[j]);
    session->run(&session->jobs->jobs[j], &setting, &session->outcomes[j]);
    session->states[j] = SATTN_TUNE_DONE;
}

/* What is finished is in the file, should the program be ended before the last class. */
static void keep_finished(sattn_tune_session *session)
{
    char error[512];
    if (sattn_now_ns() - session->store->written_ns >= WRITE_NS)
        (void)sattn_tune_store_write(session->store, error, sizeof error);
}

typedef void show_job(const sattn_tune_session *session, size_t job);

static void run_one(sattn_tune_session *session, size_t j, int pass, show_job *show)
{
    show_progress(session, j);
    run_job(session, j, pass);
    sattn_progress_clear(&session->line);
    if (is_settled(session, j))
        show(session, j);
    keep_finished(session);
}

/* Those of a tier that are not settled, one after the other. Those that an earlier run was too
 * short for come last: else a run as short would begin with them again, and get no further. */
static void run_tier(sattn_tune_session *session, sattn_tune_tier tier, int pass, show_job *show)
{
    for (int is_begun = 0; is_begun < 2; ++is_begun)
        for (size_t j = 0; j < session->jobs->count; ++j) {
            if (session->jobs->jobs[j].tier != tier || is_settled(session, j) ||
                (session->states[j] == SATTN_TUNE_BEGUN) != is_begun)
                continue;
            if (elapsed_s(session) >= session->options->budget_s || sattn_stop_asked())
                return;
            run_one(session, j, pass, show);
        }
}

static void find_kept(sattn_tune_session *session, show_job *show)
{
    for (size_t j = 0; j < session->jobs->count && !session->options->fresh; ++j) {
        const sattn_profile_entry *const entry = sattn_tune_store_find(
            session->store, &session->jobs->jobs[j], session->options->max_error);
        if (!entry)
            continue;
        session->states[j] = entry->is_complete ? SATTN_TUNE_KEPT : SATTN_TUNE_BEGUN;
        if (entry->is_complete)
            show(session, j);
    }
}

/* What has come of all of it. That the time was too short for some is no failure. */
static int exit_code(const sattn_tune_session *session)
{
    bool is_any_known = false, is_any_without = false;
    for (size_t j = 0; j < session->jobs->count; ++j) {
        const sattn_tune_outcome *const outcome = &session->outcomes[j];
        if (outcome->failed || (*outcome->error && !outcome->is_none_admitted))
            return SATTN_EXIT_FAILED;
        is_any_known = is_any_known || sattn_tune_known(session, j);
        is_any_without = is_any_without || outcome->is_none_admitted;
    }
    return is_any_without && !is_any_known ? SATTN_EXIT_NOTHING : SATTN_EXIT_GOOD;
}

int sattn_tune_session_run(sattn_tune_session *session,
                           void (*show)(const sattn_tune_session *session, size_t job))
{
    session->begin_ns = session->now_ns();
    session->store->outcomes = session->outcomes;
    session->store->n_outcomes = session->jobs->count;
    session->store->jobs = session->jobs;
    session->store->max_error = session->options->max_error;
    session->store->written_ns = sattn_now_ns();
    sattn_progress_begin(&session->line);
    find_kept(session, show);
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier)
        for (int pass = 0; pass < PASSES; ++pass)
            run_tier(session, (sattn_tune_tier)tier, pass, show);
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier) /* with what all have left */
        run_tier(session, (sattn_tune_tier)tier, PASSES - 1, show);
    for (size_t j = 0; j < session->jobs->count; ++j)
        if (session->states[j] == SATTN_TUNE_DONE && !is_settled(session, j))
            show(session, j);
    return exit_code(session);
}
