/* SPDX-License-Identifier: MIT
 *
 * host.c: the frame of a host in C: it answers requests, finds the fastest way to cut a call in a
 * short trial, and takes the time around calls. */
#include "bench/peers/host.h"

#include "bench/measure/clock.h"
#include "bench/measure/window.h"
#include "bench/peers/channel.h"
#include "bench/peers/compose.h"
#include "bench/peers/host_request.h"
#include "bench/peers/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)
#include <signal.h>
#include <sys/prctl.h>
#endif

typedef struct host_call {
    json_int_t id;
    sattn_host_request request;
    sattn_compose compose;
    char *base;
    struct host_call *next;
} host_call;

typedef struct host {
    const sattn_host_library *library;
    const char *cap;
    host_call *calls;
} host;

/* ---- calls */

static host_call **find(host *h, json_t *message)
{
    const json_int_t id = json_integer_value(json_object_get(message, "id"));
    host_call **at = &h->calls;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void free_call(host_call *call)
{
    sattn_compose_close(&call->compose);
    if (call->base)
        munmap(call->base, call->request.size);
    free(call);
}

static bool run_on(host_call *call, int64_t set)
{
    sattn_host_request_place(&call->request, call->base, set);
    return sattn_compose_run(&call->compose, &call->request.args);
}

/* A call that takes as long as this tells its time the first time already; and a trial that takes
 * as long as that ends with the ways that it has seen. The program waits for it. */
static const int64_t long_ns = 300000000, trial_ns = 20000000000;

static int64_t time_run(host_call *call, int64_t set, bool *good)
{
    const int64_t begin = sattn_now_ns();
    *good = *good && run_on(call, set % call->request.n_sets);
    return sattn_now_ns() - begin;
}

/* Nanoseconds of a call, the best of a few after one that makes what the library keeps; below 0: it
 * failed. Ways that are far behind the best one so far are not tried twice. */
static int64_t try_way(host_call *call, int64_t so_far, char *why, size_t size)
{
    enum { TRIES = 5 };
    snprintf(why, size, "%s",
             call->compose.library->attention ? "it does not compute this as one operation"
                                              : "the library failed");
    bool good = sattn_compose_open(&call->compose, &call->request.args, why, size);
    const int64_t first = time_run(call, 0, &good);
    int64_t best = first > long_ns ? first : INT64_MAX;
    for (int i = 1; good && first <= long_ns && i <= TRIES && (i == 1 || best / 2 < so_far); ++i) {
        const int64_t ns = time_run(call, i, &good);
        best = ns < best ? ns : best;
    }
    sattn_compose_close(&call->compose);
    return good ? best : -1;
}

/* Opens the call the fastest way, or the one that is asked for. */
static bool choose(host_call *call, int *n_ways, char *why, size_t size)
{
    sattn_compose_way ways[SATTN_COMPOSE_WAYS];
    int64_t least = INT64_MAX;
    int best = call->request.way - 1;
    *n_ways = sattn_compose_ways(&call->compose, &call->request.args, ways);
    const int64_t begin = sattn_now_ns();
    for (int w = 0; call->request.way == 0 && w < *n_ways; ++w) {
        if (best >= 0 && sattn_now_ns() - begin > trial_ns)
            break;
        call->compose.way = ways[w];
        const int64_t ns = try_way(call, least, why, size);
        if (ns >= 0 && ns < least) {
            least = ns;
            best = w;
        }
    }
    if (best < 0 || best >= *n_ways)
        return false;
    call->compose.way = ways[best];
    return sattn_compose_open(&call->compose, &call->request.args, why, size) && run_on(call, 0);
}

/* Rows of scores follow each other without a gap. */
static bool is_one_matrix(const sattn_attention_args *a)
{
    return a->scores_in_stride_t == a->n_k && a->scores_in_stride_h == a->n_q * a->n_k &&
           a->scores_in_stride_b == a->n_q_heads * a->n_q * a->n_k &&
           a->scores_stride_t == a->n_k && a->scores_stride_h == a->n_q * a->n_k &&
           a->scores_stride_b == a->n_q_heads * a->n_q * a->n_k;
}

static bool hides_keys(const sattn_host_request *request)
{
    return request->args.causal && request->offset < request->args.n_k - 1;
}

/* Why there is no such operation; "" if there is. */
static const char *declined(const host *h, const sattn_host_request *request)
{
    const sattn_attention_args *const a = &request->args;
    if (a->batch * a->n_q_heads * a->n_q * a->n_k == 0)
        return "there is nothing to compute";
    if (h->library->attention) {
        if (request->task != SATTN_COMPOSE_ATTENTION)
            return "it is measured on whole attentions alone";
        if (hides_keys(request))
            return "it would take a causal limit as a mask";
        return a->n_q_heads == a->n_kv_heads || sattn_compose_may_stack(request->task, a)
                   ? ""
                   : "it takes heads of a group as rows of one, which these are not";
    }
    if (request->task != SATTN_COMPOSE_SOFTMAX)
        return "";
    if (!h->library->softmax)
        return "it has no softmax";
    if (hides_keys(request))
        return "its softmax knows no causal limit";
    return is_one_matrix(a) ? "" : "its softmax wants rows without a gap";
}

static json_t *decline(const host *h, const sattn_host_request *request)
{
    const char *const why = declined(h, request);
    if (*request->features)
        return json_pack("{s:o}", "declined", json_sprintf("it knows no %s", request->features));
    return *why ? json_pack("{s:s}", "declined", why) : NULL;
}

static json_t *open_call(host *h, json_t *message, int file)
{
    char text[SATTN_HOST_TEXT_SIZE] = "there is no such way";
    int n_ways;
    host_call *const call = calloc(1, sizeof *call);
    if (!call || !sattn_host_request_read(message, &call->request)) {
        free(call);
        return json_pack("{s:s}", "error", "the request cannot be read");
    }
    json_t *const no = decline(h, &call->request);
    if (no) {
        free(call);
        return no;
    }
    if (!hides_keys(&call->request)) /* a limit beyond all keys */
        call->request.args.causal = false;
    call->id = json_integer_value(json_object_get(message, "id"));
    call->compose = (sattn_compose){.library = h->library,
                                    .task = call->request.task,
                                    .offset = call->request.offset,
                                    .scale = (float)call->request.scale,
                                    .cap = h->cap,
                                    .threads = call->request.threads};
    call->base = sattn_shared_map(file, call->request.size);
    if (!call->base)
        snprintf(text, sizeof text, "the memory cannot be mapped");
    if (!call->base || !choose(call, &n_ways, text, sizeof text)) {
        free_call(call);
        return json_pack("{s:s}", h->library->attention ? "declined" : "error", text);
    }
    call->next = h->calls;
    h->calls = call;
    sattn_compose_describe(&call->compose, text, sizeof text);
    return json_pack("{s:s,s:i,s:i}", "picked", text, "threads", call->request.threads, "n_ways",
                     n_ways);
}

static json_t *run_call(host *h, json_t *message)
{
    host_call *const call = *find(h, message);
    json_int_t set, n;
    if (!call || json_unpack(message, "{s:I,s:I}", "set", &set, "n", &n) != 0)
        return json_pack("{s:s}", "error", "there is no such call");
    bool good = true;
    const sattn_window start = sattn_window_begin(call->request.threads);
    for (json_int_t i = 0; i < n; ++i) {
        good = run_on(call, set) && good;
        if (++set == call->request.n_sets)
            set = 0;
    }
    const sattn_window done = sattn_window_end(start);
    if (!good)
        return json_pack("{s:s}", "error", "the library failed");
    return json_pack("{s:I,s:I,s:I,s:I}", "ns", (json_int_t)done.ns, "cpu_ns",
                     (json_int_t)done.cpu_ns, "thread_ns", (json_int_t)done.thread_ns, "switches",
                     (json_int_t)done.switches);
}

static json_t *close_call(host *h, json_t *message)
{
    host_call **const at = find(h, message);
    host_call *const call = *at;
    if (call) {
        *at = call->next;
        free_call(call);
    }
    return json_object();
}

/* ---- requests */

static json_t *answer(host *h, json_t *message, const int *files)
{
    const char *const what = json_string_value(json_object_get(message, "do"));
    if (what && strcmp(what, "open") == 0)
        return open_call(h, message, files[0]);
    if (what && strcmp(what, "run") == 0)
        return run_call(h, message);
    if (what && strcmp(what, "close") == 0)
        return close_call(h, message);
    return json_pack("{s:s}", "error", "the request cannot be read");
}

int sattn_host_main(const sattn_host_library *library)
{
    char version[SATTN_HOST_TEXT_SIZE], why[SATTN_HOST_TEXT_SIZE];
    host h = {.library = library, .cap = getenv("SATTN_PEER_CAP")};
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may be stopped when the program ends */
#endif
    if (!library->load(version, why, sizeof version))
        return !sattn_channel_send(SATTN_HOST_CHANNEL, json_pack("{s:s}", "absent", why), NULL, 0);
    bool good =
        sattn_channel_send(SATTN_HOST_CHANNEL, json_pack("{s:s}", "version", version), NULL, 0);
    while (good) {
        int files[SATTN_CHANNEL_FILES];
        json_t *message;
        if (sattn_channel_receive(SATTN_HOST_CHANNEL, -1, &message, files) != SATTN_HEARD_MESSAGE)
            break;
        json_t *const reply = answer(&h, message, files);
        for (int i = 0; i < SATTN_CHANNEL_FILES; ++i)
            if (files[i] >= 0)
                close(files[i]);
        json_decref(message);
        good = sattn_channel_send(SATTN_HOST_CHANNEL, reply, NULL, 0);
    }
    while (h.calls) {
        host_call *const call = h.calls;
        h.calls = call->next;
        free_call(call);
    }
    return good ? 0 : 1;
}
