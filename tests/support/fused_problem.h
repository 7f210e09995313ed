/* SPDX-License-Identifier: MIT
 *
 * fused_problem.h: one call of a fused kernel, with operands between guard pages, and its check
 * against the oracle.
 *
 * The value of an element depends on the seed and on its logical place (head of the group, row,
 * column) only. So two problems with the same seed that differ in layout, in neighbouring rows or
 * in keys behind the last hold the same numbers, and their outputs can be compared bit for bit. */
#ifndef SATTN_TESTS_SUPPORT_FUSED_PROBLEM_H
#define SATTN_TESTS_SUPPORT_FUSED_PROBLEM_H

#include "bench/verify/compare.h"
#include "tests/support/buffers.h"
#include "tests/support/harness.h"

typedef enum problem_data {
    PROBLEM_NORMAL, /* q, k, v ~ N(0, 1) */
    PROBLEM_EQUAL,  /* every key is the same */
    PROBLEM_STAIRS, /* scores of stair_height * (key / stair_keys) and a little noise; scale 1 */
    PROBLEM_MINUS_ZERO, /* q, k and v are -0 */
} problem_data;

typedef enum problem_mask { PROBLEM_NO_MASK, PROBLEM_BOOL, PROBLEM_ADDITIVE } problem_mask;

enum { OPERAND_Q, OPERAND_K, OPERAND_V, OPERAND_O, OPERAND_MASK, OPERAND_STATS, OPERAND_COUNT };

/* Zero means the plain case everywhere; see fused_shape_plain. */
typedef struct fused_shape {
    int64_t n_group, n_rows, n_k, d, d_v;
    int64_t i0, i1, j0, j1; /* ranges to compute; Q and K, V hold the canary outside of them */
    float scale;
    bool causal;
    int64_t causal_offset;
    bool partial;
    bool without_statistics;
    bool o_is_q; /* d == d_v */
    problem_data data;
    float stair_height;
    int64_t stair_keys;
    problem_mask mask;
    bool mask_by_group, mask_by_row, mask_by_key; /* false: broadcast */
    int visible_percent;                          /* of the mask's entries */
    /* layout */
    int64_t row_gap[OPERAND_COUNT];         /* elements between the end of a row and the next */
    bool k_repeats, v_repeats, q_is_shared; /* row strides 0; group stride 0 */
    bool heads_in_rows;                     /* heads of the group side by side in each row */
    test_placement placement;
    size_t distance[OPERAND_COUNT]; /* from the flush side, bytes; a multiple of the element size */
} fused_shape;

typedef struct fused_problem {
    fused_shape shape;
    uint64_t seed;
    test_operand operand[OPERAND_COUNT]; /* of STATS: group 0 row_max, group 1 row_sum */
    test_operand scratch;
    sattn_fused_args args;
} fused_problem;

/* One head, statistics on, scale 1/sqrt(d), all rows and keys. */
fused_shape fused_shape_plain(int64_t n_rows, int64_t n_k, int64_t d, int64_t d_v);

/* Random mask, causal limit, gaps, strides and placement for a plain shape. */
void fused_shape_vary(fused_shape *shape, test_random *random);

void fused_problem_make(fused_problem *problem, const test_run *run, const fused_shape *shape,
                        uint64_t seed);
void fused_problem_free(fused_problem *problem);

/* Runs the kernel and checks that it wrote all of its output rows and nothing else, and left the
 * floating-point control state alone. Operands may have been changed since fused_problem_make. */
void fused_problem_run(fused_problem *problem, test_run *run);

/* Keys [j0, *end) are visible to row i, as far as length and causal limit go. */
int64_t fused_key_limit(const fused_shape *shape, int64_t i);

/* Compares output and statistics with the oracle; a partial result is normalised first. */
void fused_problem_verify(const fused_problem *problem, test_run *run);

/* Compares one row that was made from it: o [d_v], and a log-sum-exp. */
void fused_problem_verify_row(const fused_problem *problem, test_run *run, int64_t g, int64_t i,
                              const float *o, double lse, int64_t n_splits);

/* make, run, verify, free. */
void fused_problem_check(test_run *run, const fused_shape *shape, uint64_t seed);

/* Fails unless row (g, i) of `got` and its statistics have the bits of row (g_want, i_want). */
void fused_problem_same_bits(test_run *run, const fused_problem *got, int64_t g, int64_t i,
                             const fused_problem *want, int64_t g_want, int64_t i_want,
                             const char *what);

/* "rows 3..7 of 9, group 2, keys 0..19 of 19, d 8, ..." */
void fused_shape_print(const fused_shape *shape, char *text, size_t size);

#endif
