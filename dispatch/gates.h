/* SPDX-License-Identifier: MIT
 *
 * gates.h: gated recurrent units, for sattn_gru and the cell that is made of them. */
#ifndef SATTN_DISPATCH_GATES_H
#define SATTN_DISPATCH_GATES_H

#include "dispatch/shape_class.h"
#include "dispatch/simdattn.h"

enum { SATTN_GRU_PARTS = 3 }; /* of its projections: r, z, n */

sattn_status sattn_gate_check_extents(int64_t n_rows, int64_t n_hidden);

/* The class of a call of sattn_gru with these extents. */
sattn_shape_class sattn_gate_class(int64_t n_rows, int64_t n_hidden, const sattn_options *options);

/* Runs a kernel on arguments that have passed, of one row and unit or more, on as many threads of
 * those asked for as the work is worth. */
void sattn_gates_run(const sattn_kernel *kernel, const sattn_gate_args *args, int asked);

#endif
