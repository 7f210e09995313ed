/* SPDX-License-Identifier: MIT
 *
 * score_panel_avx2.h: the panels of score_panel.h in AVX2.
 *
 * Tile     6 rows x 2 vectors of 8 keys: 12 accumulators, two vectors of keys and one broadcast, 15
 *          of 16 registers; per feature 6 broadcasts and 2 loads for 12 FMA. The keys of a group
 *          meet six rows before the next six, so that all that is read again is in the first cache,
 *          up to some 128 features.
 * Fetches  the lines of S, where a tile begins, and two of the rows ahead. Each pass asks for the
 *          lines of its own features in these, eight times the same: to count would take registers.
 * Tails    a rest of up to 8 keys takes one vector, stores of the last vector are masked; rows are
 *          dealt evenly to tiles of at most 6. */
#ifndef SATTN_KERNELS_VEC_SCORE_PANEL_AVX2_H
#define SATTN_KERNELS_VEC_SCORE_PANEL_AVX2_H

#include "kernels/vec/fetch.h"
#include "kernels/vec/score_panel.h"
#include "kernels/vec/vec_avx2.h"

#include <stddef.h>

enum {
    PANEL_LANES = 8,
    PANEL_WIDTH = 2 * PANEL_LANES,
    PANEL_KEYS = 4 * PANEL_WIDTH, /* of a group */
    PANEL_ROWS = 6,               /* of a register tile */
};

SATTN_INLINE void score_panel_pack_tile(float *to, const float *k, int64_t k_stride, int n,
                                        int64_t features)
{
    const __m256i tail = vec_tail_m8(features);
    __m256 tile[PANEL_LANES];
    SATTN_UNROLL(8)
    for (int j = 0; j < PANEL_LANES; ++j)
        tile[j] = j < n ? vec_load_tail_f32x8(k + j * k_stride, tail) : _mm256_setzero_ps();
    vec_transpose_f32x8(tile);
    SATTN_UNROLL(8)
    for (int x = 0; x < PANEL_LANES; ++x)
        if (x < features)
            _mm256_store_ps(to + x * PANEL_WIDTH, tile[x]);
}

static inline void score_panel_pack_f32x8(float *panels, const float *k, int64_t k_stride,
                                          int n_keys, int64_t d)
{
    score_panel_pack(panels, k, k_stride, n_keys, d, score_panel_pack_tile, PANEL_LANES);
}

/* One feature: acc += q k. */
SATTN_INLINE void score_panel_tile_step(__m256 acc[PANEL_ROWS][2], const float *const q[PANEL_ROWS],
                                        int64_t x, const float *k, const int n_rows,
                                        const int n_vec)
{
    SATTN_KEEP_ORDER();
    const __m256 k0 = vec_in_register_f32x8(_mm256_load_ps(k));
    const __m256 k1 = n_vec == 2 ? vec_in_register_f32x8(_mm256_load_ps(k + PANEL_LANES)) : k0;
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        const __m256 q_all = _mm256_set1_ps(q[r][x]);
        acc[r][0] = _mm256_fmadd_ps(q_all, k0, acc[r][0]);
        if (n_vec == 2)
            acc[r][1] = _mm256_fmadd_ps(q_all, k1, acc[r][1]);
    }
}

/* The lines in which the tile's keys end: where rows of S do not begin with lines, the others have
 * been fetched for the panel before. */
SATTN_INLINE void score_panel_fetch(const score_panel *panel, int row, const int n_rows)
{
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r)
        __builtin_prefetch(panel->s[row + r] + panel->j + panel->n_keys - 1, 1);
}

/* Row i of those ahead that a tile prefetches, of two: the four panels of a group bring eight for
 * its six rows. Where there are none, `none`, which is in the first cache: two
 * fetches of it beside 24 multiply-adds cost less than a branch. */
SATTN_INLINE const float *score_panel_ahead(const score_panel *panel, int row, int i,
                                            const float *none)
{
    const int next = row + (int)(panel->j % PANEL_KEYS / PANEL_WIDTH) * 2 + i;
    if (panel->n_ahead == 0)
        return none;
    return panel->ahead[next < panel->n_ahead ? next : panel->n_ahead - 1];
}

/* acc[r][v] = q[row + r] . k */
SATTN_INLINE void score_panel_sums(__m256 acc[PANEL_ROWS][2], const score_panel *panel, int row,
                                   const int n_rows, const int n_vec)
{
    const int64_t d = panel->d;
    const float *k = panel->k;
    const float *q[PANEL_ROWS];
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        q[r] = panel->q + (row + r) * panel->q_pitch;
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    }
    const float *const next0 = score_panel_ahead(panel, row, 0, q[0]);
    const float *const next1 = score_panel_ahead(panel, row, 1, q[0]);
    const float *const end = k + d / 2 * (2 * PANEL_WIDTH);
    int64_t x = 0;
    score_panel_fetch(panel, row, n_rows);
    SATTN_NO_UNROLL
    for (; k != end; x += 2, k += (ptrdiff_t)2 * PANEL_WIDTH) {
        __asm__("" : "+r"(x)); /* or clang forms addresses for which it has no registers */
        vec_fetch_early(next0 + x, 0);
        vec_fetch_early(next1 + x, 0);
        score_panel_tile_step(acc, q, x, k, n_rows, n_vec);
        score_panel_tile_step(acc, q, x + 1, k + PANEL_WIDTH, n_rows, n_vec);
    }
    if (x < d)
        score_panel_tile_step(acc, q, x, k, n_rows, n_vec);
}

SATTN_INLINE void score_panel_store(__m256 acc[PANEL_ROWS][2], const score_panel *panel, int row,
                                    const int n_rows, const int n_vec)
{
    const int n_last = panel->n_keys - (n_vec - 1) * PANEL_LANES;
    const __m256i last = vec_tail_m8(n_last);
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            _mm256_storeu_ps(s, acc[r][0]);
        if (n_last == PANEL_LANES)
            _mm256_storeu_ps(s + (n_vec - 1) * PANEL_LANES, acc[r][n_vec - 1]);
        else
            vec_store_tail_f32x8(s + (n_vec - 1) * PANEL_LANES, last, acc[r][n_vec - 1]);
    }
}

SATTN_INLINE void score_panel_tile(const score_panel *panel, int row, const int n_rows,
                                   const int n_vec)
{
    __m256 acc[PANEL_ROWS][2];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

/* A tile's rows against a group of panels. */
SATTN_INLINE void score_panel_group(const score_panel *panels, int row, const int n_rows,
                                    const int n_vec)
{
    score_panel_each(panels, score_panel_tile, row, n_rows, n_vec, PANEL_LANES);
}

static inline void score_panel_f32x8(const score_panel *panels)
{
    score_panel_rows(panels, score_panel_group, PANEL_ROWS, 2);
}

#endif
