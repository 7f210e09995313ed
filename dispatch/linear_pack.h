/* SPDX-License-Identifier: MIT
 *
 * linear_pack.h: weights in the order in which one kernel reads them, behind a tag that says which.
 */
#ifndef SATTN_DISPATCH_LINEAR_PACK_H
#define SATTN_DISPATCH_LINEAR_PACK_H

#include "dispatch/linear.h"

/* The kernel that weights were packed for, whether or not it may run here, and the bytes of the
 * pack; refuses what is no pack of this build or not of these extents. */
sattn_status sattn_pack_read(const sattn_linear_weights *weights, const sattn_linear_names *names,
                             const sattn_kernel **kernel, size_t *size);

/* The weights, behind the tag. */
const float *sattn_pack_rows(const void *packed);

#endif
