/* SPDX-License-Identifier: MIT
 *
 * decoder_greedy.c: sattn_decode_greedy, steps whose input is the token of the largest logit. All
 * is checked before the first. */
#include "dispatch/error.h"
#include "dispatch/layers/decoder.h"

#include <inttypes.h>

typedef struct greedy_run {
    const sattn_decoder *decoder;
    const sattn_decoder_source *source;
    const sattn_greedy_args *args;
} greedy_run;

/* ---- checks */

static sattn_status check_token(const sattn_decoder *decoder, const char *name, int64_t token)
{
    if (token >= 0 && token < decoder->n_vocab)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected 0 to n_vocab - 1 = %" PRId64,
                      name, token, decoder->n_vocab - 1);
}

static sattn_status check_values(const sattn_decoder *decoder, const sattn_greedy_args *a)
{
    sattn_status status = sattn_extent_check("max_steps", a->max_steps, 1);
    if (status == SATTN_OK)
        status = check_token(decoder, "bos", a->bos);
    if (status == SATTN_OK && a->has_eos)
        status = check_token(decoder, "eos", a->eos);
    if (status == SATTN_OK && !decoder->args.embedding.data)
        status = sattn_fail(SATTN_ERR_ARGUMENT,
                            "embedding.data is NULL: this decoder was made without an embedding");
    return status;
}

static void greedy_tensors(const sattn_decoder *decoder, const sattn_greedy_args *a,
                           sattn_decoder_tensors *tensors)
{
    const int64_t batch = decoder->args.batch;
    const struct {
        const char *name, *pointer;
        const sattn_mut_view *view;
        int64_t columns;
    } outputs[] = {{"weights", "weights.data", &a->weights, decoder->args.n_k},
                   {"contexts", "contexts.data", &a->contexts, decoder->n_enc},
                   {"states", "states.data", &a->states, decoder->n_hidden},
                   {"logits", "logits.data", &a->logits, decoder->n_vocab}};
    const sattn_mut_view tokens = {.data = a->tokens, /* counted in floats, as all is */
                                   .stride_t =
                                       (int64_t)(sizeof(int64_t) / sizeof(float)) * a->max_steps};
    sattn_tensor *const list = tensors->list;
    int n = 0;
    list[n++] = sattn_tensor_read("start", "start.data", &a->start, 1, batch, decoder->n_hidden);
    list[n] = sattn_tensor_written("tokens", "tokens", &tokens, 1, batch, tokens.stride_t);
    list[n++].alignment = sizeof(int64_t);
    list[n] = sattn_tensor_array("n_steps", a->n_steps, batch, sizeof(int64_t));
    list[n++].operand.written = true;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; ++i)
        if (outputs[i].view->data)
            list[n++] = sattn_tensor_written(outputs[i].name, outputs[i].pointer, outputs[i].view,
                                             batch, a->max_steps, outputs[i].columns);
    tensors->n = n;
}

/* ---- the run */

/* What a step writes of [batch, max_steps, ..], or of the place in the workspace. */
static sattn_mut_view of_step(const sattn_mut_view *all, int64_t step)
{
    return (sattn_mut_view){
        .data = all->data ? (float *)all->data + (step > 0 ? step * all->stride_t : 0) : NULL,
        .stride_t = all->stride_b};
}

static bool ends(const sattn_greedy_args *a, int64_t token)
{
    return a->has_eos && token == a->eos;
}

static int64_t largest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* From the logits of a step the tokens that are its outputs and the inputs of the next; false: all
 * sequences have ended. One has once its token was eos, but for bos. */
static bool take_tokens(const greedy_run *run, int64_t step, const sattn_mut_view *logits,
                        int64_t *tokens)
{
    const sattn_greedy_args *const a = run->args;
    bool is_open = false;
    for (int64_t b = 0; b < run->decoder->args.batch; ++b) {
        const float *const row = (const float *)logits->data + (b > 0 ? b * logits->stride_t : 0);
        if (step == 0 || !ends(a, tokens[b])) {
            tokens[b] = largest(row, run->decoder->n_vocab);
            a->tokens[b * a->max_steps + step] = tokens[b];
            a->n_steps[b] = step + 1;
        }
        is_open = is_open || !ends(a, tokens[b]);
    }
    return is_open;
}

static void run_in(void *context, unsigned char *workspace)
{
    const greedy_run *const run = context;
    const sattn_decoder *const decoder = run->decoder;
    const sattn_greedy_args *const a = run->args;
    const int64_t batch = decoder->args.batch, n_hidden = decoder->n_hidden;
    float *const state = sattn_decoder_at(decoder, workspace, SATTN_PLACE_STATE);
    int64_t *const tokens = sattn_decoder_at(decoder, workspace, SATTN_PLACE_TOKENS);
    const sattn_mut_view own_logits = sattn_dense_written(
        sattn_decoder_at(decoder, workspace, SATTN_PLACE_LOGITS), 1, decoder->n_vocab);
    sattn_copy_rows(state, n_hidden, a->start.data, a->start.stride_t, batch, n_hidden);
    bool is_open = true;
    for (int64_t b = 0; b < batch; ++b)
        tokens[b] = a->bos;
    for (int64_t step = 0; is_open && step < a->max_steps; ++step) {
        const sattn_decoder_step_args args = {.tokens = tokens,
                                              .state = sattn_dense_read(state, 1, n_hidden),
                                              .next = sattn_dense_written(state, 1, n_hidden),
                                              .weights = of_step(&a->weights, step),
                                              .context = of_step(&a->contexts, step),
                                              .logits = a->logits.data ? of_step(&a->logits, step)
                                                                       : own_logits};
        const sattn_mut_view states = of_step(&a->states, step);
        sattn_decoder_run_step(decoder, run->source, &args, workspace);
        if (states.data)
            sattn_copy_rows(states.data, states.stride_t, state, n_hidden, batch, n_hidden);
        is_open = take_tokens(run, step, &args.logits, tokens);
    }
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t step = a->n_steps[b]; step < a->max_steps; ++step)
            a->tokens[b * a->max_steps + step] = a->eos;
}

sattn_status sattn_decode_greedy(const sattn_decoder *decoder, const sattn_decoder_source *source,
                                 const sattn_greedy_args *args, void *workspace,
                                 size_t workspace_size)
{
    sattn_decoder_tensors tensors;
    sattn_status status = sattn_decoder_check_call(decoder, source, "args", args);
    if (status == SATTN_OK)
        status = check_values(decoder, args);
    if (status != SATTN_OK)
        return status;
    greedy_tensors(decoder, args, &tensors);
    const sattn_workspace used = sattn_workspace_used(workspace, workspace_size, decoder->size);
    status = sattn_decoder_check_data(decoder, source, SATTN_KEYS_READ, &tensors, &used);
    greedy_run run = {.decoder = decoder, .source = source, .args = args};
    return status == SATTN_OK ? sattn_with_workspace(&used, decoder->size, run_in, &run) : status;
}
