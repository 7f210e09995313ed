/* SPDX-License-Identifier: MIT
 *
 * score_tile_neon.h: the score tile of few query rows in NEON, 4 features per vector. */
#ifndef SATTN_KERNELS_VEC_SCORE_TILE_NEON_H
#define SATTN_KERNELS_VEC_SCORE_TILE_NEON_H

#include "kernels/vec/score_tile.h"
#include "kernels/vec/vec_neon.h"

enum {
    SCORE_LANES = 4,
    SCORE_SUMS = 16, /* most accumulators of a tile */
};

/* acc[r * n_keys + j] += q[r] * k[j] for one vector of features, the last of which may be partial:
 * n of them exist. */
SATTN_INLINE void score_step_f32x4(float32x4_t acc[SCORE_SUMS], const float *q,
                                   const float *const k[SCORE_KEYS], int64_t x, int64_t n,
                                   const int n_rows, const int n_keys)
{
    float32x4_t q_vec[SCORE_GROUP];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        q_vec[r] = vld1q_f32(q + r * SCORE_LANES);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const float32x4_t k_vec = vec_load_tail_f32x4(k[j] + x, n);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = vfmaq_f32(acc[r * n_keys + j], q_vec[r], k_vec);
    }
}

/* Two steps of one row. Both vectors of a key are loaded at once, by one instruction. */
SATTN_INLINE void score_two_steps_f32x4(float32x4_t acc[SCORE_SUMS], const float *q,
                                        const float *const k[SCORE_KEYS], int64_t x,
                                        const int n_keys)
{
    float32x4_t k_vec[2][SCORE_KEYS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        k_vec[0][j] = vld1q_f32(k[j] + x);
        k_vec[1][j] = vld1q_f32(k[j] + x + SCORE_LANES);
    }
    SATTN_UNROLL(2)
    for (int step = 0; step < 2; ++step) {
        const float32x4_t q_vec = vld1q_f32(q + step * SCORE_LANES);
        SATTN_UNROLL(8)
        for (int j = 0; j < n_keys; ++j)
            acc[j] = vfmaq_f32(acc[j], q_vec, k_vec[step][j]);
    }
}

/* sums[r * n_keys + j] = q[r] . k[j] by lanes */
SATTN_INLINE void score_tile_f32x4(float32x4_t sums[SCORE_SUMS], const float *q,
                                   const float *const rows[SCORE_KEYS], int64_t d, const int n_rows,
                                   const int n_keys)
{
    const float *k[SCORE_KEYS]; /* of its own, to stay in registers */
    float32x4_t acc[SCORE_SUMS];
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j)
        k[j] = rows[j];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = vdupq_n_f32(0.0f);
    const int64_t step = n_rows * SCORE_LANES;
    const int64_t pairs = d - d % (2 * SCORE_LANES);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x < pairs; x += 2 * SCORE_LANES, q += 2 * step) {
        if (n_rows == 1) {
            score_two_steps_f32x4(acc, q, k, x, n_keys);
        } else {
            score_step_f32x4(acc, q, k, x, SCORE_LANES, n_rows, n_keys);
            score_step_f32x4(acc, q + step, k, x + SCORE_LANES, SCORE_LANES, n_rows, n_keys);
        }
    }
    if (x + SCORE_LANES <= d) {
        score_step_f32x4(acc, q, k, x, SCORE_LANES, n_rows, n_keys);
        x += SCORE_LANES;
        q += step;
    }
    if (x < d)
        score_step_f32x4(acc, q, k, x, d - x, n_rows, n_keys);
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        sums[i] = acc[i];
}

#endif
