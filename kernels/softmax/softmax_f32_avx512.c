/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx512.c: softmax by rows in AVX-512; the method is in softmax_rows.h.
 *
 * Flat     16 rows of n columns are n whole vectors. A vector in which a row ends takes maximum and
 *          factor of the next row behind it. Maxima and sums go by rows, for all 16 at once, and
 *          end in one transposed reduction. */
#include "kernels/softmax/softmax_turn_avx512.h"

sattn_softmax_fn sattn_softmax_f32_avx512;

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE __m512 max_of_rows(const __m512 rows[16])
{
    __m512 half[8];
    __m512 quarter[4];
    __m512 pair[2];
    SATTN_UNROLL(8)
    for (int i = 0; i < 8; ++i) {
        const __m512 a = rows[(i & 3) + 2 * (i & 4)];
        const __m512 b = rows[(i & 3) + 2 * (i & 4) + 4];
        half[i] = _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        quarter[i] = _mm512_max_ps(_mm512_shuffle_f32x4(half[i], half[i + 4], 0x88),
                                   _mm512_shuffle_f32x4(half[i], half[i + 4], 0xdd));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm512_max_ps(_mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0x44),
                                _mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0xee));
    return _mm512_max_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* The maxima of 16 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE __m512 flat_maxima(const float *s, int64_t n)
{
    __m512 top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(_mm512_set1_ps(-INFINITY), _mm512_loadu_ps(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], _mm512_loadu_ps(at));
    }
    return max_of_rows(top);
}

/* The weights of n vectors, at most VEC_EACH, the last of them relative to a base of its own. The
 * lines that lie `ahead` bytes further are fetched. */
SATTN_INLINE void flat_weigh_vectors(const float *s, float *p, uintptr_t ahead, __m512 base,
                                     __m512 last_base, const int n)
{
    __m512 t[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u) {
        _mm_prefetch((const char *)((uintptr_t)(s + u * LANES) + ahead), _MM_HINT_T0);
        _mm_prefetch((const char *)((uintptr_t)(p + u * LANES) + ahead), _MM_HINT_T0);
        t[u] = _mm512_sub_ps(_mm512_loadu_ps(s + u * LANES), u + 1 < n ? base : last_base);
    }
    vec_exp_each_f32x16(t, n);
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u)
        _mm512_storeu_ps(p + u * LANES, t[u]);
}

/* The values of row r in the lanes before its end, those of the next row in the others, for the
 * vector in which the row ends. */
SATTN_INLINE __m512 at_row_end(const float *values, int r, __m512 own, int64_t n_left)
{
    if (n_left == LANES)
        return own; /* there may be no next row */
    return _mm512_mask_mov_ps(_mm512_set1_ps(values[r + 1]), vec_tail_m16(n_left), own);
}

/* The weights of 16 rows relative to base[row]. A vector in which a row ends takes the base of the
 * next behind it. The lines that follow are fetched, for the rows that may come next. */
SATTN_INLINE void flat_weigh(const float *s, float *p, int64_t n, const float *base)
{
    const uintptr_t ahead = (uintptr_t)n * ROWS * sizeof(float);
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const __m512 own = _mm512_set1_ps(base[r]);
        for (; at + VEC_EACH * LANES < end; at += VEC_EACH * LANES)
            flat_weigh_vectors(s + at, p + at, ahead, own, own, VEC_EACH);
        const int64_t n_vecs = (end - at + LANES - 1) / LANES; /* 1 .. VEC_EACH */
        const __m512 last = at_row_end(base, r, own, end - at - (n_vecs - 1) * LANES);
        if (n_vecs == 1)
            flat_weigh_vectors(s + at, p + at, ahead, own, last, 1);
        else if (n_vecs == 2)
            flat_weigh_vectors(s + at, p + at, ahead, own, last, 2);
        else if (n_vecs == 3)
            flat_weigh_vectors(s + at, p + at, ahead, own, last, 3);
        else
            flat_weigh_vectors(s + at, p + at, ahead, own, last, 4);
        at += n_vecs * LANES;
    }
}

/* part[r] += the given lanes of row r, at p + r * n. */
SATTN_INLINE void flat_add(__m512 part[ROWS], const float *p, int64_t n, __mmask16 lanes)
{
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r, p += n)
        part[r] = _mm512_add_ps(part[r], vec_load_tail_f32x16(p, lanes));
}

/* The sums of 16 rows of n weights, each in the order of weigh. */
SATTN_INLINE __m512 flat_sums(const float *p, int64_t n, float *tile)
{
    __m512 part[ROWS];
    for (int64_t j = 0; j < n;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < n ? j + SATTN_KEY_BLOCK : n;
        const bool is_first = j == 0;
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r)
            part[r] = _mm512_setzero_ps();
        for (; j + LANES <= stop; j += LANES)
            flat_add(part, p + j, n, 0xffff);
        if (j < stop)
            flat_add(part, p + j, n, vec_tail_m16(stop - j));
        j = stop;
        if (is_first && j == n)
            return vec_hsum_rows_f32x16(part); /* one block: nothing has to wait in the tile */
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r) {
            const __m512 sum = is_first ? _mm512_setzero_ps() : _mm512_load_ps(tile + r * LANES);
            _mm512_store_ps(tile + r * LANES, _mm512_add_ps(sum, part[r]));
        }
    }
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r)
        part[r] = _mm512_load_ps(tile + r * LANES);
    return vec_hsum_rows_f32x16(part);
}

/* The weights of 16 rows times factor[row]. */
SATTN_INLINE void flat_scale(float *p, int64_t n, const float *factor)
{
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const __m512 own = _mm512_set1_ps(factor[r]);
        SATTN_NO_UNROLL
        for (; at + LANES < end; at += LANES)
            _mm512_storeu_ps(p + at, _mm512_mul_ps(_mm512_loadu_ps(p + at), own));
        const __m512 last = at_row_end(factor, r, own, end - at);
        _mm512_storeu_ps(p + at, _mm512_mul_ps(_mm512_loadu_ps(p + at), last));
        at += LANES;
    }
}

/* NaN and infinities need no care here: every weight is seen, and a multiple of 1 / NaN, or 0 / 0.
 */
static void flat(const float *s, float *p, int64_t n, float *row_max, float *row_sum,
                 float *scratch)
{
    float *const values = scratch; /* [ROWS] base, then factor */
    float *const tile = scratch + LANES;
    const __m512 zero = _mm512_setzero_ps();
    const __m512 max = flat_maxima(s, n);
    const __mmask16 known = _mm512_cmp_ps_mask(max, _mm512_set1_ps(-INFINITY), _CMP_NEQ_UQ);
    _mm512_store_ps(values, _mm512_maskz_mov_ps(known, max)); /* as softmax_base */
    flat_weigh(s, p, n, values);
    const __m512 sum = flat_sums(p, n, tile);
    _mm512_store_ps(values, _mm512_div_ps(_mm512_set1_ps(1.0f), sum));
    flat_scale(p, n, values);
    if (row_max)
        _mm512_storeu_ps(row_max, _mm512_add_ps(max, zero));
    if (row_sum) {
        const __mmask16 is_zero = _mm512_cmp_ps_mask(sum, zero, _CMP_EQ_OQ);
        _mm512_storeu_ps(row_sum, _mm512_mask_mov_ps(sum, is_zero, _mm512_set1_ps(1.0f)));
    }
}

SATTN_NOINLINE void with_alibi(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {.lanes = LANES,
                                    .slope = slope,
                                    .maximum = alibi_maximum,
                                    .weigh = alibi_weigh,
                                    .scale = scale};
    softmax_rows(args, &ops);
}

void sattn_softmax_f32_avx512(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {.lanes = LANES,
                                    .maximum = maximum,
                                    .weigh = weigh,
                                    .scale = scale,
                                    .flat = flat,
                                    .flat_rows = ROWS,
                                    .turn = turn};
    if (args->visible.alibi_slopes)
        with_alibi(args);
    else
        softmax_rows(args, &ops);
}
