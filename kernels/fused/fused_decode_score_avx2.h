/* SPDX-License-Identifier: MIT
 *
 * fused_decode_score_avx2.h: the scores of few query rows, 8 features per vector.
 *
 * 8 accumulators, for 2 rows x 4 keys, 4 x 2 (3 x 2) or one wide row x 8, each over all features,
 * then one transposing reduction. Whatever a tile reads, it prefetches K line by line in order. For
 * one wide row it need not if the core follows rows (fused_decode_fetch.h); narrow ones, and V,
 * gain nothing by that.
 *
 * One row uses each vector of K but once, so the order of reading counts. Up to SCORE_NARROW
 * vectors wide, it takes key by key in a loop so short that each of its loads steps by one row of
 * K: the core follows loads of a small, steady step into the first cache, but not the loads of a
 * long loop, nor keys side by side. Most of Q stays in registers. The lanes of a key's products are
 * stored, and added up for 8 keys at a time. */
#ifndef SATTN_KERNELS_FUSED_DECODE_SCORE_AVX2_H
#define SATTN_KERNELS_FUSED_DECODE_SCORE_AVX2_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/score_tile_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum {
    TILE = 8,          /* accumulators of a register tile */
    SCORE_NARROW = 16, /* most vectors of features of a row that meets key by key */
    SCORE_HELD = 12,   /* most vectors of Q in registers */
};

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m256 raise_max(__m256 max_f32x8, __m256 s_f32x8)
{
    return _mm256_max_ps(s_f32x8, max_f32x8);
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores, and from that over
 * earlier parts of the block, if any. */
SATTN_INLINE void store_max(float *block_max, __m256 max_f32x8, bool is_first, const int n_rows,
                            const int n_keys)
{
    float lanes[SCORE_LANES];
    max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0xb1));
    if (n_keys >= 4)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0x4e));
    if (n_keys == TILE)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute2f128_ps(max_f32x8, max_f32x8, 1));
    _mm256_storeu_ps(lanes, max_f32x8);
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r) {
        const float max = lanes[r * n_keys];
        block_max[r] = is_first || max > block_max[r] ? max : block_max[r];
    }
}

/* What one narrow row works on. */
typedef struct score_step {
    __m256i last;   /* lanes of the last vector of features */
    const float *q; /* of the row */
    const float *k; /* of the first key */
    float *dots;    /* of the first key */
    int64_t stride;
    int64_t ahead; /* bytes from a row of K to the one that is prefetched with it */
    int n_keys;
} score_step;

/* dots = q . k by lanes, for n_vecs vectors of features */
SATTN_INLINE void score_keys(const score_step *step, const int n_vecs)
{
    const int n_held = n_vecs < SCORE_HELD ? n_vecs : SCORE_HELD;
    const __m256i last = step->last;
    const int64_t stride = step->stride;
    const int64_t ahead = step->ahead;
    const float *const q = step->q;
    const float *k = step->k;
    float *dots = step->dots;
    float *const end = dots + step->n_keys * SCORE_LANES;
    __m256 q_f32x8[SCORE_HELD];
    SATTN_UNROLL(12)
    for (int x = 0; x < n_held; ++x)
        q_f32x8[x] = vec_in_register_f32x8(_mm256_loadu_ps(q + x * SCORE_LANES));
    SATTN_NO_UNROLL
    for (; dots < end; dots += SCORE_LANES, k += stride) {
        __m256 acc = _mm256_setzero_ps();
        SATTN_UNROLL(16)
        for (int x = 0; x < n_vecs; ++x) {
            SATTN_KEEP_ORDER();
            const float *const at = k + x * SCORE_LANES;
            const __m256 k_f32x8 =
                x + 1 < n_vecs ? _mm256_loadu_ps(at) : vec_load_tail_f32x8(at, last);
            if (x % 2 == 0)
                vec_fetch(at, ahead);
            acc = _mm256_fmadd_ps(x < n_held ? q_f32x8[x] : _mm256_loadu_ps(q + x * SCORE_LANES),
                                  k_f32x8, acc);
        }
        _mm256_storeu_ps(dots, acc);
    }
}

SATTN_NOINLINE void score_any_width(const score_step *step, int n_vecs)
{
    switch (n_vecs) {
    case 1:
        score_keys(step, 1);
        break;
    case 2:
        score_keys(step, 2);
        break;
    case 3:
        score_keys(step, 3);
        break;
    case 4:
        score_keys(step, 4);
        break;
    case 5:
        score_keys(step, 5);
        break;
    case 6:
        score_keys(step, 6);
        break;
    case 7:
        score_keys(step, 7);
        break;
    case 8:
        score_keys(step, 8);
        break;
    case 9:
        score_keys(step, 9);
        break;
    case 10:
        score_keys(step, 10);
        break;
    case 11:
        score_keys(step, 11);
        break;
    case 12:
        score_keys(step, 12);
        break;
    case 13:
        score_keys(step, 13);
        break;
    case 14:
        score_keys(step, 14);
        break;
    case 15:
        score_keys(step, 15);
        break;
    default:
        score_keys(step, SCORE_NARROW);
    }
}

SATTN_NOINLINE void score_narrow_row(fused_decode_state *st, const fused_decode_block *block,
                                     const fused_decode_part *part)
{
    const int n_keys = part->end - part->begin;
    const int64_t n_vecs = (st->d + SCORE_LANES - 1) / SCORE_LANES;
    const score_step step = {.last = vec_tail_m8(st->d - (n_vecs - 1) * SCORE_LANES),
                             .q = st->q + part->row * st->q_pitch,
                             .k = block->k + part->begin * block->k_stride,
                             .dots = st->dots,
                             .stride = block->k_stride,
                             .ahead = part->k_ahead,
                             .n_keys = n_keys};
    float *const s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
    score_any_width(&step, (int)n_vecs);
    for (int j = n_keys; j % TILE; ++j) /* a key again keeps the maximum right */
        _mm256_storeu_ps(st->dots + j * SCORE_LANES, _mm256_loadu_ps(st->dots));
    for (int j = 0; j < n_keys; j += TILE) {
        __m256 dots_f32x8[TILE];
        SATTN_UNROLL(8)
        for (int i = 0; i < TILE; ++i)
            dots_f32x8[i] = _mm256_loadu_ps(st->dots + (j + i) * SCORE_LANES);
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(dots_f32x8);
        max_f32x8 = raise_max(max_f32x8, tile_f32x8);
        _mm256_storeu_ps(s + j, tile_f32x8);
    }
    store_max(st->block_max + part->row, max_f32x8, part->begin == 0, 1, TILE);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m256 tile_f32x8, const int n_rows, const int n_keys)
{
    const __m128 low = _mm256_castps256_ps128(tile_f32x8);
    const __m128 high = _mm256_extractf128_ps(tile_f32x8, 1);
    if (n_keys == 8) {
        _mm256_storeu_ps(s, tile_f32x8);
    } else if (n_keys == 4) {
        _mm_storeu_ps(s, low);
        _mm_storeu_ps(s + FUSED_DECODE_KEYS, high);
    } else {
        _mm_storel_pi((__m64 *)(void *)s, low);
        _mm_storeh_pi((__m64 *)(void *)(s + FUSED_DECODE_KEYS), low);
        _mm_storel_pi((__m64 *)(void *)(s + 2 * FUSED_DECODE_KEYS), high);
        if (n_rows > 3)
            _mm_storeh_pi((__m64 *)(void *)(s + 3 * FUSED_DECODE_KEYS), high);
    }
}

SATTN_INLINE void score_rows(fused_decode_state *st, const fused_decode_block *block,
                             const fused_decode_part *part, const int n_rows, const int n_keys,
                             const score_fetch fetch)
{
    const int64_t d = st->d;
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0;
         left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[SCORE_KEYS];
        __m256 acc[TILE];
        score_group_keys(rows, k, stride, left, n_keys);
        score_tile_f32x8(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        SATTN_UNROLL(8)
        for (int i = n_rows * n_keys; i < TILE; ++i)
            acc[i] = _mm256_setzero_ps();
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(acc);
        max_f32x8 = raise_max(max_f32x8, tile_f32x8);
        store_tile(s, tile_f32x8, n_rows, n_keys);
    }
    store_max(st->block_max + part->row, max_f32x8, part->begin == 0, n_rows, n_keys);
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers. */
SATTN_NOINLINE void score_wide_row(fused_decode_state *st, const fused_decode_block *block,
                                   const fused_decode_part *part)
{
    if (part->is_followed)
        score_rows(st, block, part, 1, 8, SCORE_FETCH_NONE);
    else
        score_rows(st, block, part, 1, 8, SCORE_FETCH_STREAM);
}

SATTN_NOINLINE void score_2_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->k_ahead)
        score_rows(st, block, part, 2, 4, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 2, 4, SCORE_FETCH_NONE);
}

SATTN_NOINLINE void score_3_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->k_ahead)
        score_rows(st, block, part, 3, 2, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 3, 2, SCORE_FETCH_NONE);
}

SATTN_NOINLINE void score_4_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->k_ahead)
        score_rows(st, block, part, 4, 2, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 4, 2, SCORE_FETCH_NONE);
}

static inline void score(fused_decode_state *st, const fused_decode_block *block,
                         const fused_decode_part *part)
{
    if (part->n_rows == 4)
        score_4_rows(st, block, part);
    else if (part->n_rows == 3)
        score_3_rows(st, block, part);
    else if (part->n_rows == 2)
        score_2_rows(st, block, part);
    else if (st->d > SCORE_NARROW * SCORE_LANES)
        score_wide_row(st, block, part);
    else
        score_narrow_row(st, block, part);
}

#endif
