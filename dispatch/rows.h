/* SPDX-License-Identifier: MIT
 *
 * rows.h: what is done to the rows of a unit beside its kernels: sinks, log-sum-exp, columns
 * without keys, and V averaged with its repair. */
#ifndef SATTN_DISPATCH_ROWS_H
#define SATTN_DISPATCH_ROWS_H

#include "dispatch/plan.h"
#include "dispatch/repair.h"
#include "dispatch/unit.h"

/* Working memory for the rows of a block, as laid out in the plan. */
typedef struct sattn_unit_memory {
    void *scratch;
    float *scores, *q_copy;
    float *row_max, *row_sum, *parts;
    _Atomic int64_t *pending; /* parts of the block that are not done; NULL: they are no tasks */
    sattn_repair_memory repair;
} sattn_unit_memory;

/* The memory of a worker; statistics and parts are those of block `block` of the call where its key
 * ranges are tasks of their own, else -1. */
sattn_unit_memory sattn_unit_memory_of(const sattn_workspace_layout *layout,
                                       unsigned char *workspace, int worker, int64_t block,
                                       pthread_mutex_t *lock);

/* Runs an av kernel, and again where hidden V rows that are not finite have spoiled its output.
 * `given` is V in the caller's memory, where args may have a copy without rows that nobody sees. */
void sattn_average(const sattn_plan *plan, const sattn_av_args *args, sattn_key_rows given,
                   const sattn_repair_memory *memory);

/* Adds the sink of each head to the statistics that a softmax has left in memory, and makes the
 * weights of visible keys smaller by its share. */
void sattn_weigh_sinks(const sattn_softmax_args *args, const float *sinks);

/* A sink that is NaN or +inf makes the output rows of its head NaN, those without keys too. */
void sattn_spoil_by_sinks(const sattn_unit *unit);

/* lse of the unit's rows from their statistics, [n_group][n_q]. */
void sattn_write_lse(const sattn_unit *unit, const float *row_max, const float *row_sum);

/* Columns [n_k_valid, n_k) of the unit's scores: no key, no score. */
void sattn_fill_missing(const sattn_unit *unit);

#endif
