/* SPDX-License-Identifier: MIT
 *
 * qk_prefill.h: scores of many query rows, "lanes over keys", the same for all ISAs.
 *
 *   for each block of rows
 *       for each group of keys
 *           transpose K into panels of two vectors of keys, [d][width]
 *           for each strip of rows
 *               the first time: Q = scale * Q
 *               S = Q K^T, in register tiles of rows x vectors of keys
 *               softcap the scores that were just stored
 *
 * K is packed once for a block. A group's panels (vec/score_panel.h) always lie in the same place,
 * which stays in the first cache (up to some 128 features) while the block passes over it; the
 * scaled rows of a block are meant for the second. Both are read from memory just before they are
 * packed, a burst that would stop the arithmetic, so tiles prefetch what comes next. */
#ifndef SATTN_KERNELS_QK_PREFILL_H
#define SATTN_KERNELS_QK_PREFILL_H

#include "kernels/qk/qk_strip.h"
#include "kernels/vec/score_panel.h"

enum {
    QK_GROUP_KEYS = SATTN_TILE_QUERIES_MAX,
    QK_BLOCK_ROWS = SATTN_TILE_KEYS_MAX, /* scratch has room for so many, be they of Q or K */
    QK_BLOCK_STRIPS = QK_BLOCK_ROWS / QK_STRIP_ROWS,
};

typedef struct qk_prefill_ops {
    /* panel[x][j] = k[j][x] for n_keys keys, panel by panel; behind them, as far as a tile reads, 0
     * or the last key again */
    void (*pack)(float *panels, const float *k, int64_t k_stride, int n_keys, int64_t d);
    /* s[r][j + ..] = q[r] . k, of at most a group of keys */
    void (*score)(const score_panel *panel);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
} qk_prefill_ops;

/* Keys of the group that begins at j; none at the end. */
static inline int qk_group_keys(const sattn_qk_args *a, int64_t j)
{
    return a->j1 - j < QK_GROUP_KEYS ? (int)(a->j1 - j) : QK_GROUP_KEYS;
}

/* One strip against a group of keys. */
static inline void qk_prefill_strip(const sattn_qk_args *a, const qk_prefill_ops *ops,
                                    const score_panel *panel)
{
    ops->score(panel);
    for (int r = 0; a->softcap != 0.0f && r < panel->n_rows; ++r)
        ops->cap(panel->s[r] + panel->j, panel->n_keys, a->softcap);
}

/* The strips of a block against all keys. */
static inline void qk_prefill_block(const sattn_qk_args *a, const qk_prefill_ops *ops,
                                    const qk_strip *strips, int n_strips)
{
    /* Rows of q a power of two apart would share the lines of few sets of a cache. */
    const int64_t q_pitch = (a->d + 15) / 16 * 16 + 16;
    float *const block_q = a->scratch;
    float *const panels = block_q + QK_BLOCK_ROWS * q_pitch;
    const float *next_k[QK_GROUP_KEYS];
    for (int64_t j = a->j0; j < a->j1; j += QK_GROUP_KEYS) {
        const int n_keys = qk_group_keys(a, j);
        const int n_next = qk_group_keys(a, j + n_keys);
        const float *const k = a->k + j * a->k_stride;
        ops->pack(panels, k, a->k_stride, n_keys, a->d);
        for (int i = 0; i < n_next; ++i)
            next_k[i] = k + (n_keys + i) * a->k_stride;
        for (int i = 0; i < n_strips; ++i) {
            const qk_strip *const strip = &strips[i];
            float *const q = block_q + i * QK_STRIP_ROWS * q_pitch;
            const bool is_last = i + 1 == n_strips;
            const int n_next_q = j == a->j0 && !is_last ? strip[1].n_rows : 0;
            const score_panel panel = {.q = q,
                                       .q_pitch = q_pitch,
                                       .k = panels,
                                       .s = strip->s,
                                       .j = j,
                                       .d = a->d,
                                       .n_rows = strip->n_rows,
                                       .n_keys = n_keys,
                                       .ahead = is_last ? next_k : strip[1].q,
                                       .n_ahead = is_last ? n_next : n_next_q};
            if (j == a->j0)
                score_panel_scale(q, q_pitch, strip->q, strip->n_rows, a->d, a->scale);
            qk_prefill_strip(a, ops, &panel);
        }
    }
}

static inline void qk_prefill(const sattn_qk_args *a, const qk_prefill_ops *ops)
{
    const int64_t n_rows = qk_row_count(a);
    qk_strip strips[QK_BLOCK_STRIPS];
    int n = 0;
    for (int64_t row = 0; row < n_rows; row += QK_STRIP_ROWS) {
        qk_strip_fill(&strips[n++], a, row, QK_STRIP_ROWS);
        if (n == QK_BLOCK_STRIPS || row + QK_STRIP_ROWS >= n_rows) {
            qk_prefill_block(a, ops, strips, n);
            n = 0;
        }
    }
}

#endif
