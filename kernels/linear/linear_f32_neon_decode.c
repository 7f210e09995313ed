/* SPDX-License-Identifier: MIT
 *
 * linear_f32_neon_decode.c: a linear map of few rows with NEON, 4 features per vector.
 *
 * The method is in linear_decode.h. Packed W is read by tiles of up to 4 rows x 4 outputs; with one
 * row by two blocks side by side, for the 8 accumulators that hide the latency of a multiply-add.
 */
#include "kernels/linear/linear_decode.h"
#include "kernels/vec/score_group_neon.h"

sattn_linear_fn sattn_linear_f32_neon_decode;

/* Tiles of n_rows rows against one block, or one row against two; of these the second may be the
 * first again. */
SATTN_INLINE void score_packed_rows(const score_group *group, const int n_rows)
{
    const int n_keys = n_rows == 1 ? 2 * LINEAR_PACKED : LINEAR_PACKED;
    const int64_t size = group->k_stride * LINEAR_PACKED;
    const float *block = group->k;
    for (int64_t j = 0; j < group->n_keys; j += n_keys, block += n_keys * group->k_stride) {
        const float *const second = j + LINEAR_PACKED < group->n_keys ? block + size : block;
        const float *const rows[SCORE_KEYS] = {
            block,  block + SCORE_LANES,  block + 2 * SCORE_LANES,  block + 3 * SCORE_LANES,
            second, second + SCORE_LANES, second + 2 * SCORE_LANES, second + 3 * SCORE_LANES};
        const float *q = group->q;
        float32x4_t acc[SCORE_SUMS];
        SATTN_UNROLL(16)
        for (int i = 0; i < n_rows * n_keys; ++i)
            acc[i] = vdupq_n_f32(0.0f);
        SATTN_NO_UNROLL
        for (int64_t at = 0; at < size;
             at += LINEAR_PACKED * SCORE_LANES, q += n_rows * SCORE_LANES)
            score_step_f32x4(acc, q, rows, at, SCORE_LANES, n_rows, n_keys);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r) {
            SATTN_UNROLL(2)
            for (int i = 0; i < n_keys; i += SCORE_LANES)
                vst1q_f32(group->s[r] + j + i, vec_hsum_rows_f32x4(&acc[r * n_keys + i]));
        }
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

void sattn_linear_f32_neon_decode(const sattn_linear_args *args)
{
    static const linear_decode_ops ops = {.lanes = SCORE_LANES,
                                          .packed_rows = SCORE_GROUP,
                                          .score = score_group_f32x4,
                                          .score_packed = score_packed};
    linear_decode(args, &ops);
}
