/* SPDX-License-Identifier: MIT
 *
 * test_fused.h: the groups of test_fused.c that are written in files of their own. */
#ifndef SATTN_TESTS_TEST_FUSED_H
#define SATTN_TESTS_TEST_FUSED_H

#include "tests/support/harness.h"

/* test_fused_bits.c: equal bits where the contract promises them */
void test_rows_alone(test_run *run);
void test_large_memory(test_run *run);
void test_rows_together(test_run *run);
void test_near_and_far(test_run *run);
void test_followed_rows(test_run *run);
void test_hidden_keys_behind(test_run *run);
void test_alignment(test_run *run);
void test_output_on_query(test_run *run);
void test_same_keys(test_run *run);
void test_cut_keys(test_run *run);
void test_zero_slopes(test_run *run);

/* test_fused_visible.c: windows; all that hides keys and changes scores together */
void test_windows(test_run *run);
void test_combined(test_run *run);

/* test_fused_bias.c: softcap and ALiBi */
void test_softcap(test_run *run);
void test_capped_infinities(test_run *run);
void test_alibi(test_run *run);
void test_alibi_exact(test_run *run);
void test_alibi_overflow(test_run *run);

/* test_fused_specials.c: NaN, infinities, hidden garbage, control state, exp, long rows */
void test_specials(test_run *run);
void test_hidden_garbage(test_run *run);
void test_fp_state(test_run *run);
void test_weights(test_run *run);
void test_long_rows(test_run *run);

#endif
