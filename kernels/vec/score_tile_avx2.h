/* SPDX-License-Identifier: MIT
 *
 * score_tile_avx2.h: the score tile of few query rows in AVX2, 8 features per vector. */
#ifndef SATTN_KERNELS_VEC_SCORE_TILE_AVX2_H
#define SATTN_KERNELS_VEC_SCORE_TILE_AVX2_H

#include "kernels/vec/score_tile.h"
#include "kernels/vec/vec_avx2.h"

enum { SCORE_LANES = 8 };

/* One vector of features: half a cache line, the first or second `half`. */
SATTN_INLINE void score_step_f32x8(__m256 *acc, const float *q, const float *const *k, int64_t x,
                                   const vec_stream *stream, const int n_rows, const int n_keys,
                                   const score_fetch fetch, const int half)
{
    __m256 q_f32x8[SCORE_GROUP];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        q_f32x8[r] = vec_in_register_f32x8(_mm256_loadu_ps(q + r * SCORE_LANES));
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        __m256 k_f32x8 = _mm256_loadu_ps(k[j] + x);
        if (n_rows > 1)
            k_f32x8 = vec_in_register_f32x8(k_f32x8);
        if (fetch == SCORE_FETCH_STREAM && j % 2 == half)
            vec_stream_fetch(stream, j);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = _mm256_fmadd_ps(q_f32x8[r], k_f32x8, acc[r * n_keys + j]);
    }
}

/* acc[r * n_keys + j] = q[r] . k[j] by lanes, for the rows k[0 .. n_keys) */
SATTN_INLINE void score_tile_f32x8(__m256 *acc, const float *q, const float *const *k, int64_t d,
                                   int64_t ahead, const int n_rows, const int n_keys,
                                   const score_fetch fetch)
{
    SATTN_UNROLL(8)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = _mm256_setzero_ps();
    vec_stream stream = vec_stream_of(k[0], ahead, d, k[1] - k[0]);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + 2 * SCORE_LANES <= d; x += 2 * SCORE_LANES, q += 2 * n_rows * SCORE_LANES) {
        score_step_f32x8(acc, q, k, x, &stream, n_rows, n_keys, fetch, 0);
        score_step_f32x8(acc, q + n_rows * SCORE_LANES, k, x + SCORE_LANES, &stream, n_rows, n_keys,
                         fetch, 1);
        if (fetch == SCORE_FETCH_STREAM)
            vec_stream_advance(&stream, n_keys);
    }
    if (x + SCORE_LANES <= d) {
        score_step_f32x8(acc, q, k, x, &stream, n_rows, n_keys, fetch, 0);
        x += SCORE_LANES;
        q += n_rows * SCORE_LANES;
    }
    if (x == d)
        return;
    const __m256i tail = vec_tail_m8(d - x);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const __m256 k_f32x8 = vec_load_tail_f32x8(k[j] + x, tail);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] =
                _mm256_fmadd_ps(_mm256_loadu_ps(q + r * SCORE_LANES), k_f32x8, acc[r * n_keys + j]);
    }
}

#endif
