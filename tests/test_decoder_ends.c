/* SPDX-License-Identifier: MIT
 *
 * test_decoder_ends.c: where decoded sequences end, which of equal tokens wins, what becomes of no
 * encoder states and of equal ones, and which kernels decoders name. */
#include "tests/support/decoder_call.h"

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
            c.greedy.has_eos = eos >= 0;
            c.greedy.eos = eos >= 0 ? eos : winner;
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
        c.greedy.has_eos = false;
        assert_int_equal(greedy(&c), SATTN_OK);
        memcpy(all, c.tokens, sizeof all);
        c.greedy.has_eos = true;
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

#define ATTENTION                                                                                  \
    "sattn_linear_f32_scalar,sattn_additive_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_"     \
    "scalar"

/* Each kernel once, and none that a decoder has no use for. */
static void test_kernels(void **state)
{
    (void)state;
    static const char *const expected[2][2] = {
        {ATTENTION ",sattn_gru_f32_scalar",
         ATTENTION ",sattn_gru_f32_scalar,sattn_tanh_f32_scalar"},
        {ATTENTION ",sattn_tanh_f32_scalar", ATTENTION ",sattn_tanh_f32_scalar"}};
    static call c;
    for (int is_rnn = 0; is_rnn < 2; ++is_rnn)
        for (int has_start = 0; has_start < 2; ++has_start) {
            make_args(&c);
            c.options.isa = "scalar";
            if (is_rnn) {
                c.args.cell = SATTN_CELL_RNN;
                c.args.w_embedded.n_out = c.args.w_context.n_out = c.args.w_hidden.n_out = N_HIDDEN;
            }
            if (!has_start)
                c.args.w_start = (sattn_linear_weights){0};
            assert_int_equal(sattn_decoder_create(&c.decoder, &c.args, &c.options), SATTN_OK);
            assert_string_equal(sattn_decoder_kernels(c.decoder), expected[is_rnn][has_start]);
            sattn_decoder_destroy(c.decoder);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_ends_apart),
                                       cmocka_unit_test(test_no_states),
                                       cmocka_unit_test(test_mean), cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
