/* SPDX-License-Identifier: MIT
 *
 * info.h: what `simdattn info` shows, apart from how it is shown. */
#ifndef SATTN_BENCH_INFO_H
#define SATTN_BENCH_INFO_H

#include "bench/environment.h"
#include "dispatch/cpu.h"
#include "dispatch/override.h"
#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SATTN_INFO_PHASES = 3 };

typedef struct sattn_info {
    sattn_environment environment;
    const sattn_cpu_record *record;
    const sattn_cpu *cpu;
    sattn_overrides overrides;
    char overrides_error[512]; /* "" if the SATTN_* variables have legal values */
    sattn_phase phases[SATTN_INFO_PHASES];
    /* NULL where the environment is wrong */
    const sattn_kernel *chosen[SATTN_OP_COUNT][SATTN_INFO_PHASES];
} sattn_info;

/* Why a set of features is not usable here, as "the CPU lacks a b; the system does not save c d";
 * "" if it is. */
void sattn_info_why(const sattn_cpu *cpu, sattn_features needs, char *text, size_t size);
/* Whether this build has a kernel of the level. */
bool sattn_info_built(const sattn_isa *isa);
/* The state components that XCR0 enables, by name, separated by spaces. */
void sattn_info_xcr0(uint64_t xcr0, char *text, size_t size);
/* The phases in which `kernel` is the one chosen, as sattn_phases_print takes them. */
unsigned sattn_info_chosen_for(const sattn_info *info, const sattn_kernel *kernel);

void sattn_info_text(const sattn_info *info, FILE *file);
/* One JSON document; false if it could not be made or written. */
bool sattn_info_json(const sattn_info *info, FILE *file);

#endif
