/* SPDX-License-Identifier: MIT
 *
 * attend.h: a work unit by a fused kernel: key splits and their merge, sinks, repair, log-sum-exp.
 */
#ifndef SATTN_DISPATCH_ATTEND_H
#define SATTN_DISPATCH_ATTEND_H

#include "dispatch/rows.h"

/* The last n_rest rows by the few-query kernel, the others by the plan's. */
void sattn_attend_rows(const sattn_plan *plan, const sattn_fused_args *args, int64_t n_rest);

/* Cuts the keys into `splits` ranges. */
void sattn_attend(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                  const sattn_unit_memory *memory, bool o_is_q);

/* For a plan whose key ranges are tasks of their own: range `part` of a block, and the rest of the
 * work where it is the block's last to be done. */
void sattn_attend_part(const sattn_plan *plan, const sattn_unit *rows, int64_t part,
                       const sattn_unit_memory *memory, bool o_is_q);

/* Before its first part. */
void sattn_attend_expect_parts(const sattn_plan *plan, unsigned char *workspace, int64_t n_blocks);

#endif
