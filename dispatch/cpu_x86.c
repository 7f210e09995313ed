/* SPDX-License-Identifier: MIT
 *
 * cpu_x86.c: reads cpuid and XCR0, nothing else. */
#if defined(__x86_64__)

#include "dispatch/cpu_arch.h"

#include <cpuid.h>

const sattn_arch sattn_this_arch = SATTN_ARCH_X86_64;

static void read_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    __cpuid_count(leaf, subleaf, registers[0], registers[1], registers[2], registers[3]);
}

/* By hand: the intrinsic would ask for -mxsave, which a baseline file must not have. */
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool read_hwcap(uint64_t *bits)
{
    *bits = 0;
    return false;
}

const sattn_cpu_reader sattn_this_reader = {read_cpuid, read_xcr0, read_hwcap};

void sattn_this_model(sattn_cpu_record *record)
{
    (void)record;
}

#else
typedef int sattn_not_x86; /* C wants a declaration in every file */
#endif
