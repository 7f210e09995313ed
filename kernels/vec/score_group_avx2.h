/* SPDX-License-Identifier: MIT
 *
 * score_group_avx2.h: the groups of score_group.h in AVX2, 8 features per vector.
 *
 * 8 accumulators, for 1 row x 8 keys, 2 x 4 or 4 x 2 (3 x 2), each over all features, then one
 * transposing reduction. */
#ifndef SATTN_KERNELS_VEC_SCORE_GROUP_AVX2_H
#define SATTN_KERNELS_VEC_SCORE_GROUP_AVX2_H

#include "kernels/vec/score_group.h"
#include "kernels/vec/score_tile_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum {
    GROUP_TILE = 8,   /* accumulators of a register tile */
    GROUP_SHORT = 64, /* features below which one row of q fetches K ahead */
};

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void score_store_tile(float *const *s, int64_t j, __m256 tile_f32x8, const int n_rows,
                                   const int n_keys)
{
    const __m128 low = _mm256_castps256_ps128(tile_f32x8);
    const __m128 high = _mm256_extractf128_ps(tile_f32x8, 1);
    if (n_keys == 8) {
        _mm256_storeu_ps(s[0] + j, tile_f32x8);
    } else if (n_keys == 4) {
        _mm_storeu_ps(s[0] + j, low);
        _mm_storeu_ps(s[1] + j, high);
    } else {
        _mm_storel_pi((__m64 *)(void *)(s[0] + j), low);
        _mm_storeh_pi((__m64 *)(void *)(s[1] + j), low);
        _mm_storel_pi((__m64 *)(void *)(s[2] + j), high);
        if (n_rows > 3)
            _mm_storeh_pi((__m64 *)(void *)(s[3] + j), high);
    }
}

/* The same where n_left of them exist, fewer than n_keys. */
SATTN_INLINE void score_store_part(float *const *s, int64_t j, __m256 tile_f32x8, int64_t n_left,
                                   const int n_rows, const int n_keys)
{
    for (int r = 0; r < n_rows; ++r)
        SATTN_WRITTEN(s[r] + j, (size_t)n_left);
    const __m256i lanes = vec_tail_m8(n_left);
    const __m128 low = _mm256_castps256_ps128(tile_f32x8);
    const __m128 high = _mm256_extractf128_ps(tile_f32x8, 1);
    if (n_keys == 8) {
        vec_store_tail_f32x8(s[0] + j, lanes, tile_f32x8);
    } else if (n_keys == 4) {
        _mm_maskstore_ps(s[0] + j, _mm256_castsi256_si128(lanes), low);
        _mm_maskstore_ps(s[1] + j, _mm256_castsi256_si128(lanes), high);
    } else {
        _mm_store_ss(s[0] + j, low);
        _mm_store_ss(s[1] + j, _mm_movehl_ps(low, low));
        _mm_store_ss(s[2] + j, high);
        if (n_rows > 3)
            _mm_store_ss(s[3] + j, _mm_movehl_ps(high, high));
    }
}

SATTN_INLINE void score_group_tiles(const score_group *group, const int n_rows, const int n_keys,
                                    const score_fetch fetch)
{
    const int64_t d = group->d;
    const int64_t stride = group->k_stride;
    const int64_t ahead = group->ahead;
    const int64_t n = group->n_keys;
    const float *const q = group->q;
    const float *k = group->k;
    float *s[SCORE_GROUP];
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        s[r] = group->s[r];
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m256 acc[GROUP_TILE];
        score_group_keys(rows, k, stride, n - j, n_keys);
        score_tile_f32x8(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        SATTN_UNROLL(8)
        for (int i = n_rows * n_keys; i < GROUP_TILE; ++i)
            acc[i] = _mm256_setzero_ps();
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(acc);
        if (n - j >= n_keys)
            score_store_tile(s, j, tile_f32x8, n_rows, n_keys);
        else
            score_store_part(s, j, tile_f32x8, n - j, n_rows, n_keys);
    }
}

/* For one row, eight keys side by side are streams that hardware follows by itself, unless the rows
 * of K are short. */
static inline void score_group_f32x8(const score_group *group)
{
    if (group->n_rows == 4)
        score_group_tiles(group, 4, 2, SCORE_FETCH_STREAM);
    else if (group->n_rows == 3)
        score_group_tiles(group, 3, 2, SCORE_FETCH_STREAM);
    else if (group->n_rows == 2)
        score_group_tiles(group, 2, 4, SCORE_FETCH_STREAM);
    else if (group->d < GROUP_SHORT)
        score_group_tiles(group, 1, 8, SCORE_FETCH_STREAM);
    else
        score_group_tiles(group, 1, 8, SCORE_FETCH_NONE);
}

#endif
