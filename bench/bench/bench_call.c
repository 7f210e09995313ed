/* SPDX-License-Identifier: MIT
 *
 * bench_call.c: what is timed is one call of a public function, as a user of the library makes it;
 * planning, where the task has a plan, and allocation are not in the time. */
#include "bench/bench/bench_call.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORKSPACE_ALIGNMENT = 64 };

bool sattn_bench_call_open_step(sattn_bench_call *call, sattn_step step, char *why, size_t why_size)
{
    if (sattn_step_workspace_size(step, &call->args, &call->options, &call->workspace_size) ==
        SATTN_OK)
        return true;
    snprintf(why, why_size, "%s", sattn_last_error());
    return false;
}

bool sattn_bench_call_open_plan(sattn_bench_call *call, char *why, size_t why_size)
{
    if (sattn_plan_create(&call->plan, &call->args, &call->options) != SATTN_OK) {
        snprintf(why, why_size, "%s", sattn_last_error());
        return false;
    }
    call->workspace_size = sattn_plan_workspace_size(call->plan);
    return true;
}

static bool open_peer(sattn_bench_call *call, const sattn_bench_request *request, char *why,
                      size_t why_size)
{
    sattn_peer *const peer = sattn_bench_peer(request->peers, request->variant);
    if (!peer || !peer->is_ready) {
        snprintf(why, why_size, "%s", peer ? peer->why : "no peers were started");
        return false;
    }
    call->peer = calloc(1, sizeof *call->peer);
    if (!call->peer) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    size_t bytes;
    const sattn_workload *const workload = call->workload;
    const sattn_peer_request wanted = {
        .task = sattn_bench_peer_task(request->variant),
        .args = &call->args,
        .layer = {.weights = sattn_workload_piece(workload, 0, SATTN_TENSOR_WEIGHTS, &bytes),
                  .n_heads = workload->shape.n_heads,
                  .n_words = SATTN_SHAPE_WORDS,
                  .token = SATTN_DECODER_TOKEN,
                  .align = request->variant->align},
        .memory = request->memory,
        .n_sets = call->workload->n_sets,
        .set_bytes = call->workload->set_bytes,
        .threads = request->threads};
    if (sattn_peer_call_open(call->peer, peer, &wanted))
        return true;
    snprintf(why, why_size, "%s%s", call->peer->declined ? "" : "failed: ", call->peer->why);
    sattn_bench_call_close(call);
    return false;
}

bool sattn_bench_call_open(sattn_bench_call *call, const sattn_bench_request *request, char *why,
                           size_t why_size)
{
    const sattn_variant *const variant = request->variant;
    const sattn_options forced = {.threads = request->threads,
                                  .kernels = *variant->kernels ? variant->kernels : NULL,
                                  .isa = variant->isa,
                                  .plan = variant->plan};
    const sattn_options open = {.threads = request->threads};
    *call = (sattn_bench_call){
        .task = variant->op->task,
        .variant = variant,
        .workload = request->workload,
        .args = *request->args,
        .options = request->names_none ? open : forced,
        .cursor = request->cursor,
    };
    call->options.profile = request->profile;
    if (variant->peer)
        return open_peer(call, request, why, why_size);
    if (!call->task->open(call, why, why_size)) {
        sattn_bench_call_close(call);
        return false;
    }
    const size_t size = (call->workspace_size / WORKSPACE_ALIGNMENT + 1) * WORKSPACE_ALIGNMENT;
    call->workspace = aligned_alloc(WORKSPACE_ALIGNMENT, size);
    if (!call->workspace) {
        snprintf(why, why_size, "out of memory for %zu bytes of workspace", size);
        sattn_bench_call_close(call);
        return false;
    }
    call->options.workspace = call->workspace;
    call->options.workspace_size = size;
    if (!call->task->begin || call->task->begin(call, why, why_size))
        return true;
    sattn_bench_call_close(call);
    return false;
}

void sattn_bench_call_close(sattn_bench_call *call)
{
    if (call->peer)
        sattn_peer_call_close(call->peer);
    free(call->peer);
    sattn_plan_destroy(call->plan);
    sattn_kernel_calls_free(&call->kernel_calls);
    sattn_profile_destroy(call->profile);
    free(call->packed);
    sattn_bench_decoder_close(call->decoder);
    free(call->workspace);
    *call = (sattn_bench_call){0};
}

void sattn_bench_call_run(void *context)
{
    sattn_bench_call *const call = context;
    if (call->peer) {
        (void)sattn_bench_call_window(call, 1);
        return;
    }
    if (call->workload->n_sets > 1) {
        sattn_workload_place(call->workload, *call->cursor, &call->args);
        if (++*call->cursor == call->workload->n_sets)
            *call->cursor = 0;
    }
    const sattn_status status = call->task->run(call);
    if (status != SATTN_OK)
        call->status = status;
}

sattn_window sattn_bench_call_window(void *context, int64_t calls)
{
    sattn_bench_call *const call = context;
    const sattn_window window = sattn_peer_run(call->peer, *call->cursor, calls);
    *call->cursor = (*call->cursor + calls) % call->workload->n_sets;
    if (call->peer->failed)
        call->status = SATTN_ERR_UNSUPPORTED;
    return window;
}

sattn_window sattn_bench_call_parts(void *context, int64_t calls)
{
    sattn_bench_call *const call = context;
    sattn_bench_decoder *const decoder = call->decoder;
    for (int part = 0; part < SATTN_DECODER_PARTS; ++part)
        decoder->part_ns[part] = 0;
    const sattn_window start = sattn_window_begin(call->options.threads);
    for (int64_t i = 0; i < calls; ++i)
        sattn_bench_decoder_parts(decoder, call->workspace);
    return sattn_window_end(start);
}
