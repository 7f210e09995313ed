/* SPDX-License-Identifier: MIT
 *
 * cpu_arch.h: what each architecture's probe (cpu_x86.c, cpu_arm.c) provides. */
#ifndef SATTN_DISPATCH_CPU_ARCH_H
#define SATTN_DISPATCH_CPU_ARCH_H

#include "dispatch/cpu.h"

extern const sattn_arch sattn_this_arch;
extern const sattn_cpu_reader sattn_this_reader;

/* Fills record->model where the registers did not. */
void sattn_this_model(sattn_cpu_record *record);

#endif
