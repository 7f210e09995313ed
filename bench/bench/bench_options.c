/* SPDX-License-Identifier: MIT
 *
 * bench_options.c: reads the command line of `simdattn bench` and checks every name in it against
 * the registry and the table of shapes. */
#include "bench/bench/bench_options.h"

#include "bench/ops/ops.h"
#include "bench/options.h"
#include "bench/shapes.h"
#include "bench/verify/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *known_op(size_t at)
{
    size_t count;
    const sattn_bench_op *const ops = sattn_bench_ops(&count);
    return at < count ? ops[at].name : NULL;
}

static const char *known_kernel(size_t at)
{
    size_t count;
    const sattn_variant *const variants = sattn_variants(&count);
    return at < count ? variants[at].name : NULL;
}

static const char *known_shape(size_t at)
{
    size_t count;
    const sattn_shape *const shapes = sattn_shapes(&count);
    return at < count ? shapes[at].name : NULL;
}

static bool set_preset(void *into, const char *value, char *error, size_t error_size)
{
    sattn_bench_options *const options = into;
    options->preset_name = value;
    options->preset = sattn_preset_by_name(value);
    if (!options->preset)
        snprintf(error, error_size, "there is no '%s', expected one of %s", value,
                 sattn_preset_names());
    return options->preset;
}

static unsigned cache_states(const char *word)
{
    return strcmp(word, "warm") == 0   ? SATTN_WARM
           : strcmp(word, "cold") == 0 ? SATTN_COLD
                                       : SATTN_WARM | SATTN_COLD;
}

/* An option of Google Benchmark's: followed here if it selects rows, else kept for it. */
static bool set_google(void *into, const char *word, char *error, size_t error_size)
{
    sattn_bench_options *const options = into;
    (void)error, (void)error_size;
    static const char filter[] = "--benchmark_filter=", list[] = "--benchmark_list_tests";
    static const char out[] = "--benchmark_out=", format[] = "--benchmark_format=";
    if (strncmp(word, "--benchmark_", strlen("--benchmark_")) != 0)
        return false;
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
    return true;
}

/* The line as it was given. */
static void keep_arguments(int argc, char **argv, sattn_bench_options *options)
{
    size_t used = 0;
    for (int at = 0; at < argc && used < sizeof options->arguments; ++at)
        used += (size_t)snprintf(options->arguments + used, sizeof options->arguments - used,
                                 "%s%s", at > 0 ? " " : "", argv[at]);
}

bool sattn_bench_options_parse(int argc, char **argv, sattn_bench_options *options)
{
    static const char *const caches[] = {"warm", "cold", "both", NULL};
    const char *cache = NULL;
    const sattn_option known[] = {
        {"--preset", .set = set_preset, .into = options},
        {"--shape", .names = &options->shapes, .known = known_shape},
        {"--kernel", .names = &options->kernels, .known = known_kernel},
        {"--isa", .names = &options->isas, .known = sattn_known_isa},
        {"--op", .names = &options->ops, .known = known_op},
        {"--cache", "warm, cold or both", .text = &cache, .words = caches},
        {"--seconds", "a number above 0 and at most 3600", .number = &options->seconds,
         .most = 3600},
        {"--dataset", "a directory", .text = &options->dataset},
        {"--threads", .set = sattn_thread_counts_set, .into = &options->threads},
        {"--peers", .flag = &options->peers},
        {"--list", .flag = &options->list},
        {"--out", "a file", .text = &options->out},
        {"--json", .flag = &options->json},
        {"--help", .flag = &options->help},
    };
    const sattn_command_line line = {.verb = "bench",
                                     .options = known,
                                     .n_options = sizeof known / sizeof known[0],
                                     .other = set_google,
                                     .into = options};
    *options = (sattn_bench_options){.dataset = sattn_real_default_directory()};
    keep_arguments(argc, argv, options);
    options->google_argv = calloc((size_t)argc + 2, sizeof *options->google_argv);
    if (!options->google_argv) {
        fputs("simdattn bench: out of memory\n", stderr);
        return false;
    }
    options->google_argv[options->google_argc++] = "simdattn";
    if (!sattn_options_read(&line, argc, argv))
        return false;
    options->cache = cache ? cache_states(cache) : 0;
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
