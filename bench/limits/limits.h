/* SPDX-License-Identifier: MIT
 *
 * limits.h: reference loops, the work that a kernel's time is set against.
 *
 * For every ISA level there is a loop of multiplications and additions on registers alone ("fma")
 * and one that only reads memory ("read"). No kernel that does the same number of operations, or
 * reads the same bytes once, is expected to be faster. Both are run next to the kernel, for an
 * equally long time (measure.h): a peak found in another minute or in a shorter window is another
 * number.
 *
 *   sattn_limit limit;
 *   sattn_limit_init_read(&limit, "avx512", buffers, count);
 *   sattn_limit_choose(&limit, 0.05);
 *   bytes = sattn_limit_run(&limit, 1000000);    at least 1 MB, going on where the last run ended
 */
#ifndef SATTN_BENCH_LIMITS_H
#define SATTN_BENCH_LIMITS_H

#include "dispatch/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a read loop goes over. */
typedef struct sattn_limit_buffer {
    const void *data;
    size_t bytes;
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

/* What the loops are made of, by ISA level:
 *   scalar   mulss + addss (fmul + fadd on AArch64): the strict scalar kernels have no fused
 *            multiply-add. Reads 64 bits at a time into general registers.
 *   avx2     vfmadd231ps ymm, 12 accumulators; reads ymm registers
 *   avx512   vfmadd231ps zmm, 16 accumulators; reads zmm registers
 *   neon     fmla .4s, 20 accumulators; reads four q registers per line */
typedef struct sattn_limit_isa {
    const char *name;     /* as in sattn_isas() */
    sattn_features needs; /* must be usable before the loops are called */
    sattn_peak_fn *peak;
    sattn_read_fn *read;
} sattn_limit_isa;

/* The levels of this build, in the order of sattn_isas(). */
const sattn_limit_isa *sattn_limit_isas(size_t *count);

/* The unit of work is a floating-point operation, or a byte. */
typedef enum sattn_limit_kind { SATTN_LIMIT_FMA, SATTN_LIMIT_READ } sattn_limit_kind;

const char *sattn_limit_name(sattn_limit_kind kind); /* "fma", "read" */

/* A reference loop ready to run: its fields are set by the init functions. */
typedef struct sattn_limit {
    sattn_limit_kind kind;
    const sattn_limit_isa *isa;
    const sattn_limit_buffer *buffers; /* kept by the caller as long as the limit runs */
    size_t n_buffers, next;            /* next: where the next run begins */
    int streams, prefetch;
    volatile uint32_t sink;
} sattn_limit;

/* False where this build has no such level or this CPU cannot run it, or where there is no byte to
 * read. A read loop starts with one stream and no prefetch. */
bool sattn_limit_init_fma(sattn_limit *limit, const char *isa);
bool sattn_limit_init_read(sattn_limit *limit, const char *isa, const sattn_limit_buffer *buffers,
                           size_t count);

/* Sets `streams` and `prefetch` of a read loop to the fastest of 1, 2, 4 and 8 streams with and
 * without prefetch over its buffers, from medians of interleaved windows; takes about `budget_s`
 * seconds, and at least two passes of each. Does nothing for an FMA loop. */
void sattn_limit_choose(sattn_limit *limit, double budget_s);

/* Does at least `work` units (flops or bytes) and returns how many it did; at most one buffer more
 * for a read loop. `limit` is a sattn_limit *; the signature is that of sattn_measure_reference. */
int64_t sattn_limit_run(void *limit, int64_t work);

#endif
