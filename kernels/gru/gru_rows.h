/* SPDX-License-Identifier: MIT
 *
 * gru_rows.h: the rows of the hand-written gru kernels, and how such a kernel goes through one.
 *
 * An element's reset gate, candidate and next state wait for each other: two exponentials and two
 * divisions in a row, more than a CPU sees ahead. So a kernel is at two places of a row at once.
 * With the sums x_n + r h_n of some vectors at hand, it takes
 *
 *   1. those of the next vectors, and
 *   2. the gates z, the candidates and the next states of these,
 *
 * which do not wait for each other. The last elements go through the same functions under a mask,
 * so an element's bits do not depend on its place. */
#ifndef SATTN_KERNELS_GRU_ROWS_H
#define SATTN_KERNELS_GRU_ROWS_H

#include "kernels/contract.h"
#include "kernels/vec/vec_base.h"

enum { GRU_RESET, GRU_UPDATE, GRU_CANDIDATE }; /* order of the gates */

/* A row's numbers at element 0, those of the two projections gate by gate. */
typedef struct gru_row {
    const float *gates_x[3], *gates_h[3], *h;
    float *y;
    int64_t n_hidden;
} gru_row;

/* Some vectors of a row, from element j on: all of their elements are there, or those before the
 * row's end. */
typedef struct gru_place {
    const gru_row *row;
    int64_t j;
    bool is_whole;
} gru_place;

typedef void gru_row_step(const gru_row *row);

SATTN_INLINE void gru_rows(const sattn_gru_args *args, gru_row_step *step)
{
    const int64_t n = args->n_hidden;
    for (int64_t i = args->i0; i < args->i1; ++i) {
        const float *const gates_x = args->gates_x + i * args->gates_x_stride;
        const float *const gates_h = args->gates_h + i * args->gates_h_stride;
        const gru_row row = {.gates_x = {gates_x, gates_x + n, gates_x + 2 * n},
                             .gates_h = {gates_h, gates_h + n, gates_h + 2 * n},
                             .h = args->h + i * args->h_stride,
                             .y = args->y + i * args->y_stride,
                             .n_hidden = n};
        step(&row);
    }
}

#endif
