/* SPDX-License-Identifier: MIT
 *
 * call.h: one call of sattn_attention made from a description, with every operand between guard
 * pages, and its check.
 *
 * The value of an element depends on the seed and on its logical place only, so two calls of one
 * seed hold the same numbers, however they lie in memory. What no query of a call may see can be
 * filled with NaN and infinities. */
#ifndef SATTN_TESTS_SUPPORT_CALL_H
#define SATTN_TESTS_SUPPORT_CALL_H

#include "dispatch/simdattn.h"
#include "tests/support/buffers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum call_layout {
    CALL_DENSE,      /* [batch][heads][rows][features] */
    CALL_ROWS_FIRST, /* [batch][rows][heads][features] */
    CALL_GAPS,       /* dense with gaps after each row, head and batch entry */
    CALL_PACKED,     /* Q, K and V side by side in the rows of one buffer */
    CALL_PACKED_ALL, /* O too */
    CALL_ONE_HEAD,   /* all KV heads are the same memory: head stride 0 */
    CALL_ONE_ROW,    /* all rows of Q and K are the same memory: row stride 0 */
} call_layout;

typedef enum call_scale {
    CALL_SCALE_DEFAULT,
    CALL_SCALE_GIVEN,
    CALL_SCALE_NEGATIVE,
    CALL_SCALE_ZERO
} call_scale;

typedef enum call_mask {
    CALL_MASK_NONE,
    CALL_MASK_BOOL,
    CALL_MASK_ADDITIVE,
    CALL_MASK_SPECIAL, /* additive, with NaN and +inf here and there */
} call_mask;

typedef enum call_sinks {
    CALL_SINKS_NONE,
    CALL_SINKS_FINITE,
    CALL_SINKS_SOME,    /* -inf, which is none, for every other head */
    CALL_SINKS_LARGE,   /* far above and far below the scores */
    CALL_SINKS_SPECIAL, /* NaN and +inf for some heads */
} call_sinks;

typedef enum call_offset {
    CALL_OFFSET_NONE,
    CALL_OFFSET_ZERO,
    CALL_OFFSET_NEGATIVE,
    CALL_OFFSET_POSITIVE,
    CALL_OFFSET_MIXED, /* another kind for each batch entry */
    CALL_OFFSET_MOST,  /* INT64_MAX and just below */
    CALL_OFFSET_LEAST, /* INT64_MIN and just above */
} call_offset;

typedef enum call_valid {
    CALL_VALID_NONE,
    CALL_VALID_LESS,
    CALL_VALID_MIXED, /* all, none, one */
    CALL_VALID_ZERO,
} call_valid;

typedef enum call_data {
    CALL_NORMAL,
    CALL_LARGE,     /* scores eight times as large */
    CALL_MINUS_INF, /* Q positive, K -inf in one feature of every other row */
    CALL_NAN_QUERY, /* NaN in a few rows of Q */
} call_data;

typedef enum call_poison {
    CALL_CLEAN,
    CALL_POISON_HIDDEN,  /* NaN and infinities in the K and V rows that no query sees */
    CALL_POISON_VISIBLE, /* and in single elements of V that some queries see */
} call_poison;

/* Zero is the plain case but for the extents. */
typedef struct call_shape {
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
    int64_t window_left, window_right;
    call_layout layout;
    call_scale scale;
    float softcap;
    call_mask mask;
    unsigned mask_axes; /* bit per axis (1: batch .. 8: keys): full, else broadcast */
    call_sinks sinks;
    call_offset offset;
    call_valid valid;
    sattn_scores_stage stage;
    call_data data;
    call_poison poison;
    test_placement placement;
    bool in_place; /* o is q; d == d_v */
    bool mask_gaps, alibi, causal, has_window, lse, scores;
} call_shape;

enum { CALL_Q, CALL_K, CALL_V, CALL_O, CALL_MASK, CALL_LSE, CALL_SCORES, CALL_OPERANDS };
enum { CALL_HEADS_MAX = 160, CALL_BATCH_MAX = 64 };

typedef struct call {
    call_shape shape;
    uint64_t seed;
    sattn_attention_args args;
    test_operand memory[CALL_OPERANDS]; /* packed tensors are in that of Q */
    float slopes[CALL_HEADS_MAX], sinks[CALL_HEADS_MAX];
    int64_t offsets[CALL_BATCH_MAX], n_valid[CALL_BATCH_MAX];
    bool is_sampled;   /* call_verify looks at some rows of some heads only */
    char failure[600]; /* what the last check found */
} call;

void call_make(call *c, const call_shape *shape, uint64_t seed);
void call_free(call *c);

/* All operands as call_make left them, outputs spoilt. */
void call_reset(call *c);

/* Each returns whether all is well, else c->failure says what is not.
 *
 * call_run runs the call: it succeeds, writes all elements of its outputs and no byte beside them,
 * and leaves the floating-point control state alone. call_check looks at the same of a call that
 * was made by other means. */
bool call_run(call *c, const sattn_options *options);
bool call_check(call *c);

/* The same in a workspace of exactly the size asked for, between guard pages, filled with NaN. */
bool call_run_in_workspace(call *c, const sattn_options *options);

/* Output, log-sum-exp and scores against the oracle. n_splits are the partial results that were
 * merged; 0: a chain made them. */
bool call_verify(call *c, int64_t n_splits);

/* Whether every element of the outputs has the bits that it has in `want`, a call of the same
 * extents. */
bool call_same_bits(call *c, const call *want);

/* Whether query i of head h sees the key, mask included. */
bool call_sees(const call *c, int64_t b, int64_t h, int64_t i, int64_t j);

/* Row i of head h of CALL_Q, CALL_K or CALL_V. */
float *call_input_row(const call *c, int tensor, int64_t b, int64_t h, int64_t i);

/* Rows of the outputs, of batch entry b and query head h; their log-sum-exp and scores. */
float *call_o_row(const call *c, int64_t b, int64_t h, int64_t i);
float *call_lse_at(const call *c, int64_t b, int64_t h, int64_t i);
float *call_scores_row(const call *c, int64_t b, int64_t h, int64_t i);

/* call_scores.c: the scores of the stage that the call returns, against double. */
bool call_verify_scores(call *c);

/* One line of all that is not plain. */
void call_print(const call_shape *shape, char *text, size_t size);

#endif
