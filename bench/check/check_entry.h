/* SPDX-License-Identifier: MIT
 *
 * check_entry.h: the outputs of one variant against the oracle. */
#ifndef SATTN_BENCH_CHECK_CHECK_ENTRY_H
#define SATTN_BENCH_CHECK_CHECK_ENTRY_H

#include "bench/check/check_problem.h"

/* Whether an entry of this variant on this problem says anything that another one does not. */
bool sattn_check_applies(const sattn_check_variant *variant, const sattn_check_problem *problem,
                         sattn_input_kind kind);

/* A whole attention, or one of its steps. */
void sattn_check_entry_attention(const sattn_check_variant *variant, sattn_check_problem *problem,
                                 sattn_check_entry *entry);

/* exp, tanh or sigmoid of x[n], into y. */
void sattn_check_entry_array(const sattn_check_variant *variant, const float *x, float *y,
                             int64_t n, sattn_check_entry *entry);

#endif
