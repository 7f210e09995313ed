/* SPDX-License-Identifier: MIT
 *
 * cpu.h: what this CPU and operating system let a kernel use.
 *
 * Reading (registers, kernel-supplied bits) and deciding are separate: sattn_cpu_read fills a
 * record through a table of readers, sattn_cpu_decode turns a record into feature bits and has no
 * other input. So every decision can be tested on any machine with a record made by hand. */
#ifndef SATTN_DISPATCH_CPU_H
#define SATTN_DISPATCH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t sattn_features;

/* One bit per feature that a kernel of this build may need. */
#define SATTN_FEATURE_AVX      ((sattn_features)1 << 0)
#define SATTN_FEATURE_AVX2     ((sattn_features)1 << 1)
#define SATTN_FEATURE_FMA      ((sattn_features)1 << 2)
#define SATTN_FEATURE_F16C     ((sattn_features)1 << 3)
#define SATTN_FEATURE_AVX512F  ((sattn_features)1 << 4)
#define SATTN_FEATURE_AVX512BW ((sattn_features)1 << 5)
#define SATTN_FEATURE_AVX512DQ ((sattn_features)1 << 6)
#define SATTN_FEATURE_AVX512VL ((sattn_features)1 << 7)
#define SATTN_FEATURE_NEON     ((sattn_features)1 << 32)

/* Named levels: a level includes the whole chain below it. A row's needs are one of these, or one
 * of these and more bits. */
#define SATTN_ISA_SCALAR ((sattn_features)0)
#define SATTN_ISA_AVX2                                                                             \
    (SATTN_FEATURE_AVX | SATTN_FEATURE_AVX2 | SATTN_FEATURE_FMA | SATTN_FEATURE_F16C)
#define SATTN_ISA_AVX512                                                                           \
    (SATTN_ISA_AVX2 | SATTN_FEATURE_AVX512F | SATTN_FEATURE_AVX512BW | SATTN_FEATURE_AVX512DQ |    \
     SATTN_FEATURE_AVX512VL)
#define SATTN_ISA_NEON SATTN_FEATURE_NEON

typedef struct sattn_isa {
    const char *name;
    sattn_features needs;
} sattn_isa;

/* The levels of this build's architecture, lowest first; the first is "scalar". */
const sattn_isa *sattn_isas(size_t *count);
const sattn_isa *sattn_isa_by_name(const char *name); /* NULL: no such level here */
/* The lowest level that has all of `needs`, else the highest that `needs` includes. */
const char *sattn_isa_name(sattn_features needs);

/* Writes the names of the bits in `set`, separated by spaces, truncated to size - 1 characters. */
void sattn_features_print(sattn_features set, char *text, size_t size);
/* Name of one bit, NULL if it has none. */
const char *sattn_feature_name(sattn_features bit);

typedef enum sattn_arch { SATTN_ARCH_OTHER = 0, SATTN_ARCH_X86_64, SATTN_ARCH_AARCH64 } sattn_arch;

/* Raw facts, as the hardware and the system report them. */
typedef struct sattn_cpu_record {
    sattn_arch arch;
    /* x86: cpuid registers; all 0 where the leaf does not exist */
    uint32_t max_leaf;
    uint32_t leaf1_eax, leaf1_ecx;
    uint32_t leaf7_ebx, leaf7_ecx, leaf7_edx;
    uint64_t xcr0; /* valid only where leaf 1 reports OSXSAVE; else 0 */
    char vendor[13];
    /* AArch64 */
    bool hwcap_known; /* false: the system would not tell */
    uint64_t hwcap;
    uint32_t midr;  /* MIDR_EL1, which core it is; 0 unknown */
    char model[49]; /* brand string, or the implementer and part of an Arm core; "" unknown */
} sattn_cpu_record;

typedef struct sattn_cpu_reader {
    void (*cpuid)(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]); /* eax ebx ecx edx */
    uint64_t (*xgetbv)(void);                                              /* XCR0 */
    bool (*hwcap)(uint64_t *bits);
} sattn_cpu_reader;

/* Fills the record of architecture `arch` through `reader`. xgetbv is called only where cpuid says
 * that the system has enabled it: elsewhere it is an illegal instruction. */
void sattn_cpu_read(sattn_arch arch, const sattn_cpu_reader *reader, sattn_cpu_record *record);

typedef struct sattn_cpu {
    sattn_features hardware; /* what the CPU reports */
    sattn_features usable;   /* of these, what the system saves over a task switch */
    bool os_saves_ymm, os_saves_zmm;
    /* Shuffles of 512 bits all go to one of the two ports for multiply-adds of 512 bits. */
    bool shuffles_take_fma_port;
    /* Its own prefetchers follow rows of memory that are read one after the other. */
    bool follows_rows;
} sattn_cpu;

sattn_cpu sattn_cpu_decode(const sattn_cpu_record *record);

/* This machine's record, read once; safe from any thread and from static constructors. */
const sattn_cpu_record *sattn_cpu_this_record(void);
const sattn_cpu *sattn_cpu_this(void);

#endif
