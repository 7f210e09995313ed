/* SPDX-License-Identifier: MIT
 *
 * fetch.h: prefetching of rows that lie a known number of bytes ahead. */
#ifndef SATTN_KERNELS_FETCH_H
#define SATTN_KERNELS_FETCH_H

#include "kernels/vec/vec_base.h"

#include <stdint.h>

/* A hint only, so it may point behind the last row. */
SATTN_INLINE void vec_fetch(const float *from, int64_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)ahead));
}

#endif
