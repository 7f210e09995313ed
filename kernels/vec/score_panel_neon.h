/* SPDX-License-Identifier: MIT
 *
 * score_panel_neon.h: the panels of score_panel.h in NEON.
 *
 * Tile     8 rows x 2 vectors of 4 keys: 16 accumulators, which hide the latency of four
 *          multiply-adds a cycle. Four features of a row of Q are one vector, used by lane (fmla by
 *          element), so nothing is broadcast: 26 of 32 registers. The keys of a group meet eight
 *          rows before the next eight.
 * Tails    a rest of up to 4 keys takes one vector, the last vector is stored lane by lane if need
 *          be; rows are dealt evenly to tiles of at most 8. */
#ifndef SATTN_KERNELS_VEC_SCORE_PANEL_NEON_H
#define SATTN_KERNELS_VEC_SCORE_PANEL_NEON_H

#include "kernels/vec/score_panel.h"
#include "kernels/vec/vec_neon.h"

#include <stddef.h>

enum {
    PANEL_LANES = 4,
    PANEL_WIDTH = 2 * PANEL_LANES,
    PANEL_KEYS = 8 * PANEL_WIDTH, /* of a group */
    PANEL_ROWS = 8,               /* of a register tile */
};

static inline void score_panel_pack_f32x4(float *panels, const float *k, int64_t k_stride,
                                          int n_keys, int64_t d)
{
    for (int j = 0; j < n_keys; j += PANEL_LANES) {
        float *const to = panels + (j - j % PANEL_WIDTH) * d + j % PANEL_WIDTH;
        const float *rows[PANEL_LANES];
        for (int i = 0; i < PANEL_LANES; ++i)
            rows[i] = k + (j + i < n_keys ? j + i : n_keys - 1) * k_stride;
        for (int64_t x = 0; x < d; x += PANEL_LANES) {
            const int64_t n = d - x < PANEL_LANES ? d - x : PANEL_LANES;
            float32x4_t columns[PANEL_LANES];
            vec_load_columns_f32x4(columns, rows, x, n);
            SATTN_UNROLL(4)
            for (int u = 0; u < PANEL_LANES; ++u)
                if (u < n)
                    vst1q_f32(to + (x + u) * PANEL_WIDTH, columns[u]);
        }
    }
}

SATTN_INLINE void score_panel_tile_step(float32x4_t acc[PANEL_ROWS][2],
                                        const float32x4_t q_vec[PANEL_ROWS], const float *k,
                                        const int lane, const int n_rows, const int n_vec)
{
    const float32x4_t k0 = vld1q_f32(k + lane * PANEL_WIDTH);
    const float32x4_t k1 = n_vec == 2 ? vld1q_f32(k + lane * PANEL_WIDTH + PANEL_LANES) : k0;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        acc[r][0] = vec_fma_lane_f32x4(acc[r][0], k0, q_vec[r], lane);
        if (n_vec == 2)
            acc[r][1] = vec_fma_lane_f32x4(acc[r][1], k1, q_vec[r], lane);
    }
}

/* acc[r][v] = q[row + r] . k */
SATTN_INLINE void score_panel_sums(float32x4_t acc[PANEL_ROWS][2], const score_panel *panel,
                                   int row, const int n_rows, const int n_vec)
{
    const int64_t rest = panel->d % PANEL_LANES;
    const int64_t whole = panel->d - rest;
    const float *k = panel->k;
    const float *q[PANEL_ROWS];
    float32x4_t q_vec[PANEL_ROWS];
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        q[r] = panel->q + (row + r) * panel->q_pitch;
        acc[r][0] = acc[r][1] = vdupq_n_f32(0.0f);
    }
    SATTN_NO_UNROLL
    for (int64_t x = 0; x < whole; x += PANEL_LANES, k += PANEL_LANES * PANEL_WIDTH) {
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            q_vec[r] = vld1q_f32(q[r] + x);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < PANEL_LANES; ++lane)
            score_panel_tile_step(acc, q_vec, k, lane, n_rows, n_vec);
    }
    if (rest > 0) {
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            q_vec[r] = vld1q_f32(q[r] + whole);
        score_panel_tile_step(acc, q_vec, k, 0, n_rows, n_vec);
        if (rest > 1)
            score_panel_tile_step(acc, q_vec, k, 1, n_rows, n_vec);
        if (rest > 2)
            score_panel_tile_step(acc, q_vec, k, 2, n_rows, n_vec);
    }
}

SATTN_INLINE void score_panel_store(float32x4_t acc[PANEL_ROWS][2], const score_panel *panel,
                                    int row, const int n_rows, const int n_vec)
{
    const int last = panel->n_keys - (n_vec - 1) * PANEL_LANES;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            vst1q_f32(s, acc[r][0]);
        vec_store_tail_f32x4(s + (n_vec - 1) * PANEL_LANES, acc[r][n_vec - 1], last);
    }
}

SATTN_INLINE void score_panel_tile(const score_panel *panel, int row, const int n_rows,
                                   const int n_vec)
{
    float32x4_t acc[PANEL_ROWS][2];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

/* A tile's rows against a group of panels. */
SATTN_INLINE void score_panel_group(const score_panel *panels, int row, const int n_rows,
                                    const int n_vec)
{
    score_panel_each(panels, score_panel_tile, row, n_rows, n_vec, PANEL_LANES);
}

static inline void score_panel_f32x4(const score_panel *panels)
{
    score_panel_rows(panels, score_panel_group, PANEL_ROWS, 2);
}

#endif
