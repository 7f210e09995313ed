/* SPDX-License-Identifier: MIT
 *
 * bench_options.c: reads the command line of `simdattn bench` and checks every name in it against
 * the registry and the table of shapes. */
#include "bench/bench_options.h"

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

static const char help_text[] =
    "usage: simdattn bench [OPTION...]\n"
    "\n"
    "Verifies each kernel against the double-precision oracle, then times it in windows that\n"
    "alternate with equally long windows of the loop that bounds it. Kernels of one shape are\n"
    "interleaved. Without options: --op fused --preset quick.\n"
    "\n"
    "  --op NAMES       fused and chain (whole attentions; both together are compared in one\n"
    "                   table), qk, softmax, av (the steps of the chain), exp, tanh (arrays);\n"
    "                   without --preset each on shapes that show what limits it\n"
    "  --preset NAME    quick, models, decode, real; data: numbers and masks that are hard, "
    "beside\n"
    "                   easy ones; full: every op on every shape, which takes long\n"
    "  --shape NAMES    these shapes instead of a preset's (see --list)\n"
    "  --kernel NAMES   these kernels, ranked for the shape or not\n"
    "  --isa NAMES      kernels of these ISA levels only\n"
    "  --cache STATE    warm, cold or both: one set of buffers again and again, or so many that\n"
    "                   none is in the last-level cache; cold is for shapes with few query rows\n"
    "                   and for softmax, exp and tanh (default: warm; both in preset decode)\n"
    "  --seconds S      measuring time per row (default: 0.8 in quick and real and for --shape,\n"
    "                   else 0.4)\n"
    "  --dataset DIR    captured tensors for the minilm shapes\n"
    "  --list           names of shapes and rows, and run nothing\n"
    "  --out FILE       write the results, in Google Benchmark's JSON schema\n"
    "  --json           the same document on standard output instead of the table\n"
    "  --help           this text\n"
    "\n"
    "NAMES are separated by commas. Rows are named "
    "<kernel>/<shape>/<data>/<warm|cold>/t<threads>.\n"
    "Scalar and autovec rows together get 0.2 s of a round: where that is short of the whole call\n"
    "they run on fewer heads, or rows of one head, and say so; their times are scaled up.\n"
    "\n"
    "Options that begin with --benchmark_ are Google Benchmark's: --benchmark_filter=REGEX (POSIX\n"
    "extended, against row names; a leading '-' inverts it), --benchmark_list_tests and\n"
    "--benchmark_out=FILE, where every round is a repetition with its measured time as manual\n"
    "time. --benchmark_format=console|json|csv shows its output instead of the table.\n"
    "\n"
    "Exit codes: 0 good, 1 a kernel failed, 2 wrong usage or unreadable input, 3 nothing "
    "matched.\n";

void sattn_bench_help(void)
{
    fputs(help_text, stdout);
}

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

/* Without a preset each op has shapes of its own, which for fused are those of preset quick. */
static void apply_defaults(sattn_bench_options *options)
{
    const unsigned unhurried = SATTN_PRESET_QUICK | SATTN_PRESET_REAL;
    if (options->shapes.count > 0) {
        options->preset = 0;
        options->preset_name = "shapes";
    } else if (!options->preset_name) {
        options->preset_name = options->ops.count || options->kernels.count ? "ops" : "quick";
        options->preset = options->ops.count || options->kernels.count ? 0 : SATTN_PRESET_QUICK;
    }
    if (options->cache == 0)
        options->cache =
            options->preset == SATTN_PRESET_DECODE ? SATTN_WARM | SATTN_COLD : SATTN_WARM;
    if (options->seconds == 0)
        options->seconds =
            options->shapes.count || (options->preset && !(options->preset & ~unhurried)) ? 0.8
                                                                                          : 0.4;
}

bool sattn_bench_options_parse(int argc, char **argv, sattn_bench_options *options)
{
    static char program[] = "simdattn";
    *options = (sattn_bench_options){
        .dataset = sattn_real_default_directory(),
    };
    options->google_argv = calloc((size_t)argc + 2, sizeof *options->google_argv);
    if (!options->google_argv)
        return out_of_memory();
    options->google_argv[options->google_argc++] = program;
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
            return false;
    if (options->json && options->google_display)
        return complain("only one can have standard output,", "--json", " or --benchmark_format");
    if (options->json && (options->list || options->list_tests))
        return complain("a list is text, not JSON:", "--json", " does not go with it");
    apply_defaults(options);
    return true;
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
