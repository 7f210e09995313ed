/* SPDX-License-Identifier: MIT
 *
 * softmax_whole.h: rows that see every key, and have no bias, for all ISAs. They need no care for
 * limits.
 *
 *   - Short ones that lie back to back are handed over several at a time, as one run of full
 *     vectors (`flat`).
 *   - Others are handed over one by one (`turn`).
 *
 * Rows or runs pass in turns: while one gets its weights, which keeps the multipliers busy, a later
 * one's maximum and an earlier one's division, which are loads and stores, happen. So what ends in
 * a chain of dependent operations has time to end.
 *
 * Both give a row the bits that it gets by itself (softmax_rows.h). NaN and infinities need no care
 * either: every weight is seen, and a multiple of 1 / NaN, or 0 / 0. */
#ifndef SATTN_KERNELS_SOFTMAX_WHOLE_H
#define SATTN_KERNELS_SOFTMAX_WHOLE_H

#include "kernels/softmax/softmax_steps.h"

enum {
    SOFTMAX_SWIFT = 1024,   /* columns of rows of which six fit well into the first cache */
    SOFTMAX_WHOLE_RING = 8, /* whole rows: the five under way, as a power of two */
};

/* Whether rows [i0, i1) see every key, without bias. Their limits move with the row in one
 * direction: those that hide no key from the first and the last row hide none in between. */
SATTN_INLINE bool softmax_is_whole(const sattn_softmax_args *a, const softmax_ops *ops)
{
    const int64_t n = a->n_columns;
    if (!ops->turn || n < ops->lanes || a->visible.n_k != n || a->visible.mask_bool ||
        a->visible.mask_add || a->i0 >= a->i1)
        return false;
    const sattn_key_range first = sattn_visible_range(&a->visible, a->i0);
    const sattn_key_range last = sattn_visible_range(&a->visible, a->i1 - 1);
    return first.begin == 0 && first.end == n && last.begin == 0 && last.end == n;
}

/* Whether whole rows are short, and lie back to back. */
SATTN_INLINE bool softmax_is_flat(const sattn_softmax_args *a, const softmax_ops *ops)
{
    const int64_t n = a->n_columns;
    return n <= ops->flat_columns && a->s_stride == n && a->p_stride == n &&
           a->i1 - a->i0 >= ops->flat_rows;
}

/* What comes next: of every head the rows [i0, i1), `step` of them at a time. */
typedef struct softmax_walk {
    int64_t g, i;
    int64_t i0, i1, step;
} softmax_walk;

/* Where rows are, all NULL behind the last; statistics that are not wanted are NULL. */
typedef struct softmax_place {
    const float *s;
    float *p, *row_max, *row_sum;
} softmax_place;

SATTN_INLINE softmax_place softmax_walk_on(softmax_walk *walk, const sattn_softmax_args *a)
{
    if (walk->g == a->n_group || walk->i0 >= walk->i1)
        return (softmax_place){.s = NULL};
    const int64_t g = walk->g;
    const int64_t i = walk->i;
    const int64_t stat = g * a->stat_group_stride + i;
    walk->i += walk->step;
    if (walk->i == walk->i1) {
        walk->i = walk->i0;
        ++walk->g;
    }
    return (softmax_place){.s = a->s + g * a->s_group_stride + i * a->s_stride,
                           .p = a->p + g * a->p_group_stride + i * a->p_stride,
                           .row_max = a->row_max ? a->row_max + stat : NULL,
                           .row_sum = a->row_sum ? a->row_sum + stat : NULL};
}

/* Runs of rows in turns. Returns the first row that is left. */
SATTN_INLINE int64_t softmax_rows_flat(const sattn_softmax_args *a, const softmax_ops *ops)
{
    const int64_t end = a->i1 - (a->i1 - a->i0) % ops->flat_rows;
    softmax_walk walk = {.i = a->i0, .i0 = a->i0, .i1 = end, .step = ops->flat_rows};
    softmax_place next = {.s = NULL};
    softmax_flat turn = {.n = a->n_columns, .scratch = a->scratch};
    do {
        turn.done = turn.p;
        turn.s = next.s;
        turn.p = next.p;
        turn.row_sum = next.row_sum;
        next = softmax_walk_on(&walk, a);
        turn.next = next.s;
        turn.row_max = next.row_max;
        ops->flat(&turn);
    } while (turn.next || turn.p);
    return end;
}

typedef struct softmax_whole_row {
    softmax_place at;
    float max, sum;
} softmax_whole_row;

/* Rows [i_first, i1) of every head, which are whole, in turns. A maximum and a sum end in a
 * reduction over lanes, and what takes them in the next turn waits for it. Rows that are short
 * enough to stay in the first cache take them a turn later. */
SATTN_INLINE void softmax_rows_whole(const sattn_softmax_args *a, const softmax_ops *ops,
                                     int64_t i_first)
{
    const int64_t n_rows = i_first < a->i1 ? a->n_group * (a->i1 - i_first) : 0;
    const int64_t lag = a->n_columns <= SOFTMAX_SWIFT ? 2 : 1; /* turns from step to step */
    softmax_walk walk = {.i = i_first, .i0 = i_first, .i1 = a->i1, .step = 1};
    softmax_whole_row rows[SOFTMAX_WHOLE_RING] = {0};
    softmax_turn turn = {.n = a->n_columns};
    for (int64_t r = 0; r < n_rows + 2 * lag && n_rows > 0; ++r) {
        softmax_whole_row *const next = &rows[r % SOFTMAX_WHOLE_RING];
        softmax_whole_row *const own = &rows[(r + SOFTMAX_WHOLE_RING - lag) % SOFTMAX_WHOLE_RING];
        const softmax_whole_row *const done =
            &rows[(r + SOFTMAX_WHOLE_RING - 2 * lag) % SOFTMAX_WHOLE_RING];
        next->at = softmax_walk_on(&walk, a);
        turn.next = next->at.s;
        turn.s = own->at.s;
        turn.p = own->at.p;
        turn.base = softmax_base(own->max);
        turn.done = done->at.p;
        turn.factor = turn.done ? 1.0f / done->sum : 1.0f;
        ops->turn(&turn);
        next->max = turn.max;
        own->sum = turn.sum;
        if (own->at.row_max)
            *own->at.row_max = own->max + 0.0f; /* one zero for both, whichever came first */
        if (own->at.row_sum)
            *own->at.row_sum = own->sum == 0.0f ? 1.0f : own->sum;
    }
}

#endif
