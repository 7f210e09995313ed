/* SPDX-License-Identifier: MIT
 *
 * dense.h: dense copies of K and V, for rows that lie where caches cannot hold many of them.
 *
 * In tensors of rows first, [batch, rows, heads, d], the rows of a head lie n_heads * d elements
 * apart. Where that is a multiple of a page, all of them share the same few sets of each cache, and
 * each strip of query rows waits for K and V anew. Copied once, they stay.
 *
 * A unit (batch entry, KV head) has one copy for all its blocks of rows. The workers that take its
 * first blocks make it together, a chunk of keys each; few units are worked on at a time, so that
 * few places for copies are enough. Nobody waits for a place, nor long for a chunk that another
 * worker is slow to finish: the memory of the caller has the same numbers, and so the same results.
 */
#ifndef SATTN_DISPATCH_DENSE_H
#define SATTN_DISPATCH_DENSE_H

#include "dispatch/layout.h"
#include "dispatch/unit.h"

#include <pthread.h>

/* Most bytes of all copies of a call; rows for which it is too little are read where they lie. */
#define SATTN_DENSE_BYTES_MAX ((int64_t)64 << 20)

/* Whether a copy of n_keys rows that lie `stride` elements apart is worth its making, where n_rows
 * query rows read them. */
bool sattn_dense_pays(int64_t stride, int64_t n_rows, int64_t n_keys);

/* Elements between the rows of a copy. */
int64_t sattn_dense_stride(int64_t columns);

/* Copies that a plan has room for: `n_units` units of so many blocks of rows each are worked on by
 * its workers. 0: it makes none. */
int64_t sattn_dense_count(const sattn_plan *plan, int64_t n_units, int64_t n_blocks);

/* Bytes of one copy of the plan's most keys, with what is kept about it. */
int64_t sattn_dense_bytes(const sattn_plan *plan);

typedef struct sattn_dense_copy sattn_dense_copy;

/* The copies of a call. */
typedef struct sattn_dense {
    unsigned char *memory;
    size_t copy_size;
    int64_t n_copies;
    bool copies_keys;
    pthread_mutex_t lock; /* of what is kept about each copy, if there is one */
} sattn_dense;

void sattn_dense_begin(sattn_dense *dense, const sattn_plan *plan, unsigned char *workspace);
void sattn_dense_end(sattn_dense *dense);

/* Has unit number `index` of the call read from its copy, once that is made; NULL: there is none.
 * The unit is whole, not yet cut into blocks. */
sattn_dense_copy *sattn_dense_enter(sattn_dense *dense, int64_t index, sattn_unit *unit);

/* The worker is done with a block of the unit. */
void sattn_dense_leave(sattn_dense *dense, sattn_dense_copy *copy);

#endif
