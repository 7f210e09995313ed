/* SPDX-License-Identifier: MIT
 *
 * additive_f32_neon.c: additive alignment with the tanh of tanh_poly.h, 4 features per vector. The
 * loops are in additive_tiles.h; vectors go through tanh in pairs. */
#include "kernels/additive/additive_tile_neon.h"

sattn_additive_fn sattn_additive_f32_neon;

SATTN_INLINE void tanh_each(float32x4_t x[ADDITIVE_KEYS])
{
    vec_tanh_each_f32x4(x, 2);
    vec_tanh_each_f32x4(x + 2, 2);
}

static void score(const additive_tile *tile)
{
    additive_score_f32x4(tile, tanh_each);
}

void sattn_additive_f32_neon(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
