/* SPDX-License-Identifier: MIT
 *
 * fuzz_layers_check.c: sattn_additive, sattn_linear, sattn_gru, the cells, general attention and
 * self-attention, from a fuzzer's bytes; decoders are in fuzz_layers_decoder.c. What holds for
 * every call, legal or not:
 *
 *   refused    a status with a text; no byte of any buffer has changed
 *   accepted   inputs, also packed ones, are as they were
 *   verified   all but the two layers and decoders agree with the oracle in double precision
 *
 * Each buffer is exactly as large as the fields declare it. What is declared larger than BYTES_MAX
 * gets no memory at all, and the call has to be refused. */
#include "dispatch/checked.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/fuzz_check.h"
#include "tests/fuzz/fuzz_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fuzz_complain(const char *what)
{
    fprintf(stderr, "fuzz: %s\nlast error: %s\n", what, sattn_last_error());
    abort();
}

/* ---- arguments */

static sattn_mut_view output_of(const layer_call *c)
{
    return (sattn_mut_view){.data = (void *)(uintptr_t)c->view[OUTPUT].data,
                            .dtype = c->view[OUTPUT].dtype,
                            .stride_b = c->view[OUTPUT].stride_b,
                            .stride_t = c->view[OUTPUT].stride_t};
}

sattn_linear_weights fuzz_weights_of(const layer_call *c)
{
    const int64_t parts = c->entry == GRU_CELL ? 3 : 1;
    const bool is_wide = c->n_columns <= 0 || c->n_columns > BYTES_MAX;
    return (sattn_linear_weights){.n_in = c->d,
                                  .n_out = is_wide ? c->n_columns : parts * c->n_columns,
                                  .w = c->view[2],
                                  .bias = c->view[3].data,
                                  .packed = c->packed};
}

sattn_cell_weights fuzz_cell_of(const layer_call *c)
{
    const sattn_linear_weights input = fuzz_weights_of(c);
    return (sattn_cell_weights){
        .input = input, .hidden = {.n_in = c->n_columns, .n_out = input.n_out, .w = c->view[5]}};
}

static sattn_general_attention_args general_of(const layer_call *c)
{
    const bool is_additive = c->align == SATTN_ALIGN_ADDITIVE;
    const sattn_linear_weights map = {.n_in = c->d, .n_out = c->d, .w = c->view[3]};
    return (sattn_general_attention_args){
        .batch = c->batch,
        .n_q = c->n_rows,
        .n_k = c->n_columns,
        .d_q = c->d,
        .d_x = c->d,
        .q = c->view[1],
        .x = c->view[2],
        .y = output_of(c),
        .n_k_valid = c->n_k_valid,
        .align = c->align,
        .w_q = is_additive ? map : (sattn_linear_weights){0},
        .w_x = is_additive || c->align == SATTN_ALIGN_BILINEAR ? map : (sattn_linear_weights){0},
        .v = is_additive ? c->view[4].data : NULL};
}

static sattn_self_attention_args self_of(const layer_call *c)
{
    sattn_linear_weights maps[MAPS];
    for (int map = 0; map < MAPS; ++map)
        maps[map] = (sattn_linear_weights){.n_in = c->d, .n_out = c->d, .w = c->view[2 + map]};
    return (sattn_self_attention_args){.batch = c->batch,
                                       .n_k = c->n_rows,
                                       .n_heads = c->n_heads,
                                       .x = c->view[1],
                                       .y = output_of(c),
                                       .w_q = maps[0],
                                       .w_k = maps[1],
                                       .w_v = maps[2],
                                       .w_o = maps[3],
                                       .causal = c->is_causal,
                                       .n_k_valid = c->n_k_valid};
}

static sattn_alignment_args alignment_of(const layer_call *c)
{
    return (sattn_alignment_args){.batch = c->batch,
                                  .n_q = c->n_rows,
                                  .n_k = c->n_columns,
                                  .d = c->d,
                                  .q = c->view[1],
                                  .k = c->view[2],
                                  .v = c->view[3].data,
                                  .scores = output_of(c),
                                  .n_k_valid = c->n_k_valid};
}

static sattn_status ask_workspace_size(const layer_call *c, size_t *size)
{
    const sattn_alignment_args alignment = alignment_of(c);
    const sattn_linear_weights weights = fuzz_weights_of(c);
    const sattn_cell_weights cell = fuzz_cell_of(c);
    const sattn_general_attention_args general = general_of(c);
    const sattn_self_attention_args self = self_of(c);
    switch (c->entry) {
    case ADDITIVE:
        return sattn_additive_workspace_size(&alignment, &c->options, size);
    case LINEAR:
        return sattn_linear_workspace_size(&weights, c->n_rows, &c->options, size);
    case GRU_CELL:
        return sattn_gru_cell_workspace_size(&cell, c->n_rows, &c->options, size);
    case RNN_CELL:
        return sattn_rnn_cell_workspace_size(&cell, c->n_rows, &c->options, size);
    case GENERAL:
        return sattn_general_attention_workspace_size(&general, &c->options, size);
    case SELF:
        return sattn_self_attention_workspace_size(&self, &c->options, size);
    default:
        return SATTN_ERR_UNSUPPORTED; /* sattn_gru has none */
    }
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

void fuzz_add_tensor(layer_call *c, fuzz_bytes *strides, fuzz_bytes *bytes, int64_t batch,
                     int64_t rows, int64_t columns)
{
    sattn_view *const view = &c->view[c->n_buffers];
    buffer *const b = &c->buffers[c->n_buffers++];
    const bool is_huge = columns >= BYTES_MAX || rows >= BYTES_MAX || batch >= BYTES_MAX;
    const bool is_legal = batch >= 0 && rows >= 0 && columns >= 0 && !is_huge;
    *view = (sattn_view){.stride_t = stride_of(strides, columns)};
    view->stride_b = stride_of(
        strides,
        is_legal && view->stride_t >= 0 && view->stride_t < BYTES_MAX ? rows * view->stride_t : 1);
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

void fuzz_decode_options(layer_call *c, fuzz_bytes *bytes)
{
    static const char *const kernels[] = {NULL,
                                          NULL,
                                          NULL,
                                          "sattn_linear_f32_scalar",
                                          "sattn_additive_f32_scalar,sattn_gru_f32_scalar",
                                          "sattn_linear_f32_"};
    static const char *const isas[] = {NULL, NULL, NULL,     NULL,   NULL,
                                       NULL, NULL, "scalar", "avx2", "x"};
    c->options.kernels = kernels[fuzz_choice(bytes, 6)];
    c->options.isa = isas[fuzz_choice(bytes, sizeof isas / sizeof isas[0])];
    c->options.threads = fuzz_choice(bytes, 5) - (fuzz_byte(bytes) == 7 ? 3 : 0);
    c->adds = c->entry == LINEAR && fuzz_choice(bytes, 4) == 3;
    c->packing = fuzz_choice(bytes, 6);
    c->damage_at = fuzz_choice(bytes, 128);
    c->damage = fuzz_byte(bytes);
    c->room = fuzz_choice(bytes, 9);
    c->half = fuzz_byte(bytes);
}

/* Of a layer the inputs, which are n_columns where there are queries beside them, then its maps. */
static void decode_layer(layer_call *c, fuzz_bytes *bytes)
{
    c->align = (sattn_align_kind)fuzz_choice(bytes, 5);
    c->n_heads = fuzz_choice(bytes, 4);
    c->is_causal = fuzz_choice(bytes, 2) == 1;
    if (c->entry == GENERAL)
        fuzz_add_tensor(c, bytes, bytes, c->batch, c->n_rows, c->d);
    fuzz_add_tensor(c, bytes, bytes, c->batch, c->entry == GENERAL ? c->n_columns : c->n_rows,
                    c->d);
    for (int map = 0; map < MAPS; ++map)
        fuzz_add_tensor(c, bytes, bytes, 1, c->d, c->d);
}

static void decode_tensors(layer_call *c, fuzz_bytes *bytes)
{
    const int64_t parts = c->entry == GRU_CELL || c->entry == GRU ? 3 : 1;
    const bool is_wide = c->n_columns > BYTES_MAX; /* or not a number to multiply */
    const int64_t gates = c->n_columns < 0 || is_wide ? c->n_columns : parts * c->n_columns;
    fuzz_add_tensor(c, bytes, bytes, c->batch, c->n_rows,
                    c->entry >= GENERAL ? c->d : c->n_columns);
    if (c->entry == GRU) {
        fuzz_add_tensor(c, bytes, bytes, 1, c->n_rows, gates);
        fuzz_add_tensor(c, bytes, bytes, 1, c->n_rows, gates);
        fuzz_add_tensor(c, bytes, bytes, 1, c->n_rows, c->n_columns);
        return;
    }
    if (c->entry >= GENERAL) {
        decode_layer(c, bytes);
        return;
    }
    fuzz_add_tensor(c, bytes, bytes, c->batch, c->n_rows, c->d); /* q or x */
    fuzz_add_tensor(c, bytes, bytes, c->batch, c->entry == ADDITIVE ? c->n_columns : gates, c->d);
    fuzz_add_tensor(c, bytes, bytes, 1, 1, c->entry == ADDITIVE ? c->d : gates); /* v or bias */
    if (c->entry < GRU)
        return;
    fuzz_add_tensor(c, bytes, bytes, 1, c->n_rows, c->n_columns); /* h */
    fuzz_add_tensor(c, bytes, bytes, 1, gates, c->n_columns);     /* W_h */
}

void *fuzz_allocate(size_t size)
{
    void *const memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!memory)
        abort();
    return memory;
}

const float *fuzz_pack(layer_call *c, const sattn_linear_weights *weights, int64_t n_rows)
{
    buffer *const b = &c->buffers[c->n_buffers];
    if (sattn_linear_pack_size(weights, n_rows, &c->options, &b->size) != SATTN_OK)
        return NULL;
    b->memory = fuzz_allocate(b->size);
    b->copy = fuzz_allocate(b->size);
    if (sattn_linear_pack(weights, n_rows, &c->options, b->memory, b->size) != SATTN_OK)
        fuzz_complain("weights could not be packed, though the size of their pack was given");
    if (c->packing == 5)
        ((unsigned char *)b->memory)[c->damage_at] ^= (unsigned char)c->damage;
    c->view[c->n_buffers++] = (sattn_view){.data = b->memory};
    return b->memory;
}

void fuzz_give_workspace(layer_call *c, size_t size)
{
    if (c->room < 4 || size < 64)
        return;
    c->workspace = fuzz_allocate(size);
    c->options.workspace = (unsigned char *)c->workspace + (c->room == 7 ? 4 : 0);
    c->options.workspace_size = size - (c->room >= 7 ? 64 : 0);
}

void fuzz_keep(const layer_call *c)
{
    for (int i = 0; i < c->n_buffers; ++i)
        if (c->buffers[i].size > 0)
            memcpy(c->buffers[i].copy, c->buffers[i].memory, c->buffers[i].size);
}

/* Not so what has no elements, weights in place that are packed too, and what an alignment does not
 * have: with such a one an output may share memory that is too small for it. */
static bool is_looked_at(const layer_call *c, int tensor)
{
    if (!c->view[tensor].data || c->buffers[tensor].size == 0)
        return false;
    if (c->entry == GENERAL)
        return tensor < 3 || (tensor == 3 && c->align >= SATTN_ALIGN_BILINEAR) ||
               (tensor == 4 && c->align == SATTN_ALIGN_ADDITIVE);
    return !c->packed || tensor != 2;
}

static void decode(layer_call *c, fuzz_bytes *bytes)
{
    size_t size = 0;
    c->n_rows = fuzz_extent(bytes, 9);
    c->n_columns = fuzz_extent(bytes, 40);
    c->d = fuzz_extent(bytes, 40);
    const bool has_batch = c->entry == ADDITIVE || c->entry >= GENERAL;
    c->batch = has_batch ? fuzz_extent(bytes, 3) : 1;
    fuzz_decode_options(c, bytes);
    decode_tensors(c, bytes);
    if (has_batch && fuzz_choice(bytes, 3) == 0 && c->batch >= 0 && c->batch <= 9) {
        c->n_k_valid = malloc((size_t)(c->batch + 1) * sizeof *c->n_k_valid);
        if (!c->n_k_valid)
            abort();
        for (int64_t b = 0; b < c->batch; ++b)
            c->n_k_valid[b] = fuzz_choice(bytes, 30) == 0 ? fuzz_odd_number(bytes)
                              : c->entry == SELF          ? c->n_rows
                                                          : c->n_columns;
    }
    if (c->half > 0 && c->half < c->n_buffers)
        c->view[c->half].dtype = SATTN_F16;
    const sattn_linear_weights weights = fuzz_weights_of(c);
    const bool has_maps = c->entry == LINEAR || c->entry == GRU_CELL || c->entry == RNN_CELL;
    if (has_maps && !c->is_absent && c->packing >= 4)
        c->packed = fuzz_pack(c, &weights, c->n_rows);
    if (c->entry != GRU && !c->is_absent && ask_workspace_size(c, &size) == SATTN_OK)
        fuzz_give_workspace(c, size);
    const int shared = fuzz_choice(bytes, 24); /* the output may lie on an input */
    if (shared > 0 && shared < c->n_buffers && is_looked_at(c, shared))
        c->view[OUTPUT].data = c->view[shared].data;
    for (int i = 0; i < c->n_buffers; ++i)
        if (c->is_absent)
            c->view[i].data = NULL;
    fuzz_keep(c);
}

/* ---- the call */

static sattn_status run(const layer_call *c)
{
    const sattn_alignment_args alignment = alignment_of(c);
    const sattn_linear_weights weights = fuzz_weights_of(c);
    const sattn_linear_rows rows = {
        .n_rows = c->n_rows, .x = c->view[1], .y = output_of(c), .adds = c->adds};
    const sattn_cell_weights cell = fuzz_cell_of(c);
    const sattn_cell_rows step = {
        .n_rows = c->n_rows, .x = c->view[1], .h = c->view[4], .next = output_of(c)};
    const sattn_general_attention_args general = general_of(c);
    const sattn_self_attention_args self = self_of(c);
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
    case GRU_CELL:
        return sattn_gru_cell(&cell, &step, &c->options);
    case RNN_CELL:
        return sattn_rnn_cell(&cell, &step, &c->options);
    case GENERAL:
        return sattn_general_attention(&general, &c->options);
    default:
        return sattn_self_attention(&self, &c->options);
    }
}

/* ---- what must hold */

static bool is_changed(const buffer *b)
{
    return b->size > 0 && memcmp(b->memory, b->copy, b->size) != 0;
}

static fuzz_outcome judge(const layer_call *c, sattn_status status)
{
    const bool is_written = c->view[OUTPUT].data == c->buffers[OUTPUT].memory;
    if (status != SATTN_OK) {
        for (int i = 0; i < c->n_buffers; ++i)
            if (is_changed(&c->buffers[i]))
                fuzz_complain("a refused call has written");
        if (sattn_last_error()[0] == '\0')
            fuzz_complain("a refused call has no text");
        return FUZZ_REFUSED;
    }
    const bool is_nothing =
        c->n_rows == 0 || (c->n_columns == 0 && c->entry < GENERAL) || c->batch == 0;
    if (c->is_absent && !is_nothing)
        fuzz_complain("a call without memory was accepted");
    for (int i = 1; is_written && i < c->n_buffers; ++i)
        if (is_changed(&c->buffers[i]))
            fuzz_complain("an accepted call has written to its input");
    if (c->entry >= GENERAL || is_nothing || !is_written)
        return FUZZ_ACCEPTED;
    if (!fuzz_verify(c))
        fuzz_complain("an accepted call does not agree with the oracle");
    return FUZZ_VERIFIED;
}

fuzz_outcome fuzz_check(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {.at = data, .left = size};
    static const entry entries[] = {ADDITIVE, ADDITIVE, ADDITIVE, LINEAR,  LINEAR, LINEAR,
                                    GRU,      GRU_CELL, RNN_CELL, GENERAL, SELF,   DECODER};
    layer_call c = {.entry = entries[fuzz_choice(&bytes, sizeof entries / sizeof entries[0])],
                    .options = {.profile = sattn_profile_none()}};
    fuzz_outcome outcome;
    if (c.entry == DECODER) {
        outcome = fuzz_decoder(&c, &bytes);
    } else {
        decode(&c, &bytes);
        outcome = judge(&c, run(&c));
    }
    for (int i = 0; i < c.n_buffers; ++i) {
        free(c.buffers[i].memory);
        free(c.buffers[i].copy);
    }
    free(c.n_k_valid);
    free(c.workspace);
    return outcome;
}
