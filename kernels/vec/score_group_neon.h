/* SPDX-License-Identifier: MIT
 *
 * score_group_neon.h: the groups of score_group.h in NEON, 4 features per vector.
 *
 * Rows x keys accumulators, 1 x 8, 2 x 8, 3 x 4 or 4 x 4, each over all features, then pairwise
 * additions. */
#ifndef SATTN_KERNELS_VEC_SCORE_GROUP_NEON_H
#define SATTN_KERNELS_VEC_SCORE_GROUP_NEON_H

#include "kernels/vec/score_group.h"
#include "kernels/vec/score_tile_neon.h"
#include "kernels/vec/vec_neon.h"

SATTN_INLINE void score_group_tiles(const score_group *group, const int n_rows, const int n_keys)
{
    const int64_t stride = group->k_stride;
    const int64_t n = group->n_keys;
    const float *k = group->k;
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        float32x4_t acc[SCORE_SUMS];
        score_group_keys(rows, k, stride, n - j, n_keys);
        score_tile_f32x4(acc, group->q, rows, group->d, n_rows, n_keys);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r) {
            SATTN_UNROLL(2)
            for (int i = 0; i < n_keys; i += SCORE_LANES)
                vec_store_tail_f32x4(group->s[r] + j + i, vec_hsum_rows_f32x4(&acc[r * n_keys + i]),
                                     n - j - i);
        }
    }
}

static inline void score_group_f32x4(const score_group *group)
{
    if (group->n_rows == 4)
        score_group_tiles(group, 4, 4);
    else if (group->n_rows == 3)
        score_group_tiles(group, 3, 4);
    else if (group->n_rows == 2)
        score_group_tiles(group, 2, 8);
    else
        score_group_tiles(group, 1, 8);
}

#endif
