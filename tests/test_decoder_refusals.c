/* SPDX-License-Identifier: MIT
 *
 * test_decoder_refusals.c: what decoders refuse, naming it and leaving everything as it was; and
 * what their calls make of ends and of nothing. */
#include "dispatch/simdattn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, N_K = 5, N_ENC = 6, N_HIDDEN = 4, N_ALIGN = 3, N_EMBED = 5, N_VOCAB = 7 };
enum { N_GATES = 3 * N_HIDDEN, MAX_STEPS = 4, FLOATS = 256, MAPS = 7 };

/* A legal decoder, and a legal call of each kind. */
typedef struct call {
    float w[MAPS][FLOATS], v[FLOATS], table[FLOATS];
    float h[FLOATS], keys[FLOATS], state[FLOATS], next[FLOATS], outputs[4][FLOATS];
    int64_t n_k_valid[BATCH], inputs[BATCH], tokens[BATCH * MAX_STEPS], n_steps[BATCH];
    sattn_decoder_args args;
    sattn_decoder_source source;
    sattn_decoder_step_args step;
    sattn_greedy_args greedy;
    sattn_mut_view start;
    sattn_options options;
    void *workspace;
    size_t workspace_size;
    sattn_decoder *decoder;
} call;

static sattn_linear_weights weights_of(const float *w, int64_t n_out, int64_t n_in)
{
    return (sattn_linear_weights){.n_in = n_in, .n_out = n_out, .w = {.data = w, .stride_t = n_in}};
}

static void make_args(call *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < FLOATS; ++i) {
        for (int map = 0; map < MAPS; ++map)
            c->w[map][i] = (float)((i + map) % 5) / 4.0f - 0.5f;
        c->v[i] = c->table[i] = c->h[i] = c->state[i] = (float)(i % 7) / 8.0f - 0.375f;
        c->keys[i] = c->next[i] = 99.0f;
        for (int output = 0; output < 4; ++output)
            c->outputs[output][i] = 99.0f;
    }
    for (int b = 0; b < BATCH; ++b) {
        c->n_k_valid[b] = N_K - b;
        c->inputs[b] = b;
    }
    c->args = (sattn_decoder_args){.batch = BATCH,
                                   .n_k = N_K,
                                   .h = {.stride_b = N_K * N_ENC, .stride_t = N_ENC},
                                   .w_state = weights_of(c->w[0], N_ALIGN, N_HIDDEN),
                                   .w_encoded = weights_of(c->w[1], N_ALIGN, N_ENC),
                                   .v = c->v,
                                   .w_embedded = weights_of(c->w[2], N_GATES, N_EMBED),
                                   .w_context = weights_of(c->w[3], N_GATES, N_ENC),
                                   .w_hidden = weights_of(c->w[4], N_GATES, N_HIDDEN),
                                   .w_out = weights_of(c->w[5], N_VOCAB, N_HIDDEN),
                                   .embedding = {.data = c->table, .stride_t = N_EMBED},
                                   .w_start = weights_of(c->w[6], N_HIDDEN, N_ENC)};
    c->source = (sattn_decoder_source){.h = c->h, .keys = c->keys, .n_k_valid = c->n_k_valid};
    c->step = (sattn_decoder_step_args){.tokens = c->inputs,
                                        .state = {.data = c->state, .stride_t = N_HIDDEN},
                                        .next = {.data = c->next, .stride_t = N_HIDDEN},
                                        .weights = {.data = c->outputs[0], .stride_t = N_K},
                                        .context = {.data = c->outputs[1], .stride_t = N_ENC},
                                        .logits = {.data = c->outputs[2], .stride_t = N_VOCAB}};
    c->greedy = (sattn_greedy_args){
        .bos = 1,
        .eos = 0,
        .max_steps = MAX_STEPS,
        .start = {.data = c->state, .stride_t = N_HIDDEN},
        .tokens = c->tokens,
        .n_steps = c->n_steps,
        .weights = {.data = c->outputs[0], .stride_b = MAX_STEPS * N_K, .stride_t = N_K},
        .contexts = {.data = c->outputs[1], .stride_b = MAX_STEPS * N_ENC, .stride_t = N_ENC},
        .states = {.data = c->next, .stride_b = MAX_STEPS * N_HIDDEN, .stride_t = N_HIDDEN},
        .logits = {.data = c->outputs[3], .stride_b = MAX_STEPS * N_VOCAB, .stride_t = N_VOCAB}};
    c->start = (sattn_mut_view){.data = c->next, .stride_t = N_HIDDEN};
}

static void make_call(call *c)
{
    make_args(c);
    if (sattn_decoder_create(&c->decoder, &c->args, &c->options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
}

typedef sattn_status decoder_fn(const call *c);

static sattn_status prepare(const call *c)
{
    return sattn_decoder_prepare(c->decoder, &c->source, c->workspace, c->workspace_size);
}

static sattn_status start(const call *c)
{
    return sattn_decoder_start(c->decoder, &c->source, &c->start, c->workspace, c->workspace_size);
}

static sattn_status step(const call *c)
{
    return sattn_decoder_step(c->decoder, &c->source, &c->step, c->workspace, c->workspace_size);
}

static sattn_status greedy(const call *c)
{
    return sattn_decode_greedy(c->decoder, &c->source, &c->greedy, c->workspace, c->workspace_size);
}

static void expect_message(sattn_status got, sattn_status status, const char *text)
{
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
}

/* A decoder whose arguments have been changed is not made. */
#define NOT_MADE(status, text, change)                                                             \
    do {                                                                                           \
        static call c;                                                                             \
        sattn_decoder *made = (sattn_decoder *)(void *)&c;                                         \
        make_args(&c);                                                                             \
        change;                                                                                    \
        expect_message(sattn_decoder_create(&made, &c.args, &c.options), status, text);            \
        assert_null(made);                                                                         \
    } while (0)

/* A call that has been changed is refused, and writes nothing. */
#define REFUSED(run, status, text, change)                                                         \
    do {                                                                                           \
        static call c, before;                                                                     \
        make_call(&c);                                                                             \
        change;                                                                                    \
        memcpy(&before, &c, sizeof before);                                                        \
        expect_message(run(&c), status, text);                                                     \
        assert_memory_equal(&before, &c, sizeof before);                                           \
        sattn_decoder_destroy(c.decoder);                                                          \
    } while (0)

static void test_create(void **state)
{
    (void)state;
    NOT_MADE(SATTN_ERR_ARGUMENT, "batch = 0", c.args.batch = 0);
    NOT_MADE(SATTN_ERR_ARGUMENT, "n_k = 0", c.args.n_k = 0);
    NOT_MADE(SATTN_ERR_TOO_LARGE, "", c.args.batch = c.args.n_k = (int64_t)1 << 40);
    NOT_MADE(SATTN_ERR_ARGUMENT, "cell = 5", c.args.cell = (sattn_cell_kind)5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_hidden.n_out = 12: expected w_hidden.n_in = 4",
             c.args.cell = SATTN_CELL_RNN);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_hidden.n_out = 11: expected 3 w_hidden.n_in = 12",
             c.args.w_hidden.n_out = 11);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_embedded.n_out = 13", c.args.w_embedded.n_out = 13);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_context.n_out = 13", c.args.w_context.n_out = 13);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_context.n_in = 5: expected w_encoded.n_in = 6",
             c.args.w_context.n_in = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.n_in = 3: expected w_hidden.n_in = 4",
             c.args.w_state.n_in = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.n_out = 4: expected w_encoded.n_out = 3",
             c.args.w_state.n_out = 4);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.n_in = 3: expected w_hidden.n_in = 4",
             c.args.w_out.n_in = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_start.n_in = 5: expected w_encoded.n_in = 6",
             c.args.w_start.n_in = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_start.n_out = 3: expected w_hidden.n_in = 4",
             c.args.w_start.n_out = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.w.data is NULL", c.args.w_out.w.data = NULL);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.w.stride_t = 3", c.args.w_state.w.stride_t = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "v is NULL", c.args.v = NULL);
    NOT_MADE(SATTN_ERR_ARGUMENT, "h.stride_t = 5", c.args.h.stride_t = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "embedding.stride_t = 4", c.args.embedding.stride_t = 4);
    NOT_MADE(SATTN_ERR_ARGUMENT, "options.threads = -3", c.options.threads = -3);
    NOT_MADE(SATTN_ERR_KERNEL, "avx9", c.options.isa = "avx9");
    static call c;
    sattn_decoder *made;
    make_args(&c);
    assert_int_equal(sattn_decoder_create(NULL, &c.args, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_create(&made, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_null(made);
    sattn_decoder_destroy(NULL);
}

static void test_source(void **state)
{
    (void)state;
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "h is NULL", c.source.h = NULL);
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "keys is NULL", c.source.keys = NULL);
    REFUSED(prepare, SATTN_ERR_OVERLAP, "keys overlaps h", c.source.keys = c.h + 4);
    REFUSED(prepare, SATTN_ERR_OVERLAP, "keys overlaps w_encoded.w.data", c.source.keys = c.w[1]);
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "n_k_valid[0] = 6", c.n_k_valid[0] = 6);
    REFUSED(step, SATTN_ERR_ARGUMENT, "keys is NULL", c.source.keys = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "n_k_valid[1] = -1", c.n_k_valid[1] = -1);
    REFUSED(start, SATTN_ERR_ARGUMENT, "state.data is NULL", c.start.data = NULL);
    REFUSED(start, SATTN_ERR_OVERLAP, "state.data overlaps w_start.w.data", c.start.data = c.w[6]);
    REFUSED(start, SATTN_ERR_ARGUMENT, "state.stride_t = 3", c.start.stride_t = 3);
}

static void test_step(void **state)
{
    (void)state;
    REFUSED(step, SATTN_ERR_ARGUMENT, "tokens[1] = 7: expected 0 to n_vocab - 1 = 6",
            c.inputs[1] = 7);
    REFUSED(step, SATTN_ERR_ARGUMENT, "tokens[0] = -1", c.inputs[0] = -1);
    REFUSED(step, SATTN_ERR_ARGUMENT, "embedded.data is NULL", c.step.tokens = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "state.data is NULL", c.step.state.data = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "next.data is NULL", c.step.next.data = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "logits.stride_t = 6", c.step.logits.stride_t = 6);
    REFUSED(step, SATTN_ERR_OVERLAP, "weights: with these strides", c.step.weights.stride_t = 0);
    REFUSED(step, SATTN_ERR_OVERLAP, "or exactly state", c.step.next.data = c.state + 1);
    REFUSED(step, SATTN_ERR_OVERLAP, "context.data overlaps h", c.step.context.data = c.h);
    REFUSED(step, SATTN_ERR_OVERLAP, "weights.data overlaps keys", c.step.weights.data = c.keys);
    REFUSED(step, SATTN_ERR_OVERLAP, "logits.data overlaps embedding.data",
            c.step.logits.data = c.table);
    REFUSED(step, SATTN_ERR_UNSUPPORTED, "next.dtype", c.step.next.dtype = SATTN_F16);
    static _Alignas(64) unsigned char memory[128];
    REFUSED(step, SATTN_ERR_WORKSPACE, "workspace_size = 128",
            (c.workspace = memory, c.workspace_size = sizeof memory));
    REFUSED(step, SATTN_ERR_WORKSPACE, "expected a multiple of 64",
            (c.workspace = memory + 8, c.workspace_size = sizeof memory));
}

static void test_greedy(void **state)
{
    (void)state;
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "bos = 7", c.greedy.bos = 7);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "bos = -1", c.greedy.bos = -1);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "eos = -2", c.greedy.eos = -2);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "eos = 7", c.greedy.eos = 7);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "max_steps = 0", c.greedy.max_steps = 0);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "tokens is NULL", c.greedy.tokens = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "n_steps is NULL", c.greedy.n_steps = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "start.data is NULL", c.greedy.start.data = NULL);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "states.data overlaps start.data",
            c.greedy.states.data = c.state);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "tokens overlaps n_steps",
            c.greedy.n_steps = c.tokens + BATCH * MAX_STEPS - 1);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "logits: with these strides", c.greedy.logits.stride_b = 1);
}

static void test_missing_structs(void **state)
{
    (void)state;
    static call c;
    make_call(&c);
    assert_int_equal(sattn_decoder_prepare(NULL, &c.source, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_prepare(c.decoder, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_start(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_step(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decode_greedy(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    sattn_decoder_destroy(c.decoder);
}

/* A decoder without an embedding or a start has steps of embeddings, and no more. */
static void test_left_out(void **state)
{
    (void)state;
    static call c;
    make_args(&c);
    c.args.embedding = (sattn_view){0};
    c.args.w_start = (sattn_linear_weights){0};
    assert_int_equal(sattn_decoder_create(&c.decoder, &c.args, NULL), SATTN_OK);
    assert_int_equal(prepare(&c), SATTN_OK);
    expect_message(step(&c), SATTN_ERR_ARGUMENT, "tokens is set");
    expect_message(greedy(&c), SATTN_ERR_ARGUMENT, "embedding.data is NULL");
    expect_message(start(&c), SATTN_ERR_ARGUMENT, "w_start.n_out = 0");
    c.step.tokens = NULL;
    c.step.embedded = (sattn_view){.data = c.table, .stride_t = N_EMBED};
    assert_int_equal(step(&c), SATTN_OK);
    assert_true(c.next[0] != 99.0f && c.outputs[0][0] != 99.0f && c.outputs[2][0] != 99.0f);
    sattn_decoder_destroy(c.decoder);
}

/* Sequences end one by one: of equals the first token wins, eos or not; bos may be eos. */
static void test_ends(void **state)
{
    (void)state;
    static call c;
    static float bias[N_VOCAB];
    make_args(&c);
    memset(c.w[5], 0, sizeof c.w[5]);
    c.args.w_out.bias = bias;
    for (int winner = 0; winner < N_VOCAB; ++winner) {
        for (int i = 0; i < N_VOCAB; ++i)
            bias[i] = i >= winner ? 1.0f : 0.0f;
        assert_int_equal(sattn_decoder_create(&c.decoder, &c.args, NULL), SATTN_OK);
        assert_int_equal(prepare(&c), SATTN_OK);
        for (int eos = -1; eos < N_VOCAB; ++eos) {
            c.greedy.eos = eos;
            c.greedy.bos = winner > 0 && eos > 0 ? eos : 1;
            assert_int_equal(greedy(&c), SATTN_OK);
            for (int b = 0; b < BATCH; ++b) {
                assert_int_equal(c.n_steps[b], eos == winner ? 1 : MAX_STEPS);
                for (int i = 0; i < MAX_STEPS; ++i)
                    assert_int_equal(c.tokens[b * MAX_STEPS + i], winner);
            }
        }
        sattn_decoder_destroy(c.decoder);
    }
}

static void fill_at_random(float *to, uint32_t *bits, float scale)
{
    for (int i = 0; i < FLOATS; ++i) {
        *bits = *bits * 1664525u + 1013904223u;
        to[i] = scale * ((float)(*bits >> 8) / 8388608.0f - 1.0f);
    }
}

/* Two sequences that differ, without an end and then with each token as one: all is as before up to
 * a sequence's end, wherever that of the other is. */
static void test_ends_apart(void **state)
{
    (void)state;
    static call c;
    int64_t all[BATCH * MAX_STEPS];
    uint32_t bits = 1;
    int n_apart = 0;
    for (int round = 0; round < 20; ++round) {
        make_args(&c);
        for (int map = 0; map < MAPS; ++map)
            fill_at_random(c.w[map], &bits, 2.0f);
        fill_at_random(c.h, &bits, 2.0f);
        fill_at_random(c.table, &bits, 2.0f);
        assert_int_equal(sattn_decoder_create(&c.decoder, &c.args, NULL), SATTN_OK);
        assert_int_equal(prepare(&c), SATTN_OK);
        c.greedy.eos = -1;
        assert_int_equal(greedy(&c), SATTN_OK);
        memcpy(all, c.tokens, sizeof all);
        for (c.greedy.eos = 0; c.greedy.eos < N_VOCAB; ++c.greedy.eos) {
            assert_int_equal(greedy(&c), SATTN_OK);
            n_apart += c.n_steps[0] != c.n_steps[1];
            for (int b = 0; b < BATCH; ++b) {
                int64_t n = 0;
                while (n < MAX_STEPS && all[b * MAX_STEPS + n] != c.greedy.eos)
                    ++n;
                assert_int_equal(c.n_steps[b], n < MAX_STEPS ? n + 1 : n);
                for (int64_t i = 0; i < MAX_STEPS; ++i)
                    assert_int_equal(c.tokens[b * MAX_STEPS + i],
                                     i < n ? all[b * MAX_STEPS + i] : c.greedy.eos);
            }
        }
        sattn_decoder_destroy(c.decoder);
    }
    assert_true(n_apart > 10);
}

/* No encoder state: the context is 0, and so is the mean. */
static void test_no_states(void **state)
{
    (void)state;
    static call c;
    make_call(&c);
    memset(c.n_k_valid, 0, sizeof c.n_k_valid);
    assert_int_equal(prepare(&c), SATTN_OK);
    assert_int_equal(step(&c), SATTN_OK);
    for (int i = 0; i < BATCH * N_ENC; ++i)
        assert_true(c.outputs[1][i] == 0.0f && (i >= BATCH * N_K || c.outputs[0][i] == 0.0f));
    assert_int_equal(start(&c), SATTN_OK);
    for (int i = 0; i < BATCH * N_HIDDEN; ++i)
        assert_true(c.next[i] == 0.0f);
    sattn_decoder_destroy(c.decoder);
}

/* The mean of equal states is that state, of however many; of 4 or 2 to the bit. */
static void test_mean(void **state)
{
    (void)state;
    static call c;
    make_call(&c);
    for (int i = 0; i < BATCH * N_K * N_ENC; ++i)
        c.h[i] = 0.3f * (float)(i % N_ENC) - 0.7f;
    c.n_k_valid[0] = 4;
    c.n_k_valid[1] = 2;
    assert_int_equal(start(&c), SATTN_OK);
    assert_memory_equal(c.next, c.next + N_HIDDEN, N_HIDDEN * sizeof(float));
    assert_true(c.next[0] != 0.0f);
    sattn_decoder_destroy(c.decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_missing_structs),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_ends_apart),
        cmocka_unit_test(test_no_states),
        cmocka_unit_test(test_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
