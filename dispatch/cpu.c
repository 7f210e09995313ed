/* SPDX-License-Identifier: MIT
 *
 * cpu.c: from raw registers to usable features, and the names of features and levels. Pure, except
 * for the cache of this machine's answer. */
#include "dispatch/cpu.h"

#include "dispatch/cpu_arch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct {
    sattn_features bit;
    const char *name;
} feature_names[] = {
    {SATTN_FEATURE_AVX, "avx"},           {SATTN_FEATURE_AVX2, "avx2"},
    {SATTN_FEATURE_FMA, "fma"},           {SATTN_FEATURE_F16C, "f16c"},
    {SATTN_FEATURE_AVX512F, "avx512f"},   {SATTN_FEATURE_AVX512BW, "avx512bw"},
    {SATTN_FEATURE_AVX512DQ, "avx512dq"}, {SATTN_FEATURE_AVX512VL, "avx512vl"},
    {SATTN_FEATURE_NEON, "neon"},
};

static const sattn_isa isas[] = {
    {"scalar", SATTN_ISA_SCALAR},
#if defined(__x86_64__)
    {"avx2", SATTN_ISA_AVX2},
    {"avx512", SATTN_ISA_AVX512},
#elif defined(__aarch64__)
    {"neon", SATTN_ISA_NEON},
#endif
};

const sattn_isa *sattn_isas(size_t *count)
{
    *count = sizeof isas / sizeof isas[0];
    return isas;
}

const sattn_isa *sattn_isa_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; ++i)
        if (strcmp(isas[i].name, name) == 0)
            return &isas[i];
    return NULL;
}

const char *sattn_isa_name(sattn_features needs)
{
    const char *included = isas[0].name;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; ++i) {
        if ((needs & ~isas[i].needs) == 0)
            return isas[i].name;
        if ((isas[i].needs & ~needs) == 0)
            included = isas[i].name;
    }
    return included;
}

const char *sattn_feature_name(sattn_features bit)
{
    for (size_t i = 0; i < sizeof feature_names / sizeof feature_names[0]; ++i)
        if (feature_names[i].bit == bit)
            return feature_names[i].name;
    return NULL;
}

void sattn_features_print(sattn_features set, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof feature_names / sizeof feature_names[0]; ++i) {
        if ((set & feature_names[i].bit) == 0 || used >= size)
            continue;
        const int printed =
            snprintf(text + used, size - used, "%s%s", used ? " " : "", feature_names[i].name);
        used += printed > 0 ? (size_t)printed : 0;
    }
}

/* cpuid leaf 1 and leaf 7 bits (Intel SDM volume 2A, table 3-8). */
enum {
    LEAF1_ECX_FMA = 12,
    LEAF1_ECX_OSXSAVE = 27,
    LEAF1_ECX_AVX = 28,
    LEAF1_ECX_F16C = 29,
    LEAF7_EBX_AVX2 = 5,
    LEAF7_EBX_AVX512F = 16,
    LEAF7_EBX_AVX512DQ = 17,
    LEAF7_EBX_AVX512BW = 30,
    LEAF7_EBX_AVX512VL = 31,
};

/* XCR0: which registers the system saves (Intel SDM volume 1, 13.1). */
static const uint64_t xcr0_ymm = 0x06; /* SSE, AVX */
static const uint64_t xcr0_zmm = 0xe6; /* and opmask, upper halves of zmm0-15, zmm16-31 */

/* AArch64 Linux, asm/hwcap.h: HWCAP_FP, HWCAP_ASIMD */
static const uint64_t hwcap_neon = 0x3;

static bool bit(uint32_t word, int index)
{
    return word >> index & 1;
}

void sattn_cpu_read(sattn_arch arch, const sattn_cpu_reader *reader, sattn_cpu_record *record)
{
    memset(record, 0, sizeof *record);
    record->arch = arch;
    if (arch == SATTN_ARCH_X86_64) {
        uint32_t r[4]; /* eax ebx ecx edx */
        reader->cpuid(0, 0, r);
        record->max_leaf = r[0];
        memcpy(record->vendor, &r[1], 4);
        memcpy(record->vendor + 4, &r[3], 4);
        memcpy(record->vendor + 8, &r[2], 4);
        if (record->max_leaf >= 1) {
            reader->cpuid(1, 0, r);
            record->leaf1_eax = r[0];
            record->leaf1_ecx = r[2];
        }
        if (record->max_leaf >= 7) {
            reader->cpuid(7, 0, r);
            record->leaf7_ebx = r[1];
            record->leaf7_ecx = r[2];
            record->leaf7_edx = r[3];
        }
        if (bit(record->leaf1_ecx, LEAF1_ECX_OSXSAVE))
            record->xcr0 = reader->xgetbv();
        reader->cpuid(0x80000000u, 0, r);
        if (r[0] >= 0x80000004u)
            for (uint32_t part = 0; part < 3; ++part) {
                reader->cpuid(0x80000002u + part, 0, r);
                memcpy(record->model + 16 * part, r, 16);
            }
    } else if (arch == SATTN_ARCH_AARCH64) {
        record->hwcap_known = reader->hwcap(&record->hwcap);
    }
}

static sattn_features x86_features(const sattn_cpu_record *record)
{
    const struct {
        bool present;
        sattn_features feature;
    } reported[] = {
        {bit(record->leaf1_ecx, LEAF1_ECX_AVX), SATTN_FEATURE_AVX},
        {bit(record->leaf1_ecx, LEAF1_ECX_FMA), SATTN_FEATURE_FMA},
        {bit(record->leaf1_ecx, LEAF1_ECX_F16C), SATTN_FEATURE_F16C},
        {bit(record->leaf7_ebx, LEAF7_EBX_AVX2), SATTN_FEATURE_AVX2},
        {bit(record->leaf7_ebx, LEAF7_EBX_AVX512F), SATTN_FEATURE_AVX512F},
        {bit(record->leaf7_ebx, LEAF7_EBX_AVX512BW), SATTN_FEATURE_AVX512BW},
        {bit(record->leaf7_ebx, LEAF7_EBX_AVX512DQ), SATTN_FEATURE_AVX512DQ},
        {bit(record->leaf7_ebx, LEAF7_EBX_AVX512VL), SATTN_FEATURE_AVX512VL},
    };
    sattn_features set = 0;
    for (size_t i = 0; i < sizeof reported / sizeof reported[0]; ++i)
        if (reported[i].present)
            set |= reported[i].feature;
    return set;
}

/* Intel's cores with AVX-512, from Skylake-X on. They have one port for shuffles of 512 bits, port
 * 5 (uops.info, for example of VSHUFPS), and prefetchers that follow rows. What depends on either
 * was measured on Golden Cove. Intel's other cores have such prefetchers too, but were not
 * measured. */
static bool is_intel_with_avx512(const sattn_cpu_record *record, sattn_features hardware)
{
    return (hardware & SATTN_FEATURE_AVX512F) && strcmp(record->vendor, "GenuineIntel") == 0;
}

sattn_cpu sattn_cpu_decode(const sattn_cpu_record *record)
{
    sattn_cpu cpu = {0};
    if (record->arch == SATTN_ARCH_X86_64) {
        const bool xsave = bit(record->leaf1_ecx, LEAF1_ECX_OSXSAVE);
        cpu.os_saves_ymm = xsave && (record->xcr0 & xcr0_ymm) == xcr0_ymm;
        cpu.os_saves_zmm = xsave && (record->xcr0 & xcr0_zmm) == xcr0_zmm;
        cpu.hardware = x86_features(record);
        cpu.shuffles_take_fma_port = is_intel_with_avx512(record, cpu.hardware);
        cpu.follows_rows = is_intel_with_avx512(record, cpu.hardware);
        if (cpu.os_saves_ymm)
            cpu.usable = cpu.hardware & SATTN_ISA_AVX2;
        if (cpu.os_saves_zmm)
            cpu.usable = cpu.hardware & SATTN_ISA_AVX512;
    } else if (record->arch == SATTN_ARCH_AARCH64) {
        if (record->hwcap_known && (record->hwcap & hwcap_neon) == hwcap_neon)
            cpu.hardware = cpu.usable = SATTN_FEATURE_NEON;
    }
    return cpu;
}

static pthread_once_t this_once = PTHREAD_ONCE_INIT;
static sattn_cpu_record this_record;
static sattn_cpu this_cpu;

static void read_this_machine(void)
{
    sattn_cpu_read(sattn_this_arch, &sattn_this_reader, &this_record);
    sattn_this_model(&this_record);
    this_cpu = sattn_cpu_decode(&this_record);
}

const sattn_cpu_record *sattn_cpu_this_record(void)
{
    pthread_once(&this_once, read_this_machine);
    return &this_record;
}

const sattn_cpu *sattn_cpu_this(void)
{
    pthread_once(&this_once, read_this_machine);
    return &this_cpu;
}
