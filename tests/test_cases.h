/* SPDX-License-Identifier: MIT
 *
 * test_cases.h: helpers of the catalogue of failures that others met, as tests through the public
 * call with one kernel forced. A kernel of qk, softmax or av runs in a chain with kernels of its
 * own ISA. Cases are named N01, N02, .. as in docs/cases.md. */
#ifndef SATTN_TESTS_TEST_CASES_H
#define SATTN_TESTS_TEST_CASES_H

#include "dispatch/simdattn.h"
#include "tests/support/harness.h"

/* A call on dense tensors, scale 1. */
sattn_attention_args case_args(int64_t n_q, int64_t n_k, int64_t d, int64_t d_v, const float *q,
                               const float *k, const float *v, float *o);

/* Sets the strides of dense tensors from the extents. */
void case_dense(sattn_attention_args *args);

/* The mask [n_q, n_k] of every batch entry and head. */
sattn_mask case_mask_bool(const sattn_attention_args *args, const uint8_t *mask);
sattn_mask case_mask_add(const sattn_attention_args *args, const float *mask);

/* The run's kernel forced, and the plan that has its op. */
sattn_options case_options(const test_run *run);
bool case_is_chain(const test_run *run);

/* Runs the call with the run's kernel; anything but SATTN_OK is a failure named `what`. */
bool case_attend(test_run *run, const char *what, const sattn_attention_args *args);

/* The status of the call, not judged. */
sattn_status case_status(test_run *run, const sattn_attention_args *args);

/* Each fails with `what` and the index of the first element that is wrong. */
void case_expect_near(test_run *run, const char *what, const float *got, const double *want,
                      int64_t n, double tolerance);
void case_expect_same(test_run *run, const char *what, const float *got, const float *want,
                      int64_t n);
void case_expect_nan(test_run *run, const char *what, const float *got, int64_t n);
void case_expect_plus_zero(test_run *run, const char *what, const float *got, int64_t n);

void case_fill(float *to, int64_t n, float value);
void case_fill_normal(float *to, int64_t n, uint64_t seed, uint64_t stream);

/* Output and log-sum-exp against the oracle. The call must have left q as it was. */
void case_expect_right(test_run *run, const char *what, const sattn_attention_args *args,
                       int64_t n_splits);

/* test_cases_visible.c: causal limits, windows, masks, long rows */
void case_causal_alignment(test_run *run);
void case_chunked_prefill(test_run *run);
void case_mask_polarity(test_run *run);
void case_mask_broadcast(test_run *run);
void case_long_rows(test_run *run);
void case_windows(test_run *run);

/* test_cases_bias.c */
void case_alibi(test_run *run);
void case_sinks(test_run *run);

/* test_cases_scores.c: softcap, scores at each stage, output in place of the queries */
void case_softcap(test_run *run);
void case_scores_stages(test_run *run);
void case_in_place(test_run *run);

/* test_cases_layout.c: memory, strides, sizes, batches and splits */
void case_over_read(test_run *run);
void case_unaligned(test_run *run);
void case_strided(test_run *run);
void case_far_strides(test_run *run);
void case_size_overflow(test_run *run);
void case_same_row_in_batches(test_run *run);
void case_splits(test_run *run);
void case_merge(test_run *run);

#endif
