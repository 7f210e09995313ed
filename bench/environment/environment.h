/* SPDX-License-Identifier: MIT
 *
 * environment.h: the facts about machine, system and build that belong to every result. */
#ifndef SATTN_BENCH_ENVIRONMENT_ENVIRONMENT_H
#define SATTN_BENCH_ENVIRONMENT_ENVIRONMENT_H

#include "bench/environment/build.h"
#include "bench/environment/caches.h"
#include "bench/environment/cpu_counts.h"
#include "bench/environment/known.h"

typedef struct sattn_environment {
    char cpu_model[128]; /* "unknown" where neither the CPU nor the system names it */
    char features[256];  /* usable feature bits by name, separated by spaces */
    const char *isa;     /* highest level usable and built */
    sattn_caches caches;
    sattn_cpu_counts cpus;
    double load[3];                 /* 1, 5 and 15 minutes; negative: not known */
    sattn_known flush_to_zero;      /* results: FTZ, or FZ on Arm; of the calling thread */
    sattn_known denormals_are_zero; /* operands; FZ covers both on Arm */
    char huge_pages[16];            /* "always", "madvise", "never" or "unknown" */
    char system[128];               /* kernel name and release; the host's name is left out */
    char date[32];                  /* ISO 8601 with offset from UTC */
    sattn_build build;
} sattn_environment;

/* Fills everything. `root` as in sysfile.h. Call it before anything that may change the
 * floating-point state or the affinity. */
void sattn_environment_read(const char *root, sattn_environment *environment);

#endif
