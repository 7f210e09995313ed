/* SPDX-License-Identifier: MIT
 *
 * sample.h: which rows of a step's output are verified before it is timed: of a few heads the first
 * and the last row, the edges of query tiles and random ones; and all of it is to be finite. */
#ifndef SATTN_BENCH_OPS_SAMPLE_H
#define SATTN_BENCH_OPS_SAMPLE_H

#include "bench/ops/ops.h"
#include "kernels/contract.h"

#include <stdint.h>

enum {
    SATTN_SAMPLED_HEADS = 4,
    SATTN_SAMPLED_ROWS = 32, /* random ones per head */
    SATTN_SAMPLE_SEED = 7,
};

/* Compares one row and adds to the result. */
typedef void sattn_sample_fn(const sattn_attention_args *args, sattn_verify_place at,
                             sattn_verify_result *result);

/* The rows that a variant is to be verified in. False: no memory. */
bool sattn_sample_variant(const sattn_attention_args *args, const sattn_variant *variant,
                          sattn_sample_fn *compare, sattn_verify_result *result);

/* Counts n numbers of one row, and fails those that are not finite. */
void sattn_sample_scan(const float *row, int64_t n, sattn_verify_place at,
                       sattn_verify_result *result);

/* The same of all outputs of a call of one head. */
void sattn_sample_scan_outputs(const sattn_attention_args *args, sattn_verify_result *result);

/* The same of all scores of keys that exist. */
void sattn_sample_scan_scores(const sattn_attention_args *args, sattn_verify_result *result);

/* Keys of a batch entry that exist. */
int64_t sattn_sample_keys(const sattn_attention_args *args, int64_t batch);

/* What a row sees, as kernels are told; head 0 of a group of one, so that g is 0. */
sattn_visibility sattn_sample_visibility(const sattn_attention_args *args, int64_t batch,
                                         int64_t head);

/* Row `at` of the tensors of scores, and rows of a view. */
const float *sattn_sample_scores_in(const sattn_attention_args *args, sattn_verify_place at);
const float *sattn_sample_scores(const sattn_attention_args *args, sattn_verify_place at);
const float *sattn_sample_view(const sattn_view *view, int64_t batch, int64_t head, int64_t row);
/* KV head that a query head reads. */
int64_t sattn_sample_kv_head(const sattn_attention_args *args, int64_t head);

#endif
