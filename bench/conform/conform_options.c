/* SPDX-License-Identifier: MIT
 *
 * conform_options.c: reads the command line of `simdattn conform`. */
#include "bench/conform/conform.h"
#include "bench/suggest.h"
#include "dispatch/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: simdattn conform DIR [OPTION...]\n"
    "\n"
    "Runs conformance suites: every test of a suite by every fused kernel, every chain of kernels\n"
    "or every softmax kernel that this CPU can run, compared with what the suite expects. DIR\n"
    "holds a manifest.json and the .npy files that it names, or directories that do; those of "
    "this\n"
    "project are in tests/data. docs/conformance.md has the format, and what is compared how.\n"
    "\n"
    "  --kernel NAMES   these kernels or chains only (chain_avx2, chain_avx2_autovec, ...)\n"
    "  --isa NAMES      kernels of these ISA levels only\n"
    "  --filter TEXT    tests only whose names hold TEXT\n"
    "  --list           the tests, with what each is about, and run nothing\n"
    "  --json           one JSON document on standard output instead of the table\n"
    "  --help           this text\n"
    "\n"
    "NAMES are separated by commas.\n"
    "\n"
    "Exit codes: 0 all tests passed; 1 a test failed or could not be run; 2 wrong usage, or a\n"
    "suite that cannot be read or is damaged; 3 nothing compared.\n";

void sattn_conform_help(void)
{
    fputs(help_text, stdout);
}

static bool complain(const char *option, const char *text)
{
    fprintf(stderr, "simdattn conform: %s: %s\n", option, text);
    return false;
}

static bool set_isas(sattn_conform_options *options, const char *value)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX] = {NULL};
    char error[640];
    size_t count, n = 0;
    const sattn_isa *const isas = sattn_isas(&count);
    for (; n < count && n < NAMES_MAX; ++n)
        names[n] = isas[n].name;
    return sattn_name_list_set(&options->isas, value, names, n, error, sizeof error) ||
           complain("--isa", error);
}

static bool set_kernels(sattn_conform_options *options, const char *value)
{
    const sattn_conform_options any = {0};
    const char *names[SATTN_CONFORM_VARIANTS_MAX] = {NULL};
    char error[640] = "out of memory";
    sattn_conform_variants *const all = malloc(sizeof *all);
    bool good = all != NULL;
    if (good) {
        sattn_conform_variants_make(&any, 0, all);
        for (size_t v = 0; v < all->count; ++v)
            names[v] = all->all[v].name;
        good =
            sattn_name_list_set(&options->kernels, value, names, all->count, error, sizeof error);
    }
    free(all);
    return good || complain("--kernel", error);
}

static bool set_filter(sattn_conform_options *options, const char *value)
{
    options->filter = value;
    return *value || complain("--filter", "expected a text");
}

static const struct {
    const char *name;
    bool (*set)(sattn_conform_options *options, const char *value);
} value_options[] = {{"--kernel", set_kernels}, {"--isa", set_isas}, {"--filter", set_filter}};
static const char *const flag_options[] = {"--list", "--json", "--help"};

enum {
    N_VALUE_OPTIONS = sizeof value_options / sizeof value_options[0],
    N_FLAG_OPTIONS = sizeof flag_options / sizeof flag_options[0]
};

/* `argv[*at]` is --name=value, --name followed by a value, a flag, or the directory. */
static bool parse_one(int argc, char **argv, int *at, sattn_conform_options *options)
{
    const char *const word = argv[*at];
    const size_t length = strcspn(word, "=");
    bool *const flags[] = {&options->list, &options->json, &options->help};
    const char *names[N_VALUE_OPTIONS + N_FLAG_OPTIONS];
    for (int o = 0; o < N_VALUE_OPTIONS; ++o) {
        names[o] = value_options[o].name;
        if (strlen(names[o]) != length || strncmp(word, names[o], length) != 0)
            continue;
        if (word[length] == '=')
            return value_options[o].set(options, word + length + 1);
        if (*at + 1 == argc)
            return complain(names[o], "a value must follow");
        return value_options[o].set(options, argv[++*at]);
    }
    for (int o = 0; o < N_FLAG_OPTIONS; ++o) {
        names[N_VALUE_OPTIONS + o] = flag_options[o];
        if (strcmp(word, flag_options[o]) != 0)
            continue;
        *flags[o] = true;
        return true;
    }
    if (strcmp(word, "-h") == 0) {
        options->help = true;
        return true;
    }
    if (*word == '-') {
        char nearest[512];
        sattn_suggest(word, names, N_VALUE_OPTIONS + N_FLAG_OPTIONS, nearest, sizeof nearest);
        fprintf(stderr, "simdattn conform: there is no option '%s'%s\n", word, nearest);
        return false;
    }
    if (options->directory)
        return complain(word, "a second directory; expected one");
    options->directory = word;
    return *word || complain("DIR", "expected a path");
}

bool sattn_conform_options_parse(int argc, char **argv, sattn_conform_options *options)
{
    *options = (sattn_conform_options){0};
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
            return false;
    if (options->list && options->json)
        return complain("--list", "there is no list in JSON; leave out --json");
    if (!options->directory && !options->help)
        return complain("DIR", "which suites? Expected a directory, as tests/data");
    return true;
}

void sattn_conform_options_free(sattn_conform_options *options)
{
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->kernels);
}
