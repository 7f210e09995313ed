/* SPDX-License-Identifier: MIT
 *
 * bench_options.c: reads the command line of `simdattn bench` and checks every name in it against
 * the registry and the table of shapes. */
#include "bench/bench_options.h"

#include "bench/real.h"
#include "bench/shapes.h"
#include "bench/suggest.h"
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
    "interleaved. Without options: --preset quick.\n"
    "\n"
    "  --preset NAME    quick, models, decode or real\n"
    "  --shape NAMES    these shapes instead of a preset's (see --list)\n"
    "  --kernel NAMES   these kernels, ranked for the shape or not\n"
    "  --isa NAMES      kernels of these ISA levels only\n"
    "  --op NAMES       kernels of these operations only\n"
    "  --cache STATE    warm, cold or both: one set of buffers again and again, or so many that\n"
    "                   none is in the last-level cache; cold is for shapes with few query rows\n"
    "                   (default: warm; both in preset decode)\n"
    "  --seconds S      measuring time per row (default: 0.8; 0.4 in models and decode)\n"
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

static const char *const option_names[] = {
    "--preset",  "--shape",   "--kernel", "--isa", "--op",   "--cache",
    "--seconds", "--dataset", "--list",   "--out", "--json", "--help",
};

static bool complain(const char *format, const char *word, const char *rest)
{
    fputs("simdattn bench: ", stderr);
    fprintf(stderr, "%s '%s'%s\n", format, word, rest);
    return false;
}

static bool complain_unknown(const char *what, const char *word, const char *const *names,
                             size_t count)
{
    char nearest[512];
    sattn_suggest(word, names, count, nearest, sizeof nearest);
    return complain(what, word, nearest);
}

bool sattn_names_have(const sattn_names *list, const char *name)
{
    for (size_t n = 0; n < list->count; ++n)
        if (strcmp(list->names[n], name) == 0)
            return true;
    return false;
}

static void free_names(sattn_names *list)
{
    free(list->text);
    free(list->names);
    *list = (sattn_names){0};
}

/* Takes `value` apart and checks each name against `known`. */
static bool set_names(sattn_names *list, const char *what, const char *value,
                      const char *const *known, size_t n_known)
{
    free_names(list);
    const size_t length = strlen(value);
    list->text = malloc(length + 1);
    list->names = calloc(length + 1, sizeof *list->names);
    if (!list->text || !list->names) {
        fputs("simdattn bench: out of memory\n", stderr);
        return false;
    }
    memcpy(list->text, value, length + 1);
    for (char *at = list->text; at;) {
        char *const comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        bool found = false;
        for (size_t k = 0; k < n_known; ++k)
            found = found || strcmp(at, known[k]) == 0;
        if (!found)
            return complain_unknown(what, at, known, n_known);
        list->names[list->count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

enum { KNOWN_MAX = 512 };

static bool set_ops(sattn_bench_options *options, const char *value)
{
    const char *known[SATTN_OP_COUNT];
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        known[op] = sattn_op_name((sattn_op)op);
    return set_names(&options->ops, "there is no op", value, known, SATTN_OP_COUNT);
}

static bool set_isas(sattn_bench_options *options, const char *value)
{
    const char *known[KNOWN_MAX];
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = 0; i < count; ++i)
        known[i] = isas[i].name;
    return set_names(&options->isas, "there is no ISA level", value, known, count);
}

static bool set_kernels(sattn_bench_options *options, const char *value)
{
    const char *known[KNOWN_MAX];
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count && r < KNOWN_MAX; ++r)
        known[r] = rows[r].name;
    return set_names(&options->kernels, "there is no kernel", value, known, count);
}

static bool set_shapes(sattn_bench_options *options, const char *value)
{
    const char *known[KNOWN_MAX];
    size_t count;
    const sattn_shape *const shapes = sattn_shapes(&count);
    for (size_t s = 0; s < count && s < KNOWN_MAX; ++s)
        known[s] = shapes[s].name;
    return set_names(&options->shapes, "there is no shape", value, known, count);
}

static bool set_preset(sattn_bench_options *options, const char *value)
{
    static const char *const known[] = {"quick", "models", "decode", "real"};
    options->preset_name = value;
    options->preset = sattn_preset_by_name(value);
    return options->preset ||
           complain_unknown("there is no preset", value, known, sizeof known / sizeof known[0]);
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

static bool set_value(sattn_bench_options *options, const char *name, const char *value)
{
    if (strcmp(name, "--preset") == 0)
        return set_preset(options, value);
    if (strcmp(name, "--shape") == 0)
        return set_shapes(options, value);
    if (strcmp(name, "--kernel") == 0)
        return set_kernels(options, value);
    if (strcmp(name, "--isa") == 0)
        return set_isas(options, value);
    if (strcmp(name, "--op") == 0)
        return set_ops(options, value);
    if (strcmp(name, "--cache") == 0)
        return set_cache(options, value);
    if (strcmp(name, "--seconds") == 0)
        return set_seconds(options, value);
    if (!*value)
        return complain("nothing follows", name, "");
    if (strcmp(name, "--dataset") == 0)
        options->dataset = value;
    else
        options->out = value;
    return true;
}

static bool set_flag(sattn_bench_options *options, const char *name)
{
    if (strcmp(name, "--list") == 0)
        options->list = true;
    else if (strcmp(name, "--json") == 0)
        options->json = true;
    else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        options->help = true;
    else
        return false;
    return true;
}

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

/* `argv[*at]` is --name=value or --name followed by a value. */
static bool parse_one(int argc, char **argv, int *at, sattn_bench_options *options)
{
    char *const word = argv[*at];
    if (strncmp(word, "--benchmark_", strlen("--benchmark_")) == 0) {
        set_google(options, word);
        return true;
    }
    if (set_flag(options, word))
        return true;
    char name[32];
    const size_t length = strcspn(word, "=");
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, word);
    for (size_t o = 0; o < sizeof option_names / sizeof option_names[0]; ++o) {
        if (strcmp(name, option_names[o]) != 0)
            continue;
        if (strcmp(name, "--list") == 0 || strcmp(name, "--json") == 0 ||
            strcmp(name, "--help") == 0)
            return complain("no value is expected in", word, "");
        if (word[length] == '=')
            return set_value(options, name, word + length + 1);
        if (*at + 1 == argc)
            return complain("a value must follow", name, "");
        ++*at;
        return set_value(options, name, argv[*at]);
    }
    return complain_unknown("there is no option", word, option_names,
                            sizeof option_names / sizeof option_names[0]);
}

bool sattn_bench_options_parse(int argc, char **argv, sattn_bench_options *options)
{
    static char program[] = "simdattn";
    *options = (sattn_bench_options){
        .preset_name = "quick",
        .preset = SATTN_PRESET_QUICK,
        .dataset = sattn_real_default_directory(),
    };
    options->google_argv = calloc((size_t)argc + 2, sizeof *options->google_argv);
    if (!options->google_argv) {
        fputs("simdattn bench: out of memory\n", stderr);
        return false;
    }
    options->google_argv[options->google_argc++] = program;
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
            return false;
    if (options->json && options->google_display)
        return complain("one of these must go:", "--json", " and --benchmark_format");
    if (options->shapes.count > 0) {
        options->preset = 0;
        options->preset_name = "shapes";
    }
    if (options->cache == 0)
        options->cache =
            options->preset == SATTN_PRESET_DECODE ? SATTN_WARM | SATTN_COLD : SATTN_WARM;
    const unsigned many = SATTN_PRESET_MODELS | SATTN_PRESET_DECODE;
    if (options->seconds == 0)
        options->seconds = options->preset & many ? 0.4 : 0.8;
    return true;
}

void sattn_bench_options_free(sattn_bench_options *options)
{
    free_names(&options->ops);
    free_names(&options->isas);
    free_names(&options->kernels);
    free_names(&options->shapes);
    free(options->google_argv);
    *options = (sattn_bench_options){0};
}
