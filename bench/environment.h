/* SPDX-License-Identifier: MIT
 *
 * environment.h: facts about machine, system and build that belong to every result.
 *
 * The reader takes a prefix that is put in front of /proc and /sys, and the affinity and CPU count
 * as arguments, so that a test can show it any machine.
 *
 * Compile definitions for environment.c; each has a fallback, "unknown" unless said otherwise:
 *   SATTN_BUILD_TYPE          CMAKE_BUILD_TYPE
 *   SATTN_C_FLAGS             CMAKE_C_FLAGS and those of the build type
 *   SATTN_KERNEL_FLAGS        ISA flags by level, "avx2: -O3 -mavx2 ...; avx512: ..."
 *   SATTN_COMMIT_HEADER       "file" with SATTN_GIT_COMMIT (string) and SATTN_GIT_DIRTY (0, 1 or -1
 *                             for unknown), written at build time by bench/commit.cmake
 *   SATTN_BENCHMARK_VERSION   benchmark_VERSION of find_package; version 1.7 cannot tell its own
 * The compiler is read from its own macros: environment.c is built by the compiler of the kernels.
 */
#ifndef SATTN_BENCH_ENVIRONMENT_H
#define SATTN_BENCH_ENVIRONMENT_H

#include "dispatch/cpu.h"

#include <stdbool.h>
#include <stdint.h>

/* Processor time that the control group may use, and what it has been denied. */
typedef struct sattn_cgroup {
    int version;  /* 1 or 2: where the quota was found; 0: no control group with a CPU controller */
    double quota; /* CPUs; the tightest on the way to the root. Infinity: no limit */
    int64_t throttled_periods; /* so far; -1: not known */
    char stat_path[512];       /* its cpu.stat, to be read again; "" if there is none */
} sattn_cgroup;

typedef struct sattn_cpu_counts {
    int online;   /* CPUs of the system */
    int affinity; /* of these, CPUs that this process may run on */
    double quota; /* as in sattn_cgroup */
    int threads;  /* max(1, min(affinity, floor(quota))) */
} sattn_cpu_counts;

typedef enum sattn_known { SATTN_NO = 0, SATTN_YES = 1, SATTN_UNKNOWN = -1 } sattn_known;

typedef struct sattn_environment {
    char cpu_model[128]; /* "unknown" where neither the CPU nor the system names it */
    char features[256];  /* usable feature bits by name, separated by spaces */
    const char *isa;     /* highest level usable and built */
    const char *arch;    /* "x86_64", "aarch64", "other" */
    int64_t l1d_bytes, l2_bytes, l3_bytes, line_bytes; /* 0: not known */
    sattn_cpu_counts cpus;
    int cgroup_version;
    double load[3];                 /* 1, 5 and 15 minutes; negative: not known */
    sattn_known flush_to_zero;      /* results: FTZ, or FZ on Arm; of the calling thread */
    sattn_known denormals_are_zero; /* operands; FZ covers both on Arm */
    char huge_pages[16];            /* "always", "madvise", "never" or "unknown" */
    char system[128];               /* kernel name and release; the host's name is left out */
    char date[32];                  /* ISO 8601 with offset from UTC */
    /* build */
    const char *compiler; /* "gcc 12.2.0", "clang 14.0.6" */
    const char *build_type, *c_flags, *kernel_flags;
    bool assertions;    /* built without NDEBUG */
    const char *commit; /* "unknown" outside a git tree */
    sattn_known commit_dirty;
    const char *library_version;   /* simdattn's */
    const char *benchmark_version; /* Google Benchmark's */
    const char *jansson_version;
} sattn_environment;

/* Fills everything. `root` as in sattn_cpu_counts_read. Call it before anything that may change the
 * floating-point state or the affinity. */
void sattn_environment_read(const char *root, sattn_environment *environment);

/* Reads /proc/self/cgroup and the files it leads to below `root` ("" or NULL: the real ones), for
 * version 2, version 1 and both mounted side by side. */
void sattn_cgroup_read(const char *root, sattn_cgroup *cgroup);
/* Throttled periods now, by the stat_path of an earlier read; -1: not known. */
int64_t sattn_cgroup_throttled(const sattn_cgroup *cgroup);
/* Steal ticks of `cpu` (or of all CPUs for -1) since boot, from /proc/stat; -1: not known. */
int64_t sattn_steal_ticks(const char *root, int cpu);

/* CPU counts with the quota found below `root`. `affinity` and `online` of 0 or less are asked of
 * the system. */
void sattn_cpu_counts_read(const char *root, int affinity, int online, sattn_cpu_counts *counts);

#endif
