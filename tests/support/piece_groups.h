/* SPDX-License-Identifier: MIT
 *
 * piece_groups.h: the groups that the tests of qk, softmax and av share. Each takes the op from the
 * kernel, and its sizes from the kernel's registry row: tile - 1, tile, tile + 1, 2 tile + 1. */
#ifndef SATTN_TESTS_SUPPORT_PIECE_GROUPS_H
#define SATTN_TESTS_SUPPORT_PIECE_GROUPS_H

#include "tests/support/harness.h"
#include "tests/support/piece_problem.h"

/* A plain shape of the kernel's op. */
piece_shape piece_plain_for(const test_run *run, int64_t n_rows, int64_t n_keys,
                            int64_t n_features);

/* A check with the step's seed, of the shape as it is and with all the rest at random. */
void piece_check_step(test_run *run, const piece_shape *shape);
void piece_check_varied(test_run *run, piece_shape shape);

/* piece_sizes.c */
void piece_test_tiles(test_run *run);
void piece_test_rows(test_run *run);
void piece_test_keys(test_run *run);
void piece_test_features(test_run *run); /* qk, av */
void piece_test_primes(test_run *run);
void piece_test_groups(test_run *run);
void piece_test_layouts(test_run *run);
void piece_test_ranges(test_run *run);
void piece_test_empty(test_run *run);
void piece_test_anything(test_run *run);
void piece_test_fp_state(test_run *run);

/* piece_bits.c: equal bits where the contract promises them */
void piece_test_rows_alone(test_run *run);
void piece_test_alignment(test_run *run);
void piece_test_keys_behind(test_run *run); /* softmax, av */
void piece_test_same_keys(test_run *run);   /* softmax, av */

/* piece_visible.c: softmax and av */
void piece_test_causal(test_run *run);
void piece_test_windows(test_run *run);
void piece_test_masks(test_run *run);
void piece_test_combined(test_run *run);
void piece_test_one_visible(test_run *run);
void piece_test_hidden_garbage(test_run *run);

#endif
