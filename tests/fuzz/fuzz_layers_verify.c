/* SPDX-License-Identifier: MIT
 *
 * fuzz_layers_verify.c: does what a call returned agree with the oracle in double precision? The
 * maps of a cell are what sattn_linear makes of the same weights by the same options, which is
 * verified as a call of its own. */
#include "bench/verify/steps.h"
#include "tests/fuzz/fuzz_layers.h"

#include <stdlib.h>

enum { HIDDEN_STATE = 4, ULP = 2 }; /* of exp, sigmoid and tanh without a kernel named */

static float *allocate(int64_t n)
{
    float *const numbers = malloc((size_t)(n > 0 ? n : 1) * sizeof *numbers);
    if (!numbers)
        abort();
    return numbers;
}

static void verify_alignments(const layer_call *c, sattn_verify_result *result)
{
    for (int64_t b = 0; b < c->batch; ++b)
        for (int64_t i = 0; i < c->n_rows; ++i) {
            const sattn_verify_alignments row = {.q = fuzz_row_of(c, 1, b, i),
                                                 .k = fuzz_row_of(c, 2, b, 0),
                                                 .v = c->view[3].data,
                                                 .k_stride = c->view[2].stride_t,
                                                 .d = c->d,
                                                 .n = c->n_k_valid ? c->n_k_valid[b] : c->n_columns,
                                                 .tanh_ulp = ULP};
            const sattn_verify_place at = {.batch = b, .row = i};
            sattn_verify_alignments_row(&row, fuzz_row_of(c, OUTPUT, b, i), at, result);
        }
}

static void verify_map(const layer_call *c, sattn_verify_result *result)
{
    for (int64_t i = 0; i < c->n_rows; ++i) {
        const float *const before =
            c->buffers[OUTPUT].copy + (i > 0 ? i * c->view[OUTPUT].stride_t : 0);
        const sattn_verify_map map = {.x = fuzz_row_of(c, 1, 0, i),
                                      .w = c->view[2].data,
                                      .bias = c->view[3].data,
                                      .added_to = c->adds ? before : NULL,
                                      .w_stride = c->view[2].stride_t,
                                      .n_in = c->d,
                                      .n_out = c->n_columns};
        const sattn_verify_place at = {.row = i};
        sattn_verify_map_row(&map, fuzz_row_of(c, OUTPUT, 0, i), at, result);
    }
}

static void verify_gates_row(const layer_call *c, int64_t i, const float *gates_x,
                             const float *gates_h, const float *h, sattn_verify_result *result)
{
    const sattn_verify_gates row = {.gates_x = gates_x,
                                    .gates_h = gates_h,
                                    .h = h,
                                    .n_hidden = c->n_columns,
                                    .sigmoid_ulp = ULP,
                                    .tanh_ulp = ULP};
    const sattn_verify_place at = {.row = i};
    sattn_verify_gates_row(&row, fuzz_row_of(c, OUTPUT, 0, i), at, result);
}

/* False where sattn_linear refuses what the cell has accepted. */
static bool verify_cell(const layer_call *c, sattn_verify_result *result)
{
    const sattn_cell_weights cell = fuzz_cell_of(c);
    const int64_t n_gates = cell.input.n_out;
    sattn_options options = c->options;
    float *const gates_x = allocate(c->n_rows * n_gates);
    float *const gates_h = allocate(c->n_rows * n_gates);
    const sattn_linear_rows input = {
        .n_rows = c->n_rows, .x = c->view[1], .y = {.data = gates_x, .stride_t = n_gates}};
    const bool is_gru = c->entry == GRU_CELL;
    const sattn_linear_rows hidden = {
        .n_rows = c->n_rows,
        .x = c->view[HIDDEN_STATE],
        .y = {.data = is_gru ? gates_h : gates_x, .stride_t = n_gates},
        .adds = !is_gru};
    options.workspace = NULL;
    const bool is_mapped = sattn_linear(&cell.input, &input, &options) == SATTN_OK &&
                           sattn_linear(&cell.hidden, &hidden, &options) == SATTN_OK;
    for (int64_t i = 0; is_mapped && i < c->n_rows; ++i) {
        const sattn_verify_place at = {.row = i};
        if (is_gru)
            verify_gates_row(c, i, gates_x + i * n_gates, gates_h + i * n_gates,
                             fuzz_row_of(c, HIDDEN_STATE, 0, i), result);
        else
            sattn_verify_array(SATTN_VERIFY_TANH, gates_x + i * n_gates,
                               fuzz_row_of(c, OUTPUT, 0, i), n_gates, ULP, at, result);
    }
    free(gates_x);
    free(gates_h);
    return is_mapped;
}

bool fuzz_verify(const layer_call *c)
{
    sattn_verify_result result;
    bool is_right = true;
    sattn_verify_result_init(&result);
    switch (c->entry) {
    case ADDITIVE:
        verify_alignments(c, &result);
        break;
    case LINEAR:
        verify_map(c, &result);
        break;
    case GRU:
        for (int64_t i = 0; i < c->n_rows; ++i)
            verify_gates_row(c, i, fuzz_row_of(c, 1, 0, i), fuzz_row_of(c, 2, 0, i),
                             fuzz_row_of(c, 3, 0, i), &result);
        break;
    default:
        is_right = verify_cell(c, &result);
    }
    return is_right && result.n_failed == 0;
}
