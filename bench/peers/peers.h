/* SPDX-License-Identifier: MIT
 *
 * peers.h: other libraries measured beside our kernels, on the same buffers, in the same rounds.
 *
 *   openblas      its sgemm around our softmax: whole heads, or blocks of 128 or 256 query rows
 *   onednn        the same with its matmul; its softmax
 *   onednn-graph  its fused attention, where the version has one
 *   pytorch       scaled_dot_product_attention
 *   onnxruntime   its attention operators
 *
 * Each peer is a program of its own, a *host*, which this process starts and talks to over a pair
 * of sockets (host.h says how). So a library reads its environment, and with it a cap on its ISA,
 * once and unseen by the others; its crashes are its own; and nothing that this program links needs
 * it. Tensors lie in memory that both processes map, so nothing is copied. A host takes the time
 * around its calls with the same clocks as we do (measure/window.h), on the CPUs that the calling
 * thread is bound to at that moment, and is stopped by a signal while it has nothing to do. Our own
 * threads have to go to sleep too: one that spins for more than 100 ms after its work takes time
 * from a peer on several threads. No function here waits without bound: a host that dies or hangs
 * is ended, and every call of it then fails with a reason and the last line that it printed.
 *
 *   sattn_peers peers;
 *   sattn_peers_open(&peers, &(sattn_peers_setting){.cap = NULL});
 *   for each peer in peers.list with is_ready (else peer.why says why it is absent)
 *       if (sattn_peer_call_open(&call, peer, &request))
 *           sattn_peer_run(&call, 0, 1);         one call on set 0, to be verified in request.args
 *           sattn_window w = sattn_peer_run(&call, set, n);  n calls, on sets set, set + 1, ...
 *       else
 *           call.why: why it was declined (call.declined), or what went wrong
 *       sattn_peer_call_close(&call);
 *   sattn_peers_close(&peers);
 *
 * Peers of two caps are two sattn_peers; both may be open at once. */
#ifndef SATTN_BENCH_PEERS_PEERS_H
#define SATTN_BENCH_PEERS_PEERS_H

#include "bench/measure/window.h"
#include "bench/peers/shared.h"
#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SATTN_PEERS = 5, SATTN_PEER_TEXT_SIZE = 320 };

typedef enum sattn_peer_task {
    SATTN_PEER_ATTENTION, /* args as of sattn_attention */
    SATTN_PEER_QK,        /* ... of sattn_qk, and so on */
    SATTN_PEER_SOFTMAX,
    SATTN_PEER_AV,
    SATTN_PEER_DECODER, /* state q, keys k, encoder states v, next state o */
    SATTN_PEER_SELF,    /* inputs q, outputs o */
    SATTN_PEER_GENERAL, /* queries q, inputs k, outputs o */
    SATTN_PEER_ATTEND,  /* the same */
    SATTN_PEER_TASKS,
} sattn_peer_task;

typedef struct sattn_peers_setting {
    const char *only;   /* NULL: all; else the name of the one to start */
    const char *cap;    /* NULL: whatever the library takes here; "avx2": nothing beyond AVX2 */
    const char *python; /* that has PyTorch and ONNX Runtime; NULL: $SATTN_PEERS_PYTHON, or else
                           what `./run bench --peers` has made */
    double patience_s;  /* longest wait for an answer; 0: 60 */
} sattn_peers_setting;

typedef struct sattn_peer {
    const char *name;                   /* "openblas"; part of row names */
    char version[SATTN_PEER_TEXT_SIZE]; /* "OpenBLAS 0.3.21 Cooperlake"; "" if absent */
    bool is_ready;
    char why[SATTN_PEER_TEXT_SIZE]; /* why it is absent, or no longer there */
    const char *cap;                /* as in the setting */

    /* The connection: nobody else's. */
    pid_t pid; /* 0: no process */
    int socket, output;
    double patience_s;
    int64_t n_calls; /* opened so far */
} sattn_peer;

typedef struct sattn_peers {
    sattn_peer list[SATTN_PEERS]; /* all of the above, in that order */
} sattn_peers;

/* Starts all hosts, at once, and waits for them. Peers that cannot be had are no failure: each says
 * in `why` what is missing. Takes some seconds, mostly for PyTorch. */
void sattn_peers_open(sattn_peers *peers, const sattn_peers_setting *setting);
void sattn_peers_close(sattn_peers *peers);

/* What the tasks of layers are given besides: weights as bench/ops/decoder.c, self.c, general.c and
 * attend.c have them. */
typedef struct sattn_peer_layer {
    const float *weights; /* in the first set too */
    int64_t n_heads, n_words, token;
    sattn_align_kind align; /* of a general attention layer */
} sattn_peer_layer;

/* What is to be called. Tensors of `args` are dense or strided as for our own functions; q, k, v,
 * o, scores and scores_in lie within the first set of `memory`. Masks, slopes, sinks and lengths
 * may lie anywhere. */
typedef struct sattn_peer_request {
    sattn_peer_task task;
    const sattn_attention_args *args; /* of set 0 */
    sattn_peer_layer layer;
    const sattn_shared *memory;
    int64_t n_sets;
    size_t set_bytes; /* from one set to the next */
    int threads;      /* 1 or more */
    int way;          /* 0: the fastest of those that the host knows; else 1, 2, ..: that one */
} sattn_peer_request;

typedef struct sattn_peer_call {
    sattn_peer *peer;
    int64_t id, n_sets;
    bool declined; /* the peer has no such operation, which is no failure */
    bool failed;   /* something went wrong, at opening or in a later run */
    char why[SATTN_PEER_TEXT_SIZE];
    char picked[SATTN_PEER_TEXT_SIZE]; /* "sgemm, blocks of 128 rows, sattn_softmax_f32_avx512" */
    int threads;                       /* that the library says it uses */
    int n_ways;                        /* that there are to compute this */
} sattn_peer_call;

/* Has the host make all that its library needs beforehand, and try the ways that it has to compute
 * this (their outputs are written) to take the fastest, which takes some tens of calls. False: see
 * `declined` and `why`. */
bool sattn_peer_call_open(sattn_peer_call *call, sattn_peer *peer,
                          const sattn_peer_request *request);
void sattn_peer_call_close(sattn_peer_call *call);

/* `n` calls, one on each set from `set` on and around, with their outputs in these sets afterwards.
 * The window is that of the host: its cpu_ns
 * are of its process. After a failure `failed` and `why` are set, the window is all zeros, and so
 * are those of all later runs. */
sattn_window sattn_peer_run(sattn_peer_call *call, int64_t set, int64_t n);

#endif
