/* SPDX-License-Identifier: MIT
 *
 * additive_f32_neon_sleef.c: additive alignment with SLEEF's tanh of 1.0 ULP, under the name of its
 * ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/additive/additive_tile_neon.h"

#include <sleef.h>

sattn_additive_fn sattn_additive_f32_neon_sleef;

SATTN_INLINE float32x4_t tanh_by_sleef(float32x4_t x)
{
    return Sleef_tanhf4_u10advsimd(x);
}

static void score(const additive_tile *tile)
{
    additive_score_f32x4(tile, tanh_by_sleef);
}

void sattn_additive_f32_neon_sleef(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
