/* SPDX-License-Identifier: MIT
 *
 * bench.c: the verb `bench`: one job after the other, then the outputs. */
#include "bench/bench_goals_report.h"
#include "bench/bench_google.h"
#include "bench/bench_json.h"
#include "bench/bench_legend.h"
#include "bench/bench_list.h"
#include "bench/bench_options.h"
#include "bench/bench_report.h"
#include "bench/bench_rows.h"
#include "bench/bench_run.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/result.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <stdio.h>

/* What the progress line needs to place a job in the whole. */
typedef struct whole_run {
    sattn_progress line;
    size_t job, n_jobs;
} whole_run;

static void on_progress(void *context, double done, const char *what)
{
    whole_run *const run = context;
    sattn_progress_update(&run->line, ((double)run->job + done) / (double)run->n_jobs, what);
}

/* What preset limits may take in all, with what it does beside measuring, and for one row. */
static const double goals_seconds = 540, goals_row_seconds = 4;

static bool is_goals(const sattn_bench_options *options)
{
    return options->preset == SATTN_PRESET_LIMITS;
}

static bool table_wanted(const sattn_bench_options *options)
{
    return !options->json && !options->google_display;
}

/* A job's part of the time that is left, by its rows. */
static double seconds_of(const sattn_bench_jobs *list, size_t job, int64_t begin)
{
    const double left = goals_seconds - (double)(sattn_now_ns() - begin) * 1e-9;
    size_t rows = 0;
    for (size_t j = job; j < list->count; ++j)
        rows += list->jobs[j].n_rows;
    const double each = left / (double)rows;
    return (each < goals_row_seconds ? each : goals_row_seconds) * (double)list->jobs[job].n_rows;
}

static int run_jobs(const sattn_bench_options *options, const sattn_environment *environment,
                    sattn_places *places, sattn_bench_jobs *list)
{
    whole_run run = {.n_jobs = list->count};
    const int64_t begin = sattn_now_ns();
    sattn_bench_peers peers = {.is_open = {false, false}};
    sattn_bench_setting setting = {.dataset = options->dataset,
                                   .seconds = options->seconds,
                                   .read_isa = environment->isa,
                                   .forces = options->kernels.count > 0,
                                   .cycles = is_goals(options),
                                   .crew = &places->crew,
                                   .peers = &peers,
                                   .cache_bytes = sattn_caches_last_level(&environment->caches),
                                   .progress = on_progress,
                                   .progress_context = &run};
    int code = SATTN_EXIT_GOOD;
    sattn_progress_begin(&run.line);
    for (; run.job < list->count; ++run.job) {
        sattn_bench_job *const job = &list->jobs[run.job];
        setting.job_seconds = seconds_of(list, run.job, begin);
        sattn_bench_run_job(job, &setting);
        sattn_progress_clear(&run.line);
        if (table_wanted(options) && !is_goals(options))
            sattn_bench_print_job(job);
        else if (*job->error)
            fprintf(stderr, "simdattn bench: %s: %s\n", job->shape->name, job->error);
        if (sattn_bench_job_failed(job) && code == SATTN_EXIT_GOOD)
            code = job->unreadable ? SATTN_EXIT_USAGE : SATTN_EXIT_FAILED;
    }
    sattn_bench_peers_close(&peers);
    return code;
}

/* Writes --out and --json. */
static int write_document(const sattn_bench_options *options, const sattn_environment *environment,
                          const sattn_places *places, const sattn_bench_jobs *list)
{
    if (!options->out && !options->json)
        return SATTN_EXIT_GOOD;
    char error[512] = "out of memory for the result document";
    json_t *const document = sattn_bench_document(list, options, environment, places);
    bool good = document != NULL;
    if (good && options->out)
        good = sattn_result_write(document, options->out, error, sizeof error);
    if (good && options->json && !sattn_result_print(document, stdout)) {
        snprintf(error, sizeof error, "the document could not be written to standard output");
        good = false;
    }
    json_decref(document);
    if (good)
        return SATTN_EXIT_GOOD;
    fprintf(stderr, "simdattn bench: %s\n", error);
    return SATTN_EXIT_FAILED;
}

static bool nothing_measured(const sattn_bench_jobs *list)
{
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            if (list->jobs[j].rows[r].state == SATTN_ROW_MEASURED)
                return false;
    return true;
}

static int run_all(const sattn_bench_options *options, sattn_bench_jobs *list)
{
    sattn_environment environment;
    sattn_places places;
    sattn_environment_read(NULL, &environment);
    sattn_places_begin(&places, &options->threads);
    if (table_wanted(options))
        sattn_bench_print_header(&environment, &places);
    const int64_t begin = sattn_now_ns();
    int code = run_jobs(options, &environment, &places, list);
    const double seconds = (double)(sattn_now_ns() - begin) * 1e-9;
    int written = write_document(options, &environment, &places, list);
    if (table_wanted(options)) {
        if (is_goals(options))
            sattn_bench_print_goals(list, &environment.caches);
        else
            sattn_bench_print_legend(list);
        if (sattn_thread_counts_most(&options->threads) > 1 && !places.crew.is_bound)
            puts("\nthreads were not bound to CPUs of their own");
        sattn_bench_print_footer(list, seconds, written == SATTN_EXIT_GOOD ? options->out : NULL);
    }
    sattn_places_end(&places);
    if ((options->google_display || options->google_out) &&
        !sattn_bench_google_report(list, &environment, options->google_display))
        written = SATTN_EXIT_FAILED;
    if (code == SATTN_EXIT_GOOD && nothing_measured(list))
        code = SATTN_EXIT_NOTHING;
    return code != SATTN_EXIT_GOOD ? code : written;
}

static int select_and_run(sattn_bench_options *options, sattn_bench_jobs *list)
{
    sattn_overrides overrides;
    char error[512];
    if (sattn_overrides_get(NULL, &overrides) != SATTN_OK) {
        fprintf(stderr, "simdattn bench: %s\n", sattn_last_error());
        return SATTN_EXIT_USAGE;
    }
    const int code = sattn_bench_select(options, overrides.usable, list);
    if (code != SATTN_EXIT_GOOD)
        return code;
    if (options->list || options->list_tests) {
        sattn_bench_print_list(list, options->list_tests);
        return SATTN_EXIT_GOOD;
    }
    if (!sattn_bench_google_begin(options))
        return SATTN_EXIT_USAGE;
    const char *const outs[] = {options->out, options->google_out};
    for (size_t o = 0; o < 2; ++o)
        if (outs[o] && !sattn_result_check_path(outs[o], error, sizeof error)) {
            fprintf(stderr, "simdattn bench: %s\n", error);
            return SATTN_EXIT_USAGE;
        }
    return run_all(options, list);
}

int sattn_verb_bench(int argc, char **argv)
{
    sattn_bench_options options;
    sattn_bench_jobs list = {0};
    int code = SATTN_EXIT_USAGE;
    if (sattn_bench_options_parse(argc, argv, &options)) {
        if (options.help) {
            sattn_bench_help();
            code = SATTN_EXIT_GOOD;
        } else {
            code = select_and_run(&options, &list);
        }
    }
    sattn_bench_jobs_free(&list);
    sattn_bench_options_free(&options);
    return code;
}
