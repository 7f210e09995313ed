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
#include "tests/support/fused_shape.h"
#include "tests/support/harness.h"

typedef struct fused_problem {
    fused_shape shape;
    uint64_t seed;
    fused_keys keys;                     /* those that K and V have: fused_keys_of_call */
    test_operand operand[OPERAND_COUNT]; /* of STATS: group 0 row_max, group 1 row_sum */
    test_operand scratch;
    sattn_fused_args args;
} fused_problem;

void fused_problem_make(fused_problem *problem, const test_run *run, const fused_shape *shape,
                        uint64_t seed);
void fused_problem_free(fused_problem *problem);

/* Runs the kernel and checks that it wrote all of its output rows and nothing else, and left the
 * floating-point control state alone. Operands may have been changed since fused_problem_make. */
void fused_problem_run(fused_problem *problem, test_run *run);

/* Fails the test with `what` and the problem's shape. */
void fused_problem_fail(const fused_problem *problem, test_run *run, const char *what);

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

#endif
