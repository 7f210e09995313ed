/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2_decode.c: fused attention for few query rows, 8 features per vector.
 *
 * The method is in fused_decode.h; here are its steps but the AV product. Scores: 8 accumulators,
 * for 1 row x 8 keys, 2 x 4 or 4 x 2 (3 x 2), each over all features, then one transposing
 * reduction. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_avx2.h"
#include "kernels/vec/score_tile_avx2.h"
#include "kernels/vec/softcap_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum {
    LANES = 8,
    NARROW = 64 /* features below which one row prefetches K */
};

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args);

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m256 raise_max(__m256 max_f32x8, __m256 s_f32x8)
{
    return _mm256_max_ps(s_f32x8, max_f32x8);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m256 tile_f32x8, const int n_rows, const int n_keys)
{
    const __m128 low = _mm256_castps256_ps128(tile_f32x8);
    const __m128 high = _mm256_extractf128_ps(tile_f32x8, 1);
    if (n_keys == 8) {
        _mm256_storeu_ps(s, tile_f32x8);
    } else if (n_keys == 4) {
        _mm_storeu_ps(s, low);
        _mm_storeu_ps(s + FUSED_DECODE_KEYS, high);
    } else {
        _mm_storel_pi((__m64 *)(void *)s, low);
        _mm_storeh_pi((__m64 *)(void *)(s + FUSED_DECODE_KEYS), low);
        _mm_storel_pi((__m64 *)(void *)(s + 2 * FUSED_DECODE_KEYS), high);
        if (n_rows > 3)
            _mm_storeh_pi((__m64 *)(void *)(s + 3 * FUSED_DECODE_KEYS), high);
    }
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores. */
SATTN_INLINE void store_max(float *block_max, __m256 max_f32x8, const int n_rows, const int n_keys)
{
    float lanes[LANES];
    max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0xb1));
    if (n_keys >= 4)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0x4e));
    if (n_keys == 8)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute2f128_ps(max_f32x8, max_f32x8, 1));
    _mm256_storeu_ps(lanes, max_f32x8);
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        block_max[r] = lanes[r * n_keys];
}

SATTN_INLINE void score_rows(fused_decode_state *st, const fused_decode_block *block,
                             const fused_decode_part *part, const int n_rows, const int n_keys,
                             const score_fetch fetch)
{
    const int64_t d = st->d;
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    fused_fetch_rows next = fused_fetch_rows_of(block, part);
    __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0;
         left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m256 acc[8];
        fused_decode_rows(rows, k, stride, left, n_keys);
        if (fetch == SCORE_FETCH_NEXT)
            fused_fetch_next(&next, rows, n_keys);
        score_tile_f32x8(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        SATTN_UNROLL(8)
        for (int i = n_rows * n_keys; i < 8; ++i)
            acc[i] = _mm256_setzero_ps();
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(acc);
        max_f32x8 = raise_max(max_f32x8, tile_f32x8);
        store_tile(s, tile_f32x8, n_rows, n_keys);
    }
    store_max(st->block_max + part->row, max_f32x8, n_rows, n_keys);
}

/* For one row, eight keys side by side are streams that hardware follows by itself, unless the rows
 * of K are short. */
static void score(fused_decode_state *st, const fused_decode_block *block,
                  const fused_decode_part *part)
{
    const int n_rows = part->n_rows;
    if (n_rows == 4 && part->fetch == FUSED_FETCH_NEXT)
        score_rows(st, block, part, 4, 2, SCORE_FETCH_NEXT);
    else if (n_rows == 4)
        score_rows(st, block, part, 4, 2, SCORE_FETCH_BY_KEY);
    else if (n_rows == 3 && part->fetch == FUSED_FETCH_NEXT)
        score_rows(st, block, part, 3, 2, SCORE_FETCH_NEXT);
    else if (n_rows == 3)
        score_rows(st, block, part, 3, 2, SCORE_FETCH_BY_KEY);
    else if (n_rows == 2)
        score_rows(st, block, part, 2, 4, SCORE_FETCH_BY_KEY);
    else if (st->d < NARROW)
        score_rows(st, block, part, 1, 8, SCORE_FETCH_BY_KEY);
    else
        score_rows(st, block, part, 1, 8, SCORE_FETCH_NONE);
}

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m256 slope = _mm256_set1_ps(alibi->slope);
    const __m256 position = _mm256_set1_ps(alibi->position);
    const __m256 steps = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int j = 0; j < n; j += LANES) {
        const __m256i tail = vec_tail_m8(n - j);
        const __m256 key = _mm256_add_ps(_mm256_set1_ps((float)j), steps);
        const __m256 distance =
            _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));
        const __m256 s_f32x8 = vec_load_tail_f32x8(s + j, tail);
        vec_store_tail_f32x8(s + j, tail, _mm256_fmadd_ps(slope, distance, s_f32x8));
    }
}

static void maximum(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
        for (int j = 0; j < n; j += LANES)
            max_f32x8 = raise_max(max_f32x8, _mm256_loadu_ps(s + j));
        st->block_max[r] = vec_hmax_f32x8(max_f32x8);
    }
}

static void weigh(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const __m256 m_f32x8 = _mm256_set1_ps(fused_decode_reference(st, r));
        __m256 sum_f32x8 = _mm256_setzero_ps();
        for (int j = 0; j < n; j += LANES) {
            const __m256 t_f32x8 = _mm256_sub_ps(_mm256_loadu_ps(s + j), m_f32x8);
            const __m256 p_f32x8 = vec_exp_f32x8(t_f32x8);
            sum_f32x8 = _mm256_add_ps(sum_f32x8, p_f32x8);
            _mm256_storeu_ps(s + j, p_f32x8);
        }
        st->row_sum[r] += vec_hsum_f32x8(sum_f32x8);
    }
}

static float exp_of_one(float t)
{
    return _mm256_cvtss_f32(vec_exp_f32x8(_mm256_set1_ps(t)));
}

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .group = SCORE_GROUP,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
