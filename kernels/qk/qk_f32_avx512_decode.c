/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx512_decode.c: scores of few query rows, 16 features per vector.
 *
 * The method is in qk_decode.h. 16 accumulators, for 1 row x 16 keys, 2 x 8 or 4 x 4 (3 x 4), each
 * over all features, then one transposing reduction. */
#include "kernels/qk/qk_cap_avx512.h"
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    TILE = 16,   /* accumulators of a register tile */
    WIDE = 256,  /* features beyond which one row takes keys side by side ... */
    NEAR = 8192, /* ... and floats of K up to which it does so too */
};

sattn_qk_fn sattn_qk_f32_avx512_decode;

/* Keeps a loaded vector that several multiply-adds use from being loaded again by each of them. */
SATTN_INLINE __m512 in_register(__m512 loaded)
{
    __asm__("" : "+v"(loaded));
    return loaded;
}

/* acc[r * n_keys + j] = q[r] . k[j] by lanes, for the rows k[0 .. n_keys) */
SATTN_INLINE void dot_tile(__m512 *acc, const float *q, const float *const *k, int64_t d,
                           int64_t ahead, const int n_rows, const int n_keys)
{
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = _mm512_setzero_ps();
    __m512 q_f32x16[QK_DECODE_GROUP];
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + LANES <= d; x += LANES, q += n_rows * LANES) {
        const int64_t offset = qk_decode_offset(x, ahead);
        SATTN_KEEP_ORDER();
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            q_f32x16[r] = in_register(_mm512_loadu_ps(q + r * LANES));
        SATTN_UNROLL(8)
        for (int j = 0; j < n_keys; ++j) {
            const __m512 k_f32x16 = in_register(_mm512_loadu_ps(k[j] + x));
            if (n_rows > 1)
                qk_decode_fetch(k[j], offset);
            SATTN_UNROLL(4)
            for (int r = 0; r < n_rows; ++r)
                acc[r * n_keys + j] = _mm512_fmadd_ps(q_f32x16[r], k_f32x16, acc[r * n_keys + j]);
        }
    }
    if (x == d)
        return;
    const __mmask16 tail = vec_tail_m16(d - x);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const __m512 k_f32x16 = vec_load_tail_f32x16(k[j] + x, tail);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] =
                _mm512_fmadd_ps(_mm512_loadu_ps(q + r * LANES), k_f32x16, acc[r * n_keys + j]);
    }
}

/* q . k by lanes. The accumulators of the next keys overlap with this chain of additions, and K is
 * read in the order in which it lies in memory, which prefetchers like best. */
SATTN_INLINE __m512 dot_key(const float *q, const float *k, int64_t whole, __mmask16 tail,
                            int64_t ahead)
{
    __m512 acc = _mm512_setzero_ps();
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x < whole; x += LANES) {
        acc = _mm512_fmadd_ps(_mm512_loadu_ps(q + x), _mm512_loadu_ps(k + x), acc);
        qk_decode_fetch(k + x, ahead);
    }
    if (tail)
        acc = _mm512_fmadd_ps(_mm512_loadu_ps(q + x), vec_load_tail_f32x16(k + x, tail), acc);
    return acc;
}

SATTN_INLINE void score_1_row(const qk_decode_group *group)
{
    const int64_t whole = group->d / LANES * LANES;
    const __mmask16 tail = vec_tail_m16(group->d - whole);
    const int64_t stride = group->k_stride;
    const int64_t ahead = group->ahead;
    const float *const q = group->q;
    const float *k = group->k;
    float *s = group->s[0];
    for (int64_t left = group->n_keys; left > 0; left -= TILE, s += TILE) {
        __m512 acc[TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < TILE; ++i, k += stride)
            acc[i] = i < left ? dot_key(q, k, whole, tail, ahead) : _mm512_setzero_ps();
        vec_store_tail_f32x16(s, vec_tail_m16(left), vec_hsum_rows_f32x16(acc));
    }
}

/* Chains as long as those of wide rows fill the processor's window, so few keys would overlap by
 * themselves: wide ones go eight side by side, in streams that hardware follows. So do few keys,
 * which the first cache may hold. The bits are the same. */
SATTN_INLINE void score_1_row_by_streams(const qk_decode_group *group)
{
    enum { HALF = TILE / 2 };
    const int64_t stride = group->k_stride;
    const float *k = group->k;
    float *s = group->s[0];
    for (int64_t left = group->n_keys; left > 0; left -= TILE, s += TILE, k += TILE * stride) {
        const float *rows[HALF];
        __m512 acc[TILE];
        qk_decode_keys(rows, k, stride, left, HALF);
        dot_tile(acc, group->q, rows, group->d, group->ahead, 1, HALF);
        if (left > HALF) {
            qk_decode_keys(rows, k + HALF * stride, stride, left - HALF, HALF);
            dot_tile(acc + HALF, group->q, rows, group->d, group->ahead, 1, HALF);
        } else {
            SATTN_UNROLL(8)
            for (int i = HALF; i < TILE; ++i)
                acc[i] = _mm512_setzero_ps();
        }
        vec_store_tail_f32x16(s, vec_tail_m16(left), vec_hsum_rows_f32x16(acc));
    }
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *const *s, int64_t j, __m512 tile_f32x16, const int n_rows,
                             const int n_keys)
{
    if (n_keys == 8) {
        _mm256_storeu_ps(s[0] + j, _mm512_castps512_ps256(tile_f32x16));
        _mm256_storeu_ps(s[1] + j, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_storeu_ps(s[0] + j, _mm512_castps512_ps128(tile_f32x16));
    _mm_storeu_ps(s[1] + j, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s[2] + j, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_storeu_ps(s[3] + j, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

/* The same where n_left of them exist, fewer than n_keys. AVX's masked stores, since GCC makes one
 * instruction of AVX-512's and the extraction, and that one faults on lanes that the mask hides. */
SATTN_INLINE void store_part(float *const *s, int64_t j, __m512 tile_f32x16, int64_t n_left,
                             const int n_rows, const int n_keys)
{
    for (int r = 0; r < n_rows; ++r)
        SATTN_WRITTEN(s[r] + j, (size_t)n_left);
    const __m256i lanes = _mm256_movm_epi32((__mmask8)vec_tail_m16(n_left));
    const __m128i low_lanes = _mm256_castsi256_si128(lanes);
    if (n_keys == 8) {
        _mm256_maskstore_ps(s[0] + j, lanes, _mm512_castps512_ps256(tile_f32x16));
        _mm256_maskstore_ps(s[1] + j, lanes, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_maskstore_ps(s[0] + j, low_lanes, _mm512_castps512_ps128(tile_f32x16));
    _mm_maskstore_ps(s[1] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_maskstore_ps(s[2] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_maskstore_ps(s[3] + j, low_lanes, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

SATTN_INLINE void score_rows(const qk_decode_group *group, const int n_rows, const int n_keys)
{
    const int64_t d = group->d;
    const int64_t stride = group->k_stride;
    const int64_t ahead = group->ahead;
    const int64_t n = group->n_keys;
    const float *const q = group->q;
    const float *k = group->k;
    float *s[QK_DECODE_GROUP];
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        s[r] = group->s[r];
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m512 acc[TILE];
        qk_decode_keys(rows, k, stride, n - j, n_keys);
        dot_tile(acc, q, rows, d, ahead, n_rows, n_keys);
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        if (n - j >= n_keys)
            store_tile(s, j, tile_f32x16, n_rows, n_keys);
        else
            store_part(s, j, tile_f32x16, n - j, n_rows, n_keys);
    }
}

static void score(const qk_decode_group *group)
{
    if (group->n_rows == 4)
        score_rows(group, 4, 4);
    else if (group->n_rows == 3)
        score_rows(group, 3, 4);
    else if (group->n_rows == 2)
        score_rows(group, 2, 8);
    else if (group->d > WIDE || group->n_keys * group->d <= NEAR)
        score_1_row_by_streams(group);
    else
        score_1_row(group);
}

void sattn_qk_f32_avx512_decode(const sattn_qk_args *args)
{
    static const qk_decode_ops ops = {.lanes = LANES, .score = score, .cap = qk_cap};
    qk_decode(args, &ops);
}
