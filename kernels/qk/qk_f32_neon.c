/* SPDX-License-Identifier: MIT
 *
 * qk_f32_neon.c: scores of many query rows with NEON; the method is in qk_prefill.h.
 *
 * Tile     8 rows x 2 vectors of 4 keys: 16 accumulators, which hide the latency of four
 *          multiply-adds a cycle. Four features of a row of Q are one vector, used by lane (fmla by
 *          element), so nothing is broadcast: 26 of 32 registers.
 * Tails    a rest of up to 4 keys takes one vector, the last vector is stored lane by lane if need
 *          be; rows are dealt evenly to tiles of at most 8. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/softcap_neon.h"
#include "kernels/vec/vec_neon.h"

sattn_qk_fn sattn_qk_f32_neon;

enum {
    LANES = 4,
    WIDTH = 2 * LANES,
    TILE_ROWS = 8,
};

static void pack(float *panel, const float *k, int64_t k_stride, int n_keys, int64_t d)
{
    for (int j = 0; j < n_keys; j += LANES) {
        const float *rows[LANES];
        for (int i = 0; i < LANES; ++i)
            rows[i] = k + (j + i < n_keys ? j + i : n_keys - 1) * k_stride;
        for (int64_t x = 0; x < d; x += LANES) {
            const int64_t n = d - x < LANES ? d - x : LANES;
            float32x4_t columns[LANES];
            vec_load_columns_f32x4(columns, rows, x, n);
            SATTN_UNROLL(4)
            for (int u = 0; u < LANES; ++u)
                if (u < n)
                    vst1q_f32(panel + (x + u) * WIDTH + j, columns[u]);
        }
    }
}

SATTN_INLINE void tile_step(float32x4_t acc[TILE_ROWS][2], const float32x4_t q_vec[TILE_ROWS],
                            const float *k, const int lane, const int n_rows, const int n_vec)
{
    const float32x4_t k0 = vld1q_f32(k + lane * WIDTH);
    const float32x4_t k1 = n_vec == 2 ? vld1q_f32(k + lane * WIDTH + LANES) : k0;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        acc[r][0] = vec_fma_lane_f32x4(acc[r][0], k0, q_vec[r], lane);
        if (n_vec == 2)
            acc[r][1] = vec_fma_lane_f32x4(acc[r][1], k1, q_vec[r], lane);
    }
}

SATTN_INLINE void tile(const qk_panel *panel, int row, const int n_rows, const int n_vec)
{
    const int64_t rest = panel->d % LANES;
    const int64_t whole = panel->d - rest;
    const float *k = panel->k;
    const float *q[TILE_ROWS];
    float32x4_t q_vec[TILE_ROWS];
    float32x4_t acc[TILE_ROWS][2];
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        q[r] = panel->q + (row + r) * panel->q_pitch;
        acc[r][0] = acc[r][1] = vdupq_n_f32(0.0f);
    }
    SATTN_NO_UNROLL
    for (int64_t x = 0; x < whole; x += LANES, k += LANES * WIDTH) {
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            q_vec[r] = vld1q_f32(q[r] + x);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < LANES; ++lane)
            tile_step(acc, q_vec, k, lane, n_rows, n_vec);
    }
    if (rest > 0) {
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            q_vec[r] = vld1q_f32(q[r] + whole);
        tile_step(acc, q_vec, k, 0, n_rows, n_vec);
        if (rest > 1)
            tile_step(acc, q_vec, k, 1, n_rows, n_vec);
        if (rest > 2)
            tile_step(acc, q_vec, k, 2, n_rows, n_vec);
    }
    const int last = panel->n_keys - (n_vec - 1) * LANES;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            vst1q_f32(s, acc[r][0]);
        vec_store_tail_f32x4(s + (n_vec - 1) * LANES, acc[r][n_vec - 1], last);
    }
}

static void score(const qk_panel *panel)
{
    qk_prefill_score(panel, tile, TILE_ROWS, LANES);
}

void sattn_qk_f32_neon(const sattn_qk_args *args)
{
    static const qk_prefill_ops ops = {
        .width = WIDTH, .pack = pack, .score = score, .cap = vec_softcap};
    qk_prefill(args, &ops);
}
