/* SPDX-License-Identifier: MIT
 *
 * cpu_arm.c: asks the system for the features of an AArch64 (or any other non-x86) CPU. */
#if !defined(__x86_64__)

#include "dispatch/cpu_arch.h"

#include <stdio.h>
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#if defined(__aarch64__)
const sattn_arch sattn_this_arch = SATTN_ARCH_AARCH64;
#else
const sattn_arch sattn_this_arch = SATTN_ARCH_OTHER;
#endif

static void no_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    (void)leaf;
    (void)subleaf;
    memset(registers, 0, 4 * sizeof registers[0]);
}

static uint64_t no_xcr0(void)
{
    return 0;
}

static bool read_hwcap(uint64_t *bits)
{
#if defined(__linux__)
    *bits = getauxval(AT_HWCAP);
    return *bits != 0;
#elif defined(__APPLE__) && defined(__aarch64__)
    *bits = 0x3; /* every 64-bit Apple CPU has FP and Advanced SIMD */
    return true;
#else
    *bits = 0;
    return false;
#endif
}

const sattn_cpu_reader sattn_this_reader = {no_cpuid, no_xcr0, read_hwcap};

void sattn_this_model(sattn_cpu_record *record)
{
#if defined(__linux__)
    /* MIDR_EL1 names the core: implementer in bits 31-24, part in bits 15-4. */
    FILE *const midr = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
    unsigned long long value = 0;
    if (!midr)
        return;
    if (fscanf(midr, "%llx", &value) == 1) {
        record->midr = (uint32_t)value;
        snprintf(record->model, sizeof record->model, "Arm implementer 0x%02llx part 0x%03llx",
                 value >> 24 & 0xff, value >> 4 & 0xfff);
    }
    fclose(midr);
#elif defined(__APPLE__)
    size_t size = sizeof record->model;
    if (sysctlbyname("machdep.cpu.brand_string", record->model, &size, NULL, 0) != 0)
        record->model[0] = '\0';
#else
    (void)record;
#endif
}

#else
typedef int sattn_not_arm; /* C wants a declaration in every file */
#endif
