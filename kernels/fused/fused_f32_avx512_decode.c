/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_decode.c: fused attention for few query rows, 16 features per vector.
 *
 * The method is in fused_decode.h; here are its steps but the AV product.
 * Scores: 16 accumulators, for 1 row x 16 keys, 2 x 8 or 4 x 4 (3 x 4), each over all features,
 * then one transposing reduction. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_avx512.h"
#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    TILE = 16, /* accumulators of a register tile */
    WIDE = 256 /* features beyond which one row takes keys side by side */
};

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args);

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m512 raise_max(__m512 max_f32x16, __m512 s_f32x16)
{
    return _mm512_max_ps(s_f32x16, max_f32x16);
}

/* Chains as long as those of wide rows fill the processor's window, so few keys would overlap by
 * themselves: wide ones go eight side by side, in streams that hardware follows. */
SATTN_INLINE void score_1_row(fused_decode_state *st, const fused_decode_block *block,
                              const fused_decode_part *part, const bool wide)
{
    const int64_t whole = st->d / LANES * LANES;
    const __mmask16 tail = vec_tail_m16(st->d - whole);
    const int64_t stride = block->k_stride;
    const int64_t ahead = part->k_ahead;
    const float *const q = st->q + part->row * st->q_pitch;
    const float *k = block->k + part->begin * stride;
    float *s = st->s + part->row * FUSED_DECODE_KEYS + part->begin;
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0; left -= TILE, s += TILE) {
        __m512 acc[TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < TILE; ++i, k += stride) {
            if (i >= left) { /* a key again, so that the maximum stays right */
                acc[i] = acc[0];
            } else if (!wide) {
                acc[i] = score_key_f32x16(q, k, whole, tail, ahead);
            } else if (i % 8 == 0) {
                const float *rows[8];
                fused_decode_rows(rows, k, stride, left - i, 8);
                score_tile_f32x16(acc + i, q, rows, st->d, ahead, 1, 8, SCORE_FETCH_NONE);
            }
        }
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        _mm512_storeu_ps(s, tile_f32x16);
    }
    st->block_max[part->row] = vec_hmax_f32x16(max_f32x16);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m512 tile_f32x16, const int n_rows, const int n_keys)
{
    if (n_keys == 8) {
        _mm256_storeu_ps(s, _mm512_castps512_ps256(tile_f32x16));
        _mm256_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_storeu_ps(s, _mm512_castps512_ps128(tile_f32x16));
    _mm_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s + 2 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_storeu_ps(s + 3 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores. */
SATTN_INLINE void store_max(float *block_max, __m512 max_f32x16, const int n_rows, const int n_keys)
{
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0x4e));
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0xb1));
    if (n_keys == 8)
        max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_shuffle_f32x4(max_f32x16, max_f32x16, 0xb1));
    max_f32x16 = _mm512_maskz_compress_ps(n_keys == 8 ? 0x0101 : 0x1111, max_f32x16);
    vec_store_tail_f32x16(block_max, vec_tail_m16(n_rows), max_f32x16);
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
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = part->end - part->begin; left > 0;
         left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m512 acc[TILE];
        fused_decode_rows(rows, k, stride, left, n_keys);
        if (fetch == SCORE_FETCH_NEXT)
            fused_fetch_next(&next, rows, n_keys);
        score_tile_f32x16(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        store_tile(s, tile_f32x16, n_rows, n_keys);
    }
    store_max(st->block_max + part->row, max_f32x16, n_rows, n_keys);
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers. */
SATTN_NOINLINE void score_narrow_row(fused_decode_state *st, const fused_decode_block *block,
                                     const fused_decode_part *part)
{
    score_1_row(st, block, part, false);
}

SATTN_NOINLINE void score_wide_row(fused_decode_state *st, const fused_decode_block *block,
                                   const fused_decode_part *part)
{
    score_1_row(st, block, part, true);
}

SATTN_NOINLINE void score_2_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    score_rows(st, block, part, 2, 8, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_3_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->fetch == FUSED_FETCH_NEXT)
        score_rows(st, block, part, 3, 4, SCORE_FETCH_NEXT);
    else
        score_rows(st, block, part, 3, 4, SCORE_FETCH_BY_KEY);
}

SATTN_NOINLINE void score_4_rows(fused_decode_state *st, const fused_decode_block *block,
                                 const fused_decode_part *part)
{
    if (part->fetch == FUSED_FETCH_NEXT)
        score_rows(st, block, part, 4, 4, SCORE_FETCH_NEXT);
    else
        score_rows(st, block, part, 4, 4, SCORE_FETCH_BY_KEY);
}

static void score(fused_decode_state *st, const fused_decode_block *block,
                  const fused_decode_part *part)
{
    if (part->n_rows == 4)
        score_4_rows(st, block, part);
    else if (part->n_rows == 3)
        score_3_rows(st, block, part);
    else if (part->n_rows == 2)
        score_2_rows(st, block, part);
    else if (st->d > WIDE)
        score_wide_row(st, block, part);
    else
        score_narrow_row(st, block, part);
}

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m512 slope = _mm512_set1_ps(alibi->slope);
    const __m512 position = _mm512_set1_ps(alibi->position);
    const __m512 steps = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int j = 0; j < n; j += LANES) {
        const __mmask16 tail = vec_tail_m16(n - j);
        const __m512 key = _mm512_add_ps(_mm512_set1_ps((float)j), steps);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(position, key));
        const __m512 s_f32x16 = vec_load_tail_f32x16(s + j, tail);
        vec_store_tail_f32x16(s + j, tail, _mm512_fmadd_ps(slope, distance, s_f32x16));
    }
}

static void maximum(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
        for (int j = 0; j < n; j += LANES)
            max_f32x16 = raise_max(max_f32x16, _mm512_loadu_ps(s + j));
        st->block_max[r] = vec_hmax_f32x16(max_f32x16);
    }
}

static void weigh(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const __m512 m_f32x16 = _mm512_set1_ps(fused_decode_reference(st, r));
        __m512 sum_f32x16 = _mm512_setzero_ps();
        for (int j = 0; j < n; j += LANES) {
            const __m512 t_f32x16 = _mm512_sub_ps(_mm512_loadu_ps(s + j), m_f32x16);
            const __m512 p_f32x16 = vec_exp_f32x16(t_f32x16);
            sum_f32x16 = _mm512_add_ps(sum_f32x16, p_f32x16);
            _mm512_storeu_ps(s + j, p_f32x16);
        }
        st->row_sum[r] += vec_hsum_f32x16(sum_f32x16);
    }
}

static float exp_of_one(float t)
{
    return _mm512_cvtss_f32(vec_exp_f32x16(_mm512_set1_ps(t)));
}

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
