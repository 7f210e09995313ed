/* SPDX-License-Identifier: MIT
 *
 * decoder_call.h: a small decoder of two sequences, legal calls of it, and what is changed in them.
 */
#ifndef SATTN_TESTS_SUPPORT_DECODER_CALL_H
#define SATTN_TESTS_SUPPORT_DECODER_CALL_H

#include "dispatch/simdattn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

static inline sattn_linear_weights weights_of(const float *w, int64_t n_out, int64_t n_in)
{
    return (sattn_linear_weights){.n_in = n_in, .n_out = n_out, .w = {.data = w, .stride_t = n_in}};
}

static inline void make_args(call *c)
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
        .has_eos = true,
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

static inline void make_call(call *c)
{
    make_args(c);
    if (sattn_decoder_create(&c->decoder, &c->args, &c->options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
}

typedef sattn_status decoder_fn(const call *c);

static inline sattn_status prepare(const call *c)
{
    return sattn_decoder_prepare(c->decoder, &c->source, c->workspace, c->workspace_size);
}

static inline sattn_status start(const call *c)
{
    return sattn_decoder_start(c->decoder, &c->source, &c->start, c->workspace, c->workspace_size);
}

static inline sattn_status step(const call *c)
{
    return sattn_decoder_step(c->decoder, &c->source, &c->step, c->workspace, c->workspace_size);
}

static inline sattn_status greedy(const call *c)
{
    return sattn_decode_greedy(c->decoder, &c->source, &c->greedy, c->workspace, c->workspace_size);
}

#endif
