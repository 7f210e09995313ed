/* SPDX-License-Identifier: MIT
 *
 * test_layers.c: general attention, the attention layer and recurrent cells against the golden
 * values, within derived bounds, with every kernel of a level; with and without weights returned;
 * in a batch. */
#include "tests/support/harness.h"
#include "tests/support/lecture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2 }; /* the same case twice, from the same memory */

static float *floats(int64_t n)
{
    return test_allocate((size_t)(BATCH * n) * sizeof(float));
}

static void expect_same(lecture_test *test, const lecture_case *c, const char *what, const float *a,
                        const float *b, int64_t n)
{
    if (memcmp(a, b, (size_t)n * sizeof(float)) != 0)
        lecture_fail(test, c, "%s of another batch entry has other bits", what);
}

/* ---- general attention */

static bounded general_scores(const sattn_general_attention_args *a)
{
    const bounded q = bounded_given(a->q.data, a->n_q, a->d_q);
    const bounded x = bounded_given(a->x.data, a->n_k, a->d_x);
    const bounded_map map_q = lecture_map(&a->w_q), map_x = lecture_map(&a->w_x);
    if (a->align == SATTN_ALIGN_ADDITIVE) {
        const bounded mapped_q = bounded_linear(&q, &map_q), mapped_x = bounded_linear(&x, &map_x);
        return bounded_alignments(&mapped_q, &mapped_x, a->v);
    }
    if (a->align == SATTN_ALIGN_BILINEAR && a->n_q < a->n_k && !a->w_x.packed) {
        const bounded sums = bounded_product(&q, a->w_x.w.data, a->d_x);
        return bounded_dots(&sums, &x, 1);
    }
    if (a->align == SATTN_ALIGN_BILINEAR) {
        const bounded mapped = bounded_linear(&x, &map_x);
        return bounded_dots(&q, &mapped, 1);
    }
    return bounded_dots(&q, &x, a->align == SATTN_ALIGN_DOT ? 1 : 1 / sqrt((double)a->d_q));
}

static sattn_general_attention_args general_args(const lecture_case *c)
{
    int64_t shape[2];
    sattn_general_attention_args a = {.batch = BATCH};
    a.q.data = lecture_floats(c, "q", shape);
    a.n_q = shape[0];
    a.d_q = a.q.stride_t = shape[1];
    a.x.data = lecture_floats(c, "x", shape);
    a.n_k = shape[0];
    a.d_x = a.x.stride_t = shape[1];
    if (strcmp(c->kind, "dot") == 0)
        a.align = SATTN_ALIGN_DOT;
    if (strcmp(c->kind, "bilinear") == 0) {
        a.align = SATTN_ALIGN_BILINEAR;
        a.w_x = lecture_weights(lecture_floats(c, "w", NULL), a.d_q, a.d_x, NULL);
    }
    if (strcmp(c->kind, "additive") == 0) {
        a.align = SATTN_ALIGN_ADDITIVE;
        const float *const w = lecture_floats(c, "align_w", shape);
        a.w_q = lecture_weights(w, shape[0], shape[1], lecture_floats(c, "align_b", NULL));
        a.w_x = lecture_weights(lecture_floats(c, "align_u", NULL), shape[0], a.d_x, NULL);
        a.v = lecture_floats(c, "align_v", NULL);
    }
    return a;
}

/* The queries as entries of a batch, all with the same inputs, which is the same to each. */
static void compare_apart(lecture_test *test, const lecture_case *c,
                          const sattn_general_attention_args *a, const bounded_attention *want)
{
    sattn_general_attention_args apart = *a;
    float *const y = floats(a->n_q * a->d_x);
    apart.batch = a->n_q;
    apart.n_q = 1;
    apart.q.stride_b = a->q.stride_t;
    apart.y = (sattn_mut_view){.data = y, .stride_b = a->d_x};
    apart.weights.data = NULL;
    if (lecture_succeeds(test, c, sattn_general_attention(&apart, &test->options)))
        lecture_compare(test, c, "y", &want->outputs, y);
    free(y);
}

static void compare_general(lecture_test *test, const lecture_case *c,
                            sattn_general_attention_args *a)
{
    const bounded scores = general_scores(a);
    const bounded x = bounded_given(a->x.data, a->n_k, a->d_x);
    const bounded_attention want = bounded_attend(&scores, &x, false);
    const int64_t n_y = a->n_q * a->d_x, n_weights = a->n_q * a->n_k;
    float *const y = floats(n_y), *const weights = floats(n_weights);
    a->y = (sattn_mut_view){.data = y, .stride_b = n_y, .stride_t = a->d_x};
    for (int with_weights = 0; with_weights < 2; ++with_weights) {
        a->weights = (sattn_mut_view){
            .data = with_weights ? weights : NULL, .stride_b = n_weights, .stride_t = a->n_k};
        if (!lecture_succeeds(test, c, sattn_general_attention(a, &test->options)))
            break;
        lecture_compare(test, c, "y", &want.outputs, y);
        expect_same(test, c, "y", y, y + n_y, n_y);
    }
    lecture_compare(test, c, "attention", &want.weights, weights);
    expect_same(test, c, "weights", weights, weights + n_weights, n_weights);
    if (a->n_q < a->n_k) /* else W may go to the other side */
        compare_apart(test, c, a, &want);
    free(y);
    free(weights);
}

/* Packed, W of a bilinear alignment goes to the inputs, where they are more than the queries too.
 */
static void test_general(lecture_test *test, const lecture_case *c)
{
    sattn_general_attention_args a = general_args(c);
    size_t size;
    compare_general(test, c, &a);
    if (a.align != SATTN_ALIGN_BILINEAR ||
        !lecture_succeeds(test, c,
                          sattn_linear_pack_size(&a.w_x, BATCH * a.n_k, &test->options, &size)))
        return;
    void *const packed = aligned_alloc(64, (size + 63) / 64 * 64);
    if (lecture_succeeds(test, c,
                         sattn_linear_pack(&a.w_x, BATCH * a.n_k, &test->options, packed, size))) {
        a.w_x.packed = packed;
        compare_general(test, c, &a);
    }
    free(packed);
}

/* ---- keys and values of their own */

static void test_key_value(lecture_test *test, const lecture_case *c)
{
    int64_t q_shape[2], x_shape[2], v_shape[2];
    sattn_attention_layer_args a = {.batch = BATCH};
    a.q.data = lecture_floats(c, "q", q_shape);
    a.x.data = lecture_floats(c, "x", x_shape);
    a.n_q = q_shape[0];
    a.n_k = x_shape[0];
    a.q.stride_t = q_shape[1];
    a.x.stride_t = x_shape[1];
    const float *const w_v = lecture_floats(c, "w_v", v_shape);
    a.w_k = lecture_weights(lecture_floats(c, "w_k", NULL), q_shape[1], x_shape[1], NULL);
    a.w_v = lecture_weights(w_v, v_shape[0], x_shape[1], NULL);
    const bounded_map map_k = lecture_map(&a.w_k), map_v = lecture_map(&a.w_v);
    const bounded q = bounded_given(a.q.data, a.n_q, q_shape[1]);
    const bounded x = bounded_given(a.x.data, a.n_k, x_shape[1]);
    const bounded k = bounded_linear(&x, &map_k), v = bounded_linear(&x, &map_v);
    const bounded scores = bounded_dots(&q, &k, 1 / sqrt((double)q_shape[1]));
    const bounded_attention want = bounded_attend(&scores, &v, false);
    const int64_t n_y = a.n_q * v_shape[0], n_weights = a.n_q * a.n_k;
    float *const y = floats(n_y), *const weights = floats(n_weights);
    a.y = (sattn_mut_view){.data = y, .stride_b = n_y, .stride_t = v_shape[0]};
    for (int with_weights = 0; with_weights < 2; ++with_weights) {
        a.weights = (sattn_mut_view){
            .data = with_weights ? weights : NULL, .stride_b = n_weights, .stride_t = a.n_k};
        if (!lecture_succeeds(test, c, sattn_attention_layer(&a, &test->options)))
            break;
        lecture_compare(test, c, "y", &want.outputs, y);
        expect_same(test, c, "y", y, y + n_y, n_y);
    }
    lecture_compare(test, c, "attention", &want.weights, weights);
    expect_same(test, c, "weights", weights, weights + n_weights, n_weights);
    free(y);
    free(weights);
}

/* ---- recurrent cells */

static void test_cell(lecture_test *test, const lecture_case *c)
{
    const bool is_gru = strcmp(c->kind, "gru") == 0;
    int64_t x_shape[3], h_shape[2];
    const float *const x = lecture_floats(c, "x", x_shape), *const h0 =
                                                                lecture_floats(c, "h0", h_shape);
    const int64_t n_steps = x_shape[0], batch = x_shape[1], n_in = x_shape[2], n = h_shape[1];
    const int64_t n_gates = (is_gru ? 3 : 1) * n;
    const sattn_cell_weights weights = {
        .input = lecture_weights(lecture_floats(c, "w_ih", NULL), n_gates, n_in,
                                 lecture_floats(c, "b_ih", NULL)),
        .hidden = lecture_weights(lecture_floats(c, "w_hh", NULL), n_gates, n,
                                  lecture_floats(c, "b_hh", NULL))};
    const bounded_map map_x = lecture_map(&weights.input), map_h = lecture_map(&weights.hidden);
    const bounded all = bounded_new(n_steps * batch, n);
    float *const got = floats(n_steps * batch * n);
    bounded state = bounded_given(h0, batch, n);
    for (int64_t step = 0; step < n_steps; ++step) {
        const bounded input = bounded_given(x + step * batch * n_in, batch, n_in);
        const bounded sums_x = bounded_linear(&input, &map_x),
                      sums_h = bounded_linear(&state, &map_h);
        const bounded sums = is_gru ? sums_x : bounded_sum(&sums_x, &sums_h);
        state = is_gru ? bounded_gru(&sums_x, &sums_h, &state) : bounded_tanh(&sums);
        memcpy(all.value + step * batch * n, state.value, (size_t)(batch * n) * sizeof(double));
        memcpy(all.error + step * batch * n, state.error, (size_t)(batch * n) * sizeof(double));
        const sattn_cell_rows rows = {
            .n_rows = batch,
            .x = {.data = x + step * batch * n_in, .stride_t = n_in},
            .h = {.data = step > 0 ? got + (step - 1) * batch * n : h0, .stride_t = n},
            .next = {.data = got + step * batch * n, .stride_t = n}};
        if (!lecture_succeeds(test, c,
                              is_gru ? sattn_gru_cell(&weights, &rows, &test->options)
                                     : sattn_rnn_cell(&weights, &rows, &test->options)))
            break;
    }
    lecture_compare(test, c, "h", &all, got);
    free(got);
}

static void run(lecture_test *test)
{
    static const lecture_case general[] = {{"general", "additive_1", "additive"},
                                           {"general", "additive_5", "additive"},
                                           {"general", "additive_5_of_1", "additive"},
                                           {"general", "dot_1", "dot"},
                                           {"general", "dot_5", "dot"},
                                           {"general", "scaled_1", "scaled"},
                                           {"general", "scaled_5", "scaled"},
                                           {"general", "bilinear_1", "bilinear"},
                                           {"general", "bilinear_5", "bilinear"}};
    static const lecture_case key_value[] = {{"key_value", "wide", "scaled"},
                                             {"key_value", "odd", "scaled"},
                                             {"key_value", "one", "scaled"}};
    static const lecture_case cells[] = {{"cells", "rnn_32", "rnn"},  {"cells", "rnn_33", "rnn"},
                                         {"cells", "rnn_127", "rnn"}, {"cells", "gru_32", "gru"},
                                         {"cells", "gru_33", "gru"},  {"cells", "gru_127", "gru"}};
    for (size_t i = 0; i < sizeof general / sizeof general[0]; ++i)
        test_general(test, &general[i]);
    for (size_t i = 0; i < sizeof key_value / sizeof key_value[0]; ++i)
        test_key_value(test, &key_value[i]);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; ++i)
        test_cell(test, &cells[i]);
}

int main(int argc, char **argv)
{
    return lecture_main(argc, argv, NULL, run);
}
