/* SPDX-License-Identifier: MIT
 *
 * test_semantics.h: the parts of test_semantics.c. */
#ifndef SATTN_TESTS_TEST_SEMANTICS_H
#define SATTN_TESTS_TEST_SEMANTICS_H

#include "tests/support/harness.h"

/* test_semantics_exact.c: cases worked out by hand */
void exact_alibi(test_run *run);
void exact_softcap(test_run *run);
void exact_sinks(test_run *run);
void exact_sink_values(test_run *run);
void exact_limits(test_run *run);

#endif
