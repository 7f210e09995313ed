/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx512_decode.c: a linear map of few rows, 16 features per vector.
 *
 * The method is in linear_decode.h. 16 accumulators read packed W, as qk_f32_avx512_decode.c does
 * K: of one row or two for two blocks side by side, which hide the latency of a multiply-add, of
 * more rows for one block. */
#include "kernels/linear/linear_decode.h"
#include "kernels/vec/score_group_avx512.h"

sattn_linear_fn sattn_linear_f32_avx512_decode;

/* acc[r * n_keys + j] = q[r] . w[j] by lanes, for the outputs of one block, or of two. */
SATTN_INLINE void score_blocks(__m512 *acc, const score_group *group, const float *block,
                               const float *second, const int n_rows, const int n_keys)
{
    const vec_stream none = {0};
    const int64_t n = group->k_stride * LINEAR_PACKED;
    const int64_t ahead = group->ahead;
    const float *const rows[2 * LINEAR_PACKED] = {
        block,  block + SCORE_LANES,  block + 2 * SCORE_LANES,  block + 3 * SCORE_LANES,
        second, second + SCORE_LANES, second + 2 * SCORE_LANES, second + 3 * SCORE_LANES};
    const float *q = group->q;
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = _mm512_setzero_ps();
    SATTN_NO_UNROLL
    for (int64_t at = 0; at < n; at += LINEAR_PACKED * SCORE_LANES, q += n_rows * SCORE_LANES)
        score_step_f32x16(acc, q, rows, at, ahead, &none, n_rows, n_keys, SCORE_FETCH_BY_KEY);
}

/* Two blocks of the n_left outputs that are left: the second may be the first again. */
SATTN_INLINE void score_pair(__m512 *acc, const score_group *group, const float *block,
                             int64_t n_left, const int n_rows)
{
    const int64_t size = group->k_stride * LINEAR_PACKED;
    score_blocks(acc, group, block, n_left > LINEAR_PACKED ? block + size : block, n_rows,
                 2 * LINEAR_PACKED);
}

static void score_1_packed(const score_group *group)
{
    enum { HALF = GROUP_TILE / 2 };
    const float *block = group->k;
    float *s = group->s[0];
    for (int64_t left = group->n_keys; left > 0;
         left -= GROUP_TILE, s += GROUP_TILE, block += GROUP_TILE * group->k_stride) {
        __m512 acc[GROUP_TILE];
        score_pair(acc, group, block, left, 1);
        score_pair(acc + HALF, group, left > HALF ? block + HALF * group->k_stride : block,
                   left - HALF, 1);
        _mm512_storeu_ps(s, vec_hsum_rows_f32x16(acc));
    }
}

SATTN_INLINE void score_packed_rows(const score_group *group, const int n_rows)
{
    const int n_keys = n_rows == 2 ? 2 * LINEAR_PACKED : LINEAR_PACKED;
    const float *block = group->k;
    for (int64_t j = 0; j < group->n_keys; j += n_keys, block += n_keys * group->k_stride) {
        __m512 acc[GROUP_TILE];
        if (n_rows == 2)
            score_pair(acc, group, block, group->n_keys - j, n_rows);
        else
            score_blocks(acc, group, block, block, n_rows, n_keys);
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < GROUP_TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        score_store_tile(group->s, j, vec_hsum_rows_f32x16(acc), n_rows, n_keys);
    }
}

static void score_packed(const score_group *group)
{
    if (group->n_rows == 4)
        score_packed_rows(group, 4);
    else if (group->n_rows == 3)
        score_packed_rows(group, 3);
    else if (group->n_rows == 2)
        score_packed_rows(group, 2);
    else
        score_1_packed(group);
}

void sattn_linear_f32_avx512_decode(const sattn_linear_args *args)
{
    static const linear_decode_ops ops = {.lanes = SCORE_LANES,
                                          .packed_rows = SCORE_GROUP,
                                          .score = score_group_f32x16,
                                          .score_packed = score_packed};
    linear_decode(args, &ops);
}
