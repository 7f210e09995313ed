/* SPDX-License-Identifier: MIT
 *
 * conform_options.c: reads the command line of `simdattn conform`. */
#include "bench/conform/conform.h"
#include "bench/options.h"

#include <stdio.h>
#include <stdlib.h>

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

static bool set_kernels(void *into, const char *value, char *error, size_t error_size)
{
    const sattn_conform_options any = {0};
    const char *names[SATTN_CONFORM_VARIANTS_MAX] = {NULL};
    sattn_conform_variants *const all = malloc(sizeof *all);
    if (!all) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    sattn_conform_variants_make(&any, 0, all);
    for (size_t v = 0; v < all->count; ++v)
        names[v] = all->all[v].name;
    const bool good = sattn_name_list_set(into, value, names, all->count, error, error_size);
    free(all);
    return good;
}

/* A word that begins as no option does. */
static bool set_directory(void *into, const char *word, char *error, size_t error_size)
{
    sattn_conform_options *const options = into;
    if (*word == '-')
        return false;
    if (!*word)
        snprintf(error, error_size, "DIR: expected a path");
    else if (options->directory)
        snprintf(error, error_size, "%s: a second directory; expected one", word);
    else
        options->directory = word;
    return options->directory == word;
}

/* Refuses what does not go together. */
static bool check(const sattn_conform_options *options)
{
    const bool is_wrong_list = options->list && options->json;
    const bool is_without = !options->directory && !options->help;
    if (is_wrong_list)
        fputs("simdattn conform: --list: there is no list in JSON; leave out --json\n", stderr);
    else if (is_without)
        fputs("simdattn conform: DIR: which suites? Expected a directory, as tests/data\n", stderr);
    return !is_wrong_list && !is_without;
}

bool sattn_conform_options_parse(int argc, char **argv, sattn_conform_options *options)
{
    const sattn_option known[] = {
        {"--kernel", .set = set_kernels, .into = &options->kernels},
        {"--isa", .names = &options->isas, .known = sattn_known_isa},
        {"--filter", "a text", .text = &options->filter},
        {"--list", .flag = &options->list},
        {"--json", .flag = &options->json},
        {"--help", .flag = &options->help},
    };
    const sattn_command_line line = {.verb = "conform",
                                     .options = known,
                                     .n_options = sizeof known / sizeof known[0],
                                     .other = set_directory,
                                     .into = options};
    *options = (sattn_conform_options){0};
    return sattn_options_read(&line, argc, argv) && check(options);
}

void sattn_conform_options_free(sattn_conform_options *options)
{
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->kernels);
}
