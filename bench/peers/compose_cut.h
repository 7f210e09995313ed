/* SPDX-License-Identifier: MIT
 *
 * compose_cut.h: what a way makes of a call: matrices, blocks of their rows, and strides. */
#ifndef SATTN_BENCH_PEERS_COMPOSE_CUT_H
#define SATTN_BENCH_PEERS_COMPOSE_CUT_H

#include "bench/peers/compose.h"

/* `heads` matrices of `rows` rows per batch entry. */
typedef struct sattn_compose_cut {
    int64_t heads, heads_per_kv; /* matrices, and how many of them share K and V */
    int64_t heads_apart;         /* query heads from one matrix to the next */
    int64_t rows, block, blocks;
} sattn_compose_cut;

sattn_compose_cut sattn_compose_cut_of(const sattn_compose *compose,
                                       const sattn_attention_args *args);

/* From one row of a matrix to the next, given the strides of the tensor: stacked rows of single
 * queries are a head apart. */
int64_t sattn_compose_row_stride(const sattn_compose *compose, const sattn_attention_args *args,
                                 int64_t stride_h, int64_t stride_t);

/* From one row of a block's scores to the next. With a gap rows begin on a line each, and not a
 * multiple of the page apart: those of one column would share a cache set. */
int64_t sattn_compose_score_stride(const sattn_compose *compose, int64_t n_keys);

#endif
