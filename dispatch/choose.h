/* SPDX-License-Identifier: MIT
 *
 * choose.h: which kernels a call runs: those that the user names; else, for a call of this class,
 * those that the profile found to be the fastest; else the first of the registry's order. */
#ifndef SATTN_DISPATCH_CHOOSE_H
#define SATTN_DISPATCH_CHOOSE_H

#include "dispatch/override.h"
#include "dispatch/plan.h"

/* Sets computation, kernels, key_splits and phase of a plan that is complete but for what follows
 * from them. `is_open`: nothing asks for the computation that the plan has, and an attention may
 * as well be of the other one. */
sattn_status sattn_plan_choose(sattn_plan *plan, bool is_open, const sattn_overrides *overrides,
                               const sattn_options *options);

/* Sets `names`, a comma list. Apart from the rest since it takes longer than a short call. */
void sattn_plan_name_kernels(sattn_plan *plan);

/* Rows of the tile of the kernel whose tiles blocks of rows are to fill. */
int64_t sattn_plan_tile_rows(const sattn_plan *plan);

/* Rows of each head, the last of a unit with n_q of them, that rest_kernel computes. */
int64_t sattn_plan_rest_rows(const sattn_plan *plan, int64_t n_q);

/* The kernel for a call of a class that is no attention and no step of one. */
sattn_status sattn_choose_apart(const sattn_shape_class *shape_class,
                                const sattn_overrides *overrides, const sattn_kernel **kernel,
                                sattn_decision *decision);

/* The kernel of one op that is asked for by name, else the first of the registry's order for any
 * number of rows of the phase. */
sattn_status sattn_choose_kernel(sattn_op op, sattn_phase phase, const sattn_overrides *overrides,
                                 const sattn_kernel **kernel);

/* Rows of the tile of the first fused prefill kernel, whichever is named; 0: there is none. */
int64_t sattn_prefill_tile_rows(const sattn_overrides *overrides);

/* Threads of a call's class. Where the key ranges are asked for, as in every layer, results are not
 * to depend on the number of threads, nor then may the choice: it is that of one. */
int sattn_threads_of_class(const sattn_options *options);

/* The class that a call of the plan is of. */
sattn_shape_class sattn_plan_class(const sattn_plan *plan, const sattn_options *options);

/* What the profile has for such a call, or NULL. */
const sattn_profile_entry *sattn_profiled_entry(const sattn_overrides *overrides,
                                                const sattn_shape_class *shape_class);

#endif
