/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx512.c: softmax by rows in AVX-512; the method is in softmax_rows.h.
 *
 * Flat     16 rows of n columns are n whole vectors. A vector in which a row ends takes maximum and
 *          factor of the next row behind it. Maxima and sums go by rows, for all 16 at once, and
 *          end in one transposed reduction. */
#include "kernels/softmax/softmax_rows_avx512.h"

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

/* The weights of 16 rows relative to base[row]. A vector in which a row ends takes the base of the
 * next behind it. The lines that follow are fetched, for the rows that may come next. */
SATTN_INLINE void flat_weigh(const float *s, float *p, int64_t n, const float *base)
{
    const uintptr_t ahead = (uintptr_t)n * ROWS * sizeof(float);
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const __m512 own = _mm512_set1_ps(base[r]);
        while (at < end) {
            __m512 both = own;
            if (at + LANES > end)
                both = _mm512_mask_mov_ps(_mm512_set1_ps(base[r + 1]), vec_tail_m16(end - at), own);
            _mm_prefetch((const char *)((uintptr_t)(s + at) + ahead), _MM_HINT_T0);
            _mm_prefetch((const char *)((uintptr_t)(p + at) + ahead), _MM_HINT_T0);
            _mm512_storeu_ps(p + at, vec_exp_f32x16(_mm512_sub_ps(_mm512_loadu_ps(s + at), both)));
            at += LANES;
        }
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
        while (at < end) {
            __m512 both = own;
            if (at + LANES > end)
                both =
                    _mm512_mask_mov_ps(_mm512_set1_ps(factor[r + 1]), vec_tail_m16(end - at), own);
            _mm512_storeu_ps(p + at, _mm512_mul_ps(_mm512_loadu_ps(p + at), both));
            at += LANES;
        }
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
                                    .flat_min = LANES};
    if (args->visible.alibi_slopes)
        with_alibi(args);
    else
        softmax_rows(args, &ops);
}
