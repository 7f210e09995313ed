/* SPDX-License-Identifier: MIT
 *
 * qk_f32_neon_decode.c: scores of few query rows with NEON, 4 features per vector.
 *
 * The method is in qk_decode.h. Rows x keys accumulators, 1 x 8, 2 x 8, 3 x 4 or 4 x 4, each over
 * all features, then pairwise additions. */
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/score_tile_neon.h"
#include "kernels/vec/softcap_neon.h"
#include "kernels/vec/vec_neon.h"

enum { LANES = 4 };

sattn_qk_fn sattn_qk_f32_neon_decode;

SATTN_INLINE void score_rows(const qk_decode_group *group, const int n_rows, const int n_keys)
{
    const int64_t stride = group->k_stride;
    const int64_t n = group->n_keys;
    const float *k = group->k;
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        float32x4_t acc[SCORE_SUMS];
        qk_decode_keys(rows, k, stride, n - j, n_keys);
        score_tile_f32x4(acc, group->q, rows, group->d, n_rows, n_keys);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r) {
            SATTN_UNROLL(2)
            for (int i = 0; i < n_keys; i += LANES)
                vec_store_tail_f32x4(group->s[r] + j + i, vec_hsum_rows_f32x4(&acc[r * n_keys + i]),
                                     n - j - i);
        }
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
    else
        score_rows(group, 1, 8);
}

void sattn_qk_f32_neon_decode(const sattn_qk_args *args)
{
    static const qk_decode_ops ops = {.lanes = LANES, .score = score, .cap = vec_softcap};
    qk_decode(args, &ops);
}
