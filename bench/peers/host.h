/* SPDX-License-Identifier: MIT
 *
 * host.h: what a peer's host and the program say to each other, and the frame of a host in C.
 *
 * Each message is one line of JSON over file descriptor 3. The host introduces itself,
 *
 *   {"version": "OpenBLAS 0.3.21 ..."}      or     {"absent": "no libopenblas.so.0 here"}
 *
 * and from then on answers one request after the other, until the end of the input:
 *
 *   {"do": "open", "id": 7, "task": "attention", "threads": 1, "way": 0, "n_sets": 1,
 *    "set_bytes": ..., "size": ..., "mask_size": ...,
 *    "batch": .., "n_q_heads": .., "n_kv_heads": .., "n_q": .., "n_k": .., "d": .., "d_v": ..,
 *    "scale": .., "softcap": .., "causal": .., "offset": .., "features": ["window", ..],
 *    "q": [offset, stride_b, stride_h, stride_t], "k": .., "v": .., "o": .., "scores": ..,
 *    "scores_in": .., "weights": offset, "n_heads": .., "n_words": .., "token": ..,
 *    "align": "additive", "mask": {"kind": "bool", "extent": [4], "stride": [4]}}
 *
 *       comes with the file descriptor of the memory, and one more with that of the mask, if there
 *       is one. Offsets are in bytes from the start of the memory, for set 0; strides in elements.
 *       `offset` is that of the causal limit, one for all batch entries. A tensor that the task
 * does not use is missing. `way` 0 is the fastest, found in a short trial. `features` names all
 * else that the call asks for: a host declines those that it does not know.
 *
 *       {"picked": "...", "threads": 1, "n_ways": 3}   or   {"declined": "why"}   or   {"error":
 * "why"}
 *
 *   {"do": "run", "id": 7, "set": 0, "n": 10}
 *       {"ns": .., "cpu_ns": .., "thread_ns": .., "switches": ..}   or   {"error": "why"}
 *
 *   {"do": "close", "id": 7}
 *       {}
 *
 * Between an answer and the next request a host is stopped by a signal, so that threads of its
 * library that go on spinning after their work do not disturb what is measured next. Whatever it
 * prints goes to a file that the program looks into if the host ends or hangs. */
#ifndef SATTN_BENCH_PEERS_HOST_H
#define SATTN_BENCH_PEERS_HOST_H

#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SATTN_HOST_CHANNEL = 3, SATTN_HOST_TEXT_SIZE = 320 };

/* C = alpha A B, or alpha A B^T, row by row: A [m, k], C [m, n]. */
typedef struct sattn_host_product {
    int64_t m, n, k;
    float alpha;
    const float *a, *b;
    float *c;
    int64_t a_stride, b_stride, c_stride; /* from one row to the next */
    bool b_is_transposed;                 /* B is [n, k] in memory, else [k, n] */
} sattn_host_product;

/* A library that multiplies matrices, or one that computes attentions by itself and nothing else.
 * All but `load` is called after a successful `load`. */
typedef struct sattn_host_library {
    /* Writes name, version and what the library picks for this CPU; or why it is absent. */
    bool (*load)(char *version, char *why, size_t size);
    /* Threads of one call; 1 where the host itself runs several calls at once. */
    void (*set_threads)(int threads);
    /* What a thread needs of its own, and the end of that. */
    void *(*open_worker)(void);
    void (*close_worker)(void *worker);
    /* Without a causal limit; the rows of a group's heads follow each other with one stride. NULL:
     * the library multiplies. Each worker is used for one shape. */
    bool (*attention)(void *worker, const sattn_attention_args *args, float scale);
    bool (*multiply)(void *worker, const sattn_host_product *product);
    /* Softmax of the rows of x [rows, columns], which follow each other without a gap, into y.
     * NULL: the library has none. */
    bool (*softmax)(void *worker, const float *x, float *y, int64_t rows, int64_t columns);
    /* What the library picked for the last multiplication or softmax of this worker; "" if there
     * was none yet. */
    void (*describe)(void *worker, char *text, size_t size);
} sattn_host_library;

/* The main function of a host: returns its exit code. */
int sattn_host_main(const sattn_host_library *library);

#endif
