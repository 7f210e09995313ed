/* SPDX-License-Identifier: MIT
 *
 * chain.h: attention as qk, softmax and av, a block of query rows after the other.
 *
 * A block's scores lie in the workspace, small enough to stay in cache between the three kernels;
 * only keys that some row of the block may see are scored, cut at a multiple of the key block, so
 * that a row's bits do not depend on its block. Where the caller asks for scores, they are computed
 * right in the caller's memory.
 *
 * Size of a block's scores, all heads of a group together: SATTN_CHAIN_BYTES; more where that would
 * not fill a tile of the qk kernel, up to SATTN_CHAIN_BYTES_MAX; and beyond that only where one row
 * of each head is longer. */
#ifndef SATTN_DISPATCH_CHAIN_H
#define SATTN_DISPATCH_CHAIN_H

#include "dispatch/rows.h"

enum {
    SATTN_CHAIN_BYTES = 512 << 10, /* half of the 1 MiB of L2 that a current core has */
    SATTN_CHAIN_BYTES_MAX = 16 << 20,
    SATTN_CHAIN_DENSE_COLUMNS = 256, /* rows up to here lie without gaps */
};

/* Elements from one row of n_columns scores to the next. Short rows lie one after the other, which
 * lets a softmax take them as one run; longer ones are an odd number of cache lines apart, so that
 * a column of scores does not fall into few cache sets. */
static inline int64_t sattn_chain_row_stride(int64_t n_columns)
{
    if (n_columns <= SATTN_CHAIN_DENSE_COLUMNS)
        return n_columns;
    return ((n_columns + 15) / 16 | 1) * 16;
}

/* The most columns that a block of so many rows has; n_k below 2^40. */
int64_t sattn_chain_columns(const sattn_attention_args *args, int64_t block_rows);

/* Rows of a head to a block, at least 1. */
int64_t sattn_chain_block_rows(const sattn_attention_args *args, int64_t n_group,
                               int64_t tile_rows);

/* The rows of one block. */
void sattn_chain_run(const sattn_plan *plan, const sattn_unit *rows,
                     const sattn_unit_memory *memory);

#endif
