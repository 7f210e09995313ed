/* SPDX-License-Identifier: MIT
 *
 * check_layers.c: additive alignment, linear maps and gated units against the oracle: one row and
 * several, extents around vectors and tiles, weights in place and packed; numbers of size 1, so
 * large that tanh and sigmoid are flat, and so small that products are below FLT_MIN. */
#include "bench/check/check.h"
#include "bench/verify/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shape classes: every combination of some extents */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const int alignment_rows[] = {1, 2, 5, 33}, alignment_keys[] = {1, 37, 131};
static const int alignment_features[] = {1, 7, 33, 64, 130};
static const int map_rows[] = {1, 5, 65}, map_outputs[] = {1, 47, 131};
static const int map_inputs[] = {1, 15, 67, 130};
static const int gate_rows[] = {1, 3};
static const int gate_units[] = {1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17,  31,  32,
                                 33, 47, 63, 64, 65, 67, 100, 127, 128, 130, 257, 512, 1025};

enum {
    N_ALIGNMENTS = COUNT(alignment_rows) * COUNT(alignment_keys) * COUNT(alignment_features),
    N_MAPS = 2 * COUNT(map_rows) * COUNT(map_outputs) * COUNT(map_inputs), /* and packed */
    N_GATES = COUNT(gate_rows) * COUNT(gate_units),
    N_LAYERS = N_ALIGNMENTS + N_MAPS + N_GATES,
};

/* The next of some extents, by a number that counts combinations. */
static int take(const int *extents, int n, int *combination)
{
    const int extent = extents[*combination % n];
    *combination /= n;
    return extent;
}

static sattn_check_layer layer_of(int index)
{
    int at = index;
    sattn_check_layer s = {.op = SATTN_OP_additive};
    if (at < N_ALIGNMENTS) {
        s.d = take(alignment_features, COUNT(alignment_features), &at);
        s.n_columns = take(alignment_keys, COUNT(alignment_keys), &at);
        s.n_rows = take(alignment_rows, COUNT(alignment_rows), &at);
        snprintf(s.name, sizeof s.name, "align-%dx%d-d%d", (int)s.n_rows, (int)s.n_columns,
                 (int)s.d);
        return s;
    }
    at -= N_ALIGNMENTS;
    if (at < N_MAPS) {
        s.op = SATTN_OP_linear;
        s.is_packed = at % 2 == 1;
        at /= 2;
        s.d = take(map_inputs, COUNT(map_inputs), &at);
        s.n_columns = take(map_outputs, COUNT(map_outputs), &at);
        s.n_rows = take(map_rows, COUNT(map_rows), &at);
        snprintf(s.name, sizeof s.name, "map-%dx%d-%d%s", (int)s.n_rows, (int)s.n_columns, (int)s.d,
                 s.is_packed ? "-packed" : "");
        return s;
    }
    at -= N_MAPS;
    s.op = SATTN_OP_gru;
    s.n_columns = take(gate_units, COUNT(gate_units), &at);
    s.n_rows = take(gate_rows, COUNT(gate_rows), &at);
    snprintf(s.name, sizeof s.name, "gates-%dx%d", (int)s.n_rows, (int)s.n_columns);
    return s;
}

const sattn_check_layer *sattn_check_layers(size_t *count)
{
    static sattn_check_layer layers[N_LAYERS];
    for (int i = 0; i < N_LAYERS && layers[N_LAYERS - 1].name[0] == '\0'; ++i)
        layers[i] = layer_of(i);
    *count = N_LAYERS;
    return layers;
}

static const struct {
    sattn_input_kind kind;
    float size;
} made[] = {{SATTN_INPUT_NORMAL, 1.0f},
            {SATTN_INPUT_LARGE8, 8.0f},
            {SATTN_INPUT_LARGE30, 30.0f},
            {SATTN_INPUT_TINY, 0x1p-70f}};

/* ---- calls */

/* a and b meet in the op, c is what both need: q, k, v; x, w, bias; gates_x, gates_h, h. */
typedef struct operands {
    float *a, *b, *c, *y;
    int64_t n_a, n_b, n_c, n_y;
} operands;

static operands sizes_of(const sattn_check_layer *s)
{
    const int64_t rows = s->n_rows, columns = s->n_columns;
    if (s->op == SATTN_OP_gru)
        return (operands){.n_a = 3 * rows * columns,
                          .n_b = 3 * rows * columns,
                          .n_c = rows * columns,
                          .n_y = rows * columns};
    return (operands){.n_a = rows * s->d,
                      .n_b = columns * s->d,
                      .n_c = s->op == SATTN_OP_linear ? columns : s->d,
                      .n_y = rows * columns};
}

static bool make(operands *o, uint64_t seed, float size)
{
    const size_t n = (size_t)(o->n_a + o->n_b + o->n_c);
    o->a = malloc((n + (size_t)o->n_y) * sizeof *o->a);
    if (!o->a)
        return false;
    for (size_t i = 0; i < n; ++i)
        o->a[i] = sattn_random_normal(seed, 0, i) * (i < (size_t)(o->n_a + o->n_b) ? size : 1.0f);
    o->b = o->a + o->n_a;
    o->c = o->b + o->n_b;
    o->y = o->c + o->n_c;
    return true;
}

static void refuse(sattn_check_entry *entry, const char *what)
{
    snprintf(entry->refused, sizeof entry->refused, "%s", what);
}

static sattn_view view_of(const float *data, int64_t columns)
{
    return (sattn_view){.data = data, .stride_t = columns};
}

static void check_additive(const sattn_check_layer *s, const operands *o,
                           const sattn_kernel *kernel, const sattn_options *options,
                           sattn_check_entry *entry)
{
    const sattn_alignment_args args = {.batch = 1,
                                       .n_q = s->n_rows,
                                       .n_k = s->n_columns,
                                       .d = s->d,
                                       .q = view_of(o->a, s->d),
                                       .k = view_of(o->b, s->d),
                                       .v = o->c,
                                       .scores = {.data = o->y, .stride_t = s->n_columns}};
    const double tanh_ulp = sattn_kernel_stated_ulp(kernel);
    if (!(tanh_ulp > 0)) {
        refuse(entry, "the note of its registry row states no error of tanh in ULP");
        return;
    }
    if (sattn_additive(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (sattn_verify_place at = {0}; at.row < s->n_rows; ++at.row) {
        const sattn_verify_alignments row = {.q = o->a + at.row * s->d,
                                             .k = o->b,
                                             .v = o->c,
                                             .k_stride = s->d,
                                             .d = s->d,
                                             .n = s->n_columns,
                                             .tanh_ulp = tanh_ulp};
        sattn_verify_alignments_row(&row, o->y + at.row * s->n_columns, at, &entry->result);
    }
}

/* Sets weights->packed to memory that is to be freed, if they are to be packed. */
static bool pack(const sattn_check_layer *s, const sattn_options *options,
                 sattn_linear_weights *weights, void **packed)
{
    size_t size;
    *packed = NULL;
    if (!s->is_packed)
        return true;
    if (sattn_linear_pack_size(weights, s->n_rows, options, &size) != SATTN_OK)
        return false;
    weights->packed = *packed = aligned_alloc(64, (size + 63) / 64 * 64);
    return *packed && sattn_linear_pack(weights, s->n_rows, options, *packed, size) == SATTN_OK;
}

static void check_linear(const sattn_check_layer *s, const operands *o,
                         const sattn_options *options, sattn_check_entry *entry)
{
    void *packed;
    sattn_linear_weights weights = {
        .n_in = s->d, .n_out = s->n_columns, .w = view_of(o->b, s->d), .bias = o->c};
    const sattn_linear_rows rows = {.n_rows = s->n_rows,
                                    .x = view_of(o->a, s->d),
                                    .y = {.data = o->y, .stride_t = s->n_columns}};
    const bool is_good =
        pack(s, options, &weights, &packed) && sattn_linear(&weights, &rows, options) == SATTN_OK;
    if (!is_good)
        refuse(entry, sattn_last_error());
    for (sattn_verify_place at = {0}; is_good && at.row < s->n_rows; ++at.row) {
        const sattn_verify_map row = {.x = o->a + at.row * s->d,
                                      .w = o->b,
                                      .bias = o->c,
                                      .w_stride = s->d,
                                      .n_in = s->d,
                                      .n_out = s->n_columns};
        sattn_verify_map_row(&row, o->y + at.row * s->n_columns, at, &entry->result);
    }
    free(packed);
}

static void check_gru(const sattn_check_layer *s, const operands *o, const sattn_kernel *kernel,
                      const sattn_options *options, sattn_check_entry *entry)
{
    const sattn_kernel *const sigmoid = sattn_kernel_sibling(kernel, SATTN_OP_sigmoid);
    const sattn_kernel *const tanh = sattn_kernel_sibling(kernel, SATTN_OP_tanh);
    const int64_t n = s->n_columns;
    const sattn_gate_args args = {.n_rows = s->n_rows,
                                  .n_hidden = n,
                                  .gates_x = view_of(o->a, 3 * n),
                                  .gates_h = view_of(o->b, 3 * n),
                                  .h = view_of(o->c, n),
                                  .next = {.data = o->y, .stride_t = n}};
    if (!sigmoid || !tanh || sattn_gru(&args, options) != SATTN_OK) {
        refuse(entry, sigmoid && tanh ? sattn_last_error()
                                      : "no sigmoid or tanh of its ISA states its error");
        return;
    }
    for (sattn_verify_place at = {0}; at.row < s->n_rows; ++at.row) {
        const sattn_verify_gates row = {.gates_x = o->a + at.row * 3 * n,
                                        .gates_h = o->b + at.row * 3 * n,
                                        .h = o->c + at.row * n,
                                        .n_hidden = n,
                                        .sigmoid_ulp = sattn_kernel_stated_ulp(sigmoid),
                                        .tanh_ulp = sattn_kernel_stated_ulp(tanh)};
        sattn_verify_gates_row(&row, o->y + at.row * n, at, &entry->result);
    }
}

static void check_entry(const sattn_check_layer *s, const operands *o, const sattn_kernel *kernel,
                        sattn_check_entry *entry)
{
    const sattn_options options = {.kernels = kernel->name};
    memset(o->y, 0xff, (size_t)o->n_y * sizeof *o->y);
    if (s->op == SATTN_OP_additive)
        check_additive(s, o, kernel, &options, entry);
    else if (s->op == SATTN_OP_linear)
        check_linear(s, o, &options, entry);
    else
        check_gru(s, o, kernel, &options, entry);
}

/* Every variant of the op; false: out of memory. */
static bool check_layer(sattn_check_run *run, const sattn_check_layer *s, int which)
{
    operands o = sizes_of(s);
    bool good = make(&o, run->options->seed, made[which].size);
    for (size_t v = 0; good && v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || !variant->row || variant->row->op != s->op)
            continue;
        sattn_check_entry *const entry =
            sattn_check_add(run, v, s->name, sattn_input_name(made[which].kind));
        good = entry != NULL;
        if (good)
            check_entry(s, &o, variant->row, entry);
    }
    free(o.a);
    return good;
}

bool sattn_check_run_layers(sattn_check_run *run)
{
    size_t count;
    const sattn_check_layer *const layers = sattn_check_layers(&count);
    for (size_t s = 0; s < count; ++s)
        for (int which = 0; which < COUNT(made); ++which)
            if (sattn_check_wants(run->options, layers[s].name,
                                  sattn_input_name(made[which].kind)) &&
                !check_layer(run, &layers[s], which))
                return false;
    return true;
}
