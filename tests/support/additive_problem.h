/* SPDX-License-Identifier: MIT
 *
 * additive_problem.h: one call of an additive kernel, with operands between guard pages, and its
 * check against the oracle.
 *
 * The value of an element depends on the seed and on its logical place (operand, row, feature)
 * only. So two problems with the same seed that differ in layout or in what they compute hold the
 * same numbers, and their scores can be compared bit for bit. */
#ifndef SATTN_TESTS_SUPPORT_ADDITIVE_PROBLEM_H
#define SATTN_TESTS_SUPPORT_ADDITIVE_PROBLEM_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"

typedef enum additive_data {
    ADDITIVE_NORMAL, /* N(0, 1) */
    ADDITIVE_EQUAL,  /* every query and every key is the same */
    ADDITIVE_WIDE,   /* sums of every size from where tanh is its argument to where it is 1 */
    ADDITIVE_TINY,   /* sums near and below FLT_MIN */
    ADDITIVE_ZEROS,  /* +0 and -0 */
    ADDITIVE_DATA,
} additive_data;

enum { ADDITIVE_Q, ADDITIVE_K, ADDITIVE_V, ADDITIVE_S, ADDITIVE_OPERANDS };

/* Zero means the plain case everywhere; see additive_shape_plain. */
typedef struct additive_shape {
    int64_t n_rows, n_keys, n_features;
    int64_t i0, i1, j0, j1; /* to compute; Q and K have only these rows */
    additive_data data;
    int64_t row_gap[ADDITIVE_OPERANDS]; /* elements between the end of a row and the next */
    bool q_repeats, k_repeats;          /* strides of 0 */
    test_placement placement;
    size_t distance[ADDITIVE_OPERANDS]; /* from the flush side, bytes; a multiple of 4 */
} additive_shape;

/* All rows and keys, dense. */
additive_shape additive_shape_plain(int64_t n_rows, int64_t n_keys, int64_t n_features);

/* Random data, gaps, strides and placement. */
void additive_shape_vary(additive_shape *shape, test_random *random);

typedef struct additive_problem {
    additive_shape shape;
    uint64_t seed;
    test_operand operand[ADDITIVE_OPERANDS];
    test_operand scratch;
    sattn_additive_args args;
} additive_problem;

void additive_problem_make(additive_problem *problem, const test_run *run,
                           const additive_shape *shape, uint64_t seed);
void additive_problem_free(additive_problem *problem);

/* Runs the kernel and checks that it wrote all of its scores and nothing else, and left the
 * floating-point control state alone. Operands may have been changed since additive_problem_make.
 */
void additive_problem_run(additive_problem *problem, test_run *run);

/* Compares the scores with the oracle. */
void additive_problem_verify(const additive_problem *problem, test_run *run);

/* make, run, verify, free. */
void additive_problem_check(test_run *run, const additive_shape *shape, uint64_t seed);

/* Fails the test with `what` and the problem's shape. */
void additive_problem_fail(const additive_problem *problem, test_run *run, const char *what);

/* Scores of row i, that of key 0 first. */
float *additive_scores(const additive_problem *problem, int64_t i);

/* Fails unless every score that `got` computed has the bits that it has in `want`. */
void additive_same_bits(test_run *run, const additive_problem *got, const additive_problem *want,
                        const char *what);

#endif
