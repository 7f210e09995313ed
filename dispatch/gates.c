/* SPDX-License-Identifier: MIT
 *
 * gates.c: sattn_gru. A task is a block of rows. */
#include "dispatch/gates.h"

#include "dispatch/choose.h"
#include "dispatch/error.h"
#include "dispatch/share.h"
#include "dispatch/team.h"
#include "dispatch/tensors.h"

static const double exps_per_unit = 3; /* two sigmoids, a tanh */

sattn_shape_class sattn_gate_class(int64_t n_rows, int64_t n_hidden, const sattn_options *options)
{
    int64_t n;
    if (__builtin_mul_overflow(n_rows, n_hidden, &n))
        n = INT64_MAX;
    return sattn_class_of_array(SATTN_OP_gru, n, sattn_threads_of_class(options));
}

sattn_status sattn_gate_check_extents(int64_t n_rows, int64_t n_hidden)
{
    const sattn_status status = sattn_extent_check("n_rows", n_rows, 0);
    return status == SATTN_OK ? sattn_extent_check("n_hidden", n_hidden, 0) : status;
}

typedef struct gate_run {
    const sattn_kernel *kernel;
    const sattn_gate_args *args;
    int64_t block_rows;
} gate_run;

static void run_gates(void *context, int64_t index, int worker)
{
    const gate_run *const run = context;
    const sattn_gate_args *const a = run->args;
    const bool has_rows = a->n_rows > 1;
    const int64_t i0 = index * run->block_rows, left = a->n_rows - i0;
    const sattn_gru_args args = {.gates_x = a->gates_x.data,
                                 .gates_h = a->gates_h.data,
                                 .h = a->h.data,
                                 .y = a->next.data,
                                 .gates_x_stride = has_rows ? a->gates_x.stride_t : 0,
                                 .gates_h_stride = has_rows ? a->gates_h.stride_t : 0,
                                 .h_stride = has_rows ? a->h.stride_t : 0,
                                 .y_stride = has_rows ? a->next.stride_t : 0,
                                 .i0 = i0,
                                 .i1 = i0 + (left < run->block_rows ? left : run->block_rows),
                                 .n_hidden = a->n_hidden};
    (void)worker;
    run->kernel->fn.gru(&args);
}

void sattn_gates_run(const sattn_kernel *kernel, const sattn_gate_args *a, int asked)
{
    const double n_exps = (double)a->n_rows * (double)a->n_hidden * exps_per_unit;
    const int threads = sattn_threads_for(n_exps * SATTN_WORK_PER_EXP, asked);
    const int64_t n_blocks = threads > 1 ? (int64_t)SATTN_GRID_BLOCKS * threads : 1;
    gate_run run = {
        .kernel = kernel, .args = a, .block_rows = (a->n_rows + n_blocks - 1) / n_blocks};
    sattn_team_run(threads, (a->n_rows + run.block_rows - 1) / run.block_rows, run_gates, &run);
}

sattn_status sattn_gru(const sattn_gate_args *a, const sattn_options *options)
{
    sattn_overrides overrides;
    sattn_decision decision;
    const sattn_kernel *kernel;
    if (!a)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    sattn_status status = sattn_gate_check_extents(a->n_rows, a->n_hidden);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    const int64_t n_gates = SATTN_GRU_PARTS * a->n_hidden;
    sattn_tensor tensors[] = {
        sattn_tensor_read("gates_x", "gates_x.data", &a->gates_x, 1, a->n_rows, n_gates),
        sattn_tensor_read("gates_h", "gates_h.data", &a->gates_h, 1, a->n_rows, n_gates),
        sattn_tensor_read("h", "h.data", &a->h, 1, a->n_rows, a->n_hidden),
        sattn_tensor_written("next", "next.data", &a->next, 1, a->n_rows, a->n_hidden)};
    enum { H = 2, NEXT, TENSORS };
    tensors[H].may_coincide = tensors[NEXT].may_coincide = true;
    const sattn_shape_class shape_class = sattn_gate_class(a->n_rows, a->n_hidden, options);
    status = sattn_tensors_check_shapes(tensors, TENSORS);
    if (status == SATTN_OK)
        status = sattn_choose_apart(&shape_class, &overrides, &kernel, &decision);
    if (status != SATTN_OK || a->n_rows == 0 || a->n_hidden == 0)
        return status;
    status = sattn_tensors_check_data(tensors, TENSORS, &(sattn_workspace){NULL, 0});
    if (status == SATTN_OK)
        sattn_gates_run(kernel, a, sattn_threads_asked(options));
    return status;
}
