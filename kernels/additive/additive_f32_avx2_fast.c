/* SPDX-License-Identifier: MIT
 *
 * additive_f32_avx2_fast.c: additive alignment with a tanh of fewer steps and a larger error
 * (tanh_pieces.h), 8 features per vector. The loops are in additive_tiles.h. */
#include "kernels/additive/additive_tile_avx2.h"
#include "kernels/vec/tanh_pieces_avx2.h"

sattn_additive_fn sattn_additive_f32_avx2_fast;

static void score(const additive_tile *tile)
{
    additive_score_f32x8(tile, vec_tanh_fast_f32x8);
}

void sattn_additive_f32_avx2_fast(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
