/* SPDX-License-Identifier: MIT
 *
 * linear_prefill.h: a linear map of many rows, "lanes over outputs", the same for all ISAs.
 *
 *   for each chunk of outputs
 *       transpose W into panels of two vectors of outputs, [n_in][width]; packed, it is there
 *       for each strip of rows
 *           copy X
 *           for each group of panels, in register tiles of rows x vectors of outputs
 *               Y = X W^T + b, or Y += X W^T + b
 *
 * Its tiles are those of qk, but for what they do before they store their sums, and for panels that
 * may lie ready. X is copied so that its rows are not a power of two apart, where they would share
 * the lines of few sets of a cache.
 *
 * Each sum is one chain of multiply-adds over the features from 0 on, wherever it stands. */
#ifndef SATTN_KERNELS_LINEAR_PREFILL_H
#define SATTN_KERNELS_LINEAR_PREFILL_H

#include "kernels/linear/linear_strip.h"
#include "kernels/vec/score_panel.h"

typedef struct linear_prefill_ops {
    int width; /* most outputs that `score` takes, those of one or more panels */
    /* panel[x][o] = w[o][x], as that of qk_prefill_ops */
    void (*pack)(float *panels, const float *w, int64_t w_stride, int n_outputs, int64_t n_in);
    /* s[r][j + ..] = q[r] . k, and what `bias` and `adds` of the panel say */
    void (*score)(const score_panel *panel);
} linear_prefill_ops;

/* The panels of n outputs from `first` on. */
static inline const float *linear_prefill_panels(const sattn_linear_args *a,
                                                 const linear_prefill_ops *ops, float *panels,
                                                 int64_t first, int n)
{
    if (a->packed)
        return a->packed + first * a->n_in;
    ops->pack(panels, a->w + first * a->w_stride, a->w_stride, n, a->n_in);
    return panels;
}

static inline void linear_prefill(const sattn_linear_args *a, const linear_prefill_ops *ops)
{
    const int64_t n_rows = a->i1 - a->i0;
    const int64_t x_pitch = (a->n_in + 15) / 16 * 16 + 16;
    float *const x = a->scratch;
    /* A single strip uses each group of panels at once, while it is in a near cache. */
    const bool single = n_rows <= LINEAR_STRIP_ROWS;
    const int64_t chunk = single ? ops->width : SATTN_TILE_KEYS_MAX;
    linear_strip strip;
    score_panel panel = {
        .q = x, .q_pitch = x_pitch, .s = strip.y, .d = a->n_in, .bias = a->bias, .adds = a->adds};
    for (int64_t first = a->o0; n_rows > 0 && first < a->o1; first += chunk) {
        const int n = a->o1 - first < chunk ? (int)(a->o1 - first) : (int)chunk;
        const float *const panels =
            linear_prefill_panels(a, ops, x + LINEAR_STRIP_ROWS * x_pitch, first, n);
        for (int64_t i = a->i0; i < a->i1; i += LINEAR_STRIP_ROWS) {
            if (!single || first == a->o0) {
                linear_strip_fill(&strip, a, i);
                score_panel_scale(x, x_pitch, strip.x, strip.n_rows, a->n_in, 1.0f);
                panel.n_rows = strip.n_rows;
            }
            for (int o = 0; o < n; o += ops->width) {
                panel.k = panels + o * a->n_in;
                panel.j = first + o;
                panel.n_keys = n - o < ops->width ? n - o : ops->width;
                ops->score(&panel);
            }
        }
    }
}

#endif
