/* SPDX-License-Identifier: MIT
 *
 * score_panel.h: products of many rows, "lanes over keys", the same for all ISAs: scores of qk, and
 * what `linear` needs, whose rows of X stand for queries and whose outputs for keys.
 *
 * K lies in panels of two vectors of keys, [d][width], and a register tile is some rows of Q
 * against a panel, or two side by side. K is rearranged rather than Q, so that a row of S is stored
 * as it lies in registers (the panels of Goto & van de Geijn 2008).
 *
 * Each score is one chain of multiply-adds over the features from 0 on, wherever it stands. */
#ifndef SATTN_KERNELS_VEC_SCORE_PANEL_H
#define SATTN_KERNELS_VEC_SCORE_PANEL_H

#include "kernels/vec/vec_base.h"

#include <stdbool.h>
#include <stdint.h>

/* What the register tiles of one panel work on. */
typedef struct score_panel {
    const float *q;  /* [n_rows][q_pitch], scaled; up to a multiple of 4 behind d, 0 */
    int64_t q_pitch; /* floats */
    const float *k;  /* panels [d][width], one behind the other, aligned to a vector */
    float *const *s; /* [n_rows], key 0 of each row */
    int64_t j;       /* first key of the first panel */
    int64_t d;
    int n_rows;
    int n_keys; /* of all panels */
    /* rows of d floats that will be read next, which x86's tiles prefetch */
    const float *const *ahead;
    int n_ahead; /* or 0 */
    /* of linear */
    const float *bias; /* NULL, or [..], that of key 0 */
    bool adds;         /* the products, and the bias, to what s holds */
} score_panel;

/* The register tile of n_rows rows from `row` on and of n_vec vectors of keys. */
typedef void score_panel_tile_fn(const score_panel *panel, int row, int n_rows, int n_vec);

/* All rows, in tiles of at most `most` rows, 6 or 8. They are dealt evenly, so that no tile has too
 * few chains to hide their latency. */
SATTN_INLINE void score_panel_rows(const score_panel *panel, score_panel_tile_fn *tile,
                                   const int most, const int n_vec)
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

/* The rows of a tile against one panel, of n_vec = 2 vectors of keys, after the other. So few rows
 * and the panels of a group lie in the first cache, up to some 128 features, and the lines of a row
 * of S are written one after the other. */
SATTN_INLINE void score_panel_each(const score_panel *panels, score_panel_tile_fn *tile, int row,
                                   const int n_rows, const int n_vec, const int lanes)
{
    const int width = n_vec * lanes;
    score_panel panel = *panels;
    for (int i = 0; i < panels->n_keys; i += width) {
        panel.k = panels->k + i * panels->d;
        panel.j = panels->j + i;
        panel.n_keys = panels->n_keys - i < width ? panels->n_keys - i : width;
        if (panel.n_keys > lanes)
            tile(&panel, row, n_rows, n_vec);
        else
            tile(&panel, row, n_rows, 1);
    }
}

/* Lane j of row x of `to` is k[j][x], for the n keys of one vector, 0 behind them, and for
 * `features` features, or as many as there are lanes. Rows are those of a panel. */
typedef void score_panel_pack_fn(float *to, const float *k, int64_t k_stride, int n,
                                 int64_t features);

/* Panels of two vectors of `lanes` keys, one behind the other, by square tiles. */
SATTN_INLINE void score_panel_pack(float *panels, const float *k, int64_t k_stride, int n_keys,
                                   int64_t d, score_panel_pack_fn *pack_tile, const int lanes)
{
    const int width = 2 * lanes;
    for (int j = 0; j < n_keys; j += lanes, k += lanes * k_stride) {
        const int n = n_keys - j < lanes ? n_keys - j : lanes;
        float *const to = panels + (j - j % width) * d + j % width;
        int64_t x = 0;
        if (n == lanes)
            for (; x + lanes <= d; x += lanes)
                pack_tile(to + x * width, k + x, k_stride, lanes, lanes);
        for (; x < d; x += lanes)
            pack_tile(to + x * width, k + x, k_stride, n, d - x);
    }
}

/* q[r] = scale * rows[r], as the tiles of a panel read it. */
static inline void score_panel_scale(float *q, int64_t q_pitch, const float *const *rows,
                                     int n_rows, int64_t d, float scale)
{
    for (int r = 0; r < n_rows; ++r) {
        const float *const from = rows[r];
        float *const to = q + r * q_pitch;
        for (int64_t x = 0; x < d; ++x)
            to[x] = scale * from[x];
        for (int64_t x = d; x % 4 != 0; ++x)
            to[x] = 0.0f;
    }
}

#endif
