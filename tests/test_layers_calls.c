/* SPDX-License-Identifier: MIT
 *
 * test_layers_calls.c: sattn_sigmoid, sattn_additive, sattn_linear and its packs, sattn_gru and the
 * recurrent cells: what they refuse, naming it and leaving everything as it was. What they compute
 * is test_layers_values.c's question. */
#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, N_Q = 3, N_K = 5, D = 6, GAP = 2 };
enum { ROWS = 3, N_IN = 7, N_HIDDEN = 4, PARTS = 3, N_GATES = PARTS * N_HIDDEN };
enum { FLOATS = 256, PACK_BYTES = 1 << 14 };

/* One legal call of each kind; w, u, x, h, y and k are for whatever it needs. */
typedef struct call {
    _Alignas(64) unsigned char packed[PACK_BYTES];
    float x[FLOATS], h[FLOATS], y[FLOATS], w[FLOATS], u[FLOATS], k[FLOATS], bias[FLOATS];
    int64_t n_k_valid[BATCH];
    sattn_alignment_args alignment;
    sattn_linear_weights weights;
    sattn_linear_rows rows;
    sattn_gate_args gates;
    sattn_cell_weights cell;
    sattn_cell_rows step;
    sattn_options options;
    int64_t n;
} call;

static void fill(float *numbers, float scale)
{
    for (int i = 0; i < FLOATS; ++i)
        numbers[i] = (float)(i * 7 % 13 - 6) * scale;
}

static void make_call(call *c)
{
    memset(c, 0, sizeof *c);
    fill(c->x, 0.25f);
    fill(c->h, 0.125f);
    fill(c->w, 0.5f);
    fill(c->u, 0.0625f);
    fill(c->k, 0.375f);
    fill(c->bias, 1.0f);
    fill(c->y, 99.0f);
    c->n = FLOATS;
    for (int b = 0; b < BATCH; ++b)
        c->n_k_valid[b] = N_K - 2 * b;
    c->alignment = (sattn_alignment_args){
        .batch = BATCH,
        .n_q = N_Q,
        .n_k = N_K,
        .d = D,
        .q = {.data = c->x, .stride_b = N_Q * D, .stride_t = D},
        .k = {.data = c->k, .stride_b = N_K * D, .stride_t = D},
        .v = c->w,
        .scores = {.data = c->y, .stride_b = N_Q * (N_K + GAP), .stride_t = N_K + GAP},
        .n_k_valid = c->n_k_valid};
    c->weights = (sattn_linear_weights){
        .n_in = N_IN, .n_out = N_HIDDEN, .w = {.data = c->w, .stride_t = N_IN}, .bias = c->bias};
    c->rows = (sattn_linear_rows){.n_rows = ROWS,
                                  .x = {.data = c->x, .stride_t = N_IN + GAP},
                                  .y = {.data = c->y, .stride_t = N_HIDDEN + GAP}};
    c->gates = (sattn_gate_args){.n_rows = ROWS,
                                 .n_hidden = N_HIDDEN,
                                 .gates_x = {.data = c->x, .stride_t = N_GATES},
                                 .gates_h = {.data = c->k, .stride_t = N_GATES + GAP},
                                 .h = {.data = c->h, .stride_t = N_HIDDEN},
                                 .next = {.data = c->y, .stride_t = N_HIDDEN + GAP}};
    c->cell.input = c->weights;
    c->cell.input.n_out = N_GATES;
    c->cell.hidden = (sattn_linear_weights){
        .n_in = N_HIDDEN, .n_out = N_GATES, .w = {.data = c->u, .stride_t = N_HIDDEN}};
    c->step = (sattn_cell_rows){.n_rows = ROWS,
                                .x = {.data = c->x, .stride_t = N_IN},
                                .h = {.data = c->h, .stride_t = N_HIDDEN},
                                .next = {.data = c->y, .stride_t = N_HIDDEN}};
}

typedef sattn_status call_fn(call *c);

static sattn_status sigmoid(call *c)
{
    return sattn_sigmoid(c->x, c->y, c->n, &c->options);
}

static sattn_status additive(call *c)
{
    return sattn_additive(&c->alignment, &c->options);
}

static sattn_status linear(call *c)
{
    return sattn_linear(&c->weights, &c->rows, &c->options);
}

static sattn_status pack(call *c)
{
    return sattn_linear_pack(&c->weights, ROWS, &c->options, c->packed, PACK_BYTES);
}

static sattn_status gru(call *c)
{
    return sattn_gru(&c->gates, &c->options);
}

static sattn_status gru_cell(call *c)
{
    return sattn_gru_cell(&c->cell, &c->step, &c->options);
}

static sattn_status rnn_cell(call *c)
{
    if (c->cell.input.n_out == N_GATES)
        c->cell.input.n_out = N_HIDDEN;
    if (c->cell.hidden.n_out == N_GATES)
        c->cell.hidden.n_out = N_HIDDEN;
    return sattn_rnn_cell(&c->cell, &c->step, &c->options);
}

static void expect_refusal(call_fn *made, call *c, sattn_status status, const char *text)
{
    static call before;
    memcpy(&before, c, sizeof before);
    const sattn_status got = made(c);
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
    c->cell = before.cell; /* that of an RNN is made of a GRU's */
    assert_memory_equal(&before, c, sizeof before);
}

/* Applies `change` to a fresh legal call and expects it to be refused. */
#define REFUSED(made, status, text, change)                                                        \
    do {                                                                                           \
        static call c;                                                                             \
        make_call(&c);                                                                             \
        change;                                                                                    \
        expect_refusal(made, &c, status, text);                                                    \
    } while (0)

static void *odd(void *address)
{
    return (char *)address + 2;
}

static void test_sigmoid_refusals(void **state)
{
    (void)state;
    REFUSED(sigmoid, SATTN_ERR_ARGUMENT, "n = -1", c.n = -1);
    REFUSED(sigmoid, SATTN_ERR_TOO_LARGE, "n = ", c.n = INT64_MAX);
    REFUSED(sigmoid, SATTN_ERR_ARGUMENT, "options.threads = -1", c.options.threads = -1);
    REFUSED(sigmoid, SATTN_ERR_KERNEL, "sattn_sigmoid_f32_scalar",
            c.options.kernels = "sattn_sigmoid_f32_mmx");
    assert_int_equal(sattn_sigmoid(NULL, NULL, 0, NULL), SATTN_OK);
    assert_int_equal(sattn_sigmoid(NULL, NULL, 1, NULL), SATTN_ERR_ARGUMENT);
}

static void test_additive_refusals(void **state)
{
    (void)state;
    REFUSED(additive, SATTN_ERR_ARGUMENT, "batch = -1", c.alignment.batch = -1);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "n_q = -2", c.alignment.n_q = -2);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "n_k = -3", c.alignment.n_k = -3);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "d = 0", c.alignment.d = 0);
    REFUSED(additive, SATTN_ERR_TOO_LARGE, "d = 1099511627777",
            c.alignment.d = ((int64_t)1 << 40) + 1);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "q.data is NULL", c.alignment.q.data = NULL);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "k.data is NULL", c.alignment.k.data = NULL);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "v is NULL", c.alignment.v = NULL);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "scores.data is NULL", c.alignment.scores.data = NULL);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "v = 0x", c.alignment.v = odd(c.w));
    REFUSED(additive, SATTN_ERR_ARGUMENT, "n_k_valid = 0x",
            c.alignment.n_k_valid = (void *)(c.w + 1 + (uintptr_t)c.w / 4 % 2));
    REFUSED(additive, SATTN_ERR_ARGUMENT, "q.stride_t = 5", c.alignment.q.stride_t = D - 1);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "k.stride_b = -1", c.alignment.k.stride_b = -1);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "scores.stride_t = 4", c.alignment.scores.stride_t = 4);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores: with these", c.alignment.scores.stride_t = 0);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores: with these", c.alignment.scores.stride_b = 2);
    REFUSED(additive, SATTN_ERR_TOO_LARGE, "k:", c.alignment.k.stride_b = INT64_MAX / 2);
    REFUSED(additive, SATTN_ERR_UNSUPPORTED, "k.dtype", c.alignment.k.dtype = SATTN_BF16);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "n_k_valid[1] = 6", c.n_k_valid[1] = N_K + 1);
    REFUSED(additive, SATTN_ERR_ARGUMENT, "n_k_valid[0] = -1", c.n_k_valid[0] = -1);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores.data overlaps q.data",
            c.alignment.q.data = c.y + 5);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores.data overlaps k.data", c.alignment.k.data = c.y);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores.data overlaps v", c.alignment.v = c.y + 4);
    REFUSED(additive, SATTN_ERR_OVERLAP, "scores.data overlaps n_k_valid",
            c.alignment.scores.data = c.n_k_valid);
    REFUSED(additive, SATTN_ERR_WORKSPACE, "workspace_size = 64",
            (c.options.workspace = c.packed, c.options.workspace_size = 64));
    REFUSED(additive, SATTN_ERR_OVERLAP, "workspace overlaps q.data",
            (c.options.workspace = c.packed, c.options.workspace_size = PACK_BYTES,
             c.alignment.q.data = c.packed + 128));
    REFUSED(additive, SATTN_ERR_ARGUMENT, "options.threads = -3", c.options.threads = -3);
    REFUSED(additive, SATTN_ERR_KERNEL, "sattn_additive_f32_scalar",
            c.options.kernels = "sattn_additive_f32");
    assert_int_equal(sattn_additive(NULL, NULL), SATTN_ERR_ARGUMENT);
}

static void test_linear_refusals(void **state)
{
    (void)state;
    REFUSED(linear, SATTN_ERR_ARGUMENT, "n_in = 0", c.weights.n_in = 0);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "n_out = 0", c.weights.n_out = 0);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "n_rows = -1", c.rows.n_rows = -1);
    REFUSED(linear, SATTN_ERR_TOO_LARGE, "n_out = ", c.weights.n_out = INT64_MAX);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "w.data is NULL", c.weights.w.data = NULL);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "x.data is NULL", c.rows.x.data = NULL);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "y.data is NULL", c.rows.y.data = NULL);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "bias = 0x", c.weights.bias = odd(c.bias));
    REFUSED(linear, SATTN_ERR_ARGUMENT, "w.stride_t = 6", c.weights.w.stride_t = N_IN - 1);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "x.stride_t = -9", c.rows.x.stride_t = -9);
    REFUSED(linear, SATTN_ERR_OVERLAP, "y: with these", c.rows.y.stride_t = 0);
    REFUSED(linear, SATTN_ERR_UNSUPPORTED, "w.dtype", c.weights.w.dtype = SATTN_F16);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "y.dtype = 9", c.rows.y.dtype = (sattn_dtype)9);
    REFUSED(linear, SATTN_ERR_OVERLAP, "y.data overlaps x.data", c.rows.y.data = c.x + 2);
    REFUSED(linear, SATTN_ERR_OVERLAP, "y.data overlaps x.data", c.rows.y.data = c.x);
    REFUSED(linear, SATTN_ERR_OVERLAP, "y.data overlaps w.data", c.rows.y.data = c.w);
    REFUSED(linear, SATTN_ERR_OVERLAP, "y.data overlaps bias", c.weights.bias = c.y + 8);
    REFUSED(linear, SATTN_ERR_WORKSPACE, "workspace_size = 8",
            (c.options.workspace = c.packed, c.options.workspace_size = 8));
    REFUSED(linear, SATTN_ERR_KERNEL, "sattn_linear_f32_scalar",
            c.options.kernels = "sattn_linear_f32_");
    assert_int_equal(sattn_linear(NULL, NULL, NULL), SATTN_ERR_ARGUMENT);
}

/* Weights of a call of linear, packed for the scalar kernel. */
static void use_packed(call *c)
{
    c->options.kernels = "sattn_linear_f32_scalar";
    assert_int_equal(pack(c), SATTN_OK);
    c->weights.packed = c->packed;
    c->options.kernels = NULL;
}

/* The name of some other kernel that may run here. */
static const char *another_linear_kernel(void)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == SATTN_OP_linear && (rows[i].needs & ~sattn_cpu_this()->usable) == 0 &&
            strcmp(rows[i].name, "sattn_linear_f32_scalar") != 0)
            return rows[i].name;
    return NULL;
}

static void test_pack_refusals(void **state)
{
    (void)state;
    REFUSED(pack, SATTN_ERR_ARGUMENT, "n_in = 0", c.weights.n_in = 0);
    REFUSED(pack, SATTN_ERR_ARGUMENT, "w.data is NULL", c.weights.w.data = NULL);
    REFUSED(pack, SATTN_ERR_ARGUMENT, "w.stride_t = 1", c.weights.w.stride_t = 1);
    REFUSED(pack, SATTN_ERR_OVERLAP, "packed overlaps w.data", c.weights.w.data = c.packed + 64);
    REFUSED(pack, SATTN_ERR_TOO_LARGE, "n_in = ",
            (c.weights.n_in = c.weights.n_out = (int64_t)1 << 40, c.weights.w.stride_t = 0));
    static call c;
    size_t size = 1;
    make_call(&c);
    assert_int_equal(sattn_linear_pack_size(&c.weights, ROWS, NULL, &size), SATTN_OK);
    assert_in_range(size, 128 + sizeof(float) * N_IN * N_HIDDEN, PACK_BYTES);
    assert_int_equal(sattn_linear_pack(&c.weights, ROWS, NULL, c.packed, size - 1),
                     SATTN_ERR_ARGUMENT);
    assert_non_null(strstr(sattn_last_error(), "size = "));
    assert_int_equal(sattn_linear_pack(&c.weights, ROWS, NULL, c.packed + 4, PACK_BYTES - 4),
                     SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_pack(&c.weights, ROWS, NULL, NULL, size), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_pack(&c.weights, -1, NULL, c.packed, size), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_pack(NULL, ROWS, NULL, c.packed, size), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_pack_size(&c.weights, ROWS, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_pack_size(NULL, ROWS, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
}

static void test_tags(void **state)
{
    (void)state;
    REFUSED(linear, SATTN_ERR_ARGUMENT, "packed: its tag is missing", c.weights.packed = c.packed);
    REFUSED(linear, SATTN_ERR_ARGUMENT, "packed = 0x",
            (use_packed(&c), c.weights.packed = c.packed + 16));
    REFUSED(linear, SATTN_ERR_ARGUMENT, "packed: its tag", (use_packed(&c), c.packed[3] ^= 1));
    REFUSED(linear, SATTN_ERR_ARGUMENT, "packed: the weights packed are [4, 7]",
            (use_packed(&c), c.weights.n_in = N_IN - 1));
    REFUSED(linear, SATTN_ERR_ARGUMENT, "expected [n_out, n_in] = [3, 7]",
            (use_packed(&c), c.weights.n_out = N_HIDDEN - 1));
    REFUSED(linear, SATTN_ERR_ARGUMENT, "packed for sattn_linear_f32_sc?lar with tiles",
            (use_packed(&c), memcpy(strstr((char *)c.packed + 8, "scalar"), "sc?lar", 6)));
    for (size_t at = 96; at < 104; at += 4) /* the tiles */
        REFUSED(linear, SATTN_ERR_ARGUMENT, "which this build does not have",
                (use_packed(&c), c.packed[at] ^= 2));
    REFUSED(linear, SATTN_ERR_OVERLAP, "y.data overlaps packed",
            (use_packed(&c), c.rows.y.data = c.packed + 160));
    const char *const other = another_linear_kernel();
    if (other) {
        char text[160];
        snprintf(text, sizeof text, "by name: %s would run here", other);
        REFUSED(linear, SATTN_ERR_ARGUMENT, text, (use_packed(&c), c.options.kernels = other));
        REFUSED(linear, SATTN_ERR_ARGUMENT, "packed for sattn_linear_f32_scalar",
                (use_packed(&c), c.options.kernels = other));
        static call c;
        make_call(&c);
        c.options.kernels = other;
        assert_int_equal(pack(&c), SATTN_OK);
        c.weights.packed = c.packed;
        c.options.kernels = NULL;
        c.options.isa = "scalar";
        expect_refusal(linear, &c, SATTN_ERR_ARGUMENT,
                       "which may not run here: sattn_linear_f32_scalar would run here");
    }
    static call c;
    make_call(&c);
    use_packed(&c);
    assert_int_equal(linear(&c), SATTN_OK);
    c.weights.w.data = NULL; /* not looked at */
    c.weights.w.dtype = SATTN_BF16;
    assert_int_equal(linear(&c), SATTN_OK);
}

static void test_gru_refusals(void **state)
{
    (void)state;
    REFUSED(gru, SATTN_ERR_ARGUMENT, "n_rows = -1", c.gates.n_rows = -1);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "n_hidden = -1", c.gates.n_hidden = -1);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "gates_x.data is NULL", c.gates.gates_x.data = NULL);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "gates_h.data is NULL", c.gates.gates_h.data = NULL);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "h.data is NULL", c.gates.h.data = NULL);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "next.data is NULL", c.gates.next.data = NULL);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "gates_x.stride_t = 11", c.gates.gates_x.stride_t = 11);
    REFUSED(gru, SATTN_ERR_ARGUMENT, "h.stride_t = 3", c.gates.h.stride_t = 3);
    REFUSED(gru, SATTN_ERR_UNSUPPORTED, "gates_h.dtype", c.gates.gates_h.dtype = SATTN_F16);
    REFUSED(gru, SATTN_ERR_OVERLAP, "next: with these", c.gates.next.stride_t = 0);
    REFUSED(gru, SATTN_ERR_OVERLAP, "next.data overlaps gates_x.data", c.gates.next.data = c.x + 8);
    REFUSED(gru, SATTN_ERR_OVERLAP, "or exactly h with equal strides", c.gates.next.data = c.h);
    REFUSED(gru, SATTN_ERR_OVERLAP, "next.data overlaps h.data",
            (c.gates.next.data = c.h + N_HIDDEN, c.gates.next.stride_t = N_HIDDEN));
    REFUSED(gru, SATTN_ERR_KERNEL, "sattn_gru_f32_scalar", c.options.kernels = "sattn_gru_f32_x");
    assert_int_equal(sattn_gru(NULL, NULL), SATTN_ERR_ARGUMENT);
}

/* Packs a map of a cell; returns the last float of the pack. */
static float *pack_map(call *c, sattn_linear_weights *map)
{
    size_t size;
    assert_int_equal(sattn_linear_pack_size(map, ROWS, NULL, &size), SATTN_OK);
    assert_in_range(size, 1, PACK_BYTES / 2);
    assert_int_equal(sattn_linear_pack(map, ROWS, NULL, c->packed, size), SATTN_OK);
    map->packed = c->packed;
    return (float *)(void *)(c->packed + size) - 1;
}

static void refuse_cells(call_fn *cell)
{
    REFUSED(cell, SATTN_ERR_ARGUMENT, "input.n_in = 0", c.cell.input.n_in = 0);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "hidden.n_in = 0", c.cell.hidden.n_in = 0);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "input.n_out = 13", c.cell.input.n_out = N_GATES + 1);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "n_rows = -4", c.step.n_rows = -4);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "input.w.data is NULL", c.cell.input.w.data = NULL);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "hidden.w.data is NULL", c.cell.hidden.w.data = NULL);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "hidden.w.stride_t = 2", c.cell.hidden.w.stride_t = 2);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "input.bias = 0x", c.cell.input.bias = odd(c.bias));
    REFUSED(cell, SATTN_ERR_UNSUPPORTED, "input.w.dtype", c.cell.input.w.dtype = SATTN_F16);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "hidden.packed: its tag", c.cell.hidden.packed = c.packed);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "x.data is NULL", c.step.x.data = NULL);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "h.data is NULL", c.step.h.data = NULL);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "next.data is NULL", c.step.next.data = NULL);
    REFUSED(cell, SATTN_ERR_ARGUMENT, "x.stride_t = 6", c.step.x.stride_t = N_IN - 1);
    REFUSED(cell, SATTN_ERR_OVERLAP, "next: with these", c.step.next.stride_t = 0);
    REFUSED(cell, SATTN_ERR_OVERLAP, "next.data overlaps x.data", c.step.next.data = c.x);
    REFUSED(cell, SATTN_ERR_OVERLAP, "or exactly h with equal strides",
            c.step.next.data = c.h + N_HIDDEN);
    REFUSED(cell, SATTN_ERR_OVERLAP, "next.data overlaps input.w.data", c.step.next.data = c.w + 5);
    REFUSED(cell, SATTN_ERR_OVERLAP, "next.data overlaps input.bias", c.step.next.data = c.bias);
    REFUSED(cell, SATTN_ERR_OVERLAP, "next.data overlaps hidden.w.data", c.step.next.data = c.u);
    REFUSED(cell, SATTN_ERR_WORKSPACE, "workspace_size = 100",
            (c.options.workspace = c.packed, c.options.workspace_size = 100));
    REFUSED(cell, SATTN_ERR_WORKSPACE, "workspace = 0x",
            (c.options.workspace = c.packed + 4, c.options.workspace_size = 100));
    REFUSED(cell, SATTN_ERR_OVERLAP, "workspace overlaps hidden.w.data",
            (c.options.workspace = c.packed, c.options.workspace_size = PACK_BYTES,
             c.cell.hidden.w.data = c.packed + PACK_BYTES / 2));
    REFUSED(cell, SATTN_ERR_KERNEL, "sattn_linear_f32_scalar",
            c.options.kernels = "sattn_linear_f32_y");
}

static void test_cell_refusals(void **state)
{
    (void)state;
    refuse_cells(gru_cell);
    refuse_cells(rnn_cell);
    REFUSED(gru_cell, SATTN_ERR_ARGUMENT, "hidden.n_out = 4: expected 12, three times hidden.n_in",
            c.cell.hidden.n_out = N_HIDDEN);
    REFUSED(rnn_cell, SATTN_ERR_ARGUMENT, "hidden.n_out = 8: expected 4, as hidden.n_in",
            c.cell.hidden.n_out = 2 * N_HIDDEN);
    REFUSED(gru_cell, SATTN_ERR_OVERLAP, "next.data overlaps input.packed",
            c.step.next.data = pack_map(&c, &c.cell.input));
    REFUSED(gru_cell, SATTN_ERR_OVERLAP, "next.data overlaps hidden.packed",
            c.step.next.data = pack_map(&c, &c.cell.hidden));
    REFUSED(gru_cell, SATTN_ERR_OVERLAP, "workspace overlaps hidden.packed",
            (pack_map(&c, &c.cell.hidden), c.options.workspace = c.packed,
             c.options.workspace_size = PACK_BYTES));
    REFUSED(gru_cell, SATTN_ERR_KERNEL, "sattn_gru_f32_scalar",
            c.options.kernels = "sattn_gru_f32_z");
    REFUSED(rnn_cell, SATTN_ERR_KERNEL, "sattn_tanh_f32_scalar",
            c.options.kernels = "sattn_tanh_f32_z");
    REFUSED(gru_cell, SATTN_ERR_TOO_LARGE, "n_rows = ",
            (c.step.n_rows = (int64_t)1 << 40, c.cell.hidden.n_in = (int64_t)1 << 38,
             c.cell.hidden.n_out = c.cell.input.n_out = 3 * ((int64_t)1 << 38),
             c.cell.hidden.w.stride_t = c.cell.input.w.stride_t = 0));
    assert_int_equal(sattn_gru_cell(NULL, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_rnn_cell(NULL, NULL, NULL), SATTN_ERR_ARGUMENT);
}

static void test_sizes(void **state)
{
    (void)state;
    static call c;
    size_t size = 1;
    make_call(&c);
    assert_int_equal(sattn_additive_workspace_size(&c.alignment, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_linear_workspace_size(&c.weights, 1, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_gru_cell_workspace_size(&c.cell, 1, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_rnn_cell_workspace_size(&c.cell, 1, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_rnn_cell_workspace_size(&c.cell, 1, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
    c.alignment.q.data = c.alignment.k.data = c.alignment.scores.data = NULL;
    c.alignment.v = NULL;
    c.alignment.n_k_valid = NULL;
    c.weights.w.data = NULL;
    c.weights.bias = NULL;
    assert_int_equal(sattn_additive_workspace_size(&c.alignment, NULL, &size), SATTN_OK);
    assert_int_equal(size % 64, 0);
    assert_true(size >= sattn_additive_scratch_bytes(D));
    assert_int_equal(sattn_linear_workspace_size(&c.weights, 1, NULL, &size), SATTN_OK);
    assert_true(size >= sattn_linear_scratch_bytes(N_IN));
    assert_int_equal(sattn_linear_workspace_size(&c.weights, 0, NULL, &size), SATTN_OK);
    assert_int_equal(size, 0);
    assert_int_equal(sattn_gru_cell_workspace_size(&c.cell, ROWS, NULL, &size), SATTN_OK);
    assert_true(size >= sattn_linear_scratch_bytes(N_IN) + 2 * sizeof(float) * N_GATES * ROWS);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    static call c, before;
    make_call(&c);
    c.alignment.n_k = c.rows.n_rows = c.gates.n_rows = c.step.n_rows = c.n = 0;
    c.alignment.k.data = c.rows.x.data = c.gates.h.data = c.step.x.data = NULL;
    c.rows.y.data = NULL;
    memcpy(&before, &c, sizeof c);
    call_fn *const all[] = {sigmoid, additive, linear, gru, gru_cell, rnn_cell};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        assert_int_equal(all[i](&c), SATTN_OK);
        c.cell = before.cell;
        assert_memory_equal(&before, &c, sizeof c);
    }
}

/* One candidate of each kernel of the op, of which one is taken; its kernel. */
static const char *taken_of(sattn_explanation *e, sattn_op op)
{
    size_t count, n_of_op = 0;
    const char *taken = NULL;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        n_of_op += rows[i].op == op;
    assert_int_equal(e->n_candidates, n_of_op);
    for (size_t i = 0; i < e->n_candidates; ++i) {
        assert_int_equal(sattn_kernel_by_name(e->candidates[i].kernels)->op, op);
        assert_string_equal(e->candidates[i].plan, "");
        assert_int_equal(e->candidates[i].reason[0] == '\0', e->candidates[i].is_taken);
        if (e->candidates[i].is_taken)
            taken = sattn_kernel_by_name(e->candidates[i].kernels)->name;
    }
    assert_non_null(taken);
    return taken;
}

static void test_explanations(void **state)
{
    (void)state;
    static call c;
    sattn_explanation *e;
    const sattn_options scalar = {.kernels = "sattn_linear_f32_scalar,sattn_gru_f32_scalar"};
    make_call(&c);
    assert_int_equal(sattn_explain_sigmoid(&e, 700, NULL), SATTN_OK);
    assert_string_equal(e->shape_class, "sigmoid n<=1024 threads=1");
    taken_of(e, SATTN_OP_sigmoid);
    sattn_explanation_destroy(e);
    assert_int_equal(sattn_explain_additive(&e, &c.alignment, NULL), SATTN_OK);
    assert_string_equal(e->shape_class, "additive few-query rows<=4 keys<=8 d<=8 dense threads=1");
    taken_of(e, SATTN_OP_additive);
    sattn_explanation_destroy(e);
    assert_int_equal(sattn_explain_gru(&e, ROWS, N_HIDDEN, &scalar), SATTN_OK);
    assert_string_equal(e->shape_class, "gru n<=16 threads=1");
    assert_string_equal(taken_of(e, SATTN_OP_gru), "sattn_gru_f32_scalar");
    assert_non_null(strstr(e->decision, "by name"));
    sattn_explanation_destroy(e);
    assert_int_equal(sattn_explain_linear(&e, &c.weights, ROWS, &scalar), SATTN_OK);
    assert_string_equal(e->shape_class,
                        "linear few-query rows<=4 outputs<=4 inputs<=8 in-place threads=1");
    assert_string_equal(taken_of(e, SATTN_OP_linear), "sattn_linear_f32_scalar");
    sattn_explanation_destroy(e);
    assert_int_equal(sattn_explain_additive(&e, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_null(e);
    assert_int_equal(sattn_explain_gru(&e, -1, 1, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_explain_linear(NULL, &c.weights, 1, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_explain_linear_pack(&e, NULL, 1, NULL), SATTN_ERR_ARGUMENT);
}

/* What packed weights are packed for is taken, and nothing else can be. */
static void test_explanations_of_packs(void **state)
{
    (void)state;
    static call c;
    sattn_explanation *e;
    const char *const other = another_linear_kernel();
    make_call(&c);
    assert_int_equal(sattn_explain_linear_pack(&e, &c.weights, 1, NULL), SATTN_OK);
    assert_string_equal(e->shape_class,
                        "linear decode rows<=1 outputs<=4 inputs<=8 packed threads=1");
    const char *const chosen = taken_of(e, SATTN_OP_linear);
    sattn_explanation_destroy(e);
    c.weights.packed = c.packed;
    assert_int_equal(sattn_linear_pack(&c.weights, 1, NULL, c.packed, PACK_BYTES), SATTN_OK);
    assert_int_equal(sattn_explain_linear(&e, &c.weights, 40, NULL), SATTN_OK);
    assert_string_equal(e->decision, "the weights are packed for it");
    assert_string_equal(taken_of(e, SATTN_OP_linear), chosen);
    for (size_t i = 0; i < e->n_candidates; ++i) {
        assert_int_equal(e->candidates[i].is_eligible, e->candidates[i].is_taken);
        assert_true(e->candidates[i].is_taken || !e->candidates[i].is_eligible);
    }
    sattn_explanation_destroy(e);
    use_packed(&c);
    const sattn_options named = {.kernels = other};
    if (other)
        assert_int_equal(sattn_explain_linear(&e, &c.weights, 1, &named), SATTN_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sigmoid_refusals),
        cmocka_unit_test(test_additive_refusals),
        cmocka_unit_test(test_linear_refusals),
        cmocka_unit_test(test_pack_refusals),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_gru_refusals),
        cmocka_unit_test(test_cell_refusals),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_explanations_of_packs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
