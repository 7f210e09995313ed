/* SPDX-License-Identifier: MIT
 *
 * layer_calls.c: see layer_calls.h. */
#include "tests/support/layer_calls.h"

#include "bench/verify/inputs.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocations are counted: the linker sends the library's here */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static int64_t n_allocations;

void *__wrap_malloc(size_t size)
{
    ++n_allocations;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    ++n_allocations;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    ++n_allocations;
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    ++n_allocations;
    return __real_aligned_alloc(alignment, size);
}

/* ---- inputs and weights */

enum { N_K = LAYER_N_K, D = LAYER_D, GAP = LAYER_GAP, FLOATS = 1 << 16 };

static float queries[FLOATS], inputs[FLOATS], weights[LAYER_MAPS][FLOATS];

void layer_fill(void)
{
    for (int i = 0; i < FLOATS; ++i) {
        queries[i] = 0.5f * sattn_random_normal(3, 0, (uint64_t)i);
        inputs[i] = 0.5f * sattn_random_normal(3, 1, (uint64_t)i);
        for (int map = 0; map < LAYER_MAPS; ++map)
            weights[map][i] = 0.1f * sattn_random_normal(4, (uint64_t)map, (uint64_t)i);
    }
}

float *layer_input(int64_t b, int64_t row)
{
    return inputs + (b * (N_K + 1) + row) * (D + GAP);
}

sattn_linear_weights layer_weights(int map, int64_t n_out, int64_t n_in)
{
    return (sattn_linear_weights){.n_in = n_in,
                                  .n_out = n_out,
                                  .w = {.data = weights[map], .stride_t = n_in + 1},
                                  .bias = weights[map] + FLOATS - n_out};
}

static sattn_view view_of(const float *data, int64_t first, int64_t stride_b)
{
    return (sattn_view){.data = data + first * stride_b, .stride_b = stride_b, .stride_t = D + GAP};
}

sattn_view layer_queries(const layer_call *call, int64_t rows)
{
    return view_of(queries, call->first, rows * (D + GAP));
}

sattn_view layer_inputs(const layer_call *call)
{
    return view_of(inputs, call->first, (N_K + 1) * (D + GAP));
}

/* ---- what stands around a call */

static void stop_unless(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "FAIL: %s: %s\n", what, sattn_last_error());
    exit(1);
}

void layer_expect_ok(sattn_status status, const char *what)
{
    stop_unless(status == SATTN_OK, what);
}

static sattn_mut_view make_output(layer_call *call, int64_t rows, int64_t columns, int64_t gap)
{
    const test_extents extents = test_extents_f32(call->batch, rows, columns, gap);
    test_operand *const made = &call->outputs[call->n_outputs++];
    *made = test_operand_make(&extents, TEST_END_FLUSH, 0);
    test_operand_spoil(made, 0, rows);
    test_operand_seal(made);
    return (sattn_mut_view){
        .data = made->data, .stride_b = extents.group_stride, .stride_t = extents.row_stride};
}

sattn_mut_view layer_output(layer_call *call, int64_t rows, int64_t columns)
{
    return make_output(call, rows, columns, GAP);
}

/* A row of each batch entry. */
sattn_mut_view layer_output_row(layer_call *call, int64_t columns)
{
    sattn_mut_view view = layer_output(call, 1, columns);
    view.stride_t = view.stride_b;
    return view;
}

/* As many floats as the integers take. */
int64_t *layer_output_integers(layer_call *call, int64_t columns)
{
    return make_output(call, 1, columns * (int64_t)(sizeof(int64_t) / sizeof(float)), 0).data;
}

void layer_pack(layer_call *call, sattn_linear_weights *w, int64_t n_rows)
{
    size_t size;
    if (!call->packs)
        return;
    layer_expect_ok(sattn_linear_pack_size(w, n_rows, &call->options, &size), "the size of a pack");
    void *const packed = aligned_alloc(64, (size + 63) / 64 * 64);
    layer_expect_ok(sattn_linear_pack(w, n_rows, &call->options, packed, size), "packing");
    call->packed[call->n_packed++] = packed;
    w->packed = packed;
    w->w = (sattn_view){0};
}

void layer_make_workspace(layer_call *call, size_t size)
{
    const test_extents extents = test_extents_f32(1, 1, (int64_t)(size / sizeof(float)), 0);
    stop_unless(size % 64 == 0, "a workspace of whole cache lines");
    if (call->has_workspace) {
        call->workspace = test_operand_make(&extents, TEST_END_FLUSH, 0);
        call->options.workspace = call->workspace.data;
        call->options.workspace_size = size;
    }
    n_allocations = 0;
}

void layer_expect_allocations(const layer_call *call, const char *name)
{
    stop_unless((n_allocations == 0) == call->has_workspace, name);
}

/* ---- the whole */

void layer_run(const layer_case *c, layer_call *call)
{
    c->run(call);
    for (int o = 0; o < call->n_outputs; ++o) {
        test_operand *const made = &call->outputs[o];
        const int64_t n_rows = made->extents.n_rows;
        int64_t at;
        stop_unless(!test_operand_has_canary(made, 0, n_rows), "an output is not written in full");
        test_operand_accept(made, 0, n_rows);
        stop_unless(test_operand_is_unchanged(made, &at), "something beside an output was written");
    }
}

void layer_free(layer_call *call)
{
    for (int o = 0; o < call->n_outputs; ++o)
        test_operand_free(&call->outputs[o]);
    for (int i = 0; i < call->n_packed; ++i)
        free(call->packed[i]);
    if (call->workspace.map)
        test_operand_free(&call->workspace);
}

bool layer_same_bits(const layer_call *got, const layer_call *want, int *at)
{
    for (*at = 0; *at < got->n_outputs; ++*at) {
        const test_operand *const a = &got->outputs[*at], *const b = &want->outputs[*at];
        for (int64_t g = 0; g < got->batch; ++g)
            for (int64_t i = 0; i < a->extents.n_rows; ++i)
                if (memcmp(test_operand_f32(a, g, i),
                           test_operand_f32(b, got->first + g - want->first, i),
                           (size_t)a->extents.n_columns * sizeof(float)) != 0)
                    return false;
    }
    return true;
}
