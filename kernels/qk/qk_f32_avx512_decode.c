/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx512_decode.c: scores of few query rows, 16 features per vector.
 *
 * The method is in qk_decode.h. 16 accumulators, for 1 row x 16 keys, 2 x 8 or 4 x 4 (3 x 4), each
 * over all features, then one transposing reduction. */
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    TILE = 16,   /* accumulators of a register tile */
    WIDE = 256,  /* features beyond which one row takes keys side by side ... */
    NEAR = 8192, /* ... and floats of K up to which it does so too */
};

sattn_qk_fn sattn_qk_f32_avx512_decode;

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
            acc[i] = i < left ? score_key_f32x16(q, k, whole, tail, ahead, 1) : _mm512_setzero_ps();
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
        score_tile_f32x16(acc, group->q, rows, group->d, group->ahead, 1, HALF, SCORE_FETCH_NONE);
        if (left > HALF) {
            qk_decode_keys(rows, k + HALF * stride, stride, left - HALF, HALF);
            score_tile_f32x16(acc + HALF, group->q, rows, group->d, group->ahead, 1, HALF,
                              SCORE_FETCH_NONE);
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
    float *s[SCORE_GROUP];
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        s[r] = group->s[r];
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m512 acc[TILE];
        qk_decode_keys(rows, k, stride, n - j, n_keys);
        score_tile_f32x16(acc, q, rows, d, ahead, n_rows, n_keys, SCORE_FETCH_BY_OFFSET);
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

/* A function of its own, so that eight pointers to keys find registers. */
SATTN_NOINLINE void score_2_rows(const qk_decode_group *group)
{
    score_rows(group, 2, 8);
}

static void score(const qk_decode_group *group)
{
    if (group->n_rows == 4)
        score_rows(group, 4, 4);
    else if (group->n_rows == 3)
        score_rows(group, 3, 4);
    else if (group->n_rows == 2)
        score_2_rows(group);
    else if (group->d > WIDE || group->n_keys * group->d <= NEAR)
        score_1_row_by_streams(group);
    else
        score_1_row(group);
}

void sattn_qk_f32_avx512_decode(const sattn_qk_args *args)
{
    static const qk_decode_ops ops = {.lanes = LANES, .score = score, .cap = vec_softcap};
    qk_decode(args, &ops);
}
