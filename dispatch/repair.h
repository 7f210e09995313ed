/* SPDX-License-Identifier: MIT
 *
 * repair.h: undoes what hidden non-finite V rows do to an output.
 *
 * A hidden key has weight 0, but 0 * NaN is NaN, and kernels carry no code against it. So where
 * some key was hidden and both the output and V hold a non-finite value, the same kernel runs again
 * on a copy of V in which non-finite values are 0, and its results replace those elements to which
 * no visible key brings a non-finite V. */
#ifndef SATTN_DISPATCH_REPAIR_H
#define SATTN_DISPATCH_REPAIR_H

#include "kernels/contract.h"

/* True where a key of this unit's range is hidden from some row by causal limit or mask. */
bool sattn_unit_may_hide(const sattn_fused_args *unit);

/* True where the unit's output rows hold a NaN or an infinity. */
bool sattn_unit_output_is_suspect(const sattn_fused_args *unit);

/* Lists in `keys` [n_k], rising, the keys whose V row holds a non-finite value; returns how many.
 */
int64_t sattn_list_non_finite_keys(const sattn_fused_args *unit, int64_t *keys);

/* v_copy [n_k][d_v] = V with 0 for every non-finite value. */
void sattn_copy_finite(const sattn_fused_args *unit, float *v_copy);

/* Takes elements of `repaired` [n_group][n_q][d_v] into the unit's output, as said above, given the
 * list of keys; elements of `repaired` that are not taken are overwritten. */
void sattn_take_repaired(const sattn_fused_args *unit, float *repaired, const int64_t *keys,
                         int64_t n_keys);

#endif
