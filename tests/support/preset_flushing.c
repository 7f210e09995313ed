/* SPDX-License-Identifier: MIT
 *
 * preset_flushing.c: a library that, once loaded, has denormals flushed to zero in the whole
 * process, as libraries built with -ffast-math do. Loaded before a program by the tests. */
#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#include <stdint.h>

__attribute__((constructor)) static void set_flushing(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040u); /* FTZ, DAZ */
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (uint64_t)1 << 24)); /* FZ */
#endif
}
