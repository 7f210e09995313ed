/* SPDX-License-Identifier: MIT
 *
 * additive_f32_avx512_sleef.c: additive alignment with SLEEF's tanh of 1.0 ULP, under the name of
 * its ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/additive/additive_tile_avx512.h"

#include <sleef.h>

sattn_additive_fn sattn_additive_f32_avx512_sleef;

SATTN_INLINE void tanh_each(__m512 x[], const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        x[u] = Sleef_tanhf16_u10avx512f(x[u]);
}

static void score(const additive_tile *tile)
{
    additive_score_f32x16(tile, tanh_each);
}

void sattn_additive_f32_avx512_sleef(const sattn_additive_args *args)
{
    additive_tiles(args, score);
}
