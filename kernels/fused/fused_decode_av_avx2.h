/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_avx2.h: the AV product of few query rows, lanes over columns of V.
 *
 * Every column has one sum for each row, from zero in each block, which takes the keys in order.
 *
 * For several rows a tile is rows x vectors of columns in registers, 6 x 2, 5 x 2, 4 x 3, 3 x 4 or
 * 2 x 4. From a cache it takes all keys of the block, and with each line of V prefetches the one
 * some rows below. Memory has to be read in the order in which V lies: there a tile takes a unit of
 * keys, which the first cache holds for all columns, four rows a line of V at a time, and its sums
 * wait in memory for the next unit.
 *
 * One row has loops of its own (fused_decode_av_row_avx2.h). */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H
#define SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H

#include "kernels/fused/fused_decode_av_row_avx2.h"
#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx2.h"

enum {
    AV_TILE = 12, /* most accumulators of a register tile */
    AV_ROWS = 6,  /* most rows of it */
    AV_VECS = 4,  /* most vectors of columns of it */
};

/* Beside four rows. A tile of 4 x 3 takes all 16 registers, which clang 19 does not manage without
 * the stack; gcc and clang 14 do. */
#if defined(__clang__) && __clang_major__ > 14
enum { AV_VECS_OF_FOUR = 2 };
#else
enum { AV_VECS_OF_FOUR = 3 };
#endif

/* How a tile prefetches V. */
typedef enum av_fetch {
    AV_FETCH_NONE,
    AV_FETCH_BELOW,  /* from each line that is read, the one some rows below */
    AV_FETCH_STREAM, /* line by line in the order in which they lie, whatever is read */
} av_fetch;

/* The weight of one key for row r. */
SATTN_INLINE __m256 av_weight(const float *s, const int r)
{
    return vec_in_register_f32x8(_mm256_set1_ps(s[r * FUSED_DECODE_KEYS]));
}

/* acc[r][y] += s[r] v[y] for the keys of a step and n_vecs vectors of columns from `column` on. The
 * weights of few rows stay in registers while V passes, else V while the weights pass. */
SATTN_INLINE void av_keys(const av_step *step, __m256 *acc, int64_t column, vec_stream *stream,
                          const int n_rows, const int n_vecs, const bool is_tail,
                          const av_fetch fetch)
{
    const __m256i tail = step->tail;
    const int64_t stride = step->v_stride;
    const int64_t ahead = step->ahead;
    const float *v = step->v + column;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    const bool few = n_rows <= n_vecs;
    SATTN_NO_UNROLL
    for (; s < end; ++s, v += stride) {
        __m256 p_f32x8[AV_ROWS];
        __m256 v_f32x8[AV_VECS];
        SATTN_KEEP_ORDER();
        SATTN_UNROLL(6)
        for (int r = 0; few && r < n_rows; ++r)
            p_f32x8[r] = av_weight(s, r);
        SATTN_UNROLL(4)
        for (int y = 0; y < n_vecs; ++y) {
            const float *const from = v + y * AV_LANES;
            v_f32x8[y] = vec_in_register_f32x8(is_tail ? vec_load_tail_f32x8(from, tail)
                                                       : _mm256_loadu_ps(from));
            if (fetch == AV_FETCH_STREAM && y % 2 == 0)
                vec_stream_fetch(stream, y / 2);
            if (fetch == AV_FETCH_BELOW && y % 2 == 0)
                vec_fetch(from, ahead);
            SATTN_UNROLL(6)
            for (int r = 0; few && r < n_rows; ++r)
                acc[r * n_vecs + y] = _mm256_fmadd_ps(p_f32x8[r], v_f32x8[y], acc[r * n_vecs + y]);
        }
        SATTN_UNROLL(6)
        for (int r = 0; !few && r < n_rows; ++r) {
            p_f32x8[r] = av_weight(s, r);
            SATTN_UNROLL(4)
            for (int y = 0; y < n_vecs; ++y)
                acc[r * n_vecs + y] = _mm256_fmadd_ps(p_f32x8[r], v_f32x8[y], acc[r * n_vecs + y]);
        }
        if (fetch == AV_FETCH_STREAM)
            vec_stream_advance(stream, (n_vecs + 1) / 2);
    }
}

/* The sums of a tile over the keys of a step: from zero or from `sum`, to `o` or back to `sum`. */
SATTN_INLINE void av_tile(const av_step *step, int64_t column, vec_stream *stream, const int n_rows,
                          const int n_vecs, const bool is_tail, const av_fetch fetch)
{
    const int64_t pitch = step->pitch;
    float *const sum = step->sum + column;
    float *const o = step->o + column;
    vec_stream next = *stream;
    __m256 acc[AV_TILE];
    SATTN_UNROLL(12)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_setzero_ps();
    if (!step->is_first) {
        SATTN_UNROLL(12)
        for (int i = 0; i < n_rows * n_vecs; ++i)
            acc[i] = _mm256_loadu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES);
    }
    av_keys(step, acc, column, &next, n_rows, n_vecs, is_tail, fetch);
    *stream = next;
    if (!step->is_last) {
        SATTN_UNROLL(12)
        for (int i = 0; i < n_rows * n_vecs; ++i)
            _mm256_storeu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES, acc[i]);
        return;
    }
    SATTN_UNROLL(12)
    for (int i = 0; i < n_rows * n_vecs; ++i) {
        float *const to = o + i / n_vecs * pitch + i % n_vecs * AV_LANES;
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), acc[i]));
    }
}

/* All columns of a step in tiles of `widest` vectors, and narrower ones for the rest. */
SATTN_INLINE void av_columns(const av_step *step, vec_stream *stream, const int n_rows,
                             const int widest, const av_fetch fetch)
{
    const int64_t whole = step->d_v / AV_LANES;
    int64_t y = 0;
    for (; whole - y >= widest && (widest != 3 || whole - y != 4); y += widest)
        av_tile(step, y * AV_LANES, stream, n_rows, widest, false, fetch);
    for (; widest > 2 && whole - y >= 2; y += 2)
        av_tile(step, y * AV_LANES, stream, n_rows, 2, false, fetch);
    if (y < whole)
        av_tile(step, y * AV_LANES, stream, n_rows, 1, false, fetch);
    if (whole * AV_LANES < step->d_v)
        av_tile(step, whole * AV_LANES, stream, n_rows, 1, true, fetch);
}

/* The same by units of keys, while the lines of V are prefetched in the order in which they lie. */
SATTN_INLINE void av_units(const av_step *all, const int n_rows, const int widest)
{
    vec_stream stream = vec_stream_of(all->v, all->ahead, all->d_v, all->v_stride);
    for (int j = 0; j < all->n_keys; j += FUSED_DECODE_UNIT) {
        const int left = all->n_keys - j;
        av_step step = *all;
        step.n_keys = left < FUSED_DECODE_UNIT ? left : FUSED_DECODE_UNIT;
        step.s += j;
        step.v += j * all->v_stride;
        step.is_first = all->is_first && j == 0;
        step.is_last = all->is_last && left <= FUSED_DECODE_UNIT;
        av_columns(&step, &stream, n_rows, widest, AV_FETCH_STREAM);
    }
}

SATTN_INLINE void av_rows(const av_step *step, const int n_rows, const int widest)
{
    vec_stream none = {0};
    if (n_rows <= SCORE_GROUP && step->ahead && step->is_far)
        av_units(step, n_rows, n_rows == SCORE_GROUP ? 2 : widest);
    else if (step->ahead)
        av_columns(step, &none, n_rows, widest, AV_FETCH_BELOW);
    else
        av_columns(step, &none, n_rows, widest, AV_FETCH_NONE);
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers. */
SATTN_NOINLINE void av_2_rows(const av_step *step)
{
    av_rows(step, 2, 4);
}

SATTN_NOINLINE void av_3_rows(const av_step *step)
{
    av_rows(step, 3, 4);
}

SATTN_NOINLINE void av_4_rows(const av_step *step)
{
    av_rows(step, 4, AV_VECS_OF_FOUR);
}

SATTN_NOINLINE void av_5_rows(const av_step *step)
{
    av_rows(step, 5, 2);
}

SATTN_NOINLINE void av_6_rows(const av_step *step)
{
    av_rows(step, 6, 2);
}

/* Rows of the next group from a cache; those of the scores would read V more often. */
static inline int av_group_rows(int n_left)
{
    if (n_left == 7 || n_left == 8)
        return 4;
    return n_left < AV_ROWS ? n_left : AV_ROWS;
}

static inline void av_group(const fused_decode_state *st, const fused_decode_block *block,
                            const fused_decode_part *part)
{
    const int64_t at = part->row * st->o_pitch;
    const av_step step = {.s = st->s + part->row * FUSED_DECODE_KEYS + part->begin,
                          .v = block->v + part->begin * block->v_stride,
                          .o = st->o + at,
                          .sum = st->sum + at,
                          .pitch = st->o_pitch,
                          .v_stride = block->v_stride,
                          .d_v = st->d_v,
                          .ahead = part->v_ahead,
                          .n_keys = part->end - part->begin,
                          .is_far = part->is_far,
                          .is_first = part->begin == 0,
                          .is_last = part->end == block->n_keys,
                          .tail = vec_tail_m8((st->d_v - 1) % AV_LANES + 1)};
    if (part->n_rows == 6)
        av_6_rows(&step);
    else if (part->n_rows == 5)
        av_5_rows(&step);
    else if (part->n_rows == 4)
        av_4_rows(&step);
    else if (part->n_rows == 3)
        av_3_rows(&step);
    else if (part->n_rows == 2)
        av_2_rows(&step);
    else
        av_1_row(&step);
}

#endif
