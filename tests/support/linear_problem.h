/* SPDX-License-Identifier: MIT
 *
 * linear_problem.h: one call of a linear kernel, with operands between guard pages, and its check
 * against the oracle.
 *
 * The value of an element depends on the seed and on its logical place (operand, row, feature)
 * only. So two problems with the same seed that differ in layout, in what they compute or in
 * whether W is packed hold the same numbers, and their outputs can be compared bit for bit. W is
 * packed by what contract.h says, for the tile that the kernel's registry row has. */
#ifndef SATTN_TESTS_SUPPORT_LINEAR_PROBLEM_H
#define SATTN_TESTS_SUPPORT_LINEAR_PROBLEM_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"

typedef enum linear_data {
    LINEAR_NORMAL, /* N(0, 1) */
    LINEAR_EQUAL,  /* every row of X, every row of W and every bias is the same */
    LINEAR_WIDE,   /* of sizes 2^-20 .. 2^20 */
    LINEAR_TINY,   /* products near and below FLT_MIN */
    LINEAR_ZEROS,  /* +0 and -0 */
    LINEAR_DATA,
} linear_data;

enum { LINEAR_X, LINEAR_W, LINEAR_BIAS, LINEAR_Y, LINEAR_OPERANDS };

/* Zero means the plain case everywhere; see linear_shape_plain. */
typedef struct linear_shape {
    int64_t n_rows, n_out, n_in;
    int64_t i0, i1, o0, o1; /* to compute; X, W and the bias have only these */
    bool is_packed, has_bias, adds;
    linear_data data;
    int64_t row_gap[LINEAR_OPERANDS]; /* elements between the end of a row and the next */
    bool x_repeats, w_repeats;        /* strides of 0; the second says nothing of packed W */
    test_placement placement;
    size_t distance[LINEAR_OPERANDS]; /* from the flush side, bytes; a multiple of 4 */
} linear_shape;

/* All rows and outputs, dense, W as it lies, no bias. */
linear_shape linear_shape_plain(int64_t n_rows, int64_t n_out, int64_t n_in);

/* Random data, gaps, strides, placement, bias, `adds` and packing. */
void linear_shape_vary(linear_shape *shape, test_random *random);

typedef struct linear_problem {
    linear_shape shape;
    const sattn_kernel *kernel;
    uint64_t seed;
    test_operand operand[LINEAR_OPERANDS]; /* of packed W: a row per block */
    test_operand scratch;
    float *y_before; /* [n_rows][n_out] what the last call found in Y */
    /* Where `adds`: a number that calls are to find in Y, at row y_i and output y_o; 0: none. */
    float y_special;
    int64_t y_i, y_o;
    sattn_linear_args args;
} linear_problem;

/* o0 of packed W is moved down to the start of its block. */
void linear_problem_make(linear_problem *problem, const test_run *run, const linear_shape *shape,
                         uint64_t seed);
void linear_problem_free(linear_problem *problem);

/* An element of W, packed or not; o within [o0, o1). */
float *linear_weight(const linear_problem *problem, int64_t o, int64_t k);

/* Runs the kernel and checks that it wrote all of its outputs and nothing else, and left the
 * floating-point control state alone. Operands may have been changed since linear_problem_make. */
void linear_problem_run(linear_problem *problem, test_run *run);

/* Compares the outputs with the oracle. */
void linear_problem_verify(const linear_problem *problem, test_run *run);

/* make, run, verify, free. */
void linear_problem_check(test_run *run, const linear_shape *shape, uint64_t seed);

/* Fails the test with `what` and the problem's shape. */
void linear_problem_fail(const linear_problem *problem, test_run *run, const char *what);

/* Outputs of row i, that of output 0 first. */
float *linear_outputs(const linear_problem *problem, int64_t i);

/* To the bit. */
bool linear_is_same(float a, float b);

/* Fails unless every output that `got` computed has the bits that it has in `want`. */
void linear_same_bits(test_run *run, const linear_problem *got, const linear_problem *want,
                      const char *what);

#endif
