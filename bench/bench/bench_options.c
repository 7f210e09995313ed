/* SPDX-License-Identifier: MIT
 *
 * bench_options.c: reads the command line of `simdattn bench` and checks every name in it against
 * the registry and the table of shapes. */
#include "bench/bench/bench_options.h"

#include "bench/ops/ops.h"
#include "bench/shapes.h"
#include "bench/suggest.h"
#include "bench/verify/real.h"
#include "dispatch/registry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "simdattn bench: <what> '<word>'<rest>" */
static bool complain(const char *what, const char *word, const char *rest)
{
    fprintf(stderr, "simdattn bench: %s '%s'%s\n", what, word, rest);
    return false;
}

static bool complain_unknown(const char *what, const char *word, const char *const *names,
                             size_t count)
{
    char nearest[512];
    sattn_suggest(word, names, count, nearest, sizeof nearest);
    return complain(what, word, nearest);
}

static bool out_of_memory(void)
{
    fputs("simdattn bench: out of memory\n", stderr);
    return false;
}

/* A comma list of names that a table has, for one option. */
static bool set_names(sattn_name_list *list, const char *option, const char *value,
                      const char *(*name_at)(size_t), size_t n_known)
{
    char error[512];
    const char **const known = calloc(n_known ? n_known : 1, sizeof *known);
    if (!known)
        return out_of_memory();
    for (size_t k = 0; k < n_known; ++k)
        known[k] = name_at(k);
    const bool good = sattn_name_list_set(list, value, known, n_known, error, sizeof error);
    if (!good)
        fprintf(stderr, "simdattn bench: %s: %s\n", option, error);
    free(known);
    return good;
}

static const char *op_name(size_t at)
{
    size_t count;
    return sattn_bench_ops(&count)[at].name;
}

static bool set_ops(sattn_bench_options *options, const char *value)
{
    size_t count;
    sattn_bench_ops(&count);
    return set_names(&options->ops, "--op", value, op_name, count);
}

static const char *isa_name(size_t at)
{
    size_t count;
    return sattn_isas(&count)[at].name;
}

static bool set_isas(sattn_bench_options *options, const char *value)
{
    size_t count;
    sattn_isas(&count);
    return set_names(&options->isas, "--isa", value, isa_name, count);
}

static const char *kernel_name(size_t at)
{
    size_t count;
    return sattn_variants(&count)[at].name;
}

static bool set_kernels(sattn_bench_options *options, const char *value)
{
    size_t count;
    sattn_variants(&count);
    return set_names(&options->kernels, "--kernel", value, kernel_name, count);
}

static const char *shape_name(size_t at)
{
    size_t count;
    return sattn_shapes(&count)[at].name;
}

static bool set_shapes(sattn_bench_options *options, const char *value)
{
    size_t count;
    sattn_shapes(&count);
    return set_names(&options->shapes, "--shape", value, shape_name, count);
}

static bool set_preset(sattn_bench_options *options, const char *value)
{
    options->preset_name = value;
    options->preset = sattn_preset_by_name(value);
    if (options->preset)
        return true;
    char expected[128];
    snprintf(expected, sizeof expected, ", expected one of %s", sattn_preset_names());
    return complain("--preset is", value, expected);
}

static bool set_cache(sattn_bench_options *options, const char *value)
{
    if (strcmp(value, "warm") == 0)
        options->cache = SATTN_WARM;
    else if (strcmp(value, "cold") == 0)
        options->cache = SATTN_COLD;
    else if (strcmp(value, "both") == 0)
        options->cache = SATTN_WARM | SATTN_COLD;
    else
        return complain("--cache is", value, ", expected warm, cold or both");
    return true;
}

static bool set_seconds(sattn_bench_options *options, const char *value)
{
    char *end;
    errno = 0;
    options->seconds = strtod(value, &end);
    if (end == value || *end || errno || !isfinite(options->seconds) || options->seconds <= 0 ||
        options->seconds > 3600)
        return complain("--seconds is", value, ", expected a number above 0 and at most 3600");
    return true;
}

static bool set_threads(sattn_bench_options *options, const char *value)
{
    char error[160];
    if (sattn_thread_counts_parse(&options->threads, value, error, sizeof error))
        return true;
    return complain("--threads is", value, error);
}

static bool set_dataset(sattn_bench_options *options, const char *value)
{
    options->dataset = value;
    return *value || complain("--dataset is", value, ", expected a directory");
}

static bool set_out(sattn_bench_options *options, const char *value)
{
    options->out = value;
    return *value || complain("--out is", value, ", expected a file");
}

static bool set_list(sattn_bench_options *options, const char *value)
{
    (void)value;
    options->list = true;
    return true;
}

static bool set_json(sattn_bench_options *options, const char *value)
{
    (void)value;
    options->json = true;
    return true;
}

static bool set_peers(sattn_bench_options *options, const char *value)
{
    (void)value;
    options->peers = true;
    return true;
}

static bool set_help(sattn_bench_options *options, const char *value)
{
    (void)value;
    options->help = true;
    return true;
}

static const struct {
    const char *name;
    bool takes_value;
    bool (*set)(sattn_bench_options *options, const char *value);
} known_options[] = {
    {"--preset", true, set_preset},   {"--shape", true, set_shapes},
    {"--kernel", true, set_kernels},  {"--isa", true, set_isas},
    {"--op", true, set_ops},          {"--cache", true, set_cache},
    {"--seconds", true, set_seconds}, {"--dataset", true, set_dataset},
    {"--threads", true, set_threads}, {"--peers", false, set_peers},
    {"--list", false, set_list},      {"--out", true, set_out},
    {"--json", false, set_json},      {"--help", false, set_help},
};

enum { N_OPTIONS = sizeof known_options / sizeof known_options[0] };

/* An option of Google Benchmark's: followed here if it selects rows, else kept for it. */
static void set_google(sattn_bench_options *options, char *word)
{
    static const char filter[] = "--benchmark_filter=", list[] = "--benchmark_list_tests";
    static const char out[] = "--benchmark_out=", format[] = "--benchmark_format=";
    if (strncmp(word, filter, sizeof filter - 1) == 0) {
        options->filter = word + sizeof filter - 1;
    } else if (strncmp(word, list, sizeof list - 1) == 0) {
        const char *const value = word + sizeof list - 1;
        options->list_tests = strcmp(value, "=false") != 0 && strcmp(value, "=0") != 0;
    } else {
        options->google_argv[options->google_argc++] = word;
        if (strncmp(word, out, sizeof out - 1) == 0)
            options->google_out = word + sizeof out - 1;
        if (strncmp(word, format, sizeof format - 1) == 0)
            options->google_display = true;
    }
}

/* `argv[*at]` is --name=value or --name followed by a value, or a flag. */
static bool parse_one(int argc, char **argv, int *at, sattn_bench_options *options)
{
    char *const word = argv[*at];
    if (strcmp(word, "-h") == 0)
        return set_help(options, NULL);
    if (strncmp(word, "--benchmark_", strlen("--benchmark_")) == 0) {
        set_google(options, word);
        return true;
    }
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
    return complain_unknown("there is no option", word, names, N_OPTIONS);
}

bool sattn_bench_options_parse(int argc, char **argv, sattn_bench_options *options)
{
    static char program[] = "simdattn";
    *options = (sattn_bench_options){
        .dataset = sattn_real_default_directory(),
    };
    size_t used = 0;
    for (int at = 0; at < argc && used < sizeof options->arguments; ++at)
        used += (size_t)snprintf(options->arguments + used, sizeof options->arguments - used,
                                 "%s%s", at > 0 ? " " : "", argv[at]);
    options->google_argv = calloc((size_t)argc + 2, sizeof *options->google_argv);
    if (!options->google_argv)
        return out_of_memory();
    options->google_argv[options->google_argc++] = program;
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
            return false;
    return sattn_bench_options_complete(options);
}

void sattn_bench_options_free(sattn_bench_options *options)
{
    sattn_name_list_free(&options->ops);
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->kernels);
    sattn_name_list_free(&options->shapes);
    free(options->google_argv);
    *options = (sattn_bench_options){0};
}
