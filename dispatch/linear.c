/* SPDX-License-Identifier: MIT
 *
 * linear.c: sattn_linear. A task is a block of rows of X or of outputs; an element's bits depend on
 * neither (kernels/contract.h). */
#include "dispatch/linear.h"

#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/linear_pack.h"
#include "dispatch/team.h"

const sattn_linear_names sattn_linear_plain_names = {.n_in = "n_in",
                                                     .n_out = "n_out",
                                                     .w = "w",
                                                     .w_data = "w.data",
                                                     .bias = "bias",
                                                     .packed = "packed"};

/* ---- checks */

int sattn_linear_tensors_of(const sattn_linear_weights *weights, const sattn_linear_names *names,
                            size_t packed_size, sattn_tensor tensors[SATTN_LINEAR_TENSORS])
{
    int n = 0;
    if (weights->packed)
        tensors[n++] = sattn_tensor_array(names->packed, weights->packed,
                                          (int64_t)(packed_size / sizeof(float)), sizeof(float));
    else
        tensors[n++] = sattn_tensor_read(names->w, names->w_data, &weights->w, 1, weights->n_out,
                                         weights->n_in);
    if (weights->bias)
        tensors[n++] =
            sattn_tensor_array(names->bias, weights->bias, weights->n_out, sizeof(float));
    return n;
}

sattn_status sattn_linear_check_shape(const sattn_linear_weights *weights,
                                      const sattn_linear_names *names, int64_t n_rows)
{
    sattn_tensor tensors[SATTN_LINEAR_TENSORS];
    sattn_status status = sattn_extent_check(names->n_in, weights->n_in, 1);
    if (status == SATTN_OK)
        status = sattn_extent_check(names->n_out, weights->n_out, 1);
    if (status == SATTN_OK)
        status = sattn_extent_check("n_rows", n_rows, 0);
    if (status == SATTN_OK)
        status = sattn_tensors_check_shapes(tensors,
                                            sattn_linear_tensors_of(weights, names, 0, tensors));
    return status;
}

sattn_status sattn_linear_check_unpacked(const sattn_linear_weights *weights, int64_t n_rows)
{
    if (!weights)
        return sattn_fail(SATTN_ERR_ARGUMENT, "weights is NULL: expected weights");
    sattn_linear_weights in_place = *weights;
    in_place.packed = NULL;
    return sattn_linear_check_shape(&in_place, &sattn_linear_plain_names, n_rows);
}

/* ---- the plan */

sattn_shape_class sattn_linear_class(const sattn_linear_weights *weights, int64_t n_rows,
                                     bool is_packed, const sattn_options *options)
{
    return sattn_class_of_linear(n_rows, weights->n_out, weights->n_in, is_packed,
                                 sattn_threads_of_class(options));
}

static void log_packed(const sattn_linear_plan *plan, const sattn_overrides *overrides,
                       const sattn_options *options)
{
    const sattn_shape_class shape_class =
        sattn_linear_class(plan->weights, plan->n_rows, true, options);
    sattn_overrides_log(overrides, sattn_class_phase(&shape_class), false, plan->kernel,
                        plan->decision);
}

/* Packed weights have their kernel; it must be one that may run here, and that nothing rules out.
 */
static sattn_status choose_packed(sattn_linear_plan *plan, const sattn_linear_names *names,
                                  const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_kernel *const named = overrides->forced[SATTN_OP_linear];
    const sattn_kernel *would = named;
    sattn_status status = sattn_pack_read(plan->weights, names, &plan->kernel, &plan->packed_size);
    if (status != SATTN_OK)
        return status;
    const bool may_run = (plan->kernel->needs & ~overrides->usable) == 0;
    plan->packed = sattn_pack_rows(plan->weights->packed);
    plan->decision = SATTN_DECIDED_BY_WEIGHTS;
    if (may_run && (!named || named == plan->kernel)) {
        if (overrides->log)
            log_packed(plan, overrides, options);
        return SATTN_OK;
    }
    const sattn_shape_class shape_class =
        sattn_linear_class(plan->weights, plan->n_rows, true, options);
    sattn_decision decision;
    status = sattn_choose_apart(&shape_class, overrides, &would, &decision);
    if (status != SATTN_OK)
        return status;
    return sattn_fail(SATTN_ERR_ARGUMENT,
                      "%s: the weights are packed for %s, %s: %s would run here; pack them again "
                      "for it",
                      names->packed, plan->kernel->name,
                      may_run ? "and another is asked for by name" : "which may not run here",
                      would->name);
}

/* Blocks for as many threads as the work is worth. */
static void share_work(sattn_linear_plan *plan, const sattn_options *options)
{
    const double n_weights = (double)plan->weights->n_in * (double)plan->weights->n_out;
    const double work = n_weights * ((double)plan->n_rows + SATTN_WORK_PER_KV_ELEMENT);
    const int threads = sattn_threads_for(work, sattn_threads_asked(options));
    plan->grid = sattn_grid_cut(plan->n_rows, plan->kernel->tile_rows, plan->weights->n_out,
                                plan->kernel->tile_keys,
                                threads > 1 ? (int64_t)SATTN_GRID_BLOCKS * threads : 1);
    plan->workers = threads;
}

sattn_status sattn_linear_plan_make(sattn_linear_plan *plan, const sattn_linear_weights *weights,
                                    const sattn_linear_names *names, int64_t n_rows,
                                    const sattn_overrides *overrides, const sattn_options *options)
{
    sattn_status status;
    plan->weights = weights;
    plan->packed = NULL;
    plan->packed_size = 0;
    plan->n_rows = n_rows;
    if (weights->packed) {
        status = choose_packed(plan, names, overrides, options);
    } else {
        const sattn_shape_class shape_class = sattn_linear_class(weights, n_rows, false, options);
        status = sattn_choose_apart(&shape_class, overrides, &plan->kernel, &plan->decision);
    }
    if (status != SATTN_OK)
        return status;
    plan->scratch_size =
        sattn_scratch_size(plan->kernel, sattn_linear_scratch_bytes(weights->n_in));
    share_work(plan, options);
    return SATTN_OK;
}

size_t sattn_linear_plan_size(const sattn_linear_plan *plan)
{
    return plan->n_rows > 0 ? (size_t)plan->workers * plan->scratch_size : 0;
}

/* ---- the run */

typedef struct linear_run {
    const sattn_linear_plan *plan;
    const sattn_linear_rows *rows;
    unsigned char *workspace;
} linear_run;

static void run_task(void *context, int64_t index, int worker)
{
    const linear_run *const run = context;
    const sattn_linear_plan *const plan = run->plan;
    const sattn_linear_weights *const weights = plan->weights;
    const bool has_rows = plan->n_rows > 1;
    const sattn_grid_block block =
        sattn_grid_block_of(&plan->grid, plan->n_rows, weights->n_out, index);
    const sattn_linear_args args = {
        .x = run->rows->x.data,
        .w = plan->packed ? NULL : weights->w.data,
        .packed = plan->packed,
        .bias = weights->bias,
        .y = run->rows->y.data,
        .x_stride = has_rows ? run->rows->x.stride_t : 0,
        .w_stride = !plan->packed && weights->n_out > 1 ? weights->w.stride_t : 0,
        .y_stride = has_rows ? run->rows->y.stride_t : 0,
        .i0 = block.i0,
        .i1 = block.i1,
        .o0 = block.j0,
        .o1 = block.j1,
        .n_in = weights->n_in,
        .adds = run->rows->adds,
        .scratch = run->workspace + (size_t)worker * plan->scratch_size};
    plan->kernel->fn.linear(&args);
}

void sattn_linear_plan_run(const sattn_linear_plan *plan, const sattn_linear_rows *rows,
                           unsigned char *workspace)
{
    linear_run run = {.plan = plan, .rows = rows, .workspace = workspace};
    sattn_team_run(plan->workers, plan->grid.n_row_blocks * plan->grid.n_column_blocks, run_task,
                   &run);
}

sattn_status sattn_linear_plan_alone(sattn_linear_plan *plan, const sattn_linear_weights *weights,
                                     int64_t n_rows, const sattn_options *options)
{
    sattn_overrides overrides;
    const sattn_linear_names *const names = &sattn_linear_plain_names;
    if (!weights)
        return sattn_fail(SATTN_ERR_ARGUMENT, "weights is NULL: expected weights");
    sattn_status status = sattn_linear_check_shape(weights, names, n_rows);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    return status == SATTN_OK
               ? sattn_linear_plan_make(plan, weights, names, n_rows, &overrides, options)
               : status;
}

static void run_in(void *context, unsigned char *workspace)
{
    const linear_run *const run = context;
    sattn_linear_plan_run(run->plan, run->rows, workspace);
}

sattn_status sattn_linear(const sattn_linear_weights *weights, const sattn_linear_rows *rows,
                          const sattn_options *options)
{
    sattn_linear_plan plan;
    sattn_tensor tensors[SATTN_LINEAR_TENSORS + 2];
    if (!rows)
        return sattn_fail(SATTN_ERR_ARGUMENT, "rows is NULL: expected rows");
    sattn_status status = sattn_linear_plan_alone(&plan, weights, rows->n_rows, options);
    if (status != SATTN_OK)
        return status;
    int n = 0;
    tensors[n++] = sattn_tensor_read("x", "x.data", &rows->x, 1, rows->n_rows, weights->n_in);
    tensors[n++] = sattn_tensor_written("y", "y.data", &rows->y, 1, rows->n_rows, weights->n_out);
    status = sattn_tensors_check_shapes(tensors, n);
    if (status != SATTN_OK || rows->n_rows == 0)
        return status;
    n += sattn_linear_tensors_of(weights, &sattn_linear_plain_names, plan.packed_size, tensors + n);
    const size_t needed = sattn_linear_plan_size(&plan);
    const sattn_workspace used = sattn_workspace_of(options, needed);
    status = sattn_tensors_check_data(tensors, n, &used);
    if (status != SATTN_OK)
        return status;
    linear_run run = {.plan = &plan, .rows = rows};
    return sattn_with_workspace(&used, needed, run_in, &run);
}

sattn_status sattn_linear_workspace_size(const sattn_linear_weights *weights, int64_t n_rows,
                                         const sattn_options *options, size_t *size)
{
    sattn_linear_plan plan = {.n_rows = 0};
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = sattn_linear_plan_alone(&plan, weights, n_rows, options);
    if (status == SATTN_OK)
        *size = sattn_linear_plan_size(&plan);
    return status;
}
