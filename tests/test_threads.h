/* SPDX-License-Identifier: MIT
 *
 * test_threads.h: the parts of test_threads.c. */
#ifndef SATTN_TESTS_TEST_THREADS_H
#define SATTN_TESTS_TEST_THREADS_H

#include "tests/support/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the above */
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* test_threads_calls.c: other calls, and other ways to call */
void threads_steps(void **state);
void threads_arrays(void **state);
void threads_control_state(void **state);
void threads_refusals(void **state);
void threads_of_the_user(void **state);
void threads_one_plan(void **state);
void threads_nested(void **state);
void threads_small_stack(void **state);
void threads_after_fork(void **state);
void threads_after_fork_from_the_start(void **state);

/* test_threads_dense.c: dense copies of K and V */
void threads_dense(void **state);
void threads_dense_ragged(void **state);

#endif
