/* SPDX-License-Identifier: MIT
 *
 * share.h: how the work of a call is cut into tasks and shared among threads.
 *
 * A unit (batch entry, KV head) is cut into blocks of query rows, and its keys into ranges. A row's
 * bits do not depend on its block, but do on the ranges, so that only these are to be kept the same
 * where results must be. All is a pure function of shape and options. */
#ifndef SATTN_DISPATCH_SHARE_H
#define SATTN_DISPATCH_SHARE_H

#include "dispatch/operands.h"
#include "dispatch/registry.h"

enum {
    SATTN_THREADS_MAX = 1024,
    SATTN_BLOCK_ROWS = 128,       /* rows of a block, of all heads of a group together */
    SATTN_BLOCK_ROWS_FEW = 32,    /* where there are too few of these */
    SATTN_BLOCKS_PER_THREAD = 12, /* too few: less than so many for each thread */
    SATTN_SPLIT_KEYS_MIN = 512,   /* keys in a range, where their number is chosen */
    SATTN_ARRAY_CHUNK = 1 << 14,  /* elements of an array to a task */
    SATTN_GRID_BLOCKS = 4,        /* of a grid, to each thread */
    SATTN_REST_TILES_MAX = 16,    /* of a unit; with more, its last rows hardly count */
    SATTN_FILLING_ROWS_MIN = 9,   /* fewer rows of a unit never make it a prefill */
};

/* Multiply-adds of f32 for which a thread is worth its start: about 5 us of a Zen 5 core (gcc 12),
 * where starting and joining a team of two that spins costs 2 us. */
#define SATTN_WORK_PER_THREAD     524288.0
#define SATTN_WORK_PER_EXP        16.0 /* what an exp with its load and store counts as */
#define SATTN_WORK_PER_KV_ELEMENT 4.0  /* reading K and V, which weighs where rows are few */

/* Query heads to a KV head. As mostly they are as many, there is mostly no division. */
static inline int64_t sattn_group_of(const sattn_attention_args *args)
{
    return args->n_q_heads > args->n_kv_heads ? args->n_q_heads / args->n_kv_heads : 1;
}

/* Of features, what counts for prefill kernels is the lesser of both widths. */
static inline int64_t sattn_least_width(const sattn_attention_args *args)
{
    return args->d < args->d_v ? args->d : args->d_v;
}

/* Multiply-adds that a call costs, roughly: what length, causal limit with the default offset, and
 * window leave of the keys. */
double sattn_work_of(const sattn_attention_args *args, sattn_computation computation);

/* Threads of at most `asked` that so much work is worth. */
int sattn_threads_for(double work, int asked);

/* Rows of each head to a block. tile_rows are the rows of the kernel's tile; n_rows those of each
 * head, of all units together. */
int64_t sattn_block_rows(double n_rows, int64_t n_group, int64_t tile_rows, int threads);

/* Rows of each head, the last of a unit, that a few-query kernel computes in less time than the
 * prefill kernel, of so many rows to a tile, whose lanes they would leave empty. */
int64_t sattn_rest_rows(int64_t n_group, int64_t n_q, int64_t tile_rows, int64_t d);

/* What sattn_phase_of says, but that a unit of few rows is a prefill where the prefill kernel, of
 * so many rows to a tile, takes less time: where its last tile, without the rest rows, is full up
 * to an eighth, and more than half of it is needed. tile_rows 0: there is no such kernel. */
sattn_phase sattn_fused_phase(int64_t n_group, int64_t n_q, int64_t tile_rows, int64_t d);

/* Ranges for the keys of n_blocks blocks so that all threads have work; 1 where that is so anyway,
 * or where ranges of n_keys keys would be too short. */
int64_t sattn_chosen_splits(double n_blocks, double n_keys, int threads);

/* A grid of rows and columns, cut into blocks along one of the two. */
typedef struct sattn_grid {
    int64_t block_rows, block_columns; /* at least 1; the last block of an axis may have fewer */
    int64_t n_row_blocks, n_column_blocks;
} sattn_grid;

/* About `n_blocks` blocks of whole tiles, or fewer: of rows where there are tiles of them enough,
 * else of columns. */
sattn_grid sattn_grid_cut(int64_t n_rows, int64_t tile_rows, int64_t n_columns,
                          int64_t tile_columns, int64_t n_blocks);

/* A block of a grid: rows [i0, i1) and columns [j0, j1). */
typedef struct sattn_grid_block {
    int64_t i0, i1, j0, j1;
} sattn_grid_block;

sattn_grid_block sattn_grid_block_of(const sattn_grid *grid, int64_t n_rows, int64_t n_columns,
                                     int64_t index);

/* Keys that a row of the call sees on average, as sattn_work_of counts them. */
double sattn_keys_per_row(const sattn_attention_args *args);

#endif
