/* SPDX-License-Identifier: MIT
 *
 * additive.h: additive alignment with its kernel chosen and its work shared out. */
#ifndef SATTN_DISPATCH_ADDITIVE_H
#define SATTN_DISPATCH_ADDITIVE_H

#include "dispatch/choose.h"
#include "dispatch/share.h"

typedef struct sattn_alignment_plan {
    const sattn_kernel *kernel;
    int workers;
    sattn_grid grid;     /* of queries and keys, of each batch entry */
    size_t scratch_size; /* of a worker */
} sattn_alignment_plan;

/* Shapes, types and strides. */
sattn_status sattn_alignment_check_shape(const sattn_alignment_args *args);

/* The class of a call that has passed that check. */
sattn_shape_class sattn_alignment_class(const sattn_alignment_args *args,
                                        const sattn_options *options);

/* Of arguments that have passed it, of which extents and strides are looked at. */
sattn_status sattn_alignment_plan_make(sattn_alignment_plan *plan, const sattn_alignment_args *args,
                                       const sattn_overrides *overrides,
                                       const sattn_options *options);

/* Bytes of workspace that a run needs. */
size_t sattn_alignment_plan_size(const sattn_alignment_plan *plan);

/* Memory has passed; the workspace is 64-byte aligned. The extents are those of the plan. */
void sattn_alignment_plan_run(const sattn_alignment_plan *plan, const sattn_alignment_args *args,
                              unsigned char *workspace);

#endif
