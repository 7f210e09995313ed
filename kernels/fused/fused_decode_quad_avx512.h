/* SPDX-License-Identifier: MIT
 *
 * fused_decode_quad_avx512.h: the scores of few query rows, four rows x four features per vector.
 *
 * With 16 features of one row to a vector (fused_decode_score_avx512.h) each score waits in 16
 * lanes, and bringing these together takes more shuffles than scores. Here a vector holds four
 * neighbouring features of four rows. Those of a key are loaded into all four quarters at once, by
 * the load ports alone, and a score waits in four lanes: 24 shuffles for 64 scores, and 8 that
 * bring those of a row together. That counts where shuffles of 512 bits keep a port from
 * multiply-adds.
 *
 * Tiles are of 8 rows x 8 keys, 16 accumulators that share each key's load among two vectors; a
 * group of up to 4 rows takes 16 keys. Rows that fill up a group are zero. A unit of 16 keys then
 * has its scores in vectors of four rows x four keys, and is transposed by quarters, so that each
 * row's go out in one piece. The last keys, too few for a unit, take tiles of 4.
 *
 * Whatever the tile, lane l of a (row, key) pair takes the features l, l + 4, l + 8 and so on in
 * order, and lanes are added as (0 + 1) + (2 + 3). */
#ifndef SATTN_KERNELS_FUSED_DECODE_QUAD_AVX512_H
#define SATTN_KERNELS_FUSED_DECODE_QUAD_AVX512_H

#include "kernels/fused/fused_decode_avx512.h"
#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx512.h"

enum {
    QUAD = 4,       /* rows, features or keys, as many as quarters of a vector and lanes of one */
    QUAD_TILE = 16, /* accumulators of a register tile */
    QUAD_ROWS = 2 * QUAD, /* rows of the widest tile */
};

/* Quarter c of v[i] <-> quarter i of v[c]. */
SATTN_INLINE void quad_transpose_f32x16(__m512 v[QUAD])
{
    const __m512 low01 = _mm512_shuffle_f32x4(v[0], v[1], 0x44);
    const __m512 high01 = _mm512_shuffle_f32x4(v[0], v[1], 0xee);
    const __m512 low23 = _mm512_shuffle_f32x4(v[2], v[3], 0x44);
    const __m512 high23 = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_f32x4(low01, low23, 0x88);
    v[1] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    v[2] = _mm512_shuffle_f32x4(high01, high23, 0x88);
    v[3] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
}

/* Four rows, scaled, of which n exist; behind them zeros. Four features of all four make a vector,
 * at `to`, and `step` floats further. */
static inline void quad_pack_rows(float *to, int64_t step, const float *const *rows, int n,
                                  int64_t d, float scale)
{
    for (int64_t x = 0; x < d; x += LANES, to += QUAD * step) {
        const __mmask16 lanes = vec_tail_m16(d - x);
        __m512 q_f32x16[QUAD];
        SATTN_UNROLL(4)
        for (int r = 0; r < QUAD; ++r)
            q_f32x16[r] = r < n ? _mm512_maskz_mul_ps(lanes, _mm512_set1_ps(scale),
                                                      vec_load_tail_f32x16(rows[r] + x, lanes))
                                : _mm512_setzero_ps();
        quad_transpose_f32x16(q_f32x16);
        SATTN_UNROLL(4)
        for (int i = 0; i < QUAD; ++i)
            _mm512_storeu_ps(to + i * step, q_f32x16[i]);
    }
}

static inline void quad_pack(fused_decode_state *st, const fused_strip *strip, float scale)
{
    for (int first = 0, n = 0; first < st->n_rows; first += n) {
        float *const to = st->q + first * st->q_pitch;
        n = fused_decode_group_rows(st, first);
        const int64_t step = n > QUAD ? 2 * LANES : LANES;
        for (int r = 0; r < n; r += QUAD)
            quad_pack_rows(to + r * QUAD, step, strip->q + first + r, n - r, st->d, scale);
    }
}

/* The keys of a tile: key j is at[j / per] + j % per * stride. With few pointers `per` is 4; where
 * a key may stand for those behind the last, 1. */
typedef struct quad_keys {
    const float *at[QUAD];
    int64_t stride;
} quad_keys;

/* Four features, or those of them that a tail has: acc[i * n_keys + j] += q[i] k[j]. */
SATTN_INLINE void quad_step(__m512 *acc, const float *q, const quad_keys *keys, __mmask8 lanes,
                            const int n_vecs, const int n_keys, const int per, const bool is_tail)
{
    __m512 q_f32x16[2];
    SATTN_UNROLL(2)
    for (int i = 0; i < n_vecs; ++i)
        q_f32x16[i] = vec_in_register_f32x16(_mm512_loadu_ps(q + i * LANES));
    SATTN_UNROLL(16)
    for (int j = 0; j < n_keys; ++j) {
        const float *const k = keys->at[j / per] + j % per * keys->stride;
        const __m512 k_f32x16 = vec_in_register_f32x16(
            _mm512_broadcast_f32x4(is_tail ? _mm_maskz_loadu_ps(lanes, k) : _mm_loadu_ps(k)));
        SATTN_UNROLL(2)
        for (int i = 0; i < n_vecs; ++i)
            acc[i * n_keys + j] = _mm512_fmadd_ps(k_f32x16, q_f32x16[i], acc[i * n_keys + j]);
    }
}

/* acc[i * n_keys + j] = q[i] . k[j] by lanes, for n_vecs vectors of four rows. With a stream, lines
 * of K are prefetched, as many as the tile reads. */
SATTN_INLINE void quad_tile(__m512 *acc, const float *q, quad_keys keys, int64_t d,
                            vec_stream *stream, const int n_vecs, const int n_keys, const int per)
{
    const int n_lines = n_keys / QUAD;
    SATTN_UNROLL(16)
    for (int i = 0; i < n_vecs * n_keys; ++i)
        acc[i] = _mm512_setzero_ps();
    int64_t left = d;
    SATTN_NO_UNROLL
    for (; left >= QUAD; left -= QUAD, q += n_vecs * LANES) {
        SATTN_KEEP_ORDER();
        if (stream) {
            SATTN_UNROLL(4)
            for (int i = 0; i < n_lines; ++i)
                vec_stream_fetch(stream, i);
        }
        quad_step(acc, q, &keys, 0, n_vecs, n_keys, per, false);
        SATTN_UNROLL(4)
        for (int i = 0; i < n_keys / per; ++i)
            keys.at[i] += QUAD;
        if (stream)
            vec_stream_advance(stream, n_lines);
    }
    if (left > 0)
        quad_step(acc, q, &keys, (__mmask8)vec_tail_m16(left), n_vecs, n_keys, per, true);
}

/* The sums of four accumulators over the lanes of their quarters: quarter r has those of row r for
 * four keys. */
SATTN_INLINE __m512 quad_sums_f32x16(const __m512 acc[QUAD])
{
    __m512 pairs[2];
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pairs[i] = _mm512_add_ps(_mm512_shuffle_ps(acc[2 * i], acc[2 * i + 1], 0x88),
                                 _mm512_shuffle_ps(acc[2 * i], acc[2 * i + 1], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_ps(pairs[0], pairs[1], 0x88),
                         _mm512_shuffle_ps(pairs[0], pairs[1], 0xdd));
}

/* Scores of n_keys keys, of which `first` fours of the unit come before. A unit's scores for vector
 * i of rows are sums[i * QUAD ..], four keys each. */
SATTN_INLINE void quad_score(__m512 *sums, const int first, const float *q, const quad_keys *keys,
                             int64_t d, vec_stream *stream, const int n_vecs, const int n_keys,
                             const int per)
{
    const int n_fours = n_keys / QUAD;
    __m512 acc[QUAD_TILE];
    quad_tile(acc, q, *keys, d, stream, n_vecs, n_keys, per);
    /* One loop, since around one for a single vector clang 14 leaves the tile in memory. */
    SATTN_UNROLL(4)
    for (int i = 0; i < n_vecs * n_fours; ++i)
        sums[i / n_fours * QUAD + first + i % n_fours] = quad_sums_f32x16(acc + i * QUAD);
}

/* A unit of keys from k on, all of which exist. */
SATTN_INLINE void quad_unit(__m512 *sums, const float *q, const float *k, int64_t stride, int64_t d,
                            vec_stream *stream, const int n_vecs)
{
    const int n_keys = QUAD_TILE / n_vecs;
    SATTN_UNROLL(2)
    for (int j = 0; j < FUSED_DECODE_UNIT; j += n_keys) {
        quad_keys keys = {.stride = stride};
        SATTN_UNROLL(4)
        for (int i = 0; i < n_keys / QUAD; ++i)
            keys.at[i] = k + (j + i * QUAD) * stride;
        quad_score(sums, j / QUAD, q, &keys, d, stream, n_vecs, n_keys, QUAD);
    }
}

/* The same where n_left keys exist; behind the last, that or the first again, which keeps the
 * maximum right. */
SATTN_INLINE void quad_last_unit(__m512 *sums, const float *q, const float *k, int64_t stride,
                                 int64_t d, int n_left, const int n_vecs)
{
    SATTN_UNROLL(4)
    for (int j = 0; j < FUSED_DECODE_UNIT; j += QUAD) {
        quad_keys keys = {.stride = stride};
        SATTN_UNROLL(4)
        for (int i = 0; i < QUAD; ++i)
            keys.at[i] = k + (j + i < n_left ? j + i : n_left - 1) * stride;
        if (j < n_left) {
            quad_score(sums, j / QUAD, q, &keys, d, NULL, n_vecs, QUAD, 1);
            continue;
        }
        SATTN_UNROLL(2)
        for (int i = 0; i < n_vecs; ++i)
            sums[i * QUAD + j / QUAD] = sums[i * QUAD];
    }
}

/* Of n_rows rows; of more than four all eight, which have places. */
SATTN_INLINE void quad_store(float *s, __m512 *sums, int n_rows, const int n_vecs)
{
    quad_transpose_f32x16(sums);
    if (n_vecs > 1)
        quad_transpose_f32x16(sums + QUAD);
    SATTN_UNROLL(8)
    for (int r = 0; r < n_vecs * QUAD; ++r)
        if (n_vecs > 1 || r < n_rows)
            _mm512_storeu_ps(s + r * FUSED_DECODE_KEYS, sums[r]);
}

SATTN_INLINE void quad_score_rows(fused_decode_state *st, const fused_decode_block *block,
                                  const fused_decode_part *part, const int n_vecs)
{
    const int64_t d = st->d;
    const int64_t stride = block->k_stride;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    vec_stream stream = vec_stream_of(k, part->k_ahead, d, stride);
    __m512 max_f32x16[2] = {_mm512_set1_ps(-INFINITY), _mm512_set1_ps(-INFINITY)};
    for (int left = part->end - part->begin; left > 0;
         left -= FUSED_DECODE_UNIT, s += FUSED_DECODE_UNIT, k += FUSED_DECODE_UNIT * stride) {
        __m512 sums[QUAD_ROWS];
        if (left >= FUSED_DECODE_UNIT)
            quad_unit(sums, q, k, stride, d, &stream, n_vecs);
        else
            quad_last_unit(sums, q, k, stride, d, left, n_vecs);
        SATTN_UNROLL(8)
        for (int i = 0; i < n_vecs * QUAD; ++i)
            max_f32x16[i / QUAD] = raise_max(max_f32x16[i / QUAD], sums[i]);
        quad_store(s, sums, part->n_rows, n_vecs);
    }
    SATTN_UNROLL(2)
    for (int i = 0; i < n_vecs; ++i)
        store_max(st->block_max + part->row + i * QUAD, max_f32x16[i],
                  n_vecs > 1 ? QUAD : part->n_rows, QUAD);
}

SATTN_NOINLINE void quad_score_8_rows(fused_decode_state *st, const fused_decode_block *block,
                                      const fused_decode_part *part)
{
    quad_score_rows(st, block, part, 2);
}

SATTN_NOINLINE void quad_score_4_rows(fused_decode_state *st, const fused_decode_block *block,
                                      const fused_decode_part *part)
{
    quad_score_rows(st, block, part, 1);
}

static inline void quad_score_part(fused_decode_state *st, const fused_decode_block *block,
                                   const fused_decode_part *part)
{
    if (part->n_rows > QUAD)
        quad_score_8_rows(st, block, part);
    else
        quad_score_4_rows(st, block, part);
}

#endif
