/* SPDX-License-Identifier: MIT
 *
 * additive_tile_avx512.h: one tile of additive alignment in AVX-512, 16 features per vector, with
 * the tanh that a kernel brings. */
#ifndef SATTN_KERNELS_ADDITIVE_TILE_AVX512_H
#define SATTN_KERNELS_ADDITIVE_TILE_AVX512_H

#include "kernels/additive/additive_tiles.h"
#include "kernels/vec/vec_avx512.h"

enum { ADDITIVE_LANES = 16 };

/* x[u] = tanh(x[u]) for `count` vectors */
typedef void additive_tanh_f32x16(__m512 x[], const int count);

/* sums[j] += v tanh(q + k[j]) for one vector of features, of which a tail may lack some. */
SATTN_INLINE void additive_step_f32x16(__m512 sums[ADDITIVE_KEYS], const additive_tile *tile,
                                       int64_t x, __mmask16 lanes, additive_tanh_f32x16 *tanh_each)
{
    const __m512 q = vec_in_register_f32x16(vec_load_tail_f32x16(tile->q + x, lanes));
    __m512 z[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        z[j] = _mm512_add_ps(q, vec_load_tail_f32x16(tile->k[j] + x, lanes));
    tanh_each(z, ADDITIVE_KEYS);
    const __m512 v = vec_in_register_f32x16(vec_load_tail_f32x16(tile->v + x, lanes));
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = _mm512_fmadd_ps(v, z[j], sums[j]);
}

/* Lane j of the result is the sum over the lanes of rows[j]. */
SATTN_INLINE __m128 additive_hsum_f32x16(const __m512 rows[ADDITIVE_KEYS])
{
    __m512 half[2];
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        half[i] = _mm512_add_ps(_mm512_shuffle_f32x4(rows[2 * i], rows[2 * i + 1], 0x44),
                                _mm512_shuffle_f32x4(rows[2 * i], rows[2 * i + 1], 0xee));
    __m512 quarter = _mm512_add_ps(_mm512_shuffle_f32x4(half[0], half[1], 0x88),
                                   _mm512_shuffle_f32x4(half[0], half[1], 0xdd));
    quarter = _mm512_add_ps(quarter, _mm512_permute_ps(quarter, 0x4e));
    quarter = _mm512_add_ps(quarter, _mm512_permute_ps(quarter, 0xb1));
    return _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, quarter));
}

SATTN_INLINE void additive_score_f32x16(const additive_tile *tile, additive_tanh_f32x16 *tanh_each)
{
    __m512 sums[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = _mm512_setzero_ps();
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + ADDITIVE_LANES <= tile->d; x += ADDITIVE_LANES)
        additive_step_f32x16(sums, tile, x, 0xffff, tanh_each);
    if (x < tile->d)
        additive_step_f32x16(sums, tile, x, vec_tail_m16(tile->d - x), tanh_each);
    const __m128 scores = additive_hsum_f32x16(sums);
    if (tile->n_keys == ADDITIVE_KEYS) {
        _mm_storeu_ps(tile->s, scores);
    } else {
        _mm_mask_storeu_ps(tile->s, (__mmask8)vec_tail_m16(tile->n_keys), scores);
        SATTN_WRITTEN(tile->s, (size_t)tile->n_keys);
    }
}

#endif
