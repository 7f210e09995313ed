/* SPDX-License-Identifier: MIT
 *
 * av_f32_avx2.c: O = P V, 8 columns of V per vector.
 *
 * The method is in av_tiles.h. Tiles of 6 rows x 2 vectors of columns, or 5 x 2, 4 x 2, 3 x 4, 2 x
 * 4 and 1 x 10 for what is left of a strip. The columns behind the last whole tile are one narrower
 * tile; what they leave of a vector is masked.
 *
 * One row of more columns than registers hold is read by halves where V comes from a near cache.
 * Else, and where it is wider still, some rows of V are read side by side, each from front to back,
 * and the sums wait in memory: streams that prefetchers follow. */
#include "kernels/av/av_copy_avx2.h"
#include "kernels/av/av_tile_avx2.h"

enum {
    HALF = 8,                  /* vectors of columns ... */
    HALVES = 2 * HALF * LANES, /* ... and columns up to which two such halves are enough */
    WIDE_KEYS = 4,             /* keys, and vectors of columns, that wide rows take at a time */
    WIDE_VECS = 4,
};

sattn_av_fn sattn_av_f32_avx2;

/* sum += p V for n_keys keys and the vectors of columns from `column` on. */
SATTN_INLINE void wide_step(float *sum, const float *const *v, const __m256 *p_f32x8,
                            int64_t column, __m256i last, const int n_keys, const tile_shape shape)
{
    const int64_t ahead = n_keys > 1 ? n_keys * (v[1] - v[0]) * (int64_t)sizeof(float) : 0;
    __m256 acc[WIDE_VECS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int y = 0; y < shape.n_vecs; ++y)
        acc[y] = _mm256_loadu_ps(sum + column + y * LANES);
    SATTN_UNROLL(4)
    for (int j = 0; j < n_keys; ++j) {
        SATTN_UNROLL(4)
        for (int y = 0; y < shape.n_vecs; ++y)
            acc[y] =
                _mm256_fmadd_ps(p_f32x8[j], load(v[j] + column, y, last, ahead, shape), acc[y]);
    }
    SATTN_UNROLL(4)
    for (int y = 0; y < shape.n_vecs; ++y)
        _mm256_storeu_ps(sum + column + y * LANES, acc[y]);
}

/* sum += p V for n_keys keys from j on. */
SATTN_INLINE void wide_keys(const av_tile *tile, int64_t j, const int n_keys, const bool fetches)
{
    const __m256i last = vec_tail_m8(tile->d_v % LANES);
    const float *v[WIDE_KEYS];
    __m256 p_f32x8[WIDE_KEYS];
    SATTN_UNROLL(4)
    for (int i = 0; i < n_keys; ++i) {
        v[i] = tile->v + (j + i) * tile->v_stride;
        p_f32x8[i] = _mm256_set1_ps(tile->p[0][tile->p_at + j + i]);
    }
    int64_t y = 0;
    SATTN_NO_UNROLL
    for (; y + WIDE_VECS * LANES <= tile->d_v; y += WIDE_VECS * LANES)
        wide_step(tile->sum, v, p_f32x8, y, last, n_keys,
                  (tile_shape){1, WIDE_VECS, false, fetches});
    SATTN_NO_UNROLL
    for (; y + LANES <= tile->d_v; y += LANES)
        wide_step(tile->sum, v, p_f32x8, y, last, n_keys, (tile_shape){1, 1, false, fetches});
    if (y < tile->d_v)
        wide_step(tile->sum, v, p_f32x8, y, last, n_keys, (tile_shape){1, 1, true, fetches});
}

/* One row of many more columns than registers hold: some rows of V are read at once, each from
 * front to back, and the sums wait in memory. */
SATTN_INLINE void wide_row(const av_tile *tile, const bool fetches)
{
    float *const o = tile->o[0];
    for (int64_t y = 0; y < tile->d_v; y += LANES)
        _mm256_storeu_ps(tile->sum + y, _mm256_setzero_ps());
    int64_t j = 0;
    for (; j + WIDE_KEYS <= tile->n_keys; j += WIDE_KEYS)
        wide_keys(tile, j, WIDE_KEYS, fetches);
    for (; j < tile->n_keys; ++j)
        wide_keys(tile, j, 1, false);
    const __m256 keep = keep_old(tile);
    int64_t y = 0;
    for (; y + LANES <= tile->d_v; y += LANES)
        store(o + y, _mm256_loadu_ps(tile->sum + y), keep, _mm256_setzero_si256(), false);
    if (y < tile->d_v)
        store(o + y, _mm256_loadu_ps(tile->sum + y), keep, vec_tail_m8(tile->d_v - y), true);
}

/* One function per number of rows, so that a tile's pointers find registers. */
SATTN_NOINLINE void one_narrow_row(const av_tile *tile)
{
    rows(tile, 1, MAX_VECS, MAX_VECS, false);
}

SATTN_NOINLINE void one_narrow_row_fetch(const av_tile *tile)
{
    rows(tile, 1, MAX_VECS, MAX_VECS, true);
}

SATTN_NOINLINE void one_row_by_halves(const av_tile *tile)
{
    rows(tile, 1, HALF, HALF, false);
}

SATTN_NOINLINE void one_wide_row(const av_tile *tile)
{
    wide_row(tile, false);
}

SATTN_NOINLINE void one_wide_row_fetch(const av_tile *tile)
{
    wide_row(tile, true);
}

static void one_row(const av_tile *tile)
{
    if (tile->d_v <= MAX_VECS * LANES)
        tile->fetch ? one_narrow_row_fetch(tile) : one_narrow_row(tile);
    else if (tile->fetch)
        one_wide_row_fetch(tile);
    else
        tile->d_v <= HALVES ? one_row_by_halves(tile) : one_wide_row(tile);
}

SATTN_NOINLINE void two_rows(const av_tile *tile)
{
    rows(tile, 2, 4, 4, true);
}

SATTN_NOINLINE void three_rows(const av_tile *tile)
{
    rows(tile, 3, 4, 3, true);
}

SATTN_NOINLINE void four_rows(const av_tile *tile)
{
    rows(tile, 4, 2, 2, true);
}

SATTN_NOINLINE void five_rows(const av_tile *tile)
{
    rows(tile, 5, 2, 2, true);
}

SATTN_NOINLINE void six_rows(const av_tile *tile)
{
    rows(tile, 6, 2, 1, false);
}

SATTN_NOINLINE void six_rows_fetch(const av_tile *tile)
{
    rows(tile, 6, 2, 1, true);
}

static int tile_rows(int n_left)
{
    return n_left == 7 ? 4 : n_left > 6 ? 6 : n_left;
}

static void accumulate(const av_tile *tile)
{
    switch (tile->n_rows) {
    case 1:
        one_row(tile);
        break;
    case 2:
        two_rows(tile);
        break;
    case 3:
        three_rows(tile);
        break;
    case 4:
        four_rows(tile);
        break;
    case 5:
        five_rows(tile);
        break;
    default:
        if (tile->fetch)
            six_rows_fetch(tile);
        else
            six_rows(tile);
        break;
    }
}

void sattn_av_f32_avx2(const sattn_av_args *args)
{
    static const av_ops ops = {.strip_rows = 60,
                               .piece_bytes = 128 << 10,
                               .tile_rows = tile_rows,
                               .copy = av_copy,
                               .accumulate = accumulate};
    av_run(args, &ops);
}
