/* SPDX-License-Identifier: MIT
 *
 * call.c: calls of a peer, as the messages of host.h. */
#include "bench/peers/peers.h"

#include "bench/peers/process.h"
#include "bench/peers/settle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const task_names[SATTN_PEER_TASKS] = {"attention", "qk",   "softmax", "av",
                                                         "decoder",   "self", "general", "attend"};

static const char *const align_names[] = {[SATTN_ALIGN_SCALED_DOT] = "scaled_dot",
                                          [SATTN_ALIGN_DOT] = "dot",
                                          [SATTN_ALIGN_BILINEAR] = "bilinear",
                                          [SATTN_ALIGN_ADDITIVE] = "additive"};

/* ---- what a task looks at */

enum { TAKES_QK = 1, TAKES_SOFTMAX = 2, TAKES_AV = 4 };

static const unsigned taken[SATTN_PEER_TASKS] = {TAKES_QK | TAKES_SOFTMAX | TAKES_AV,
                                                 TAKES_QK,
                                                 TAKES_SOFTMAX,
                                                 TAKES_AV,
                                                 TAKES_QK | TAKES_AV,
                                                 TAKES_QK | TAKES_AV,
                                                 TAKES_QK | TAKES_AV,
                                                 TAKES_QK | TAKES_AV};

static int64_t keys_of(const sattn_attention_args *args, int64_t batch)
{
    return args->n_k_valid ? args->n_k_valid[batch] : args->n_k;
}

static int64_t offset_of(const sattn_attention_args *args, int64_t batch)
{
    return args->causal_offset ? args->causal_offset[batch] : keys_of(args, batch) - args->n_q;
}

static bool has_lengths(const sattn_attention_args *args)
{
    for (int64_t b = 0; b < args->batch; ++b)
        if (keys_of(args, b) != args->n_k)
            return true;
    return false;
}

static bool has_offsets(const sattn_attention_args *args)
{
    for (int64_t b = 1; b < args->batch; ++b)
        if (offset_of(args, b) != offset_of(args, 0))
            return true;
    return false;
}

static bool has_other_types(const sattn_attention_args *args, unsigned takes)
{
    return ((takes & TAKES_QK) && (args->q.dtype != SATTN_F32 || args->k.dtype != SATTN_F32)) ||
           ((takes & TAKES_AV) && (args->v.dtype != SATTN_F32 || args->o.dtype != SATTN_F32));
}

/* All that the call asks for beside products, a softmax and one causal limit. */
static json_t *features_of(const sattn_peer_request *request)
{
    const sattn_attention_args *const a = request->args;
    const unsigned takes = taken[request->task];
    const bool hides = (takes & (TAKES_SOFTMAX | TAKES_AV)) != 0;
    const struct {
        const char *name;
        bool asked;
    } features[] = {
        {"softcap", (takes & TAKES_QK) && a->softcap != 0},
        {"mask", hides && a->mask.kind != SATTN_MASK_NONE},
        {"window", hides && a->has_window},
        {"ALiBi", (takes & TAKES_SOFTMAX) && a->alibi_slopes},
        {"sinks", (takes & TAKES_SOFTMAX) && a->sinks},
        {"log-sum-exp", (takes & TAKES_SOFTMAX) && a->lse},
        {"scores as a result", request->task == SATTN_PEER_ATTENTION && a->scores},
        {"lengths", has_lengths(a)},
        {"causal limits of batch entries", hides && a->causal && has_offsets(a)},
        {"types but f32", has_other_types(a, takes)},
    };
    json_t *const names = json_array();
    for (size_t f = 0; f < sizeof features / sizeof *features; ++f)
        if (features[f].asked)
            json_array_append_new(names, json_string(features[f].name));
    return names;
}

/* ---- the question */

static void add_tensor(json_t *question, const char *name, const sattn_peer_request *request,
                       const void *data, int64_t stride_b, int64_t stride_h, int64_t stride_t)
{
    const char *const base = request->memory->base;
    if (data)
        json_object_set_new(question, name,
                            json_pack("[I,I,I,I]", (json_int_t)((const char *)data - base),
                                      (json_int_t)stride_b, (json_int_t)stride_h,
                                      (json_int_t)stride_t));
}

static void add_tensors(json_t *question, const sattn_peer_request *request)
{
    const sattn_attention_args *const a = request->args;
    const unsigned takes = taken[request->task];
    if (takes & TAKES_QK) {
        add_tensor(question, "q", request, a->q.data, a->q.stride_b, a->q.stride_h, a->q.stride_t);
        add_tensor(question, "k", request, a->k.data, a->k.stride_b, a->k.stride_h, a->k.stride_t);
    }
    if (takes & TAKES_AV) {
        add_tensor(question, "v", request, a->v.data, a->v.stride_b, a->v.stride_h, a->v.stride_t);
        add_tensor(question, "o", request, a->o.data, a->o.stride_b, a->o.stride_h, a->o.stride_t);
    }
    if (request->task == SATTN_PEER_QK || request->task == SATTN_PEER_SOFTMAX)
        add_tensor(question, "scores", request, a->scores, a->scores_stride_b, a->scores_stride_h,
                   a->scores_stride_t);
    if (request->task == SATTN_PEER_SOFTMAX || request->task == SATTN_PEER_AV)
        add_tensor(question, "scores_in", request, a->scores_in, a->scores_in_stride_b,
                   a->scores_in_stride_h, a->scores_in_stride_t);
}

/* Bytes from the first to the last element that a mask shows. */
static size_t mask_bytes(const sattn_mask *mask)
{
    size_t last = 0;
    for (int axis = 0; axis < 4; ++axis)
        last += (size_t)(mask->extent[axis] - 1) *
                (mask->extent[axis] > 1 ? (size_t)mask->stride[axis] : 0);
    return (last + 1) * (mask->kind == SATTN_MASK_BOOL ? 1 : sizeof(float));
}

/* Puts a copy of the mask into memory of its own. True without a mask too. */
static bool add_mask(json_t *question, const sattn_mask *mask, sattn_shared *copy)
{
    *copy = (sattn_shared){.file = -1};
    if (mask->kind == SATTN_MASK_NONE || !mask->data)
        return true;
    const size_t bytes = mask_bytes(mask);
    const int64_t *const e = mask->extent, *const s = mask->stride;
    if (!sattn_shared_open(copy, bytes))
        return false;
    memcpy(copy->base, mask->data, bytes);
    json_object_set_new(question, "mask_size", json_integer((json_int_t)copy->size));
    json_object_set_new(question, "mask",
                        json_pack("{s:s,s:[I,I,I,I],s:[I,I,I,I]}", "kind",
                                  mask->kind == SATTN_MASK_BOOL ? "bool" : "additive", "extent",
                                  (json_int_t)e[0], (json_int_t)e[1], (json_int_t)e[2],
                                  (json_int_t)e[3], "stride", (json_int_t)s[0], (json_int_t)s[1],
                                  (json_int_t)s[2], (json_int_t)s[3]));
    return true;
}

static void add_layer(json_t *question, const sattn_peer_request *request)
{
    const sattn_peer_layer *const layer = &request->layer;
    const char *const weights = (const char *)layer->weights, *const base = request->memory->base;
    if (!weights)
        return;
    json_object_set_new(question, "weights", json_integer((json_int_t)(weights - base)));
    json_object_set_new(question, "n_heads", json_integer((json_int_t)layer->n_heads));
    json_object_set_new(question, "n_words", json_integer((json_int_t)layer->n_words));
    json_object_set_new(question, "token", json_integer((json_int_t)layer->token));
    json_object_set_new(question, "align", json_string(align_names[layer->align]));
}

static json_t *question_of(const sattn_peer_call *call, const sattn_peer_request *request)
{
    const sattn_attention_args *const a = request->args;
    const double scale = a->has_scale ? a->scale : 1 / sqrt((double)a->d);
    const bool causal = a->causal && (taken[request->task] & (TAKES_SOFTMAX | TAKES_AV));
    json_t *const question = json_pack(
        "{s:s,s:I,s:s,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:b,s:I,s:o}", "do",
        "open", "id", (json_int_t)call->id, "task", task_names[request->task], "threads",
        request->threads, "way", request->way, "n_sets", (json_int_t)request->n_sets, "set_bytes",
        (json_int_t)request->set_bytes, "size", (json_int_t)request->memory->size, "batch",
        (json_int_t)a->batch, "n_q_heads", (json_int_t)a->n_q_heads, "n_kv_heads",
        (json_int_t)a->n_kv_heads, "n_q", (json_int_t)a->n_q, "n_k", (json_int_t)a->n_k, "d",
        (json_int_t)a->d, "d_v", (json_int_t)a->d_v, "scale", scale, "causal", causal, "offset",
        (json_int_t)(causal && a->batch > 0 ? offset_of(a, 0) : 0), "features",
        features_of(request));
    if (question) {
        add_tensors(question, request);
        add_layer(question, request);
    }
    return question;
}

/* ---- calls */

static bool fail(sattn_peer_call *call, const char *why)
{
    call->failed = true;
    snprintf(call->why, sizeof call->why, "%s", why);
    return false;
}

static bool take_answer(sattn_peer_call *call, json_t *answer)
{
    const char *picked = NULL, *declined = NULL, *error = NULL;
    if (!answer)
        return fail(call, call->peer->why);
    if (json_unpack(answer, "{s?s,s?i,s?i,s?s,s?s}", "picked", &picked, "threads", &call->threads,
                    "n_ways", &call->n_ways, "declined", &declined, "error", &error) != 0)
        return fail(call, "its answer cannot be read");
    if (picked) {
        snprintf(call->picked, sizeof call->picked, "%s", picked);
        return true;
    }
    call->declined = declined != NULL;
    call->failed = !call->declined;
    snprintf(call->why, sizeof call->why, "%s",
             declined ? declined
             : error  ? error
                      : "its answer says nothing");
    return false;
}

bool sattn_peer_call_open(sattn_peer_call *call, sattn_peer *peer,
                          const sattn_peer_request *request)
{
    sattn_shared mask;
    *call = (sattn_peer_call){.peer = peer, .id = ++peer->n_calls, .n_sets = request->n_sets};
    json_t *const question = question_of(call, request);
    if (!question || !add_mask(question, &request->args->mask, &mask)) {
        json_decref(question);
        return fail(call, "out of memory");
    }
    if (request->threads > 1)
        sattn_settle();
    const int files[2] = {request->memory->file, mask.file};
    json_t *const answer = sattn_peer_ask(peer, question, files, mask.base ? 2 : 1);
    const bool opened = take_answer(call, answer);
    json_decref(answer);
    sattn_shared_close(&mask);
    return opened;
}

void sattn_peer_call_close(sattn_peer_call *call)
{
    if (*call->picked && call->peer->is_ready)
        json_decref(sattn_peer_ask(
            call->peer, json_pack("{s:s,s:I}", "do", "close", "id", (json_int_t)call->id), NULL,
            0));
    *call = (sattn_peer_call){0};
}

sattn_window sattn_peer_run(sattn_peer_call *call, int64_t set, int64_t n)
{
    json_int_t ns, cpu_ns, thread_ns, switches;
    const char *error = NULL;
    const sattn_window none = {0};
    if (call->failed || call->declined)
        return none;
    if (call->threads > 1)
        sattn_settle();
    json_t *const answer =
        sattn_peer_ask(call->peer,
                       json_pack("{s:s,s:I,s:I,s:I}", "do", "run", "id", (json_int_t)call->id,
                                 "set", (json_int_t)(set % call->n_sets), "n", (json_int_t)n),
                       NULL, 0);
    if (!answer) {
        fail(call, call->peer->why);
        return none;
    }
    const bool good = json_unpack(answer, "{s:I,s:I,s:I,s:I}", "ns", &ns, "cpu_ns", &cpu_ns,
                                  "thread_ns", &thread_ns, "switches", &switches) == 0;
    if (!good) {
        json_unpack(answer, "{s:s}", "error", &error);
        fail(call, error ? error : "its answer cannot be read");
    }
    json_decref(answer);
    return good ? (sattn_window){.ns = ns,
                                 .cpu_ns = cpu_ns,
                                 .thread_ns = thread_ns,
                                 .switches = switches,
                                 .threads = call->threads}
                : none;
}
