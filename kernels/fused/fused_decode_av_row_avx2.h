/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_row_avx2.h: the AV product of one query row, lanes over columns of V.
 *
 * Key by key, in a loop so short that each of its loads steps by one row of V
 * (fused_decode_score_avx2.h says why), with most sums in registers. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_ROW_AVX2_H
#define SATTN_KERNELS_FUSED_DECODE_AV_ROW_AVX2_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx2.h"

enum {
    AV_LANES = 8,
    AV_BAND = 16, /* most vectors of columns that one row takes of a key at a time */
    AV_HELD = 12, /* most sums of one row in registers */
};

/* What the AV product of one group of rows works on. */
typedef struct av_step {
    __m256i tail;   /* lanes of the last vector of columns */
    const float *s; /* weights of the first key */
    const float *v; /* row of the first key */
    float *o;       /* of the first row; the next ones `pitch` further each; so are: */
    float *sum;     /* sums of the keys of the block before the first */
    int64_t pitch, v_stride;
    int64_t d_v;
    int64_t ahead; /* bytes from a row of V to the one that is prefetched with it */
    int n_keys;
    bool is_far;
    bool is_first, is_last; /* keys of the block */
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
    float *const sum = all->sum;
    float *const o = all->o;
    const int unit = n_vecs > AV_BAND ? FUSED_DECODE_UNIT : FUSED_DECODE_KEYS;
    for (int64_t y = 0; all->is_first && y < n_vecs; ++y)
        _mm256_storeu_ps(sum + y * AV_LANES, _mm256_setzero_ps());
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
    for (int64_t y = 0; all->is_last && y < n_vecs; ++y) {
        float *const to = o + y * AV_LANES;
        _mm256_storeu_ps(to,
                         _mm256_add_ps(_mm256_loadu_ps(to), _mm256_loadu_ps(sum + y * AV_LANES)));
    }
}

#endif
