/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_avx2.h: the AV product of few query rows, lanes over columns of V.
 *
 * Every column has one sum for each row, from zero in each block, which takes the keys in order.
 *
 * Several rows: a tile is rows x vectors of columns in registers, one broadcast weight per row and
 * key. It takes a unit of keys, which the first cache holds for all columns, so that V comes from
 * further out in the order in which it lies.
 *
 * One row: key by key, in a loop so short that each of its loads steps by one row of V
 * (fused_decode_score_avx2.h says why), with most sums in registers. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H
#define SATTN_KERNELS_FUSED_DECODE_AV_AVX2_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx2.h"

enum {
    AV_LANES = 8,
    AV_TILE = 12, /* most accumulators of a register tile */
    AV_BAND = 16, /* most vectors of columns that one row takes of a key at a time */
    AV_HELD = 12, /* most sums of one row in registers */
};

/* What the AV product of one group of rows works on. */
typedef struct av_step {
    __m256i tail;   /* lanes of the last vector of columns */
    const float *s; /* weights of the first key */
    const float *v; /* row of the first key */
    float *sum;     /* of the first row; the next ones `pitch` further each */
    int64_t pitch, v_stride;
    int64_t d_v;
    int64_t ahead; /* bytes from a row of V to the one that is prefetched with it */
    int n_keys;
} av_step;

/* sum[y] += s v[y] for one row and n_vecs vectors of columns */
SATTN_INLINE void av_band(const av_step *step, const int n_vecs)
{
    const int n_held = n_vecs < AV_HELD ? n_vecs : AV_HELD;
    const __m256i tail = step->tail;
    const int64_t stride = step->v_stride;
    const int64_t ahead = step->ahead;
    const float *v = step->v;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    float *const sum = step->sum;
    __m256 acc[AV_HELD];
    SATTN_UNROLL(12)
    for (int y = 0; y < n_held; ++y)
        acc[y] = _mm256_loadu_ps(sum + y * AV_LANES);
    SATTN_NO_UNROLL
    for (; s < end; ++s, v += stride) {
        const __m256 p_f32x8 = _mm256_set1_ps(*s);
        SATTN_UNROLL(16)
        for (int y = 0; y < n_vecs; ++y) {
            SATTN_KEEP_ORDER();
            const float *const from = v + y * AV_LANES;
            float *const to = sum + y * AV_LANES;
            const __m256 v_f32x8 =
                y + 1 < n_vecs ? _mm256_loadu_ps(from) : vec_load_tail_f32x8(from, tail);
            if (y % 2 == 0)
                vec_fetch(from, ahead);
            if (y < n_held)
                acc[y] = _mm256_fmadd_ps(p_f32x8, v_f32x8, acc[y]);
            else
                _mm256_storeu_ps(to, _mm256_fmadd_ps(p_f32x8, v_f32x8, _mm256_loadu_ps(to)));
        }
    }
    SATTN_UNROLL(12)
    for (int y = 0; y < n_held; ++y)
        _mm256_storeu_ps(sum + y * AV_LANES, acc[y]);
}

SATTN_NOINLINE void av_bands(const av_step *step, int n_vecs)
{
    switch (n_vecs) {
    case 1:
        av_band(step, 1);
        break;
    case 2:
        av_band(step, 2);
        break;
    case 3:
        av_band(step, 3);
        break;
    case 4:
        av_band(step, 4);
        break;
    case 5:
        av_band(step, 5);
        break;
    case 6:
        av_band(step, 6);
        break;
    case 7:
        av_band(step, 7);
        break;
    case 8:
        av_band(step, 8);
        break;
    case 9:
        av_band(step, 9);
        break;
    case 10:
        av_band(step, 10);
        break;
    case 11:
        av_band(step, 11);
        break;
    case 12:
        av_band(step, 12);
        break;
    case 13:
        av_band(step, 13);
        break;
    case 14:
        av_band(step, 14);
        break;
    case 15:
        av_band(step, 15);
        break;
    default:
        av_band(step, AV_BAND);
    }
}

/* Rows of several bands of columns are taken a unit of keys at a time, or the bands of a block
 * would lie too far apart. */
SATTN_INLINE void av_1_row(const av_step *all)
{
    const int64_t n_vecs = (all->d_v + AV_LANES - 1) / AV_LANES;
    const int unit = n_vecs > AV_BAND ? FUSED_DECODE_UNIT : FUSED_DECODE_KEYS;
    for (int j = 0; j < all->n_keys; j += unit)
        for (int64_t y = 0; y < n_vecs; y += AV_BAND) {
            const int left = all->n_keys - j;
            av_step step = *all;
            step.n_keys = left < unit ? left : unit;
            step.s += j;
            step.v += j * all->v_stride + y * AV_LANES;
            step.sum += y * AV_LANES;
            if (n_vecs - y > AV_BAND)
                step.tail = vec_tail_m8(AV_LANES);
            av_bands(&step, n_vecs - y < AV_BAND ? (int)(n_vecs - y) : AV_BAND);
        }
}

/* sum[r][y] += s[r] v[y] for n_keys keys and n_vecs vectors of columns from `column` on. */
SATTN_INLINE void av_tile(const av_step *step, const float *s, const float *v, int n_keys,
                          vec_stream *stream, int64_t column, const int n_rows, const int n_vecs,
                          const bool is_tail, const bool fetch)
{
    const __m256i tail = step->tail;
    const int64_t pitch = step->pitch;
    const int64_t stride = step->v_stride;
    float *const sum = step->sum + column;
    const float *const end = s + n_keys;
    vec_stream next = *stream;
    __m256 acc[AV_TILE];
    SATTN_UNROLL(12)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_loadu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES);
    v += column;
    SATTN_NO_UNROLL
    for (; s < end; ++s, v += stride) {
        __m256 p_f32x8[SCORE_GROUP];
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            p_f32x8[r] = _mm256_set1_ps(s[r * FUSED_DECODE_KEYS]);
        SATTN_UNROLL(4)
        for (int y = 0; y < n_vecs; ++y) {
            const float *const from = v + y * AV_LANES;
            SATTN_KEEP_ORDER();
            const __m256 v_f32x8 = vec_in_register_f32x8(is_tail ? vec_load_tail_f32x8(from, tail)
                                                                 : _mm256_loadu_ps(from));
            if (fetch && y % 2 == 0)
                vec_stream_fetch(&next, y / 2);
            SATTN_UNROLL(4)
            for (int r = 0; r < n_rows; ++r)
                acc[r * n_vecs + y] = _mm256_fmadd_ps(p_f32x8[r], v_f32x8, acc[r * n_vecs + y]);
        }
        if (fetch)
            vec_stream_advance(&next, (n_vecs + 1) / 2);
    }
    SATTN_UNROLL(12)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        _mm256_storeu_ps(sum + i / n_vecs * pitch + i % n_vecs * AV_LANES, acc[i]);
    *stream = next;
}

SATTN_INLINE void av_rows(const av_step *step, const int n_rows, const int widest, const bool fetch)
{
    const int64_t whole = step->d_v - step->d_v % AV_LANES;
    vec_stream stream = vec_stream_of(step->v, step->ahead, step->d_v, step->v_stride);
    const float *v = step->v;
    const float *s = step->s;
    for (int left = step->n_keys; left > 0; left -= FUSED_DECODE_UNIT) {
        const int n = left < FUSED_DECODE_UNIT ? left : FUSED_DECODE_UNIT;
        int64_t y = 0;
        for (; y + widest * AV_LANES <= whole; y += widest * AV_LANES)
            av_tile(step, s, v, n, &stream, y, n_rows, widest, false, fetch);
        if (widest > 2 && y + 2 * AV_LANES <= whole) {
            av_tile(step, s, v, n, &stream, y, n_rows, 2, false, fetch);
            y += 2 * AV_LANES;
        }
        if (y < whole)
            av_tile(step, s, v, n, &stream, y, n_rows, 1, false, fetch);
        if (whole < step->d_v)
            av_tile(step, s, v, n, &stream, whole, n_rows, 1, true, fetch);
        s += FUSED_DECODE_UNIT;
        v += FUSED_DECODE_UNIT * step->v_stride;
    }
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers. */
SATTN_NOINLINE void av_2_rows(const av_step *step)
{
    if (step->ahead)
        av_rows(step, 2, 4, true);
    else
        av_rows(step, 2, 4, false);
}

SATTN_NOINLINE void av_3_rows(const av_step *step)
{
    if (step->ahead)
        av_rows(step, 3, 4, true);
    else
        av_rows(step, 3, 4, false);
}

SATTN_NOINLINE void av_4_rows(const av_step *step)
{
    if (step->ahead)
        av_rows(step, 4, 2, true);
    else
        av_rows(step, 4, 2, false);
}

static inline void av_group(const fused_decode_state *st, const fused_decode_block *block,
                            const fused_decode_part *part)
{
    const int64_t at = part->row * st->o_pitch;
    const int64_t n_sums = part->n_rows * st->o_pitch;
    float *const sum = st->sum + at;
    float *const o = st->o + at;
    const av_step step = {.s = st->s + part->row * FUSED_DECODE_KEYS + part->begin,
                          .v = block->v + part->begin * block->v_stride,
                          .sum = sum,
                          .pitch = st->o_pitch,
                          .v_stride = block->v_stride,
                          .d_v = st->d_v,
                          .ahead = part->v_ahead,
                          .n_keys = part->end - part->begin,
                          .tail = vec_tail_m8((st->d_v - 1) % AV_LANES + 1)};
    for (int64_t i = 0; part->begin == 0 && i < n_sums; i += AV_LANES)
        _mm256_storeu_ps(sum + i, _mm256_setzero_ps());
    if (part->n_rows == 4)
        av_4_rows(&step);
    else if (part->n_rows == 3)
        av_3_rows(&step);
    else if (part->n_rows == 2)
        av_2_rows(&step);
    else
        av_1_row(&step);
    for (int64_t i = 0; part->end == block->n_keys && i < n_sums; i += AV_LANES)
        _mm256_storeu_ps(o + i, _mm256_add_ps(_mm256_loadu_ps(o + i), _mm256_loadu_ps(sum + i)));
}

#endif
