/* SPDX-License-Identifier: MIT
 *
 * tune.c: the verb `tune`: finds out what is the fastest, and writes it down. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "bench/measure/clock.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/tune/regret.h"
#include "bench/tune/tune_json.h"
#include "bench/tune/tune_report.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <stdio.h>
#include <stdlib.h>

static int complain(const char *why, int code)
{
    fprintf(stderr, "simdattn tune: %s\n", why);
    return code;
}

static void show_nothing(const sattn_tune_session *session, size_t job)
{
    (void)session;
    (void)job;
}

static bool write_profile(sattn_tune_session *session)
{
    char error[512];
    const bool good = sattn_tune_store_write(session->store, error, sizeof error);
    if (!good)
        complain(error, SATTN_EXIT_FAILED);
    return good;
}

static bool print_document(const sattn_tune_session *session, double seconds, bool is_there)
{
    json_t *const document = sattn_tune_document(session, seconds, is_there);
    const bool good = document && sattn_result_print(document, stdout);
    json_decref(document);
    if (!good)
        complain("the document could not be written to standard output", SATTN_EXIT_FAILED);
    return good;
}

static int run_session(sattn_tune_session *session)
{
    const bool json = session->options->json;
    if (!json)
        sattn_tune_print_begin(session);
    sattn_stop_begin();
    int code = sattn_tune_session_run(session, json ? show_nothing : sattn_tune_print_job);
    const double seconds = (double)(sattn_now_ns() - session->begin_ns) * 1e-9;
    const bool is_good = write_profile(session);
    const bool is_there = session->store->is_written || session->store->kept;
    bool is_printed = true;
    if (json)
        is_printed = print_document(session, seconds, is_there);
    else
        sattn_tune_print_end(session, seconds, is_there);
    sattn_stop_end();
    if (sattn_stop_asked())
        return SATTN_EXIT_SIGNAL + sattn_stop_signal();
    return code == SATTN_EXIT_GOOD && !(is_good && is_printed) ? SATTN_EXIT_FAILED : code;
}

static int run_jobs(const sattn_tune_options *options, const sattn_tune_jobs *jobs,
                    sattn_tune_store *store)
{
    sattn_environment environment;
    sattn_places places;
    sattn_tune_session session = {.options = options,
                                  .environment = &environment,
                                  .places = &places,
                                  .jobs = jobs,
                                  .store = store,
                                  .now_ns = sattn_now_ns,
                                  .run = sattn_tune_run_job,
                                  .states = calloc(jobs->count, sizeof *session.states),
                                  .outcomes = calloc(jobs->count, sizeof *session.outcomes)};
    int code = SATTN_EXIT_FAILED;
    sattn_environment_read(NULL, &environment);
    sattn_places_begin(&places, &options->threads);
    if (session.states && session.outcomes)
        code = run_session(&session);
    else
        complain("out of memory", code);
    sattn_places_end(&places);
    for (size_t j = 0; session.outcomes && j < jobs->count; ++j)
        sattn_tune_outcome_free(&session.outcomes[j]);
    free(session.outcomes);
    free(session.states);
    return code;
}

static int select_and_run(const sattn_tune_options *options, sattn_features usable,
                          sattn_tune_store *store)
{
    char error[512];
    sattn_tune_jobs jobs;
    int code = sattn_tune_select(options, usable, &jobs);
    if (code == SATTN_EXIT_GOOD && options->list)
        sattn_tune_print_list(&jobs);
    else if (code == SATTN_EXIT_GOOD &&
             (!sattn_tune_store_open(store, options, error, sizeof error) ||
              !sattn_result_check_path(store->path, error, sizeof error)))
        code = complain(error, SATTN_EXIT_USAGE);
    else if (code == SATTN_EXIT_GOOD)
        code = run_jobs(options, &jobs, store);
    sattn_tune_jobs_free(&jobs);
    return code;
}

/* Names would leave nothing to choose. */
static bool names_kernels(const sattn_overrides *overrides)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (overrides->forced[op])
            return true;
    return false;
}

static int run(const sattn_tune_options *options)
{
    sattn_overrides overrides;
    sattn_tune_store store = {0};
    if (sattn_overrides_get(NULL, &overrides) != SATTN_OK)
        return complain(sattn_last_error(), SATTN_EXIT_USAGE);
    if (names_kernels(&overrides))
        return complain("SATTN_KERNEL names kernels, which leaves nothing to choose: unset it",
                        SATTN_EXIT_USAGE);
    const int code = options->verify ? sattn_regret_verify(options, overrides.usable)
                                     : select_and_run(options, overrides.usable, &store);
    sattn_tune_store_close(&store);
    return code;
}

int sattn_verb_tune(int argc, char **argv)
{
    sattn_tune_options options;
    int code = SATTN_EXIT_USAGE;
    if (sattn_tune_options_parse(argc, argv, &options)) {
        /* What is measured is given its profile; the process's own is neither used nor warned of.
         */
        (void)setenv("SATTN_PROFILE", "none", 1);
        if (options.help)
            sattn_tune_help();
        code = options.help ? SATTN_EXIT_GOOD : run(&options);
    }
    sattn_tune_options_free(&options);
    return code;
}
