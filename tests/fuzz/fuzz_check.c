/* SPDX-License-Identifier: MIT
 *
 * fuzz_check.c: what holds for every call, legal or not.
 *
 *   refused    a status with a name and a text; no byte of any buffer has changed
 *   accepted   inputs are as they were; of the outputs only elements have changed
 *   attention  rows agree with the oracle in double precision */
#include "tests/fuzz/fuzz_check.h"

#include "bench/verify/compare.h"
#include "dispatch/share.h"
#include "tests/fuzz/fuzz_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void complain(const char *what)
{
    fprintf(stderr, "fuzz: %s\nlast error: %s\n", what, sattn_last_error());
    abort();
}

static sattn_status ask_size(const fuzz_call *c, size_t *size)
{
    switch (c->entry) {
    case FUZZ_RAGGED:
        return sattn_attention_ragged_workspace_size(&c->args, &c->ragged, &c->options, size);
    case FUZZ_QK:
        return sattn_step_workspace_size(SATTN_STEP_QK, &c->args, &c->options, size);
    case FUZZ_SOFTMAX:
        return sattn_step_workspace_size(SATTN_STEP_SOFTMAX, &c->args, &c->options, size);
    case FUZZ_AV:
        return sattn_step_workspace_size(SATTN_STEP_AV, &c->args, &c->options, size);
    default:
        return sattn_attention_workspace_size(&c->args, &c->options, size);
    }
}

static sattn_status run_plan(const fuzz_call *c)
{
    const sattn_attention_args *const a = &c->args;
    const sattn_pointers pointers = {.q = a->q.data,
                                     .k = a->k.data,
                                     .v = a->v.data,
                                     .o = a->o.data,
                                     .mask = a->mask.data,
                                     .n_k_valid = a->n_k_valid,
                                     .causal_offset = a->causal_offset,
                                     .lse = a->lse,
                                     .scores = a->scores,
                                     .alibi_slopes = a->alibi_slopes,
                                     .sinks = a->sinks};
    sattn_plan *plan;
    sattn_status status = sattn_plan_create(&plan, a, &c->options);
    if (status != SATTN_OK)
        return status;
    status = sattn_plan_run(plan, &pointers, c->options.workspace, c->options.workspace_size);
    sattn_plan_destroy(plan);
    return status;
}

static sattn_status run(const fuzz_call *c)
{
    switch (c->entry) {
    case FUZZ_PLAN:
        return run_plan(c);
    case FUZZ_RAGGED:
        return sattn_attention_ragged(&c->args, &c->ragged, &c->options);
    case FUZZ_QK:
        return sattn_qk(&c->args, &c->options);
    case FUZZ_SOFTMAX:
        return sattn_softmax(&c->args, &c->options);
    case FUZZ_AV:
        return sattn_av(&c->args, &c->options);
    default:
        return sattn_attention(&c->args, &c->options);
    }
}

/* Where there is nothing to write, any workspace will do. */
static bool has_outputs(const fuzz_call *c)
{
    const bool has_columns = c->args.n_k > 0 || (c->entry != FUZZ_QK && c->entry != FUZZ_SOFTMAX);
    return c->args.batch > 0 && c->args.n_q_heads > 0 && c->args.n_q > 0 && has_columns;
}

/* Runs in the workspace that the call has, of exactly the size that was asked for. */
static sattn_status run_in_workspace(fuzz_call *c)
{
    enum { WORKSPACE_MAX = 1 << 26 };
    size_t size = 0;
    if (c->workspace == 0 || ask_size(c, &size) != SATTN_OK || size == 0 || size > WORKSPACE_MAX)
        return run(c);
    unsigned char *const memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!memory)
        return run(c);
    memset(memory, 0xff, size); /* NaN: what is not written first shows */
    c->options.workspace = memory + (c->workspace == 3 ? 4 : 0);
    c->options.workspace_size = size - (c->workspace == 2 ? 1 : 0);
    const sattn_status status = run(c);
    if (status == SATTN_OK && c->workspace != 1 && has_outputs(c))
        complain(c->workspace == 2 ? "a workspace that is too small was taken"
                                   : "a misaligned workspace was taken");
    if (status == SATTN_ERR_WORKSPACE && c->workspace == 1)
        complain("a workspace of the size that was asked for was refused");
    free(memory);
    c->options.workspace = NULL;
    return status;
}

static void mark_elements(const fuzz_buffer *buffer, unsigned char *marks, const void *data,
                          const int64_t extent[3], const int64_t stride[3], int64_t columns)
{
    const int64_t first = (const unsigned char *)data - buffer->memory;
    for (int64_t b = 0; b < extent[0]; ++b)
        for (int64_t h = 0; h < extent[1]; ++h)
            for (int64_t t = 0; t < extent[2]; ++t) {
                const int64_t at = (extent[0] > 1 ? b * stride[0] : 0) +
                                   (extent[1] > 1 ? h * stride[1] : 0) +
                                   (extent[2] > 1 ? t * stride[2] : 0);
                memset(marks + first + 4 * at, 1, (size_t)(4 * columns));
            }
}

/* Marks what the call may write of a buffer. */
static void mark_outputs(const fuzz_call *c, int which, unsigned char *marks)
{
    const sattn_attention_args *const a = &c->args;
    const fuzz_buffer *const buffer = &c->buffers[which];
    const int64_t batch = c->entry == FUZZ_RAGGED ? 1 : a->batch;
    const int64_t rows[3] = {batch, a->n_q_heads, a->n_q};
    const int64_t heads[3] = {batch, a->n_q_heads, 1};
    const bool averages = c->entry <= FUZZ_RAGGED || c->entry == FUZZ_AV;
    if (which == (c->shares ? FUZZ_Q : FUZZ_O) && a->o.data && averages)
        mark_elements(buffer, marks, a->o.data, rows,
                      (const int64_t[]){a->o.stride_b, a->o.stride_h, a->o.stride_t}, a->d_v);
    if (which == FUZZ_LSE && a->lse)
        mark_elements(buffer, marks, a->lse, heads,
                      (const int64_t[]){a->lse_stride_b, a->lse_stride_h, 0}, a->n_q);
    if (which == FUZZ_SCORES && a->scores)
        mark_elements(buffer, marks, a->scores, rows,
                      (const int64_t[]){a->scores_stride_b, a->scores_stride_h, a->scores_stride_t},
                      a->n_k);
}

static void check_memory(const fuzz_call *c, bool accepted)
{
    for (int which = 0; which < FUZZ_BUFFERS; ++which) {
        const fuzz_buffer *const buffer = &c->buffers[which];
        if (!buffer->memory || memcmp(buffer->memory, buffer->copy, buffer->size) == 0)
            continue;
        if (!accepted)
            complain("a refused call has written");
        unsigned char *const marks = calloc(buffer->size + 1, 1);
        if (!marks)
            complain("no memory");
        mark_outputs(c, which, marks);
        for (size_t i = 0; i < buffer->size; ++i)
            if (!marks[i] && buffer->memory[i] != buffer->copy[i])
                complain(which < FUZZ_O ? "an input has changed"
                                        : "a gap between the elements of an output has changed");
        free(marks);
    }
}

/* Output and log-sum-exp; scores are for other tests. */
static void verify(sattn_attention_args args, const sattn_options *options)
{
    const sattn_verify_selection selection = {.all_rows = true};
    const bool is_chain = args.scores || (options->plan && strcmp(options->plan, "chain") == 0);
    sattn_bound_params params = is_chain ? sattn_bound_chain() : sattn_bound_defaults();
    sattn_verify_result result;
    const char *why;
    char text[400];
    if (!is_chain)
        params.n_splits =
            options->key_splits > 0 ? options->key_splits : 1 + args.n_k / SATTN_SPLIT_KEYS_MIN;
    args.scores = NULL;
    sattn_verify_result_init(&result);
    if (sattn_verify_attention(&args, &selection, &params, &result, &why) != SATTN_OK)
        complain(why);
    if (result.n_failed == 0)
        return;
    sattn_verify_describe(&result, text, sizeof text);
    complain(text);
}

/* The call as it was before its output took the place of its queries. */
static sattn_attention_args with_queries(const fuzz_call *c)
{
    sattn_attention_args args = c->args;
    if (args.q.data)
        args.q.data = c->buffers[FUZZ_Q].copy +
                      ((const unsigned char *)args.q.data - c->buffers[FUZZ_Q].memory);
    return args;
}

static const void *moved(const void *data, int64_t rows, int64_t stride)
{
    return data ? (const float *)data + rows * stride : NULL;
}

static void verify_sequences(const fuzz_call *c)
{
    const sattn_attention_args all = with_queries(c);
    for (int64_t b = 0; b < all.batch; ++b) {
        const int64_t q0 = c->ragged.q_starts[b], k0 = c->ragged.k_starts[b];
        sattn_attention_args one = all;
        one.batch = 1;
        one.n_q = c->ragged.q_starts[b + 1] - q0;
        one.n_k = c->ragged.k_starts[b + 1] - k0;
        one.q.data = moved(all.q.data, q0, all.n_q > 1 ? all.q.stride_t : 0);
        one.k.data = moved(all.k.data, k0, all.n_k > 1 ? all.k.stride_t : 0);
        one.v.data = moved(all.v.data, k0, all.n_k > 1 ? all.v.stride_t : 0);
        one.o.data = (void *)(uintptr_t)moved(all.o.data, q0, all.n_q > 1 ? all.o.stride_t : 0);
        one.lse = all.lse ? all.lse + q0 : NULL;
        one.causal_offset = all.causal_offset ? all.causal_offset + b : NULL;
        verify(one, &c->options);
    }
}

static fuzz_outcome judge(fuzz_call *c, sattn_status status)
{
    check_memory(c, status == SATTN_OK);
    if (status != SATTN_OK) {
        if (sattn_last_error()[0] == '\0' || sattn_status_string(status)[0] == '\0')
            complain("a refusal without a text");
        return FUZZ_REFUSED;
    }
    if (c->entry == FUZZ_RAGGED) {
        verify_sequences(c);
        return FUZZ_VERIFIED;
    }
    if (c->entry != FUZZ_ATTENTION && c->entry != FUZZ_PLAN)
        return FUZZ_ACCEPTED;
    verify(with_queries(c), &c->options);
    return FUZZ_VERIFIED;
}

fuzz_outcome fuzz_check(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    fuzz_call call;
    fuzz_outcome outcome = FUZZ_REFUSED;
    if (fuzz_call_make(&call, &bytes)) {
        const sattn_status status = run_in_workspace(&call);
        outcome = judge(&call, status);
    }
    fuzz_call_free(&call);
    return outcome;
}
