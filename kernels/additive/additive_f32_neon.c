/* SPDX-License-Identifier: MIT
 *
 * additive_f32_neon.c: additive alignment with the tanh of tanh_poly.h, 4 features per vector. The
 * loops are in additive_tiles.h. */
#include "kernels/additive/additive_tile_neon.h"

sattn_additive_fn sattn_additive_f32_neon;

static void score(const additive_tile *tile)
{
    additive_score_f32x4(tile, vec_tanh_f32x4);
}

void sattn_additive_f32_neon(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
