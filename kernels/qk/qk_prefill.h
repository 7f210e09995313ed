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
 * K is packed once for all rows. A panel (vec/score_panel.h) stays in the first cache while a strip
 * of rows passes over it; a chunk of panels is meant for the second. */
#ifndef SATTN_KERNELS_QK_PREFILL_H
#define SATTN_KERNELS_QK_PREFILL_H

#include "kernels/qk/qk_strip.h"
#include "kernels/vec/score_panel.h"

typedef struct qk_prefill_ops {
    int width; /* keys in a panel */
    /* panel[x][j] = k[j][x] for n_keys keys; behind them, as far as a tile reads, 0 or the last key
     * again */
    void (*pack)(float *panel, const float *k, int64_t k_stride, int n_keys, int64_t d);
    /* s[r][j + ..] = q[r] . k */
    void (*score)(const score_panel *panel);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
} qk_prefill_ops;

/* One strip against the n_keys keys from j on that lie in `panels`. */
static inline void qk_prefill_strip(const sattn_qk_args *a, const qk_prefill_ops *ops,
                                    score_panel *panel, const float *panels, int64_t first,
                                    int n_keys)
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
    score_panel panel = {.q = q, .q_pitch = q_pitch, .s = strip.s, .d = a->d};
    for (int64_t first = a->j0; first < a->j1; first += chunk) {
        const int n_keys = a->j1 - first < chunk ? (int)(a->j1 - first) : (int)chunk;
        for (int j = 0; j < n_keys; j += ops->width)
            ops->pack(panels + j * a->d, a->k + (first + j) * a->k_stride, a->k_stride,
                      n_keys - j < ops->width ? n_keys - j : ops->width, a->d);
        for (int64_t row = 0; row < n_rows; row += QK_STRIP_ROWS) {
            if (!single || first == a->j0) {
                qk_strip_fill(&strip, a, row, QK_STRIP_ROWS);
                score_panel_scale(q, q_pitch, strip.q, strip.n_rows, a->d, a->scale);
                panel.n_rows = strip.n_rows;
            }
            qk_prefill_strip(a, ops, &panel, panels, first, n_keys);
        }
    }
}

#endif
