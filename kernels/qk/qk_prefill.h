/* SPDX-License-Identifier: MIT
 *
 * qk_prefill.h: scores of many query rows, "lanes over keys", the same for all ISAs.
 *
 *   for each chunk of keys
 *       transpose K into panels of two vectors of keys, [d][width]
 *       for each strip of rows
 *           Q = scale * Q
 *           for each panel: S = Q K^T, in register tiles of rows x two vectors of keys
 *               softcap the scores that were just stored
 *
 * K is rearranged rather than Q, so that a row of S is stored as it lies in registers, and K is
 * packed once for all rows (the panels of Goto & van de Geijn 2008). A panel stays in the first
 * cache while a strip of rows passes over it; a chunk of panels is meant for the second.
 *
 * Each score is one chain of multiply-adds over the features from 0 on, wherever it stands. */
#ifndef SATTN_KERNELS_QK_PREFILL_H
#define SATTN_KERNELS_QK_PREFILL_H

#include "kernels/qk/qk_strip.h"

/* What the register tiles of one panel work on. */
typedef struct qk_panel {
    const float *q;  /* [n_rows][q_pitch], scaled; up to a multiple of 4 behind d, 0 */
    int64_t q_pitch; /* floats */
    const float *k;  /* [d][width], 64-byte aligned */
    float **s;       /* [n_rows], key 0 of each row */
    int64_t j;       /* first key of the panel */
    int64_t d;
    int n_rows;
    int n_keys; /* at most width */
} qk_panel;

typedef struct qk_prefill_ops {
    int width; /* keys in a panel */
    /* panel[x][j] = k[j][x] for n_keys keys; behind them, as far as a tile reads, 0 or the last key
     * again */
    void (*pack)(float *panel, const float *k, int64_t k_stride, int n_keys, int64_t d);
    /* s[r][j + ..] = q[r] . k */
    void (*score)(const qk_panel *panel);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
} qk_prefill_ops;

/* The register tile of n_rows rows from `row` on and of n_vec vectors of keys. */
typedef void qk_tile_fn(const qk_panel *panel, int row, int n_rows, int n_vec);

/* All rows of a panel, in tiles of at most `most` rows, 6 or 8. They are dealt evenly, so that no
 * tile has too few chains to hide their latency. */
SATTN_INLINE void qk_prefill_tiles(const qk_panel *panel, qk_tile_fn *tile, const int most,
                                   const int n_vec)
{
    for (int r = 0, n = 0; r < panel->n_rows; r += n) {
        const int left = panel->n_rows - r;
        const int n_tiles = (left + most - 1) / most;
        n = (left + n_tiles - 1) / n_tiles;
        switch (n) {
        case 8:
            if (most >= 8)
                tile(panel, r, 8, n_vec);
            break;
        case 7:
            if (most >= 7)
                tile(panel, r, 7, n_vec);
            break;
        case 6:
            tile(panel, r, 6, n_vec);
            break;
        case 5:
            tile(panel, r, 5, n_vec);
            break;
        case 4:
            tile(panel, r, 4, n_vec);
            break;
        case 3:
            tile(panel, r, 3, n_vec);
            break;
        case 2:
            tile(panel, r, 2, n_vec);
            break;
        default:
            tile(panel, r, 1, n_vec);
            break;
        }
    }
}

/* The same for panels of one or two vectors of `lanes` keys. */
SATTN_INLINE void qk_prefill_score(const qk_panel *panel, qk_tile_fn *tile, const int most,
                                   const int lanes)
{
    if (panel->n_keys > lanes)
        qk_prefill_tiles(panel, tile, most, 2);
    else
        qk_prefill_tiles(panel, tile, most, 1);
}

/* Lane j of row x of `to` is k[j][x], for the n keys of one vector, 0 behind them, and for
 * `features` features, or as many as there are lanes. Rows are those of a panel. */
typedef void qk_pack_tile_fn(float *to, const float *k, int64_t k_stride, int n, int64_t features);

/* A panel of two vectors of `lanes` keys, by square tiles. */
SATTN_INLINE void qk_prefill_pack(float *panel, const float *k, int64_t k_stride, int n_keys,
                                  int64_t d, qk_pack_tile_fn *pack_tile, const int lanes)
{
    const int64_t width = 2 * (int64_t)lanes;
    for (int j = 0; j < n_keys; j += lanes, k += lanes * k_stride) {
        const int n = n_keys - j < lanes ? n_keys - j : lanes;
        int64_t x = 0;
        if (n == lanes)
            for (; x + lanes <= d; x += lanes)
                pack_tile(panel + x * width + j, k + x, k_stride, lanes, lanes);
        for (; x < d; x += lanes)
            pack_tile(panel + x * width + j, k + x, k_stride, n, d - x);
    }
}

static inline void qk_prefill_scale(float *q, int64_t q_pitch, const qk_strip *strip, int64_t d,
                                    float scale)
{
    for (int r = 0; r < strip->n_rows; ++r) {
        const float *const from = strip->q[r];
        float *const to = q + r * q_pitch;
        for (int64_t x = 0; x < d; ++x)
            to[x] = scale * from[x];
        for (int64_t x = d; x % 4 != 0; ++x)
            to[x] = 0.0f;
    }
}

/* One strip against the n_keys keys from j on that lie in `panels`. */
static inline void qk_prefill_strip(const sattn_qk_args *a, const qk_prefill_ops *ops,
                                    qk_panel *panel, const float *panels, int64_t first, int n_keys)
{
    for (int j = 0; j < n_keys; j += ops->width) {
        panel->k = panels + j * a->d;
        panel->j = first + j;
        panel->n_keys = n_keys - j < ops->width ? n_keys - j : ops->width;
        ops->score(panel);
        for (int r = 0; a->softcap != 0.0f && r < panel->n_rows; ++r)
            ops->cap(panel->s[r] + panel->j, panel->n_keys, a->softcap);
    }
}

static inline void qk_prefill(const sattn_qk_args *a, const qk_prefill_ops *ops)
{
    const int64_t n_rows = qk_row_count(a);
    if (n_rows == 0)
        return;
    /* Rows of q a power of two apart would share the lines of few sets of a cache. */
    const int64_t q_pitch = (a->d + 15) / 16 * 16 + 16;
    float *const q = a->scratch;
    float *const panels = q + QK_STRIP_ROWS * q_pitch;
    /* A single strip uses each panel at once, while it is in the first cache. */
    const bool single = n_rows <= QK_STRIP_ROWS;
    const int64_t chunk = single ? ops->width : SATTN_TILE_KEYS_MAX;
    qk_strip strip;
    qk_panel panel = {.q = q, .q_pitch = q_pitch, .s = strip.s, .d = a->d};
    for (int64_t first = a->j0; first < a->j1; first += chunk) {
        const int n_keys = a->j1 - first < chunk ? (int)(a->j1 - first) : (int)chunk;
        for (int j = 0; j < n_keys; j += ops->width)
            ops->pack(panels + j * a->d, a->k + (first + j) * a->k_stride, a->k_stride,
                      n_keys - j < ops->width ? n_keys - j : ops->width, a->d);
        for (int64_t row = 0; row < n_rows; row += QK_STRIP_ROWS) {
            if (!single || first == a->j0) {
                qk_strip_fill(&strip, a, row, QK_STRIP_ROWS);
                qk_prefill_scale(q, q_pitch, &strip, a->d, a->scale);
                panel.n_rows = strip.n_rows;
            }
            qk_prefill_strip(a, ops, &panel, panels, first, n_keys);
        }
    }
}

#endif
