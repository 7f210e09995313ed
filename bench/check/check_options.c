/* SPDX-License-Identifier: MIT
 *
 * check_options.c: reads the command line of `simdattn check`. */
#include "bench/check/check.h"
#include "bench/options.h"
#include "bench/verify/real.h"

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

static const char *known_op(size_t at)
{
    return at == SATTN_OP_COUNT ? "chain" : sattn_known_op(at);
}

static const char *known_shape(size_t at)
{
    size_t n_shapes, n_lengths, n_layers;
    const sattn_check_shape *const shapes = sattn_check_shapes(&n_shapes);
    const sattn_check_length *const lengths = sattn_check_lengths(&n_lengths);
    const sattn_check_layer *const layers = sattn_check_layers(&n_layers);
    if (at < n_shapes)
        return shapes[at].name;
    at -= n_shapes;
    if (at < n_lengths)
        return lengths[at].name;
    at -= n_lengths;
    return at < n_layers ? layers[at].name : NULL;
}

static const char *known_data(size_t at)
{
    size_t n_ranges;
    const sattn_check_range *const ranges = sattn_check_ranges(&n_ranges);
    if (at < SATTN_INPUT_KINDS)
        return sattn_input_name((sattn_input_kind)at);
    at -= SATTN_INPUT_KINDS;
    return at < n_ranges ? ranges[at].name : at == n_ranges ? SATTN_CHECK_REAL_DATA : NULL;
}

/* Kernels are the registry's and the chains of this build. */
static bool set_kernels(void *into, const char *value, char *error, size_t error_size)
{
    sattn_check_run all = {0};
    const sattn_check_options any = {0};
    bool good = sattn_check_variants(&any, 0, &all);
    const char **const names = good ? calloc(all.n_variants + 1, sizeof *names) : NULL;
    for (size_t v = 0; names && v < all.n_variants; ++v)
        names[v] = all.variants[v].kernel;
    if (!names)
        snprintf(error, error_size, "out of memory");
    good = names && sattn_name_list_set(into, value, names, all.n_variants, error, error_size);
    free(names);
    sattn_check_run_free(&all);
    return good;
}

bool sattn_check_options_parse(int argc, char **argv, sattn_check_options *options)
{
    static const char *const presets[] = {"quick", "full", NULL};
    const char *preset = presets[0];
    const sattn_option known[] = {
        {"--preset", "quick or full", .text = &preset, .words = presets},
        {"--op", .names = &options->ops, .known = known_op},
        {"--isa", .names = &options->isas, .known = sattn_known_isa},
        {"--kernel", .set = set_kernels, .into = &options->kernels},
        {"--shape", .names = &options->shapes, .known = known_shape},
        {"--data", .names = &options->data, .known = known_data},
        {"--dataset", "a path", .text = &options->dataset},
        {"--seed", "a number from 0 to 2^63 - 1", .seed = &options->seed, .most = INT64_MAX},
        {"--baseline", "a path", .text = &options->baseline},
        {"--write-baseline", "a path", .text = &options->write_baseline},
        {"--json", .flag = &options->json},
        {"--help", .flag = &options->help},
    };
    const sattn_command_line line = {
        .verb = "check", .options = known, .n_options = sizeof known / sizeof known[0]};
    *options = (sattn_check_options){.seed = 1, .dataset = sattn_real_default_directory()};
    const bool good = sattn_options_read(&line, argc, argv);
    options->full = strcmp(preset, "full") == 0;
    return good;
}

void sattn_check_options_free(sattn_check_options *options)
{
    sattn_name_list_free(&options->ops);
    sattn_name_list_free(&options->isas);
    sattn_name_list_free(&options->kernels);
    sattn_name_list_free(&options->shapes);
    sattn_name_list_free(&options->data);
}
