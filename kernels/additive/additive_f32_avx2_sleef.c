/* SPDX-License-Identifier: MIT
 *
 * additive_f32_avx2_sleef.c: additive alignment with SLEEF's tanh of 1.0 ULP, under the name of its
 * ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/additive/additive_tile_avx2.h"

#include <sleef.h>

sattn_additive_fn sattn_additive_f32_avx2_sleef;

SATTN_INLINE __m256 tanh_by_sleef(__m256 x)
{
    return Sleef_tanhf8_u10avx2(x);
}

static void score(const additive_tile *tile)
{
    additive_score_f32x8(tile, tanh_by_sleef);
}

void sattn_additive_f32_avx2_sleef(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
