/* SPDX-License-Identifier: MIT
 *
 * softmax_rows_avx2.h: the steps of softmax_rows.h that take one row, in AVX2.
 *
 * Lanes    lane l of a sum holds the keys j with j % 8 == l, so a vector that had to be moved to
 *          end with its row is turned back before it is added.
 * Tail     a row of 8 columns or more ends in a whole vector that overlaps the one before. A
 *          masked store is slow on many CPUs, and makes the first load of the next row, which its
 *          unwritten lanes touch, wait until it has left the store queue. */
#ifndef SATTN_KERNELS_SOFTMAX_ROWS_AVX2_H
#define SATTN_KERNELS_SOFTMAX_ROWS_AVX2_H

#include "kernels/softmax/softmax_rows.h"
#include "kernels/vec/exp_powers_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum {
    LANES = 8,
    ROWS = LANES, /* of a flat run */
    MAXIMA = 4,   /* vectors of maxima */
    STEP = 4,     /* vectors per turn of the loops that store */
};

/* Lanes of the vector at column `at` whose keys are in [begin, end). */
SATTN_INLINE __m256i lanes_between(int64_t at, int64_t begin, int64_t end)
{
    return _mm256_andnot_si256(vec_tail_m8(begin - at), vec_tail_m8(end - at));
}

/* Eight bytes of a boolean mask as lanes. */
SATTN_INLINE __m256i lanes_of_bytes(__m128i bytes)
{
    return _mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_setzero_si256());
}

/* Scores with their bias, -inf where it hides. */
SATTN_INLINE __m256 biased(__m256 s, __m256 bias)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    const __m256 visible = _mm256_cmp_ps(bias, lowest, _CMP_NEQ_UQ);
    return _mm256_blendv_ps(lowest, _mm256_add_ps(s, bias), visible);
}

/* Scores of the keys in [begin, end) among j .. j + 7, which begin at `scores`, with bias and mask,
 * -inf in all other lanes. */
SATTN_INLINE __m256 load_lanes(softmax_row row, softmax_cut cut, const float *scores, int64_t j,
                               const softmax_mask mask)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    __m256i lanes = lanes_between(j, cut.begin, cut.end);
    if (mask == SOFTMAX_BOOL) {
        uint8_t bytes[8] = {0};
        for (int lane = 0; lane < LANES; ++lane)
            if (j + lane >= cut.begin && j + lane < cut.end)
                bytes[lane] = row.mask_bool[j + lane];
        lanes = lanes_of_bytes(_mm_loadl_epi64((const __m128i *)(const void *)bytes));
    }
    const __m256 read = vec_load_tail_f32x8(scores, lanes);
    const __m256 s = _mm256_blendv_ps(lowest, read, _mm256_castsi256_ps(lanes));
    if (mask == SOFTMAX_SHIFT)
        return _mm256_add_ps(s, _mm256_set1_ps(row.mask_add[0]));
    if (mask != SOFTMAX_BIAS)
        return s;
    const __m256 bias = vec_load_tail_f32x8(row.mask_add + j, lanes);
    return biased(s, _mm256_blendv_ps(lowest, bias, _mm256_castsi256_ps(lanes)));
}

/* The same where all eight keys are in [begin, end). */
SATTN_INLINE __m256 load_whole(softmax_row row, int64_t j, const softmax_mask mask)
{
    const __m256 s = _mm256_loadu_ps(softmax_scores(row, j));
    if (mask == SOFTMAX_UNMASKED)
        return s;
    if (mask == SOFTMAX_SHIFT)
        return _mm256_add_ps(s, _mm256_set1_ps(row.mask_add[0]));
    if (mask == SOFTMAX_BIAS)
        return biased(s, _mm256_loadu_ps(row.mask_add + j));
    const __m256i lanes =
        lanes_of_bytes(_mm_loadl_epi64((const __m128i *)(const void *)(row.mask_bool + j)));
    return _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), s, _mm256_castsi256_ps(lanes));
}

/* A NaN score leaves top as it is. */
SATTN_INLINE __m256 raise(__m256 top, __m256 s)
{
    return _mm256_max_ps(s, top);
}

SATTN_INLINE float maximum_of(softmax_row row, softmax_cut cut, const softmax_mask mask,
                              const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    __m256 top[MAXIMA];
    SATTN_UNROLL(4)
    for (int u = 0; u < MAXIMA; ++u)
        top[u] = _mm256_set1_ps(-INFINITY);
    if (cut.has_head)
        top[0] =
            raise(top[0], load_lanes(row, cut, softmax_scores(row, cut.first), cut.first, mask));
    if (cut.has_tail)
        top[1] = raise(top[1], load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask));
    int64_t j = cut.body;
    for (; j + MAXIMA * LANES <= cut.body_end; j += MAXIMA * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < MAXIMA; ++u)
            top[u] = raise(top[u], load_whole(row, j + u * LANES, mask));
    }
    for (; j < cut.body_end; j += LANES)
        top[0] = raise(top[0], load_whole(row, j, mask));
    top[0] = _mm256_max_ps(top[0], top[1]);
    return vec_hmax_f32x8(_mm256_max_ps(top[0], _mm256_max_ps(top[2], top[3])));
}

static inline float maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, false);
}

static inline float alibi_maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, true);
}

/* The weights at columns j .. j + 7, as far as the row reaches. */
SATTN_INLINE __m256 load_columns(softmax_row row, int64_t j)
{
    if (j + LANES <= row.n_columns)
        return _mm256_loadu_ps(row.p + j);
    return vec_load_tail_f32x8(row.p + j, vec_tail_m8(row.n_columns - j));
}

/* A store with a mask is slow on many CPUs, so a row of less than a vector is stored in pieces. */
SATTN_INLINE void store_columns(softmax_row row, int64_t j, __m256 p)
{
    const int64_t n = row.n_columns - j;
    float *to = row.p + j;
    if (n >= LANES) {
        _mm256_storeu_ps(to, p);
        return;
    }
    __m128 rest = _mm256_castps256_ps128(p);
    if (n & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps(p, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (n & 1)
        _mm_store_ss(to, rest);
}

/* The first n lanes of the vector `by` lanes further up, 0 behind them. */
SATTN_INLINE __m256 turned_back(__m256 p, int64_t by, int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i from = _mm256_add_epi32(lane, _mm256_set1_epi32((int)by));
    return _mm256_and_ps(_mm256_permutevar8x32_ps(p, from), _mm256_castsi256_ps(vec_tail_m8(n)));
}

/* Weights of n whole vectors, at most STEP, added to `part` one after the other. */
SATTN_INLINE __m256 weigh_vectors(softmax_row row, int64_t j, __m256 base, __m256 part, int n,
                                  const softmax_mask mask)
{
    __m256 p[STEP];
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u)
        p[u] = vec_exp_f32x8(_mm256_sub_ps(load_whole(row, j + u * LANES, mask), base));
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u) {
        _mm256_storeu_ps(row.p + j + u * LANES, p[u]);
        part = _mm256_add_ps(part, p[u]);
    }
    return part;
}

SATTN_INLINE float weigh_of(softmax_row row, softmax_cut cut, float base_value,
                            const softmax_mask mask, const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    const __m256 base = _mm256_set1_ps(base_value);
    __m256 sum = _mm256_setzero_ps();
    __m256 part = _mm256_setzero_ps(); /* of one key block */
    __m256 tail = _mm256_setzero_ps();
    if (cut.has_tail)
        tail = load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask);
    if (cut.has_head) {
        const __m256 s = load_lanes(row, cut, softmax_scores(row, cut.first), cut.first, mask);
        part = vec_exp_f32x8(_mm256_sub_ps(s, base));
        store_columns(row, cut.first, part);
    }
    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = _mm256_add_ps(sum, part);
            part = _mm256_setzero_ps();
        }
        const int64_t next = j - j % SATTN_KEY_BLOCK + SATTN_KEY_BLOCK;
        const int64_t stop = next < cut.body_end ? next : cut.body_end;
        for (; j + STEP * LANES <= stop; j += STEP * LANES)
            part = weigh_vectors(row, j, base, part, STEP, mask);
        for (; j < stop; j += LANES)
            part = weigh_vectors(row, j, base, part, 1, mask);
    }
    if (cut.has_tail) {
        const __m256 p = vec_exp_f32x8(_mm256_sub_ps(tail, base));
        store_columns(row, cut.tail, p);
        if (cut.body_end % SATTN_KEY_BLOCK == 0) {
            sum = _mm256_add_ps(sum, part);
            part = _mm256_setzero_ps();
        }
        part = _mm256_add_ps(part, turned_back(p, cut.body_end - cut.tail, cut.end - cut.body_end));
    }
    return vec_hsum_f32x8(_mm256_add_ps(sum, part));
}

static inline float weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, false);
}

static inline float alibi_weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, true);
}

/* The eight scores from j + u * LANES on, less slope times distance; one conversion serves all u.
 */
SATTN_INLINE __m256 sloped(__m256 s, softmax_row row, int64_t j, const int u)
{
    const __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 key = _mm256_add_ps(lane, _mm256_set1_ps((float)(u * LANES)));
    const __m256 ahead = _mm256_sub_ps(_mm256_set1_ps((float)(int)(row.position - j)), key);
    const __m256 distance = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), ahead);
    return _mm256_fmadd_ps(_mm256_set1_ps(row.slope), distance, s);
}

/* Raw scores of the keys in [begin, end) among j .. j + 7, 0 in all other lanes. */
SATTN_INLINE __m256 load_raw(softmax_row row, const softmax_cut *cut, int64_t j)
{
    return vec_load_tail_f32x8(row.raw + j, lanes_between(j, cut->begin, cut->end));
}

SATTN_NOINLINE void slope(const softmax_row *of, const softmax_cut *cut)
{
    const softmax_row row = *of;
    if (cut->has_head)
        _mm256_store_ps(row.tile + (cut->first - row.origin),
                        sloped(load_raw(row, cut, cut->first), row, cut->first, 0));
    if (cut->has_tail)
        _mm256_store_ps(row.tile + (cut->body_end - row.origin),
                        sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0));
    int64_t j = cut->body;
    float *to = row.tile + (j - row.origin);
    for (; j + STEP * LANES <= cut->body_end; j += STEP * LANES, to += STEP * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < STEP; ++u) {
            const __m256 s = _mm256_loadu_ps(row.raw + j + u * LANES);
            _mm256_store_ps(to + u * LANES, sloped(s, row, j, u));
        }
    }
    for (; j < cut->body_end; j += LANES, to += LANES)
        _mm256_store_ps(to, sloped(_mm256_loadu_ps(row.raw + j), row, j, 0));
}

SATTN_INLINE __m256 scaled(__m256 p, __m256 factor, __m256 least, bool has_least)
{
    if (!has_least)
        return _mm256_mul_ps(p, factor);
    const __m256 kept = _mm256_and_ps(p, _mm256_cmp_ps(p, least, _CMP_GE_OQ));
    return _mm256_mul_ps(kept, factor);
}

SATTN_INLINE void scale_of(softmax_row row, softmax_cut cut, float factor_value, float least_value,
                           bool has_least)
{
    const __m256 factor = _mm256_set1_ps(factor_value);
    const __m256 least = _mm256_set1_ps(least_value);
    float *const p = row.p;
    __m256 tail = _mm256_setzero_ps();
    if (cut.has_tail)
        tail = load_columns(row, cut.tail);
    if (cut.has_head) {
        const __m256 head = load_columns(row, cut.first);
        store_columns(row, cut.first, scaled(head, factor, least, has_least));
    }
    int64_t j = cut.body;
    for (; j + STEP * LANES <= cut.body_end; j += STEP * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < STEP; ++u) {
            float *const at = p + j + u * LANES;
            _mm256_storeu_ps(at, scaled(_mm256_loadu_ps(at), factor, least, has_least));
        }
    }
    for (; j < cut.body_end; j += LANES)
        _mm256_storeu_ps(p + j, scaled(_mm256_loadu_ps(p + j), factor, least, has_least));
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
