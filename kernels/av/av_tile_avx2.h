/* SPDX-License-Identifier: MIT
 *
 * av_tile_avx2.h: register tiles of rows x columns of V in AVX2, 8 columns per vector.
 *
 * Sixteen registers hold a tile of at most 12 sums and what it is made from: one or two vectors of
 * V while the weights of many rows pass, or the weights of few rows while V passes. */
#ifndef SATTN_KERNELS_AV_TILE_AVX2_H
#define SATTN_KERNELS_AV_TILE_AVX2_H

#include "kernels/av/av_tiles.h"
#include "kernels/vec/vec_avx2.h"

enum {
    LANES = 8,
    VEC_BYTES = LANES * (int)sizeof(float),
    MAX_SUMS = 12, /* most accumulators of a register tile */
    MAX_VECS = 10, /* most vectors of columns in it */
    FEW = 3,       /* most rows whose weights stay in registers */
};

/* The shape of a register tile; constants once inlined. */
typedef struct tile_shape {
    int n_rows, n_vecs;
    bool is_masked; /* the last vector is a partial one */
    bool fetches;   /* each line of V prefetches another */
} tile_shape;

/* Vector y of columns of the row v, and the line that is to be prefetched with it. */
SATTN_INLINE __m256 load(const float *v, int y, __m256i last, int64_t ahead, const tile_shape shape)
{
    const float *const from = v + y * LANES;
    if (shape.fetches && y % 2 == 0)
        vec_fetch(from, ahead);
    return shape.is_masked && y + 1 == shape.n_vecs ? vec_load_tail_f32x8(from, last)
                                                    : _mm256_loadu_ps(from);
}

/* sum[r][y] += p[r][j] * v[y] for one key. */
SATTN_INLINE void key_of_few(__m256 *sum, const float *const *p, int64_t j, const float *v,
                             __m256i last, int64_t ahead, const tile_shape shape)
{
    __m256 p_f32x8[AV_TILE_ROWS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(3)
    for (int r = 0; r < shape.n_rows; ++r)
        p_f32x8[r] = vec_in_register_f32x8(_mm256_set1_ps(p[r][j]));
    SATTN_UNROLL(10)
    for (int y = 0; y < shape.n_vecs; ++y) {
        __m256 v_f32x8 = load(v, y, last, ahead, shape);
        if (shape.n_rows > 1)
            v_f32x8 = vec_in_register_f32x8(v_f32x8);
        SATTN_UNROLL(3)
        for (int r = 0; r < shape.n_rows; ++r)
            sum[r * shape.n_vecs + y] =
                _mm256_fmadd_ps(p_f32x8[r], v_f32x8, sum[r * shape.n_vecs + y]);
    }
}

SATTN_INLINE void key_of_many(__m256 *sum, const float *const *p, int64_t j, const float *v,
                              __m256i last, int64_t ahead, const tile_shape shape)
{
    __m256 v_f32x8[MAX_VECS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(2)
    for (int y = 0; y < shape.n_vecs; ++y)
        v_f32x8[y] = vec_in_register_f32x8(load(v, y, last, ahead, shape));
    SATTN_UNROLL(6)
    for (int r = 0; r < shape.n_rows; ++r) {
        const __m256 p_f32x8 = vec_in_register_f32x8(_mm256_set1_ps(p[r][j]));
        SATTN_UNROLL(2)
        for (int y = 0; y < shape.n_vecs; ++y)
            sum[r * shape.n_vecs + y] =
                _mm256_fmadd_ps(p_f32x8, v_f32x8[y], sum[r * shape.n_vecs + y]);
    }
}

/* All bits set where O already holds something, none where it does not. */
SATTN_INLINE __m256 keep_old(const av_tile *tile)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32(tile->is_first ? 0 : -1));
}

/* O = sum or O += sum for one vector of columns, by keep_old. */
SATTN_INLINE void store(float *o, __m256 sum, __m256 keep, __m256i lanes, const bool is_masked)
{
    const __m256 old = is_masked ? vec_load_tail_f32x8(o, lanes) : _mm256_loadu_ps(o);
    sum = _mm256_add_ps(_mm256_and_ps(old, keep), sum);
    if (is_masked)
        vec_store_tail_f32x8(o, lanes, sum);
    else
        _mm256_storeu_ps(o, sum);
}

SATTN_INLINE void columns(const av_tile *tile, int64_t column, const tile_shape shape)
{
    const __m256i last = vec_tail_m8(tile->d_v - column - (shape.n_vecs - 1) * LANES);
    const int64_t v_stride = tile->v_stride;
    const int64_t n_keys = tile->n_keys;
    const int64_t ahead =
        tile->fetch / (shape.n_vecs * VEC_BYTES) * v_stride * (int64_t)sizeof(float);
    const float *v = tile->v + column;
    const float *p[AV_TILE_ROWS]; /* of its own, to stay in registers */
    __m256 sum[MAX_SUMS];
    SATTN_UNROLL(6)
    for (int r = 0; r < shape.n_rows; ++r)
        p[r] = tile->p[r] + tile->p_at;
    SATTN_UNROLL(12)
    for (int i = 0; i < shape.n_rows * shape.n_vecs; ++i)
        sum[i] = _mm256_setzero_ps();
    SATTN_NO_UNROLL
    for (int64_t j = 0; j < n_keys; ++j, v += v_stride) {
        if (shape.n_rows <= FEW)
            key_of_few(sum, p, j, v, last, ahead, shape);
        else
            key_of_many(sum, p, j, v, last, ahead, shape);
    }
    const __m256 keep = keep_old(tile);
    SATTN_UNROLL(12)
    for (int i = 0; i < shape.n_rows * shape.n_vecs; ++i)
        store(tile->o[i / shape.n_vecs] + column + i % shape.n_vecs * LANES, sum[i], keep, last,
              shape.is_masked && (i + 1) % shape.n_vecs == 0);
}

/* The n_vecs vectors of columns from `column` on, at most shape.n_vecs of them. */
SATTN_INLINE void last_columns(const av_tile *tile, int64_t column, int64_t n_vecs,
                               tile_shape shape)
{
    const int n_most = shape.n_vecs;
    if (n_vecs == 1) {
        shape.n_vecs = 1;
        columns(tile, column, shape);
    }
    if (n_most >= 2 && n_vecs == 2) {
        shape.n_vecs = 2;
        columns(tile, column, shape);
    }
    if (n_most >= 3 && n_vecs == 3) {
        shape.n_vecs = 3;
        columns(tile, column, shape);
    }
    if (n_most >= 4 && n_vecs == 4) {
        shape.n_vecs = 4;
        columns(tile, column, shape);
    }
    if (n_most >= 5 && n_vecs == 5) {
        shape.n_vecs = 5;
        columns(tile, column, shape);
    }
    if (n_most >= 6 && n_vecs == 6) {
        shape.n_vecs = 6;
        columns(tile, column, shape);
    }
    if (n_most >= 7 && n_vecs == 7) {
        shape.n_vecs = 7;
        columns(tile, column, shape);
    }
    if (n_most >= 8 && n_vecs == 8) {
        shape.n_vecs = 8;
        columns(tile, column, shape);
    }
    if (n_most >= 9 && n_vecs == 9) {
        shape.n_vecs = 9;
        columns(tile, column, shape);
    }
    if (n_most >= 10 && n_vecs == 10) {
        shape.n_vecs = 10;
        columns(tile, column, shape);
    }
}

/* Whole tiles of n_vecs vectors of columns, and a last one that is narrower, or masked and has at
 * most n_masked vectors. */
SATTN_INLINE void rows(const av_tile *tile, const int n_rows, const int n_vecs, const int n_masked,
                       const bool fetches)
{
    const bool is_masked = tile->d_v % LANES != 0;
    const int64_t width = n_vecs * LANES;
    int64_t column = 0;
    for (; tile->d_v - column >= width; column += width)
        columns(tile, column, (tile_shape){n_rows, n_vecs, false, fetches});
    if (is_masked && tile->d_v - column > n_masked * LANES) {
        const int n_more = n_masked < n_vecs ? n_vecs - n_masked : 1;
        columns(tile, column, (tile_shape){n_rows, n_more, false, fetches});
        column += n_more * LANES;
    }
    const int64_t n_last = (tile->d_v - column + LANES - 1) / LANES;
    if (is_masked)
        last_columns(tile, column, n_last, (tile_shape){n_rows, n_masked, true, fetches});
    else
        last_columns(tile, column, n_last, (tile_shape){n_rows, n_vecs, false, fetches});
}

#endif
