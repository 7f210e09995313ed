/* SPDX-License-Identifier: MIT
 *
 * test_self_attention.c: self-attention against the golden values, within derived bounds, with
 * every kernel of a level; and as a property, on random inputs: inputs in another order give the
 * outputs in that order. */
#include "bench/verify/inputs.h"
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
        lecture_fail(test, c, "%s has other bits", what);
}

/* ---- golden values */

typedef struct self_case {
    sattn_self_attention_args args;
    int64_t d_x, d_q, d_v, d_o;
} self_case;

static self_case self_case_of(const lecture_case *c, int64_t n_heads)
{
    static const char *const names[4][2] = {
        {"w_q", "b_q"}, {"w_k", "b_k"}, {"w_v", "b_v"}, {"w_o", "b_o"}};
    const bool has_bias = strcmp(c->kind, "module") == 0;
    int64_t shape[2];
    self_case s = {.args = {.batch = BATCH, .n_heads = n_heads}};
    sattn_linear_weights *const weights[4] = {&s.args.w_q, &s.args.w_k, &s.args.w_v, &s.args.w_o};
    for (int i = 0; i < 4; ++i) {
        const float *const w = lecture_floats(c, names[i][0], shape);
        *weights[i] = lecture_weights(w, shape[0], shape[1],
                                      has_bias ? lecture_floats(c, names[i][1], NULL) : NULL);
    }
    s.args.x.data = lecture_floats(c, "x", shape);
    s.args.n_k = shape[0];
    s.args.x.stride_t = s.d_x = shape[1];
    s.d_q = s.args.w_q.n_out;
    s.d_v = s.args.w_v.n_out;
    s.d_o = s.args.w_o.n_out;
    return s;
}

/* Weights [heads * n, n] and outputs [n, d_o]. */
static bounded_attention self_want(const self_case *s, const float *inputs, bool causal)
{
    const sattn_self_attention_args *const a = &s->args;
    const bounded_map maps[4] = {lecture_map(&a->w_q), lecture_map(&a->w_k), lecture_map(&a->w_v),
                                 lecture_map(&a->w_o)};
    const bounded x = bounded_given(inputs, a->n_k, s->d_x);
    const bounded q = bounded_linear(&x, &maps[0]), k = bounded_linear(&x, &maps[1]),
                  v = bounded_linear(&x, &maps[2]);
    const int64_t d = s->d_q / a->n_heads, d_v = s->d_v / a->n_heads, n = a->n_k;
    bounded_attention want = {.weights = bounded_new(a->n_heads * n, n)};
    bounded joined = bounded_new(n, 0);
    for (int64_t head = 0; head < a->n_heads; ++head) {
        const bounded q_h = bounded_columns(&q, head * d, d),
                      k_h = bounded_columns(&k, head * d, d),
                      v_h = bounded_columns(&v, head * d_v, d_v);
        const bounded scores = bounded_dots(&q_h, &k_h, 1 / sqrt((double)d));
        const bounded_attention one = bounded_attend(&scores, &v_h, causal);
        memcpy(want.weights.value + head * n * n, one.weights.value,
               (size_t)(n * n) * sizeof(double));
        memcpy(want.weights.error + head * n * n, one.weights.error,
               (size_t)(n * n) * sizeof(double));
        joined = bounded_joined(&joined, &one.outputs);
    }
    want.outputs = bounded_linear(&joined, &maps[3]);
    return want;
}

static void run_self(lecture_test *test, const lecture_case *c, self_case *s, bool causal,
                     const char *y_name, const char *weights_name)
{
    sattn_self_attention_args *const a = &s->args;
    const bounded_attention want = self_want(s, a->x.data, causal);
    const int64_t n = a->n_k, n_y = n * s->d_o, n_weights = a->n_heads * n * n;
    float *const y = floats(n_y), *const weights = floats(n_weights);
    a->causal = causal;
    a->y = (sattn_mut_view){.data = y, .stride_b = n_y, .stride_t = s->d_o};
    for (int with_weights = 0; with_weights < 2; ++with_weights) {
        a->weights = (sattn_mut_view){.data = with_weights && weights_name ? weights : NULL,
                                      .stride_b = n_weights,
                                      .stride_h = n * n,
                                      .stride_t = n};
        if (!lecture_succeeds(test, c, sattn_self_attention(a, &test->options)))
            break;
        lecture_compare(test, c, y_name, &want.outputs, y);
        expect_same(test, c, "y", y, y + n_y, n_y);
    }
    if (weights_name) {
        lecture_compare(test, c, weights_name, &want.weights, weights);
        expect_same(test, c, "weights", weights, weights + n_weights, n_weights);
    }
    free(y);
    free(weights);
}

static void test_self(lecture_test *test, const lecture_case *c, int64_t n_heads)
{
    self_case s = self_case_of(c, n_heads);
    run_self(test, c, &s, false, "y", "attention");
    run_self(test, c, &s, true, "y_causal", "attention_causal");
    int64_t n;
    const float *const x = s.args.x.data;
    float *const moved = floats(s.args.n_k * s.d_x);
    const int64_t *const order = lecture_integers(c, "permutation", &n);
    for (int64_t i = 0; i < n; ++i)
        memcpy(moved + i * s.d_x, x + order[i] * s.d_x, (size_t)s.d_x * sizeof(float));
    s.args.x.data = moved;
    run_self(test, c, &s, false, "y_permuted", NULL);
    free(moved);
}

/* ---- inputs in another order */

enum { N_MOST = 150, D_MOST = 40 };

/* Inputs and weights of a layer without biases. */
typedef struct random_layer {
    float x[N_MOST * D_MOST], moved[N_MOST * D_MOST], w[4][D_MOST * D_MOST];
    int64_t order[N_MOST];
    self_case s;
} random_layer;

static void make_random(random_layer *r, int64_t n, int64_t n_heads, int64_t d, uint64_t seed)
{
    test_random random = {.seed = seed};
    sattn_self_attention_args *const a = &r->s.args;
    *a = (sattn_self_attention_args){.batch = 1, .n_k = n, .n_heads = n_heads};
    r->s.d_x = r->s.d_q = r->s.d_v = r->s.d_o = d;
    for (int64_t i = 0; i < n * d; ++i)
        r->x[i] = sattn_random_normal(seed, 0, (uint64_t)i);
    for (int map = 0; map < 4; ++map)
        for (int64_t i = 0; i < d * d; ++i)
            r->w[map][i] = 0.5f * sattn_random_normal(seed, 1 + (uint64_t)map, (uint64_t)i) /
                           sqrtf((float)d) * (map < 2 ? 4.0f : 1.0f); /* attention is not even */
    a->w_q = lecture_weights(r->w[0], d, d, NULL);
    a->w_k = lecture_weights(r->w[1], d, d, NULL);
    a->w_v = lecture_weights(r->w[2], d, d, NULL);
    a->w_o = lecture_weights(r->w[3], d, d, NULL);
    a->x = (sattn_view){.data = r->x, .stride_t = d};
    for (int64_t i = 0; i < n; ++i)
        r->order[i] = i;
    for (int64_t i = n - 1; i > 0; --i) {
        const int64_t j = test_random_below(&random, i + 1), moved = r->order[i];
        r->order[i] = r->order[j];
        r->order[j] = moved;
    }
    for (int64_t i = 0; i < n; ++i)
        memcpy(r->moved + i * d, r->x + r->order[i] * d, (size_t)d * sizeof(float));
}

/* Either result is within the bound of the exact one, which does not depend on the order; the sums
 * over the keys go in it, so that their last bits do. */
static void test_permuted(lecture_test *test, int64_t n, int64_t n_heads, int64_t d, uint64_t seed)
{
    static const lecture_case c = {"random", "another order", "plain"};
    random_layer *const r = test_allocate(sizeof *r);
    make_random(r, n, n_heads, d, seed);
    const bounded_attention want = self_want(&r->s, r->x, false);
    float *const y = floats(n * d), *const permuted = floats(n * d);
    r->s.args.y = (sattn_mut_view){.data = y, .stride_t = d};
    bool all_well = lecture_succeeds(test, &c, sattn_self_attention(&r->s.args, &test->options));
    r->s.args.x.data = r->moved;
    r->s.args.y.data = permuted;
    all_well =
        all_well && lecture_succeeds(test, &c, sattn_self_attention(&r->s.args, &test->options));
    for (int64_t i = 0; all_well && i < n; ++i)
        for (int64_t o = 0; all_well && o < d; ++o) {
            const int64_t from = r->order[i] * d + o;
            const double off = fabs((double)permuted[i * d + o] - (double)y[from]);
            ++test->n_compared;
            all_well = off <= 2 * want.outputs.error[from];
            if (!all_well)
                lecture_fail(test, &c, "n %lld: output %lld of row %lld is %g off, bound %g",
                             (long long)n, (long long)o, (long long)i, off,
                             2 * want.outputs.error[from]);
        }
    free(y);
    free(permuted);
    free(r);
}

/* A row of a chain depends on its own query alone, to the bit. */
static void test_permuted_queries(lecture_test *test, int64_t n, int64_t d, uint64_t seed)
{
    static const lecture_case c = {"random", "queries in another order", "plain"};
    random_layer *const r = test_allocate(sizeof *r);
    make_random(r, n, 1, d, seed);
    float *const y = floats(n * d), *const weights = floats(n * n);
    sattn_attention_layer_args a = {.batch = 1,
                                    .n_q = n,
                                    .n_k = n,
                                    .q = {.data = r->x, .stride_t = d},
                                    .x = {.data = r->x, .stride_t = d},
                                    .w_k = r->s.args.w_k,
                                    .w_v = r->s.args.w_v};
    for (int moved = 0; moved < BATCH; ++moved) {
        a.q.data = moved ? r->moved : r->x;
        a.y = (sattn_mut_view){.data = y + moved * n * d, .stride_t = d};
        a.weights = (sattn_mut_view){.data = weights + moved * n * n, .stride_t = n};
        lecture_succeeds(test, &c, sattn_attention_layer(&a, &test->options));
    }
    for (int64_t i = 0; i < n; ++i) {
        expect_same(test, &c, "y", y + r->order[i] * d, y + n * d + i * d, d);
        expect_same(test, &c, "weights", weights + r->order[i] * n, weights + n * n + i * n, n);
        ++test->n_compared;
    }
    free(y);
    free(weights);
    free(r);
}

static void run(lecture_test *test)
{
    static const struct {
        lecture_case c;
        int64_t n_heads;
    } self[] = {{{"self_attention", "h1_d24", "module"}, 1},
                {{"self_attention", "h4_d20", "module"}, 4},
                {{"self_attention", "h4_d36", "module"}, 4},
                {{"self_attention", "h3_unequal", "plain"}, 3}};
    for (size_t i = 0; i < sizeof self / sizeof self[0]; ++i)
        test_self(test, &self[i].c, self[i].n_heads);
    test_permuted(test, 5, 1, 7, 1);
    test_permuted(test, 33, 3, 24, 2);
    test_permuted(test, N_MOST, 4, D_MOST, 3);
    test_permuted_queries(test, 37, 24, 4);
}

int main(int argc, char **argv)
{
    return lecture_main(argc, argv, NULL, run);
}
