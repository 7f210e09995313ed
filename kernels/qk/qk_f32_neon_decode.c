/* SPDX-License-Identifier: MIT
 *
 * qk_f32_neon_decode.c: scores of few query rows with NEON, 4 features per vector.
 *
 * The method is in qk_decode.h. Rows x keys accumulators, 1 x 8, 2 x 8, 3 x 4 or 4 x 4, each over
 * all features, then pairwise additions. */
#include "kernels/qk/qk_cap_neon.h"
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/vec_neon.h"

enum {
    LANES = 4,
    TILE = 16, /* most accumulators of a register tile */
};

sattn_qk_fn sattn_qk_f32_neon_decode;

/* acc[r * n_keys + j] += q[r] * k[j] for one vector of features, the last of which may be partial:
 * n of them exist. */
SATTN_INLINE void dot_step(float32x4_t acc[TILE], const float *q, const float *const k[8],
                           int64_t x, int64_t n, const int n_rows, const int n_keys)
{
    float32x4_t q_vec[QK_DECODE_GROUP];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        q_vec[r] = vld1q_f32(q + r * LANES);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const float32x4_t k_vec = vec_load_tail_f32x4(k[j] + x, n);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = vfmaq_f32(acc[r * n_keys + j], q_vec[r], k_vec);
    }
}

/* Two steps of one row. Both vectors of a key are loaded at once, by one instruction. */
SATTN_INLINE void dot_two_steps(float32x4_t acc[TILE], const float *q, const float *const k[8],
                                int64_t x, const int n_keys)
{
    float32x4_t k_vec[2][8];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        k_vec[0][j] = vld1q_f32(k[j] + x);
        k_vec[1][j] = vld1q_f32(k[j] + x + LANES);
    }
    SATTN_UNROLL(2)
    for (int step = 0; step < 2; ++step) {
        const float32x4_t q_vec = vld1q_f32(q + step * LANES);
        SATTN_UNROLL(8)
        for (int j = 0; j < n_keys; ++j)
            acc[j] = vfmaq_f32(acc[j], q_vec, k_vec[step][j]);
    }
}

/* sums[r * n_keys + j] = q[r] . k[j] by lanes */
SATTN_INLINE void dot_tile(float32x4_t sums[TILE], const float *q, const float *const rows[8],
                           int64_t d, const int n_rows, const int n_keys)
{
    const float *k[8]; /* of its own, to stay in registers */
    float32x4_t acc[TILE];
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j)
        k[j] = rows[j];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = vdupq_n_f32(0.0f);
    const int64_t step = n_rows * LANES;
    const int64_t pairs = d - d % (2 * LANES);
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x < pairs; x += 2 * LANES, q += 2 * step) {
        if (n_rows == 1) {
            dot_two_steps(acc, q, k, x, n_keys);
        } else {
            dot_step(acc, q, k, x, LANES, n_rows, n_keys);
            dot_step(acc, q + step, k, x + LANES, LANES, n_rows, n_keys);
        }
    }
    if (x + LANES <= d) {
        dot_step(acc, q, k, x, LANES, n_rows, n_keys);
        x += LANES;
        q += step;
    }
    if (x < d)
        dot_step(acc, q, k, x, d - x, n_rows, n_keys);
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_keys; ++i)
        sums[i] = acc[i];
}

SATTN_INLINE void score_rows(const qk_decode_group *group, const int n_rows, const int n_keys)
{
    const int64_t stride = group->k_stride;
    const int64_t n = group->n_keys;
    const float *k = group->k;
    for (int64_t j = 0; j < n; j += n_keys, k += n_keys * stride) {
        const float *rows[8];
        float32x4_t acc[TILE];
        qk_decode_keys(rows, k, stride, n - j, n_keys);
        dot_tile(acc, group->q, rows, group->d, n_rows, n_keys);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r) {
            SATTN_UNROLL(2)
            for (int i = 0; i < n_keys; i += LANES)
                qk_store_tail(group->s[r] + j + i, vec_hsum_rows_f32x4(&acc[r * n_keys + i]),
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
    static const qk_decode_ops ops = {.lanes = LANES, .score = score, .cap = qk_cap};
    qk_decode(args, &ops);
}
