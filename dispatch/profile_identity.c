/* SPDX-License-Identifier: MIT
 *
 * profile_identity.c: the fields of an identity, made and compared. */
#define _GNU_SOURCE /* sched_getaffinity, _SC_NPROCESSORS_ONLN */

#include "dispatch/profile_identity.h"

#include "dispatch/built.h"
#include "dispatch/simdattn.h"
#include "dispatch/team.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

static const char *const names[SATTN_IDENTITY_COUNT] = {
    [SATTN_IDENTITY_SCHEMA] = "schema",
    [SATTN_IDENTITY_VERSION] = "version",
    [SATTN_IDENTITY_ARCH] = "arch",
    [SATTN_IDENTITY_CPU_VENDOR] = "cpu_vendor",
    [SATTN_IDENTITY_CPU_FAMILY] = "cpu_family",
    [SATTN_IDENTITY_CPU_MODEL] = "cpu_model",
    [SATTN_IDENTITY_CPU_STEPPING] = "cpu_stepping",
    [SATTN_IDENTITY_CPU_NAME] = "cpu_name",
    [SATTN_IDENTITY_FEATURES] = "features",
    [SATTN_IDENTITY_CPUS] = "cpus",
    [SATTN_IDENTITY_KERNEL_HASH] = "kernel_hash",
    [SATTN_IDENTITY_COMPILER] = "compiler",
    [SATTN_IDENTITY_SLEEF_VERSION] = "sleef_version",
};

const char *sattn_identity_name(sattn_identity_field field)
{
    return names[field];
}

bool sattn_identity_is_number(sattn_identity_field field)
{
    return field == SATTN_IDENTITY_SCHEMA || field == SATTN_IDENTITY_CPUS;
}

void sattn_identity_features(sattn_features set, char text[SATTN_IDENTITY_TEXT])
{
    const char *last = "";
    size_t used = 0;
    text[0] = '\0';
    for (;;) { /* the least of the names behind the last one */
        const char *next = NULL;
        for (int i = 0; i < 64; ++i) {
            const sattn_features bit = (sattn_features)1 << i;
            const char *const name = set & bit ? sattn_feature_name(bit) : NULL;
            if (name && strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
                next = name;
        }
        if (!next || used >= SATTN_IDENTITY_TEXT)
            return;
        used += (size_t)snprintf(text + used, SATTN_IDENTITY_TEXT - used, "%s%s", used ? " " : "",
                                 next);
        last = next;
    }
}

bool sattn_identity_parse_features(const char *text, sattn_features *set)
{
    char again[SATTN_IDENTITY_TEXT];
    *set = 0;
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, " ");
        for (int i = 0; i < 64; ++i) {
            const char *const name = sattn_feature_name((sattn_features)1 << i);
            if (name && strlen(name) == length && strncmp(at, name, length) == 0)
                *set |= (sattn_features)1 << i;
        }
        at += length + (at[length] == ' ');
    }
    sattn_identity_features(*set,
                            again); /* what is unknown, twice or out of order is missing there */
    return strcmp(text, again) == 0;
}

static void set(sattn_identity *identity, sattn_identity_field field, const char *text)
{
    snprintf(identity->text[field], SATTN_IDENTITY_TEXT, "%s", text[0] ? text : "unknown");
}

static void set_number(sattn_identity *identity, sattn_identity_field field, unsigned number)
{
    snprintf(identity->text[field], SATTN_IDENTITY_TEXT, "%u", number);
}

/* Leaf 1, eax (Intel SDM volume 2A, CPUID): family and model have an extension where the family is
 * 15, the model also where it is 6. */
static void set_x86(sattn_identity *identity, const sattn_cpu_record *record)
{
    const uint32_t eax = record->leaf1_eax;
    uint32_t family = eax >> 8 & 0xf, model = eax >> 4 & 0xf;
    if (family == 6 || family == 15)
        model |= eax >> 12 & 0xf0;
    if (family == 15)
        family += eax >> 20 & 0xff;
    set(identity, SATTN_IDENTITY_CPU_VENDOR, record->vendor);
    if (eax == 0)
        return;
    set_number(identity, SATTN_IDENTITY_CPU_FAMILY, family);
    set_number(identity, SATTN_IDENTITY_CPU_MODEL, model);
    set_number(identity, SATTN_IDENTITY_CPU_STEPPING, eax & 0xf);
}

/* MIDR_EL1 (Arm ARM, D19.2): implementer, variant, architecture, part and revision. */
static void set_arm(sattn_identity *identity, const sattn_cpu_record *record)
{
    const unsigned midr = record->midr;
    char text[32];
    if (midr == 0)
        return;
    snprintf(text, sizeof text, "implementer 0x%02x", midr >> 24);
    set(identity, SATTN_IDENTITY_CPU_VENDOR, text);
    set_number(identity, SATTN_IDENTITY_CPU_FAMILY, midr >> 16 & 0xf);
    snprintf(text, sizeof text, "part 0x%03x", midr >> 4 & 0xfff);
    set(identity, SATTN_IDENTITY_CPU_MODEL, text);
    snprintf(text, sizeof text, "r%up%u", midr >> 20 & 0xf, midr & 0xf);
    set(identity, SATTN_IDENTITY_CPU_STEPPING, text);
}

/* Brand strings are filled up with spaces, at either end. */
static void set_name(sattn_identity *identity, const char *model)
{
    char name[sizeof((sattn_cpu_record *)0)->model];
    snprintf(name, sizeof name, "%s", model + strspn(model, " "));
    for (size_t n = strlen(name); n > 0 && name[n - 1] == ' '; --n)
        name[n - 1] = '\0';
    set(identity, SATTN_IDENTITY_CPU_NAME, name);
}

void sattn_identity_make(const sattn_cpu_record *record, int cpus, sattn_identity *identity)
{
    char features[SATTN_IDENTITY_TEXT];
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field)
        set(identity, (sattn_identity_field)field, "");
    set_number(identity, SATTN_IDENTITY_SCHEMA, SATTN_PROFILE_SCHEMA);
    set(identity, SATTN_IDENTITY_VERSION, sattn_version());
    set(identity, SATTN_IDENTITY_ARCH, sattn_built_arch);
    if (record->arch == SATTN_ARCH_X86_64)
        set_x86(identity, record);
    else
        set_arm(identity, record);
    set_name(identity, record->model);
    sattn_identity_features(sattn_cpu_decode(record).usable, features);
    set(identity, SATTN_IDENTITY_FEATURES, features[0] ? features : "none");
    if (cpus > 0)
        set_number(identity, SATTN_IDENTITY_CPUS, (unsigned)cpus);
    set(identity, SATTN_IDENTITY_KERNEL_HASH, sattn_built_kernel_hash);
    set(identity, SATTN_IDENTITY_COMPILER, sattn_built_compiler);
    set(identity, SATTN_IDENTITY_SLEEF_VERSION, sattn_built_sleef);
}

/* Those that the process's first thread may run on; 0 where the system does not say. */
static int count_of_system(void)
{
#if defined(__linux__)
    enum { MOST_CPUS = 8192 };
    unsigned long words[MOST_CPUS / (8 * sizeof(unsigned long))];
    memset(words, 0, sizeof words);
    if (sched_getaffinity(getpid(), sizeof words, (cpu_set_t *)(void *)words) != 0)
        return 0;
    return CPU_COUNT_S(sizeof words, (cpu_set_t *)(void *)words);
#else
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 0;
#endif
}

void sattn_identity_read(sattn_identity *identity)
{
    const int of_system = count_of_system(), of_team = sattn_team_cpus();
    sattn_identity_make(sattn_cpu_this_record(), of_system > of_team ? of_system : of_team,
                        identity);
}

sattn_identity_field sattn_identity_compare(const sattn_identity *a, const sattn_identity *b)
{
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field) {
        const char *const text = a->text[field];
        if (strcmp(text, b->text[field]) != 0 || text[0] == '\0' || strcmp(text, "unknown") == 0)
            return (sattn_identity_field)field;
    }
    return SATTN_IDENTITY_COUNT;
}
