/* SPDX-License-Identifier: MIT
 *
 * test_layer_refusals.c: what the attention layers refuse, naming it and leaving everything as it
 * was; and the legal calls next to it. */
#include "dispatch/simdattn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, N_Q = 3, N_K = 5, D_Q = 6, D_X = 8, D_V = 4, N_ALIGN = 7, HEADS = 2 };
enum { FLOATS = 256, WORKSPACE = 1 << 20, PACK = 1 << 16 };

/* One legal call of each layer. */
typedef struct call {
    float q[FLOATS], x[FLOATS], y[FLOATS], weights[FLOATS], w[4][FLOATS], v[FLOATS];
    int64_t n_k_valid[BATCH];
    sattn_general_attention_args general;
    sattn_attention_layer_args layer;
    sattn_self_attention_args self;
    sattn_options options;
} call;

static _Alignas(64) unsigned char workspace[WORKSPACE], packed[PACK];

static sattn_linear_weights weights_of(const float *w, int64_t n_out, int64_t n_in)
{
    return (sattn_linear_weights){.n_in = n_in, .n_out = n_out, .w = {.data = w, .stride_t = n_in}};
}

static sattn_view view_of(const float *data, int64_t rows, int64_t columns)
{
    return (sattn_view){.data = data, .stride_b = rows * columns, .stride_t = columns};
}

static sattn_mut_view written(float *data, int64_t rows, int64_t columns)
{
    return (sattn_mut_view){.data = data, .stride_b = rows * columns, .stride_t = columns};
}

static void make_call(call *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < FLOATS; ++i) {
        c->q[i] = (float)(i % 7) / 4.0f - 0.75f;
        c->x[i] = (float)(i % 5) / 4.0f - 0.5f;
        c->v[i] = c->w[0][i] = c->w[1][i] = c->w[2][i] = c->w[3][i] = (float)(i % 3) - 1.0f;
        c->y[i] = c->weights[i] = 99.0f;
    }
    for (int b = 0; b < BATCH; ++b)
        c->n_k_valid[b] = N_K - b;
    c->general = (sattn_general_attention_args){.batch = BATCH,
                                                .n_q = N_Q,
                                                .n_k = N_K,
                                                .d_q = D_Q,
                                                .d_x = D_X,
                                                .q = view_of(c->q, N_Q, D_Q),
                                                .x = view_of(c->x, N_K, D_X),
                                                .y = written(c->y, N_Q, D_X),
                                                .n_k_valid = c->n_k_valid,
                                                .align = SATTN_ALIGN_ADDITIVE,
                                                .w_q = weights_of(c->w[0], N_ALIGN, D_Q),
                                                .w_x = weights_of(c->w[1], N_ALIGN, D_X),
                                                .v = c->v};
    c->layer = (sattn_attention_layer_args){.batch = BATCH,
                                            .n_q = N_Q,
                                            .n_k = N_K,
                                            .q = view_of(c->q, N_Q, D_Q),
                                            .x = view_of(c->x, N_K, D_X),
                                            .y = written(c->y, N_Q, D_V),
                                            .w_k = weights_of(c->w[0], D_Q, D_X),
                                            .w_v = weights_of(c->w[1], D_V, D_X),
                                            .n_k_valid = c->n_k_valid};
    c->self = (sattn_self_attention_args){.batch = BATCH,
                                          .n_k = N_K,
                                          .n_heads = HEADS,
                                          .x = view_of(c->x, N_K, D_X),
                                          .y = written(c->y, N_K, D_X),
                                          .w_q = weights_of(c->w[0], D_Q, D_X),
                                          .w_k = weights_of(c->w[1], D_Q, D_X),
                                          .w_v = weights_of(c->w[2], D_V, D_X),
                                          .w_o = weights_of(c->w[3], D_X, D_V),
                                          .n_k_valid = c->n_k_valid};
}

static void use_weights(call *c)
{
    c->general.weights = c->layer.weights = written(c->weights, N_Q, N_K);
    c->self.weights = (sattn_mut_view){
        .data = c->weights, .stride_b = HEADS * N_K * N_K, .stride_h = N_K * N_K, .stride_t = N_K};
}

static void use_bilinear(call *c)
{
    c->general.align = SATTN_ALIGN_BILINEAR;
    c->general.w_q = (sattn_linear_weights){0};
    c->general.w_x = weights_of(c->w[1], D_Q, D_X);
    c->general.v = NULL;
}

static void use_dot(call *c)
{
    use_bilinear(c);
    c->general.align = SATTN_ALIGN_DOT;
    c->general.w_x = (sattn_linear_weights){0};
    c->general.d_x = D_Q;
}

/* Packs a map's weights; returns the last float of the pack. */
static float *pack(sattn_linear_weights *w)
{
    size_t size;
    assert_int_equal(sattn_linear_pack_size(w, BATCH * N_K, NULL, &size), SATTN_OK);
    assert_in_range(size, 1, PACK / 2);
    assert_int_equal(sattn_linear_pack(w, BATCH * N_K, NULL, packed, size), SATTN_OK);
    w->packed = packed;
    return (float *)(void *)(packed + size) - 1;
}

typedef sattn_status layer_fn(const call *c);

static sattn_status general(const call *c)
{
    return sattn_general_attention(&c->general, &c->options);
}

static sattn_status layer(const call *c)
{
    return sattn_attention_layer(&c->layer, &c->options);
}

static sattn_status self(const call *c)
{
    return sattn_self_attention(&c->self, &c->options);
}

static void expect_refusal(layer_fn *run, call *c, sattn_status status, const char *text)
{
    static call before;
    memcpy(&before, c, sizeof before);
    const sattn_status got = run(c);
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
    assert_memory_equal(&before, c, sizeof before);
}

/* Applies `change` to fresh legal calls and expects the layer to refuse its own. */
#define REFUSED(run, status, text, change)                                                         \
    do {                                                                                           \
        static call c;                                                                             \
        make_call(&c);                                                                             \
        change;                                                                                    \
        expect_refusal(run, &c, status, text);                                                     \
    } while (0)

static void test_legal_calls(void **state)
{
    (void)state;
    layer_fn *const runs[] = {general, layer, self};
    static call c;
    for (int variant = 0; variant < 4; ++variant)
        for (int run = 0; run < 3; ++run) {
            make_call(&c);
            if (variant & 1)
                use_weights(&c);
            if (variant & 2)
                use_bilinear(&c);
            if (runs[run](&c) != SATTN_OK)
                fail_msg("%s", sattn_last_error());
            assert_true(c.y[0] != 99.0f && (c.weights[0] != 99.0f) == ((variant & 1) != 0));
        }
}

static void test_extents(void **state)
{
    (void)state;
    REFUSED(general, SATTN_ERR_ARGUMENT, "batch = -1", c.general.batch = -1);
    REFUSED(general, SATTN_ERR_ARGUMENT, "n_q = -2", c.general.n_q = -2);
    REFUSED(general, SATTN_ERR_ARGUMENT, "n_k = -3", c.general.n_k = -3);
    REFUSED(general, SATTN_ERR_ARGUMENT, "d_q = 0", c.general.d_q = 0);
    REFUSED(general, SATTN_ERR_ARGUMENT, "d_x = 0", c.general.d_x = 0);
    REFUSED(general, SATTN_ERR_TOO_LARGE, "n_q = ", c.general.n_q = INT64_MAX);
    REFUSED(general, SATTN_ERR_TOO_LARGE, "workspace",
            (c.general.batch = 1, c.general.n_q = c.general.n_k = (int64_t)1 << 40));
    REFUSED(layer, SATTN_ERR_ARGUMENT, "batch = -1", c.layer.batch = -1);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "n_q = -2", c.layer.n_q = -2);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "n_k = -3", c.layer.n_k = -3);
    REFUSED(self, SATTN_ERR_ARGUMENT, "batch = -1", c.self.batch = -1);
    REFUSED(
        self, SATTN_ERR_TOO_LARGE, "",
        (c.self.batch = 1, c.self.n_k = c.self.w_q.n_out = c.self.w_k.n_out = (int64_t)1 << 40));
    REFUSED(self, SATTN_ERR_ARGUMENT, "n_heads = 0", c.self.n_heads = 0);
    REFUSED(self, SATTN_ERR_ARGUMENT, "n_heads = 4: expected a divisor of w_k.n_out = 6",
            c.self.n_heads = 4);
    REFUSED(self, SATTN_ERR_ARGUMENT, "n_heads = 3: expected a divisor of w_v.n_out = 4",
            c.self.n_heads = 3);
}

static void test_alignment(void **state)
{
    (void)state;
    REFUSED(general, SATTN_ERR_ARGUMENT, "align = 7", c.general.align = (sattn_align_kind)7);
    REFUSED(general, SATTN_ERR_ARGUMENT, "d_x = 8: expected d_q = 6",
            c.general.align = SATTN_ALIGN_SCALED_DOT);
    REFUSED(general, SATTN_ERR_ARGUMENT, "d_x = 8: expected d_q = 6",
            c.general.align = SATTN_ALIGN_DOT);
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.bias is set",
            (use_bilinear(&c), c.general.w_x.bias = c.v));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.n_out = 7: expected d_q = 6",
            (use_bilinear(&c), c.general.w_x.n_out = 7));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.n_in = 9: expected d_x = 8",
            (use_bilinear(&c), c.general.w_x.n_in = c.general.w_x.w.stride_t = 9));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.w.data is NULL",
            (use_bilinear(&c), c.general.w_x.w.data = NULL));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_q.n_in = 5: expected d_q = 6", c.general.w_q.n_in = 5);
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.n_in = 5: expected d_x = 8", c.general.w_x.n_in = 5);
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x.n_out = 3: expected w_q.n_out = 7",
            c.general.w_x.n_out = 3);
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_q.n_out = 0", c.general.w_q.n_out = 0);
    REFUSED(general, SATTN_ERR_ARGUMENT, "v is NULL", c.general.v = NULL);
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_q is set", (use_bilinear(&c), c.general.w_q.n_in = 6));
    REFUSED(general, SATTN_ERR_ARGUMENT, "v is set", (use_bilinear(&c), c.general.v = c.v));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_q is set", (use_dot(&c), c.general.w_q.bias = c.v));
    REFUSED(general, SATTN_ERR_ARGUMENT, "w_x is set", (use_dot(&c), c.general.w_x.w.data = c.v));
    REFUSED(general, SATTN_ERR_ARGUMENT, "v is set", (use_dot(&c), c.general.v = c.v));
}

static void test_maps(void **state)
{
    (void)state;
    REFUSED(layer, SATTN_ERR_ARGUMENT, "w_v.n_in = 7: expected w_k.n_in = 8", c.layer.w_v.n_in = 7);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "w_k.n_out = 0", c.layer.w_k.n_out = 0);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "w_k.w.data is NULL", c.layer.w_k.w.data = NULL);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "w_v.w.stride_t = 7", c.layer.w_v.w.stride_t = 7);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_q.n_in = 7: expected w_k.n_in = 8", c.self.w_q.n_in = 7);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_q.n_out = 4: expected w_k.n_out = 6",
            c.self.w_q.n_out = 4);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_v.n_in = 7: expected w_k.n_in = 8", c.self.w_v.n_in = 7);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_o.n_in = 3: expected w_v.n_out = 4", c.self.w_o.n_in = 3);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_o.w.data is NULL", c.self.w_o.w.data = NULL);
    REFUSED(self, SATTN_ERR_ARGUMENT, "w_q.packed", c.self.w_q.packed = workspace);
    REFUSED(self, SATTN_ERR_UNSUPPORTED, "w_v.w.dtype", c.self.w_v.w.dtype = SATTN_BF16);
}

static void test_tensors(void **state)
{
    (void)state;
    REFUSED(general, SATTN_ERR_ARGUMENT, "q.data is NULL", c.general.q.data = NULL);
    REFUSED(general, SATTN_ERR_ARGUMENT, "x.stride_t = 7", c.general.x.stride_t = 7);
    REFUSED(general, SATTN_ERR_OVERLAP, "y: with these strides", c.general.y.stride_t = 0);
    REFUSED(general, SATTN_ERR_UNSUPPORTED, "q.dtype", c.general.q.dtype = SATTN_F16);
    REFUSED(general, SATTN_ERR_OVERLAP, "weights: with these strides",
            (use_weights(&c), c.general.weights.stride_b = 0));
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps weights.data",
            (use_weights(&c), c.general.weights.data = c.y));
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps q.data", c.general.y.data = c.q);
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps w_x.w.data",
            c.general.y.data = c.w[1] + N_ALIGN * D_X - 1);
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps v", c.general.y.data = c.v);
    REFUSED(general, SATTN_ERR_ARGUMENT, "n_k_valid[1] = 6: expected 0 to n_k = 5",
            c.n_k_valid[1] = 6);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "x.data is NULL", c.layer.x.data = NULL);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "q.stride_t = 5", c.layer.q.stride_t = 5);
    REFUSED(layer, SATTN_ERR_ARGUMENT, "n_k_valid[0] = -1", c.n_k_valid[0] = -1);
    REFUSED(self, SATTN_ERR_ARGUMENT, "y.data is NULL", c.self.y.data = NULL);
    REFUSED(self, SATTN_ERR_OVERLAP, "y.data overlaps x.data", c.self.y.data = c.x);
    REFUSED(self, SATTN_ERR_OVERLAP, "weights: with these strides",
            (use_weights(&c), c.self.weights.stride_h = N_K));
    REFUSED(self, SATTN_ERR_ARGUMENT, "weights.stride_t = 4",
            (use_weights(&c), c.self.weights.stride_t = 4));
    REFUSED(self, SATTN_ERR_OVERLAP, "y.data overlaps w_o.w.data", c.self.y.data = c.w[3]);
}

/* Outputs on the end of a pack, and a workspace on one. */
static void test_packed_memory(void **state)
{
    (void)state;
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps w_q.packed",
            c.general.y.data = pack(&c.general.w_q));
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps w_x.packed",
            c.general.y.data = pack(&c.general.w_x));
    REFUSED(general, SATTN_ERR_OVERLAP, "y.data overlaps w_x.packed",
            (use_bilinear(&c), c.general.y.data = pack(&c.general.w_x)));
    REFUSED(layer, SATTN_ERR_OVERLAP, "y.data overlaps w_v.packed",
            c.layer.y.data = pack(&c.layer.w_v));
    REFUSED(self, SATTN_ERR_OVERLAP, "y.data overlaps w_q.packed",
            c.self.y.data = pack(&c.self.w_q));
    REFUSED(self, SATTN_ERR_OVERLAP, "y.data overlaps w_o.packed",
            c.self.y.data = pack(&c.self.w_o));
    REFUSED(self, SATTN_ERR_OVERLAP, "workspace overlaps w_k.packed",
            (pack(&c.self.w_k), c.options.workspace = packed, c.options.workspace_size = PACK));
}

static void test_options(void **state)
{
    (void)state;
    layer_fn *const runs[] = {general, layer, self};
    for (int run = 0; run < 3; ++run) {
        REFUSED(runs[run], SATTN_ERR_KERNEL, "avx9", c.options.isa = "avx9");
        REFUSED(runs[run], SATTN_ERR_ARGUMENT, "options.threads = -1", c.options.threads = -1);
        REFUSED(runs[run], SATTN_ERR_UNSUPPORTED, "options.plan = \"fused\": weights is set",
                (use_weights(&c), c.options.plan = "fused"));
        REFUSED(runs[run], SATTN_ERR_UNSUPPORTED, "options.key_splits = 2: weights is set",
                (use_weights(&c), c.options.key_splits = 2));
        REFUSED(runs[run], SATTN_ERR_UNSUPPORTED, "options.key_splits = 2: options.plan asks for",
                (c.options.key_splits = 2, c.options.plan = "chain"));
        REFUSED(runs[run], SATTN_ERR_KERNEL, "sattn_linear_f32_mmx",
                c.options.kernels = "sattn_linear_f32_mmx");
        REFUSED(runs[run], SATTN_ERR_WORKSPACE, "workspace_size = 64",
                (c.options.workspace = workspace, c.options.workspace_size = 64));
        REFUSED(runs[run], SATTN_ERR_WORKSPACE, "expected a multiple of 64",
                (c.options.workspace = workspace + 4, c.options.workspace_size = WORKSPACE - 4));
        REFUSED(runs[run], SATTN_ERR_OVERLAP, "workspace overlaps",
                (c.options.workspace = workspace, c.options.workspace_size = WORKSPACE,
                 c.general.y.data = c.layer.y.data = c.self.y.data = (float *)(void *)workspace));
    }
    static call c;
    size_t size = 1;
    make_call(&c);
    assert_int_equal(sattn_general_attention(NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_attention_layer(NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_self_attention(NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_general_attention_workspace_size(&c.general, NULL, NULL),
                     SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_attention_layer_workspace_size(&c.layer, NULL, NULL),
                     SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_general_attention_workspace_size(NULL, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
    size = 1;
    assert_int_equal(sattn_attention_layer_workspace_size(NULL, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
    size = 1;
    assert_int_equal(sattn_self_attention_workspace_size(NULL, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
    size = 1;
    c.self.n_heads = 0;
    assert_int_equal(sattn_self_attention_workspace_size(&c.self, NULL, &size), SATTN_ERR_ARGUMENT);
    assert_int_equal(size, 0);
}

/* Nothing to compute is no error; without inputs every row is +0. */
static void test_empty(void **state)
{
    (void)state;
    static call c;
    make_call(&c);
    c.general.n_q = c.layer.n_q = c.self.n_k = 0;
    assert_int_equal(general(&c), SATTN_OK);
    assert_int_equal(layer(&c), SATTN_OK);
    assert_int_equal(self(&c), SATTN_OK);
    for (int i = 0; i < FLOATS; ++i)
        assert_true(c.y[i] == 99.0f);
    for (int align = 0; align < 4; ++align) {
        make_call(&c);
        c.n_k_valid[0] = c.n_k_valid[1] = 0;
        if (align == 0)
            use_bilinear(&c);
        if (align == 1) { /* and they may be missing, at whatever distance from each other */
            c.general.n_k = c.layer.n_k = 0;
            c.general.x.data = c.layer.x.data = NULL;
        }
        if (align == 2)
            use_weights(&c);
        for (int run = 0; run < 2; ++run) {
            const int n = BATCH * N_Q * (run == 0 ? D_X : D_V);
            assert_int_equal(run == 0 ? general(&c) : layer(&c), SATTN_OK);
            for (int i = 0; i < n; ++i)
                assert_true(c.y[i] == 0.0f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legal_calls),   cmocka_unit_test(test_extents),
        cmocka_unit_test(test_alignment),     cmocka_unit_test(test_maps),
        cmocka_unit_test(test_tensors),       cmocka_unit_test(test_options),
        cmocka_unit_test(test_packed_memory), cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
