/* SPDX-License-Identifier: MIT
 *
 * test_verify_whole_layers.c: whole layers are judged as they should be: plain loops in f32 pass,
 * and what was computed with any other weight, state, input or limit does not. */
#include "bench/verify/layers.h"

#include "bench/verify/inputs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fill(float *x, int64_t n, uint64_t stream, float size)
{
    for (int64_t i = 0; i < n; ++i)
        x[i] = size * sattn_random_normal(1, stream, (uint64_t)i);
}

static float dot(const float *a, const float *b, int64_t n, int64_t b_stride)
{
    float sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += a[i] * b[i * b_stride];
    return sum;
}

static void soften(float *s, int64_t n)
{
    float sum = 0, most = s[0];
    for (int64_t j = 0; j < n; ++j)
        most = s[j] > most ? s[j] : most;
    for (int64_t j = 0; j < n; ++j)
        sum += s[j] = expf(s[j] - most);
    for (int64_t j = 0; j < n; ++j)
        s[j] /= sum;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* ---- a decoder's step */

enum { D = 24, ENC = 37, INPUT = D + ENC, KEYS = 11 };

/* All that a step reads, in one piece, so that each number of it can be changed. */
typedef struct step_data {
    float state[D], embedded[D], h[KEYS * ENC], keys[KEYS * D], w_state[D * D], v[D];
    float w_input[3 * D * INPUT], w_hidden[3 * D * D];
} step_data;

static void compute_step(const step_data *s, float next[D])
{
    float e[KEYS], x[INPUT], gx[3 * D], gh[3 * D];
    for (int j = 0; j < KEYS; ++j) {
        e[j] = 0;
        for (int c = 0; c < D; ++c)
            e[j] += s->v[c] * tanhf(dot(s->w_state + c * D, s->state, D, 1) + s->keys[j * D + c]);
    }
    soften(e, KEYS);
    memcpy(x, s->embedded, sizeof s->embedded);
    for (int c = 0; c < ENC; ++c)
        x[D + c] = dot(e, s->h + c, KEYS, ENC);
    for (int o = 0; o < 3 * D; ++o) {
        gx[o] = dot(s->w_input + o * INPUT, x, INPUT, 1);
        gh[o] = dot(s->w_hidden + o * D, s->state, D, 1);
    }
    for (int y = 0; y < D; ++y) {
        const float r = sigmoid(gx[y] + gh[y]), z = sigmoid(gx[D + y] + gh[D + y]);
        const float n = tanhf(gx[2 * D + y] + r * gh[2 * D + y]);
        next[y] = (1 - z) * n + z * s->state[y];
    }
}

static bool step_passes(const step_data *s, const float got[D])
{
    const sattn_verify_step step = {.d = D,
                                    .n_enc = ENC,
                                    .n_k = KEYS,
                                    .state = s->state,
                                    .embedded = s->embedded,
                                    .h = s->h,
                                    .keys = s->keys,
                                    .w_state = s->w_state,
                                    .v = s->v,
                                    .w_input = s->w_input,
                                    .w_hidden = s->w_hidden};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    assert_true(sattn_verify_step_state(&step, got, &result));
    assert_int_equal(result.n_elements, D);
    return sattn_verify_passed(&result);
}

static void test_step(void **state)
{
    (void)state;
    static step_data s;
    float got[D];
    fill((float *)(void *)&s, sizeof s / sizeof(float), 1, 0.5f);
    compute_step(&s, got);
    assert_true(step_passes(&s, got));
    float *const parts[] = {s.state, s.embedded, s.h,       s.keys,
                            s.v,     s.w_state,  s.w_input, s.w_hidden};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; ++p) {
        const float kept = parts[p][1];
        parts[p][1] += 0.1f;
        assert_false(step_passes(&s, got));
        parts[p][1] = kept;
    }
    got[D - 1] += 1e-4f;
    assert_false(step_passes(&s, got));
    got[D - 1] = NAN;
    assert_false(step_passes(&s, got));
}

/* ---- a self-attention layer, whose queries are maps of its inputs */

enum { N = 13, HEADS = 2, WIDTH = D / HEADS };

typedef struct self_data {
    float x[N * D], w[4][D * D];
} self_data;

static void compute_self(const self_data *s, bool causal, float y[N * D])
{
    static float made[3][N * D], heads[N * D];
    for (int m = 0; m < 3; ++m)
        for (int j = 0; j < N; ++j)
            for (int c = 0; c < D; ++c)
                made[m][j * D + c] = dot(s->w[m] + c * D, s->x + j * D, D, 1);
    for (int i = 0; i < N; ++i)
        for (int at = 0; at < D; at += WIDTH) {
            float e[N];
            const int n = causal ? i + 1 : N;
            for (int j = 0; j < n; ++j)
                e[j] = dot(made[0] + i * D + at, made[1] + j * D + at, WIDTH, 1) / sqrtf(WIDTH);
            soften(e, n);
            for (int c = at; c < at + WIDTH; ++c)
                heads[i * D + c] = dot(e, made[2] + c, n, D);
        }
    for (int i = 0; i < N; ++i)
        for (int c = 0; c < D; ++c)
            y[i * D + c] = dot(s->w[3] + c * D, heads + i * D, D, 1);
}

static bool self_passes(const self_data *s, int64_t n_heads, bool causal, const float *got)
{
    const sattn_verify_layer layer = {.n_q = N,
                                      .n_k = N,
                                      .d = D,
                                      .n_heads = n_heads,
                                      .causal = causal,
                                      .q = s->x,
                                      .x = s->x,
                                      .w_q = s->w[0],
                                      .w_k = s->w[1],
                                      .w_v = s->w[2],
                                      .w_o = s->w[3]};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    assert_true(sattn_verify_layer_rows(&layer, got, &result));
    assert_int_equal(result.n_rows, 4);
    return sattn_verify_passed(&result);
}

static void test_self(void **state)
{
    (void)state;
    static self_data s;
    static float got[N * D];
    fill((float *)(void *)&s, sizeof s / sizeof(float), 2, 0.4f);
    for (int causal = 0; causal < 2; ++causal) {
        compute_self(&s, causal == 1, got);
        assert_true(self_passes(&s, HEADS, causal == 1, got));
        assert_false(self_passes(&s, HEADS, causal == 0, got));
        assert_false(self_passes(&s, 1, causal == 1, got));
        for (int m = 0; m < 4; ++m) {
            s.w[m][3] += 0.1f;
            assert_false(self_passes(&s, HEADS, causal == 1, got));
            s.w[m][3] -= 0.1f;
        }
        got[N * D - 1] += 1e-4f; /* of the last row, which is looked at */
        assert_false(self_passes(&s, HEADS, causal == 1, got));
    }
}

/* ---- layers whose queries are given */

enum { QUERIES = 5 };

typedef struct layer_data {
    float q[QUERIES * D], x[N * D], w_q[D * D], w_k[D * D], w_v[D * D], v[D];
} layer_data;

/* Rows of a map, or the rows themselves. */
static void project(const float *w, const float *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < D; ++c)
            y[i * D + c] = w ? dot(w + c * D, x + i * D, D, 1) : x[i * D + c];
}

static void compute_layer(const sattn_verify_layer *layer, float scale, float y[QUERIES * D])
{
    static float q[QUERIES * D], k[N * D], values[N * D];
    project(layer->w_q, layer->q, QUERIES, q);
    project(layer->w_k, layer->x, N, k);
    project(layer->w_v, layer->x, N, values);
    for (int i = 0; i < QUERIES; ++i) {
        float e[N];
        for (int j = 0; j < N; ++j) {
            e[j] = layer->v ? 0 : scale * dot(q + i * D, k + j * D, D, 1);
            for (int c = 0; layer->v && c < D; ++c)
                e[j] += layer->v[c] * tanhf(q[i * D + c] + k[j * D + c]);
        }
        soften(e, N);
        for (int c = 0; c < D; ++c)
            y[i * D + c] = dot(e, values + c, N, D);
    }
}

static bool layer_passes(const sattn_verify_layer *layer, const float *got)
{
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    assert_true(sattn_verify_layer_rows(layer, got, &result));
    assert_int_equal(result.n_rows, 4);
    return sattn_verify_passed(&result);
}

/* The general layer with each alignment, and the layer with maps of keys and values. */
static void test_layers(void **state)
{
    (void)state;
    static layer_data s;
    static float got[QUERIES * D];
    fill((float *)(void *)&s, sizeof s / sizeof(float), 3, 0.4f);
    const sattn_verify_layer plain = {
        .n_q = QUERIES, .n_k = N, .d = D, .n_heads = 1, .q = s.q, .x = s.x};
    sattn_verify_layer layers[] = {plain, plain, plain, plain, plain};
    layers[1].scale = 1;
    layers[2].scale = 1;
    layers[2].w_k = s.w_k; /* bilinear */
    layers[3].w_q = s.w_q;
    layers[3].w_k = s.w_k;
    layers[3].v = s.v; /* additive */
    layers[4].w_k = s.w_k;
    layers[4].w_v = s.w_v;
    enum { LAYERS = sizeof layers / sizeof layers[0] };
    for (size_t l = 0; l < LAYERS; ++l) {
        compute_layer(&layers[l], layers[l].scale > 0 ? 1 : 1 / sqrtf(D), got);
        for (size_t other = 0; other < LAYERS; ++other)
            assert_true(layer_passes(&layers[other], got) == (other == l));
        float *const parts[] = {s.w_q, s.w_k, s.w_v, s.v};
        const float *const used[] = {layers[l].w_q, layers[l].w_k, layers[l].w_v, layers[l].v};
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; ++p) {
            const float kept = parts[p][1];
            parts[p][1] += 0.1f;
            assert_true(layer_passes(&layers[l], got) == (used[p] == NULL));
            parts[p][1] = kept;
        }
        got[QUERIES * D - 1] += 1e-4f; /* of the last row, which is looked at */
        assert_false(layer_passes(&layers[l], got));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_step), cmocka_unit_test(test_self),
                                       cmocka_unit_test(test_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
