/* SPDX-License-Identifier: MIT
 *
 * limits.h: reference loops, the work that a kernel's time is set against.
 *
 * For every ISA level there is a loop of multiplications and additions on registers alone ("fma"),
 * one of exponentials in the first-level cache ("exp"), one that only reads memory ("read") and one
 * that copies it ("copy"); besides them one that counts cycles ("cycle"). No kernel that does the
 * same number of operations, or moves the same bytes once, is expected to be faster. They are run
 * next to the kernel, for an equally long time (measure.h): a peak found in another minute or in a
 * shorter window is another number.
 *
 *   sattn_limit limit;
 *   sattn_limit_init_read(&limit, "avx512", buffers, count);
 *   bytes = sattn_limit_run(&limit, 1000000);    at least 1 MB, going on where the last run ended
 *
 * limit_team.h runs them on several threads and finds the fastest way over the buffers. */
#ifndef SATTN_BENCH_LIMITS_LIMITS_H
#define SATTN_BENCH_LIMITS_LIMITS_H

#include "dispatch/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a read loop goes over, or that a copy loop writes to `to`. */
typedef struct sattn_limit_buffer {
    const void *data;
    size_t bytes;
    void *to; /* NULL for a read loop */
} sattn_limit_buffer;

/* Does at least `flops` floating-point operations, a fused multiply-add counted as two, and returns
 * how many it did. *sink receives a value that depends on all of them. */
typedef int64_t sattn_peak_fn(int64_t flops, float *sink);

enum { SATTN_READ_MAX_STREAMS = 8, SATTN_READ_LINE = 64 };

/* Reads `bytes` bytes at `data` once, as `streams` equally long sequential streams that advance
 * together (1, 2, 4 or 8), with a software prefetch `prefetch` bytes ahead in each stream (0:
 * none). What does not divide into streams of whole lines is read after them. The value returned
 * depends on every byte. */
typedef uint32_t sattn_read_fn(const void *data, size_t bytes, int streams, int prefetch);

enum { SATTN_EXP_LOOP_FLOATS = 1024 };

/* to[i] = exp(from[i]) for SATTN_EXP_LOOP_FLOATS numbers from -20 to 0, again and again. Both
 * arrays are 64-byte aligned and stay in the first-level cache. */
typedef void sattn_exp_loop_fn(const float *from, float *to, int64_t passes);

/* Copies `bytes` bytes; with `bypass` by stores that go past the caches, where there are such. */
typedef void sattn_copy_fn(void *to, const void *from, size_t bytes, bool bypass);

/* What the loops are made of, by ISA level:
 *   scalar   mulss + addss (fmul + fadd on AArch64): the strict scalar kernels have no fused
 *            multiply-add. Reads 64 bits at a time into general registers.
 *   avx2     vfmadd231ps ymm, 12 accumulators; reads ymm registers
 *   avx512   vfmadd231ps zmm, 16 accumulators; reads zmm registers
 *   neon     fmla .4s, 20 accumulators; reads four q registers per line
 * The exp loop is the exp of the kernels' softmax at that level: 0 below its range, no denormal
 * results, no overflow. */
typedef struct sattn_limit_isa {
    const char *name;     /* as in sattn_isas() */
    sattn_features needs; /* must be usable before the loops are called */
    sattn_peak_fn *peak;
    sattn_read_fn *read;
    sattn_exp_loop_fn *exp;
    sattn_copy_fn *copy;
} sattn_limit_isa;

/* The levels of this build, in the order of sattn_isas(). */
const sattn_limit_isa *sattn_limit_isas(size_t *count);

/* The unit of work is a floating-point operation, a byte read, an exponential, a byte read or
 * written, or a cycle. */
typedef enum sattn_limit_kind {
    SATTN_LIMIT_FMA,
    SATTN_LIMIT_READ,
    SATTN_LIMIT_EXP,
    SATTN_LIMIT_COPY,
    SATTN_LIMIT_CYCLE,
} sattn_limit_kind;

enum { SATTN_LIMIT_KINDS = SATTN_LIMIT_CYCLE + 1 };

const char *sattn_limit_name(sattn_limit_kind kind); /* "fma", "read", "exp", "copy", "cycle" */
/* Of a rate in 1e9 units of work per second: "GFLOP/s", "GB/s", "Gelem/s", "Gcycle/s". */
const char *sattn_limit_unit(sattn_limit_kind kind);

/* A reference loop ready to run: its fields are set by the init functions. */
typedef struct sattn_limit {
    sattn_limit_kind kind;
    const sattn_limit_isa *isa;
    const sattn_limit_buffer *buffers; /* kept by the caller as long as the limit runs */
    size_t n_buffers, next;            /* next: where the next run begins */
    int streams, prefetch;
    bool bypass;
    volatile uint32_t sink;
    _Alignas(64) float numbers[2][SATTN_EXP_LOOP_FLOATS]; /* of an exp loop: from, to */
} sattn_limit;

/* False where this build has no such level or this CPU cannot run it, or where there is no byte to
 * read. A read loop starts with one stream and no prefetch, a copy loop with ordinary stores. */
bool sattn_limit_init_fma(sattn_limit *limit, const char *isa);
bool sattn_limit_init_exp(sattn_limit *limit, const char *isa);
void sattn_limit_init_cycle(sattn_limit *limit); /* needs no level */
bool sattn_limit_init_read(sattn_limit *limit, const char *isa, const sattn_limit_buffer *buffers,
                           size_t count);
bool sattn_limit_init_copy(sattn_limit *limit, const char *isa, const sattn_limit_buffer *buffers,
                           size_t count);

/* Does at least `work` units and returns how many it did; at most one buffer more for loops over
 * buffers. `limit` is a sattn_limit *; the signature is that of sattn_measure_reference. */
int64_t sattn_limit_run(void *limit, int64_t work);

#endif
