/* SPDX-License-Identifier: MIT
 *
 * check_options.c: reads the command line of `simdattn check`. */
#include "bench/check/check.h"
#include "bench/suggest.h"
#include "bench/verify/real.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: simdattn check [OPTION...]\n"
    "\n"
    "Runs every kernel that this CPU can run on shapes of every class with data of every kind, "
    "and\n"
    "compares its outputs with a double-precision oracle. An error above the bound that follows\n"
    "from the arithmetic and the data (docs/numerics.md), or a NaN or infinity where a number was\n"
    "due, is a failure.\n"
    "\n"
    "  --preset NAME          quick (the default) or full: larger shapes, every row compared\n"
    "  --op NAMES             these operations only; 'chain' is qk, softmax and av, one after the\n"
    "                         other\n"
    "  --isa NAMES            kernels of these ISA levels only\n"
    "  --kernel NAMES         these kernels only\n"
    "  --shape NAMES          these shape classes only (below)\n"
    "  --data NAMES           these kinds of data only (below)\n"
    "  --dataset DIR          captured tensors for the minilm shapes\n"
    "  --seed N               seed of the data (default: 1)\n"
    "  --baseline FILE        compare with stored errors too: above 1.5 times the stored error "
    "plus\n"
    "                         one unit, or missing, is a failure\n"
    "  --write-baseline FILE  store the errors, if nothing failed\n"
    "  --json                 one JSON document on standard output instead of the table\n"
    "  --help                 this text\n"
    "\n"
    "NAMES are separated by commas.\n"
    "\n"
    "Exit codes: 0 good; 1 an error above its bound or its baseline, a value that is not finite, "
    "a\n"
    "missing entry; 2 wrong usage or unreadable input; 3 nothing compared, or a baseline of "
    "another\n"
    "schema or seed.\n";

static void print_pair(const char *name, const char *note)
{
    printf("  %-16s %s\n", name, note);
}

void sattn_check_help(void)
{
    fputs(help_text, stdout);
    size_t count;
    const sattn_check_shape *const shapes = sattn_check_shapes(&count);
    puts("\nShape classes of fused, chain, qk, softmax and av (* in preset full only):");
    for (size_t s = 0; s < count; ++s)
        printf("  %-16s %s%s\n", shapes[s].name, shapes[s].note, shapes[s].full_only ? " *" : "");
    puts("Their data:");
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind)
        print_pair(sattn_input_name((sattn_input_kind)kind),
                   sattn_input_note((sattn_input_kind)kind));
    print_pair(SATTN_CHECK_REAL_DATA, "captured from a model; the minilm shapes only");
    const sattn_check_length *const lengths = sattn_check_lengths(&count);
    puts("Shape classes of exp, tanh and sigmoid, lengths of the array:");
    for (size_t s = 0; s < count; ++s)
        printf("%s %s%s", s ? "" : " ", lengths[s].name, lengths[s].full_only ? "*" : "");
    const sattn_check_range *const ranges = sattn_check_ranges(&count);
    puts("\nTheir data:");
    for (size_t r = 0; r < count; ++r)
        print_pair(ranges[r].name, ranges[r].note);
    const sattn_check_layer *const layers = sattn_check_layers(&count);
    puts(
        "Shape classes of additive, linear and gru, whose data are normal, large8, large30, tiny:");
    for (size_t s = 0; s < count; ++s)
        printf("%s%s", layers[s].name, s + 1 == count ? "\n" : s % 6 == 5 ? "\n" : " ");
}

static bool complain(const char *option, const char *text)
{
    fprintf(stderr, "simdattn check: %s: %s\n", option, text);
    return false;
}

enum { NAMES_MAX = 512 };

typedef struct known_names {
    const char *names[NAMES_MAX];
    size_t count;
} known_names;

static void know(known_names *known, const char *name)
{
    if (known->count < NAMES_MAX)
        known->names[known->count++] = name;
}

static void know_ops(known_names *known)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        know(known, sattn_op_name((sattn_op)op));
    know(known, "chain");
}

static void know_isas(known_names *known)
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = 0; i < count; ++i)
        know(known, isas[i].name);
}

static void know_shapes(known_names *known)
{
    size_t count;
    const sattn_check_shape *const shapes = sattn_check_shapes(&count);
    for (size_t s = 0; s < count; ++s)
        know(known, shapes[s].name);
    const sattn_check_length *const lengths = sattn_check_lengths(&count);
    for (size_t s = 0; s < count; ++s)
        know(known, lengths[s].name);
    const sattn_check_layer *const layers = sattn_check_layers(&count);
    for (size_t s = 0; s < count; ++s)
        know(known, layers[s].name);
}

static void know_data(known_names *known)
{
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind)
        know(known, sattn_input_name((sattn_input_kind)kind));
    know(known, SATTN_CHECK_REAL_DATA);
    size_t count;
    const sattn_check_range *const ranges = sattn_check_ranges(&count);
    for (size_t r = 0; r < count; ++r)
        know(known, ranges[r].name);
}

static bool set_names(sattn_name_list *list, void (*know_all)(known_names *), const char *option,
                      const char *value)
{
    known_names known = {.count = 0};
    char error[640];
    know_all(&known);
    return sattn_name_list_set(list, value, known.names, known.count, error, sizeof error) ||
           complain(option, error);
}

/* Kernels are the registry's and the chains of this build. */
static bool set_kernels(sattn_check_options *options, const char *value)
{
    sattn_check_run all = {0};
    const sattn_check_options any = {0};
    char error[640] = "out of memory";
    bool good = sattn_check_variants(&any, 0, &all);
    const char **const names = good ? calloc(all.n_variants + 1, sizeof *names) : NULL;
    for (size_t v = 0; names && v < all.n_variants; ++v)
        names[v] = all.variants[v].kernel;
    good = names && sattn_name_list_set(&options->kernels, value, names, all.n_variants, error,
                                        sizeof error);
    free(names);
    sattn_check_run_free(&all);
    return good || complain("--kernel", error);
}

static bool set_seed(sattn_check_options *options, const char *value)
{
    char *end;
    errno = 0;
    const unsigned long long seed = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || seed > INT64_MAX)
        return complain("--seed", "expected a number from 0 to 2^63 - 1");
    options->seed = seed;
    return true;
}

static bool set_preset(sattn_check_options *options, const char *value)
{
    options->full = strcmp(value, "full") == 0;
    if (options->full || strcmp(value, "quick") == 0)
        return true;
    fprintf(stderr, "simdattn check: --preset: there is no '%s', expected quick or full\n", value);
    return false;
}

static bool set_path(const char **path, const char *option, const char *value)
{
    *path = value;
    return *value || complain(option, "expected a path");
}

static const char *const value_options[] = {
    "--preset", "--op",      "--isa",  "--kernel",   "--shape",
    "--data",   "--dataset", "--seed", "--baseline", "--write-baseline"};
static const char *const flag_options[] = {"--json", "--help"};

enum {
    N_VALUE_OPTIONS = sizeof value_options / sizeof value_options[0],
    N_FLAG_OPTIONS = sizeof flag_options / sizeof flag_options[0]
};

static bool set_value(sattn_check_options *options, int option, const char *value)
{
    const char *const name = value_options[option];
    switch (option) {
    case 0:
        return set_preset(options, value);
    case 1:
        return set_names(&options->ops, know_ops, name, value);
    case 2:
        return set_names(&options->isas, know_isas, name, value);
    case 3:
        return set_kernels(options, value);
    case 4:
        return set_names(&options->shapes, know_shapes, name, value);
    case 5:
        return set_names(&options->data, know_data, name, value);
    case 6:
        return set_path(&options->dataset, name, value);
    case 7:
        return set_seed(options, value);
    case 8:
        return set_path(&options->baseline, name, value);
    default:
        return set_path(&options->write_baseline, name, value);
    }
}

/* `argv[*at]` is --name=value or --name followed by a value, or a flag. */
static bool parse_one(int argc, char **argv, int *at, sattn_check_options *options)
{
    const char *const word = argv[*at];
    const size_t length = strcspn(word, "=");
    const char *names[N_VALUE_OPTIONS + N_FLAG_OPTIONS];
    for (int o = 0; o < N_VALUE_OPTIONS; ++o) {
        names[o] = value_options[o];
        if (strlen(names[o]) != length || strncmp(word, names[o], length) != 0)
            continue;
        if (word[length] == '=')
            return set_value(options, o, word + length + 1);
        if (*at + 1 == argc)
            return complain(names[o], "a value must follow");
        return set_value(options, o, argv[++*at]);
    }
    for (int o = 0; o < N_FLAG_OPTIONS; ++o)
        names[N_VALUE_OPTIONS + o] = flag_options[o];
    if (strcmp(word, "--json") == 0) {
        options->json = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        options->help = true;
    } else {
        char nearest[512];
        sattn_suggest(word, names, N_VALUE_OPTIONS + N_FLAG_OPTIONS, nearest, sizeof nearest);
        fprintf(stderr, "simdattn check: there is no option '%s'%s\n", word, nearest);
        return false;
    }
    return true;
}

bool sattn_check_options_parse(int argc, char **argv, sattn_check_options *options)
{
    *options = (sattn_check_options){.seed = 1, .dataset = sattn_real_default_directory()};
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, options))
            return false;
    return true;
}

void sattn_check_options_free(sattn_check_options *options)
{
    sattn_name_list_free(&options->ops);
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->kernels);
    sattn_name_list_free(&options->shapes);
    sattn_name_list_free(&options->data);
}
