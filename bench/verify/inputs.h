/* SPDX-License-Identifier: MIT
 *
 * inputs.h: deterministic Q, K, V and masks for tests and benchmarks.
 *
 * Element i of a stream is a pure function of (seed, stream, i), on every machine and compiler: the
 * generator is a counter put through a mixing function, the normal deviates come from integer sums,
 * not from libm. */
#ifndef SATTN_BENCH_VERIFY_INPUTS_H
#define SATTN_BENCH_VERIFY_INPUTS_H

#include "dispatch/simdattn.h"

#include <stddef.h>
#include <stdint.h>

/* 64 random bits, uniform in [0, 1), and a deviate of mean 0 and variance 1 within +-6. */
uint64_t sattn_random_bits(uint64_t seed, uint64_t stream, uint64_t counter);
double sattn_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter);
float sattn_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);
/* The deviates of n counters in a row. */
void sattn_random_normals(uint64_t seed, uint64_t stream, uint64_t counter, int64_t n,
                          float *values);

typedef enum sattn_input_kind {
    SATTN_INPUT_NORMAL,    /* Q, K, V ~ N(0, 1): scores of standard deviation 1 */
    SATTN_INPUT_ATTENTION, /* the spread of trained attention: heavy first key, local, peaked */
    SATTN_INPUT_LARGE8,    /* scores of standard deviation 8 */
    SATTN_INPUT_LARGE30,   /* scores of standard deviation 30 */
    SATTN_INPUT_RISING,    /* each key block exceeds the last by more than the lazy threshold */
    SATTN_INPUT_EQUAL,     /* all scores of a row equal, V all ones */
    SATTN_INPUT_ONE_HOT,   /* one key dominates each row */
    SATTN_INPUT_DENORMAL,  /* V near and below FLT_MIN */
    SATTN_INPUT_TINY,      /* Q and K so small that scores are near and below FLT_MIN */
    SATTN_INPUT_MASKED,    /* normal, a third of the keys hidden at random, some rows see none */
    SATTN_INPUT_MASKED90,  /* attention, 90 % of the keys hidden at random */
    SATTN_INPUT_BIAS1E30,  /* attention, -1e30 added to half of the scores: a bias, not a mask */
    SATTN_INPUT_KINDS,
} sattn_input_kind;

/* NULL for no such kind; -1 for no such name. */
const char *sattn_input_name(sattn_input_kind kind);
int sattn_input_from_name(const char *name);
/* What the name means, one line. */
const char *sattn_input_note(sattn_input_kind kind);

/* Dense tensors [batch, heads, rows, features]. The scores meant are those at scale 1/sqrt(d). */
typedef struct sattn_input_shape {
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
} sattn_input_shape;

void sattn_input_fill(sattn_input_kind kind, uint64_t seed, const sattn_input_shape *shape,
                      float *q, float *k, float *v);

/* The mask that is part of a kind, and its elements, [n_q, n_k] for all batch entries and heads. */
sattn_mask_kind sattn_input_mask_kind(sattn_input_kind kind);
void sattn_input_fill_mask(sattn_input_kind kind, uint64_t seed, const sattn_input_shape *shape,
                           void *mask);

#endif
