/* SPDX-License-Identifier: MIT
 *
 * build.h: what this program was built from, by what, and how.
 *
 * Compile definitions for build.c; each has a fallback, "unknown" unless said otherwise:
 *   SATTN_BUILD_TYPE          CMAKE_BUILD_TYPE
 *   SATTN_C_FLAGS             CMAKE_C_FLAGS and those of the build type
 *   SATTN_KERNEL_FLAGS        ISA flags by level, "avx2: -O3 -mavx2 ... / avx512: ..."
 *   SATTN_COMMIT_HEADER       "file" with SATTN_GIT_COMMIT (string) and SATTN_GIT_DIRTY (0, 1 or
 *                             -1 for unknown), written at build time by bench/commit.cmake
 *   SATTN_BENCHMARK_VERSION   benchmark_VERSION of find_package; version 1.7 cannot tell its own
 * The rest is what the library says of itself (dispatch/built.h). */
#ifndef SATTN_BENCH_ENVIRONMENT_BUILD_H
#define SATTN_BENCH_ENVIRONMENT_BUILD_H

#include "bench/environment/known.h"

#include <stdbool.h>

typedef struct sattn_build {
    const char *arch;     /* "x86_64", "aarch64", "other" */
    const char *compiler; /* "gcc 12.2.0", "clang 14.0.6" */
    const char *build_type, *c_flags, *kernel_flags;
    bool assertions;    /* built without NDEBUG */
    const char *commit; /* "unknown" outside a git tree */
    sattn_known commit_dirty;
    const char *kernel_hash;       /* of the kernels' sources and flags */
    const char *library_version;   /* simdattn's */
    const char *benchmark_version; /* Google Benchmark's */
    const char *jansson_version;
    const char *sleef_version; /* "none" where it is left out */
    const char *openmp;        /* version and library, "none" where it is left out */
} sattn_build;

/* All text is static. */
sattn_build sattn_build_facts(void);

#endif
