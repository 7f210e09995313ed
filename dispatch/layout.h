/* SPDX-License-Identifier: MIT
 *
 * layout.h: the workspace of a call: memory of each worker, of each block whose key ranges are
 * tasks of their own, dense copies of K and V, and memory that all share. */
#ifndef SATTN_DISPATCH_LAYOUT_H
#define SATTN_DISPATCH_LAYOUT_H

#include "dispatch/simdattn.h"

/* Offsets and sizes in bytes. A part that the call has no use for has no bytes. [rows] are the
 * query rows of a head that are worked on at once, the plan's block_rows. */
typedef struct sattn_workspace_layout {
    /* Within the memory of a worker. */
    size_t scratch; /* the kernels', one at a time */
    size_t scores;  /* [n_group][rows][..] of a chain, rows at sattn_chain_row_stride */
    size_t q_copy;  /* [n_group][rows][d]; fused, where o may be q and a key may be hidden */
    /* Within the memory of a worker, or of a block where its ranges are tasks of their own. */
    size_t row_max; /* [splits][n_group][rows] */
    size_t row_sum; /* [splits][n_group][rows] */
    size_t parts;   /* [splits][n_group][rows][d_v] unnormalised outputs; only with splits > 1 */
    /* Within what all share; only where a key may be hidden. */
    size_t v_copy;   /* [n_k][d_v] */
    size_t v_keys;   /* [n_k] int64_t, the keys whose V row is not finite */
    size_t repaired; /* [n_group][rows][d_v] */

    size_t worker_size, block_size, shared_size, dense_size; /* the last: of one dense copy */
    int64_t n_dense;
    size_t blocks;  /* begin of the blocks' memory; the workers' begins at 0 */
    size_t pending; /* [n_blocks of all units] int64_t, parts that are not done */
    size_t shared;
    size_t dense; /* begin of the dense copies of K and V (dense.h) */
    size_t size;
} sattn_workspace_layout;

/* Parts of the workspace for a plan that is complete but for it. */
sattn_status sattn_layout_parts(sattn_plan *plan);

/* Where the parts begin, for so many workers and blocks with memory of their own. */
sattn_status sattn_layout_places(sattn_workspace_layout *layout, int64_t n_workers,
                                 int64_t n_blocks);

#endif
