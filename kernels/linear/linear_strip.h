/* SPDX-License-Identifier: MIT
 *
 * linear_strip.h: the rows of X and Y that a linear kernel works on together. */
#ifndef SATTN_KERNELS_LINEAR_STRIP_H
#define SATTN_KERNELS_LINEAR_STRIP_H

#include "kernels/contract.h"

enum { LINEAR_STRIP_ROWS = SATTN_TILE_QUERIES_MAX };

typedef struct linear_strip {
    int n_rows;
    const float *x[LINEAR_STRIP_ROWS];
    float *y[LINEAR_STRIP_ROWS]; /* output 0 of the row */
} linear_strip;

/* Rows from i on, which exists: as many as a strip holds, and the rest at the end. */
static inline void linear_strip_fill(linear_strip *strip, const sattn_linear_args *a, int64_t i)
{
    const int64_t left = a->i1 - i;
    strip->n_rows = left < LINEAR_STRIP_ROWS ? (int)left : LINEAR_STRIP_ROWS;
    for (int r = 0; r < strip->n_rows; ++r) {
        strip->x[r] = a->x + (i + r) * a->x_stride;
        strip->y[r] = a->y + (i + r) * a->y_stride;
    }
}

#endif
