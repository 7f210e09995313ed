/* SPDX-License-Identifier: MIT
 *
 * tune_options.c: reads the command line of `simdattn tune`. */
#include "bench/tune/tune_options.h"

#include "bench/options.h"
#include "bench/shapes.h"
#include "bench/tune/regret_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double default_budget_s = 60;

/* Named shapes, and after them those of --verify. */
static const char *known_shape(size_t at)
{
    size_t count, n_regret;
    const sattn_shape *const shapes = sattn_shapes(&count);
    const sattn_regret_shape *const regret = sattn_regret_shapes(&n_regret);
    return at < count              ? shapes[at].name
           : at - count < n_regret ? regret[at - count].shape.name
                                   : NULL;
}

/* "simdattn tune: <why> '<option>' does not go with it" */
static bool complain(const char *why, const char *option)
{
    fprintf(stderr, "simdattn tune: %s '%s' does not go with it\n", why, option);
    return false;
}

/* Refuses what does not go together. */
static bool check(const sattn_tune_options *options)
{
    if (options->json && options->list)
        return complain("a list is text, not JSON:", "--json");
    if (options->verify && (options->fresh || options->max_error > 0))
        return complain("--verify changes no profile:", options->fresh ? "--fresh" : "--max-error");
    return true;
}

bool sattn_tune_options_parse(int argc, char **argv, sattn_tune_options *options)
{
    const sattn_option known[] = {
        {"--budget", "seconds: a number above 0, at most 86400", .number = &options->budget_s,
         .most = 86400},
        {"--max-error", "a number above 0, in the unit of the op (docs/numerics.md)",
         .number = &options->max_error, .most = 1000000000},
        {"--op", .names = &options->ops, .known = sattn_known_op},
        {"--shape", .names = &options->shapes, .known = known_shape},
        {"--threads", .set = sattn_thread_counts_set, .into = &options->threads},
        {"--isa", .names = &options->isas, .known = sattn_known_isa},
        {"--out", "a file", .text = &options->out},
        {"--fresh", .flag = &options->fresh},
        {"--seed", "a number from 0 to 2^64 - 1", .seed = &options->seed},
        {"--verify", .flag = &options->verify},
        {"--list", .flag = &options->list},
        {"--json", .flag = &options->json},
        {"--help", .flag = &options->help},
    };
    const sattn_command_line line = {
        .verb = "tune", .options = known, .n_options = sizeof known / sizeof known[0]};
    const char *const own = getenv("SATTN_PROFILE");
    *options = (sattn_tune_options){.budget_s = default_budget_s, .seed = 1};
    if (own && strcmp(own, "none") != 0)
        snprintf(options->own, sizeof options->own, "%s", own);
    if (!sattn_options_read(&line, argc, argv))
        return false;
    if (options->threads.n == 0)
        sattn_thread_counts_add(&options->threads, 1);
    return check(options);
}

void sattn_tune_options_free(sattn_tune_options *options)
{
    sattn_name_list_free(&options->ops);
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->shapes);
    *options = (sattn_tune_options){0};
}
