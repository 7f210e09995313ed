/* SPDX-License-Identifier: MIT
 *
 * check_layers.c: additive alignment, linear maps and gated units against the oracle: one row and
 * several, extents around vectors and tiles, weights in place and packed; numbers of size 1, and so
 * large that tanh and sigmoid are flat. */
#include "bench/check.h"
#include "bench/verify/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sattn_check_layer layers[] = {
    {"align-one", "one query, one key, one feature", SATTN_OP_additive, 1, 1, 1, false},
    {"align-step", "one query, 37 keys, d = 64", SATTN_OP_additive, 1, 37, 64, false},
    {"align-long", "one query, 1025 keys, d = 130", SATTN_OP_additive, 1, 1025, 130, false},
    {"align-rows", "5 queries, 131 keys, d = 33", SATTN_OP_additive, 5, 131, 33, false},
    {"align-many", "70 queries, 65 keys, d = 513", SATTN_OP_additive, 70, 65, 513, false},
    {"map-one", "one row, one output, one input", SATTN_OP_linear, 1, 1, 1, false},
    {"map-step", "one row, 130 outputs, 65 inputs", SATTN_OP_linear, 1, 130, 65, false},
    {"map-deep", "one row, 33 outputs, 1025 inputs", SATTN_OP_linear, 1, 33, 1025, false},
    {"map-step-packed", "the same as map-step, packed", SATTN_OP_linear, 1, 130, 65, true},
    {"map-few", "7 rows, 47 outputs, 130 inputs", SATTN_OP_linear, 7, 47, 130, false},
    {"map-rows", "65 rows, 131 outputs, 67 inputs", SATTN_OP_linear, 65, 131, 67, false},
    {"map-rows-packed", "the same, packed", SATTN_OP_linear, 65, 131, 67, true},
    {"gates-one", "one unit", SATTN_OP_gru, 1, 1, 0, false},
    {"gates-step", "one row of 67 units", SATTN_OP_gru, 1, 67, 0, false},
    {"gates-rows", "3 rows of 1025 units", SATTN_OP_gru, 3, 1025, 0, false},
};

static const sattn_input_kind kinds[] = {SATTN_INPUT_NORMAL, SATTN_INPUT_LARGE30};
static const float large = 30.0f;

enum { N_LAYERS = sizeof layers / sizeof layers[0], N_KINDS = sizeof kinds / sizeof kinds[0] };

const sattn_check_layer *sattn_check_layers(size_t *count)
{
    *count = N_LAYERS;
    return layers;
}

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

static void check_gru(const sattn_check_layer *s, const operands *o, const sattn_options *options,
                      sattn_check_entry *entry)
{
    const int64_t n = s->n_columns;
    const sattn_gate_args args = {.n_rows = s->n_rows,
                                  .n_hidden = n,
                                  .gates_x = view_of(o->a, 3 * n),
                                  .gates_h = view_of(o->b, 3 * n),
                                  .h = view_of(o->c, n),
                                  .next = {.data = o->y, .stride_t = n}};
    if (sattn_gru(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (sattn_verify_place at = {0}; at.row < s->n_rows; ++at.row) {
        const sattn_verify_gates row = {.gates_x = o->a + at.row * 3 * n,
                                        .gates_h = o->b + at.row * 3 * n,
                                        .h = o->c + at.row * n,
                                        .n_hidden = n};
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
        check_gru(s, o, &options, entry);
}

/* Every variant of the op; false: out of memory. */
static bool check_layer(sattn_check_run *run, const sattn_check_layer *s, sattn_input_kind kind)
{
    operands o = sizes_of(s);
    bool good = make(&o, run->options->seed, kind == SATTN_INPUT_NORMAL ? 1.0f : large);
    for (size_t v = 0; good && v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || !variant->row || variant->row->op != s->op)
            continue;
        sattn_check_entry *const entry = sattn_check_add(run, v, s->name, sattn_input_name(kind));
        good = entry != NULL;
        if (good)
            check_entry(s, &o, variant->row, entry);
    }
    free(o.a);
    return good;
}

bool sattn_check_run_layers(sattn_check_run *run)
{
    for (int s = 0; s < N_LAYERS; ++s)
        for (int k = 0; k < N_KINDS; ++k)
            if (sattn_check_wants(run->options, layers[s].name, sattn_input_name(kinds[k])) &&
                !check_layer(run, &layers[s], kinds[k]))
                return false;
    return true;
}
