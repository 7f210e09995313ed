/* SPDX-License-Identifier: MIT
 *
 * fuzz_call.h: a call of the public interface, decoded from a fuzzer's bytes.
 *
 * Fields take legal values, edges and any value at all. Each buffer is exactly as large as the
 * fields declare it, so that AddressSanitizer sees every byte too many. What is declared larger
 * than FUZZ_BYTES_MAX, or would take longer than FUZZ_WORK_MAX multiply-adds, gets no memory at
 * all: all pointers are NULL, and the call has to be refused. */
#ifndef SATTN_TESTS_FUZZ_CALL_H
#define SATTN_TESTS_FUZZ_CALL_H

#include "dispatch/simdattn.h"
#include "tests/fuzz/fuzz_bytes.h"

enum {
    FUZZ_BYTES_MAX = 1 << 19,
    FUZZ_WORK_MAX = 1 << 22, /* enough for calls that are worth several threads */
};

typedef enum fuzz_entry {
    FUZZ_ATTENTION,
    FUZZ_PLAN,
    FUZZ_RAGGED,
    FUZZ_QK,
    FUZZ_SOFTMAX,
    FUZZ_AV,
    FUZZ_ENTRIES,
} fuzz_entry;

/* Buffers of a call. Those from FUZZ_O on are written. */
enum {
    FUZZ_Q,
    FUZZ_K,
    FUZZ_V,
    FUZZ_MASK,
    FUZZ_SLOPES,
    FUZZ_SINKS,
    FUZZ_OFFSETS,
    FUZZ_LENGTHS,
    FUZZ_Q_STARTS,
    FUZZ_K_STARTS,
    FUZZ_SCORES_IN,
    FUZZ_O,
    FUZZ_LSE,
    FUZZ_SCORES,
    FUZZ_BUFFERS,
};

typedef struct fuzz_buffer {
    unsigned char *memory; /* NULL: not given, or shared with another buffer */
    unsigned char *copy;   /* what it held before the call */
    size_t size;
} fuzz_buffer;

typedef struct fuzz_call {
    fuzz_entry entry;
    sattn_attention_args args;
    sattn_ragged ragged;
    sattn_options options;
    int workspace; /* 0: none given; 1: as large as asked for; 2: a little less; 3: misaligned */
    bool shares;   /* an output was put on an input */
    fuzz_buffer buffers[FUZZ_BUFFERS];
} fuzz_call;

/* False where there was no memory. */
bool fuzz_call_make(fuzz_call *call, fuzz_bytes *bytes);
void fuzz_call_free(fuzz_call *call);

#endif
