/* SPDX-License-Identifier: MIT
 *
 * decoder.c: a step of a decoder with GRU and additive attention. Of a workload q is the state, k
 * are the keys U h, v the encoder states h, which are the values of the context, o is the next
 * state; all weights are one tensor. The output layer's rows are the words' embeddings too (Press &
 * Wolf 2017). Keys are made once, before anything is timed, as for a sentence. */
#include "bench/ops/decoder.h"

#include "bench/bench/bench_call.h"
#include "bench/measure/clock.h"
#include "bench/ops/decoder_verify.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const part_names[SATTN_DECODER_PARTS] = {
    [SATTN_PART_EMBEDDING] = "embedding", [SATTN_PART_ALIGNMENT] = "alignment",
    [SATTN_PART_SOFTMAX] = "softmax",     [SATTN_PART_CONTEXT] = "context",
    [SATTN_PART_UPDATE] = "update",       [SATTN_PART_OUTPUT] = "output"};

const char *sattn_decoder_part_name(sattn_decoder_part part)
{
    return part_names[part];
}

/* ---- work: a multiplication and an addition for each weight and each number of a state */

static sattn_work work(const sattn_attention_args *args)
{
    const double d = (double)args->d, n_enc = (double)args->d_v, n_k = (double)args->n_k;
    const double maps = ((double)SATTN_SHAPE_WORDS + d + 3 * (d + n_enc) + 3 * d) * d;
    const double states = n_k * n_enc, keys = n_k * d;
    return (sattn_work){.flops = 2 * (maps + states),
                        .bytes = (maps + states + keys) * sizeof(float),
                        .kv_bytes = (states + keys) * sizeof(float)};
}

/* ---- weights, one behind the other */

static sattn_linear_weights take(const float **at, int64_t n_out, int64_t n_in)
{
    const sattn_linear_weights weights = {
        .n_in = n_in, .n_out = n_out, .w = {.data = *at, .stride_t = n_in}};
    *at += n_out * n_in;
    return weights;
}

/* The cell's map of [embedding; context] is one matrix, as PyTorch has it. */
sattn_decoder_args sattn_bench_decoder_args(const sattn_shape *shape, const float *weights)
{
    const int64_t d = shape->d, n_enc = shape->d_v;
    sattn_decoder_args args = {.batch = 1,
                               .n_k = shape->n_k,
                               .h = {.stride_b = shape->n_k * n_enc, .stride_t = n_enc},
                               .cell = SATTN_CELL_GRU};
    args.w_state = take(&weights, d, d);
    args.w_encoded = take(&weights, d, n_enc);
    const sattn_linear_weights input = take(&weights, 3 * d, d + n_enc);
    args.w_embedded = args.w_context = input;
    args.w_embedded.n_in = d;
    args.w_context.n_in = n_enc;
    args.w_context.w.data = (const float *)input.w.data + d;
    args.w_hidden = take(&weights, 3 * d, d);
    args.w_out = take(&weights, SATTN_SHAPE_WORDS, d);
    args.embedding = args.w_out.w;
    args.v = weights;
    return args;
}

/* ---- parts */

static int64_t read_clock(const sattn_bench_decoder *decoder)
{
    return decoder->is_alone ? sattn_thread_cpu_ns() : sattn_now_ns();
}

/* The least of some readings, one right after the other. */
static int64_t clock_cost(const sattn_bench_decoder *decoder)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 100; ++i) {
        const int64_t at = read_clock(decoder), ns = read_clock(decoder) - at;
        least = ns < least ? ns : least;
    }
    return least;
}

void sattn_bench_decoder_parts(sattn_bench_decoder *decoder, unsigned char *workspace)
{
    int64_t at = read_clock(decoder);
    for (int part = 0; part < SATTN_DECODER_PARTS; ++part) {
        sattn_decoder_run_part(decoder->decoder, &decoder->source, &decoder->step,
                               (sattn_decoder_part)part, workspace);
        const int64_t now = read_clock(decoder), ns = now - at - decoder->clock_ns;
        decoder->part_ns[part] += ns > 0 ? ns : 0;
        at = now;
    }
}

/* ---- calls */

static bool refused(char *why, size_t why_size)
{
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

static bool open_call(sattn_bench_call *call, char *why, size_t why_size)
{
    size_t bytes;
    const sattn_shape *const shape = &call->workload->shape;
    const float *const weights =
        sattn_workload_piece(call->workload, 0, SATTN_TENSOR_WEIGHTS, &bytes);
    const sattn_decoder_args args = sattn_bench_decoder_args(shape, weights);
    sattn_bench_decoder *const made = calloc(1, sizeof *made);
    call->decoder = made;
    if (made)
        made->logits = malloc(SATTN_SHAPE_WORDS * sizeof *made->logits);
    if (!made || !made->logits) {
        snprintf(why, why_size, "out of memory for a decoder");
        return false;
    }
    if (sattn_decoder_create(&made->decoder, &args, &call->options) != SATTN_OK)
        return refused(why, why_size);
    call->workspace_size = sattn_decoder_workspace_size(made->decoder);
    made->token = SATTN_DECODER_TOKEN;
    made->is_alone = call->options.threads <= 1 && sattn_thread_cpu_ns() > 0;
    made->clock_ns = clock_cost(made);
    made->source = (sattn_decoder_source){
        .h = call->args.v.data,
        .keys = sattn_workload_piece(call->workload, 0, SATTN_TENSOR_K, &bytes)};
    made->step = (sattn_decoder_step_args){.tokens = &made->token,
                                           .state = call->args.q,
                                           .next = call->args.o,
                                           .logits = {.data = made->logits}};
    return true;
}

static bool begin(sattn_bench_call *call, char *why, size_t why_size)
{
    const sattn_bench_decoder *const d = call->decoder;
    return sattn_decoder_prepare(d->decoder, &d->source, call->workspace,
                                 call->options.workspace_size) == SATTN_OK ||
           refused(why, why_size);
}

static sattn_status run(sattn_bench_call *call)
{
    sattn_bench_decoder *const d = call->decoder;
    if (!call->variant->part)
        return sattn_decoder_step(d->decoder, &d->source, &d->step, call->workspace,
                                  call->options.workspace_size);
    sattn_bench_decoder_parts(d, call->workspace);
    return SATTN_OK;
}

void sattn_bench_decoder_close(sattn_bench_decoder *decoder)
{
    if (!decoder)
        return;
    sattn_decoder_destroy(decoder->decoder);
    free(decoder->logits);
    free(decoder);
}

/* ---- names */

/* The kernels of a part, or of all. */
static void name_kernels(const sattn_bench_call *call, char *kernels, size_t size)
{
    const sattn_variant *const variant = call->variant;
    sattn_decoder_print_kernels(call->decoder->decoder,
                                variant->part ? 1u << variant->part_number : SATTN_PARTS_OF_STEP,
                                kernels, size);
}

const sattn_bench_task sattn_task_decoder = {
    .takes = SATTN_SHAPE_DECODER,
    .tensors =
        SATTN_TENSOR_Q | SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_O | SATTN_TENSOR_WEIGHTS,
    .output = SATTN_TENSOR_O,
    .compute = SATTN_LIMIT_FMA,
    .memory = SATTN_LIMIT_READ,
    .streamed = SATTN_TENSOR_K | SATTN_TENSOR_V | SATTN_TENSOR_WEIGHTS,
    .is_layer = true,
    .error_unit = "that of the ops of its parts; of a whole step u",
    .work = work,
    .open = open_call,
    .begin = begin,
    .run = run,
    .name = name_kernels,
    .note = sattn_decoder_note,
    .verify = sattn_decoder_verify,
};
