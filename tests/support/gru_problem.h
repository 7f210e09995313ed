/* SPDX-License-Identifier: MIT
 *
 * gru_problem.h: a gru call between guard pages, filled at random, and its check against the oracle
 * (kernels/ref) with the bound that docs/numerics.md derives. */
#ifndef SATTN_TESTS_SUPPORT_GRU_PROBLEM_H
#define SATTN_TESTS_SUPPORT_GRU_PROBLEM_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"

enum { GRU_GATES_X, GRU_GATES_H, GRU_STATE, GRU_NEXT, GRU_OPERANDS };

typedef struct gru_shape {
    int64_t n_hidden, i0, i1;
    int64_t gap[GRU_OPERANDS]; /* elements behind each row */
    bool repeats[GRU_NEXT];    /* of an input: one row for all, by a stride of 0 */
    bool in_place;             /* the next state takes the place of the state */
    test_placement placement;
    size_t distance[GRU_OPERANDS]; /* bytes from the flush side */
} gru_shape;

typedef struct gru_problem {
    gru_shape shape;
    test_operand operand[GRU_OPERANDS];
} gru_problem;

/* The seven numbers of an element. */
typedef struct gru_numbers {
    float gates_x[3], gates_h[3], h;
} gru_numbers;

/* In [-1, 1). */
float gru_random_part(test_random *random);

/* Fills the operands with numbers of all sizes, most of them such that gates are neither 0 nor 1.
 * Rows outside [i0, i1) are not there. */
void gru_problem_make(gru_problem *problem, const gru_shape *shape, uint64_t seed);
void gru_problem_free(gru_problem *problem);

/* Calls the kernel. */
void gru_problem_run(gru_problem *problem, test_run *run);

/* After a run: every element against the oracle and against itself alone, and nothing else was
 * written. */
void gru_problem_check(gru_problem *problem, test_run *run);

/* One element, as a row of one. */
float gru_alone(const sattn_kernel *kernel, const gru_numbers *numbers);

/* What results of a run's kernel are held to: the errors that the registry states of the functions
 * of the same ISA and tag. */
typedef struct gru_judge {
    test_run *run;
    double sigmoid_ulp, tanh_ulp;
} gru_judge;

gru_judge gru_judge_of(test_run *run);

/* One result, of row i at place j, against the oracle. */
void gru_check_element(const gru_judge *judge, const gru_numbers *of, float got, int64_t i,
                       int64_t j);

/* The same bits, or both NaN. */
bool gru_is_same(float a, float b);

#endif
