/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx2_decode.c: a linear map of few rows, 8 features per vector.
 *
 * The method is in linear_decode.h. Packed W is read by tiles of up to 3 rows x 4 outputs, so that
 * 12 accumulators, the rows' vectors and one of W fill the registers; with one row by two blocks
 * side by side, for the 8 accumulators that hide the latency of a multiply-add. */
#include "kernels/linear/linear_decode.h"
#include "kernels/vec/score_group_avx2.h"

sattn_linear_fn sattn_linear_f32_avx2_decode;

enum {
    PACKED_ROWS = 3, /* of a tile */
    SUMS = PACKED_ROWS * LINEAR_PACKED,
};

/* sums[r * n_keys + j] = q[r] . k[j] by lanes, for the outputs of one block, or of two blocks; of
 * these the second may be the first again */
SATTN_INLINE void score_blocks(__m256 *sums, const score_group *group, const float *block,
                               const float *second, const int n_rows, const int n_keys)
{
    const int64_t n = group->k_stride * LINEAR_PACKED;
    const float *const rows[2 * LINEAR_PACKED] = {
        block,  block + SCORE_LANES,  block + 2 * SCORE_LANES,  block + 3 * SCORE_LANES,
        second, second + SCORE_LANES, second + 2 * SCORE_LANES, second + 3 * SCORE_LANES};
    const float *q = group->q;
    SATTN_UNROLL(12)
    for (int i = 0; i < n_rows * n_keys; ++i)
        sums[i] = _mm256_setzero_ps();
    SATTN_NO_UNROLL
    for (int64_t at = 0; at < n; at += LINEAR_PACKED * SCORE_LANES, q += n_rows * SCORE_LANES)
        score_step_f32x8(sums, q, rows, at, NULL, n_rows, n_keys, SCORE_FETCH_NONE, 0);
}

static void score_1_packed(const score_group *group)
{
    const int64_t size = group->k_stride * LINEAR_PACKED;
    const float *block = group->k;
    for (int64_t j = 0; j < group->n_keys; j += 2 * LINEAR_PACKED) {
        const bool has_second = j + LINEAR_PACKED < group->n_keys;
        __m256 sums[SUMS];
        const float *const second = has_second ? block + size : block;
        score_blocks(sums, group, block, second, 1, 2 * LINEAR_PACKED);
        _mm256_storeu_ps(group->s[0] + j, vec_hsum_rows_f32x8(sums));
        block = second + size;
    }
}

SATTN_INLINE void score_packed_rows(const score_group *group, const int n_rows)
{
    const int64_t size = group->k_stride * LINEAR_PACKED;
    const float *block = group->k;
    for (int64_t j = 0; j < group->n_keys; j += LINEAR_PACKED, block += size) {
        __m256 sums[2 * GROUP_TILE];
        score_blocks(sums, group, block, block, n_rows, LINEAR_PACKED);
        score_store_tile(group->s, j, vec_hsum_rows_f32x8(sums), 2, LINEAR_PACKED);
        if (n_rows == 3) {
            SATTN_UNROLL(4)
            for (int i = SUMS; i < 2 * GROUP_TILE; ++i)
                sums[i] = _mm256_setzero_ps();
            const __m256 third_f32x8 = vec_hsum_rows_f32x8(sums + GROUP_TILE);
            _mm_storeu_ps(group->s[2] + j, _mm256_castps256_ps128(third_f32x8));
        }
    }
}

static void score_packed(const score_group *group)
{
    if (group->n_rows == 3)
        score_packed_rows(group, 3);
    else if (group->n_rows == 2)
        score_packed_rows(group, 2);
    else
        score_1_packed(group);
}

void sattn_linear_f32_avx2_decode(const sattn_linear_args *args)
{
    static const linear_decode_ops ops = {.lanes = SCORE_LANES,
                                          .packed_rows = PACKED_ROWS,
                                          .score = score_group_f32x8,
                                          .score_packed = score_packed};
    linear_decode(args, &ops);
}
