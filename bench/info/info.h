/* SPDX-License-Identifier: MIT
 *
 * info.h: what `simdattn info` shows, apart from how it is shown. */
#ifndef SATTN_BENCH_INFO_INFO_H
#define SATTN_BENCH_INFO_INFO_H

#include "bench/environment/environment.h"
#include "bench/explain/explain_profile.h"
#include "bench/names.h"
#include "dispatch/cpu.h"
#include "dispatch/override.h"
#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SATTN_INFO_PHASES = 3 };

typedef struct sattn_info {
    sattn_environment environment;
    const sattn_cpu_record *record;
    const sattn_cpu *cpu;
    sattn_overrides overrides;
    char overrides_error[512]; /* "" if the SATTN_* variables have legal values */
    sattn_explain_profile profile;
    sattn_phase phases[SATTN_INFO_PHASES];
    /* By the registry's order or by name; NULL where the environment is wrong. */
    const sattn_kernel *chosen[SATTN_OP_COUNT][SATTN_INFO_PHASES];
    /* The same for several rows, where the CPU tells them apart (sattn_are_several). */
    const sattn_kernel *chosen_for_several[SATTN_OP_COUNT][SATTN_INFO_PHASES];
} sattn_info;

/* The variables that override what is chosen, and behind them those of the profile. */
extern const char *const sattn_info_variables[];
enum { SATTN_INFO_OVERRIDES = 3, SATTN_INFO_VARIABLES = 5 };

/* Why what needs these features cannot be used here: the CPU, the system, or SATTN_ISA, which left
 * only `allowed` of the usable ones. "" if it can. */
void sattn_info_why(sattn_features needs, sattn_features allowed, char *text, size_t size);
/* The same for the kernels of a level, which this build may lack. */
void sattn_info_why_level(const sattn_isa *isa, sattn_features allowed, char *text, size_t size);
/* Whether all of these levels can be used here; else a sentence of the verb about the first that
 * cannot has gone to stderr. */
bool sattn_info_check_levels(const char *verb, const sattn_name_list *isas, sattn_features allowed);
/* Whether this build has a kernel of the level. */
bool sattn_info_built(const sattn_isa *isa);
/* The state components that XCR0 enables, by name, separated by commas. */
void sattn_info_xcr0(uint64_t xcr0, char *text, size_t size);
/* The features that kernels may use: SATTN_ISA may leave fewer than are usable. All that are usable
 * where the variables are wrong. */
sattn_features sattn_info_allowed(const sattn_info *info);
/* The phases in which `kernel` is the one chosen, as sattn_phases_print takes them; and
 * SATTN_FOR_SEVERAL_ROWS if it is for several rows only. */
unsigned sattn_info_chosen_for(const sattn_info *info, const sattn_kernel *kernel);

void sattn_info_text(const sattn_info *info, FILE *file);
/* One JSON document; false if it could not be made or written. */
bool sattn_info_json(const sattn_info *info, FILE *file);

#endif
