/* SPDX-License-Identifier: MIT
 *
 * choose.h: which kernels a plan runs, by its shape, the CPU and what the user asks for. */
#ifndef SATTN_DISPATCH_CHOOSE_H
#define SATTN_DISPATCH_CHOOSE_H

#include "dispatch/plan.h"

/* Sets the phase and the kernels of a plan that is complete but for what follows from them. */
sattn_status sattn_plan_choose(sattn_plan *plan, const sattn_options *options);

/* Sets `names`, a comma list. Apart from the rest since it takes longer than a short call. */
void sattn_plan_name_kernels(sattn_plan *plan);

/* Rows of the tile of the kernel whose tiles blocks of rows are to fill. */
int64_t sattn_plan_tile_rows(const sattn_plan *plan);

/* Rows of each head, the last of a unit with n_q of them, that rest_kernel computes. */
int64_t sattn_plan_rest_rows(const sattn_plan *plan, int64_t n_q);

/* Rows of the tile of the fused prefill kernel that these overrides leave, whichever is named. */
sattn_status sattn_prefill_tile_rows(const sattn_options *options, int64_t *tile_rows);

/* The kernel of one op for these overrides. */
sattn_status sattn_choose_kernel(sattn_op op, sattn_phase phase, const sattn_options *options,
                                 const sattn_kernel **kernel);

#endif
