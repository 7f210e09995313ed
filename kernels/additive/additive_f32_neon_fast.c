/* SPDX-License-Identifier: MIT
 *
 * additive_f32_neon_fast.c: additive alignment with a tanh of one evaluation and a larger error
 * (tanh_fast_neon.h), 4 features per vector. The loops are in additive_tiles.h. */
#include "kernels/additive/additive_tile_neon.h"
#include "kernels/vec/tanh_fast_neon.h"

sattn_additive_fn sattn_additive_f32_neon_fast;

static void score(const additive_tile *tile)
{
    additive_score_f32x4(tile, vec_tanh_fast_f32x4);
}

void sattn_additive_f32_neon_fast(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
