/* SPDX-License-Identifier: MIT
 *
 * additive_tile_neon.h: one tile of additive alignment in NEON, 4 features per vector, with the
 * tanh that a kernel brings. */
#ifndef SATTN_KERNELS_ADDITIVE_TILE_NEON_H
#define SATTN_KERNELS_ADDITIVE_TILE_NEON_H

#include "kernels/additive/additive_tiles.h"
#include "kernels/vec/vec_neon.h"

enum { ADDITIVE_LANES = 4 };

typedef float32x4_t additive_tanh_f32x4(float32x4_t x);

/* What is made of `next` has to wait for `last`, as far as the compiler knows. So keys go one after
 * the other: the processor overlaps them by itself, and a compiler that does runs out of registers.
 */
SATTN_INLINE float32x4_t additive_behind_f32x4(float32x4_t next, float32x4_t *last)
{
    __asm__("" : "+w"(next), "+w"(*last));
    return next;
}

/* sums[j] += v tanh(q + k[j]) for one vector of features, of which n exist. */
SATTN_INLINE void additive_step_f32x4(float32x4_t sums[ADDITIVE_KEYS], const additive_tile *tile,
                                      int64_t x, int64_t n, additive_tanh_f32x4 *tanh_of)
{
    const float32x4_t q = vec_load_tail_f32x4(tile->q + x, n);
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j) {
        float32x4_t z = vaddq_f32(q, vec_load_tail_f32x4(tile->k[j] + x, n));
        if (j > 0)
            z = additive_behind_f32x4(z, &sums[j - 1]);
        const float32x4_t tanh_z = tanh_of(z);
        SATTN_KEEP_ORDER(); /* v is loaded anew: one register less */
        sums[j] = vfmaq_f32(sums[j], vec_load_tail_f32x4(tile->v + x, n), tanh_z);
    }
}

SATTN_INLINE void additive_score_f32x4(const additive_tile *tile, additive_tanh_f32x4 *tanh_of)
{
    float32x4_t sums[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = vdupq_n_f32(0.0f);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + ADDITIVE_LANES <= tile->d; x += ADDITIVE_LANES)
        additive_step_f32x4(sums, tile, x, ADDITIVE_LANES, tanh_of);
    if (x < tile->d)
        additive_step_f32x4(sums, tile, x, tile->d - x, tanh_of);
    vec_store_tail_f32x4(tile->s, vec_hsum_rows_f32x4(sums), tile->n_keys);
}

#endif
