/* SPDX-License-Identifier: MIT
 *
 * score_group_avx512.h: the groups of score_group.h in AVX-512, 16 features per vector.
 *
 * 16 accumulators, for 1 row x 16 keys, 2 x 8 or 4 x 4 (3 x 4), each over all features, then one
 * transposing reduction. */
#ifndef SATTN_KERNELS_VEC_SCORE_GROUP_AVX512_H
#define SATTN_KERNELS_VEC_SCORE_GROUP_AVX512_H

#include "kernels/vec/score_group.h"
#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    GROUP_TILE = 16,   /* accumulators of a register tile */
    GROUP_WIDE = 256,  /* features beyond which one row takes keys side by side ... */
    GROUP_NEAR = 8192, /* ... and floats of K up to which it does so too */
};

SATTN_INLINE void score_1_row(const score_group *group)
{
    const int64_t whole = group->d / SCORE_LANES * SCORE_LANES;
    const __mmask16 tail = vec_tail_m16(group->d - whole);
    const int64_t stride = group->k_stride;
    const int64_t ahead = group->ahead;
    const float *const q = group->q;
    const float *k = group->k;
    float *s = group->s[0];
    for (int64_t left = group->n_keys; left > 0; left -= GROUP_TILE, s += GROUP_TILE) {
        __m512 acc[GROUP_TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < GROUP_TILE; ++i, k += stride)
            acc[i] = i < left ? score_key_f32x16(q, k, whole, tail, ahead, 1, SCORE_FETCH_BY_KEY)
                              : _mm512_setzero_ps();
        vec_store_tail_f32x16(s, vec_tail_m16(left), vec_hsum_rows_f32x16(acc));
    }
}

/* Chains as long as those of wide rows fill the processor's window, so few keys would overlap by
 * themselves: wide ones go eight side by side, in streams that hardware follows. So do few keys,
 * which the first cache may hold. The bits are the same. */
SATTN_INLINE void score_1_row_by_streams(const score_group *group)
{
    enum { GROUP_HALF = GROUP_TILE / 2 };
    const int64_t stride = group->k_stride;
    const float *k = group->k;
    float *s = group->s[0];
    for (int64_t left = group->n_keys; left > 0;
         left -= GROUP_TILE, s += GROUP_TILE, k += GROUP_TILE * stride) {
        const float *rows[GROUP_HALF];
        __m512 acc[GROUP_TILE];
        score_group_keys(rows, k, stride, left, GROUP_HALF);
        score_tile_f32x16(acc, group->q, rows, group->d, group->ahead, 1, GROUP_HALF,
                          SCORE_FETCH_NONE);
        if (left > GROUP_HALF) {
            score_group_keys(rows, k + GROUP_HALF * stride, stride, left - GROUP_HALF, GROUP_HALF);
            score_tile_f32x16(acc + GROUP_HALF, group->q, rows, group->d, group->ahead, 1,
                              GROUP_HALF, SCORE_FETCH_NONE);
        } else {
            SATTN_UNROLL(8)
            for (int i = GROUP_HALF; i < GROUP_TILE; ++i)
                acc[i] = _mm512_setzero_ps();
        }
        vec_store_tail_f32x16(s, vec_tail_m16(left), vec_hsum_rows_f32x16(acc));
    }
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void score_store_tile(float *const *s, int64_t j, __m512 tile_f32x16, const int n_rows,
                                   const int n_keys)
{
    if (n_keys == 8) {
        _mm256_storeu_ps(s[0] + j, _mm512_castps512_ps256(tile_f32x16));
        _mm256_storeu_ps(s[1] + j, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_storeu_ps(s[0] + j, _mm512_castps512_ps128(tile_f32x16));
    _mm_storeu_ps(s[1] + j, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s[2] + j, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_storeu_ps(s[3] + j, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

/* The same where n_left of them exist, fewer than n_keys. AVX's masked stores, since GCC makes one
 * instruction of AVX-512's and the extraction, and that one faults on lanes that the mask hides. */
SATTN_INLINE void score_store_part(float *const *s, int64_t j, __m512 tile_f32x16, int64_t n_left,
                                   const int n_rows, const int n_keys)
{
    for (int r = 0; r < n_rows; ++r)
        SATTN_WRITTEN(s[r] + j, (size_t)n_left);
    const __m256i lanes = _mm256_movm_epi32((__mmask8)vec_tail_m16(n_left));
    const __m128i low_lanes = _mm256_castsi256_si128(lanes);
    if (n_keys == 8) {
        _mm256_maskstore_ps(s[0] + j, lanes, _mm512_castps512_ps256(tile_f32x16));
        _mm256_maskstore_ps(s[1] + j, lanes, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_maskstore_ps(s[0] + j, low_lanes, _mm512_castps512_ps128(tile_f32x16));
    _mm_maskstore_ps(s[1] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_maskstore_ps(s[2] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_maskstore_ps(s[3] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

SATTN_INLINE void score_group_tiles(const score_group *group, const int n_rows, const int n_keys)
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
        __m512 acc[GROUP_TILE];
        score_group_keys(rows, k, stride, n - j, n_keys);
        score_tile_f32x16(acc, q, rows, d, ahead, n_rows, n_keys, SCORE_FETCH_BY_OFFSET);
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < GROUP_TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        if (n - j >= n_keys)
            score_store_tile(s, j, tile_f32x16, n_rows, n_keys);
        else
            score_store_part(s, j, tile_f32x16, n - j, n_rows, n_keys);
    }
}

/* A function of its own, so that eight pointers to keys find registers. */
SATTN_NOINLINE void score_2_rows(const score_group *group)
{
    score_group_tiles(group, 2, 8);
}

static inline void score_group_f32x16(const score_group *group)
{
    if (group->n_rows == 4)
        score_group_tiles(group, 4, 4);
    else if (group->n_rows == 3)
        score_group_tiles(group, 3, 4);
    else if (group->n_rows == 2)
        score_2_rows(group);
    else if (group->d > GROUP_WIDE || group->n_keys * group->d <= GROUP_NEAR)
        score_1_row_by_streams(group);
    else
        score_1_row(group);
}

#endif
