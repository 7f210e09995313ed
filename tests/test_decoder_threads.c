/* SPDX-License-Identifier: MIT
 *
 * test_decoder_threads.c: a decoder whose parts are each worth several threads: how many run them,
 * that its results do not depend on it, and that it keeps to its workspace and its outputs, which
 * lie between guard pages. */
#include "bench/verify/inputs.h"
#include "dispatch/layers/decoder.h"
#include "dispatch/team.h"
#include "tests/support/buffers.h"
#include "tests/support/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 4, N_K = 600, N_ENC = 96, N_HIDDEN = 256, N_ALIGN = 64, N_EMBED = 40 };
enum { N_VOCAB = 4096, N_GATES = 3 * N_HIDDEN, STEPS = 3, GAP = 3, THREADS = 5 };
enum { OUTPUTS = 11, FLOATS = N_VOCAB * N_HIDDEN };

static const int64_t lengths[BATCH] = {N_K - 27, N_K, 1, N_K - 1};
static float *numbers; /* of which all inputs and weights are made, each from another place on */

static sattn_linear_weights weights_of(int map, int64_t n_out, int64_t n_in)
{
    return (sattn_linear_weights){.n_in = n_in,
                                  .n_out = n_out,
                                  .w = {.data = numbers + 64 * map, .stride_t = n_in},
                                  .bias = numbers + 64 * map + 7};
}

static sattn_decoder *make_decoder(int threads)
{
    const sattn_options options = {.threads = threads};
    const sattn_decoder_args args = {.batch = BATCH,
                                     .n_k = N_K,
                                     .h = {.stride_b = N_K * N_ENC, .stride_t = N_ENC},
                                     .w_state = weights_of(1, N_ALIGN, N_HIDDEN),
                                     .w_encoded = weights_of(2, N_ALIGN, N_ENC),
                                     .v = numbers + 9,
                                     .w_embedded = weights_of(3, N_GATES, N_EMBED),
                                     .w_context = weights_of(4, N_GATES, N_ENC),
                                     .w_hidden = weights_of(5, N_GATES, N_HIDDEN),
                                     .w_out = weights_of(6, N_VOCAB, N_HIDDEN),
                                     .embedding = {.data = numbers + 11, .stride_t = N_EMBED},
                                     .w_start = weights_of(7, N_HIDDEN, N_ENC)};
    sattn_decoder *decoder;
    if (sattn_decoder_create(&decoder, &args, &options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
    return decoder;
}

/* What the calls of a decoder write. */
typedef struct results {
    test_operand outputs[OUTPUTS];
    int n;
} results;

static sattn_mut_view output(results *made, int64_t rows, int64_t columns, int64_t gap)
{
    const test_extents extents = test_extents_f32(BATCH, rows, columns, gap);
    test_operand *const operand = &made->outputs[made->n++];
    *operand = test_operand_make(&extents, TEST_END_FLUSH, 0);
    test_operand_spoil(operand, 0, rows);
    test_operand_seal(operand);
    return (sattn_mut_view){
        .data = operand->data, .stride_b = extents.group_stride, .stride_t = extents.row_stride};
}

/* A row of each sequence. */
static sattn_mut_view output_row(results *made, int64_t columns)
{
    sattn_mut_view view = output(made, 1, columns, GAP);
    view.stride_t = view.stride_b;
    return view;
}

/* Dense integers, as many floats as they take. */
static int64_t *output_integers(results *made, int64_t columns)
{
    return output(made, 1, columns * (int64_t)(sizeof(int64_t) / sizeof(float)), 0).data;
}

/* Prepare, start, a step in place, then greedy decoding from its state. */
static void run(const sattn_decoder *decoder, results *made)
{
    static const int64_t tokens_before[BATCH] = {7, 0, N_VOCAB - 1, 7};
    const test_extents bytes =
        test_extents_f32(1, 1, (int64_t)(sattn_decoder_workspace_size(decoder) / sizeof(float)), 0);
    test_operand workspace = test_operand_make(&bytes, TEST_END_FLUSH, 0);
    const size_t size = sattn_decoder_workspace_size(decoder);
    const sattn_decoder_source source = {
        .h = numbers + 13, .keys = output(made, N_K, N_ALIGN, 0).data, .n_k_valid = lengths};
    const sattn_mut_view state = output_row(made, N_HIDDEN);
    const sattn_view before = {.data = state.data, .stride_t = state.stride_t};
    const sattn_decoder_step_args step = {.tokens = tokens_before,
                                          .state = before,
                                          .next = state,
                                          .weights = output_row(made, N_K),
                                          .context = output_row(made, N_ENC),
                                          .logits = output_row(made, N_VOCAB)};
    const sattn_greedy_args greedy = {.bos = 3,
                                      .max_steps = STEPS,
                                      .start = before,
                                      .tokens = output_integers(made, STEPS),
                                      .n_steps = output_integers(made, 1),
                                      .weights = output(made, STEPS, N_K, GAP),
                                      .contexts = output(made, STEPS, N_ENC, GAP),
                                      .states = output(made, STEPS, N_HIDDEN, GAP),
                                      .logits = output(made, STEPS, N_VOCAB, GAP)};
    void *const memory = workspace.data;
    assert_int_equal(sattn_decoder_prepare(decoder, &source, memory, size), SATTN_OK);
    assert_int_equal(sattn_decoder_start(decoder, &source, &state, memory, size), SATTN_OK);
    assert_int_equal(sattn_decoder_step(decoder, &source, &step, memory, size), SATTN_OK);
    assert_int_equal(sattn_decode_greedy(decoder, &source, &greedy, memory, size), SATTN_OK);
    test_operand_free(&workspace);
}

/* All is written, nothing beside it. */
static void expect_written(results *made)
{
    for (int i = 0; i < made->n; ++i) {
        test_operand *const operand = &made->outputs[i];
        int64_t at;
        assert_false(test_operand_has_canary(operand, 0, operand->extents.n_rows));
        test_operand_accept(operand, 0, operand->extents.n_rows);
        if (!test_operand_is_unchanged(operand, &at))
            fail_msg("output %d: something beside it was written, at %lld", i, (long long)at);
    }
}

static void expect_same(const results *got, const results *want, int threads)
{
    for (int i = 0; i < want->n; ++i)
        if (memcmp(got->outputs[i].pages, want->outputs[i].pages, want->outputs[i].n_bytes) != 0)
            fail_msg("%d threads: output %d has other bits", threads, i);
}

static void free_results(results *made)
{
    for (int i = 0; i < made->n; ++i)
        test_operand_free(&made->outputs[i]);
}

/* Each part that shares its work out has several workers; softmax, of so few numbers, has one. */
static void test_workers(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; ++threads) {
        const int most = sattn_team_is_built() ? threads : 1;
        sattn_decoder *const decoder = make_decoder(threads);
        const int workers[] = {decoder->encoded.linear.workers, decoder->alignment.workers,
                               decoder->weighing.av.workers,
                               decoder->maps[SATTN_DECODER_HIDDEN].workers,
                               decoder->maps[SATTN_DECODER_OUT].workers};
        for (size_t part = 0; part < sizeof workers / sizeof workers[0]; ++part)
            assert_in_range(workers[part], most > 1 ? 2 : 1, most);
        assert_int_equal(decoder->weighing.softmax.workers, 1);
        sattn_decoder_destroy(decoder);
    }
}

static void test_bits(void **state)
{
    (void)state;
    results want = {.n = 0};
    for (int threads = 1; threads <= THREADS; ++threads) {
        sattn_decoder *const decoder = make_decoder(threads);
        results got = {.n = 0};
        run(decoder, threads == 1 ? &want : &got);
        expect_written(threads == 1 ? &want : &got);
        if (threads > 1)
            expect_same(&got, &want, threads);
        free_results(&got);
        sattn_decoder_destroy(decoder);
    }
    free_results(&want);
}

static int fill(void **state)
{
    (void)state;
    numbers = test_allocate(sizeof(float) * (FLOATS + 1024));
    for (int i = 0; i < FLOATS + 1024; ++i)
        numbers[i] = 0.1f * sattn_random_normal(5, 0, (uint64_t)i);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    free(numbers);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, fill, clear);
}
