/* SPDX-License-Identifier: MIT
 *
 * piece_problem.h: one call of a qk, softmax or av kernel, with operands between guard pages, and
 * its check against the oracle.
 *
 * The value of an element depends on the seed and on its logical place (head of the group, row,
 * column) only. So two problems with the same seed that differ in layout, in neighbouring rows or
 * in keys behind the last hold the same numbers, and their outputs can be compared bit for bit. */
#ifndef SATTN_TESTS_SUPPORT_PIECE_PROBLEM_H
#define SATTN_TESTS_SUPPORT_PIECE_PROBLEM_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"
#include "tests/support/piece_shape.h"

typedef struct piece_problem {
    piece_shape shape;
    uint64_t seed;
    piece_keys keys;                      /* those that K and V have: piece_keys_of_call */
    test_operand operand[PIECE_OPERANDS]; /* of STATS: group 0 row_max, group 1 row_sum */
    test_operand scratch;
    union {
        sattn_qk_args qk;
        sattn_softmax_args softmax;
        sattn_av_args av;
    } args;
} piece_problem;

void piece_problem_make(piece_problem *problem, const test_run *run, const piece_shape *shape,
                        uint64_t seed);
void piece_problem_free(piece_problem *problem);

/* Runs the kernel and checks that it wrote all of its output and nothing else, and left the
 * floating-point control state alone. Operands may have been changed since piece_problem_make. */
void piece_problem_run(piece_problem *problem, test_run *run);

/* Compares the output with the oracle. */
void piece_problem_verify(const piece_problem *problem, test_run *run);

/* make, run, verify, free. */
void piece_problem_check(test_run *run, const piece_shape *shape, uint64_t seed);

/* Fails the test with `what` and the problem's shape. */
void piece_problem_fail(const piece_problem *problem, test_run *run, const char *what);

/* The row that the call wrote: the output, or the input where it is in place. */
float *piece_out_row(const piece_problem *problem, int64_t g, int64_t i);

/* Whether the row sees the key, mask included. */
bool piece_is_visible(const piece_problem *problem, int64_t g, int64_t i, int64_t j);

/* To the bit. */
bool piece_is_same(float a, float b);

/* One row in each of two problems, whose results ought to have the same bits. */
typedef struct piece_pair {
    const piece_problem *got, *want;
    int64_t g_got, g_want;
} piece_pair;

/* Fails unless row i of `got`, columns [begin, end), and its statistics have the bits of `want`. */
void piece_same_bits(test_run *run, const piece_pair *pair, int64_t i, int64_t begin, int64_t end,
                     const char *what);

/* The same for every row that `got` computed, and every column that it wrote. */
void piece_same_bits_all(test_run *run, const piece_problem *got, const piece_problem *want,
                         const char *what);

#endif
