/* SPDX-License-Identifier: MIT
 *
 * softmax_rows_avx512.h: the steps of softmax_rows.h that take one row, in AVX-512.
 *
 * Lanes    lane l of a sum holds the keys j with j % 16 == l, so a vector that had to be moved to
 *          end with its row is turned back before it is added.
 * Tail     a row of 16 columns or more ends in a whole vector that overlaps the one before. A
 *          masked store would make the first load of the next row, which its unwritten lanes touch,
 *          wait until it has left the store queue. */
#ifndef SATTN_KERNELS_SOFTMAX_ROWS_AVX512_H
#define SATTN_KERNELS_SOFTMAX_ROWS_AVX512_H

#include "kernels/softmax/softmax_rows.h"
#include "kernels/vec/exp_powers_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    ROWS = LANES,                   /* of a flat run */
    MAXIMA = 4,                     /* vectors of maxima */
    STEP = SATTN_KEY_BLOCK / LANES, /* vectors per turn of the loops that store */
};

/* Scores of keys j .. j + 15, which begin at `scores`, for the lanes in `lanes` with bias and mask,
 * -inf in all others. */
SATTN_INLINE __m512 load_lanes(softmax_row row, const float *scores, int64_t j, __mmask16 lanes,
                               const softmax_mask mask)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    if (mask == SOFTMAX_BOOL) {
        const __m128i bytes = _mm_maskz_loadu_epi8(lanes, row.mask_bool + j);
        lanes = _mm_test_epi8_mask(bytes, bytes);
    }
    const __m512 s = _mm512_mask_loadu_ps(lowest, lanes, scores);
    if (mask == SOFTMAX_SHIFT)
        return _mm512_add_ps(s, _mm512_set1_ps(row.mask_add[0]));
    if (mask != SOFTMAX_BIAS)
        return s;
    const __m512 bias = _mm512_mask_loadu_ps(lowest, lanes, row.mask_add + j);
    const __mmask16 visible = _mm512_cmp_ps_mask(bias, lowest, _CMP_NEQ_UQ);
    return _mm512_mask_add_ps(lowest, visible, s, bias);
}

/* The same for all lanes. */
SATTN_INLINE __m512 load_whole(softmax_row row, int64_t j, const softmax_mask mask)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    const __m512 s = _mm512_loadu_ps(softmax_scores(row, j));
    if (mask == SOFTMAX_UNMASKED)
        return s;
    if (mask == SOFTMAX_SHIFT)
        return _mm512_add_ps(s, _mm512_set1_ps(row.mask_add[0]));
    if (mask == SOFTMAX_BOOL) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(row.mask_bool + j));
        return _mm512_mask_mov_ps(lowest, _mm_test_epi8_mask(bytes, bytes), s);
    }
    const __m512 bias = _mm512_loadu_ps(row.mask_add + j);
    const __mmask16 visible = _mm512_cmp_ps_mask(bias, lowest, _CMP_NEQ_UQ);
    return _mm512_mask_add_ps(lowest, visible, s, bias);
}

/* Lanes of the vector at column `at` whose keys are in [begin, end). */
SATTN_INLINE __mmask16 lanes_between(int64_t at, int64_t begin, int64_t end)
{
    return (__mmask16)(vec_tail_m16(end - at) & ~vec_tail_m16(begin - at));
}

/* A NaN score leaves top as it is. */
SATTN_INLINE __m512 raise(__m512 top, __m512 s)
{
    return _mm512_max_ps(s, top);
}

SATTN_INLINE float maximum_of(softmax_row row, softmax_cut cut, const softmax_mask mask,
                              const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    __m512 top[MAXIMA];
    SATTN_UNROLL(4)
    for (int u = 0; u < MAXIMA; ++u)
        top[u] = _mm512_set1_ps(-INFINITY);
    if (cut.has_head) {
        const __mmask16 lanes = lanes_between(cut.first, cut.begin, cut.end);
        top[0] =
            raise(top[0], load_lanes(row, softmax_scores(row, cut.first), cut.first, lanes, mask));
    }
    if (cut.has_tail) {
        const __mmask16 lanes = lanes_between(cut.tail, cut.begin, cut.end);
        top[1] =
            raise(top[1], load_lanes(row, softmax_tail_scores(row, cut), cut.tail, lanes, mask));
    }
    int64_t j = cut.body;
    for (; j + MAXIMA * LANES <= cut.body_end; j += MAXIMA * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < MAXIMA; ++u)
            top[u] = raise(top[u], load_whole(row, j + u * LANES, mask));
    }
    for (; j < cut.body_end; j += LANES)
        top[0] = raise(top[0], load_whole(row, j, mask));
    top[0] = _mm512_max_ps(top[0], top[1]);
    return vec_hmax_f32x16(_mm512_max_ps(top[0], _mm512_max_ps(top[2], top[3])));
}

static inline float maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, false);
}

static inline float alibi_maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, true);
}

/* The weights at columns j .. j + 15, as far as the row reaches. */
SATTN_INLINE __m512 load_columns(softmax_row row, int64_t j)
{
    if (j + LANES <= row.n_columns)
        return _mm512_loadu_ps(row.p + j);
    return vec_load_tail_f32x16(row.p + j, vec_tail_m16(row.n_columns - j));
}

SATTN_INLINE void store_columns(softmax_row row, int64_t j, __m512 p)
{
    if (j + LANES <= row.n_columns)
        _mm512_storeu_ps(row.p + j, p);
    else
        vec_store_tail_f32x16(row.p + j, vec_tail_m16(row.n_columns - j), p);
}

/* The first n lanes of the vector `by` lanes further up, 0 behind them. */
SATTN_INLINE __m512 turned_back(__m512 p, int64_t by, int64_t n)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i from = _mm512_add_epi32(lane, _mm512_set1_epi32((int)by));
    return _mm512_maskz_permutexvar_ps(vec_tail_m16(n), from, p);
}

/* Weights of n whole vectors, at most VEC_EACH, added to `part` one after the other. */
SATTN_INLINE __m512 weigh_vectors(softmax_row row, int64_t j, __m512 base, __m512 part, const int n,
                                  const softmax_mask mask)
{
    __m512 p[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u)
        p[u] = _mm512_sub_ps(load_whole(row, j + u * LANES, mask), base);
    vec_exp_each_f32x16(p, n);
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u) {
        _mm512_storeu_ps(row.p + j + u * LANES, p[u]);
        part = _mm512_add_ps(part, p[u]);
    }
    return part;
}

SATTN_INLINE float weigh_of(softmax_row row, softmax_cut cut, float base_value,
                            const softmax_mask mask, const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    const __m512 base = _mm512_set1_ps(base_value);
    __m512 sum = _mm512_setzero_ps();
    __m512 part = _mm512_setzero_ps(); /* of one key block */
    __m512 tail = _mm512_setzero_ps();
    if (cut.has_tail)
        tail = load_lanes(row, softmax_tail_scores(row, cut), cut.tail,
                          lanes_between(cut.tail, cut.begin, cut.end), mask);
    if (cut.has_head) {
        const __m512 s = load_lanes(row, softmax_scores(row, cut.first), cut.first,
                                    lanes_between(cut.first, cut.begin, cut.end), mask);
        part = vec_exp_f32x16(_mm512_sub_ps(s, base));
        store_columns(row, cut.first, part);
    }
    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = _mm512_add_ps(sum, part);
            part = _mm512_setzero_ps();
        }
        const int64_t next = j - j % SATTN_KEY_BLOCK + SATTN_KEY_BLOCK;
        const int64_t stop = next < cut.body_end ? next : cut.body_end;
        for (; j + VEC_EACH * LANES <= stop; j += VEC_EACH * LANES)
            part = weigh_vectors(row, j, base, part, VEC_EACH, mask);
        for (; j < stop; j += LANES)
            part = weigh_vectors(row, j, base, part, 1, mask);
    }
    if (cut.has_tail) {
        const __m512 p = vec_exp_f32x16(_mm512_sub_ps(tail, base));
        store_columns(row, cut.tail, p);
        if (cut.body_end % SATTN_KEY_BLOCK == 0) {
            sum = _mm512_add_ps(sum, part);
            part = _mm512_setzero_ps();
        }
        part = _mm512_add_ps(part, turned_back(p, cut.body_end - cut.tail, cut.end - cut.body_end));
    }
    return vec_hsum_f32x16(_mm512_add_ps(sum, part));
}

static inline float weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, false);
}

static inline float alibi_weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, true);
}

/* The sixteen scores from j + u * LANES on, less slope times distance; one conversion serves all u.
 */
SATTN_INLINE __m512 sloped(__m512 s, softmax_row row, int64_t j, const int u)
{
    const __m512 lane = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 key = _mm512_add_ps(lane, _mm512_set1_ps((float)(u * LANES)));
    const __m512 ahead = _mm512_sub_ps(_mm512_set1_ps((float)(int)(row.position - j)), key);
    return _mm512_fmadd_ps(_mm512_set1_ps(row.slope), _mm512_abs_ps(ahead), s);
}

/* Raw scores of the keys in [begin, end) among j .. j + 15, 0 in all other lanes. */
SATTN_INLINE __m512 load_raw(softmax_row row, const softmax_cut *cut, int64_t j)
{
    return vec_load_tail_f32x16(row.raw + j, lanes_between(j, cut->begin, cut->end));
}

SATTN_NOINLINE void slope(const softmax_row *of, const softmax_cut *cut)
{
    const softmax_row row = *of;
    if (cut->has_head)
        _mm512_store_ps(row.tile + (cut->first - row.origin),
                        sloped(load_raw(row, cut, cut->first), row, cut->first, 0));
    if (cut->has_tail)
        _mm512_store_ps(row.tile + (cut->body_end - row.origin),
                        sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0));
    int64_t j = cut->body;
    float *to = row.tile + (j - row.origin);
    for (; j + STEP * LANES <= cut->body_end; j += STEP * LANES, to += STEP * LANES) {
        SATTN_UNROLL(8)
        for (int u = 0; u < STEP; ++u) {
            const __m512 s = _mm512_loadu_ps(row.raw + j + u * LANES);
            _mm512_store_ps(to + u * LANES, sloped(s, row, j, u));
        }
    }
    for (; j < cut->body_end; j += LANES, to += LANES)
        _mm512_store_ps(to, sloped(_mm512_loadu_ps(row.raw + j), row, j, 0));
}

SATTN_INLINE __m512 scaled(__m512 p, __m512 factor, __m512 least, bool has_least)
{
    if (!has_least)
        return _mm512_mul_ps(p, factor);
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(p, least, _CMP_GE_OQ), p, factor);
}

SATTN_INLINE void scale_of(softmax_row row, softmax_cut cut, float factor_value, float least_value,
                           bool has_least)
{
    const __m512 factor = _mm512_set1_ps(factor_value);
    const __m512 least = _mm512_set1_ps(least_value);
    float *const p = row.p;
    __m512 tail = _mm512_setzero_ps();
    if (cut.has_tail)
        tail = load_columns(row, cut.tail);
    if (cut.has_head) {
        const __m512 head = load_columns(row, cut.first);
        store_columns(row, cut.first, scaled(head, factor, least, has_least));
    }
    int64_t j = cut.body;
    for (; j + STEP * LANES <= cut.body_end; j += STEP * LANES) {
        SATTN_UNROLL(8)
        for (int u = 0; u < STEP; ++u) {
            float *const at = p + j + u * LANES;
            _mm512_storeu_ps(at, scaled(_mm512_loadu_ps(at), factor, least, has_least));
        }
    }
    for (; j < cut.body_end; j += LANES)
        _mm512_storeu_ps(p + j, scaled(_mm512_loadu_ps(p + j), factor, least, has_least));
    if (cut.has_tail)
        store_columns(row, cut.tail, scaled(tail, factor, least, has_least));
}

static inline void scale(const softmax_row *row, const softmax_cut *cut, float factor, float least)
{
    if (least > 0.0f)
        scale_of(*row, *cut, factor, least, true);
    else
        scale_of(*row, *cut, factor, least, false);
}

#endif
