/* SPDX-License-Identifier: MIT
 *
 * fused_tile.h: what the register tiles of fused_prefill.h's two products share on all vectors that
 * broadcast scalars from memory: the job of a tile, the hiding of its scores by the prefill_hide of
 * the including header, and what it prefetches. */
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

/* Limits hide some of the n scores from key `at` on, which are stored. */
SATTN_NOINLINE void tile_hide(const tile_job *job, int64_t at, int n)
{
    const int end = job->span->vec + job->span->n_vec;
    for (int vec = job->span->vec; vec < end; ++vec)
        prefill_hide(job->st, job->block, &(fused_span){vec, 1, (int)at, (int)at + n});
}

/* One line of what is read next is prefetched per two steps of a tile of n keys or columns. Scores
 * fetch 8 K rows behind the tile, line by line; a tile of output fetches a line of every other V
 * row, of the columns after its own: each line of 16 columns meets two tiles of 8, one of either
 * parity. Its steps may begin at a later key than the block's first, from which rows are counted
 * here: to count from theirs costs more instructions than the lines are worth. Tiles of one vector
 * are twice as wide, so they fetch half of what comes next: whoever has one vector of rows left has
 * read K and V for those before it. What lies behind the last row or column is fetched for nothing.
 */
SATTN_INLINE void prefetch_line(const fused_block *block, int64_t at, int n, int64_t step,
                                product what)
{
    enum { FLOAT = sizeof(float), LINE = 64, LINE_FLOATS = LINE / FLOAT, TILE_ROWS = 8 };
    const bool is_k = what == SCORES;
    const int64_t row = is_k ? at + n + step / 2 % TILE_ROWS : step + at / (LINE_FLOATS / 2) % 2;
    const int64_t line = is_k ? step / LINE_FLOATS : at / LINE_FLOATS + 1;
    /* Unsigned, since nobody has checked that a row behind the last one has an address. */
    const uint64_t to_row = (uint64_t)row * (uint64_t)(is_k ? block->k_stride : block->v_stride);
    vec_fetch(is_k ? block->k : block->v, (int64_t)(to_row * FLOAT + (uint64_t)line * LINE));
}

#endif
