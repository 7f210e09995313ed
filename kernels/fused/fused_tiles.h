/* SPDX-License-Identifier: MIT
 *
 * fused_tiles.h: the keys or columns of a block by the tiles that the including header or file
 * defines before it, score_tile and output_tile: TILE wide with two vectors, TILE_ONE_VECTOR with
 * one. An extent that is no multiple of TILE ends in one smaller tile, or in two where fewer than
 * TILE_AND_REST are left. */
#ifndef SATTN_KERNELS_FUSED_TILES_H
#define SATTN_KERNELS_FUSED_TILES_H

#include "kernels/fused/fused_tile.h"

SATTN_INLINE void tile(const tile_job *job, int64_t at, int n, int n_vec, product what)
{
    if (what == SCORES)
        score_tile(job, at, n, n_vec);
    else
        output_tile(job, at, n, n_vec);
}

/* Keys or columns [at, end) by tiles. */
SATTN_INLINE void tiles(const tile_job *job, int64_t at, int64_t end, int n_vec, product what)
{
    if (n_vec == 1)
        for (; at + TILE_ONE_VECTOR <= end; at += TILE_ONE_VECTOR)
            tile(job, at, TILE_ONE_VECTOR, n_vec, what);
    for (; end - at == TILE || end - at >= TILE_AND_REST; at += TILE)
        tile(job, at, TILE, n_vec, what);
    for (int n; at < end; at += n) {
        const int left = (int)(end - at);
        n = left < TILE ? left : (left + 1) / 2;
        switch (n) {
        case 7:
            if (TILE > 7)
                tile(job, at, 7, n_vec, what);
            break;
        case 6:
            if (TILE > 6)
                tile(job, at, 6, n_vec, what);
            break;
        case 5:
            tile(job, at, 5, n_vec, what);
            break;
        case 4:
            tile(job, at, 4, n_vec, what);
            break;
        case 3:
            tile(job, at, 3, n_vec, what);
            break;
        case 2:
            tile(job, at, 2, n_vec, what);
            break;
        default:
            tile(job, at, 1, n_vec, what);
            break;
        }
    }
}

static inline void score(const fused_prefill_state *st, const fused_block *block,
                         const fused_span *span)
{
    const tile_job job = {st, block, span};
    if (span->n_vec == 2)
        tiles(&job, span->begin, span->end, 2, SCORES);
    else
        tiles(&job, span->begin, span->end, 1, SCORES);
}

static inline void accumulate(const fused_prefill_state *st, const fused_block *block)
{
    const fused_span span = fused_block_common(block);
    const tile_job job = {.st = st, .block = block, .span = &span};
    if (span.n_vec == 2)
        tiles(&job, 0, st->d_v, 2, OUTPUT);
    else
        tiles(&job, 0, st->d_v, 1, OUTPUT);
}

static inline void tile_run(const sattn_fused_args *args)
{
    static const fused_prefill_ops ops = {.lanes = LANES,
                                          .pack = prefill_pack,
                                          .score = score,
                                          .cap = vec_softcap,
                                          .slope = prefill_slope,
                                          .hide = prefill_hide,
                                          .bias = prefill_bias,
                                          .maximum = prefill_maximum,
                                          .weigh = prefill_weigh,
                                          .accumulate = accumulate,
                                          .store = prefill_store};
    fused_prefill(args, &ops);
}

#endif
