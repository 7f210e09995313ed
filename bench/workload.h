/* SPDX-License-Identifier: MIT
 *
 * workload.h: a named shape made ready to run: arguments, buffers and inputs of one task.
 *
 * Tensors are dense, [batch, heads, rows, features], or where the shape says so interleaved,
 * [batch, rows, heads, features], on 64-byte boundaries, in memory for which large pages were
 * asked. A warm workload has one set of tensors; a cold one has so many that a walk over them finds
 * none of its lines in the last-level cache. */
#ifndef SATTN_BENCH_WORKLOAD_H
#define SATTN_BENCH_WORKLOAD_H

#include "bench/bench/bench_data.h"
#include "bench/peers/shared.h"
#include "bench/shapes.h"
#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tensors that a task reads or writes; a set holds these and no others, in this order. */
typedef enum sattn_workload_tensor {
    SATTN_TENSOR_Q = 1,
    SATTN_TENSOR_K = 2,
    SATTN_TENSOR_V = 4,
    SATTN_TENSOR_SCORES_IN = 8,
    SATTN_TENSOR_SCORES = 16,  /* written */
    SATTN_TENSOR_O = 32,       /* written */
    SATTN_TENSOR_WEIGHTS = 64, /* of a layer; no argument of an attention */
} sattn_workload_tensor;

enum { SATTN_TENSORS = 7 };

/* What SCORES_IN holds. Scores and weights are computed once, by the library's own steps. */
typedef enum sattn_scores_in {
    SATTN_IN_SCORES,  /* scale * Q K^T */
    SATTN_IN_WEIGHTS, /* softmax of that over the visible keys */
    SATTN_IN_NUMBERS, /* deviates, of no matrix */
} sattn_scores_in;

typedef struct sattn_workload_request {
    const sattn_shape *shape;
    const sattn_data *data;
    unsigned tensors; /* set of sattn_workload_tensor */
    sattn_scores_in scores_in;
    double spread;       /* standard deviation of SATTN_IN_NUMBERS */
    const char *dataset; /* directory of captured tensors */
    size_t cold_bytes;   /* what calls touch of all sets, at least; 0 makes one set */
    bool is_shared;      /* the sets lie in memory that other processes can map */
} sattn_workload_request;

typedef struct sattn_workload {
    sattn_shape shape;         /* with sizes from files and the mask of the data filled in */
    sattn_attention_args args; /* of set 0; the data of tensors that a set lacks is NULL */
    int64_t n_sets;
    size_t at[SATTN_TENSORS], bytes[SATTN_TENSORS]; /* of each tensor in a set */
    size_t set_bytes;                               /* from one set to the next */
    char *arena;                                    /* n_sets * set_bytes */
    bool borrows_arena;                             /* the arena is another workload's */
    sattn_shared shared;                            /* the arena, if other processes can map it */
    char *pristine; /* NULL, or what sattn_workload_restore puts into the arena */
    void *mask;
    float *slopes_and_sinks; /* NULL, or [2][n_q_heads] */
    int64_t *n_k_valid;
} sattn_workload;

/* What a call on the shape looks like, without any data, so also without lengths, slopes and sinks.
 */
sattn_attention_args sattn_workload_args(const sattn_shape *shape);

/* Bytes that all sets of the request would take; sizes from files are not looked at. */
size_t sattn_workload_bytes(const sattn_workload_request *request);

/* On failure the workload holds nothing and `error` says why. */
bool sattn_workload_open(sattn_workload *workload, const sattn_workload_request *request,
                         char *error, size_t error_size);
void sattn_workload_close(sattn_workload *workload);

/* Makes workloads of one shape, each of one set, run in the same memory, so that only their numbers
 * differ, not where these lie nor what caches hold of them: before a workload is run its numbers
 * have to be restored. The first one has to be closed last. That memory is `is_shared` with other
 * processes or not, the workloads' own is not. False: no memory, nothing is changed. */
bool sattn_workload_share(sattn_workload *workloads, size_t count, bool is_shared);
void sattn_workload_restore(const sattn_workload *workload);

/* Points the tensors of `args` into set number `set`. */
void sattn_workload_place(const sattn_workload *workload, int64_t set, sattn_attention_args *args);

/* A run of neighbouring tensors in a set, from the first to the last of `tensors`. */
void *sattn_workload_piece(const sattn_workload *workload, int64_t set, unsigned tensors,
                           size_t *bytes);

/* Of a layer's weights, which are square matrices one behind the other, the one of this number. */
sattn_linear_weights sattn_workload_matrix(const sattn_workload *workload, int number);

/* The first KV heads of batch entry 0, and of their queries the first rows. Fewer rows than all
 * only where nothing tells rows apart: no causal limit, window, ALiBi or mask. */
sattn_attention_args sattn_workload_part(const sattn_workload *workload, int64_t n_kv_heads,
                                         int64_t n_rows);
bool sattn_workload_can_cut_rows(const sattn_workload *workload);

/* Pairs of a query and a key over all batch entries and query heads: those that are visible, and
 * all whose key exists. */
double sattn_visible_pairs(const sattn_attention_args *args);
double sattn_existing_pairs(const sattn_attention_args *args);
/* Keys that exist, and keys that some query may see by length, causal limit and window, once per KV
 * head and batch entry. */
double sattn_existing_keys(const sattn_attention_args *args);
double sattn_readable_keys(const sattn_attention_args *args);

/* The readable keys of one batch entry: [begin, end). */
typedef struct sattn_workload_keys {
    int64_t begin, end;
} sattn_workload_keys;

sattn_workload_keys sattn_workload_readable(const sattn_attention_args *args, int64_t batch);

#endif
