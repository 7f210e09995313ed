/* SPDX-License-Identifier: MIT
 *
 * conform.c: the verb `conform`: reads the suites, runs them, reports, and decides on the exit
 * code. */
#include "bench/conform/conform.h"

#include "bench/check/check_baseline.h"
#include "bench/result.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <stdio.h>
#include <stdlib.h>

static int complain(int code, const char *text)
{
    fprintf(stderr, "simdattn conform: %s\n", text);
    return code;
}

/* Kernels that were asked for by name or level and cannot run here are an answer of their own. */
static int check_selection(const sattn_conform_run *run)
{
    const sattn_conform_variant *skipped = NULL;
    for (size_t v = 0; v < run->variants.count; ++v) {
        const sattn_conform_variant *const variant = &run->variants.all[v];
        if (sattn_conform_runs(variant))
            return SATTN_EXIT_GOOD;
        if (variant->is_wanted)
            skipped = variant;
    }
    if (!skipped)
        return complain(SATTN_EXIT_NOTHING, "no kernel matches these options: nothing to compare");
    fprintf(stderr, "simdattn conform: %s cannot be used here: %s\n", skipped->name,
            skipped->why_not);
    return SATTN_EXIT_USAGE;
}

static int prepare(const sattn_conform_options *options, sattn_conform_run *run)
{
    sattn_overrides overrides;
    char error[2 * SATTN_CONFORM_TEXT_SIZE];
    if (sattn_overrides_get(NULL, &overrides) != SATTN_OK)
        return complain(SATTN_EXIT_USAGE, sattn_last_error());
    if (!sattn_conform_suites_read(options->directory, &run->suites, error, sizeof error))
        return complain(SATTN_EXIT_USAGE, error);
    run->options = options;
    sattn_conform_variants_make(options, overrides.usable, &run->variants);
    if (run->suites.count > 0)
        return check_selection(run);
    fprintf(stderr, "simdattn conform: no suite in %s: nothing was compared\n", options->directory);
    return SATTN_EXIT_NOTHING;
}

static int print_json(const sattn_conform_run *run)
{
    sattn_environment environment;
    sattn_environment_read(NULL, &environment);
    json_t *const document = sattn_conform_document(run, sattn_check_environment(&environment));
    const bool good = document && sattn_result_print(document, stdout);
    json_decref(document);
    return good ? SATTN_EXIT_GOOD
                : complain(SATTN_EXIT_FAILED, "the document could not be written");
}

static int verdict(const sattn_conform_run *run)
{
    if (run->n_missed > 0 || sattn_conform_count_failed(run) > 0)
        return SATTN_EXIT_FAILED;
    if (run->n_entries == 0)
        return complain(SATTN_EXIT_NOTHING, "no test matches these options: nothing was compared");
    return SATTN_EXIT_GOOD;
}

static int conform(const sattn_conform_options *options, sattn_conform_run *run)
{
    int code = prepare(options, run);
    if (code != SATTN_EXIT_GOOD)
        return code;
    if (options->list) {
        sattn_conform_print_list(run);
        return SATTN_EXIT_GOOD;
    }
    if (!sattn_conform_execute(run))
        return complain(SATTN_EXIT_FAILED, "out of memory");
    code = verdict(run);
    if (code == SATTN_EXIT_NOTHING)
        return code;
    if (options->json) {
        const int printed = print_json(run);
        return code != SATTN_EXIT_GOOD ? code : printed;
    }
    sattn_conform_print(run);
    return code;
}

int sattn_verb_conform(int argc, char **argv)
{
    sattn_conform_options options;
    sattn_conform_run *const run = calloc(1, sizeof *run);
    int code = SATTN_EXIT_USAGE;
    if (!run)
        return complain(SATTN_EXIT_FAILED, "out of memory");
    if (sattn_conform_options_parse(argc, argv, &options)) {
        if (options.help) {
            sattn_conform_help();
            code = SATTN_EXIT_GOOD;
        } else {
            code = conform(&options, run);
        }
    }
    sattn_conform_run_free(run);
    sattn_conform_options_free(&options);
    free(run);
    return code;
}
