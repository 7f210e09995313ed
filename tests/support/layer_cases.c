/* SPDX-License-Identifier: MIT
 *
 * layer_cases.c: the calls of layer_calls.h. */
#include "tests/support/harness.h"
#include "tests/support/layer_calls.h"

#include <stdlib.h>

enum { BATCH = LAYER_BATCH, N_K = LAYER_N_K, D = LAYER_D };
enum { N_Q = 21, N_ALIGN = 65, N_HIDDEN = 72, N_EMBED = 40, N_VOCAB = 300, STEPS = 3, HEADS = 4 };

/* ---- layers */

static void run_general(layer_call *call, sattn_align_kind align, int64_t n_q)
{
    const bool is_bilinear = align == SATTN_ALIGN_BILINEAR,
               is_additive = align == SATTN_ALIGN_ADDITIVE;
    sattn_general_attention_args a = {.batch = call->batch,
                                      .n_q = n_q,
                                      .n_k = N_K,
                                      .d_q = D,
                                      .d_x = D,
                                      .q = layer_queries(call, n_q),
                                      .x = layer_inputs(call),
                                      .y = layer_output(call, n_q, D),
                                      .n_k_valid = call->n_k_valid,
                                      .align = align,
                                      .w_q = layer_weights(1, N_ALIGN, D),
                                      .w_x = layer_weights(2, is_additive ? N_ALIGN : D, D),
                                      .v = layer_weights(0, 1, N_ALIGN).w.data};
    size_t size;
    if (is_bilinear)
        a.w_x.bias = NULL;
    if (!is_additive) {
        a.w_q = (sattn_linear_weights){0};
        a.v = NULL;
    }
    if (!is_additive && !is_bilinear)
        a.w_x = (sattn_linear_weights){0};
    if (is_additive)
        layer_pack(call, &a.w_q, call->batch * n_q);
    if (is_additive || is_bilinear)
        layer_pack(call, &a.w_x, call->batch * N_K);
    layer_expect_ok(sattn_general_attention_workspace_size(&a, &call->options, &size), "its size");
    layer_make_workspace(call, size);
    layer_expect_ok(sattn_general_attention(&a, &call->options), "general attention");
    layer_expect_allocations(call, "general attention allocates");
}

static void scaled(layer_call *call)
{
    run_general(call, SATTN_ALIGN_SCALED_DOT, N_Q);
}

static void bilinear_queries(layer_call *call)
{
    run_general(call, SATTN_ALIGN_BILINEAR, call->packs ? N_K : N_Q);
}

static void bilinear_inputs(layer_call *call)
{
    run_general(call, SATTN_ALIGN_BILINEAR, N_K);
}

static void additive(layer_call *call)
{
    run_general(call, SATTN_ALIGN_ADDITIVE, N_Q);
}

static void key_value(layer_call *call)
{
    sattn_attention_layer_args a = {.batch = call->batch,
                                    .n_q = N_Q,
                                    .n_k = N_K,
                                    .q = layer_queries(call, N_Q),
                                    .x = layer_inputs(call),
                                    .y = layer_output(call, N_Q, N_HIDDEN),
                                    .weights = layer_output(call, N_Q, N_K),
                                    .w_k = layer_weights(3, D, D),
                                    .w_v = layer_weights(4, N_HIDDEN, D),
                                    .n_k_valid = call->n_k_valid};
    size_t size;
    layer_pack(call, &a.w_k, call->batch * N_K);
    layer_pack(call, &a.w_v, call->batch * N_K);
    layer_expect_ok(sattn_attention_layer_workspace_size(&a, &call->options, &size), "its size");
    layer_make_workspace(call, size);
    layer_expect_ok(sattn_attention_layer(&a, &call->options), "attention layer");
    layer_expect_allocations(call, "attention layer allocates");
}

static void run_self(layer_call *call, bool causal)
{
    sattn_self_attention_args a = {.batch = call->batch,
                                   .n_k = N_K,
                                   .n_heads = HEADS,
                                   .x = layer_inputs(call),
                                   .y = layer_output(call, N_K, D),
                                   .causal = causal,
                                   .n_k_valid = call->n_k_valid,
                                   .w_q = layer_weights(3, D, D),
                                   .w_k = layer_weights(4, D, D),
                                   .w_v = layer_weights(5, D, D),
                                   .w_o = layer_weights(6, D, D)};
    sattn_linear_weights *const maps[] = {&a.w_q, &a.w_k, &a.w_v, &a.w_o};
    size_t size;
    for (int map = 0; map < 4; ++map)
        layer_pack(call, maps[map], call->batch * N_K);
    layer_expect_ok(sattn_self_attention_workspace_size(&a, &call->options, &size), "its size");
    layer_make_workspace(call, size);
    layer_expect_ok(sattn_self_attention(&a, &call->options), "self-attention");
    layer_expect_allocations(call, "self-attention allocates");
}

static void self(layer_call *call)
{
    run_self(call, false);
}

static void causal_self(layer_call *call)
{
    run_self(call, true);
}

/* ---- decoders */

static sattn_decoder *make_decoder(layer_call *call, sattn_cell_kind cell)
{
    const int64_t n_gates = (cell == SATTN_CELL_GRU ? 3 : 1) * N_HIDDEN;
    sattn_decoder_args a = {
        .batch = call->batch,
        .n_k = N_K,
        .h = layer_inputs(call),
        .w_state = layer_weights(7, N_ALIGN, N_HIDDEN),
        .w_encoded = layer_weights(8, N_ALIGN, D),
        .v = layer_weights(9, 1, N_ALIGN).w.data,
        .cell = cell,
        .w_embedded = layer_weights(10, n_gates, N_EMBED),
        .w_context = layer_weights(11, n_gates, D),
        .w_hidden = layer_weights(12, n_gates, N_HIDDEN),
        .w_out = layer_weights(13, N_VOCAB, N_HIDDEN),
        .embedding = {.data = layer_weights(14, N_VOCAB, N_EMBED).w.data, .stride_t = N_EMBED + 1},
        .w_start = layer_weights(15, N_HIDDEN, D)};
    sattn_linear_weights *const maps[] = {&a.w_state,  &a.w_embedded, &a.w_context,
                                          &a.w_hidden, &a.w_out,      &a.w_start};
    sattn_decoder *decoder;
    for (int map = 0; map < 6; ++map)
        layer_pack(call, maps[map], call->batch);
    layer_pack(call, &a.w_encoded, call->batch * N_K);
    layer_expect_ok(sattn_decoder_create(&decoder, &a, &call->options), "making a decoder");
    return decoder;
}

/* Prepare, start, a step in place, then greedy decoding from its state. */
static void run_decoder(layer_call *call, sattn_cell_kind cell)
{
    static const int64_t tokens_before[BATCH] = {7, 7};
    sattn_decoder *const decoder = make_decoder(call, cell);
    float *const keys = test_allocate(sizeof(float) * BATCH * N_K * N_ALIGN);
    const sattn_decoder_source source = {
        .h = layer_inputs(call).data, .keys = keys, .n_k_valid = call->n_k_valid};
    const sattn_mut_view state = layer_output_row(call, N_HIDDEN);
    const sattn_view before = {.data = state.data, .stride_t = state.stride_t};
    const sattn_decoder_step_args step = {.tokens = tokens_before,
                                          .state = before,
                                          .next = state,
                                          .weights = layer_output_row(call, N_K),
                                          .context = layer_output_row(call, D),
                                          .logits = layer_output_row(call, N_VOCAB)};
    const sattn_greedy_args greedy = {.bos = 3,
                                      .max_steps = STEPS,
                                      .start = before,
                                      .tokens = layer_output_integers(call, STEPS),
                                      .n_steps = layer_output_integers(call, 1),
                                      .weights = layer_output(call, STEPS, N_K),
                                      .contexts = layer_output(call, STEPS, D),
                                      .states = layer_output(call, STEPS, N_HIDDEN)};
    layer_make_workspace(call, sattn_decoder_workspace_size(decoder));
    void *const memory = call->options.workspace;
    const size_t size = call->options.workspace_size;
    layer_expect_ok(sattn_decoder_prepare(decoder, &source, memory, size), "prepare");
    layer_expect_ok(sattn_decoder_start(decoder, &source, &state, memory, size), "start");
    layer_expect_ok(sattn_decoder_step(decoder, &source, &step, memory, size), "step");
    layer_expect_ok(sattn_decode_greedy(decoder, &source, &greedy, memory, size),
                    "greedy decoding");
    layer_expect_allocations(call, "a decoder allocates");
    sattn_decoder_destroy(decoder);
    free(keys);
}

static void gru_decoder(layer_call *call)
{
    run_decoder(call, SATTN_CELL_GRU);
}

static void rnn_decoder(layer_call *call)
{
    run_decoder(call, SATTN_CELL_RNN);
}

/* ---- all of them */

const layer_case layer_cases[] = {{"scaled dot", scaled},
                                  {"bilinear, queries mapped", bilinear_queries},
                                  {"bilinear, inputs mapped", bilinear_inputs},
                                  {"additive", additive},
                                  {"attention layer", key_value},
                                  {"self-attention", self},
                                  {"causal self-attention", causal_self},
                                  {"GRU decoder", gru_decoder},
                                  {"RNN decoder", rnn_decoder}};
const int layer_n_cases = sizeof layer_cases / sizeof layer_cases[0];
