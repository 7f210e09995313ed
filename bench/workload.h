/* SPDX-License-Identifier: MIT
 *
 * workload.h: a named shape made ready to run: arguments, buffers and inputs.
 *
 * Tensors are dense, [batch, heads, rows, features], on 64-byte boundaries, in memory for which
 * large pages were asked. A warm workload has one set of Q, K, V and O; a cold one has so many that
 * a walk over them finds none of its lines in the last-level cache. */
#ifndef SATTN_BENCH_WORKLOAD_H
#define SATTN_BENCH_WORKLOAD_H

#include "bench/shapes.h"
#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_workload {
    sattn_shape shape;         /* with the sizes filled in where they come from files */
    sattn_attention_args args; /* of set 0 */
    int64_t n_sets;
    size_t set_bytes; /* from one set to the next */
    char *arena;      /* n_sets * set_bytes */
    void *mask;
    int64_t *n_k_valid;
} sattn_workload;

/* `cold_bytes` is what all sets together must take at least; 0 makes one set. On failure the
 * workload holds nothing and `error` says why. `dataset` is the directory of captured tensors. */
bool sattn_workload_open(sattn_workload *workload, const sattn_shape *shape, const char *dataset,
                         size_t cold_bytes, char *error, size_t error_size);
void sattn_workload_close(sattn_workload *workload);

/* What set number `set` hands to sattn_plan_run. */
sattn_pointers sattn_workload_pointers(const sattn_workload *workload, int64_t set);

/* K and V of a set lie in one piece, which this returns with its size in bytes. */
const void *sattn_workload_kv(const sattn_workload *workload, int64_t set, size_t *bytes);

/* The first KV heads of batch entry 0, and of their queries the first rows. Fewer rows than all
 * only where no causal limit and no mask tells rows apart. */
sattn_attention_args sattn_workload_part(const sattn_workload *workload, int64_t n_kv_heads,
                                         int64_t n_rows);
bool sattn_workload_can_cut_rows(const sattn_workload *workload);

/* Useful work: 2 (d + d_v) flops for each pair of a query and a key visible to it. Bytes that any
 * implementation has to move at least: the valid rows of K and V once per KV head, Q and O. */
typedef struct sattn_work {
    double flops, bytes, kv_bytes;
} sattn_work;

sattn_work sattn_work_of(const sattn_attention_args *args);

#endif
