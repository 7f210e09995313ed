/* SPDX-License-Identifier: MIT
 *
 * additive.c: sattn_additive. A task is a block of queries or of keys of one batch entry; a score's
 * bits depend on neither (kernels/contract.h). */
#include "dispatch/additive.h"

#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/team.h"
#include "dispatch/tensors.h"

#include <math.h>

enum { TENSORS = 5 };

/* ---- checks */

static sattn_status check_extents(const sattn_alignment_args *a)
{
    const sattn_extent extents[] = {
        {"batch", a->batch, 0}, {"n_q", a->n_q, 0}, {"n_k", a->n_k, 0}, {"d", a->d, 1}};
    return sattn_extents_check(extents, sizeof extents / sizeof extents[0]);
}

static int tensors_of(const sattn_alignment_args *a, sattn_tensor tensors[TENSORS])
{
    int n = 0;
    const bool is_empty = a->n_q == 0 || a->n_k == 0;
    tensors[n++] = sattn_tensor_read("q", "q.data", &a->q, a->batch, a->n_q, a->d);
    tensors[n++] = sattn_tensor_read("k", "k.data", &a->k, a->batch, a->n_k, a->d);
    tensors[n++] = sattn_tensor_array("v", a->v, is_empty ? 0 : a->d, sizeof(float));
    tensors[n++] =
        sattn_tensor_written("scores", "scores.data", &a->scores, a->batch, a->n_q, a->n_k);
    if (a->n_k_valid)
        tensors[n++] = sattn_tensor_array("n_k_valid", a->n_k_valid, a->batch, sizeof(int64_t));
    return n;
}

sattn_status sattn_alignment_check_shape(const sattn_alignment_args *a)
{
    sattn_tensor tensors[TENSORS];
    if (!a)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    const sattn_status status = check_extents(a);
    return status == SATTN_OK ? sattn_tensors_check_shapes(tensors, tensors_of(a, tensors))
                              : status;
}

sattn_shape_class sattn_alignment_class(const sattn_alignment_args *a, const sattn_options *options)
{
    return sattn_class_of_additive(a->n_q, a->n_k, a->d, a->n_k > 1 && a->k.stride_t != a->d,
                                   sattn_threads_of_class(options));
}

/* ---- the plan */

static bool is_empty(const sattn_alignment_args *a)
{
    return a->batch == 0 || a->n_q == 0 || a->n_k == 0;
}

/* Blocks for as many threads as the work is worth. */
static void share_work(sattn_alignment_plan *plan, const sattn_alignment_args *a,
                       const sattn_options *options)
{
    const double pairs = (double)a->batch * (double)a->n_q * (double)a->n_k;
    const int threads =
        sattn_threads_for(pairs * (double)a->d * SATTN_WORK_PER_EXP, sattn_threads_asked(options));
    const int64_t wanted = threads > 1 ? (int64_t)SATTN_GRID_BLOCKS * threads : 1;
    const int64_t batch = a->batch > 0 ? a->batch : 1;
    plan->grid = sattn_grid_cut(a->n_q, plan->kernel->tile_rows, a->n_k, plan->kernel->tile_keys,
                                (wanted + batch - 1) / batch);
    plan->workers = threads;
}

sattn_status sattn_alignment_plan_make(sattn_alignment_plan *plan, const sattn_alignment_args *args,
                                       const sattn_overrides *overrides,
                                       const sattn_options *options)
{
    sattn_decision decision;
    const sattn_shape_class shape_class = sattn_alignment_class(args, options);
    const sattn_status status =
        sattn_choose_apart(&shape_class, overrides, &plan->kernel, &decision);
    if (status != SATTN_OK)
        return status;
    share_work(plan, args, options);
    plan->scratch_size = 0;
    if (!is_empty(args)) /* d is at most 2^40 */
        plan->scratch_size =
            sattn_scratch_size(plan->kernel, sattn_additive_scratch_bytes(args->d));
    return SATTN_OK;
}

size_t sattn_alignment_plan_size(const sattn_alignment_plan *plan)
{
    return (size_t)plan->workers * plan->scratch_size;
}

/* A call of its own, with all checks but those of memory. */
static sattn_status make(sattn_alignment_plan *plan, const sattn_alignment_args *args,
                         const sattn_options *options)
{
    sattn_overrides overrides;
    sattn_status status = sattn_alignment_check_shape(args);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    return status == SATTN_OK ? sattn_alignment_plan_make(plan, args, &overrides, options) : status;
}

/* ---- the run */

typedef struct alignment_run {
    const sattn_alignment_plan *plan;
    const sattn_alignment_args *args;
    unsigned char *workspace;
} alignment_run;

static const float *rows_of(const sattn_view *view, int64_t batch, int64_t b)
{
    return (const float *)view->data + (batch > 1 ? b * view->stride_b : 0);
}

/* Keys that do not exist have no score. */
static void fill_missing(const sattn_additive_args *args, int64_t begin, int64_t end)
{
    for (int64_t i = args->i0; begin < end && i < args->i1; ++i)
        for (int64_t j = begin; j < end; ++j)
            args->s[i * args->s_stride + j] = -INFINITY;
}

static void run_task(void *context, int64_t index, int worker)
{
    const alignment_run *const run = context;
    const sattn_alignment_plan *const plan = run->plan;
    const sattn_alignment_args *const a = run->args;
    const int64_t n_blocks = plan->grid.n_row_blocks * plan->grid.n_column_blocks;
    const int64_t b = index / n_blocks;
    const sattn_grid_block block =
        sattn_grid_block_of(&plan->grid, a->n_q, a->n_k, index % n_blocks);
    const int64_t n_k = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    const int64_t end = block.j1 < n_k ? block.j1 : n_k;
    const sattn_additive_args args = {
        .q = rows_of(&a->q, a->batch, b),
        .k = rows_of(&a->k, a->batch, b),
        .v = a->v,
        .s = (float *)a->scores.data + (a->batch > 1 ? b * a->scores.stride_b : 0),
        .q_stride = a->n_q > 1 ? a->q.stride_t : 0,
        .k_stride = a->n_k > 1 ? a->k.stride_t : 0,
        .s_stride = a->n_q > 1 ? a->scores.stride_t : 0,
        .i0 = block.i0,
        .i1 = block.i1,
        .j0 = block.j0,
        .j1 = end > block.j0 ? end : block.j0,
        .d = a->d,
        .scratch = run->workspace + (size_t)worker * plan->scratch_size};
    if (args.j0 < args.j1)
        plan->kernel->fn.additive(&args);
    fill_missing(&args, args.j1, block.j1);
}

void sattn_alignment_plan_run(const sattn_alignment_plan *plan, const sattn_alignment_args *args,
                              unsigned char *workspace)
{
    alignment_run run = {.plan = plan, .args = args, .workspace = workspace};
    sattn_team_run(plan->workers,
                   args->batch * plan->grid.n_row_blocks * plan->grid.n_column_blocks, run_task,
                   &run);
}

static void run_in(void *context, unsigned char *workspace)
{
    const alignment_run *const run = context;
    sattn_alignment_plan_run(run->plan, run->args, workspace);
}

sattn_status sattn_additive(const sattn_alignment_args *args, const sattn_options *options)
{
    sattn_alignment_plan plan;
    sattn_tensor tensors[TENSORS];
    sattn_status status = make(&plan, args, options);
    if (status != SATTN_OK || is_empty(args))
        return status;
    const size_t needed = sattn_alignment_plan_size(&plan);
    const sattn_workspace used = sattn_workspace_of(options, needed);
    status = sattn_tensors_check_data(tensors, tensors_of(args, tensors), &used);
    if (status == SATTN_OK)
        status = sattn_lengths_check(args->n_k_valid, args->batch, args->n_k);
    if (status != SATTN_OK)
        return status;
    alignment_run run = {.plan = &plan, .args = args};
    return sattn_with_workspace(&used, needed, run_in, &run);
}

sattn_status sattn_additive_workspace_size(const sattn_alignment_args *args,
                                           const sattn_options *options, size_t *size)
{
    sattn_alignment_plan plan;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = make(&plan, args, options);
    if (status == SATTN_OK)
        *size = sattn_alignment_plan_size(&plan);
    return status;
}
