/* SPDX-License-Identifier: MIT
 *
 * additive_f32_avx512_fast.c: additive alignment with a tanh of fewer steps and twice the error
 * (tanh_pieces.h), 16 features per vector. The loops are in additive_tiles.h. */
#include "kernels/additive/additive_tile_avx512.h"
#include "kernels/vec/tanh_pieces_avx512.h"

sattn_additive_fn sattn_additive_f32_avx512_fast;

static void score(const additive_tile *tile)
{
    additive_score_f32x16(tile, vec_tanh_fast_each_f32x16);
}

void sattn_additive_f32_avx512_fast(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
