/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx512_decode.c: a linear map of few rows, 16 features per vector.
 *
 * The method is in linear_decode.h. Packed W is read by tiles of up to 4 rows x 4 outputs. With one
 * row four blocks of outputs follow each other, with two rows two blocks, before one transposing
 * reduction of 16 accumulators. */
#include "kernels/linear/linear_decode.h"
#include "kernels/vec/score_group_avx512.h"

sattn_linear_fn sattn_linear_f32_avx512_decode;

/* sums[r * LINEAR_PACKED + j] = q[r] . w[j] by lanes, for the outputs of a block. One row reads
 * faster where hardware follows by itself than where lines are asked for. */
SATTN_INLINE void score_block(__m512 *sums, const score_group *group, const float *block,
                              const int n_rows)
{
    const vec_stream none = {0};
    const int64_t n = group->k_stride * LINEAR_PACKED;
    const int64_t ahead = group->ahead;
    const float *const rows[LINEAR_PACKED] = {block, block + SCORE_LANES, block + 2 * SCORE_LANES,
                                              block + 3 * SCORE_LANES};
    const float *q = group->q;
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * LINEAR_PACKED; ++i)
        sums[i] = _mm512_setzero_ps();
    SATTN_NO_UNROLL
    for (int64_t at = 0; at < n; at += LINEAR_PACKED * SCORE_LANES, q += n_rows * SCORE_LANES)
        score_step_f32x16(sums, q, rows, at, ahead, &none, n_rows, LINEAR_PACKED,
                          n_rows == 1 ? SCORE_FETCH_NONE : SCORE_FETCH_BY_KEY);
}

SATTN_INLINE void score_packed_rows(const score_group *group, const int n_rows)
{
    const int n_keys = n_rows > 2 ? LINEAR_PACKED : GROUP_TILE / n_rows;
    const float *block = group->k;
    for (int64_t j = 0; j < group->n_keys; j += n_keys) {
        __m512 sums[GROUP_TILE], acc[GROUP_TILE];
        SATTN_UNROLL(4)
        for (int b = 0; b < n_keys; b += LINEAR_PACKED) {
            if (b == 0 || j + b < group->n_keys) { /* behind the last block, its sums again */
                score_block(sums, group, block, n_rows);
                block += group->k_stride * LINEAR_PACKED;
            }
            SATTN_UNROLL(16)
            for (int i = 0; i < n_rows * LINEAR_PACKED; ++i)
                acc[i / LINEAR_PACKED * n_keys + b + i % LINEAR_PACKED] = sums[i];
        }
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < GROUP_TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        if (n_rows == 1)
            _mm512_storeu_ps(group->s[0] + j, tile_f32x16);
        else
            score_store_tile(group->s, j, tile_f32x16, n_rows, n_keys);
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
        score_packed_rows(group, 1);
}

void sattn_linear_f32_avx512_decode(const sattn_linear_args *args)
{
    static const linear_decode_ops ops = {.lanes = SCORE_LANES,
                                          .packed_rows = SCORE_GROUP,
                                          .score = score_group_f32x16,
                                          .score_packed = score_packed};
    linear_decode(args, &ops);
}
