/* SPDX-License-Identifier: MIT
 *
 * unit.h: the work unit of a call: one batch entry and one KV head with the query heads that share
 * it. All pointers are to row 0 of the group's first head; strides are in elements, and 0 where the
 * extent is 1, since callers may leave anything there. */
#ifndef SATTN_DISPATCH_UNIT_H
#define SATTN_DISPATCH_UNIT_H

#include "dispatch/simdattn.h"
#include "kernels/visibility.h"

/* Rows of K or V, key 0 first. */
typedef struct sattn_key_rows {
    const float *data;
    int64_t stride;
} sattn_key_rows;

typedef struct sattn_unit {
    const float *q, *k, *v;
    float *o, *lse, *scores;
    const float *scores_in;
    const float *sinks; /* [n_group], or NULL */
    int64_t q_stride, k_stride, v_stride, o_stride, scores_stride, scores_in_stride;
    int64_t q_group_stride, o_group_stride, lse_group_stride;
    int64_t scores_group_stride, scores_in_group_stride;
    int64_t n_group, n_q, n_k, d, d_v; /* n_k: columns of a row of scores */
    sattn_visibility visible;          /* its n_k: keys that exist, n_k_valid of the batch entry */
    sattn_key_range keys;              /* what some row of the whole unit may see lies in here */
    sattn_key_rows k_dense, v_dense;   /* copies that kernels read instead (dense.h) */
    int64_t n_rest;                    /* rows at the end that the few-query kernel is to compute */
    int64_t kv_bytes;                  /* sattn_kv_bytes of the whole call; 0: no more than these */
} sattn_unit;

/* n_rest and kv_bytes are left 0. */
sattn_unit sattn_unit_of(const sattn_attention_args *args, int64_t n_group, int64_t b, int64_t kv);

/* About how many bytes of K and V the call reads, in as far as length, causal limit and window
 * leave them; rows, heads and batch entries that are the same memory count once. */
int64_t sattn_kv_bytes(const sattn_attention_args *args);

/* What kernels read: dense copies where there are some, else the caller's memory. */
static inline sattn_key_rows sattn_unit_k(const sattn_unit *unit)
{
    return unit->k_dense.data ? unit->k_dense : (sattn_key_rows){unit->k, unit->k_stride};
}

static inline sattn_key_rows sattn_unit_v(const sattn_unit *unit)
{
    return unit->v_dense.data ? unit->v_dense : (sattn_key_rows){unit->v, unit->v_stride};
}

/* Whether the mask lets row i of head g see key j, of its visible range. */
bool sattn_mask_lets_through(const sattn_visibility *visible, int64_t g, int64_t i, int64_t j);

/* Visibility as rows [i0, ..) and keys [j0, j0 + n_k) see it when both are counted from 0. */
sattn_visibility sattn_visibility_from(const sattn_visibility *visible, int64_t i0, int64_t j0,
                                       int64_t n_k);

/* Rows [i0, i1) of a unit, as a unit of its own. */
sattn_unit sattn_unit_rows(const sattn_unit *unit, int64_t i0, int64_t i1);

#endif
