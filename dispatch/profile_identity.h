/* SPDX-License-Identifier: MIT
 *
 * profile_identity.h: what a profile was measured on and with. Times say nothing of another CPU, of
 * kernels of other sources or from another compiler: a profile is used where all of this is the
 * same as here, and nowhere else. */
#ifndef SATTN_DISPATCH_PROFILE_IDENTITY_H
#define SATTN_DISPATCH_PROFILE_IDENTITY_H

#include "dispatch/cpu.h"

/* The schema of profiles that this library reads and writes. A minor version adds fields, which a
 * reader of an older one ignores; whatever else changes is a new schema. */
enum { SATTN_PROFILE_SCHEMA = 1, SATTN_PROFILE_SCHEMA_MINOR = 0 };

/* In the order in which they are compared. */
typedef enum sattn_identity_field {
    SATTN_IDENTITY_SCHEMA,
    SATTN_IDENTITY_VERSION,
    SATTN_IDENTITY_ARCH,
    SATTN_IDENTITY_CPU_VENDOR,
    SATTN_IDENTITY_CPU_FAMILY,
    SATTN_IDENTITY_CPU_MODEL,
    SATTN_IDENTITY_CPU_STEPPING,
    SATTN_IDENTITY_CPU_NAME,
    SATTN_IDENTITY_FEATURES,
    SATTN_IDENTITY_CPUS,
    SATTN_IDENTITY_KERNEL_HASH,
    SATTN_IDENTITY_COMPILER,
    SATTN_IDENTITY_SLEEF_VERSION,
    SATTN_IDENTITY_COUNT /* no field */
} sattn_identity_field;

enum { SATTN_IDENTITY_TEXT = 192 };

/* Every field as text; "unknown" where system or build do not say. */
typedef struct sattn_identity {
    char text[SATTN_IDENTITY_COUNT][SATTN_IDENTITY_TEXT];
} sattn_identity;

/* "cpu_vendor": the key in a profile. */
const char *sattn_identity_name(sattn_identity_field field);
/* Whether a profile has it as an integer: schema and cpus. */
bool sattn_identity_is_number(sattn_identity_field field);

/* Names of the features in alphabetical order, separated by spaces, as in a profile. */
void sattn_identity_features(sattn_features set, char text[SATTN_IDENTITY_TEXT]);
/* Takes what that wrote and nothing else. */
bool sattn_identity_parse_features(const char *text, sattn_features *set);

/* A CPU with this record, which `cpus` threads of a process may run on at once; 0: not known. */
void sattn_identity_make(const sattn_cpu_record *record, int cpus, sattn_identity *identity);
/* This build on this CPU. `cpus` counts those that the process's first thread may run on now, so
 * that a thread of its pool that is bound to one of them finds the same number, or those that
 * OpenMP counts where it has bound that first thread as well. */
void sattn_identity_read(sattn_identity *identity);

/* The first field that differs, or that is empty or "unknown" in either; SATTN_IDENTITY_COUNT where
 * all are the same. */
sattn_identity_field sattn_identity_compare(const sattn_identity *a, const sattn_identity *b);

#endif
