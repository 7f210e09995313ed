/* SPDX-License-Identifier: MIT
 *
 * fuzz_layers_check.c: sattn_additive, sattn_linear, sattn_gru and the cells, from a fuzzer's
 * bytes. What holds for every call, legal or not:
 *
 *   refused    a status with a text; no byte of any buffer has changed
 *   accepted   inputs are as they were
 *   verified   additive and linear agree with the oracle in double precision
 *
 * Each buffer is exactly as large as the fields declare it. What is declared larger than BYTES_MAX,
 * or would take longer than WORK_MAX, gets no memory at all, and the call has to be refused. */
#include "bench/verify/steps.h"
#include "dispatch/checked.h"
#include "dispatch/registry.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/fuzz_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 18, BUFFERS = 8, OUTPUT = 0 };

typedef enum entry { ADDITIVE, LINEAR, GRU, GRU_CELL, RNN_CELL } entry;

typedef struct buffer {
    float *memory, *copy; /* as it was before the call */
    size_t size;          /* bytes */
} buffer;

typedef struct layer_call {
    entry entry;
    int64_t n_rows, n_columns, d, batch;
    sattn_view view[BUFFERS]; /* the output's first */
    buffer buffers[BUFFERS];
    int n_buffers;
    bool is_absent; /* too large: it has no memory */
    int64_t *n_k_valid;
    sattn_options options;
} layer_call;

static _Noreturn void complain(const char *what)
{
    fprintf(stderr, "fuzz: %s\nlast error: %s\n", what, sattn_last_error());
    abort();
}

/* ---- decoding */

static int64_t stride_of(fuzz_bytes *bytes, int64_t least)
{
    switch (fuzz_choice(bytes, 16)) {
    case 15:
        return fuzz_odd_number(bytes);
    case 14:
        return 0;
    case 12:
    case 13:
        return least < 1000 ? least + 3 : least;
    default:
        return least;
    }
}

/* Floats that an axis spans beside one of its elements; only of legal extents and strides. */
static sattn_checked reach(int64_t extent, int64_t stride)
{
    return extent > 1 ? sattn_checked_mul(sattn_checked_of(extent - 1), sattn_checked_of(stride))
                      : sattn_checked_of(0);
}

/* [batch, rows, columns], whatever their values. */
static void add_tensor(layer_call *c, fuzz_bytes *bytes, int64_t batch, int64_t rows,
                       int64_t columns)
{
    sattn_view *const view = &c->view[c->n_buffers];
    buffer *const b = &c->buffers[c->n_buffers++];
    const bool is_huge = columns >= BYTES_MAX || rows >= BYTES_MAX || batch >= BYTES_MAX;
    const bool is_legal = batch >= 0 && rows >= 0 && columns >= 0 && !is_huge;
    *view = (sattn_view){.stride_t = stride_of(bytes, columns)};
    view->stride_b = stride_of(bytes, is_legal && view->stride_t >= 0 && view->stride_t < BYTES_MAX
                                          ? rows * view->stride_t
                                          : 1);
    const bool is_empty = !is_legal || batch == 0 || rows == 0 || columns == 0;
    sattn_checked floats = sattn_checked_of(is_empty ? 0 : columns);
    if (!is_empty)
        floats = sattn_checked_add(
            floats, sattn_checked_add(reach(rows, view->stride_t), reach(batch, view->stride_b)));
    if (is_huge || floats.overflow || floats.value < 0 || floats.value > BYTES_MAX / 4) {
        c->is_absent = true;
        return;
    }
    b->size = (size_t)floats.value * sizeof(float);
    b->memory = malloc(b->size ? b->size : 1);
    b->copy = malloc(b->size ? b->size : 1);
    if (!b->memory || !b->copy)
        abort();
    for (int64_t i = 0; i < floats.value; ++i)
        b->memory[i] = fuzz_float(bytes);
    view->data = b->memory;
}

static void decode_options(layer_call *c, fuzz_bytes *bytes)
{
    static const char *const kernels[] = {NULL,
                                          NULL,
                                          NULL,
                                          "sattn_linear_f32_scalar",
                                          "sattn_additive_f32_scalar,sattn_gru_f32_scalar",
                                          "sattn_linear_f32_"};
    c->options.kernels = kernels[fuzz_choice(bytes, 6)];
    c->options.threads = fuzz_choice(bytes, 5) - (fuzz_byte(bytes) == 7 ? 3 : 0);
}

static void decode_tensors(layer_call *c, fuzz_bytes *bytes)
{
    const int64_t parts = c->entry == GRU_CELL || c->entry == GRU ? 3 : 1;
    const bool is_wide = c->n_columns > BYTES_MAX; /* or not a number to multiply */
    const int64_t gates = c->n_columns < 0 || is_wide ? c->n_columns : parts * c->n_columns;
    add_tensor(c, bytes, c->batch, c->n_rows, c->n_columns); /* the output */
    if (c->entry == GRU) {
        add_tensor(c, bytes, 1, c->n_rows, gates);
        add_tensor(c, bytes, 1, c->n_rows, gates);
        add_tensor(c, bytes, 1, c->n_rows, c->n_columns);
        return;
    }
    add_tensor(c, bytes, c->batch, c->n_rows, c->d); /* q or x */
    add_tensor(c, bytes, c->batch, c->entry == ADDITIVE ? c->n_columns : gates, c->d);
    add_tensor(c, bytes, 1, 1, c->entry == ADDITIVE ? c->d : gates); /* v or bias */
    if (c->entry < GRU)
        return;
    add_tensor(c, bytes, 1, c->n_rows, c->n_columns); /* h */
    add_tensor(c, bytes, 1, gates, c->n_columns);     /* W_h */
}

static void decode(layer_call *c, fuzz_bytes *bytes)
{
    static const entry entries[] = {ADDITIVE, ADDITIVE, ADDITIVE, LINEAR,  LINEAR,
                                    LINEAR,   GRU,      GRU_CELL, RNN_CELL};
    c->entry = entries[fuzz_choice(bytes, sizeof entries / sizeof entries[0])];
    c->n_rows = fuzz_extent(bytes, 9);
    c->n_columns = fuzz_extent(bytes, 40);
    c->d = fuzz_extent(bytes, 40);
    c->batch = c->entry == ADDITIVE ? fuzz_extent(bytes, 3) : 1;
    decode_options(c, bytes);
    decode_tensors(c, bytes);
    if (c->entry == ADDITIVE && fuzz_choice(bytes, 3) == 0 && c->batch >= 0 && c->batch <= 9) {
        c->n_k_valid = malloc((size_t)(c->batch + 1) * sizeof *c->n_k_valid);
        if (!c->n_k_valid)
            abort();
        for (int64_t b = 0; b < c->batch; ++b)
            c->n_k_valid[b] = fuzz_choice(bytes, 30) == 0 ? fuzz_odd_number(bytes) : c->n_columns;
    }
    const int shared = fuzz_choice(bytes, 24); /* the output may lie on an input */
    if (shared > 0 && shared < c->n_buffers && c->view[shared].data)
        c->view[OUTPUT].data = c->view[shared].data;
    for (int i = 0; i < c->n_buffers; ++i) {
        if (c->is_absent)
            c->view[i].data = NULL;
        if (c->buffers[i].size > 0)
            memcpy(c->buffers[i].copy, c->buffers[i].memory, c->buffers[i].size);
    }
}

/* ---- the call */

static sattn_mut_view output_of(const layer_call *c)
{
    return (sattn_mut_view){.data = (void *)(uintptr_t)c->view[OUTPUT].data,
                            .stride_b = c->view[OUTPUT].stride_b,
                            .stride_t = c->view[OUTPUT].stride_t};
}

static sattn_linear_weights weights_of(const layer_call *c)
{
    return (sattn_linear_weights){
        .n_in = c->d, .n_out = c->n_columns, .w = c->view[2], .bias = c->view[3].data};
}

static sattn_status run_cell(const layer_call *c)
{
    const int64_t parts = c->entry == GRU_CELL ? 3 : 1;
    sattn_cell_weights weights = {.input = weights_of(c),
                                  .hidden = {.n_in = c->n_columns, .w = c->view[5]}};
    if (c->n_columns > 0 && c->n_columns <= BYTES_MAX)
        weights.input.n_out = parts * c->n_columns;
    weights.hidden.n_out = weights.input.n_out;
    const sattn_cell_rows rows = {
        .n_rows = c->n_rows, .x = c->view[1], .h = c->view[4], .next = output_of(c)};
    return c->entry == GRU_CELL ? sattn_gru_cell(&weights, &rows, &c->options)
                                : sattn_rnn_cell(&weights, &rows, &c->options);
}

static sattn_status run(const layer_call *c)
{
    const sattn_linear_weights weights = weights_of(c);
    const sattn_linear_rows rows = {.n_rows = c->n_rows, .x = c->view[1], .y = output_of(c)};
    const sattn_alignment_args alignment = {.batch = c->batch,
                                            .n_q = c->n_rows,
                                            .n_k = c->n_columns,
                                            .d = c->d,
                                            .q = c->view[1],
                                            .k = c->view[2],
                                            .v = c->view[3].data,
                                            .scores = output_of(c),
                                            .n_k_valid = c->n_k_valid};
    const sattn_gate_args gates = {.n_rows = c->n_rows,
                                   .n_hidden = c->n_columns,
                                   .gates_x = c->view[1],
                                   .gates_h = c->view[2],
                                   .h = c->view[3],
                                   .next = output_of(c)};
    switch (c->entry) {
    case ADDITIVE:
        return sattn_additive(&alignment, &c->options);
    case LINEAR:
        return sattn_linear(&weights, &rows, &c->options);
    case GRU:
        return sattn_gru(&gates, &c->options);
    default:
        return run_cell(c);
    }
}

/* ---- what must hold */

static bool is_changed(const buffer *b)
{
    return b->size > 0 && memcmp(b->memory, b->copy, b->size) != 0;
}

/* Row i of batch entry b of a tensor. */
static const float *row_of(const layer_call *c, int tensor, int64_t b, int64_t i)
{
    const sattn_view *const view = &c->view[tensor];
    return (const float *)view->data + (c->batch > 1 ? b * view->stride_b : 0) +
           (i > 0 ? i * view->stride_t : 0);
}

static bool verify(const layer_call *c)
{
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    for (int64_t b = 0; b < c->batch; ++b)
        for (int64_t i = 0; i < c->n_rows; ++i) {
            const sattn_verify_place at = {.batch = b, .row = i};
            const sattn_verify_map map = {.x = row_of(c, 1, b, i),
                                          .w = c->view[2].data,
                                          .bias = c->view[3].data,
                                          .w_stride = c->view[2].stride_t,
                                          .n_in = c->d,
                                          .n_out = c->n_columns};
            const sattn_verify_alignments row = {.q = row_of(c, 1, b, i),
                                                 .k = row_of(c, 2, b, 0),
                                                 .v = c->view[3].data,
                                                 .k_stride = c->view[2].stride_t,
                                                 .d = c->d,
                                                 .n = c->n_k_valid ? c->n_k_valid[b] : c->n_columns,
                                                 .tanh_ulp = 2}; /* of any kernel */
            if (c->entry == LINEAR)
                sattn_verify_map_row(&map, row_of(c, OUTPUT, b, i), at, &result);
            else
                sattn_verify_alignments_row(&row, row_of(c, OUTPUT, b, i), at, &result);
        }
    return result.n_failed == 0;
}

static fuzz_outcome judge(const layer_call *c, sattn_status status)
{
    const bool is_written = c->view[OUTPUT].data == c->buffers[OUTPUT].memory;
    if (status != SATTN_OK) {
        for (int i = 0; i < c->n_buffers; ++i)
            if (is_changed(&c->buffers[i]))
                complain("a refused call has written");
        if (sattn_last_error()[0] == '\0')
            complain("a refused call has no text");
        return FUZZ_REFUSED;
    }
    const bool is_nothing = c->n_rows == 0 || c->n_columns == 0 || c->batch == 0;
    if (c->is_absent && !is_nothing)
        complain("a call without memory was accepted");
    for (int i = 1; is_written && i < c->n_buffers; ++i)
        if (is_changed(&c->buffers[i]))
            complain("an accepted call has written to its input");
    if (c->entry > LINEAR || is_nothing || !is_written)
        return FUZZ_ACCEPTED;
    if (!verify(c))
        complain("an accepted call does not agree with the oracle");
    return FUZZ_VERIFIED;
}

fuzz_outcome fuzz_check(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {.at = data, .left = size};
    layer_call c = {.options = {.profile = sattn_profile_none()}};
    decode(&c, &bytes);
    const fuzz_outcome outcome = judge(&c, run(&c));
    for (int i = 0; i < c.n_buffers; ++i) {
        free(c.buffers[i].memory);
        free(c.buffers[i].copy);
    }
    free(c.n_k_valid);
    return outcome;
}
