/* SPDX-License-Identifier: MIT
 *
 * additive_tile_neon.h: one tile of additive alignment in NEON, 4 features per vector, with the
 * tanh that a kernel brings. */
#ifndef SATTN_KERNELS_ADDITIVE_ADDITIVE_TILE_NEON_H
#define SATTN_KERNELS_ADDITIVE_ADDITIVE_TILE_NEON_H

#include "kernels/additive/additive_tiles.h"
#include "kernels/vec/vec_neon.h"

enum { ADDITIVE_LANES = 4 };

/* x[u] = tanh(x[u]) for ADDITIVE_KEYS vectors */
typedef void additive_tanh_f32x4(float32x4_t x[ADDITIVE_KEYS]);

/* sums[j] += v tanh(q + k[j]) for one vector of features, of which n exist. */
SATTN_INLINE void additive_step_f32x4(float32x4_t sums[ADDITIVE_KEYS], const additive_tile *tile,
                                      int64_t x, int64_t n, additive_tanh_f32x4 *tanh_each)
{
    const float32x4_t q = vec_load_tail_f32x4(tile->q + x, n);
    float32x4_t z[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        z[j] = vaddq_f32(q, vec_load_tail_f32x4(tile->k[j] + x, n));
    tanh_each(z);
    const float32x4_t v = vec_load_tail_f32x4(tile->v + x, n);
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = vfmaq_f32(sums[j], v, z[j]);
}

SATTN_INLINE void additive_score_f32x4(const additive_tile *tile, additive_tanh_f32x4 *tanh_each)
{
    float32x4_t sums[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = vdupq_n_f32(0.0f);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + ADDITIVE_LANES <= tile->d; x += ADDITIVE_LANES)
        additive_step_f32x4(sums, tile, x, ADDITIVE_LANES, tanh_each);
    if (x < tile->d)
        additive_step_f32x4(sums, tile, x, tile->d - x, tanh_each);
    vec_store_tail_f32x4(tile->s, vec_hsum_rows_f32x4(sums), tile->n_keys);
}

#endif
