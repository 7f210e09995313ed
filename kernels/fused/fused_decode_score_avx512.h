/* SPDX-License-Identifier: MIT
 *
 * fused_decode_score_avx512.h: the scores of few query rows, 16 features per vector.
 *
 * 16 accumulators, for 1 row x 16 keys, 2 x 8, 4 x 4 (3 x 4) or, from memory, 8 x 2, each over all
 * features, then one transposing reduction. Four rows are skewed for it (score_skew_avx512.h); rows
 * that fill up eight are zero.
 *
 * Memory is read fastest as one stream, from front to back. One or two rows of a usual width stay
 * in registers, so keys take turns. More rows meet the keys of a tile side by side, which loads Q
 * once for these; prefetching from memory keeps to the order of K (vec/fetch.h). */
#ifndef SATTN_KERNELS_FUSED_DECODE_SCORE_AVX512_H
#define SATTN_KERNELS_FUSED_DECODE_SCORE_AVX512_H

#include "kernels/fused/fused_decode_avx512.h"
#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/score_skew_avx512.h"
#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    TILE = 16, /* accumulators of a register tile */
    WIDE = 256 /* features beyond which one row takes several vectors per turn */
};

/* n_rows vectors of each step: those of the rows of a group, scaled, of which n exist; behind them
 * zeros. At `to`, and `step` floats further. */
SATTN_INLINE void pack_rows(float *to, int64_t step, const float *const *rows, int n, int64_t d,
                            float scale, const int n_rows)
{
    for (int64_t x = 0; x < d; x += SCORE_LANES, to += step) {
        const __mmask16 lanes = vec_tail_m16(d - x);
        __m512 q_f32x16[SCORE_GROUP];
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            q_f32x16[r] = r < n ? _mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale),
                                                      vec_load_tail_f32x16(rows[r] + x, lanes))
                                : _mm512_setzero_ps();
        if (n_rows == SCORE_GROUP)
            score_skew_f32x16(q_f32x16);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            _mm512_storeu_ps(to + r * SCORE_LANES, q_f32x16[r]);
    }
}

static inline void pack(fused_decode_state *st, const fused_strip *strip, float scale)
{
    for (int first = 0, n = 0; first < st->n_rows; first += n) {
        const float *const *const rows = strip->q + first;
        float *const to = st->q + first * st->q_pitch;
        n = fused_decode_group_rows(st, first);
        const int64_t step = (n > SCORE_GROUP ? SCORE_WIDE : n) * SCORE_LANES;
        for (int r = 0; n >= SCORE_GROUP && r < n; r += SCORE_GROUP)
            pack_rows(to + r * SCORE_LANES, step, rows + r, n - r, st->d, scale, SCORE_GROUP);
        for (int r = 0; n < SCORE_GROUP && r < n; ++r)
            pack_rows(to + r * SCORE_LANES, step, rows + r, 1, st->d, scale, 1);
    }
}

SATTN_INLINE void score_1_row(fused_decode_state *st, const fused_decode_block *block,
                              const fused_decode_part *part, const int n_vecs,
                              const score_fetch fetch)
{
    const int64_t whole = st->d / SCORE_LANES * SCORE_LANES;
    const __mmask16 tail = vec_tail_m16(st->d - whole);
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0; left -= TILE, s += TILE) {
        __m512 acc[TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < TILE; ++i, k += stride) /* a key again keeps the maximum right */
            acc[i] = i < left ? score_key_f32x16(q, k, whole, tail, ahead, n_vecs, fetch) : acc[0];
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        _mm512_storeu_ps(s, tile_f32x16);
    }
    st->block_max[part->row] = vec_hmax_f32x16(max_f32x16);
}

/* The sums of a tile's accumulators over their lanes: those of each row side by side. */
SATTN_INLINE __m512 sum_tile(__m512 acc[TILE], const int n_rows, const int n_keys)
{
    if (n_rows == SCORE_GROUP) {
        __m512 keys_f32x16[SCORE_GROUP];
        SATTN_UNROLL(4)
        for (int j = 0; j < n_keys; ++j)
            keys_f32x16[j] = score_skew_key_f32x16(acc, j, n_keys);
        return score_skew_sums_f32x16(keys_f32x16);
    }
    SATTN_UNROLL(16)
    for (int i = n_rows * n_keys; i < TILE; ++i)
        acc[i] = _mm512_setzero_ps();
    return vec_hsum_rows_f32x16(acc);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m512 tile_f32x16, const int n_rows, const int n_keys)
{
    if (n_keys == 8) {
        _mm256_storeu_ps(s, _mm512_castps512_ps256(tile_f32x16));
        _mm256_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_storeu_ps(s, _mm512_castps512_ps128(tile_f32x16));
    _mm_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s + 2 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_storeu_ps(s + 3 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 3));
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
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0;
         left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[SCORE_KEYS];
        __m512 acc[TILE];
        score_group_keys(rows, k, stride, left, n_keys);
        score_tile_f32x16(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        const __m512 tile_f32x16 = sum_tile(acc, n_rows, n_keys);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        store_tile(s, tile_f32x16, n_rows, n_keys);
    }
    store_max(st->block_max + part->row, max_f32x16, n_rows, n_keys);
}

/* One or two rows of n_vecs vectors, which stay in registers, against keys one after the other, as
 * they lie. Their accumulators wait in memory for the reduction. */
SATTN_INLINE void score_in_order(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part, const int n_rows, const int n_vecs,
                                 const score_fetch fetch)
{
    const int n_keys = TILE / n_rows;
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    float *const dots = st->dots;
    __m512 q_f32x16[TILE];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        q_f32x16[i] = vec_in_register_f32x16(_mm512_loadu_ps(q + i * SCORE_LANES));
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0; left -= n_keys, s += n_keys) {
        SATTN_NO_UNROLL
        for (int j = 0; j < n_keys; ++j) {
            score_key_of_rows(dots + j * SCORE_LANES, n_keys * SCORE_LANES, q_f32x16, k, ahead,
                              n_rows, n_vecs, fetch);
            k += j + 1 < left ? stride : 0; /* the last key again keeps the maximum right */
        }
        __m512 acc[TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < TILE; ++i)
            acc[i] = _mm512_loadu_ps(dots + i * SCORE_LANES);
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        if (n_rows == 1)
            _mm512_storeu_ps(s, tile_f32x16);
        else
            store_tile(s, tile_f32x16, n_rows, n_keys);
    }
    if (n_rows == 1)
        st->block_max[part->row] = vec_hmax_f32x16(max_f32x16);
    else
        store_max(st->block_max + part->row, max_f32x16, n_rows, n_keys);
}

/* 5 to 8 rows meet two keys at a time, and of two such tiles the sums are taken together. */
SATTN_NOINLINE void score_wide_rows(fused_decode_state *st, const fused_decode_block *block,
                                    const fused_decode_part *part)
{
    const int64_t d = st->d;
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    __m512 max_f32x16[2] = {_mm512_set1_ps(-INFINITY), _mm512_set1_ps(-INFINITY)};
    for (int left = part->end - part->begin; left > 0; left -= 4, s += 4, k += 4 * stride) {
        const float *rows[SCORE_KEYS];
        __m512 keys_f32x16[2][4];
        score_group_keys(rows, k, stride, left, 4);
        SATTN_UNROLL(2)
        for (int pair = 0; pair < 4; pair += 2) {
            __m512 acc[TILE];
            score_tile_f32x16(acc, q, rows + pair, d, ahead, SCORE_WIDE, 2, SCORE_FETCH_STREAM);
            SATTN_UNROLL(4)
            for (int i = 0; i < 4; ++i)
                keys_f32x16[i / 2][pair + i % 2] =
                    score_skew_key_f32x16(acc + i / 2 * (TILE / 2), i % 2, 2);
        }
        SATTN_UNROLL(2)
        for (int half = 0; half < 2; ++half) {
            const __m512 tile_f32x16 = score_skew_sums_f32x16(keys_f32x16[half]);
            max_f32x16[half] = raise_max(max_f32x16[half], tile_f32x16);
            store_tile(s + half * SCORE_GROUP * FUSED_DECODE_KEYS, tile_f32x16, 4, 4);
        }
    }
    SATTN_UNROLL(2)
    for (int half = 0; half < 2; ++half)
        store_max(st->block_max + part->row + half * SCORE_GROUP, max_f32x16[half], 4, 4);
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers. */
SATTN_NOINLINE void score_narrow_row(fused_decode_state *st, const fused_decode_block *block,
                                     const fused_decode_part *part)
{
    if (part->is_followed)
        score_1_row(st, block, part, 1, SCORE_FETCH_NONE);
    else
        score_1_row(st, block, part, 1, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_wide_row(fused_decode_state *st, const fused_decode_block *block,
                                   const fused_decode_part *part)
{
    if (part->is_followed)
        score_1_row(st, block, part, 4, SCORE_FETCH_NONE);
    else
        score_1_row(st, block, part, 4, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_1_row_of_64(fused_decode_state *st, const fused_decode_block *block,
                                      const fused_decode_part *part)
{
    if (part->is_followed)
        score_in_order(st, block, part, 1, 4, SCORE_FETCH_NONE);
    else
        score_in_order(st, block, part, 1, 4, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_1_row_of_128(fused_decode_state *st, const fused_decode_block *block,
                                       const fused_decode_part *part)
{
    if (part->is_followed)
        score_in_order(st, block, part, 1, 8, SCORE_FETCH_NONE);
    else
        score_in_order(st, block, part, 1, 8, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_2_rows_of_64(fused_decode_state *st, const fused_decode_block *block,
                                       const fused_decode_part *part)
{
    score_in_order(st, block, part, 2, 4, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_2_rows_of_128(fused_decode_state *st, const fused_decode_block *block,
                                        const fused_decode_part *part)
{
    score_in_order(st, block, part, 2, 8, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_2_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->is_far)
        score_rows(st, block, part, 2, 8, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 2, 8, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_3_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->is_far)
        score_rows(st, block, part, 3, 4, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 3, 4, SCORE_FETCH_BY_OFFSET);
}

SATTN_NOINLINE void score_4_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->is_far)
        score_rows(st, block, part, 4, 4, SCORE_FETCH_STREAM);
    else
        score_rows(st, block, part, 4, 4, SCORE_FETCH_BY_OFFSET);
}

static inline void score(fused_decode_state *st, const fused_decode_block *block,
                         const fused_decode_part *part)
{
    if (part->n_rows > 4)
        score_wide_rows(st, block, part);
    else if (part->n_rows == 4)
        score_4_rows(st, block, part);
    else if (part->n_rows == 3)
        score_3_rows(st, block, part);
    else if (part->n_rows == 2 && st->d == 64)
        score_2_rows_of_64(st, block, part);
    else if (part->n_rows == 2 && st->d == 128)
        score_2_rows_of_128(st, block, part);
    else if (part->n_rows == 2)
        score_2_rows(st, block, part);
    else if (st->d == 64)
        score_1_row_of_64(st, block, part);
    else if (st->d == 128)
        score_1_row_of_128(st, block, part);
    else if (st->d > WIDE)
        score_wide_row(st, block, part);
    else
        score_narrow_row(st, block, part);
}

#endif
