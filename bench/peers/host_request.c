/* SPDX-License-Identifier: MIT
 *
 * host_request.c: the messages of host.h, read. */
#include "bench/peers/host_request.h"

#include <stdio.h>
#include <string.h>

static bool read_task(const char *name, sattn_compose_task *task)
{
    static const char *const names[] = {[SATTN_COMPOSE_ATTENTION] = "attention",
                                        [SATTN_COMPOSE_QK] = "qk",
                                        [SATTN_COMPOSE_SOFTMAX] = "softmax",
                                        [SATTN_COMPOSE_AV] = "av"};
    for (size_t t = 0; t < sizeof names / sizeof *names; ++t)
        if (strcmp(name, names[t]) == 0) {
            *task = (sattn_compose_task)t;
            return true;
        }
    return false;
}

/* Offset and strides of a tensor; an offset of -1 where there is none. */
static bool read_tensor(json_t *message, const char *name, int64_t *offset, int64_t *stride_b,
                        int64_t *stride_h, int64_t *stride_t)
{
    json_t *const tensor = json_object_get(message, name);
    json_int_t at = -1, b = 0, h = 0, t = 0;
    if (tensor && json_unpack(tensor, "[I,I,I,I]", &at, &b, &h, &t) != 0)
        return false;
    *offset = at;
    *stride_b = b;
    *stride_h = h;
    *stride_t = t;
    return true;
}

static bool read_tensors(json_t *message, sattn_host_request *r)
{
    sattn_attention_args *const a = &r->args;
    return read_tensor(message, "q", &r->q, &a->q.stride_b, &a->q.stride_h, &a->q.stride_t) &&
           read_tensor(message, "k", &r->k, &a->k.stride_b, &a->k.stride_h, &a->k.stride_t) &&
           read_tensor(message, "v", &r->v, &a->v.stride_b, &a->v.stride_h, &a->v.stride_t) &&
           read_tensor(message, "o", &r->o, &a->o.stride_b, &a->o.stride_h, &a->o.stride_t) &&
           read_tensor(message, "scores", &r->scores, &a->scores_stride_b, &a->scores_stride_h,
                       &a->scores_stride_t) &&
           read_tensor(message, "scores_in", &r->scores_in, &a->scores_in_stride_b,
                       &a->scores_in_stride_h, &a->scores_in_stride_t);
}

bool sattn_host_request_read(json_t *message, sattn_host_request *request)
{
    const char *task;
    int causal;
    json_int_t n_sets, set_bytes, size, batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v, offset;
    json_t *features, *feature;
    size_t i, used = 0;
    *request = (sattn_host_request){0};
    if (json_unpack(
            message, "{s:s,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:F,s:b,s:I,s:o}",
            "task", &task, "threads", &request->threads, "way", &request->way, "n_sets", &n_sets,
            "set_bytes", &set_bytes, "size", &size, "batch", &batch, "n_q_heads", &n_q_heads,
            "n_kv_heads", &n_kv_heads, "n_q", &n_q, "n_k", &n_k, "d", &d, "d_v", &d_v, "scale",
            &request->scale, "causal", &causal, "offset", &offset, "features", &features) != 0 ||
        !read_task(task, &request->task))
        return false;
    request->n_sets = n_sets;
    request->set_bytes = (size_t)set_bytes;
    request->size = (size_t)size;
    request->offset = offset;
    request->args = (sattn_attention_args){.batch = batch,
                                           .n_q_heads = n_q_heads,
                                           .n_kv_heads = n_kv_heads,
                                           .n_q = n_q,
                                           .n_k = n_k,
                                           .d = d,
                                           .d_v = d_v,
                                           .causal = causal != 0};
    json_array_foreach(features, i, feature)
    {
        const char *const name = json_string_value(feature);
        if (name && used < sizeof request->features)
            used += (size_t)snprintf(request->features + used, sizeof request->features - used,
                                     "%s%s", used ? ", " : "", name);
    }
    return read_tensors(message, request);
}

void sattn_host_request_place(sattn_host_request *request, char *base, int64_t set)
{
    sattn_attention_args *const a = &request->args;
    char *const at = base + (size_t)set * request->set_bytes;
    a->q.data = request->q < 0 ? NULL : at + request->q;
    a->k.data = request->k < 0 ? NULL : at + request->k;
    a->v.data = request->v < 0 ? NULL : at + request->v;
    a->o.data = request->o < 0 ? NULL : at + request->o;
    a->scores = request->scores < 0 ? NULL : (float *)(void *)(at + request->scores);
    a->scores_in =
        request->scores_in < 0 ? NULL : (const float *)(const void *)(at + request->scores_in);
}
