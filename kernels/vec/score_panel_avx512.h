/* SPDX-License-Identifier: MIT
 *
 * score_panel_avx512.h: the panels of score_panel.h in AVX-512.
 *
 * Tile     6 rows x 4 vectors of 16 keys, those of two panels: 24 accumulators, four vectors of
 *          keys and one broadcast, 29 of 32 registers; per feature 6 broadcasts and 4 loads for 24
 *          FMA. A rest of 3 vectors takes as many rows, one of 2 or 1 takes 8.
 * Stores   go to a few cache lines of each row. Where S leaves the caches and its rows are a page
 *          apart, a tile that only stored to them would wait for memory (Zen 5, gcc 12, 1024 x 1024
 *          scores of 64 features, 16 heads). So it asks for them before: for the line in which each
 *          vector ends, since the tile before had the one in which a row that is not aligned
 *          begins. Asked for all at once, they would keep the other loads of the tile waiting for
 *          one of the first cache's few buffers (28 cycles a tile, Emerald Rapids).
 * Tails    of keys take as many vectors as they need, stores of the last vector are masked; rows
 *          are dealt evenly to tiles. */
#ifndef SATTN_KERNELS_VEC_SCORE_PANEL_AVX512_H
#define SATTN_KERNELS_VEC_SCORE_PANEL_AVX512_H

#include "kernels/vec/fetch.h"
#include "kernels/vec/score_panel.h"
#include "kernels/vec/vec_avx512.h"

#include <stddef.h>

enum {
    PANEL_LANES = 16,
    PANEL_WIDTH = 2 * PANEL_LANES,
    PANEL_ROWS = 8,               /* most rows of a register tile, */
    PANEL_VECS = 4,               /* most vectors of keys, */
    PANEL_KEYS = 2 * PANEL_WIDTH, /* most keys */
    PANEL_PASS = 4,               /* features per pass */
};

SATTN_INLINE void score_panel_pack_tile(float *to, const float *k, int64_t k_stride, int n,
                                        int64_t features)
{
    const __mmask16 tail = vec_tail_m16(features);
    __m512 tile[PANEL_LANES];
    SATTN_UNROLL(16)
    for (int j = 0; j < PANEL_LANES; ++j)
        tile[j] = j < n ? vec_load_tail_f32x16(k + j * k_stride, tail) : _mm512_setzero_ps();
    vec_transpose_f32x16(tile);
    SATTN_UNROLL(16)
    for (int x = 0; x < PANEL_LANES; ++x)
        if (x < features)
            _mm512_store_ps(to + x * PANEL_WIDTH, tile[x]);
}

static inline void score_panel_pack_f32x16(float *panels, const float *k, int64_t k_stride,
                                           int n_keys, int64_t d)
{
    score_panel_pack(panels, k, k_stride, n_keys, d, score_panel_pack_tile, PANEL_LANES);
}

/* Prefetches of the pass that begins with feature x. Passes share them out, so that few lines are
 * under way at a time: of S half a row of the tile, until it has them all; of the rows ahead a line
 * of two, so that four passes bring those of eight rows. */
SATTN_INLINE void score_panel_fetch(const score_panel *panel, int64_t row, uint64_t x,
                                    const int n_rows, const int n_vec)
{
    const uint64_t pass = x / PANEL_PASS;
    const uint64_t halves = n_vec > 2 ? 2 : 1;
    const uint64_t r = pass / halves < (uint64_t)n_rows ? pass / halves : (uint64_t)n_rows - 1;
    const float *const s = (panel->s + row)[r] + panel->j;
    const uint64_t at = pass % halves * PANEL_WIDTH + PANEL_LANES - 1;
    const uint64_t end = (uint64_t)panel->n_keys - 1;
    __builtin_prefetch(s + (at < end ? at : end), 1);
    if (n_vec > 1)
        __builtin_prefetch(s + (at + PANEL_LANES < end ? at + PANEL_LANES : end), 1);
    if (panel->n_ahead > 0) {
        const uint64_t last = (uint64_t)panel->n_ahead - 1;
        const uint64_t next = (uint64_t)row + pass % 4 * 2;
        const int64_t line = (int64_t)(x * sizeof(float)) / VEC_LINE * VEC_LINE;
        vec_fetch_early(panel->ahead[next < last ? next : last], line);
        vec_fetch_early(panel->ahead[next + 1 < last ? next + 1 : last], line);
    }
}

/* One feature: acc += q k. */
SATTN_INLINE void score_panel_tile_step(__m512 acc[PANEL_ROWS][PANEL_VECS],
                                        const float *const q[PANEL_ROWS], int64_t x,
                                        const float *k0, const float *k1, const int n_rows,
                                        const int n_vec)
{
    __m512 k_f32x16[PANEL_VECS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int v = 0; v < n_vec; ++v) {
        const float *const k = (v < 2 ? k0 : k1) + v % 2 * PANEL_LANES;
        k_f32x16[v] = vec_in_register_f32x16(_mm512_load_ps(k));
    }
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const __m512 q_all = _mm512_set1_ps(q[r][x]);
        SATTN_UNROLL(4)
        for (int v = 0; v < n_vec; ++v)
            acc[r][v] = _mm512_fmadd_ps(q_all, k_f32x16[v], acc[r][v]);
    }
}

/* acc[r][v] = q[row + r] . k */
SATTN_INLINE void score_panel_sums(__m512 acc[PANEL_ROWS][PANEL_VECS], const score_panel *panel,
                                   int row, const int n_rows, const int n_vec)
{
    const int64_t d = panel->d;
    const float *k0 = panel->k;
    const float *k1 = n_vec > 2 ? k0 + d * PANEL_WIDTH : k0;
    const float *q[PANEL_ROWS];
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        q[r] = panel->q + (row + r) * panel->q_pitch;
        SATTN_UNROLL(4)
        for (int v = 0; v < n_vec; ++v)
            acc[r][v] = _mm512_setzero_ps();
    }
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + PANEL_PASS <= d; x += PANEL_PASS) {
        score_panel_fetch(panel, row, (uint64_t)x, n_rows, n_vec);
        SATTN_UNROLL(4)
        for (int i = 0; i < PANEL_PASS; ++i, k0 += PANEL_WIDTH, k1 += PANEL_WIDTH)
            score_panel_tile_step(acc, q, x + i, k0, k1, n_rows, n_vec);
    }
    SATTN_NO_UNROLL
    for (; x < d; ++x, k0 += PANEL_WIDTH, k1 += PANEL_WIDTH)
        score_panel_tile_step(acc, q, x, k0, k1, n_rows, n_vec);
}

SATTN_INLINE void score_panel_store(__m512 acc[PANEL_ROWS][PANEL_VECS], const score_panel *panel,
                                    int row, const int n_rows, const int n_vec)
{
    const __mmask16 last = vec_tail_m16(panel->n_keys - (n_vec - 1) * PANEL_LANES);
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        SATTN_UNROLL(4)
        for (int v = 0; v < n_vec - 1; ++v)
            _mm512_storeu_ps(s + v * PANEL_LANES, acc[r][v]);
        vec_store_tail_f32x16(s + (n_vec - 1) * PANEL_LANES, last, acc[r][n_vec - 1]);
    }
}

SATTN_INLINE void score_panel_tile(const score_panel *panel, int row, const int n_rows,
                                   const int n_vec)
{
    __m512 acc[PANEL_ROWS][PANEL_VECS];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

/* All rows, for the keys of up to two panels. */
SATTN_INLINE void score_panel_all_f32x16(const score_panel *panel, score_panel_tile_fn *tile)
{
    if (panel->n_keys > 3 * PANEL_LANES)
        score_panel_rows(panel, tile, 6, 4);
    else if (panel->n_keys > 2 * PANEL_LANES)
        score_panel_rows(panel, tile, 6, 3);
    else if (panel->n_keys > PANEL_LANES)
        score_panel_rows(panel, tile, 8, 2);
    else
        score_panel_rows(panel, tile, 8, 1);
}

static inline void score_panel_f32x16(const score_panel *panel)
{
    score_panel_all_f32x16(panel, score_panel_tile);
}

#endif
