/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2.c: fused attention for many query rows, in AVX2; the method is in
 * fused_prefill.h, the tiles are those of fused_tile_avx2.h.
 *
 * Strip    16 query rows, two vectors; a rest of up to 8 rows uses one.
 * Tile     6 keys or columns x 2 vectors: 12 accumulators, and one of the 16 registers to spare. A
 *          step takes 8 loads for 12 FMA. With one vector the tile is 12 x 1. */
enum {
    TILE = 6,
    TILE_ONE_VECTOR = 12,
};

#include "kernels/fused/fused_tile_avx2.h"

sattn_fused_fn sattn_fused_f32_avx2;

void sattn_fused_f32_avx2(const sattn_fused_args *args)
{
    tile_run(args);
}
