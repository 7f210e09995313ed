/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_avx2.h: the AV product of few query rows, lanes over columns of V.
 *
 * A tile is rows x vectors of columns in registers, one broadcast weight per row and key. A single
 * row has no use for V but once, so there the speed of memory counts: wide rows of V are read from
 * front to back, a few side by side, and added to a row of sums that stays in the first cache. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H
#define SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx2.h"

enum {
    AV_LANES = 8,
    AV_TILE = 9,    /* most accumulators of a register tile */
    AV_COLUMNS = 8, /* most vectors of columns of a register tile */
    AV_STREAMS = 8, /* most rows of V that are read side by side */
};

/* What the AV product of one group of rows works on. */
typedef struct av_step {
    __m256i tail; /* lanes of the columns behind n_vecs, if any */
    fused_fetch_lines lines;
    const float *s; /* weights of the first key */
    const float *v; /* row of the first key */
    float *o;
    float *sum; /* of the block, for av_wide */
    int64_t o_pitch, v_stride;
    int64_t n_vecs; /* whole vectors of columns */
    int n_keys;
    bool has_tail;
} av_step;

SATTN_INLINE __m256 av_load(const float *v, __m256i tail, const bool is_tail)
{
    return is_tail ? vec_load_tail_f32x8(v, tail) : _mm256_loadu_ps(v);
}

/* acc[r * pitch + y] += s[r] v[y] for one key and n_vecs vectors of columns */
SATTN_INLINE void av_key(__m256 *acc, const float *s, const float *v, __m256i tail,
                         const fused_fetch_lines *lines, const int n_rows, const int n_vecs,
                         const int pitch, const bool is_tail, const fused_fetch fetch)
{
    __m256 v_f32x8[AV_COLUMNS / 2];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int y = 0; y < n_vecs; ++y) {
        v_f32x8[y] = av_load(v + y * AV_LANES, tail, is_tail);
        if (fetch == FUSED_FETCH_OWN && y % 2 == 0)
            vec_fetch(v + y * AV_LANES, lines->ahead);
        if (fetch == FUSED_FETCH_NEXT && y < 2)
            vec_fetch(y == 0 ? lines->k : lines->v, 0);
        if (n_rows > 1)
            v_f32x8[y] = vec_in_register_f32x8(v_f32x8[y]);
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r) {
        const __m256 p_f32x8 = _mm256_set1_ps(s[r * FUSED_DECODE_KEYS]);
        SATTN_UNROLL(4)
        for (int y = 0; y < n_vecs; ++y)
            acc[r * pitch + y] = _mm256_fmadd_ps(p_f32x8, v_f32x8[y], acc[r * pitch + y]);
    }
}

/* o += s v for n_rows rows and the n_vecs vectors of columns from `column` on; not all of the 8
 * that one row may have at once, since registers do not hold V and the sums of so many. */
SATTN_INLINE void av_tile(av_step *step, int64_t column, const int n_rows, const int n_vecs,
                          const bool is_tail, const fused_fetch fetch)
{
    const int half = n_vecs < AV_COLUMNS / 2 ? n_vecs : AV_COLUMNS / 2;
    const __m256i tail = step->tail;
    const int64_t v_stride = step->v_stride;
    fused_fetch_lines lines = {.ahead = step->lines.ahead};
    if (fetch == FUSED_FETCH_NEXT)
        lines = step->lines;
    const float *v = step->v + column;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    __m256 acc[AV_TILE];
    SATTN_UNROLL(9)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_setzero_ps();
    SATTN_NO_UNROLL
    for (; s < end; ++s, v += v_stride) {
        av_key(acc, s, v, tail, &lines, n_rows, half, n_vecs, is_tail, fetch);
        if (n_vecs > half)
            av_key(acc + half, s, v + half * AV_LANES, tail, &lines, n_rows, n_vecs - half, n_vecs,
                   is_tail, fetch);
        if (fetch == FUSED_FETCH_NEXT)
            fused_fetch_advance(&lines, n_vecs * AV_LANES / 2);
    }
    SATTN_UNROLL(9)
    for (int i = 0; i < n_rows * n_vecs; ++i) {
        float *const o = step->o + i / n_vecs * step->o_pitch + column + i % n_vecs * AV_LANES;
        _mm256_storeu_ps(o, _mm256_add_ps(_mm256_loadu_ps(o), acc[i]));
    }
    if (fetch == FUSED_FETCH_NEXT)
        step->lines = lines;
}

/* All columns, `widest` vectors at a time, but rather twice 2 than 3 and 1. */
SATTN_INLINE void av_rows(av_step *step, const int n_rows, const int widest,
                          const fused_fetch fetch)
{
    int64_t y = 0;
    for (; step->n_vecs - y >= widest && step->n_vecs - y != widest + 1; y += widest)
        av_tile(step, y * AV_LANES, n_rows, widest, false, fetch);
    for (; step->n_vecs - y >= 2; y += 2)
        av_tile(step, y * AV_LANES, n_rows, 2, false, fetch);
    if (y < step->n_vecs)
        av_tile(step, y * AV_LANES, n_rows, 1, false, fetch);
    if (step->has_tail)
        av_tile(step, step->n_vecs * AV_LANES, n_rows, 1, true, fetch);
}

/* sum += p v for n_rows rows, n_keys keys and n_vecs vectors of columns, which begin at sum and
 * v[j] + column. With `fetch`, each line of V prefetches that of the n_keys rows behind. */
SATTN_INLINE void av_streams(float *sum, int64_t pitch, const __m256 *p_f32x8,
                             const float *const *v, int64_t column, int64_t v_stride, __m256i tail,
                             const int n_rows, const int n_keys, const int n_vecs,
                             const bool is_tail, const bool fetch)
{
    const int64_t ahead = (column + n_keys * v_stride) * (int64_t)sizeof(float);
    __m256 acc[4];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_loadu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES + column);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        SATTN_UNROLL(2)
        for (int y = 0; y < n_vecs; ++y) {
            __m256 v_f32x8 = av_load(v[j] + y * AV_LANES + column, tail, is_tail);
            if (n_rows > 1)
                v_f32x8 = vec_in_register_f32x8(v_f32x8);
            SATTN_UNROLL(2)
            for (int r = 0; r < n_rows; ++r)
                acc[r * n_vecs + y] =
                    _mm256_fmadd_ps(p_f32x8[r * n_keys + j], v_f32x8, acc[r * n_vecs + y]);
        }
        if (fetch)
            vec_fetch(v[j], ahead);
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        _mm256_storeu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES + column, acc[i]);
}

/* sum += s v for n_keys rows of V, from front to back */
SATTN_INLINE void av_keys(const av_step *step, int first, const int n_rows, const int n_keys,
                          const bool fetch)
{
    const int64_t whole = step->n_vecs * AV_LANES;
    const int64_t pitch = step->o_pitch;
    const int64_t stride = step->v_stride;
    const __m256i tail = step->tail;
    float *const sum = step->sum;
    const float *v[AV_STREAMS];
    __m256 p_f32x8[AV_STREAMS];
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        v[j] = step->v + (first + j) * stride;
        SATTN_UNROLL(2)
        for (int r = 0; r < n_rows; ++r)
            p_f32x8[r * n_keys + j] = _mm256_set1_ps(step->s[r * FUSED_DECODE_KEYS + first + j]);
    }
    int64_t y = 0;
    SATTN_NO_UNROLL
    for (; y + 2 * AV_LANES <= whole; y += 2 * AV_LANES)
        av_streams(sum, pitch, p_f32x8, v, y, stride, tail, n_rows, n_keys, 2, false, fetch);
    if (y < whole)
        av_streams(sum, pitch, p_f32x8, v, y, stride, tail, n_rows, n_keys, 1, false, fetch);
    if (step->has_tail)
        av_streams(sum, pitch, p_f32x8, v, whole, stride, tail, n_rows, n_keys, 1, true, fetch);
}

SATTN_INLINE void av_wide(const av_step *step, const int n_rows, const int n_keys, const bool fetch)
{
    const int64_t n_sums = n_rows * step->o_pitch;
    for (int64_t i = 0; i < n_sums; i += AV_LANES)
        _mm256_storeu_ps(step->sum + i, _mm256_setzero_ps());
    int j = 0;
    for (; j + n_keys <= step->n_keys; j += n_keys)
        av_keys(step, j, n_rows, n_keys, fetch);
    for (; j < step->n_keys; ++j)
        av_keys(step, j, n_rows, 1, fetch);
    for (int64_t i = 0; i < n_sums; i += AV_LANES) {
        const __m256 o_f32x8 = _mm256_loadu_ps(step->o + i);
        _mm256_storeu_ps(step->o + i, _mm256_add_ps(o_f32x8, _mm256_loadu_ps(step->sum + i)));
    }
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers.
 *
 * Narrow rows of V fit a register tile. Wide ones are best left to hardware, in many streams, until
 * eight rows lie too far apart for it. */
SATTN_NOINLINE void av_1_row(av_step *step)
{
    if (step->n_vecs >= 4 * AV_COLUMNS)
        av_wide(step, 1, 4, true);
    else if (step->n_vecs == 8)
        av_rows(step, 1, 8, FUSED_FETCH_OWN);
    else if (step->n_vecs == 6)
        av_rows(step, 1, 6, FUSED_FETCH_OWN);
    else if (step->n_vecs < 5)
        av_rows(step, 1, 4, FUSED_FETCH_OWN);
    else
        av_wide(step, 1, 8, false);
}

SATTN_NOINLINE void av_2_rows(av_step *step)
{
    if (step->n_vecs > AV_COLUMNS)
        av_wide(step, 2, 4, true);
    else
        av_rows(step, 2, 4, FUSED_FETCH_OWN);
}

SATTN_NOINLINE void av_3_rows(av_step *step, fused_fetch fetch)
{
    if (fetch == FUSED_FETCH_NEXT)
        av_rows(step, 3, 3, FUSED_FETCH_NEXT);
    else
        av_rows(step, 3, 3, FUSED_FETCH_OWN);
}

SATTN_NOINLINE void av_4_rows(av_step *step, fused_fetch fetch)
{
    if (fetch == FUSED_FETCH_NEXT)
        av_rows(step, 4, 2, FUSED_FETCH_NEXT);
    else
        av_rows(step, 4, 2, FUSED_FETCH_OWN);
}

static inline void av_group(const fused_decode_state *st, const fused_decode_block *block,
                            const fused_decode_part *part)
{
    av_step step = {.s = st->s + part->row * FUSED_DECODE_KEYS,
                    .v = block->v,
                    .o = st->o + part->row * st->o_pitch,
                    .sum = st->sum,
                    .o_pitch = st->o_pitch,
                    .v_stride = block->v_stride,
                    .n_vecs = st->d_v / AV_LANES,
                    .n_keys = block->n_keys,
                    .lines.ahead = part->v_ahead,
                    .has_tail = st->d_v % AV_LANES != 0,
                    .tail = vec_tail_m8(st->d_v % AV_LANES)};
    if (part->fetch == FUSED_FETCH_NEXT)
        step.lines = fused_fetch_lines_of(st, block, part);
    if (part->n_rows == 4)
        av_4_rows(&step, part->fetch);
    else if (part->n_rows == 3)
        av_3_rows(&step, part->fetch);
    else if (part->n_rows == 2)
        av_2_rows(&step);
    else
        av_1_row(&step);
}

#endif
