/* SPDX-License-Identifier: MIT
 *
 * limits_loops.h: prototypes of the reference loops, and what those of all ISAs share. Included by
 * files that are built with ISA flags: everything here is `static inline` or a declaration. */
#ifndef SATTN_BENCH_LIMITS_LIMITS_LOOPS_H
#define SATTN_BENCH_LIMITS_LIMITS_LOOPS_H

#include "bench/limits/limits.h"
#include "kernels/vec/vec_base.h"

#include <string.h>

sattn_peak_fn sattn_peak_f32_scalar;
sattn_read_fn sattn_read_f32_scalar;
sattn_exp_loop_fn sattn_exp_loop_f32_scalar;
sattn_copy_fn sattn_copy_f32_scalar;
#if SATTN_BUILD_AVX2
sattn_peak_fn sattn_peak_f32_avx2;
sattn_read_fn sattn_read_f32_avx2;
sattn_exp_loop_fn sattn_exp_loop_f32_avx2;
sattn_copy_fn sattn_copy_f32_avx2;
#endif
#if SATTN_BUILD_AVX512
sattn_peak_fn sattn_peak_f32_avx512;
sattn_read_fn sattn_read_f32_avx512;
sattn_exp_loop_fn sattn_exp_loop_f32_avx512;
sattn_copy_fn sattn_copy_f32_avx512;
#endif
#if SATTN_BUILD_NEON
sattn_peak_fn sattn_peak_f32_neon;
sattn_read_fn sattn_read_f32_neon;
sattn_exp_loop_fn sattn_exp_loop_f32_neon;
sattn_copy_fn sattn_copy_f32_neon;
#endif

/* At least so many cycles; returns how many. *sink receives a value that depends on all of them. */
int64_t sattn_cycles_loop(int64_t cycles, uint32_t *sink);

/* acc + FACTOR^2 stops growing where FACTOR^2 is below half an ulp of acc, so that chains stay
 * finite however long they run, and no value is near zero. */
#define SATTN_PEAK_FACTOR 0.0439453125f

SATTN_INLINE int64_t sattn_peak_steps(int64_t flops, int64_t step_flops)
{
    return flops <= step_flops ? 1 : (flops + step_flops - 1) / step_flops;
}

/* Lines that one step of a read loop covers, over all its streams together. */
enum { SATTN_READ_STEP_LINES = 8 };

/* Reads `streams` streams of `part` bytes each, the first at `from`, the next one `part` further.
 * `part` is a multiple of SATTN_READ_STEP_LINES / streams lines. Inlined with constant `streams`
 * and `prefetching`. */
typedef uint32_t sattn_read_block_fn(const char *from, size_t part, int streams, bool prefetching,
                                     size_t prefetch);

/* What is left beside whole steps, by words and then by bytes. */
SATTN_INLINE uint32_t sattn_read_rest(const char *from, size_t bytes)
{
    uint64_t seen = 0;
    size_t at = 0;
    for (; at + sizeof seen <= bytes; at += sizeof seen) {
        uint64_t word;
        memcpy(&word, from + at, sizeof word);
        seen ^= word;
    }
    for (; at < bytes; ++at)
        seen ^= (uint64_t)(unsigned char)from[at] << (at % 8 * 8);
    return (uint32_t)(seen ^ seen >> 32);
}

/* An address that is only prefetched may lie beyond the buffer: an integer sum, for pointer
 * arithmetic must not go there. */
SATTN_INLINE const char *sattn_read_ahead(const char *at, size_t distance)
{
    return (const char *)((uintptr_t)at + distance);
}

SATTN_INLINE uint32_t sattn_read_streams(const char *from, size_t part, int streams,
                                         size_t prefetch, sattn_read_block_fn *block)
{
    const bool prefetching = prefetch != 0;
    switch (streams) {
    case 8:
        return prefetching ? block(from, part, 8, true, prefetch) : block(from, part, 8, false, 0);
    case 4:
        return prefetching ? block(from, part, 4, true, prefetch) : block(from, part, 4, false, 0);
    case 2:
        return prefetching ? block(from, part, 2, true, prefetch) : block(from, part, 2, false, 0);
    default:
        return prefetching ? block(from, part, 1, true, prefetch) : block(from, part, 1, false, 0);
    }
}

/* The loop around a block: bytes before the first whole line, the streams, what they leave over as
 * one stream, and the last bytes. */
SATTN_INLINE uint32_t sattn_read_with(const void *data, size_t bytes, int streams, int prefetch,
                                      sattn_read_block_fn *block)
{
    const char *from = (const char *)data;
    const size_t misaligned = (uintptr_t)data % SATTN_READ_LINE;
    const size_t to_line = misaligned ? SATTN_READ_LINE - misaligned : 0;
    const size_t head = to_line < bytes ? to_line : bytes;
    uint32_t seen = sattn_read_rest(from, head);
    from += head;
    bytes -= head;

    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    const size_t n_streams = streams == 8 || streams == 4 || streams == 2 ? (size_t)streams : 1;
    const size_t part = bytes / step * step / n_streams;
    seen ^= sattn_read_streams(from, part, (int)n_streams, (size_t)prefetch, block);
    return seen ^ sattn_read_rest(from + part * n_streams, bytes - part * n_streams);
}

/* Copies whole steps. Inlined with a constant `bypass`. */
typedef void sattn_copy_block_fn(char *to, const char *from, size_t bytes, bool bypass);

/* The loop around a block: what comes before the first whole line of `to`, the steps, the rest. */
SATTN_INLINE void sattn_copy_with(void *to, const void *from, size_t bytes, bool bypass,
                                  sattn_copy_block_fn *block)
{
    char *place = (char *)to;
    const char *source = (const char *)from;
    const size_t misaligned = (uintptr_t)to % SATTN_READ_LINE;
    const size_t to_line = misaligned ? SATTN_READ_LINE - misaligned : 0;
    const size_t head = to_line < bytes ? to_line : bytes;
    memcpy(place, source, head);
    const size_t step = (size_t)SATTN_READ_STEP_LINES * SATTN_READ_LINE;
    const size_t whole = (bytes - head) / step * step;
    if (bypass)
        block(place + head, source + head, whole, true);
    else
        block(place + head, source + head, whole, false);
    memcpy(place + head + whole, source + head + whole, bytes - head - whole);
}

#endif
