/* SPDX-License-Identifier: MIT
 *
 * cell.c: sattn_gru_cell and sattn_rnn_cell: linear maps of input and state, and what makes the
 * next state of them. What the maps leave lies in the workspace. */
#include "dispatch/error.h"
#include "dispatch/execute.h"
#include "dispatch/gates.h"
#include "dispatch/linear.h"
#include "dispatch/room.h"
#include "dispatch/team.h"

#include <inttypes.h>

static const sattn_linear_names input_names = {.n_in = "input.n_in",
                                               .n_out = "input.n_out",
                                               .w = "input.w",
                                               .w_data = "input.w.data",
                                               .bias = "input.bias",
                                               .packed = "input.packed"};
static const sattn_linear_names hidden_names = {.n_in = "hidden.n_in",
                                                .n_out = "hidden.n_out",
                                                .w = "hidden.w",
                                                .w_data = "hidden.w.data",
                                                .bias = "hidden.bias",
                                                .packed = "hidden.packed"};

typedef struct cell_plan {
    sattn_cell_kind kind;
    sattn_linear_plan input, hidden;
    const sattn_kernel *kernel; /* of gru, or tanh */
    int64_t n_rows, n_hidden;
    int threads; /* that options allow */
    /* In the workspace, bytes: what the maps leave, of an RNN one sum, and their scratch. */
    size_t input_at, hidden_at, shared_at, size;
} cell_plan;

static sattn_status check_outputs(const char *name, int64_t n_out, sattn_cell_kind kind,
                                  int64_t n_hidden)
{
    const int64_t parts = kind == SATTN_CELL_GRU ? SATTN_GRU_PARTS : 1;
    if (n_out == parts * n_hidden)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected %" PRId64 ", %s hidden.n_in",
                      name, n_out, parts * n_hidden, kind == SATTN_CELL_GRU ? "three times" : "as");
}

static sattn_status check_shape(sattn_cell_kind kind, const sattn_cell_weights *weights,
                                int64_t n_rows)
{
    sattn_status status = sattn_linear_check_shape(&weights->hidden, &hidden_names, n_rows);
    if (status == SATTN_OK)
        status = sattn_linear_check_shape(&weights->input, &input_names, n_rows);
    if (status == SATTN_OK)
        status = check_outputs("hidden.n_out", weights->hidden.n_out, kind, weights->hidden.n_in);
    if (status == SATTN_OK)
        status = check_outputs("input.n_out", weights->input.n_out, kind, weights->hidden.n_in);
    return status;
}

/* What the maps leave, of a GRU two tensors, then their scratch. */
static sattn_status lay_out(cell_plan *plan)
{
    const int64_t n_gates = plan->hidden.weights->n_out;
    sattn_room room = {0};
    plan->input_at = sattn_room_take(&room, plan->n_rows, n_gates, sizeof(float));
    plan->hidden_at = plan->kind == SATTN_CELL_GRU
                          ? sattn_room_take(&room, plan->n_rows, n_gates, sizeof(float))
                          : plan->input_at;
    sattn_room_share(&room, sattn_linear_plan_size(&plan->input));
    sattn_room_share(&room, sattn_linear_plan_size(&plan->hidden));
    if (sattn_room_close(&room, &plan->shared_at, &plan->size) == SATTN_OK)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_TOO_LARGE,
                      "n_rows = %" PRId64 ", hidden.n_out = %" PRId64
                      ": the workspace would reach beyond the address space",
                      plan->n_rows, n_gates);
}

static sattn_status make(cell_plan *plan, sattn_cell_kind kind, const sattn_cell_weights *weights,
                         int64_t n_rows, const sattn_options *options)
{
    sattn_overrides overrides;
    sattn_decision decision;
    if (!weights)
        return sattn_fail(SATTN_ERR_ARGUMENT, "weights is NULL: expected weights");
    sattn_status status = check_shape(kind, weights, n_rows);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status == SATTN_OK)
        status = sattn_linear_plan_make(&plan->input, &weights->input, &input_names, n_rows,
                                        &overrides, options);
    if (status == SATTN_OK)
        status = sattn_linear_plan_make(&plan->hidden, &weights->hidden, &hidden_names, n_rows,
                                        &overrides, options);
    if (status != SATTN_OK)
        return status;
    plan->kind = kind;
    plan->n_rows = n_rows;
    plan->n_hidden = weights->hidden.n_in;
    plan->threads = sattn_threads_asked(options);
    const sattn_shape_class shape_class =
        kind == SATTN_CELL_GRU ? sattn_gate_class(n_rows, plan->n_hidden, options)
                               : sattn_class_of_array(SATTN_OP_tanh, plan->n_hidden, 1);
    status = sattn_choose_apart(&shape_class, &overrides, &plan->kernel, &decision);
    return status == SATTN_OK ? lay_out(plan) : status;
}

typedef struct cell_run {
    const cell_plan *plan;
    const sattn_cell_rows *rows;
    const float *sums; /* of an RNN: W_i x + b_i + W_h h + b_h */
} cell_run;

static sattn_linear_rows map_of(const cell_run *run, const sattn_view *x, void *y, bool adds)
{
    return (sattn_linear_rows){.n_rows = run->plan->n_rows,
                               .x = *x,
                               .y = {.data = y, .stride_t = run->plan->hidden.weights->n_out},
                               .adds = adds};
}

static void run_gru(void *context, unsigned char *workspace)
{
    const cell_run *const run = context;
    const cell_plan *const plan = run->plan;
    unsigned char *const shared = workspace + plan->shared_at;
    const sattn_linear_rows input = map_of(run, &run->rows->x, workspace + plan->input_at, false);
    const sattn_linear_rows hidden = map_of(run, &run->rows->h, workspace + plan->hidden_at, false);
    const sattn_gate_args gates = {
        .n_rows = plan->n_rows,
        .n_hidden = plan->n_hidden,
        .gates_x = {.data = input.y.data, .stride_t = input.y.stride_t},
        .gates_h = {.data = hidden.y.data, .stride_t = hidden.y.stride_t},
        .h = run->rows->h,
        .next = run->rows->next};
    sattn_linear_plan_run(&plan->input, &input, shared);
    sattn_linear_plan_run(&plan->hidden, &hidden, shared);
    sattn_gates_run(plan->kernel, &gates, plan->threads);
}

static void run_tanh_row(void *context, int64_t index, int worker)
{
    const cell_run *const run = context;
    const int64_t n = run->plan->n_hidden;
    const sattn_array_args args = {.x = run->sums + index * n,
                                   .y = (float *)run->rows->next.data +
                                        (index > 0 ? index * run->rows->next.stride_t : 0),
                                   .n = n};
    (void)worker;
    sattn_kernel_run_array(run->plan->kernel, &args);
}

static void run_rnn(void *context, unsigned char *workspace)
{
    cell_run *const run = context;
    const cell_plan *const plan = run->plan;
    unsigned char *const shared = workspace + plan->shared_at;
    const sattn_linear_rows input = map_of(run, &run->rows->x, workspace + plan->input_at, false);
    const sattn_linear_rows hidden = map_of(run, &run->rows->h, workspace + plan->hidden_at, true);
    run->sums = input.y.data;
    sattn_linear_plan_run(&plan->input, &input, shared);
    sattn_linear_plan_run(&plan->hidden, &hidden, shared);
    const double work = (double)plan->n_rows * (double)plan->n_hidden * SATTN_WORK_PER_EXP;
    const int threads = sattn_threads_for(work, plan->threads);
    sattn_team_run(threads, plan->n_rows, run_tanh_row, run);
}

static sattn_status run_cell(sattn_cell_kind kind, const sattn_cell_weights *weights,
                             const sattn_cell_rows *rows, const sattn_options *options)
{
    enum { ROWS = 3, TENSORS = ROWS + 2 * SATTN_LINEAR_TENSORS };
    cell_plan plan;
    sattn_tensor tensors[TENSORS];
    if (!rows)
        return sattn_fail(SATTN_ERR_ARGUMENT, "rows is NULL: expected rows");
    sattn_status status = make(&plan, kind, weights, rows->n_rows, options);
    if (status != SATTN_OK)
        return status;
    tensors[0] = sattn_tensor_read("x", "x.data", &rows->x, 1, rows->n_rows, weights->input.n_in);
    tensors[1] = sattn_tensor_read("h", "h.data", &rows->h, 1, rows->n_rows, plan.n_hidden);
    tensors[2] =
        sattn_tensor_written("next", "next.data", &rows->next, 1, rows->n_rows, plan.n_hidden);
    tensors[1].may_coincide = tensors[2].may_coincide = true;
    status = sattn_tensors_check_shapes(tensors, ROWS);
    if (status != SATTN_OK || rows->n_rows == 0)
        return status;
    int n = ROWS;
    n +=
        sattn_linear_tensors_of(&weights->input, &input_names, plan.input.packed_size, tensors + n);
    n += sattn_linear_tensors_of(&weights->hidden, &hidden_names, plan.hidden.packed_size,
                                 tensors + n);
    const sattn_workspace used = sattn_workspace_of(options, plan.size);
    status = sattn_tensors_check_data(tensors, n, &used);
    if (status != SATTN_OK)
        return status;
    cell_run run = {.plan = &plan, .rows = rows};
    return sattn_with_workspace(&used, plan.size, kind == SATTN_CELL_GRU ? run_gru : run_rnn, &run);
}

sattn_status sattn_gru_cell(const sattn_cell_weights *weights, const sattn_cell_rows *rows,
                            const sattn_options *options)
{
    return run_cell(SATTN_CELL_GRU, weights, rows, options);
}

sattn_status sattn_rnn_cell(const sattn_cell_weights *weights, const sattn_cell_rows *rows,
                            const sattn_options *options)
{
    return run_cell(SATTN_CELL_RNN, weights, rows, options);
}

static sattn_status workspace_size(sattn_cell_kind kind, const sattn_cell_weights *weights,
                                   int64_t n_rows, const sattn_options *options, size_t *size)
{
    cell_plan plan;
    sattn_status status = sattn_size_begin(size);
    if (status == SATTN_OK)
        status = make(&plan, kind, weights, n_rows, options);
    if (status == SATTN_OK)
        *size = plan.size;
    return status;
}

sattn_status sattn_gru_cell_workspace_size(const sattn_cell_weights *weights, int64_t n_rows,
                                           const sattn_options *options, size_t *size)
{
    return workspace_size(SATTN_CELL_GRU, weights, n_rows, options, size);
}

sattn_status sattn_rnn_cell_workspace_size(const sattn_cell_weights *weights, int64_t n_rows,
                                           const sattn_options *options, size_t *size)
{
    return workspace_size(SATTN_CELL_RNN, weights, n_rows, options, size);
}
