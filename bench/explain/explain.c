/* SPDX-License-Identifier: MIT
 *
 * explain.c: the verb `explain`: which kernels a call runs, and why not others. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "bench/explain/explain.h"

#include "bench/verbs.h"

#include <stdlib.h>
#include <string.h>

static int complain(int code, const char *what, const char *why)
{
    fprintf(stderr, "simdattn explain: %s%s%s\n", what, *what ? ": " : "", why);
    return code;
}

/* An error of the call is one of what was asked for, or of the environment. */
static int ask_library(sattn_explained *explain)
{
    const sattn_status status = sattn_explain_call(explain->options, &explain->explanation);
    if (status == SATTN_OK)
        return SATTN_EXIT_GOOD;
    return complain(status == SATTN_ERR_MEMORY ? SATTN_EXIT_FAILED : SATTN_EXIT_USAGE, "",
                    sattn_last_error());
}

static int take_results(sattn_explained *explain)
{
    const sattn_explain_options *const o = explain->options;
    char shape[192];
    if (!sattn_explain_results_open(&explain->results, o->results, &explain->environment))
        return complain(SATTN_EXIT_USAGE, o->results, explain->results.note);
    sattn_shape_describe(&o->shape, shape, sizeof shape);
    const bool is_named = !o->has_window || o->shape.window > 0;
    const sattn_explain_wanted wanted = {.op = o->op == SATTN_OP_fused ? "" : sattn_op_name(o->op),
                                         .shape = is_named ? shape : "",
                                         .threads = o->threads};
    sattn_explain_results_take(&explain->results, &wanted, explain->rows, explain->n_rows);
    return SATTN_EXIT_GOOD;
}

static int gather(sattn_explained *explain)
{
    const sattn_explain_options *const o = explain->options;
    sattn_explain_profile_read(&explain->profile);
    const int code = ask_library(explain);
    if (code != SATTN_EXIT_GOOD)
        return code;
    if (o->profile && explain->profile.state == SATTN_EXPLAIN_UNUSABLE)
        return complain(SATTN_EXIT_USAGE, o->profile, explain->profile.problem);
    explain->n_rows = explain->explanation->n_candidates;
    explain->rows = calloc(explain->n_rows, sizeof *explain->rows);
    if (!explain->rows)
        return complain(SATTN_EXIT_FAILED, "", "out of memory");
    sattn_explain_rows_begin(sattn_call_of_op(o->op), explain->explanation, explain->rows);
    return o->results ? take_results(explain) : SATTN_EXIT_GOOD;
}

static int explain_call(const sattn_explain_options *options)
{
    sattn_explained explain = {.options = options};
    /* The first call of the process reads its profile. */
    if (options->profile && setenv("SATTN_PROFILE", options->profile, 1) != 0)
        return complain(SATTN_EXIT_FAILED, "--profile", "out of memory");
    sattn_environment_read(NULL, &explain.environment);
    int code = gather(&explain);
    if (code == SATTN_EXIT_GOOD && !options->json) {
        sattn_explain_print_text(&explain, stdout);
    } else if (code == SATTN_EXIT_GOOD && !sattn_explain_print_json(&explain, stdout)) {
        code = complain(SATTN_EXIT_FAILED, "", "the JSON document could not be written");
    }
    free(explain.rows);
    sattn_explain_results_close(&explain.results);
    sattn_explanation_destroy(explain.explanation);
    return code;
}

int sattn_verb_explain(int argc, char **argv)
{
    sattn_explain_options options;
    if (!sattn_explain_options_parse(argc, argv, &options))
        return SATTN_EXIT_USAGE;
    if (!options.help)
        return explain_call(&options);
    sattn_explain_help();
    return SATTN_EXIT_GOOD;
}
