/* SPDX-License-Identifier: MIT
 *
 * test_softmax.h: the groups of test_softmax.c that are written in a file of their own. */
#ifndef SATTN_TESTS_TEST_SOFTMAX_H
#define SATTN_TESTS_TEST_SOFTMAX_H

#include "tests/support/harness.h"

/* test_softmax_values.c: NaN, infinities, biases at the ends of f32, exp, very long rows */
void test_specials(test_run *run);
void test_all_infinite(test_run *run);
void test_bias_sizes(test_run *run);
void test_known_rows(test_run *run);
void test_weights(test_run *run);
void test_equal_million(test_run *run);

/* test_softmax_alibi.c */
void test_alibi(test_run *run);
void test_alibi_exact(test_run *run);
void test_zero_slopes(test_run *run);
void test_alibi_overflow(test_run *run);

#endif
