/* SPDX-License-Identifier: MIT
 *
 * explain_options.c: reads the command line of `simdattn explain`. */
#include "bench/explain/explain_options.h"

#include "bench/explain/explain_given.h"
#include "bench/names.h"
#include "bench/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_extent = (int64_t)1 << 40;

/* "simdattn explain: <what> '<word>'<rest>" */
static bool complain(const char *what, const char *word, const char *rest)
{
    fprintf(stderr, "simdattn explain: %s '%s'%s\n", what, word, rest);
    return false;
}

static bool complain_unknown(const char *what, const char *word, const char *const *names,
                             size_t count)
{
    char nearest[512];
    sattn_suggest(word, names, count, nearest, sizeof nearest);
    return complain(what, word, nearest);
}

/* ---- values */

/* A number up to the character `end`. */
static bool parse_integer(const char *text, char end, int64_t least, int64_t most, int64_t *number)
{
    char *at;
    errno = 0;
    *number = strtoll(text, &at, 10);
    const bool begins = *text == '-' || (*text >= '0' && *text <= '9');
    return begins && *at == end && !errno && *number >= least && *number <= most;
}

static bool set_extent(sattn_explain_given *given, sattn_extent extent, const char *value)
{
    char what[32];
    snprintf(what, sizeof what, "%s is", sattn_extent_option(extent));
    return parse_integer(value, '\0', 1, most_extent, &given->extents[extent]) ||
           complain(what, value, ", expected a number from 1 to 2^40");
}

static bool set_op(sattn_explain_given *given, const char *value)
{
    const char *names[SATTN_OP_COUNT];
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        names[op] = sattn_op_name((sattn_op)op);
        if (strcmp(value, names[op]) == 0) {
            given->options->op = (sattn_op)op;
            return true;
        }
    }
    return complain_unknown("--op: there is no", value, names, SATTN_OP_COUNT);
}

static bool set_shape(sattn_explain_given *given, const char *value)
{
    return sattn_explain_find_shape(value, &given->named);
}

static bool set_isa(sattn_explain_given *given, const char *value)
{
    enum { MOST = 16 };
    const char *names[MOST];
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = 0; i < count && i < MOST; ++i)
        names[i] = isas[i].name;
    given->options->isa = value;
    return sattn_isa_by_name(value) ||
           complain_unknown("--isa: there is no", value, names, count < MOST ? count : MOST);
}

static bool set_kernels(sattn_explain_given *given, const char *value)
{
    const char *names[SATTN_KERNEL_COUNT];
    char error[640];
    size_t count;
    sattn_name_list list = {0};
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        names[r] = rows[r].name;
    const bool good = sattn_name_list_set(&list, value, names, count, error, sizeof error);
    if (!good)
        fprintf(stderr, "simdattn explain: --kernel: %s\n", error);
    sattn_name_list_free(&list);
    given->options->kernels = value;
    return good;
}

static bool set_plan(sattn_explain_given *given, const char *value)
{
    given->options->plan = value;
    return strcmp(value, "fused") == 0 || strcmp(value, "chain") == 0 ||
           complain("--plan is", value, ", expected fused or chain");
}

static bool set_mask(sattn_explain_given *given, const char *value)
{
    const bool is_bool = strcmp(value, "bool") == 0;
    given->mask = is_bool ? SATTN_MASK_BOOL : SATTN_MASK_ADDITIVE;
    return is_bool || strcmp(value, "additive") == 0 ||
           complain("--mask is", value, ", expected bool or additive");
}

static bool set_window(sattn_explain_given *given, const char *value)
{
    sattn_explain_options *const o = given->options;
    const char *const comma = strchr(value, ',');
    o->has_window = comma && parse_integer(value, ',', -1, most_extent, &o->window_left) &&
                    parse_integer(comma + 1, '\0', -1, most_extent, &o->window_right);
    return o->has_window ||
           complain("--window is", value,
                    ", expected keys before and after the query's own, as 511,0; -1 is no limit");
}

static bool set_count(int *count, const char *what, const char *value, const char *expected)
{
    int64_t number;
    if (!parse_integer(value, '\0', 1, 1024, &number))
        return complain(what, value, expected);
    *count = (int)number;
    return true;
}

static bool set_threads(sattn_explain_given *given, const char *value)
{
    return set_count(&given->options->threads, "--threads is", value,
                     ", expected a number from 1 to 1024");
}

static bool set_key_splits(sattn_explain_given *given, const char *value)
{
    return set_count(&given->options->key_splits, "--key-splits is", value,
                     ", expected a number from 1 to 1024");
}

static bool set_profile(sattn_explain_given *given, const char *value)
{
    given->options->profile = value;
    return *value || complain("--profile is", value, ", expected a file, or none");
}

static bool set_results(sattn_explain_given *given, const char *value)
{
    given->options->results = value;
    return *value || complain("--results is", value, ", expected a file");
}

/* ---- flags */

static bool set_causal(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->is_causal = true;
    return true;
}

static bool set_strided(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->is_strided = true;
    return true;
}

static bool set_packed(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->is_packed = true;
    return true;
}

static bool set_scores(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->options->has_scores = true;
    return true;
}

static bool set_json(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->options->json = true;
    return true;
}

static bool set_help(sattn_explain_given *given, const char *value)
{
    (void)value;
    given->options->help = true;
    return true;
}

/* Beside the extents. */
static const struct {
    const char *name;
    bool takes_value;
    bool (*set)(sattn_explain_given *given, const char *value);
} known_options[] = {
    {"--op", true, set_op},           {"--shape", true, set_shape},
    {"--isa", true, set_isa},         {"--kernel", true, set_kernels},
    {"--plan", true, set_plan},       {"--key-splits", true, set_key_splits},
    {"--mask", true, set_mask},       {"--window", true, set_window},
    {"--threads", true, set_threads}, {"--profile", true, set_profile},
    {"--causal", false, set_causal},  {"--results", true, set_results},
    {"--scores", false, set_scores},  {"--strided", false, set_strided},
    {"--packed", false, set_packed},  {"--json", false, set_json},
    {"--help", false, set_help},
};

enum {
    N_KNOWN = sizeof known_options / sizeof known_options[0],
    N_OPTIONS = N_KNOWN + SATTN_EXTENTS
};

static const char *option_name(int option)
{
    return option < N_KNOWN ? known_options[option].name
                            : sattn_extent_option((sattn_extent)(option - N_KNOWN));
}

static bool set(sattn_explain_given *given, int option, const char *value)
{
    return option < N_KNOWN ? known_options[option].set(given, value)
                            : set_extent(given, (sattn_extent)(option - N_KNOWN), value);
}

/* `argv[*at]` is --name=value or --name followed by a value, or a flag. */
static bool parse_one(int argc, char **argv, int *at, sattn_explain_given *given)
{
    const char *const word = argv[*at];
    const size_t length = strcspn(word, "=");
    const char *names[N_OPTIONS];
    if (strcmp(word, "-h") == 0)
        return set_help(given, NULL);
    for (int o = 0; o < N_OPTIONS; ++o) {
        names[o] = option_name(o);
        if (strlen(names[o]) != length || strncmp(word, names[o], length) != 0)
            continue;
        const bool takes_value = o >= N_KNOWN || known_options[o].takes_value;
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (!takes_value && value)
            return complain("no value is expected in", word, "");
        if (takes_value && !value) {
            if (*at + 1 == argc)
                return complain("a value must follow", names[o], "");
            value = argv[++*at];
        }
        return set(given, o, value);
    }
    return complain_unknown("there is no option", word, names, N_OPTIONS);
}

bool sattn_explain_options_parse(int argc, char **argv, sattn_explain_options *options)
{
    sattn_explain_given given = {.options = options};
    *options = (sattn_explain_options){.op = SATTN_OP_fused, .threads = 1};
    for (int at = 0; at < argc; ++at)
        if (!parse_one(argc, argv, &at, &given))
            return false;
    return options->help || sattn_explain_complete(&given);
}
