/* SPDX-License-Identifier: MIT
 *
 * qk_strip.h: the rows that a qk kernel works on together.
 *
 * The heads of a GQA group share K, so their query rows are flattened into one list, row
 * r = (i - i0) * n_group + g, and cut into strips: each row of K that is read serves a strip. */
#ifndef SATTN_KERNELS_QK_STRIP_H
#define SATTN_KERNELS_QK_STRIP_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

enum { QK_STRIP_ROWS = SATTN_TILE_QUERIES_MAX };

typedef struct qk_strip {
    int n_rows;
    const float *q[QK_STRIP_ROWS];
    float *s[QK_STRIP_ROWS]; /* key 0 of the row */
} qk_strip;

static inline int64_t qk_row_count(const sattn_qk_args *a)
{
    return a->n_group * (a->i1 - a->i0);
}

/* Rows of the flattened list from `first` on, which exists: n_max of them, and the rest at the end.
 */
static inline void qk_strip_fill(qk_strip *strip, const sattn_qk_args *a, int64_t first, int n_max)
{
    const int64_t left = qk_row_count(a) - first;
    int64_t i = a->i0 + first / a->n_group;
    int64_t g = first % a->n_group;
    strip->n_rows = left < n_max ? (int)left : n_max;
    for (int r = 0; r < strip->n_rows; ++r) {
        strip->q[r] = a->q + g * a->q_group_stride + i * a->q_stride;
        strip->s[r] = a->s + g * a->s_group_stride + i * a->s_stride;
        if (++g == a->n_group) {
            g = 0;
            ++i;
        }
    }
}

#endif
