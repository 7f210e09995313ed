/* SPDX-License-Identifier: MIT
 *
 * built.h: what this library was built from and by what. */
#ifndef SATTN_DISPATCH_BUILT_H
#define SATTN_DISPATCH_BUILT_H

extern const char sattn_built_arch[];     /* "x86_64", "aarch64", "other" */
extern const char sattn_built_compiler[]; /* "gcc 12.2.0", "clang 14.0.6", "unknown" */
extern const char sattn_built_sleef[];    /* its version, "none" where it is left out */

/* 16 hexadecimal digits over every file below kernels/ and the flags that they are compiled with;
 * in a file of its own that dispatch/kernel_hash.cmake writes when the library is built. */
extern const char sattn_built_kernel_hash[];

#endif
