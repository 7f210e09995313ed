/* SPDX-License-Identifier: MIT
 *
 * vec_base.h: compiler words that every kernel file may use. No intrinsics here.
 *
 * All helpers in kernel headers are `static inline`: files of different ISAs are compiled with
 * different flags, and a shared copy picked by the linker would run on the wrong machine. */
#ifndef SATTN_KERNELS_VEC_BASE_H
#define SATTN_KERNELS_VEC_BASE_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "simdattn kernels need IEEE arithmetic: build them without -ffast-math or -Ofast"
#endif

#define SATTN_NOINLINE static __attribute__((noinline))

#define SATTN_PRAGMA(text) _Pragma(#text)

/* SATTN_INLINE: a helper, or a kernel's body that is compiled once for each set of its constants.
 *
 * SATTN_UNROLL(n) in front of a loop of a constant number n of steps over a register tile: unroll
 * it in full. Each compiler has its own word for it, and the other's leaves the tile in memory.
 * SATTN_NO_UNROLL in front of the loop around it keeps that one as written.
 *
 * Builds with sanitizers, and of seeded defects, define SATTN_AS_WRITTEN: neither is asked for, and
 * what would take minutes to compile takes seconds. */
#if defined(SATTN_AS_WRITTEN)
#define SATTN_INLINE static inline
#define SATTN_UNROLL(n)
#define SATTN_NO_UNROLL
#else
#define SATTN_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define SATTN_UNROLL(n) SATTN_PRAGMA(clang loop unroll(full))
#define SATTN_NO_UNROLL SATTN_PRAGMA(clang loop unroll(disable))
#else
#define SATTN_UNROLL(n) SATTN_PRAGMA(GCC unroll n)
#define SATTN_NO_UNROLL SATTN_PRAGMA(GCC unroll 1)
#endif
#endif

/* Tells MemorySanitizer that n floats were written: it does not know AVX's masked stores. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define SATTN_WRITTEN(to, n) __msan_unpoison(to, (n) * sizeof(float))
#endif
#endif
#if !defined(SATTN_WRITTEN)
#define SATTN_WRITTEN(to, n) ((void)0)
#endif

/* Keeps loads and prefetches on both sides in source order; costs no instruction. */
#define SATTN_KEEP_ORDER() __asm__ volatile("" ::: "memory")

#endif
