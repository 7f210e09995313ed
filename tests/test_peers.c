/* SPDX-License-Identifier: MIT
 *
 * test_peers.c: one peer, with each of its tasks on small shapes against the oracle; what it knows
 * nothing of it declines. Exit code 77 and the reason where the peer is absent.
 *
 *   test_peers --peer=NAME [--cap=avx2] */
#include "bench/peers/peers.h"
#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"
#include "bench/verify/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 2, MOST_SIZES = 8, ALIGNMENT = 64 };

static int failures, compared;

static void report(bool good, const char *peer, const char *what, const char *text)
{
    failures += !good;
    if (!good)
        printf("FAILED: %s, %s: %s\n", peer, what, text);
}

/* ---- a call in shared memory */

typedef struct size {
    const char *what;
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
    bool causal, is_first_key; /* the causal limit counts from the first key */
    bool is_threaded;          /* run on two threads too */
} size;

static const size sizes[MOST_SIZES] = {
    {"few rows", 1, 2, 2, 5, 7, 16, 16, false, false, false},
    {"batch, groups", 2, 4, 2, 9, 9, 24, 24, false, false, true},
    {"causal", 2, 4, 2, 33, 33, 16, 16, true, false, false},
    {"causal blocks", 1, 2, 2, 300, 300, 32, 32, true, false, true},
    {"causal, more keys", 1, 2, 2, 5, 12, 16, 16, true, false, false},
    {"causal from the first key", 1, 2, 2, 6, 9, 16, 16, true, true, false},
    {"step of a group", 1, 8, 2, 1, 65, 64, 64, true, false, true},
    {"wide values", 1, 2, 2, 4, 17, 16, 40, false, false, false},
};

typedef struct problem {
    sattn_shared memory;
    char *inputs; /* what Q, K and V were made to be */
    size_t set_bytes;
    sattn_attention_args args;
    int64_t offset;
} problem;

static size_t place(size_t *used, int64_t n)
{
    const size_t at = *used;
    *used += ((size_t)n * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    return at;
}

/* Weights that a row of a step `av` is given: positive where the key is visible, 0 elsewhere. */
static void fill_scores(const sattn_attention_args *a, sattn_peer_task task, float *scores)
{
    const int64_t offset = a->causal_offset ? *a->causal_offset : a->n_k - a->n_q;
    for (int64_t r = 0; r < a->batch * a->n_q_heads * a->n_q; ++r)
        for (int64_t j = 0; j < a->n_k; ++j) {
            const float x = sattn_random_normal(5, (uint64_t)r, (uint64_t)j);
            const bool is_hidden = a->causal && j > r % a->n_q + offset;
            scores[r * a->n_k + j] = task == SATTN_PEER_SOFTMAX ? x : is_hidden ? 0 : fabsf(x);
        }
}

static bool open_problem(problem *p, const size *s, sattn_peer_task task)
{
    const sattn_input_shape shape = {s->batch, s->n_q_heads, s->n_kv_heads, s->n_q,
                                     s->n_k,   s->d,         s->d_v};
    const int64_t q_rows = s->batch * s->n_q_heads * s->n_q;
    const int64_t k_rows = s->batch * s->n_kv_heads * s->n_k;
    size_t used = 0;
    const size_t q = place(&used, q_rows * s->d), k = place(&used, k_rows * s->d),
                 v = place(&used, k_rows * s->d_v), o = place(&used, q_rows * s->d_v),
                 scores_in = place(&used, q_rows * s->n_k), scores = place(&used, q_rows * s->n_k);
    *p = (problem){.set_bytes = used};
    if (!sattn_shared_open(&p->memory, SETS * used))
        return false;
    char *const base = p->memory.base;
    float *const in = (float *)(void *)(base + scores_in);
    sattn_input_fill(SATTN_INPUT_ATTENTION, 3, &shape, (float *)(void *)(base + q),
                     (float *)(void *)(base + k), (float *)(void *)(base + v));
    p->args = (sattn_attention_args){
        .batch = s->batch,
        .n_q_heads = s->n_q_heads,
        .n_kv_heads = s->n_kv_heads,
        .n_q = s->n_q,
        .n_k = s->n_k,
        .d = s->d,
        .d_v = s->d_v,
        .q = {base + q, SATTN_F32, s->n_q_heads * s->n_q * s->d, s->n_q * s->d, s->d},
        .k = {base + k, SATTN_F32, s->n_kv_heads * s->n_k * s->d, s->n_k * s->d, s->d},
        .v = {base + v, SATTN_F32, s->n_kv_heads * s->n_k * s->d_v, s->n_k * s->d_v, s->d_v},
        .o = {base + o, SATTN_F32, s->n_q_heads * s->n_q * s->d_v, s->n_q * s->d_v, s->d_v},
        .causal = s->causal,
        .scores_in_stride_b = s->n_q_heads * s->n_q * s->n_k,
        .scores_in_stride_h = s->n_q * s->n_k,
        .scores_in_stride_t = s->n_k,
        .scores_stride_b = s->n_q_heads * s->n_q * s->n_k,
        .scores_stride_h = s->n_q * s->n_k,
        .scores_stride_t = s->n_k,
    };
    if (s->is_first_key)
        p->args.causal_offset = &p->offset;
    if (task == SATTN_PEER_QK || task == SATTN_PEER_SOFTMAX)
        p->args.scores = (float *)(void *)(base + scores);
    if (task == SATTN_PEER_SOFTMAX || task == SATTN_PEER_AV) {
        fill_scores(&p->args, task, in);
        p->args.scores_in = in;
    }
    memcpy(base + used, base, used);
    p->inputs = malloc(o);
    if (p->inputs)
        memcpy(p->inputs, base, o);
    return p->inputs != NULL;
}

static void close_problem(problem *p)
{
    free(p->inputs);
    sattn_shared_close(&p->memory);
}

/* The same call on another set. */
static sattn_attention_args args_on(const problem *p, int set)
{
    sattn_attention_args args = p->args;
    const size_t shift = (size_t)set * p->set_bytes;
    args.q.data = (const char *)args.q.data + shift;
    args.k.data = (const char *)args.k.data + shift;
    args.v.data = (const char *)args.v.data + shift;
    args.o.data = (char *)args.o.data + shift;
    if (args.scores)
        args.scores += shift / sizeof(float);
    if (args.scores_in)
        args.scores_in += shift / sizeof(float);
    return args;
}

/* ---- what a run left */

static void verify_row(const sattn_attention_args *a, sattn_peer_task task, sattn_verify_place at,
                       sattn_verify_result *result)
{
    const int64_t kv_head = at.head / (a->n_q_heads / a->n_kv_heads);
    const int64_t row = (at.batch * a->n_q_heads + at.head) * a->n_q + at.row;
    const sattn_visibility visible = {.n_k = a->n_k,
                                      .causal = a->causal,
                                      .causal_offset =
                                          a->causal_offset ? *a->causal_offset : a->n_k - a->n_q,
                                      .window_left = -1,
                                      .window_right = -1};
    if (task == SATTN_PEER_QK) {
        const sattn_verify_scores scores = {.q = (const float *)a->q.data + row * a->d,
                                            .k = (const float *)a->k.data +
                                                 at.batch * a->k.stride_b + kv_head * a->k.stride_h,
                                            .k_stride = a->d,
                                            .d = a->d,
                                            .n = a->n_k,
                                            .scale = (float)(1 / sqrt((double)a->d))};
        sattn_verify_scores_row(&scores, a->scores + row * a->n_k, at, result);
    } else if (task == SATTN_PEER_SOFTMAX) {
        const sattn_verify_weights weights = {.s = a->scores_in + row * a->n_k,
                                              .n_columns = a->n_k,
                                              .visible = &visible,
                                              .i = at.row};
        sattn_verify_weights_row(&weights, a->scores + row * a->n_k, NULL, NULL, at, result);
    } else {
        const sattn_verify_outputs outputs = {
            .p = a->scores_in + row * a->n_k,
            .v = (const float *)a->v.data + at.batch * a->v.stride_b + kv_head * a->v.stride_h,
            .v_stride = a->d_v,
            .d_v = a->d_v,
            .visible = &visible,
            .i = at.row};
        sattn_verify_outputs_row(&outputs, (const float *)a->o.data + row * a->d_v, at, result);
    }
}

static void verify(const sattn_attention_args *args, sattn_peer_task task, const char *peer,
                   const char *what)
{
    char text[320];
    sattn_verify_result result;
    const sattn_verify_selection all = {.all_rows = true};
    const sattn_bound_params params = sattn_bound_chain();
    const char *why = "";
    sattn_verify_result_init(&result);
    if (task == SATTN_PEER_ATTENTION) {
        if (sattn_verify_attention(args, &all, &params, &result, &why) != SATTN_OK)
            report(false, peer, what, why);
    } else {
        sattn_verify_place at = {0};
        for (at.batch = 0; at.batch < args->batch; ++at.batch)
            for (at.head = 0; at.head < args->n_q_heads; ++at.head)
                for (at.row = 0; at.row < args->n_q; ++at.row)
                    verify_row(args, task, at, &result);
    }
    sattn_verify_describe(&result, text, sizeof text);
    report(sattn_verify_passed(&result), peer, what, text);
    ++compared;
}

/* ---- one peer */

static const char *const tasks[] = {/* layers are whole runs of bench: program.cmake */
                                    "attention", "qk", "softmax", "av"};

static bool is_untouched(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Opens, runs on the second set and then on both, and compares. The first set's output is to stay
 * as it was while only the second is run. */
static void run_call(sattn_peer *peer, sattn_peer_call *call, problem *p, sattn_peer_task task,
                     const char *what)
{
    char *const output = task == SATTN_PEER_QK || task == SATTN_PEER_SOFTMAX
                             ? (char *)p->args.scores
                             : (char *)p->args.o.data;
    const sattn_attention_args second = args_on(p, 1);
    const size_t inputs = (size_t)((char *)p->args.o.data - (char *)p->memory.base);
    const char *const sets[SETS] = {p->memory.base, (char *)p->memory.base + p->set_bytes};
    memset(output, 0, 16);
    sattn_window window = sattn_peer_run(call, 1, 1);
    report(window.ns > 0 && window.cpu_ns >= 0 && !call->failed, peer->name, what, call->why);
    report(is_untouched(output, 16), peer->name, what, "a run on set 1 wrote into set 0");
    verify(&second, task, peer->name, what);
    window = sattn_peer_run(call, 1, 3);
    report(window.ns > 0 && !call->failed, peer->name, what, call->why);
    verify(&p->args, task, peer->name, what);
    report(memcmp(p->inputs, sets[0], inputs) == 0 && memcmp(p->inputs, sets[1], inputs) == 0,
           peer->name, what, "an input was changed");
}

/* A library that does not know this CPU picked kernels for one with vectors of 128 bits. */
static bool is_for_old_cpu(const char *picked)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && strstr(picked, "Prescott") != NULL;
#else
    (void)picked;
    return false;
#endif
}

/* Opens one way of a call (0: the fastest) and runs it; returns how many ways there are. Not every
 * way computes everything, but the fastest one has to. */
static int test_way(sattn_peer *peer, problem *p, sattn_peer_request *request, int way,
                    const char *what)
{
    sattn_peer_call call;
    request->way = way;
    const bool opened = sattn_peer_call_open(&call, peer, request);
    const int n_ways = call.n_ways;
    printf("%s, %s, way %d: %s\n", peer->name, what, way, opened ? call.picked : call.why);
    report(!opened || !is_for_old_cpu(call.picked), peer->name, what, call.picked);
    if (opened)
        run_call(peer, &call, p, request->task, what);
    else
        report(*call.why && (call.declined || way > 0), peer->name, what, call.why);
    sattn_peer_call_close(&call);
    return opened ? n_ways : 0;
}

static void test_call(sattn_peer *peer, sattn_peer_task task, const size *s, int threads)
{
    char what[160];
    problem p;
    snprintf(what, sizeof what, "%s, %s, %d threads", tasks[task], s->what, threads);
    if (!open_problem(&p, s, task)) {
        report(false, peer->name, what, "no shared memory");
        return;
    }
    sattn_peer_request request = {.task = task,
                                  .args = &p.args,
                                  .memory = &p.memory,
                                  .n_sets = SETS,
                                  .set_bytes = p.set_bytes,
                                  .threads = threads};
    const int n_ways = test_way(peer, &p, &request, 0, what);
    for (int way = 1; way <= n_ways; ++way)
        test_way(peer, &p, &request, way, what);
    close_problem(&p);
}

/* What no peer knows, and masks, which some do. */
static void test_features(sattn_peer *peer)
{
    static const char *const what[] = {"window",      "softcap", "ALiBi", "sinks",
                                       "log-sum-exp", "lengths", "mask"};
    float lse[64], slopes[4] = {1, 1, 1, 1};
    const int64_t lengths[2] = {9, 4};
    uint8_t hidden[9 * 9];
    for (int i = 0; i < 81; ++i)
        hidden[i] = i % 9 <= i / 9 || i % 3 == 0;
    for (int f = 0; f < 7; ++f) {
        problem p;
        sattn_peer_call call;
        if (!open_problem(&p, &sizes[1], SATTN_PEER_ATTENTION))
            continue;
        p.args.has_window = f == 0;
        p.args.window_left = 3;
        p.args.softcap = f == 1 ? 20 : 0;
        p.args.alibi_slopes = f == 2 ? slopes : NULL;
        p.args.sinks = f == 3 ? slopes : NULL;
        p.args.lse = f == 4 ? lse : NULL;
        p.args.n_k_valid = f == 5 ? lengths : NULL;
        if (f == 6)
            p.args.mask = (sattn_mask){SATTN_MASK_BOOL, hidden, {1, 1, 9, 9}, {81, 81, 9, 1}};
        const sattn_peer_request request = {.task = SATTN_PEER_ATTENTION,
                                            .args = &p.args,
                                            .memory = &p.memory,
                                            .n_sets = SETS,
                                            .set_bytes = p.set_bytes,
                                            .threads = 1};
        const bool opened = sattn_peer_call_open(&call, peer, &request);
        if (opened && f == 6)
            run_call(peer, &call, &p, SATTN_PEER_ATTENTION, what[f]);
        else
            report(!opened && call.declined && strstr(call.why, what[f]), peer->name, what[f],
                   opened ? "was not declined" : call.why);
        sattn_peer_call_close(&call);
        close_problem(&p);
    }
}

static int test_peer(const char *name, const char *cap)
{
    sattn_peers peers;
    sattn_peer *peer = NULL;
    sattn_peers_open(&peers, &(sattn_peers_setting){.only = name, .cap = cap});
    for (int p = 0; p < SATTN_PEERS; ++p)
        if (strcmp(peers.list[p].name, name) == 0)
            peer = &peers.list[p];
    if (!peer) {
        printf("there is no peer %s\n", name);
        failures = 1;
    } else if (!peer->is_ready) {
        printf("skipped: %s is absent: %s\n", name, peer->why);
        report(*peer->why, name, "absent", "without a reason");
    } else {
        printf("%s: %s\n", name, peer->version);
        for (int task = 0; task <= SATTN_PEER_AV; ++task)
            for (int s = 0; s < MOST_SIZES; ++s)
                for (int threads = 1; threads <= 1 + sizes[s].is_threaded; ++threads)
                    test_call(peer, (sattn_peer_task)task, &sizes[s], threads);
        test_features(peer);
        report(peer->is_ready, name, "the end", peer->why);
        report(compared > 0, name, "all", "nothing was compared");
    }
    const bool is_absent = peer && !peer->is_ready;
    sattn_peers_close(&peers);
    return failures ? 1 : is_absent ? 77 : 0;
}

int main(int argc, char **argv)
{
    const char *name = NULL, *cap = NULL;
    for (int i = 1; i < argc; ++i) {
        if (strncmp(argv[i], "--peer=", 7) == 0)
            name = argv[i] + 7;
        else if (strncmp(argv[i], "--cap=", 6) == 0)
            cap = argv[i] + 6;
    }
    if (!name) {
        fputs("usage: test_peers --peer=NAME [--cap=avx2]\n", stderr);
        return 2;
    }
    return test_peer(name, cap);
}
