/* SPDX-License-Identifier: MIT
 *
 * override.c: parsing of the environment and of options, and the log of choices. */
#include "dispatch/override.h"

#include "dispatch/error.h"
#include "dispatch/profile_own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SIZE = 640 };

static void append(char *text, const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, NAMES_SIZE - used, "%s%s", used ? " " : "", word);
}

/* Levels of this build's architecture whose needs are within `usable`. */
static void usable_isa_names(sattn_features usable, char text[NAMES_SIZE])
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    text[0] = '\0';
    for (size_t i = 0; i < count; ++i)
        if ((isas[i].needs & ~usable) == 0)
            append(text, isas[i].name);
}

static void usable_kernel_names(sattn_op op, sattn_features usable, char text[NAMES_SIZE])
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    text[0] = '\0';
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op && (rows[i].needs & ~usable) == 0)
            append(text, rows[i].name);
}

/* What to say of a name that no row has: the rows of its op, or else how names begin. */
static sattn_status refuse_name(const sattn_overrides *overrides, const char *source,
                                const char *name)
{
    char names[NAMES_SIZE] = "", begin[32];
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        snprintf(begin, sizeof begin, "sattn_%s_", sattn_op_name((sattn_op)op));
        if (strncmp(name, begin, strlen(begin)) == 0) {
            usable_kernel_names((sattn_op)op, overrides->usable, names);
            return sattn_fail(SATTN_ERR_KERNEL, "%s: \"%.80s\" is not a kernel; usable here: %s",
                              source, name, names);
        }
        append(names, begin);
    }
    return sattn_fail(SATTN_ERR_KERNEL,
                      "%s: \"%.80s\" is not a kernel; their names begin with one of: %s", source,
                      name, names);
}

sattn_status sattn_override_isa(sattn_overrides *overrides, const char *source, const char *value,
                                sattn_features usable)
{
    overrides->usable = usable;
    overrides->isa = NULL;
    if (!value || value[0] == '\0')
        return SATTN_OK;
    char names[NAMES_SIZE], missing[160];
    const sattn_isa *const isa = sattn_isa_by_name(value);
    if (!isa || (isa->needs & ~usable))
        usable_isa_names(usable, names); /* for the message only: it takes longer than a call */
    if (!isa)
        return sattn_fail(SATTN_ERR_KERNEL, "%s = \"%.40s\": no such ISA; usable here: %s", source,
                          value, names);
    if (isa->needs & ~usable) {
        sattn_features_print(isa->needs & ~usable, missing, sizeof missing);
        return sattn_fail(SATTN_ERR_KERNEL,
                          "%s = \"%s\": this CPU, or its system, lacks %s; usable here: %s", source,
                          value, missing, names);
    }
    overrides->usable = usable & isa->needs;
    overrides->isa = isa->name;
    return SATTN_OK;
}

static sattn_status force(sattn_overrides *overrides, const char *source, const char *name)
{
    char names[NAMES_SIZE], missing[160];
    const sattn_kernel *const kernel = sattn_kernel_by_name(name);
    if (!kernel)
        return refuse_name(overrides, source, name);
    if (kernel->needs & ~overrides->usable) {
        usable_kernel_names(kernel->op, overrides->usable, names);
        sattn_features_print(kernel->needs & ~overrides->usable, missing, sizeof missing);
        return sattn_fail(SATTN_ERR_KERNEL, "%s: %s needs %s, not usable here%s%s; usable here: %s",
                          source, name, missing, overrides->isa ? " under the cap " : "",
                          overrides->isa ? overrides->isa : "", names);
    }
    if (overrides->forced[kernel->op])
        return sattn_fail(SATTN_ERR_KERNEL,
                          "%s names two kernels for op %s: %s and %s; expected at most one", source,
                          sattn_op_name(kernel->op), overrides->forced[kernel->op]->name, name);
    overrides->forced[kernel->op] = kernel;
    return SATTN_OK;
}

sattn_status sattn_override_kernels(sattn_overrides *overrides, const char *source,
                                    const char *value)
{
    memset(overrides->forced, 0, sizeof overrides->forced);
    for (const char *at = value; at && *at;) {
        char name[96];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 95 ? length : 95), at);
        const sattn_status status = force(overrides, source, name);
        if (status != SATTN_OK)
            return status;
        at += length;
        if (*at == ',' && *++at == '\0')
            return sattn_fail(SATTN_ERR_KERNEL,
                              "%s ends in a comma; expected a kernel name after it", source);
    }
    return SATTN_OK;
}

static pthread_once_t environment_once = PTHREAD_ONCE_INIT;
static sattn_overrides environment;
static sattn_status environment_status;
static char environment_error[1024];

static void read_environment(void)
{
    const char *const log = getenv("SATTN_LOG");
    environment_status = sattn_override_isa(&environment, "SATTN_ISA", getenv("SATTN_ISA"),
                                            sattn_cpu_this()->usable);
    if (environment_status == SATTN_OK)
        environment_status =
            sattn_override_kernels(&environment, "SATTN_KERNEL", getenv("SATTN_KERNEL"));
    if (log && strcmp(log, "") != 0 && strcmp(log, "0") != 0 && strcmp(log, "1") != 0)
        environment_status =
            sattn_fail(SATTN_ERR_ENVIRONMENT, "SATTN_LOG = \"%.40s\": expected 0 or 1", log);
    environment.log = log && strcmp(log, "1") == 0;
    if (environment_status != SATTN_OK) {
        environment_status = SATTN_ERR_ENVIRONMENT;
        snprintf(environment_error, sizeof environment_error, "%s", sattn_last_error());
    }
}

sattn_status sattn_overrides_get(const sattn_options *options, sattn_overrides *overrides)
{
    pthread_once(&environment_once, read_environment);
    if (environment_status != SATTN_OK)
        return sattn_fail(environment_status, "%s", environment_error);
    const sattn_own_profile *const own = sattn_profile_own();
    if (own->status != SATTN_OK)
        return sattn_fail(own->status, "%s%.300s%s%s", *own->path ? "profile " : "", own->path,
                          *own->path ? ": " : "", own->problem);
    *overrides = environment;
    overrides->profile = options && options->profile ? options->profile : own->profile;
    if (overrides->profile && overrides->profile == sattn_profile_none())
        overrides->profile = NULL;
    if (options && options->isa) {
        const sattn_status status =
            sattn_override_isa(overrides, "options.isa", options->isa, sattn_cpu_this()->usable);
        if (status != SATTN_OK)
            return status;
    }
    if (options && options->kernels)
        return sattn_override_kernels(overrides, "options.kernels", options->kernels);
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        const sattn_kernel *const kernel = overrides->forced[op];
        if (kernel && (kernel->needs & ~overrides->usable))
            return sattn_fail(SATTN_ERR_KERNEL,
                              "SATTN_KERNEL names %s, which options.isa = \"%s\" rules out",
                              kernel->name, overrides->isa);
    }
    return SATTN_OK;
}

static void print_verdict(const sattn_kernel *row, const sattn_selection *selection,
                          const sattn_kernel *chosen)
{
    char missing[160];
    const char *reason = "eligible, but another was taken";
    const sattn_verdict verdict = sattn_judge(row, selection);
    if (row == chosen) {
        reason = "CHOSEN";
    } else if (verdict == SATTN_VERDICT_MISSING) {
        sattn_features_print(row->needs & ~selection->usable, missing, sizeof missing);
        fprintf(stderr, "simdattn:   %-36s needs %s\n", row->name, missing);
        return;
    } else if (verdict == SATTN_VERDICT_NOT_RANKED) {
        reason = "not ranked for such calls";
    } else if (verdict == SATTN_VERDICT_NOT_FORCED) {
        reason = "another kernel was asked for by name";
    }
    fprintf(stderr, "simdattn:   %-36s %s\n", row->name, reason);
}

void sattn_overrides_log(const sattn_overrides *overrides, sattn_phase phase, bool is_several,
                         const sattn_kernel *chosen, sattn_decision decision)
{
    static _Atomic unsigned logged[SATTN_KERNEL_COUNT]; /* bits of the phases already logged */
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_op op = chosen->op;
    if (atomic_fetch_or(&logged[chosen - rows], (unsigned)phase) & (unsigned)phase)
        return;
    char phase_name[64];
    const bool has_phase = sattn_op_has_phases(op);
    const char *const path = overrides->profile ? sattn_profile_path(overrides->profile) : "";
    const sattn_selection selection = {.op = op,
                                       .phase = phase,
                                       .usable = overrides->usable,
                                       .forced = overrides->forced[op] ? chosen->name : NULL,
                                       .is_several = is_several};
    sattn_phases_print((unsigned)phase, phase_name, sizeof phase_name);
    fprintf(stderr, "simdattn: %s%s%s%s%s: %s%s%s%s\n", sattn_op_name(op), has_phase ? ", " : "",
            has_phase ? phase_name : "", overrides->isa ? ", ISA capped to " : "",
            overrides->isa ? overrides->isa : "", sattn_decision_text(decision), *path ? " (" : "",
            path, *path ? ")" : "");
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op)
            print_verdict(&rows[i], &selection, chosen);
}
