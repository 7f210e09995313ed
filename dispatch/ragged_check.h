/* SPDX-License-Identifier: MIT
 *
 * ragged_check.h: what can be wrong with a ragged batch, beside what can be with its tensors. */
#ifndef SATTN_DISPATCH_RAGGED_CHECK_H
#define SATTN_DISPATCH_RAGGED_CHECK_H

#include "dispatch/attention_check.h"

/* The starts, and fields that have no meaning here. Pointers are not looked at but for the starts.
 */
sattn_status sattn_ragged_check(const sattn_attention_args *args, const sattn_ragged *ragged);

/* Pointers, values and overlap, for what has passed the check of its shape with these operands. */
sattn_status sattn_ragged_check_data(const sattn_attention_args *args, const sattn_ragged *ragged,
                                     const sattn_operand operands[SATTN_OPERAND_COUNT],
                                     const sattn_workspace *workspace, bool *o_is_q);

#endif
