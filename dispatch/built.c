/* SPDX-License-Identifier: MIT
 *
 * built.c: the facts of built.h. The compiler is read from its own macros: this file is built by
 * the compiler of the kernels. */
#include "dispatch/built.h"

#if defined(SATTN_SLEEF) && SATTN_SLEEF
#include <sleef.h>
#endif

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(macro)       TEXT_OF_VALUE(macro)
#define VERSION(major, minor, patch)                                                               \
    TEXT_OF(major)                                                                                 \
    "." TEXT_OF(minor) "." TEXT_OF(patch)

const char sattn_built_arch[] =
#if defined(__x86_64__)
    "x86_64";
#elif defined(__aarch64__)
    "aarch64";
#else
    "other";
#endif

const char sattn_built_compiler[] =
#if defined(__clang__)
    "clang " VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    "gcc " VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    "unknown";
#endif

const char sattn_built_sleef[] =
#if defined(SLEEF_VERSION_MAJOR)
    VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL);
#else
    "none";
#endif
