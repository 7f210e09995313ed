/* SPDX-License-Identifier: MIT
 *
 * workload_inputs.h: what workload.c fills the tensors of a shape with. */
#ifndef SATTN_BENCH_WORKLOAD_INPUTS_H
#define SATTN_BENCH_WORKLOAD_INPUTS_H

#include "bench/verify/real.h"
#include "bench/workload.h"

/* Memory on a 64-byte boundary, in large pages if the system has any; NULL: none left. */
void *sattn_workload_allocate(size_t size);

/* Makes the mask that the shape asks for, which may be that of a kind of input; false: no memory.
 */
bool sattn_workload_make_mask(sattn_workload *workload, sattn_input_kind kind);

/* Makes the slopes and sinks that the shape asks for; false: no memory. */
bool sattn_workload_make_slopes_and_sinks(sattn_workload *workload);

/* Fills set 0. `layer` has tensors or none. On failure `error` says why. */
bool sattn_workload_fill(const sattn_workload *workload, const sattn_workload_request *request,
                         const sattn_real_layer *layer, char *error, size_t error_size);

/* A tensor of so many heads, rows and features as the shape has them in memory, without data. */
sattn_view sattn_workload_view(const sattn_shape *s, int64_t heads, int64_t rows, int64_t features);

#endif
