/* SPDX-License-Identifier: MIT
 *
 * fetch_rule.h: what kernels/fused/fused_decode_fetch.h decides, as a function that a seeded defect
 * can take the place of. */
#ifndef SATTN_TESTS_SUPPORT_FETCH_RULE_H
#define SATTN_TESTS_SUPPORT_FETCH_RULE_H

#include "kernels/fused/fused_decode_fetch.h"

/* For a strip of n_rows rows that see all keys, in a kernel that takes K in order for one row. */
fused_decode_fetch test_fetch_of(const sattn_fused_args *args, int n_rows);

#endif
