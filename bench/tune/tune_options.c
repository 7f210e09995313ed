/* SPDX-License-Identifier: MIT
 *
 * tune_options.c: reads the command line of `simdattn tune`. */
#include "bench/tune/tune_options.h"

#include "bench/shapes.h"
#include "bench/suggest.h"
#include "bench/tune/regret_shapes.h"
#include "dispatch/registry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double default_budget_s = 60;

/* "simdattn tune: <what> '<word>'<rest>" */
static bool complain(const char *what, const char *word, const char *rest)
{
    fprintf(stderr, "simdattn tune: %s '%s'%s\n", what, word, rest);
    return false;
}

/* A comma list of names that a table has, for one option. */
static bool set_names(sattn_name_list *list, const char *option, const char *value,
                      const char *(*name_at)(size_t), size_t n_known)
{
    char error[512] = "out of memory";
    const char **const known = calloc(n_known, sizeof *known);
    for (size_t k = 0; known && k < n_known; ++k)
        known[k] = name_at(k);
    const bool good =
        known && sattn_name_list_set(list, value, known, n_known, error, sizeof error);
    if (!good)
        fprintf(stderr, "simdattn tune: %s: %s\n", option, error);
    free(known);
    return good;
}

static const char *op_name(size_t at)
{
    return sattn_op_name((sattn_op)at);
}

static bool set_ops(sattn_tune_options *options, const char *value)
{
    return set_names(&options->ops, "--op", value, op_name, SATTN_OP_COUNT);
}

static const char *isa_name(size_t at)
{
    size_t count;
    return sattn_isas(&count)[at].name;
}

static bool set_isas(sattn_tune_options *options, const char *value)
{
    size_t count;
    sattn_isas(&count);
    return set_names(&options->isas, "--isa", value, isa_name, count);
}

/* Named shapes, and after them those of --verify. */
static const char *shape_name(size_t at)
{
    size_t count, n_regret;
    const sattn_shape *const shapes = sattn_shapes(&count);
    return at < count ? shapes[at].name : sattn_regret_shapes(&n_regret)[at - count].shape.name;
}

static bool set_shapes(sattn_tune_options *options, const char *value)
{
    size_t count, n_regret;
    sattn_shapes(&count);
    sattn_regret_shapes(&n_regret);
    return set_names(&options->shapes, "--shape", value, shape_name, count + n_regret);
}

static bool parse_number(const char *value, double most, double *number)
{
    char *end;
    errno = 0;
    *number = strtod(value, &end);
    return end != value && !*end && !errno && isfinite(*number) && *number > 0 && *number <= most;
}

static bool set_budget(sattn_tune_options *options, const char *value)
{
    return parse_number(value, 86400, &options->budget_s) ||
           complain("--budget is", value, ", expected seconds: a number above 0, at most 86400");
}

static bool set_max_error(sattn_tune_options *options, const char *value)
{
    return parse_number(value, 1e9, &options->max_error) ||
           complain("--max-error is", value,
                    ", expected a number above 0, in the unit of the op (docs/numerics.md)");
}

static bool set_seed(sattn_tune_options *options, const char *value)
{
    char *end;
    errno = 0;
    options->seed = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno)
        return complain("--seed is", value, ", expected a number from 0 to 2^64 - 1");
    return true;
}

static bool set_threads(sattn_tune_options *options, const char *value)
{
    char error[160];
    return sattn_thread_counts_parse(&options->threads, value, error, sizeof error) ||
           complain("--threads is", value, error);
}

static bool set_out(sattn_tune_options *options, const char *value)
{
    options->out = value;
    return *value || complain("--out is", value, ", expected a file");
}

static bool set_fresh(sattn_tune_options *options, const char *value)
{
    (void)value;
    options->fresh = true;
    return true;
}

static bool set_verify(sattn_tune_options *options, const char *value)
{
    (void)value;
    options->verify = true;
    return true;
}

static bool set_json(sattn_tune_options *options, const char *value)
{
    (void)value;
    options->json = true;
    return true;
}

static bool set_list(sattn_tune_options *options, const char *value)
{
    (void)value;
    options->list = true;
    return true;
}

static bool set_help(sattn_tune_options *options, const char *value)
{
    (void)value;
    options->help = true;
    return true;
}

static const struct {
    const char *name;
    bool takes_value;
    bool (*set)(sattn_tune_options *options, const char *value);
} known_options[] = {
    {"--budget", true, set_budget},   {"--max-error", true, set_max_error},
    {"--op", true, set_ops},          {"--shape", true, set_shapes},
    {"--threads", true, set_threads}, {"--isa", true, set_isas},
    {"--out", true, set_out},         {"--fresh", false, set_fresh},
    {"--seed", true, set_seed},       {"--verify", false, set_verify},
    {"--list", false, set_list},      {"--json", false, set_json},
    {"--help", false, set_help},
};

enum { N_OPTIONS = sizeof known_options / sizeof known_options[0] };

/* `argv[*at]` is --name=value or --name followed by a value, or a flag. */
static bool parse_one(int argc, char **argv, int *at, sattn_tune_options *options)
{
    const char *const word = argv[*at];
    if (strcmp(word, "-h") == 0)
        return set_help(options, NULL);
    const size_t length = strcspn(word, "=");
    const char *names[N_OPTIONS];
    for (int o = 0; o < N_OPTIONS; ++o) {
        const char *const name = names[o] = known_options[o].name;
        if (strlen(name) != length || strncmp(word, name, length) != 0)
            continue;
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (!known_options[o].takes_value && value)
            return complain("no value is expected in", word, "");
        if (known_options[o].takes_value && !value) {
            if (*at + 1 == argc)
                return complain("a value must follow", name, "");
            value = argv[++*at];
        }
        return known_options[o].set(options, value);
    }
    char nearest[512];
    sattn_suggest(word, names, N_OPTIONS, nearest, sizeof nearest);
    return complain("there is no option", word, nearest);
}

/* Refuses what does not go together. */
static bool check(const sattn_tune_options *options)
{
    if (options->json && options->list)
        return complain("a list is text, not JSON:", "--json", " does not go with it");
    if (options->verify && (options->fresh || options->max_error > 0))
        return complain("--verify changes no profile:", options->fresh ? "--fresh" : "--max-error",
                        " does not go with it");
    return true;
}

bool sattn_tune_options_parse(int argc, char **argv, sattn_tune_options *options)
{
    const char *const own = getenv("SATTN_PROFILE");
    *options = (sattn_tune_options){.budget_s = default_budget_s, .seed = 1};
    if (own && strcmp(own, "none") != 0)
        snprintf(options->own, sizeof options->own, "%s", own);
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
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
