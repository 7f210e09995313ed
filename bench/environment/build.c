/* SPDX-License-Identifier: MIT
 *
 * build.c: the facts of build.h. */
#include "bench/environment/build.h"

#include "dispatch/simdattn.h"
#include "dispatch/team.h"

#include <jansson.h>
#if defined(SATTN_SLEEF) && SATTN_SLEEF
#include <sleef.h>
#endif

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
#if !defined(SATTN_KERNEL_HASH)
#define SATTN_KERNEL_HASH "unknown"
#endif

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(macro)       TEXT_OF_VALUE(macro)
#define VERSION(major, minor, patch)                                                               \
    TEXT_OF(major)                                                                                 \
    "." TEXT_OF(minor) "." TEXT_OF(patch)

static const char arch[] =
#if defined(__x86_64__)
    "x86_64";
#elif defined(__aarch64__)
    "aarch64";
#else
    "other";
#endif

static const char compiler[] =
#if defined(__clang__)
    "clang " VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    "gcc " VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    "unknown";
#endif

static const char sleef_version[] =
#if defined(SLEEF_VERSION_MAJOR)
    VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL);
#else
    "none";
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
        .arch = arch,
        .compiler = compiler,
        .build_type = SATTN_BUILD_TYPE,
        .c_flags = SATTN_C_FLAGS,
        .kernel_flags = SATTN_KERNEL_FLAGS,
        .assertions = assertions,
        .commit = SATTN_GIT_COMMIT,
        .commit_dirty = SATTN_GIT_DIRTY < 0   ? SATTN_UNKNOWN
                        : SATTN_GIT_DIRTY > 0 ? SATTN_YES
                                              : SATTN_NO,
        .kernel_hash = SATTN_KERNEL_HASH,
        .library_version = sattn_version(),
        .benchmark_version = SATTN_BENCHMARK_VERSION,
        .jansson_version = JANSSON_VERSION,
        .sleef_version = sleef_version,
        .openmp = sattn_team_runtime(),
    };
}
