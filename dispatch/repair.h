/* SPDX-License-Identifier: MIT
 *
 * repair.h: undoes what hidden non-finite V rows do to an output.
 *
 * A hidden key has weight 0, but 0 * NaN is NaN, and kernels carry no code against it. So where
 * some key was hidden and both the output and V hold a non-finite value, the same kernel runs again
 * on a copy of V in which non-finite values are 0, and its results replace those elements to which
 * no visible key brings a non-finite V. */
#ifndef SATTN_DISPATCH_REPAIR_H
#define SATTN_DISPATCH_REPAIR_H

#include "kernels/contract.h"

#include <pthread.h>

/* An output and what it was averaged from, whichever kernels did so: rows [0, n_rows) of each head
 * of a group. Strides are in elements. */
typedef struct sattn_averaged {
    const sattn_visibility *visible;
    const float *v; /* [visible->n_k][d_v] */
    float *o;       /* [n_group][n_rows][d_v] */
    int64_t v_stride, o_stride, o_group_stride;
    int64_t n_group, n_rows, d_v;
} sattn_averaged;

/* Working memory of a repair. All workers share one: a copy of V is too large for each to have its
 * own, and repairs are rare. */
typedef struct sattn_repair_memory {
    float *v_copy;         /* [n_k][d_v] */
    int64_t *v_keys;       /* [n_k] */
    float *repaired;       /* [n_group][n_rows][d_v] */
    pthread_mutex_t *lock; /* NULL: there is one worker */
} sattn_repair_memory;

/* Around every use of that memory. */
void sattn_repair_begin(const sattn_repair_memory *memory);
void sattn_repair_end(const sattn_repair_memory *memory);

/* True where some key of [0, n_k) is hidden from one of the rows [0, n_rows), or a mask may hide
 * one. */
bool sattn_may_hide(const sattn_visibility *visible, int64_t n_rows);

/* True where the output rows hold a NaN or an infinity. */
bool sattn_output_is_suspect(const sattn_averaged *averaged);

/* Lists in `keys` [n_k], rising, the keys whose V row holds a non-finite value; returns how many.
 */
int64_t sattn_list_non_finite_keys(const sattn_averaged *averaged, int64_t *keys);

/* v_copy [n_k][d_v] = V with 0 for every non-finite value. */
void sattn_copy_finite(const sattn_averaged *averaged, float *v_copy);

/* Takes elements of `repaired` [n_group][n_rows][d_v] into the output, as said above, given the
 * list of keys; elements of `repaired` that are not taken are overwritten. */
void sattn_take_repaired(const sattn_averaged *averaged, float *repaired, const int64_t *keys,
                         int64_t n_keys);

#endif
