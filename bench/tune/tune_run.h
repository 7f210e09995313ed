/* SPDX-License-Identifier: MIT
 *
 * tune_run.h: a run of `simdattn tune`: one class after the other, most wanted first, until all are
 * known or the time is spent. */
#ifndef SATTN_BENCH_TUNE_TUNE_RUN_H
#define SATTN_BENCH_TUNE_TUNE_RUN_H

#include "bench/bench/bench_places.h"
#include "bench/environment/environment.h"
#include "bench/progress.h"
#include "bench/tune/tune_store.h"

typedef enum sattn_tune_state {
    SATTN_TUNE_WAITING, /* not run: time was spent, or the run interrupted, before its turn */
    SATTN_TUNE_BEGUN,   /* likewise, but an earlier run was too short for it: see the file */
    SATTN_TUNE_KEPT,    /* complete in the file */
    SATTN_TUNE_DONE,    /* run, as its outcome says */
} sattn_tune_state;

typedef struct sattn_tune_session {
    const sattn_tune_options *options;
    const sattn_environment *environment;
    sattn_places *places;
    const sattn_tune_jobs *jobs;
    sattn_tune_store *store;
    sattn_tune_state *states;     /* [jobs->count] */
    sattn_tune_outcome *outcomes; /* [jobs->count]; empty where the state is not DONE */
    /* sattn_now_ns and sattn_tune_run_job, but in tests, which have a clock of their own. */
    int64_t (*now_ns)(void);
    void (*run)(const sattn_tune_job *job, const sattn_tune_setting *setting,
                sattn_tune_outcome *outcome);
    sattn_progress line;
    int64_t begin_ns;
} sattn_tune_session;

/* What is known of a job, or NULL. */
const sattn_profile_entry *sattn_tune_known(const sattn_tune_session *session, size_t job);

/* Finds a job's recipes and tunes its class. */
void sattn_tune_run_job(const sattn_tune_job *job, const sattn_tune_setting *setting,
                        sattn_tune_outcome *outcome);

/* Runs everything. `show` is called for each job that is finished. Returns an exit code. */
int sattn_tune_session_run(sattn_tune_session *session,
                           void (*show)(const sattn_tune_session *session, size_t job));

/* How many classes of a tier there are, how many are known to the end, and how many named shapes
 * these stand for. */
typedef struct sattn_tune_coverage {
    int classes, complete, shapes;
} sattn_tune_coverage;

sattn_tune_coverage sattn_tune_coverage_of(const sattn_tune_session *session, sattn_tune_tier tier);

#endif
