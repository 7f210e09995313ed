/* SPDX-License-Identifier: MIT
 *
 * explain_options.c: reads the command line of `simdattn explain`. */
#include "bench/explain/explain_options.h"

#include "bench/explain/explain_given.h"
#include "bench/options.h"

#include <string.h>

static const int64_t most_extent = (int64_t)1 << 40;

static const char *known_kernel(size_t at)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    return at < count ? rows[at].name : NULL;
}

static bool set_window(void *into, const char *value, char *error, size_t error_size)
{
    sattn_explain_options *const o = into;
    const char *const comma = strchr(value, ',');
    (void)error, (void)error_size;
    o->has_window = comma && sattn_option_integer(value, ',', -1, most_extent, &o->window_left) &&
                    sattn_option_integer(comma + 1, '\0', -1, most_extent, &o->window_right);
    return o->has_window;
}

static sattn_option extent(sattn_explain_given *given, sattn_extent which)
{
    return (sattn_option){sattn_extent_option(which), "a number from 1 to 2^40",
                          .integer = &given->extents[which], .least = 1, .most = most_extent};
}

/* What the options of a call hold in another form than the line. */
typedef struct raw_values {
    const char *op, *mask;
    sattn_name_list kernels;
    int64_t threads, key_splits;
} raw_values;

static bool read_line(int argc, char **argv, sattn_explain_given *given, raw_values *raw)
{
    static const char *const plans[] = {"fused", "chain", NULL};
    static const char *const masks[] = {"bool", "additive", NULL};
    static const char threads[] = "a number from 1 to 1024";
    sattn_explain_options *const o = given->options;
    const sattn_option known[] = {
        {"--op", .text = &raw->op, .known = sattn_known_op},
        {"--shape", .set = sattn_explain_set_shape, .into = &given->named},
        {"--isa", .text = &o->isa, .known = sattn_known_isa},
        {"--kernel", .text = &o->kernels, .names = &raw->kernels, .known = known_kernel},
        {"--plan", "fused or chain", .text = &o->plan, .words = plans},
        {"--key-splits", threads, .integer = &raw->key_splits, .least = 1, .most = 1024},
        {"--mask", "bool or additive", .text = &raw->mask, .words = masks},
        {"--window", "keys before and after the query's own, as 511,0; -1 is no limit",
         .set = set_window, .into = o},
        {"--threads", threads, .integer = &raw->threads, .least = 1, .most = 1024},
        {"--profile", "a file, or none", .text = &o->profile},
        {"--causal", .flag = &given->is_causal},
        {"--results", "a file", .text = &o->results},
        {"--scores", .flag = &o->has_scores},
        {"--strided", .flag = &given->is_strided},
        {"--packed", .flag = &given->is_packed},
        {"--json", .flag = &o->json},
        {"--help", .flag = &o->help},
        extent(given, SATTN_EXTENT_N_Q),
        extent(given, SATTN_EXTENT_N_K),
        extent(given, SATTN_EXTENT_D),
        extent(given, SATTN_EXTENT_D_V),
        extent(given, SATTN_EXTENT_HEADS),
        extent(given, SATTN_EXTENT_KV_HEADS),
        extent(given, SATTN_EXTENT_BATCH),
        extent(given, SATTN_EXTENT_LENGTH),
    };
    const sattn_command_line line = {
        .verb = "explain", .options = known, .n_options = sizeof known / sizeof known[0]};
    return sattn_options_read(&line, argc, argv);
}

bool sattn_explain_options_parse(int argc, char **argv, sattn_explain_options *options)
{
    sattn_explain_given given = {.options = options};
    raw_values raw = {.op = sattn_op_name(SATTN_OP_fused), .threads = 1};
    *options = (sattn_explain_options){0};
    const bool good = read_line(argc, argv, &given, &raw);
    sattn_name_list_free(&raw.kernels); /* only checked: the library takes the text */
    if (!good)
        return false;
    while (strcmp(sattn_op_name(options->op), raw.op) != 0)
        ++options->op;
    if (raw.mask)
        given.mask = strcmp(raw.mask, "bool") == 0 ? SATTN_MASK_BOOL : SATTN_MASK_ADDITIVE;
    options->threads = (int)raw.threads;
    options->key_splits = (int)raw.key_splits;
    return options->help || sattn_explain_complete(&given);
}
