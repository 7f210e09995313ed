/* SPDX-License-Identifier: MIT
 *
 * score_tile_avx512.h: the score tile of few query rows in AVX-512, 16 features per vector. */
#ifndef SATTN_KERNELS_VEC_SCORE_TILE_AVX512_H
#define SATTN_KERNELS_VEC_SCORE_TILE_AVX512_H

#include "kernels/vec/score_tile.h"
#include "kernels/vec/vec_avx512.h"

enum {
    SCORE_LANES = 16,
    SCORE_WIDE = 2 * SCORE_GROUP, /* most rows that share a register tile here */
};

/* One vector of features. */
SATTN_INLINE void score_step_f32x16(__m512 *acc, const float *q, const float *const *k, int64_t x,
                                    int64_t ahead, const vec_stream *stream, const int n_rows,
                                    const int n_keys, const score_fetch fetch)
{
    __m512 q_f32x16[SCORE_WIDE];
    const int64_t distance = score_fetch_distance(x, ahead, fetch);
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r)
        q_f32x16[r] = vec_in_register_f32x16(_mm512_loadu_ps(q + r * SCORE_LANES));
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const __m512 k_f32x16 = vec_in_register_f32x16(_mm512_loadu_ps(k[j] + x));
        if (fetch == SCORE_FETCH_STREAM)
            vec_stream_fetch(stream, j);
        else
            score_fetch_line(k[j], x, distance, fetch);
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = _mm512_fmadd_ps(q_f32x16[r], k_f32x16, acc[r * n_keys + j]);
    }
}

/* acc[r * n_keys + j] = q[r] . k[j] by lanes, for the rows k[0 .. n_keys); q[r] are the vectors r
 * of a group, which are rows, or skewed ones (score_skew_avx512.h). */
SATTN_INLINE void score_tile_f32x16(__m512 *acc, const float *q, const float *const *k, int64_t d,
                                    int64_t ahead, const int n_rows, const int n_keys,
                                    const score_fetch fetch)
{
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = _mm512_setzero_ps();
    vec_stream stream = {0};
    if (fetch == SCORE_FETCH_STREAM)
        stream = vec_stream_of(k[0], ahead, d, k[1] - k[0]);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + SCORE_LANES <= d; x += SCORE_LANES, q += n_rows * SCORE_LANES) {
        score_step_f32x16(acc, q, k, x, ahead, &stream, n_rows, n_keys, fetch);
        if (fetch == SCORE_FETCH_STREAM)
            vec_stream_advance(&stream, n_keys);
    }
    if (x == d)
        return;
    const __mmask16 tail = vec_tail_m16(d - x);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const __m512 k_f32x16 = vec_load_tail_f32x16(k[j] + x, tail);
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = _mm512_fmadd_ps(_mm512_loadu_ps(q + r * SCORE_LANES), k_f32x16,
                                                  acc[r * n_keys + j]);
    }
}

/* q . k by lanes, n_vecs vectors per turn. The accumulators of the next keys overlap with this
 * chain of additions, as many as the processor's window holds: of long rows more, if a turn takes
 * several vectors. K is read in the order in which it lies in memory, which prefetchers like best.
 */
SATTN_INLINE __m512 score_key_f32x16(const float *q, const float *k, int64_t whole, __mmask16 tail,
                                     int64_t ahead, const int n_vecs, const score_fetch fetch)
{
    __m512 acc = _mm512_setzero_ps();
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + n_vecs * SCORE_LANES <= whole; x += n_vecs * SCORE_LANES) {
        SATTN_UNROLL(4)
        for (int i = 0; i < n_vecs * SCORE_LANES; i += SCORE_LANES) {
            acc = _mm512_fmadd_ps(_mm512_loadu_ps(q + x + i), _mm512_loadu_ps(k + x + i), acc);
            score_fetch_line(k, x + i, ahead, fetch);
        }
    }
    SATTN_NO_UNROLL
    for (; n_vecs > 1 && x < whole; x += SCORE_LANES) {
        acc = _mm512_fmadd_ps(_mm512_loadu_ps(q + x), _mm512_loadu_ps(k + x), acc);
        score_fetch_line(k, x, ahead, fetch);
    }
    if (tail)
        acc = _mm512_fmadd_ps(_mm512_loadu_ps(q + x), vec_load_tail_f32x16(k + x, tail), acc);
    return acc;
}

/* q[r] . k by lanes for n_rows rows in registers, of which n_vecs vectors lie side by side as in a
 * packed group: at dots + r * pitch. */
SATTN_INLINE void score_key_of_rows(float *dots, int64_t pitch, const __m512 *q, const float *k,
                                    int64_t ahead, const int n_rows, const int n_vecs,
                                    const score_fetch fetch)
{
    __m512 acc[SCORE_GROUP];
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        acc[r] = _mm512_setzero_ps();
    SATTN_UNROLL(8)
    for (int x = 0; x < n_vecs; ++x) {
        __m512 k_f32x16 = _mm512_loadu_ps(k + x * SCORE_LANES);
        score_fetch_line(k, x * SCORE_LANES, ahead, fetch);
        if (n_rows > 1)
            k_f32x16 = vec_in_register_f32x16(k_f32x16);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r] = _mm512_fmadd_ps(q[x * n_rows + r], k_f32x16, acc[r]);
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        _mm512_storeu_ps(dots + r * pitch, acc[r]);
}

#endif
