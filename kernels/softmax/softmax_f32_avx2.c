/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx2.c: softmax by rows in AVX2; the method is in softmax_rows.h.
 *
 * Flat     8 rows of n columns are n whole vectors. A vector in which a row ends takes maximum and
 *          factor of the next row behind it. Maxima and sums go by rows, for all 8 at once, and end
 *          in one transposed reduction. */
#include "kernels/softmax/softmax_turn_avx2.h"

sattn_softmax_fn sattn_softmax_f32_avx2;

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE __m256 max_of_rows(const __m256 rows[8])
{
    __m256 half[4];
    __m256 pair[2];
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        half[i] = _mm256_max_ps(_mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20),
                                _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm256_max_ps(_mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0x44),
                                _mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0xee));
    return _mm256_max_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* The first n lanes of one vector and the others of another. */
SATTN_INLINE __m256 up_to(__m256 first, __m256 second, int64_t n)
{
    return _mm256_blendv_ps(second, first, _mm256_castsi256_ps(vec_tail_m8(n)));
}

/* The maxima of 8 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE __m256 flat_maxima(const float *s, int64_t n)
{
    __m256 top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(_mm256_set1_ps(-INFINITY), _mm256_loadu_ps(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], _mm256_loadu_ps(at));
    }
    return max_of_rows(top);
}

/* The weights of 8 rows relative to base[row]. A vector in which a row ends takes the base of the
 * next behind it. The lines that follow are fetched, for the rows that may come next. */
SATTN_INLINE void flat_weigh(const float *s, float *p, int64_t n, const float *base)
{
    const uintptr_t ahead = (uintptr_t)n * ROWS * sizeof(float);
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const __m256 own = _mm256_set1_ps(base[r]);
        while (at < end) {
            __m256 both = own;
            if (at + LANES > end)
                both = up_to(own, _mm256_set1_ps(base[r + 1]), end - at);
            _mm_prefetch((const char *)((uintptr_t)(s + at) + ahead), _MM_HINT_T0);
            _mm_prefetch((const char *)((uintptr_t)(p + at) + ahead), _MM_HINT_T0);
            _mm256_storeu_ps(p + at, vec_exp_f32x8(_mm256_sub_ps(_mm256_loadu_ps(s + at), both)));
            at += LANES;
        }
    }
}

/* part[r] += the n_lanes lanes of row r at p + r * n. */
SATTN_INLINE void flat_add(__m256 part[ROWS], const float *p, int64_t n, int64_t n_lanes)
{
    const __m256i lanes = vec_tail_m8(n_lanes);
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r, p += n) {
        const __m256 row = n_lanes == LANES ? _mm256_loadu_ps(p) : vec_load_tail_f32x8(p, lanes);
        part[r] = _mm256_add_ps(part[r], row);
    }
}

/* The sums of 8 rows of n weights, each in the order of weigh. */
SATTN_INLINE __m256 flat_sums(const float *p, int64_t n, float *tile)
{
    __m256 part[ROWS];
    for (int64_t j = 0; j < n;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < n ? j + SATTN_KEY_BLOCK : n;
        const bool is_first = j == 0;
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r)
            part[r] = _mm256_setzero_ps();
        for (; j + LANES <= stop; j += LANES)
            flat_add(part, p + j, n, LANES);
        if (j < stop)
            flat_add(part, p + j, n, stop - j);
        j = stop;
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r) {
            const __m256 sum = is_first ? _mm256_setzero_ps() : _mm256_load_ps(tile + r * LANES);
            _mm256_store_ps(tile + r * LANES, _mm256_add_ps(sum, part[r]));
        }
    }
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r)
        part[r] = _mm256_load_ps(tile + r * LANES);
    return vec_hsum_rows_f32x8(part);
}

/* The weights of 8 rows times factor[row]. */
SATTN_INLINE void flat_scale(float *p, int64_t n, const float *factor)
{
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const __m256 own = _mm256_set1_ps(factor[r]);
        while (at < end) {
            __m256 both = own;
            if (at + LANES > end)
                both = up_to(own, _mm256_set1_ps(factor[r + 1]), end - at);
            _mm256_storeu_ps(p + at, _mm256_mul_ps(_mm256_loadu_ps(p + at), both));
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
    const __m256 zero = _mm256_setzero_ps();
    const __m256 max = flat_maxima(s, n);
    const __m256 known = _mm256_cmp_ps(max, _mm256_set1_ps(-INFINITY), _CMP_NEQ_UQ);
    _mm256_store_ps(values, _mm256_and_ps(known, max)); /* as softmax_base */
    flat_weigh(s, p, n, values);
    const __m256 sum = flat_sums(p, n, tile);
    _mm256_store_ps(values, _mm256_div_ps(_mm256_set1_ps(1.0f), sum));
    flat_scale(p, n, values);
    if (row_max)
        _mm256_storeu_ps(row_max, _mm256_add_ps(max, zero));
    if (row_sum) {
        const __m256 is_zero = _mm256_cmp_ps(sum, zero, _CMP_EQ_OQ);
        _mm256_storeu_ps(row_sum, _mm256_blendv_ps(sum, _mm256_set1_ps(1.0f), is_zero));
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

void sattn_softmax_f32_avx2(const sattn_softmax_args *args)
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
