/* SPDX-License-Identifier: MIT
 *
 * decoder_run.c: sattn_decoder_prepare, _start and _step. Which kernel computes which line of
 * simdattn_layers.h: scores `additive`, weights `softmax`, context and mean `av`, the cell `linear`
 * and `gru` or `tanh`, all maps `linear`. Embedding and context meet in the cell's sums, not in
 * memory. */
#include "dispatch/error.h"
#include "dispatch/gates.h"
#include "dispatch/layers/decoder.h"

#include <inttypes.h>

/* ---- prepare */

typedef struct decoder_run {
    const sattn_decoder *decoder;
    const sattn_decoder_source *source;
    const sattn_decoder_step_args *step;
    const sattn_mut_view *state;
} decoder_run;

static void prepare_in(void *context, unsigned char *workspace)
{
    const decoder_run *const run = context;
    sattn_projection_run(&run->decoder->encoded, run->source->h, run->source->keys,
                         workspace + run->decoder->shared_at);
}

sattn_status sattn_decoder_prepare(const sattn_decoder *decoder, const sattn_decoder_source *source,
                                   void *workspace, size_t workspace_size)
{
    sattn_decoder_tensors tensors;
    tensors.n = 0;
    sattn_status status = sattn_decoder_check_call(decoder, source, "source", source);
    if (status != SATTN_OK)
        return status;
    const sattn_workspace used = sattn_workspace_used(workspace, workspace_size, decoder->size);
    status = sattn_decoder_check_data(decoder, source, SATTN_KEYS_WRITTEN, &tensors, &used);
    decoder_run run = {.decoder = decoder, .source = source};
    return status == SATTN_OK ? sattn_with_workspace(&used, decoder->size, prepare_in, &run)
                              : status;
}

/* ---- what start and steps share */

static const int64_t *lengths_of(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder_args *const a = &run->decoder->args;
    if (run->source->n_k_valid)
        return run->source->n_k_valid;
    int64_t *const all = sattn_decoder_at(run->decoder, workspace, SATTN_PLACE_LENGTHS);
    for (int64_t b = 0; b < a->batch; ++b)
        all[b] = a->n_k;
    return all;
}

/* Scores or weights in the workspace, of which the context is to be made. */
static sattn_weighing weighing_of(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder *const decoder = run->decoder;
    const int64_t n_k = decoder->args.n_k;
    sattn_view h = decoder->args.h;
    h.data = run->source->h;
    return (sattn_weighing){
        .batch = decoder->args.batch,
        .n_q = 1,
        .n_k = n_k,
        .d_v = decoder->n_enc,
        .v = h,
        .o = sattn_dense_written(sattn_decoder_at(decoder, workspace, SATTN_PLACE_CONTEXT), 1,
                                 decoder->n_enc),
        .scores =
            sattn_dense_written(sattn_decoder_at(decoder, workspace, SATTN_PLACE_SCORES), 1, n_k),
        .n_k_valid = lengths_of(run, workspace)};
}

static void run_map(const decoder_run *run, sattn_decoder_map map, sattn_view x, sattn_mut_view y,
                    bool adds, unsigned char *workspace)
{
    const sattn_linear_rows rows = {
        .n_rows = run->decoder->args.batch, .x = x, .y = y, .adds = adds};
    sattn_linear_plan_run(&run->decoder->maps[map], &rows, workspace + run->decoder->shared_at);
}

static sattn_mut_view place_written(const decoder_run *run, unsigned char *workspace,
                                    sattn_decoder_place place, int64_t columns)
{
    return sattn_dense_written(sattn_decoder_at(run->decoder, workspace, place), 1, columns);
}

static sattn_view place_read(const decoder_run *run, unsigned char *workspace,
                             sattn_decoder_place place, int64_t columns)
{
    return sattn_dense_read(sattn_decoder_at(run->decoder, workspace, place), 1, columns);
}

/* y = tanh(x), row by row; y may be x. */
static void run_tanh(const decoder_run *run, const sattn_view *x, const sattn_mut_view *y)
{
    for (int64_t b = 0; b < run->decoder->args.batch; ++b) {
        const sattn_array_args args = {.x = (const float *)x->data + (b > 0 ? b * x->stride_t : 0),
                                       .y = (float *)y->data + (b > 0 ? b * y->stride_t : 0),
                                       .n = run->decoder->n_hidden};
        sattn_kernel_run_array(run->decoder->tanh, &args);
    }
}

/* ---- start */

static void start_in(void *context, unsigned char *workspace)
{
    const decoder_run *const run = context;
    const sattn_decoder *const decoder = run->decoder;
    const sattn_weighing mean = weighing_of(run, workspace);
    const sattn_view sums = {.data = run->state->data, .stride_t = run->state->stride_t};
    for (int64_t b = 0; b < mean.batch; ++b)
        for (int64_t j = 0; j < mean.n_k_valid[b]; ++j)
            ((float *)mean.scores.data)[b * mean.n_k + j] = 1.0f / (float)mean.n_k_valid[b];
    sattn_weighing_sum(&decoder->weighing, &mean, workspace + decoder->shared_at);
    run_map(run, SATTN_DECODER_START,
            place_read(run, workspace, SATTN_PLACE_CONTEXT, decoder->n_enc), *run->state, false,
            workspace);
    run_tanh(run, &sums, run->state);
}

sattn_status sattn_decoder_start(const sattn_decoder *decoder, const sattn_decoder_source *source,
                                 const sattn_mut_view *state, void *workspace,
                                 size_t workspace_size)
{
    sattn_decoder_tensors tensors;
    sattn_status status = sattn_decoder_check_call(decoder, source, "state", state);
    if (status == SATTN_OK && !decoder->has_start)
        status = sattn_fail(SATTN_ERR_ARGUMENT,
                            "w_start.n_out = 0: this decoder was made without w_start");
    if (status != SATTN_OK)
        return status;
    tensors.n = 0;
    tensors.list[tensors.n++] = sattn_tensor_written("state", "state.data", state, 1,
                                                     decoder->args.batch, decoder->n_hidden);
    const sattn_workspace used = sattn_workspace_used(workspace, workspace_size, decoder->size);
    status = sattn_decoder_check_data(decoder, source, SATTN_KEYS_UNUSED, &tensors, &used);
    decoder_run run = {.decoder = decoder, .source = source, .state = state};
    return status == SATTN_OK ? sattn_with_workspace(&used, decoder->size, start_in, &run) : status;
}

/* ---- a step */

/* Scores e_t, in the workspace. */
static void align(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder *const decoder = run->decoder;
    const sattn_weighing weighing = weighing_of(run, workspace);
    const sattn_mut_view query = place_written(run, workspace, SATTN_PLACE_QUERY, decoder->n_align);
    run_map(run, SATTN_DECODER_STATE, run->step->state, query, false, workspace);
    const sattn_alignment_args alignment = {
        .batch = weighing.batch,
        .n_q = 1,
        .n_k = weighing.n_k,
        .d = decoder->n_align,
        .q = place_read(run, workspace, SATTN_PLACE_QUERY, decoder->n_align),
        .k = sattn_dense_read(run->source->keys, weighing.n_k, decoder->n_align),
        .v = decoder->args.v,
        .scores = weighing.scores,
        .n_k_valid = weighing.n_k_valid};
    sattn_alignment_plan_run(&decoder->alignment, &alignment, workspace + decoder->shared_at);
}

/* The embeddings of the step's tokens, one behind the other. */
static void embed(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder *const decoder = run->decoder;
    const sattn_view *const table = &decoder->args.embedding;
    float *const to = sattn_decoder_at(decoder, workspace, SATTN_PLACE_EMBEDDED);
    for (int64_t b = 0; run->step->tokens && b < decoder->args.batch; ++b) {
        const int64_t token = run->step->tokens[b];
        sattn_copy_rows(to + b * decoder->n_embed, 0,
                        (const float *)table->data + (token > 0 ? token * table->stride_t : 0), 0,
                        1, decoder->n_embed);
    }
}

static void update_state(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder *const decoder = run->decoder;
    const bool is_gru = decoder->args.cell == SATTN_CELL_GRU;
    const sattn_mut_view x = place_written(run, workspace, SATTN_PLACE_GATES_X, decoder->n_gates);
    const sattn_mut_view h =
        is_gru ? place_written(run, workspace, SATTN_PLACE_GATES_H, decoder->n_gates) : x;
    const sattn_view embedded =
        run->step->tokens ? place_read(run, workspace, SATTN_PLACE_EMBEDDED, decoder->n_embed)
                          : run->step->embedded;
    run_map(run, SATTN_DECODER_EMBEDDED, embedded, x, false, workspace);
    run_map(run, SATTN_DECODER_CONTEXT,
            place_read(run, workspace, SATTN_PLACE_CONTEXT, decoder->n_enc), x, true, workspace);
    run_map(run, SATTN_DECODER_HIDDEN, run->step->state, h, !is_gru, workspace);
    const sattn_gate_args gates = {
        .n_rows = decoder->args.batch,
        .n_hidden = decoder->n_hidden,
        .gates_x = place_read(run, workspace, SATTN_PLACE_GATES_X, decoder->n_gates),
        .gates_h = place_read(run, workspace, SATTN_PLACE_GATES_H, decoder->n_gates),
        .h = run->step->state,
        .next = run->step->next};
    if (is_gru)
        sattn_gates_run(decoder->gru, &gates, decoder->threads);
    else
        run_tanh(run, &gates.gates_x, &gates.next);
}

/* Logits, weights and context, as far as they are asked for. */
static void give(const decoder_run *run, unsigned char *workspace)
{
    const sattn_decoder *const decoder = run->decoder;
    const sattn_decoder_step_args *const step = run->step;
    const int64_t batch = decoder->args.batch, n_k = decoder->args.n_k;
    const sattn_view next = {.data = step->next.data, .stride_t = step->next.stride_t};
    if (step->logits.data)
        run_map(run, SATTN_DECODER_OUT, next, step->logits, false, workspace);
    if (step->weights.data)
        sattn_copy_rows(step->weights.data, step->weights.stride_t,
                        sattn_decoder_at(decoder, workspace, SATTN_PLACE_SCORES), n_k, batch, n_k);
    if (step->context.data)
        sattn_copy_rows(step->context.data, step->context.stride_t,
                        sattn_decoder_at(decoder, workspace, SATTN_PLACE_CONTEXT), decoder->n_enc,
                        batch, decoder->n_enc);
}

void sattn_decoder_run_part(const sattn_decoder *decoder, const sattn_decoder_source *source,
                            const sattn_decoder_step_args *args, sattn_decoder_part part,
                            unsigned char *workspace)
{
    const decoder_run run = {.decoder = decoder, .source = source, .step = args};
    const sattn_weighing weighing = weighing_of(&run, workspace);
    switch (part) {
    case SATTN_PART_EMBEDDING:
        embed(&run, workspace);
        break;
    case SATTN_PART_ALIGNMENT:
        align(&run, workspace);
        break;
    case SATTN_PART_SOFTMAX:
        sattn_weighing_softmax(&decoder->weighing, &weighing, workspace + decoder->shared_at);
        break;
    case SATTN_PART_CONTEXT:
        sattn_weighing_sum(&decoder->weighing, &weighing, workspace + decoder->shared_at);
        break;
    case SATTN_PART_UPDATE:
        update_state(&run, workspace);
        break;
    case SATTN_PART_OUTPUT:
        give(&run, workspace);
        break;
    case SATTN_DECODER_PARTS:
        break;
    }
}

void sattn_decoder_run_step(const sattn_decoder *decoder, const sattn_decoder_source *source,
                            const sattn_decoder_step_args *args, unsigned char *workspace)
{
    for (int part = 0; part < SATTN_DECODER_PARTS; ++part)
        sattn_decoder_run_part(decoder, source, args, (sattn_decoder_part)part, workspace);
}

static void step_in(void *context, unsigned char *workspace)
{
    const decoder_run *const run = context;
    sattn_decoder_run_step(run->decoder, run->source, run->step, workspace);
}

/* Tensors of the step, of which those that are not asked for are left out. */
static void step_tensors(const sattn_decoder *decoder, const sattn_decoder_step_args *a,
                         sattn_decoder_tensors *tensors)
{
    const int64_t batch = decoder->args.batch, n_hidden = decoder->n_hidden;
    sattn_tensor *const list = tensors->list;
    int n = 0;
    list[n++] = sattn_tensor_read("state", "state.data", &a->state, 1, batch, n_hidden);
    list[n++] = sattn_tensor_written("next", "next.data", &a->next, 1, batch, n_hidden);
    list[0].may_coincide = list[1].may_coincide = true;
    list[n++] = a->tokens ? sattn_tensor_array("tokens", a->tokens, batch, sizeof(int64_t))
                          : sattn_tensor_read("embedded", "embedded.data", &a->embedded, 1, batch,
                                              decoder->n_embed);
    if (a->weights.data)
        list[n++] = sattn_tensor_written("weights", "weights.data", &a->weights, 1, batch,
                                         decoder->args.n_k);
    if (a->context.data)
        list[n++] =
            sattn_tensor_written("context", "context.data", &a->context, 1, batch, decoder->n_enc);
    if (a->logits.data)
        list[n++] =
            sattn_tensor_written("logits", "logits.data", &a->logits, 1, batch, decoder->n_vocab);
    tensors->n = n;
}

static sattn_status check_tokens(const sattn_decoder *decoder, const int64_t *tokens)
{
    if (tokens && !decoder->args.embedding.data)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "tokens is set: this decoder was made without an embedding; expected "
                          "NULL, and embedded");
    for (int64_t b = 0; tokens && b < decoder->args.batch; ++b)
        if (tokens[b] < 0 || tokens[b] >= decoder->n_vocab)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "tokens[%" PRId64 "] = %" PRId64
                              ": expected 0 to n_vocab - 1 = %" PRId64,
                              b, tokens[b], decoder->n_vocab - 1);
    return SATTN_OK;
}

sattn_status sattn_decoder_step(const sattn_decoder *decoder, const sattn_decoder_source *source,
                                const sattn_decoder_step_args *args, void *workspace,
                                size_t workspace_size)
{
    sattn_decoder_tensors tensors;
    sattn_status status = sattn_decoder_check_call(decoder, source, "args", args);
    if (status != SATTN_OK)
        return status;
    step_tensors(decoder, args, &tensors);
    const sattn_workspace used = sattn_workspace_used(workspace, workspace_size, decoder->size);
    status = sattn_decoder_check_data(decoder, source, SATTN_KEYS_READ, &tensors, &used);
    if (status == SATTN_OK)
        status = check_tokens(decoder, args->tokens);
    decoder_run run = {.decoder = decoder, .source = source, .step = args};
    return status == SATTN_OK ? sattn_with_workspace(&used, decoder->size, step_in, &run) : status;
}
