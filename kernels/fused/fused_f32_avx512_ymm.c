/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_ymm.c: fused attention for many query rows on vectors of 256 bits, with the 32
 * registers of AVX-512VL; the method is in fused_prefill.h, the tiles are those of
 * fused_tile_avx2.h. For CPUs that compute on 512 bits no faster, or lower their clock for them.
 *
 * Strip    16 query rows, two vectors; a rest of up to 8 rows uses one.
 * Tile     8 keys or columns x 2 vectors: 16 accumulators. A step takes 10 loads for 16 FMA. With
 *          one vector the tile is 16 x 1. */
enum {
    TILE = 8,
    TILE_ONE_VECTOR = 16,
};

#include "kernels/fused/fused_tile_avx2.h"

sattn_fused_fn sattn_fused_f32_avx512_ymm;

void sattn_fused_f32_avx512_ymm(const sattn_fused_args *args)
{
    tile_run(args);
}
