/* SPDX-License-Identifier: MIT
 *
 * softmax_whole.h: rows that see every key, and have no bias, for all ISAs. They need no care for
 * limits.
 *
 *   - Short ones that lie back to back are handed over several at a time, as one run of full
 *     vectors (`flat`).
 *   - Others pass in turns (`turn`): while one row gets its weights, which keeps the multipliers
 *     busy, the next one's maximum and the last one's division, which are loads and stores, happen
 *     in the same loop.
 *
 * Both give a row the bits that it gets by itself (softmax_rows.h). NaN and infinities need no care
 * either: every weight is seen, and a multiple of 1 / NaN, or 0 / 0. */
#ifndef SATTN_KERNELS_SOFTMAX_WHOLE_H
#define SATTN_KERNELS_SOFTMAX_WHOLE_H

#include "kernels/softmax/softmax_steps.h"

enum { SOFTMAX_FLAT_VECTORS = 13 }; /* of a row in a flat run, at most */

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
    return n <= (int64_t)SOFTMAX_FLAT_VECTORS * ops->lanes && a->s_stride == n &&
           a->p_stride == n && a->i1 - a->i0 >= ops->flat_rows;
}

/* Returns the first row that is left. */
SATTN_INLINE int64_t softmax_rows_flat(const sattn_softmax_args *a, const softmax_ops *ops)
{
    const int64_t end = a->i1 - (a->i1 - a->i0) % ops->flat_rows;
    for (int64_t g = 0; g < a->n_group; ++g) {
        for (int64_t i = a->i0; i < end; i += ops->flat_rows) {
            const int64_t stat = g * a->stat_group_stride + i;
            ops->flat(a->s + g * a->s_group_stride + i * a->s_stride,
                      a->p + g * a->p_group_stride + i * a->p_stride, a->n_columns,
                      a->row_max ? a->row_max + stat : NULL, a->row_sum ? a->row_sum + stat : NULL,
                      a->scratch);
        }
    }
    return end;
}

/* Rows [i_first, i1) of every head, which are whole, in turns: in turn r, row r gets its weights.
 */
SATTN_INLINE void softmax_rows_whole(const sattn_softmax_args *a, const softmax_ops *ops,
                                     int64_t i_first)
{
    const int64_t n_rows = i_first < a->i1 ? a->n_group * (a->i1 - i_first) : 0;
    softmax_turn turn = {.n = a->n_columns, .sum = 1.0f};
    int64_t g = 0;
    int64_t i = i_first; /* of the next row */
    int64_t stat = 0;
    float *next_p = NULL;
    for (int64_t r = -1; r <= n_rows && n_rows > 0; ++r) {
        const int64_t own_stat = stat;
        const float own_max = turn.max;
        turn.done = turn.p;
        turn.factor = 1.0f / turn.sum;
        turn.s = turn.next;
        turn.p = next_p;
        turn.base = softmax_base(own_max);
        turn.next = NULL;
        next_p = NULL;
        if (r + 1 < n_rows) {
            turn.next = a->s + g * a->s_group_stride + i * a->s_stride;
            next_p = a->p + g * a->p_group_stride + i * a->p_stride;
            stat = g * a->stat_group_stride + i;
            if (++i == a->i1) {
                i = i_first;
                ++g;
            }
        }
        ops->turn(&turn);
        if (turn.p && a->row_max)
            a->row_max[own_stat] = own_max + 0.0f; /* one zero for both, whichever came first */
        if (turn.p && a->row_sum)
            a->row_sum[own_stat] = turn.sum == 0.0f ? 1.0f : turn.sum;
    }
}

#endif
