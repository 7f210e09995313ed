/* SPDX-License-Identifier: MIT
 *
 * build.c: the facts of build.h. */
#include "bench/environment/build.h"

#include "dispatch/built.h"
#include "dispatch/simdattn.h"
#include "dispatch/team.h"

#include <jansson.h>

#if !defined(SATTN_BUILD_TYPE)
#define SATTN_BUILD_TYPE "unknown"
#endif
#if !defined(SATTN_C_FLAGS)
#define SATTN_C_FLAGS "unknown"
#endif
#if !defined(SATTN_KERNEL_FLAGS)
#define SATTN_KERNEL_FLAGS "unknown"
#endif
#if !defined(SATTN_BENCHMARK_VERSION)
#define SATTN_BENCHMARK_VERSION "unknown"
#endif
#if defined(SATTN_COMMIT_HEADER)
#include SATTN_COMMIT_HEADER
#else
#define SATTN_GIT_COMMIT "unknown"
#define SATTN_GIT_DIRTY  (-1)
#endif

static const bool assertions =
#if defined(NDEBUG)
    false;
#else
    true;
#endif

sattn_build sattn_build_facts(void)
{
    return (sattn_build){
        .arch = sattn_built_arch,
        .compiler = sattn_built_compiler,
        .build_type = SATTN_BUILD_TYPE,
        .c_flags = SATTN_C_FLAGS,
        .kernel_flags = SATTN_KERNEL_FLAGS,
        .assertions = assertions,
        .commit = SATTN_GIT_COMMIT,
        .commit_dirty = SATTN_GIT_DIRTY < 0   ? SATTN_UNKNOWN
                        : SATTN_GIT_DIRTY > 0 ? SATTN_YES
                                              : SATTN_NO,
        .kernel_hash = sattn_built_kernel_hash,
        .library_version = sattn_version(),
        .benchmark_version = SATTN_BENCHMARK_VERSION,
        .jansson_version = JANSSON_VERSION,
        .sleef_version = sattn_built_sleef,
        .openmp = sattn_team_runtime(),
    };
}
