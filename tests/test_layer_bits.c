/* SPDX-License-Identifier: MIT
 *
 * test_layer_bits.c: what does not change a bit of what layers and decoders return: whose the
 * workspace is and what it held, threads, packed weights, neighbours in a batch, and what inputs
 * hold that do not exist. Outputs and workspaces lie between guard pages; with a workspace nothing
 * is allocated. */
#include "tests/support/layer_calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t lengths[LAYER_BATCH] = {LAYER_N_K - 27, LAYER_N_K - 1};

static int fill(void **state)
{
    (void)state;
    layer_fill();
    return 0;
}

static layer_call plain_call(void)
{
    return (layer_call){.batch = LAYER_BATCH};
}

/* Runs both and frees `got`. */
static void expect_same(const layer_case *c, layer_call *got, const layer_call *want,
                        const char *what)
{
    int at;
    layer_run(c, got);
    if (!layer_same_bits(got, want, &at))
        fail_msg("%s, %s: output %d has other bits", c->name, what, at);
    layer_free(got);
}

static void test_workspace(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call(), got = plain_call();
        got.has_workspace = true;
        layer_run(&layer_cases[i], &want);
        expect_same(&layer_cases[i], &got, &want, "in a workspace");
        layer_free(&want);
    }
}

static void test_threads(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call();
        want.n_k_valid = lengths;
        layer_run(&layer_cases[i], &want);
        for (int threads = 2; threads <= 5; ++threads) {
            layer_call got = plain_call();
            got.n_k_valid = lengths;
            got.has_workspace = true;
            got.options.threads = threads;
            expect_same(&layer_cases[i], &got, &want, "with threads");
        }
        layer_free(&want);
    }
}

static void test_packed(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call(), got = plain_call();
        if (strcmp(layer_cases[i].name, "bilinear, queries mapped") == 0)
            continue; /* packed, the inputs are */
        got.packs = true;
        layer_run(&layer_cases[i], &want);
        expect_same(&layer_cases[i], &got, &want, "with packed weights");
        layer_free(&want);
    }
}

/* By one kernel for each operation: which is chosen may depend on the number of rows. */
static void test_batch(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call();
        want.n_k_valid = lengths;
        want.options.isa = "scalar";
        layer_run(&layer_cases[i], &want);
        for (int64_t b = 0; b < LAYER_BATCH; ++b) {
            layer_call got = {.batch = 1, .first = b, .n_k_valid = lengths + b};
            got.options.isa = "scalar";
            expect_same(&layer_cases[i], &got, &want, "a batch entry alone");
        }
        layer_free(&want);
    }
}

/* Inputs from n_k_valid on hold NaN. In a self-attention their own outputs may be anything. */
static void test_missing_inputs(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call(), got = plain_call();
        if (strstr(layer_cases[i].name, "self"))
            continue;
        want.n_k_valid = got.n_k_valid = lengths;
        layer_run(&layer_cases[i], &want);
        for (int64_t b = 0; b < LAYER_BATCH; ++b)
            for (int64_t row = lengths[b]; row < LAYER_N_K; ++row)
                for (int64_t c = 0; c < LAYER_D; ++c)
                    layer_input(b, row)[c] = NAN;
        expect_same(&layer_cases[i], &got, &want, "with NaN behind the last input");
        layer_fill();
        layer_free(&want);
    }
}

/* A position of causal self-attention does not see what lies behind it, existing or not. */
static void test_causal_lengths(void **state)
{
    (void)state;
    for (int i = 0; i < layer_n_cases; ++i) {
        layer_call want = plain_call(), got = plain_call();
        if (strcmp(layer_cases[i].name, "causal self-attention") != 0)
            continue;
        got.n_k_valid = lengths;
        layer_run(&layer_cases[i], &want);
        layer_run(&layer_cases[i], &got);
        for (int64_t b = 0; b < LAYER_BATCH; ++b)
            for (int64_t row = 0; row < lengths[b]; ++row)
                assert_memory_equal(test_operand_f32(&got.outputs[0], b, row),
                                    test_operand_f32(&want.outputs[0], b, row),
                                    LAYER_D * sizeof(float));
        layer_free(&want);
        layer_free(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workspace),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_packed),         cmocka_unit_test(test_batch),
        cmocka_unit_test(test_missing_inputs), cmocka_unit_test(test_causal_lengths),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
