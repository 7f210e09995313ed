/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_neon.c: softmax by rows in NEON; the method is in softmax_rows.h.
 *
 * Flat     4 rows of n columns are n whole vectors. A vector in which a row ends takes maximum and
 *          factor of the next row behind it. Maxima and sums go by rows, for all 4 at once, and end
 *          in one transposed reduction. */
#include "kernels/softmax/softmax_turn_neon.h"

sattn_softmax_fn sattn_softmax_f32_neon;

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE float32x4_t max_of_rows(const float32x4_t rows[4])
{
    return vpmaxq_f32(vpmaxq_f32(rows[0], rows[1]), vpmaxq_f32(rows[2], rows[3]));
}

/* The first n lanes of one vector and the others of another. */
SATTN_INLINE float32x4_t up_to(float32x4_t first, float32x4_t second, int64_t n)
{
    return vbslq_f32(vec_tail_m4((int)n), first, second);
}

/* The maxima of 4 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE float32x4_t flat_maxima(const float *s, int64_t n)
{
    float32x4_t top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(vdupq_n_f32(-INFINITY), vld1q_f32(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(4)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], vld1q_f32(at));
    }
    return max_of_rows(top);
}

/* The weights of 4 rows relative to base[row]. A vector in which a row ends takes the base of the
 * next behind it. The lines that follow are fetched, for the rows that may come next. */
SATTN_INLINE void flat_weigh(const float *s, float *p, int64_t n, const float *base)
{
    const uintptr_t ahead = (uintptr_t)n * ROWS * sizeof(float);
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const float32x4_t own = vdupq_n_f32(base[r]);
        while (at < end) {
            float32x4_t both = own;
            if (at + LANES > end)
                both = up_to(own, vdupq_n_f32(base[r + 1]), end - at);
            __builtin_prefetch((const void *)((uintptr_t)(s + at) + ahead));
            __builtin_prefetch((const void *)((uintptr_t)(p + at) + ahead));
            vst1q_f32(p + at, vec_exp_f32x4(vsubq_f32(vld1q_f32(s + at), both)));
            at += LANES;
        }
    }
}

/* part[r] += the n_lanes lanes of row r at p + r * n. */
SATTN_INLINE void flat_add(float32x4_t part[ROWS], const float *p, int64_t n, int64_t n_lanes)
{
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r, p += n)
        part[r] = vaddq_f32(part[r], vec_load_tail_f32x4(p, n_lanes));
}

/* The sums of 4 rows of n weights, each in the order of weigh. */
SATTN_INLINE float32x4_t flat_sums(const float *p, int64_t n, float *tile)
{
    float32x4_t part[ROWS];
    for (int64_t j = 0; j < n;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < n ? j + SATTN_KEY_BLOCK : n;
        const bool is_first = j == 0;
        SATTN_UNROLL(4)
        for (int r = 0; r < ROWS; ++r)
            part[r] = vdupq_n_f32(0.0f);
        for (; j + LANES <= stop; j += LANES)
            flat_add(part, p + j, n, LANES);
        if (j < stop)
            flat_add(part, p + j, n, stop - j);
        j = stop;
        SATTN_UNROLL(4)
        for (int r = 0; r < ROWS; ++r) {
            const float32x4_t sum = is_first ? vdupq_n_f32(0.0f) : vld1q_f32(tile + r * LANES);
            vst1q_f32(tile + r * LANES, vaddq_f32(sum, part[r]));
        }
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r)
        part[r] = vld1q_f32(tile + r * LANES);
    return vec_hsum_rows_f32x4(part);
}

/* The weights of 4 rows times factor[row]. */
SATTN_INLINE void flat_scale(float *p, int64_t n, const float *factor)
{
    int64_t at = 0;
    for (int r = 0; r < ROWS; ++r) {
        const int64_t end = (r + 1) * n;
        const float32x4_t own = vdupq_n_f32(factor[r]);
        while (at < end) {
            float32x4_t both = own;
            if (at + LANES > end)
                both = up_to(own, vdupq_n_f32(factor[r + 1]), end - at);
            vst1q_f32(p + at, vmulq_f32(vld1q_f32(p + at), both));
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
    const float32x4_t zero = vdupq_n_f32(0.0f);
    const float32x4_t max = flat_maxima(s, n);
    const uint32x4_t none = vceqq_f32(max, vdupq_n_f32(-INFINITY));
    vst1q_f32(values, vbslq_f32(none, zero, max)); /* as softmax_base */
    flat_weigh(s, p, n, values);
    const float32x4_t sum = flat_sums(p, n, tile);
    vst1q_f32(values, vdivq_f32(vdupq_n_f32(1.0f), sum));
    flat_scale(p, n, values);
    if (row_max)
        vst1q_f32(row_max, vaddq_f32(max, zero));
    if (row_sum)
        vst1q_f32(row_sum, vbslq_f32(vceqzq_f32(sum), vdupq_n_f32(1.0f), sum));
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

void sattn_softmax_f32_neon(const sattn_softmax_args *args)
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
