/* SPDX-License-Identifier: MIT
 *
 * bench.c: the verb `bench`: one job after the other, each shown and kept as soon as it is
 * finished, then what all of them say together. */
#include "bench/bench/bench_goals.h"
#include "bench/bench/bench_goals_report.h"
#include "bench/bench/bench_google.h"
#include "bench/bench/bench_json.h"
#include "bench/bench/bench_legend.h"
#include "bench/bench/bench_list.h"
#include "bench/bench/bench_options.h"
#include "bench/bench/bench_report.h"
#include "bench/bench/bench_rows.h"
#include "bench/bench/bench_run.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <stdio.h>

typedef struct whole_run {
    const sattn_bench_options *options;
    const sattn_environment *environment;
    sattn_places *places;
    sattn_bench_jobs *list;
    sattn_progress line;
    size_t job;                     /* that runs now */
    int64_t written_ns, writing_ns; /* when the document was last written, and how long it took */
} whole_run;

static void on_progress(void *context, double done, const char *what)
{
    whole_run *const run = context;
    sattn_progress_update(&run->line, ((double)run->job + done) / (double)run->list->count, what);
}

static bool is_goals(const sattn_bench_options *options)
{
    return options->preset == SATTN_PRESET_LIMITS;
}

static bool table_wanted(const sattn_bench_options *options)
{
    return !options->json && !options->google_display;
}

/* ---- the document */

/* Writes --out, and --json where `is_last`. */
static bool write_document(const whole_run *run, bool is_last)
{
    const sattn_bench_options *const options = run->options;
    const bool prints = options->json && is_last;
    if (!options->out && !prints)
        return true;
    char error[512] = "out of memory for the result document";
    json_t *const document =
        sattn_bench_document(run->list, options, run->environment, run->places);
    bool good = document != NULL;
    if (good && options->out)
        good = sattn_result_write(document, options->out, error, sizeof error);
    if (good && prints && !sattn_result_print(document, stdout)) {
        snprintf(error, sizeof error, "the document could not be written to standard output");
        good = false;
    }
    json_decref(document);
    if (!good)
        fprintf(stderr, "simdattn bench: %s\n", error);
    return good;
}

/* What is finished is in the file, should the program be ended before the last job. A document that
 * has grown large is written less often: that takes a twentieth of the time at most. */
static void keep_finished(whole_run *run)
{
    const int64_t begin = sattn_now_ns();
    const bool is_last = run->job + 1 == run->list->count;
    if (is_last || !run->options->out || !sattn_result_is_replaced(run->options->out) ||
        begin - run->written_ns < 20 * run->writing_ns)
        return;
    (void)write_document(run, false);
    run->written_ns = sattn_now_ns();
    run->writing_ns = run->written_ns - begin;
}

/* ---- the jobs */

static void show_job(const whole_run *run)
{
    const sattn_bench_job *const job = &run->list->jobs[run->job];
    if (*job->error && (is_goals(run->options) || !table_wanted(run->options)))
        fprintf(stderr, "simdattn bench: %s: %s\n", job->shape->name, job->error);
    if (!table_wanted(run->options))
        return;
    if (is_goals(run->options))
        sattn_bench_print_goals_of(run->list, run->job, &run->environment->caches);
    else
        sattn_bench_print_job(job);
}

static int run_jobs(whole_run *run)
{
    const sattn_bench_options *const options = run->options;
    const int64_t begin = sattn_now_ns();
    sattn_bench_peers peers = {.is_open = {false, false}};
    sattn_bench_setting setting = {.dataset = options->dataset,
                                   .seconds = options->seconds,
                                   .read_isa = run->environment->isa,
                                   .forces = options->kernels.count > 0,
                                   .cycles = is_goals(options),
                                   .crew = &run->places->crew,
                                   .peers = &peers,
                                   .cache_bytes =
                                       sattn_caches_last_level(&run->environment->caches),
                                   .progress = on_progress,
                                   .progress_context = run};
    int code = SATTN_EXIT_GOOD;
    sattn_progress_begin(&run->line);
    for (; run->job < run->list->count && !sattn_stop_asked(); ++run->job) {
        sattn_bench_job *const job = &run->list->jobs[run->job];
        setting.job_seconds =
            sattn_bench_goals_seconds(run->list, run->job, (double)(sattn_now_ns() - begin) * 1e-9);
        sattn_bench_run_job(job, &setting);
        sattn_progress_clear(&run->line);
        show_job(run);
        keep_finished(run);
        if (sattn_bench_job_failed(job) && code == SATTN_EXIT_GOOD)
            code = job->unreadable ? SATTN_EXIT_USAGE : SATTN_EXIT_FAILED;
    }
    sattn_bench_peers_close(&peers);
    return code;
}

static bool nothing_measured(const sattn_bench_jobs *list)
{
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            if (list->jobs[j].rows[r].state == SATTN_ROW_MEASURED)
                return false;
    return true;
}

static void print_end(const whole_run *run, double seconds, const char *out)
{
    if (is_goals(run->options))
        sattn_bench_print_goals_end(run->list, &run->environment->caches);
    else
        sattn_bench_print_legend(run->list);
    if (sattn_thread_counts_most(&run->options->threads) > 1 && !run->places->crew.is_bound)
        puts("\nthreads were not bound to CPUs of their own");
    sattn_bench_print_footer(run->list, seconds, out);
}

static int run_all(const sattn_bench_options *options, sattn_bench_jobs *list)
{
    sattn_environment environment;
    sattn_places places;
    whole_run run = {
        .options = options, .environment = &environment, .places = &places, .list = list};
    sattn_environment_read(NULL, &environment);
    sattn_places_begin(&places, &options->threads);
    if (table_wanted(options))
        sattn_bench_print_header(&environment, &places,
                                 is_goals(options) ? options->arguments : "");
    const int64_t begin = sattn_now_ns();
    sattn_stop_begin();
    int code = run_jobs(&run);
    const double seconds = (double)(sattn_now_ns() - begin) * 1e-9;
    bool is_written = write_document(&run, true);
    if (table_wanted(options))
        print_end(&run, seconds, is_written ? options->out : NULL);
    sattn_stop_end();
    sattn_places_end(&places);
    if ((options->google_display || options->google_out) &&
        !sattn_bench_google_report(list, &environment, options->google_display))
        is_written = false;
    if (sattn_stop_asked())
        return SATTN_EXIT_SIGNAL + sattn_stop_signal();
    if (code == SATTN_EXIT_GOOD && nothing_measured(list))
        code = SATTN_EXIT_NOTHING;
    return code == SATTN_EXIT_GOOD && !is_written ? SATTN_EXIT_FAILED : code;
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
        sattn_bench_print_list(list, options->list_tests, is_goals(options));
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
