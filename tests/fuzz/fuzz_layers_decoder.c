/* SPDX-License-Identifier: MIT
 *
 * fuzz_layers_decoder.c: sattn_decoder_create, then _prepare, _start and _step of what it made,
 * each on what the call before it has left. Of each holds what fuzz_layers_check.c says; and the
 * same step without a workspace writes the same bits once more.
 *
 * A decoder has so many tensors that odd strides of all would leave few legal calls: one of them
 * may have strides out of the input, one may be missing, and one extent of a map may be too small.
 */
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/fuzz_check.h"
#include "tests/fuzz/fuzz_layers.h"

#include <string.h>

/* Tensors; up to W_OUT all those that each step looks at. */
enum {
    NEXT,
    STATE,
    H,
    KEYS,
    V,
    W_STATE,
    W_ENCODED,
    W_EMBEDDED,
    W_CONTEXT,
    W_HIDDEN,
    W_OUT,
    W_START,
    TABLE,
    EMBEDDED,
    WEIGHTS,
    CONTEXT,
    LOGITS,
    BIAS,
    TENSORS,
    N_MAPS = W_START - W_STATE + 1,
    SEQUENCES_MAX = 9 /* with tokens or lengths */
};

typedef struct decoder_call {
    layer_call *c; /* tensors, options, sequences */
    int64_t n_k, n_hidden, n_enc, n_align, n_embed, n_vocab, n_gates;
    bool is_rnn, has_start;
    int64_t tokens[SEQUENCES_MAX];
    int odd, missing, small; /* a tensor each, and an extent of a map; -1: none */
    int packed;              /* a map, if any is */
    int shared;              /* what lies where the next state does; NEXT: nothing */
    sattn_decoder_args args;
    sattn_decoder_source source;
    sattn_decoder_step_args step;
    sattn_mut_view start;
} decoder_call;

/* ---- decoding */

/* 1 .. most, rarely something else. */
static int64_t decode_extent(fuzz_bytes *bytes, int64_t most)
{
    const uint8_t pick = fuzz_byte(bytes);
    return pick < 252 ? 1 + pick % most : pick < 253 ? 0 : fuzz_odd_number(bytes);
}

static void decode_extents(decoder_call *d, fuzz_bytes *bytes)
{
    d->c->batch = decode_extent(bytes, 3);
    d->n_k = decode_extent(bytes, 20);
    d->n_hidden = decode_extent(bytes, 20);
    d->n_enc = decode_extent(bytes, 20);
    d->n_align = decode_extent(bytes, 20);
    d->n_embed = decode_extent(bytes, 9);
    d->n_vocab = decode_extent(bytes, 20);
    d->is_rnn = fuzz_choice(bytes, 3) == 2;
    d->has_start = fuzz_choice(bytes, 4) < 3;
    const bool is_number = d->n_hidden >= 0 && d->n_hidden <= BYTES_MAX; /* to multiply */
    d->n_gates = is_number && !d->is_rnn ? 3 * d->n_hidden : d->n_hidden;
}

static void decode_tensors(const decoder_call *d, fuzz_bytes *bytes)
{
    const int64_t batch = d->c->batch;
    const struct {
        int64_t batch, rows, columns;
    } sizes[TENSORS] = {[NEXT] = {1, batch, d->n_hidden},
                        [STATE] = {1, batch, d->n_hidden},
                        [H] = {batch, d->n_k, d->n_enc},
                        [KEYS] = {batch, d->n_k, d->n_align},
                        [V] = {1, 1, d->n_align},
                        [W_STATE] = {1, d->n_align, d->n_hidden},
                        [W_ENCODED] = {1, d->n_align, d->n_enc},
                        [W_EMBEDDED] = {1, d->n_gates, d->n_embed},
                        [W_CONTEXT] = {1, d->n_gates, d->n_enc},
                        [W_HIDDEN] = {1, d->n_gates, d->n_hidden},
                        [W_OUT] = {1, d->n_vocab, d->n_hidden},
                        [W_START] = {1, d->n_hidden, d->n_enc},
                        [TABLE] = {1, d->n_vocab, d->n_embed},
                        [EMBEDDED] = {1, batch, d->n_embed},
                        [WEIGHTS] = {1, batch, d->n_k},
                        [CONTEXT] = {1, batch, d->n_enc},
                        [LOGITS] = {1, batch, d->n_vocab},
                        [BIAS] = {1, 1, d->n_vocab}};
    fuzz_bytes dense = {0};
    for (int t = 0; t < TENSORS; ++t)
        fuzz_add_tensor(d->c, t == d->odd && t != KEYS ? bytes : &dense, bytes, sizes[t].batch,
                        sizes[t].rows, sizes[t].columns);
}

/* A number of [0, end), rarely another. */
static int64_t decode_below(fuzz_bytes *bytes, int64_t end)
{
    const uint8_t pick = fuzz_byte(bytes);
    return pick < 250 && end > 0 ? pick % end : fuzz_odd_number(bytes);
}

static void decode_sequences(decoder_call *d, fuzz_bytes *bytes)
{
    layer_call *const c = d->c;
    const bool has_tokens = fuzz_choice(bytes, 2) == 0;
    const bool has_lengths = fuzz_choice(bytes, 3) == 0;
    if (c->batch < 0 || c->batch > SEQUENCES_MAX)
        return;
    if (has_lengths)
        c->n_k_valid = fuzz_allocate(SEQUENCES_MAX * sizeof *c->n_k_valid);
    for (int64_t b = 0; b < c->batch; ++b) {
        d->tokens[b] = decode_below(bytes, d->n_vocab);
        if (has_lengths)
            c->n_k_valid[b] = decode_below(bytes, d->n_k < INT64_MAX ? d->n_k + 1 : d->n_k);
    }
    d->step.tokens = has_tokens ? d->tokens : NULL;
}

static sattn_linear_weights map_of(const decoder_call *d, int map)
{
    const int64_t sizes[N_MAPS][2] = {{d->n_align, d->n_hidden}, {d->n_align, d->n_enc},
                                      {d->n_gates, d->n_embed},  {d->n_gates, d->n_enc},
                                      {d->n_gates, d->n_hidden}, {d->n_vocab, d->n_hidden},
                                      {d->n_hidden, d->n_enc}};
    return (sattn_linear_weights){
        .n_out = sizes[map][0], .n_in = sizes[map][1], .w = d->c->view[W_STATE + map]};
}

static sattn_mut_view written(const decoder_call *d, int tensor)
{
    const sattn_view *const view = &d->c->view[tensor];
    return (sattn_mut_view){.data = (void *)(uintptr_t)view->data,
                            .dtype = view->dtype,
                            .stride_b = view->stride_b,
                            .stride_t = view->stride_t};
}

/* Maps, of which one may be packed and one too small. */
static void set_args(decoder_call *d)
{
    layer_call *const c = d->c;
    sattn_linear_weights maps[N_MAPS];
    const int packed = d->packed;
    for (int map = 0; map < N_MAPS; ++map) {
        maps[map] = map_of(d, map);
        maps[map].n_in -= d->small == 2 * map && maps[map].n_in > 0;
        maps[map].n_out -= d->small == 2 * map + 1 && maps[map].n_out > 0;
    }
    maps[W_OUT - W_STATE].bias = c->view[BIAS].data;
    if (c->packing >= 4 && maps[packed].w.data)
        maps[packed].packed = fuzz_pack(c, &maps[packed], 1);
    if (maps[packed].packed && d->shared == W_STATE + packed)
        d->shared = NEXT; /* nobody looks at weights in place that are packed too */
    d->args = (sattn_decoder_args){.batch = c->batch,
                                   .n_k = d->n_k,
                                   .h = c->view[H],
                                   .w_state = maps[0],
                                   .w_encoded = maps[1],
                                   .v = c->view[V].data,
                                   .cell = d->is_rnn ? SATTN_CELL_RNN : SATTN_CELL_GRU,
                                   .w_embedded = maps[2],
                                   .w_context = maps[3],
                                   .w_hidden = maps[4],
                                   .w_out = maps[5],
                                   .embedding = c->view[TABLE],
                                   .w_start = d->has_start ? maps[6] : (sattn_linear_weights){0}};
}

static void set_calls(decoder_call *d)
{
    const layer_call *const c = d->c;
    d->source = (sattn_decoder_source){
        .h = c->view[H].data, .keys = written(d, KEYS).data, .n_k_valid = c->n_k_valid};
    d->start = written(d, STATE);
    d->step.embedded = c->view[EMBEDDED];
    d->step.state = c->view[STATE];
    d->step.next = written(d, NEXT);
    d->step.next.data = (void *)(uintptr_t)c->view[d->shared].data;
    d->step.weights = written(d, WEIGHTS);
    d->step.context = written(d, CONTEXT);
    d->step.logits = written(d, LOGITS);
}

static void decode(decoder_call *d, fuzz_bytes *bytes)
{
    layer_call *const c = d->c;
    decode_extents(d, bytes);
    fuzz_decode_options(c, bytes);
    d->odd = fuzz_choice(bytes, 2 * TENSORS) - 1;
    d->missing = fuzz_choice(bytes, 8 * TENSORS) - 1;
    d->small = fuzz_choice(bytes, 16 * N_MAPS) - 1;
    d->packed = fuzz_choice(bytes, N_MAPS);
    d->shared = fuzz_choice(bytes, 6 * W_START);
    if (d->shared > W_OUT)
        d->shared = NEXT;
    decode_sequences(d, bytes);
    decode_tensors(d, bytes);
    if (c->half < TENSORS)
        c->view[c->half].dtype = SATTN_F16;
    for (int t = 0; t < TENSORS; ++t)
        if (c->is_absent || t == d->missing)
            c->view[t].data = NULL;
    set_args(d);
    set_calls(d);
}

/* ---- what must hold */

/* Takes what a call has left: only tensors whose bits are set may have changed, and none if it was
 * refused. Whether it was not. */
static bool settle(const decoder_call *d, sattn_status status, unsigned may_change)
{
    const layer_call *const c = d->c;
    if (status != SATTN_OK && sattn_last_error()[0] == '\0')
        fuzz_complain("a refused call has no text");
    for (int i = 0; i < c->n_buffers; ++i) {
        const buffer *const b = &c->buffers[i];
        if (b->size == 0 || memcmp(b->memory, b->copy, b->size) == 0)
            continue;
        if (status != SATTN_OK)
            fuzz_complain("a refused call of a decoder has written");
        if (!(may_change >> i & 1))
            fuzz_complain("an accepted call of a decoder has written to what it reads");
        memcpy(b->copy, b->memory, b->size);
    }
    return status == SATTN_OK;
}

static bool run_steps(const decoder_call *d, const sattn_decoder *decoder)
{
    const sattn_options *const o = &d->c->options;
    const int next = d->shared == STATE ? STATE : NEXT; /* it may lie on nothing else */
    const unsigned outputs = 1u << next | 1u << WEIGHTS | 1u << CONTEXT | 1u << LOGITS;
    settle(d, sattn_decoder_prepare(decoder, &d->source, o->workspace, o->workspace_size),
           1u << KEYS);
    settle(d, sattn_decoder_start(decoder, &d->source, &d->start, o->workspace, o->workspace_size),
           1u << STATE);
    if (!settle(d,
                sattn_decoder_step(decoder, &d->source, &d->step, o->workspace, o->workspace_size),
                outputs))
        return false;
    if (d->shared == NEXT &&
        !settle(d, sattn_decoder_step(decoder, &d->source, &d->step, NULL, 0), 0))
        fuzz_complain("a step that a workspace was given for is refused without one");
    return true;
}

fuzz_outcome fuzz_decoder(layer_call *c, fuzz_bytes *bytes)
{
    decoder_call d = {.c = c};
    sattn_decoder *decoder;
    decode(&d, bytes);
    fuzz_keep(c);
    if (!settle(&d, sattn_decoder_create(&decoder, &d.args, &c->options), 0)) {
        if (decoder)
            fuzz_complain("a decoder was refused and made");
        return FUZZ_REFUSED;
    }
    if (c->is_absent)
        fuzz_complain("a decoder without memory was made");
    if (sattn_decoder_kernels(decoder)[0] == '\0')
        fuzz_complain("a decoder has no kernels");
    fuzz_give_workspace(c, sattn_decoder_workspace_size(decoder));
    const bool was_run = run_steps(&d, decoder);
    sattn_decoder_destroy(decoder);
    return was_run ? FUZZ_ACCEPTED : FUZZ_REFUSED;
}
