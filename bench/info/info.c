/* SPDX-License-Identifier: MIT
 *
 * info.c: the verb `info`: what this CPU and system let kernels use, and which are chosen. */
#include "bench/info/info.h"

#include "bench/options.h"
#include "bench/verbs.h"
#include "dispatch/simdattn.h"

#include <string.h>

static const char help[] =
    "usage: simdattn info [--json]\n"
    "\n"
    "Shows the CPU, which features and ISA levels are usable and why others are not, what the\n"
    "system saves, caches, overrides, the profile, and for every op its kernels in the order in\n"
    "which they are tried, with the one that is chosen in each phase where no profile has another\n"
    "(simdattn explain tells what a call runs).\n"
    "\n"
    "  --json   one JSON document on standard output\n"
    "  --help   this text\n"
    "\n"
    "Exit code 2 if a SATTN_* environment variable has a value that is not legal.\n";

const char *const sattn_info_variables[SATTN_INFO_VARIABLES] = {
    "SATTN_ISA", "SATTN_KERNEL", "SATTN_LOG", "SATTN_PROFILE", "SATTN_PROFILE_STRICT"};

void sattn_info_why(sattn_features needs, sattn_features allowed, char *text, size_t size)
{
    const sattn_cpu *const cpu = sattn_cpu_this();
    char absent[160], blocked[160];
    sattn_features_print(needs & ~cpu->hardware, absent, sizeof absent);
    sattn_features_print(needs & cpu->hardware & ~cpu->usable, blocked, sizeof blocked);
    const char *const registers = cpu->os_saves_ymm ? "zmm" : "ymm";
    if (*absent && *blocked)
        snprintf(text, size, "the CPU lacks %s; the system does not save %s registers for %s",
                 absent, registers, blocked);
    else if (*absent)
        snprintf(text, size, "the CPU lacks %s", absent);
    else if (*blocked)
        snprintf(text, size, "the system does not save %s registers for %s", registers, blocked);
    else
        snprintf(text, size, "%s", needs & ~allowed ? "SATTN_ISA rules it out" : "");
}

void sattn_info_why_level(const sattn_isa *isa, sattn_features allowed, char *text, size_t size)
{
    sattn_info_why(isa->needs, allowed, text, size);
    if (!*text && !sattn_info_built(isa))
        snprintf(text, size, "this build has no kernels for it");
}

bool sattn_info_check_levels(const char *verb, const sattn_name_list *isas, sattn_features allowed)
{
    char why[256];
    for (size_t i = 0; i < isas->count; ++i) {
        const char *const name = isas->names[i];
        sattn_info_why_level(sattn_isa_by_name(name), allowed, why, sizeof why);
        if (*why) {
            fprintf(stderr, "simdattn %s: ISA level %s cannot be used here: %s\n", verb, name, why);
            return false;
        }
    }
    return true;
}

bool sattn_info_built(const sattn_isa *isa)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        if (strcmp(sattn_isa_name(rows[r].needs), isa->name) == 0)
            return true;
    return false;
}

void sattn_info_xcr0(uint64_t xcr0, char *text, size_t size)
{
    /* Intel SDM volume 1, section 13.1; AMD APM volume 2, section 11.5.2 */
    static const struct {
        int bit;
        const char *name;
    } parts[] = {{0, "x87"},    {1, "xmm"},          {2, "ymm"},           {3, "bndregs"},
                 {4, "bndcsr"}, {5, "opmask"},       {6, "zmm0-15 upper"}, {7, "zmm16-31"},
                 {9, "pkru"},   {17, "tile config"}, {18, "tile data"}};
    size_t used = 0;
    if (size > 0)
        text[0] = '\0';
    for (size_t p = 0; p < sizeof parts / sizeof parts[0] && used < size; ++p)
        if (xcr0 >> parts[p].bit & 1)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", parts[p].name);
}

sattn_features sattn_info_allowed(const sattn_info *info)
{
    return *info->overrides_error ? info->cpu->usable : info->overrides.usable;
}

unsigned sattn_info_chosen_for(const sattn_info *info, const sattn_kernel *kernel)
{
    unsigned phases = 0, for_several = 0;
    for (int p = 0; p < SATTN_INFO_PHASES; ++p) {
        if (info->chosen[kernel->op][p] == kernel)
            phases |= (unsigned)info->phases[p];
        if (info->chosen_for_several[kernel->op][p] == kernel)
            for_several |= (unsigned)info->phases[p] | SATTN_FOR_SEVERAL_ROWS;
    }
    return phases ? phases : for_several;
}

static void gather(sattn_info *info)
{
    *info = (sattn_info){
        .record = sattn_cpu_this_record(),
        .cpu = sattn_cpu_this(),
        .phases = {SATTN_PHASE_PREFILL, SATTN_PHASE_FEW_QUERY, SATTN_PHASE_DECODE},
    };
    sattn_environment_read(NULL, &info->environment);
    sattn_explain_profile_read(&info->profile);
    if (sattn_overrides_get(NULL, &info->overrides) != SATTN_OK) {
        snprintf(info->overrides_error, sizeof info->overrides_error, "%s", sattn_last_error());
        return;
    }
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        for (int p = 0; p < SATTN_INFO_PHASES; ++p) {
            const sattn_kernel *const forced = info->overrides.forced[op];
            sattn_selection selection = {.op = (sattn_op)op,
                                         .phase = info->phases[p],
                                         .usable = info->overrides.usable,
                                         .forced = forced ? forced->name : NULL};
            info->chosen[op][p] = sattn_select(rows, count, &selection);
            selection.is_several =
                sattn_are_several(info->cpu, info->phases[p], 1, SATTN_SEVERAL_ROWS_MIN);
            info->chosen_for_several[op][p] = sattn_select(rows, count, &selection);
        }
}

int sattn_verb_info(int argc, char **argv)
{
    bool json = false, is_help = false;
    const sattn_option known[] = {{"--json", .flag = &json}, {"--help", .flag = &is_help}};
    const sattn_command_line line = {
        .verb = "info", .options = known, .n_options = sizeof known / sizeof known[0]};
    if (!sattn_options_read(&line, argc, argv))
        return SATTN_EXIT_USAGE;
    if (is_help) {
        fputs(help, stdout);
        return SATTN_EXIT_GOOD;
    }
    sattn_info info;
    gather(&info);
    if (!json) {
        sattn_info_text(&info, stdout);
    } else if (!sattn_info_json(&info, stdout)) {
        fputs("simdattn info: the JSON document could not be written\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    if (!*info.overrides_error)
        return SATTN_EXIT_GOOD;
    fprintf(stderr, "simdattn info: %s\n", info.overrides_error);
    return SATTN_EXIT_USAGE;
}
