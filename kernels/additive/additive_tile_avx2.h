/* SPDX-License-Identifier: MIT
 *
 * additive_tile_avx2.h: one tile of additive alignment in AVX2, 8 features per vector, with the
 * tanh that a kernel brings. */
#ifndef SATTN_KERNELS_ADDITIVE_TILE_AVX2_H
#define SATTN_KERNELS_ADDITIVE_TILE_AVX2_H

#include "kernels/additive/additive_tiles.h"
#include "kernels/vec/vec_avx2.h"

enum { ADDITIVE_LANES = 8 };

typedef __m256 additive_tanh_f32x8(__m256 x);

/* What is made of `next` has to wait for `last`, as far as the compiler knows. So keys go one after
 * the other: the processor overlaps them by itself, and a compiler that does runs out of registers.
 */
SATTN_INLINE __m256 additive_behind_f32x8(__m256 next, __m256 *last)
{
    __asm__("" : "+x"(next), "+x"(*last));
    return next;
}

/* sums[j] += v tanh(q + k[j]) for one vector of features. */
SATTN_INLINE void additive_step_f32x8(__m256 sums[ADDITIVE_KEYS], const additive_tile *tile,
                                      int64_t x, additive_tanh_f32x8 *tanh_of)
{
    const __m256 q = vec_in_register_f32x8(_mm256_loadu_ps(tile->q + x));
    const __m256 v = vec_in_register_f32x8(_mm256_loadu_ps(tile->v + x));
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j) {
        __m256 z = _mm256_add_ps(q, _mm256_loadu_ps(tile->k[j] + x));
        if (j > 0)
            z = additive_behind_f32x8(z, &sums[j - 1]);
        sums[j] = _mm256_fmadd_ps(v, tanh_of(z), sums[j]);
    }
}

/* The same for the last features of a row. */
SATTN_INLINE void additive_tail_f32x8(__m256 sums[ADDITIVE_KEYS], const additive_tile *tile,
                                      int64_t x, additive_tanh_f32x8 *tanh_of)
{
    const __m256i lanes = vec_tail_m8(tile->d - x);
    const __m256 q = vec_load_tail_f32x8(tile->q + x, lanes);
    const __m256 v = vec_load_tail_f32x8(tile->v + x, lanes);
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j) {
        const __m256 z = _mm256_add_ps(q, vec_load_tail_f32x8(tile->k[j] + x, lanes));
        sums[j] = _mm256_fmadd_ps(v, tanh_of(z), sums[j]);
    }
}

/* Lane j of the result is the sum over the lanes of rows[j]. */
SATTN_INLINE __m128 additive_hsum_f32x8(const __m256 rows[ADDITIVE_KEYS])
{
    __m256 pair[2];
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm256_add_ps(_mm256_shuffle_ps(rows[2 * i], rows[2 * i + 1], 0x44),
                                _mm256_shuffle_ps(rows[2 * i], rows[2 * i + 1], 0xee));
    const __m256 half = _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                                      _mm256_shuffle_ps(pair[0], pair[1], 0xdd));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

SATTN_INLINE void additive_score_f32x8(const additive_tile *tile, additive_tanh_f32x8 *tanh_of)
{
    __m256 sums[ADDITIVE_KEYS];
    SATTN_UNROLL(4)
    for (int j = 0; j < ADDITIVE_KEYS; ++j)
        sums[j] = _mm256_setzero_ps();
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + ADDITIVE_LANES <= tile->d; x += ADDITIVE_LANES)
        additive_step_f32x8(sums, tile, x, tanh_of);
    if (x < tile->d)
        additive_tail_f32x8(sums, tile, x, tanh_of);
    const __m128 scores = additive_hsum_f32x8(sums);
    if (tile->n_keys == ADDITIVE_KEYS) {
        _mm_storeu_ps(tile->s, scores);
    } else {
        _mm_maskstore_ps(tile->s, _mm256_castsi256_si128(vec_tail_m8(tile->n_keys)), scores);
        SATTN_WRITTEN(tile->s, (size_t)tile->n_keys);
    }
}

#endif
