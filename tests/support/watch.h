/* SPDX-License-Identifier: MIT
 *
 * watch.h: a kernel's call between operands that it may not touch. */
#ifndef SATTN_TESTS_SUPPORT_WATCH_H
#define SATTN_TESTS_SUPPORT_WATCH_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"

/* A call that writes columns [begin, end) of rows [i0, i1) of operand `output`, of one group. */
typedef struct test_watch {
    test_operand *operand; /* [n_operands], with a name each */
    const char *const *names;
    int n_operands, output;
    int64_t i0, i1, begin, end;
    void *problem; /* for these: */
    void (*call)(void *problem, test_run *run);
    void (*fail)(const void *problem, test_run *run, const char *what);
} test_watch;

/* Calls, and fails where the floating-point control state is another afterwards, an element that
 * was to be written is the canary, or anything else was written. */
void test_watch_call(const test_watch *watch, test_run *run);

#endif
