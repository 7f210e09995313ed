/* SPDX-License-Identifier: MIT
 *
 * claim.h: the error in ULP that a registry row states of its exp, tanh or sigmoid. Kernels are
 * held to it, and bounds of layers (bounded.c) to the most that any row may state. */
#ifndef SATTN_TESTS_SUPPORT_CLAIM_H
#define SATTN_TESTS_SUPPORT_CLAIM_H

#include "tests/support/harness.h"

#define TEST_MOST_ULP 4

/* A group: what the row states lies between correct rounding and TEST_MOST_ULP. */
static inline void test_claim(test_run *run)
{
    const double claim = sattn_kernel_stated_ulp(run->kernel);
    if (test_step(run, TEST_ALWAYS) && !(claim >= 0.5 && claim <= TEST_MOST_ULP))
        test_fail(run, "the row's note '%s' claims no plausible error in ULP", run->kernel->note);
}

#endif
