/* SPDX-License-Identifier: MIT
 *
 * fetch.h: prefetching of rows that lie a known number of bytes ahead. */
#ifndef SATTN_KERNELS_VEC_FETCH_H
#define SATTN_KERNELS_VEC_FETCH_H

#include "kernels/vec/vec_base.h"

#include <stdint.h>

/* A hint only, so it may point behind the last row. */
SATTN_INLINE void vec_fetch(const float *from, int64_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)ahead));
}

/* The same into the second-level cache, for what will not be read so soon. */
SATTN_INLINE void vec_fetch_early(const float *from, int64_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)ahead), 0, 2);
}

enum { VEC_LINE = 64 }; /* bytes that a prefetch brings */

/* Rows prefetched line by line in the order in which they lie. */
typedef struct vec_stream {
    uintptr_t at;
    int64_t left;       /* bytes of the row; at its end come */
    int64_t width, gap; /* those of the next, and what lies between */
} vec_stream;

/* `width` floats of each row, from `ahead` bytes behind `row` on. */
SATTN_INLINE vec_stream vec_stream_of(const float *row, int64_t ahead, int64_t width,
                                      int64_t stride)
{
    const int64_t bytes = width * (int64_t)sizeof(float);
    return (vec_stream){.at = (uintptr_t)row + (uintptr_t)ahead,
                        .left = bytes,
                        .width = bytes,
                        .gap = stride * (int64_t)sizeof(float) - bytes};
}

/* Line i from where the stream stands. */
SATTN_INLINE void vec_stream_fetch(const vec_stream *stream, const int i)
{
    __builtin_prefetch((const void *)(stream->at + (uintptr_t)i * VEC_LINE));
}

SATTN_INLINE void vec_stream_advance(vec_stream *stream, const int n_lines)
{
    const uintptr_t at = stream->at + (uintptr_t)n_lines * VEC_LINE;
    const int64_t left = stream->left - n_lines * VEC_LINE;
    uintptr_t next = at + (uintptr_t)stream->gap;
    int64_t anew = left + stream->width;
    __asm__("" : "+r"(next), "+r"(anew)); /* compilers would choose first and add then */
    stream->at = left > 0 ? at : next;
    stream->left = left > 0 ? left : anew;
}

#endif
