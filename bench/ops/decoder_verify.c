/* SPDX-License-Identifier: MIT
 *
 * decoder_verify.c: see decoder_verify.h. What parts hand on lies in the decoder's workspace. */
#include "bench/ops/decoder_verify.h"

#include "bench/ops/decoder.h"
#include "bench/verify/layers.h"
#include "bench/verify/steps.h"

#include <stdlib.h>
#include <string.h>

static const sattn_bench_call *verified;

void sattn_decoder_note(const sattn_bench_call *call)
{
    verified = call;
}

/* The decoder with its workspace, and room for what a part overwrites. */
typedef struct checked_step {
    const sattn_bench_decoder *own;
    const sattn_decoder *decoder;
    unsigned char *workspace;
    float *scores; /* [n_k] */
    float *input;  /* [n_embed + n_enc]: embedding and context behind each other */
    sattn_verify_result *result;
    const sattn_kernel *sigmoid, *tanh; /* of the cell */
} checked_step;

static const float *place(const checked_step *step, sattn_decoder_place at)
{
    return sattn_decoder_at(step->decoder, step->workspace, at);
}

static void check_map(const checked_step *step, sattn_decoder_map map, const float *x, int64_t n_in,
                      const float *got)
{
    const sattn_linear_weights *const w = sattn_decoder_map_of(&step->decoder->args, map);
    const sattn_verify_map row = {
        .x = x, .w = w->w.data, .w_stride = w->w.stride_t, .n_in = n_in, .n_out = w->n_out};
    sattn_verify_map_row(&row, got, (sattn_verify_place){0}, step->result);
}

static void check_alignment(const checked_step *step)
{
    const sattn_decoder *const d = step->decoder;
    const float *const query = place(step, SATTN_PLACE_QUERY);
    check_map(step, SATTN_DECODER_STATE, step->own->step.state.data, d->n_hidden, query);
    const sattn_verify_alignments row = {.q = query,
                                         .k = step->own->source.keys,
                                         .v = d->args.v,
                                         .k_stride = d->n_align,
                                         .d = d->n_align,
                                         .n = d->args.n_k,
                                         .tanh_ulp = sattn_kernel_stated_ulp(d->alignment.kernel)};
    sattn_verify_alignments_row(&row, place(step, SATTN_PLACE_SCORES), (sattn_verify_place){0},
                                step->result);
}

static void check_softmax(const checked_step *step)
{
    const sattn_visibility visible = {.n_k = step->decoder->args.n_k};
    const sattn_verify_weights row = {
        .s = step->scores, .n_columns = step->decoder->args.n_k, .visible = &visible};
    sattn_verify_weights_row(&row, place(step, SATTN_PLACE_SCORES), NULL, NULL,
                             (sattn_verify_place){0}, step->result);
}

static void check_context(const checked_step *step)
{
    const sattn_decoder *const d = step->decoder;
    const sattn_visibility visible = {.n_k = d->args.n_k};
    const sattn_verify_outputs row = {.p = place(step, SATTN_PLACE_SCORES),
                                      .v = step->own->source.h,
                                      .v_stride = d->args.h.stride_t,
                                      .d_v = d->n_enc,
                                      .visible = &visible};
    sattn_verify_outputs_row(&row, place(step, SATTN_PLACE_CONTEXT), (sattn_verify_place){0},
                             step->result);
}

/* The two maps of the cell's input are one, whose weight is the first one's with the columns of
 * both. */
static void check_update(const checked_step *step)
{
    const sattn_decoder *const d = step->decoder;
    const float *const state = step->own->step.state.data;
    memcpy(step->input, place(step, SATTN_PLACE_EMBEDDED),
           (size_t)d->n_embed * sizeof *step->input);
    memcpy(step->input + d->n_embed, place(step, SATTN_PLACE_CONTEXT),
           (size_t)d->n_enc * sizeof *step->input);
    check_map(step, SATTN_DECODER_EMBEDDED, step->input, d->n_embed + d->n_enc,
              place(step, SATTN_PLACE_GATES_X));
    check_map(step, SATTN_DECODER_HIDDEN, state, d->n_hidden, place(step, SATTN_PLACE_GATES_H));
    const sattn_verify_gates row = {.gates_x = place(step, SATTN_PLACE_GATES_X),
                                    .gates_h = place(step, SATTN_PLACE_GATES_H),
                                    .h = state,
                                    .n_hidden = d->n_hidden,
                                    .sigmoid_ulp = sattn_kernel_stated_ulp(step->sigmoid),
                                    .tanh_ulp = sattn_kernel_stated_ulp(step->tanh)};
    sattn_verify_gates_row(&row, step->own->step.next.data, (sattn_verify_place){0}, step->result);
}

/* A copy is right to the bit. */
static void check_embedding(const checked_step *step)
{
    const sattn_decoder *const d = step->decoder;
    const float *const row =
        (const float *)d->args.embedding.data + step->own->token * d->args.embedding.stride_t;
    const size_t bytes = (size_t)d->n_embed * sizeof *row;
    step->result->n_rows += 1;
    step->result->n_elements += d->n_embed;
    if (memcmp(row, place(step, SATTN_PLACE_EMBEDDED), bytes) != 0) {
        ++step->result->n_failed;
        step->result->failed_why = "an embedding is not the token's row";
    }
}

static void check_part(const checked_step *step, sattn_decoder_part part)
{
    switch (part) {
    case SATTN_PART_EMBEDDING:
        check_embedding(step);
        break;
    case SATTN_PART_ALIGNMENT:
        check_alignment(step);
        break;
    case SATTN_PART_SOFTMAX:
        check_softmax(step);
        break;
    case SATTN_PART_CONTEXT:
        check_context(step);
        break;
    case SATTN_PART_UPDATE:
        check_update(step);
        break;
    case SATTN_PART_OUTPUT:
        check_map(step, SATTN_DECODER_OUT, step->own->step.next.data, step->decoder->n_hidden,
                  step->own->logits);
        break;
    case SATTN_DECODER_PARTS:
        break;
    }
}

/* Whether numbers that a step left are those of its parts, run again in its place. */
static void check_bits(const checked_step *step, const float *before, const float *after, int64_t n)
{
    step->result->n_scanned += n;
    if (memcmp(before, after, (size_t)n * sizeof *before) == 0)
        return;
    ++step->result->n_failed;
    step->result->failed_why = "a step is not the bits of its parts";
}

static void run_and_check(const checked_step *step, const sattn_variant *variant, float *before)
{
    const sattn_decoder *const d = step->decoder;
    const sattn_bench_decoder *const own = step->own;
    float *const next = own->step.next.data;
    memcpy(before, next, (size_t)d->n_hidden * sizeof *before);
    memcpy(before + d->n_hidden, own->logits, (size_t)d->n_vocab * sizeof *before);
    memset(next, 0xff, (size_t)d->n_hidden * sizeof *next);
    memset(own->logits, 0xff, (size_t)d->n_vocab * sizeof *own->logits);
    for (int part = 0; part < SATTN_DECODER_PARTS; ++part) {
        memcpy(step->scores, place(step, SATTN_PLACE_SCORES),
               (size_t)d->args.n_k * sizeof *step->scores);
        sattn_decoder_run_part(d, &own->source, &own->step, (sattn_decoder_part)part,
                               step->workspace);
        if (!variant->part || variant->part_number == part)
            check_part(step, (sattn_decoder_part)part);
    }
    check_bits(step, before, next, d->n_hidden);
    check_bits(step, before + d->n_hidden, own->logits, d->n_vocab);
}

/* The next state, of the call's own tensors. */
static bool check_state(const sattn_attention_args *args, sattn_verify_result *result)
{
    size_t bytes;
    const sattn_workload *const workload = verified->workload;
    const sattn_decoder_args a = sattn_bench_decoder_args(
        &workload->shape, sattn_workload_piece(workload, 0, SATTN_TENSOR_WEIGHTS, &bytes));
    const sattn_verify_step step = {.d = args->d,
                                    .n_enc = args->d_v,
                                    .n_k = args->n_k,
                                    .state = args->q.data,
                                    .embedded = (const float *)a.embedding.data +
                                                SATTN_DECODER_TOKEN * args->d,
                                    .h = args->v.data,
                                    .keys = args->k.data,
                                    .w_state = a.w_state.w.data,
                                    .v = a.v,
                                    .w_input = a.w_embedded.w.data,
                                    .w_hidden = a.w_hidden.w.data};
    return sattn_verify_step_state(&step, args->o.data, result);
}

/* Each part on what the part before it left, and the whole on all of them. */
static sattn_status check_parts(const sattn_variant *variant, sattn_verify_result *result,
                                const char **why)
{
    const sattn_bench_decoder *const own = verified->decoder;
    const sattn_decoder *const d = own->decoder;
    checked_step step = {.own = own,
                         .decoder = d,
                         .workspace = verified->workspace,
                         .result = result,
                         .sigmoid = sattn_kernel_sibling(d->gru, SATTN_OP_sigmoid),
                         .tanh = sattn_kernel_sibling(d->gru, SATTN_OP_tanh)};
    if (!step.sigmoid || !step.tanh) {
        *why = "no sigmoid or tanh of its ISA states its error";
        return SATTN_ERR_UNSUPPORTED;
    }
    float *const memory = malloc(
        (size_t)(d->args.n_k + d->n_embed + d->n_enc + d->n_hidden + d->n_vocab) * sizeof *memory);
    if (!memory) {
        return SATTN_ERR_MEMORY;
    }
    step.scores = memory;
    step.input = memory + d->args.n_k;
    run_and_check(&step, variant, step.input + d->n_embed + d->n_enc);
    free(memory);
    return SATTN_OK;
}

sattn_status sattn_decoder_verify(const sattn_attention_args *args, const sattn_variant *variant,
                                  sattn_verify_result *result, const char **why)
{
    *why = "verify: no memory";
    if (!variant->part && !check_state(args, result))
        return SATTN_ERR_MEMORY;
    return variant->peer ? SATTN_OK : check_parts(variant, result, why);
}
