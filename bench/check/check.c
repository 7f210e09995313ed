/* SPDX-License-Identifier: MIT
 *
 * check.c: the verb `check`: reads the baseline, runs, reports, and decides on the exit code. */
#include "bench/check/check.h"
#include "bench/check/check_baseline.h"
#include "bench/result.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <fenv.h>
#include <stdio.h>

typedef struct check_job {
    sattn_check_options options;
    sattn_check_run run;
    sattn_check_baseline baseline;
    sattn_check_comparison comparison;
    json_t *environment;
} check_job;

static int complain(int code, const char *text)
{
    fprintf(stderr, "simdattn check: %s\n", text);
    return code;
}

/* Kernels that were asked for by name or level and cannot run here are an answer of their own. */
static int check_selection(const check_job *job)
{
    const sattn_check_options *const o = &job->options;
    const sattn_check_variant *skipped = NULL;
    for (size_t v = 0; v < job->run.n_variants; ++v) {
        const sattn_check_variant *const variant = &job->run.variants[v];
        if (sattn_check_runs(variant))
            return SATTN_EXIT_GOOD;
        if (variant->is_wanted)
            skipped = variant;
    }
    if (skipped && (o->isas.count || o->kernels.count)) {
        fprintf(stderr, "simdattn check: %s cannot be used here: %s\n", skipped->kernel,
                skipped->why_not);
        return SATTN_EXIT_USAGE;
    }
    return complain(SATTN_EXIT_NOTHING, "no kernel matches these options: nothing to compare");
}

/* The bounds are those of IEEE arithmetic. A library that is loaded into the process can have
 * denormals flushed for all of it; the environment in the report says that it was so. */
static void restore_ieee(const sattn_environment *environment)
{
    if (environment->flush_to_zero != SATTN_YES && environment->denormals_are_zero != SATTN_YES)
        return;
    fesetenv(FE_DFL_ENV);
    fprintf(stderr, "simdattn check: denormals are flushed to zero in this process; checking with "
                    "IEEE arithmetic\n");
}

/* Everything that can be found wrong before the work begins. */
static int prepare(check_job *job)
{
    const sattn_check_options *const o = &job->options;
    sattn_overrides overrides;
    sattn_environment environment;
    char error[1024];
    if (sattn_overrides_get(NULL, &overrides) != SATTN_OK)
        return complain(SATTN_EXIT_USAGE, sattn_last_error());
    if (o->write_baseline && !sattn_result_check_path(o->write_baseline, error, sizeof error))
        return complain(SATTN_EXIT_USAGE, error);
    if (o->baseline) {
        const int code =
            sattn_check_baseline_load(o->baseline, o->seed, &job->baseline, error, sizeof error);
        if (code != SATTN_EXIT_GOOD)
            return complain(code, error);
    }
    sattn_environment_read(NULL, &environment);
    restore_ieee(&environment);
    job->environment = sattn_check_environment(&environment);
    job->run.options = o;
    if (!job->environment || !sattn_check_variants(o, overrides.usable, &job->run))
        return complain(SATTN_EXIT_FAILED, "out of memory");
    return check_selection(job);
}

static int verdict(const check_job *job)
{
    if (job->run.n_entries == 0)
        return complain(SATTN_EXIT_NOTHING, "no shape and data match these options: nothing was "
                                            "compared");
    for (size_t e = 0; e < job->run.n_entries; ++e)
        if (!sattn_check_entry_good(&job->run.entries[e]))
            return SATTN_EXIT_FAILED;
    return job->options.baseline ? sattn_check_comparison_code(&job->comparison) : SATTN_EXIT_GOOD;
}

static int report(const check_job *job)
{
    const sattn_check_options *const o = &job->options;
    const sattn_check_comparison *const comparison = o->baseline ? &job->comparison : NULL;
    if (o->json) {
        json_t *const document =
            sattn_check_report(&job->run, job->environment, comparison, &job->baseline);
        const bool good = document && sattn_check_document_print(document, stdout);
        json_decref(document);
        if (!good)
            return complain(SATTN_EXIT_FAILED, "the document could not be written");
        return SATTN_EXIT_GOOD;
    }
    sattn_check_print(&job->run);
    if (comparison)
        sattn_check_comparison_print(comparison, &job->baseline, job->environment, o->baseline,
                                     stdout);
    return SATTN_EXIT_GOOD;
}

static int write_baseline(const check_job *job)
{
    const char *const path = job->options.write_baseline;
    char error[512] = "out of memory for the baseline";
    json_t *const document = sattn_check_document(&job->run, job->environment);
    const bool good = document && sattn_result_write_as(document, sattn_check_document_print, path,
                                                        error, sizeof error);
    json_decref(document);
    if (!good)
        return complain(SATTN_EXIT_FAILED, error);
    fprintf(job->options.json ? stderr : stdout, "Baseline written to %s\n", path);
    return SATTN_EXIT_GOOD;
}

static int check(check_job *job)
{
    int code = prepare(job);
    if (code == SATTN_EXIT_GOOD)
        code = sattn_check_execute(&job->run);
    if (code != SATTN_EXIT_GOOD)
        return code;
    if (job->options.baseline)
        sattn_check_compare(&job->run, &job->baseline, &job->comparison);
    code = verdict(job);
    const int reported = report(job);
    if (!job->options.write_baseline)
        return code != SATTN_EXIT_GOOD ? code : reported;
    if (code != SATTN_EXIT_GOOD)
        return complain(code, "the baseline is not written: something is wrong");
    const int written = write_baseline(job);
    return reported != SATTN_EXIT_GOOD ? reported : written;
}

int sattn_verb_check(int argc, char **argv)
{
    check_job job = {0};
    int code = SATTN_EXIT_USAGE;
    if (sattn_check_options_parse(argc, argv, &job.options)) {
        if (job.options.help) {
            sattn_check_help();
            code = SATTN_EXIT_GOOD;
        } else {
            code = check(&job);
        }
    }
    sattn_check_comparison_free(&job.comparison);
    sattn_check_baseline_free(&job.baseline);
    json_decref(job.environment);
    sattn_check_run_free(&job.run);
    sattn_check_options_free(&job.options);
    return code;
}
