/* SPDX-License-Identifier: MIT
 *
 * linear.h: Y = X W^T + b with its kernel chosen and its work shared out, for sattn_linear and for
 * the cells that are made of it. */
#ifndef SATTN_DISPATCH_LINEAR_H
#define SATTN_DISPATCH_LINEAR_H

#include "dispatch/choose.h"
#include "dispatch/share.h"
#include "dispatch/tensors.h"

/* What the fields of weights are called in messages. */
typedef struct sattn_linear_names {
    const char *n_in, *n_out, *w, *w_data, *bias, *packed;
} sattn_linear_names;

extern const sattn_linear_names sattn_linear_plain_names;

enum { SATTN_LINEAR_TENSORS = 2 }; /* that weights have at most */

typedef struct sattn_linear_plan {
    const sattn_linear_weights *weights;
    const sattn_kernel *kernel;
    sattn_decision decision;
    const float *packed; /* without its tag, or NULL */
    size_t packed_size;  /* bytes, with the tag */
    int64_t n_rows;
    int workers;
    sattn_grid grid;     /* of rows and outputs */
    size_t scratch_size; /* of a worker */
} sattn_linear_plan;

/* Extents, type and strides of weights, and the number of rows. */
sattn_status sattn_linear_check_shape(const sattn_linear_weights *weights,
                                      const sattn_linear_names *names, int64_t n_rows);

/* The same of weights that are to be packed, whatever stands in `packed`. */
sattn_status sattn_linear_check_unpacked(const sattn_linear_weights *weights, int64_t n_rows);

/* The memory of weights, of which those packed are so many bytes; returns how many tensors it is.
 */
int sattn_linear_tensors_of(const sattn_linear_weights *weights, const sattn_linear_names *names,
                            size_t packed_size, sattn_tensor tensors[SATTN_LINEAR_TENSORS]);

/* The class of a call whose shape has passed. */
sattn_shape_class sattn_linear_class(const sattn_linear_weights *weights, int64_t n_rows,
                                     bool is_packed, const sattn_options *options);

/* Of weights and rows that have passed. Reads the tag of packed weights. */
sattn_status sattn_linear_plan_make(sattn_linear_plan *plan, const sattn_linear_weights *weights,
                                    const sattn_linear_names *names, int64_t n_rows,
                                    const sattn_overrides *overrides, const sattn_options *options);

/* The same of a call of its own: with all checks of weights, rows and options. */
sattn_status sattn_linear_plan_alone(sattn_linear_plan *plan, const sattn_linear_weights *weights,
                                     int64_t n_rows, const sattn_options *options);

/* Bytes of workspace that a run needs. */
size_t sattn_linear_plan_size(const sattn_linear_plan *plan);

/* Rows and memory have passed; the workspace is 64-byte aligned. */
void sattn_linear_plan_run(const sattn_linear_plan *plan, const sattn_linear_rows *rows,
                           unsigned char *workspace);

#endif
