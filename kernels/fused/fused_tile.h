/* SPDX-License-Identifier: MIT
 *
 * fused_tile.h: what the register tiles of fused_prefill.h's two products share on all vectors that
 * broadcast scalars from memory: the job of a tile, and what it prefetches. */
#ifndef SATTN_KERNELS_FUSED_TILE_H
#define SATTN_KERNELS_FUSED_TILE_H

#include "kernels/fused/fused_prefill.h"

/* The two products of a block have one shape: a tile of n scalars x n_vec vectors of rows. */
typedef enum product {
    SCORES, /* S^T: the scalars are n keys, the steps run over x */
    OUTPUT, /* O^T: the scalars are n columns of V, the steps run over the keys */
} product;

typedef struct tile_job {
    const fused_prefill_state *st;
    const fused_block *block;
    const fused_span *span;
} tile_job;

/* The same job, but compilers do not know: what they would compute ahead of a tile and keep for
 * later, gcc keeps in vector registers, and to fetch it from there waits for all sums on their way.
 */
SATTN_INLINE const tile_job *job_again(const tile_job *job)
{
    __asm__ volatile("" : "+r"(job));
    return job;
}

/* One line of what is read next is prefetched per two steps. Scores fetch their own rows of V,
 * eight at a time, line by line. A tile of output fetches a line of every other K row that comes
 * next; each line of 16 columns meets tiles of both parities. */
SATTN_INLINE void prefetch_line(const fused_block *block, int64_t at, int64_t step, product what)
{
    enum { LINE_FLOATS = 16, LINE_BYTES = 64 };
    if (what == SCORES) {
        const int64_t row = at + (step / 2 & 7);
        vec_fetch(block->v,
                  row * block->v_stride * (int64_t)sizeof(float) + step / 16 * LINE_BYTES);
    } else {
        const int64_t row = step + (at / (LINE_FLOATS / 2) & 1);
        vec_fetch(block->k_next,
                  row * block->k_stride * (int64_t)sizeof(float) + at / LINE_FLOATS * LINE_BYTES);
    }
}

#endif
