/* SPDX-License-Identifier: MIT
 *
 * test_layers_values.c: what sattn_additive, sattn_linear and the recurrent cells compute, through
 * the public calls: each kernel that may run here against double precision, packed weights and any
 * number of threads to the bit, cells as the calls that they are made of, and nothing read or
 * written beside what is described. How exact each kernel is, its own tests check. */
#include "dispatch/registry.h"
#include "dispatch/simdattn.h"
#include "kernels/ref/ref.h"
#include "tests/support/buffers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state;

static float random_number(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(random_state >> 40) * 0x1p-23 - 1);
}

static float *random_numbers(int64_t n)
{
    float *const numbers = malloc((size_t)(n > 0 ? n : 1) * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t i = 0; i < n; ++i)
        numbers[i] = random_number();
    return numbers;
}

/* Of numbers of size 1: what sums of n of them may be off by, with room for tanh and sigmoid. */
static void assert_near(float got, double want, double size, int64_t n)
{
    const double bound = ((double)n + 16) * 0x1p-24 * (size + 1);
    if (!(fabs((double)got - want) <= bound))
        fail_msg("got %.9g instead of %.9g", (double)got, want);
}

/* The next kernel of an op that may run here, from *at on; NULL: no more. */
static const char *next_kernel(sattn_op op, size_t *at)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    while (*at < count) {
        const sattn_kernel *const row = &rows[(*at)++];
        if (row->op == op && (row->needs & ~sattn_cpu_this()->usable) == 0)
            return row->name;
    }
    return NULL;
}

/* ---- linear */

typedef struct map {
    int64_t n_rows;
    float *x, *w, *bias, *y;
    sattn_linear_weights weights;
    sattn_linear_rows rows;
} map;

static map make_map(int64_t n_rows, int64_t n_in, int64_t n_out)
{
    map m = {.n_rows = n_rows,
             .x = random_numbers(n_rows * n_in),
             .w = random_numbers(n_out * n_in),
             .bias = random_numbers(n_out),
             .y = random_numbers(n_rows * n_out)};
    m.weights = (sattn_linear_weights){
        .n_in = n_in, .n_out = n_out, .w = {.data = m.w, .stride_t = n_in}, .bias = m.bias};
    m.rows = (sattn_linear_rows){.n_rows = n_rows,
                                 .x = {.data = m.x, .stride_t = n_in},
                                 .y = {.data = m.y, .stride_t = n_out}};
    return m;
}

static void free_map(map *m)
{
    free(m->x);
    free(m->w);
    free(m->bias);
    free(m->y);
}

static void *pack_of(const sattn_linear_weights *weights, const sattn_options *options)
{
    size_t size;
    assert_int_equal(sattn_linear_pack_size(weights, 1, options, &size), SATTN_OK);
    void *const packed = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(packed);
    assert_int_equal(sattn_linear_pack(weights, 1, options, packed, size), SATTN_OK);
    return packed;
}

/* A copy of y as it was, for calls that add to it. */
static float *copy_of(const float *numbers, int64_t n)
{
    float *const copy = random_numbers(n);
    memcpy(copy, numbers, (size_t)n * sizeof *copy);
    return copy;
}

static void check_map(map *m, const char *kernel, bool adds)
{
    const sattn_options options = {.kernels = kernel};
    const int64_t n_in = m->weights.n_in, n_out = m->weights.n_out, n_y = m->n_rows * n_out;
    float *const before = copy_of(m->y, n_y);
    m->rows.adds = adds;
    assert_int_equal(sattn_linear(&m->weights, &m->rows, &options), SATTN_OK);
    for (int64_t i = 0; i < m->n_rows; ++i)
        for (int64_t o = 0; o < n_out; ++o) {
            double size;
            const double want =
                sattn_ref_linear(m->x + i * n_in, m->w + o * n_in, n_in, &m->bias[o],
                                 adds ? &before[i * n_out + o] : NULL, &size);
            assert_near(m->y[i * n_out + o], want, size, n_in);
        }
    float *const in_place = copy_of(m->y, n_y);
    memcpy(m->y, before, (size_t)n_y * sizeof *before);
    void *const packed = pack_of(&m->weights, &options);
    m->weights.packed = packed;
    assert_int_equal(sattn_linear(&m->weights, &m->rows, NULL), SATTN_OK);
    m->weights.packed = NULL;
    assert_memory_equal(m->y, in_place, (size_t)n_y * sizeof *in_place);
    free(packed);
    free(in_place);
    free(before);
}

static void test_linear(void **state)
{
    (void)state;
    static const int64_t extents[][3] = {
        {1, 1, 1}, {1, 33, 65}, {3, 64, 17}, {5, 7, 130}, {30, 129, 47}};
    for (size_t at = 0, e = 0; e < sizeof extents / sizeof extents[0]; ++e, at = 0)
        for (const char *kernel; (kernel = next_kernel(SATTN_OP_linear, &at));)
            for (int adds = 0; adds < 2; ++adds) {
                map m = make_map(extents[e][0], extents[e][1], extents[e][2]);
                if (e % 2)
                    m.weights.bias = NULL, memset(m.bias, 0, sizeof(float) * (size_t)extents[e][2]);
                check_map(&m, kernel, adds);
                free_map(&m);
            }
}

/* Enough work for several threads, by rows and by outputs. */
static void test_linear_threads(void **state)
{
    (void)state;
    static const int64_t extents[][3] = {{1, 1031, 1100}, {37, 257, 250}, {400, 129, 67}};
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; ++e) {
        map m = make_map(extents[e][0], extents[e][1], extents[e][2]);
        const size_t bytes = (size_t)(extents[e][0] * extents[e][2]) * sizeof(float);
        float *one = NULL;
        void *const packed = pack_of(&m.weights, NULL);
        for (int threads = 1; threads <= 7; ++threads)
            for (int is_packed = 0; is_packed < 2; ++is_packed) {
                const char *const kernel = "sattn_linear_f32_scalar";
                const sattn_options options = {.threads = threads,
                                               .kernels = is_packed ? NULL : kernel};
                if (is_packed)
                    m.weights.packed = packed;
                memset(m.y, 0xff, bytes);
                assert_int_equal(sattn_linear(&m.weights, &m.rows, &options), SATTN_OK);
                m.weights.packed = NULL;
                if (!is_packed && !one)
                    one = copy_of(m.y, extents[e][0] * extents[e][2]);
                if (!is_packed)
                    assert_memory_equal(one, m.y, bytes);
            }
        float *several = NULL; /* of the kernel that is packed for */
        m.weights.packed = packed;
        for (int threads = 1; threads <= 7; ++threads) {
            const sattn_options options = {.threads = threads};
            memset(m.y, 0xff, bytes);
            assert_int_equal(sattn_linear(&m.weights, &m.rows, &options), SATTN_OK);
            if (!several)
                several = copy_of(m.y, extents[e][0] * extents[e][2]);
            assert_memory_equal(several, m.y, bytes);
        }
        free(packed);
        free(one);
        free(several);
        free_map(&m);
    }
}

/* ---- additive */

typedef struct alignment {
    float *q, *k, *v, *s;
    int64_t *n_k_valid, n_scores;
    sattn_alignment_args args;
} alignment;

static alignment make_alignment(int64_t batch, int64_t n_q, int64_t n_k, int64_t d)
{
    alignment a = {.q = random_numbers(batch * n_q * d),
                   .k = random_numbers(batch * n_k * d),
                   .v = random_numbers(d),
                   .s = random_numbers(batch * n_q * n_k),
                   .n_k_valid = malloc((size_t)batch * sizeof(int64_t)),
                   .n_scores = batch * n_q * n_k};
    assert_non_null(a.n_k_valid);
    for (int64_t b = 0; b < batch; ++b)
        a.n_k_valid[b] = b == 0 ? n_k : n_k / (b + 1);
    a.args = (sattn_alignment_args){.batch = batch,
                                    .n_q = n_q,
                                    .n_k = n_k,
                                    .d = d,
                                    .q = {.data = a.q, .stride_b = n_q * d, .stride_t = d},
                                    .k = {.data = a.k, .stride_b = n_k * d, .stride_t = d},
                                    .v = a.v,
                                    .scores = {.data = a.s, .stride_b = n_q * n_k, .stride_t = n_k},
                                    .n_k_valid = a.n_k_valid};
    return a;
}

static void free_alignment(alignment *a)
{
    free(a->q);
    free(a->k);
    free(a->v);
    free(a->s);
    free(a->n_k_valid);
}

static void check_alignment(const alignment *a)
{
    const sattn_alignment_args *const args = &a->args;
    for (int64_t b = 0; b < args->batch; ++b)
        for (int64_t i = 0; i < args->n_q; ++i)
            for (int64_t j = 0; j < args->n_k; ++j) {
                const float got = a->s[(b * args->n_q + i) * args->n_k + j];
                double size;
                if (j >= a->n_k_valid[b]) {
                    assert_true(got == -INFINITY);
                    continue;
                }
                const double want =
                    sattn_ref_additive(a->q + (b * args->n_q + i) * args->d,
                                       a->k + (b * args->n_k + j) * args->d, a->v, args->d, &size);
                assert_near(got, want, size, args->d);
            }
}

static void test_additive(void **state)
{
    (void)state;
    static const int64_t extents[][4] = {
        {1, 1, 1, 1}, {1, 1, 130, 33}, {2, 3, 7, 64}, {3, 5, 40, 17}};
    for (size_t at = 0, e = 0; e < sizeof extents / sizeof extents[0]; ++e, at = 0)
        for (const char *kernel; (kernel = next_kernel(SATTN_OP_additive, &at));) {
            const sattn_options options = {.kernels = kernel};
            alignment a =
                make_alignment(extents[e][0], extents[e][1], extents[e][2], extents[e][3]);
            assert_int_equal(sattn_additive(&a.args, &options), SATTN_OK);
            check_alignment(&a);
            free_alignment(&a);
        }
}

static void test_additive_threads(void **state)
{
    (void)state;
    static const int64_t extents[][4] = {{1, 1, 1000, 131}, {3, 2, 300, 70}, {1, 900, 3, 65}};
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; ++e) {
        alignment a = make_alignment(extents[e][0], extents[e][1], extents[e][2], extents[e][3]);
        const size_t bytes = (size_t)a.n_scores * sizeof(float);
        assert_int_equal(sattn_additive(&a.args, NULL), SATTN_OK);
        check_alignment(&a);
        float *const one = copy_of(a.s, a.n_scores);
        for (int threads = 2; threads <= 7; ++threads) {
            const sattn_options options = {.threads = threads};
            memset(a.s, 0xff, bytes);
            assert_int_equal(sattn_additive(&a.args, &options), SATTN_OK);
            assert_memory_equal(one, a.s, bytes);
        }
        free(one);
        free_alignment(&a);
    }
}

/* ---- cells */

enum { N_ROWS = 3, N_IN = 21, N_HIDDEN = 13 };

typedef struct cell {
    map input, hidden; /* of their x the cell's x and h */
    float next[N_ROWS * N_HIDDEN], want[N_ROWS * N_HIDDEN];
    sattn_cell_weights weights;
    sattn_cell_rows rows;
} cell;

static void make_cell(cell *c, int parts)
{
    c->input = make_map(N_ROWS, N_IN, parts * N_HIDDEN);
    c->hidden = make_map(N_ROWS, N_HIDDEN, parts * N_HIDDEN);
    c->weights = (sattn_cell_weights){c->input.weights, c->hidden.weights};
    c->rows = (sattn_cell_rows){.n_rows = N_ROWS,
                                .x = c->input.rows.x,
                                .h = c->hidden.rows.x,
                                .next = {.data = c->next, .stride_t = N_HIDDEN}};
    assert_int_equal(sattn_linear(&c->input.weights, &c->input.rows, NULL), SATTN_OK);
}

static void free_cell(cell *c)
{
    free_map(&c->input);
    free_map(&c->hidden);
}

/* In place, with packed weights, in a workspace, and with threads: the same bits. */
static void check_ways(cell *c,
                       sattn_status (*step)(const sattn_cell_weights *, const sattn_cell_rows *,
                                            const sattn_options *),
                       sattn_status (*size_of)(const sattn_cell_weights *, int64_t,
                                               const sattn_options *, size_t *))
{
    size_t size;
    assert_int_equal(step(&c->weights, &c->rows, NULL), SATTN_OK);
    assert_memory_equal(c->next, c->want, sizeof c->want);
    assert_int_equal(size_of(&c->weights, N_ROWS, NULL, &size), SATTN_OK);
    const sattn_options options = {.workspace = aligned_alloc(64, (size + 63) / 64 * 64),
                                   .workspace_size = size};
    assert_non_null(options.workspace);
    memset(options.workspace, 0xff, size);
    memset(c->next, 0, sizeof c->next);
    assert_int_equal(step(&c->weights, &c->rows, &options), SATTN_OK);
    assert_memory_equal(c->next, c->want, sizeof c->want);
    const sattn_options threads = {.threads = 3};
    c->rows.next.data = c->hidden.x; /* exactly h */
    assert_int_equal(step(&c->weights, &c->rows, &threads), SATTN_OK);
    assert_memory_equal(c->hidden.x, c->want, sizeof c->want);
    free(options.workspace);
}

static void test_gru_cell(void **state)
{
    (void)state;
    static cell c;
    make_cell(&c, 3);
    assert_int_equal(sattn_linear(&c.hidden.weights, &c.hidden.rows, NULL), SATTN_OK);
    const sattn_gate_args gates = {.n_rows = N_ROWS,
                                   .n_hidden = N_HIDDEN,
                                   .gates_x = {.data = c.input.y, .stride_t = 3 * N_HIDDEN},
                                   .gates_h = {.data = c.hidden.y, .stride_t = 3 * N_HIDDEN},
                                   .h = c.rows.h,
                                   .next = {.data = c.want, .stride_t = N_HIDDEN}};
    assert_int_equal(sattn_gru(&gates, NULL), SATTN_OK);
    for (int i = 0; i < N_ROWS; ++i)
        for (int y = 0; y < N_HIDDEN; ++y) {
            const float *const x = c.input.y + i * 3 * N_HIDDEN + y;
            const float *const h = c.hidden.y + i * 3 * N_HIDDEN + y;
            const float gates_x[3] = {x[0], x[N_HIDDEN], x[2 * N_HIDDEN]};
            const float gates_h[3] = {h[0], h[N_HIDDEN], h[2 * N_HIDDEN]};
            assert_near(c.want[i * N_HIDDEN + y],
                        sattn_ref_gru(gates_x, gates_h, c.hidden.x[i * N_HIDDEN + y]).y, 1, 64);
        }
    check_ways(&c, sattn_gru_cell, sattn_gru_cell_workspace_size);
    free_cell(&c);
}

static void test_rnn_cell(void **state)
{
    (void)state;
    static cell c;
    make_cell(&c, 1);
    c.hidden.rows.y = c.input.rows.y;
    c.hidden.rows.adds = true;
    assert_int_equal(sattn_linear(&c.hidden.weights, &c.hidden.rows, NULL), SATTN_OK);
    assert_int_equal(sattn_tanh(c.input.y, c.want, N_ROWS * N_HIDDEN, NULL), SATTN_OK);
    check_ways(&c, sattn_rnn_cell, sattn_rnn_cell_workspace_size);
    free_cell(&c);
}

/* Enough rows for several threads. */
static void test_cell_threads(void **state)
{
    (void)state;
    enum { MANY = 700, UNITS = 40 };
    for (int parts = 1; parts <= 3; parts += 2) {
        map input = make_map(MANY, 19, parts * UNITS),
            hidden = make_map(MANY, UNITS, parts * UNITS);
        const sattn_cell_weights weights = {input.weights, hidden.weights};
        float *one = NULL;
        for (int threads = 1; threads <= 5; ++threads) {
            const sattn_options options = {.threads = threads};
            float *const next = random_numbers(MANY * UNITS);
            const sattn_cell_rows rows = {.n_rows = MANY,
                                          .x = input.rows.x,
                                          .h = hidden.rows.x,
                                          .next = {.data = next, .stride_t = UNITS}};
            assert_int_equal(parts == 3 ? sattn_gru_cell(&weights, &rows, &options)
                                        : sattn_rnn_cell(&weights, &rows, &options),
                             SATTN_OK);
            if (!one)
                one = copy_of(next, MANY * UNITS);
            assert_memory_equal(one, next, sizeof(float) * MANY * UNITS);
            free(next);
        }
        free(one);
        free_map(&input);
        free_map(&hidden);
    }
}

static void test_packed_cell(void **state)
{
    (void)state;
    static cell c;
    make_cell(&c, 3);
    assert_int_equal(sattn_gru_cell(&c.weights, &c.rows, NULL), SATTN_OK);
    memcpy(c.want, c.next, sizeof c.want);
    void *const input = pack_of(&c.weights.input, NULL), *const hidden =
                                                             pack_of(&c.weights.hidden, NULL);
    c.weights.input.packed = input;
    c.weights.hidden.packed = hidden;
    const sattn_options scalar = {.isa = "scalar"};
    assert_int_equal(sattn_gru_cell(&c.weights, &c.rows, NULL), SATTN_OK);
    for (int i = 0; i < N_ROWS * N_HIDDEN; ++i) /* maybe of another kernel than in place */
        assert_near(c.next[i], (double)c.want[i], 1, 64);
    memcpy(c.want, c.next, sizeof c.want);
    check_ways(&c, sattn_gru_cell, sattn_gru_cell_workspace_size);
    free(input);
    free(hidden);
    c.weights.input.packed = pack_of(&c.weights.input, &scalar);
    c.weights.hidden.packed = pack_of(&c.weights.hidden, &scalar);
    assert_int_equal(sattn_gru_cell(&c.weights, &c.rows, &scalar), SATTN_OK);
    free((void *)(uintptr_t)c.weights.input.packed);
    free((void *)(uintptr_t)c.weights.hidden.packed);
    free_cell(&c);
}

/* ---- memory */

static test_operand operand(int64_t rows, int64_t columns, int64_t gap, test_placement placement)
{
    const test_extents extents = test_extents_f32(1, rows, columns, gap);
    test_operand made = test_operand_make(&extents, placement, 0);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t x = 0; x < columns; ++x)
            test_operand_f32(&made, 0, i)[x] = random_number();
    test_operand_seal(&made);
    return made;
}

static sattn_view view_of(const test_operand *from)
{
    return (sattn_view){.data = from->data, .stride_t = from->extents.row_stride};
}

static sattn_mut_view mut_view_of(const test_operand *from)
{
    return (sattn_mut_view){.data = from->data, .stride_t = from->extents.row_stride};
}

/* Whether the call wrote all rows of the last operand and nothing else. */
static void expect_one_output(test_operand *operands, int n)
{
    int64_t at;
    test_operand *const output = &operands[n - 1];
    assert_false(test_operand_has_canary(output, 0, output->extents.n_rows));
    test_operand_accept(output, 0, output->extents.n_rows);
    for (int i = 0; i < n; ++i) {
        assert_true(test_operand_is_unchanged(&operands[i], &at));
        test_operand_free(&operands[i]);
    }
}

static void check_pages(test_placement placement, int64_t gap)
{
    test_operand a[] = {operand(5, 19, gap, placement), operand(33, 19, gap, placement),
                        operand(1, 19, 0, placement), operand(5, 33, gap, placement)};
    const sattn_alignment_args scores = {.batch = 1,
                                         .n_q = 5,
                                         .n_k = 33,
                                         .d = 19,
                                         .q = view_of(&a[0]),
                                         .k = view_of(&a[1]),
                                         .v = a[2].data,
                                         .scores = mut_view_of(&a[3])};
    test_operand_spoil(&a[3], 0, 5);
    assert_int_equal(sattn_additive(&scores, NULL), SATTN_OK);
    expect_one_output(a, 4);

    test_operand m[] = {operand(4, 21, gap, placement), operand(37, 21, gap, placement),
                        operand(1, 37, 0, placement), operand(4, 37, gap, placement)};
    const sattn_linear_weights weights = {
        .n_in = 21, .n_out = 37, .w = view_of(&m[1]), .bias = m[2].data};
    const sattn_linear_rows rows = {.n_rows = 4, .x = view_of(&m[0]), .y = mut_view_of(&m[3])};
    free(pack_of(&weights, NULL));
    test_operand_spoil(&m[3], 0, 4);
    assert_int_equal(sattn_linear(&weights, &rows, NULL), SATTN_OK);
    expect_one_output(m, 4);

    test_operand g[] = {operand(3, 27, gap, placement), operand(3, 27, gap, placement),
                        operand(3, 9, gap, placement), operand(3, 9, gap, placement)};
    const sattn_gate_args gates = {.n_rows = 3,
                                   .n_hidden = 9,
                                   .gates_x = view_of(&g[0]),
                                   .gates_h = view_of(&g[1]),
                                   .h = view_of(&g[2]),
                                   .next = mut_view_of(&g[3])};
    test_operand_spoil(&g[3], 0, 3);
    assert_int_equal(sattn_gru(&gates, NULL), SATTN_OK);
    expect_one_output(g, 4);
}

static void test_pages(void **state)
{
    (void)state;
    for (int64_t gap = 0; gap < 4; gap += 3) {
        check_pages(TEST_END_FLUSH, gap);
        check_pages(TEST_START_FLUSH, gap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),       cmocka_unit_test(test_linear_threads),
        cmocka_unit_test(test_additive),     cmocka_unit_test(test_additive_threads),
        cmocka_unit_test(test_gru_cell),     cmocka_unit_test(test_rnn_cell),
        cmocka_unit_test(test_packed_cell),  cmocka_unit_test(test_pages),
        cmocka_unit_test(test_cell_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
