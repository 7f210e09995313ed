/* SPDX-License-Identifier: MIT
 *
 * shapes.h: named attention shapes of real models, each with where its numbers come from; besides
 * them plain ones chosen to show one thing, arrays, and the parts of layers.
 *
 * Sources are test suites and configurations of public projects; sequence lengths of decoders are
 * those of the cited suite unless the note says "length chosen". */
#ifndef SATTN_BENCH_SHAPES_H
#define SATTN_BENCH_SHAPES_H

#include "dispatch/simdattn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sattn_preset {
    SATTN_PRESET_QUICK = 1,
    SATTN_PRESET_MODELS = 2,
    SATTN_PRESET_DECODE = 4,
    SATTN_PRESET_REAL = 8,
    SATTN_PRESET_DATA = 16, /* run on every kind of data of bench_data.h */
    SATTN_PRESET_LECTURE = 2048,
    /* No names of the command line, but what an op is run on if no preset is asked for: */
    SATTN_PRESET_STEPS = 32,    /* qk, softmax, av, chain */
    SATTN_PRESET_LINES = 64,    /* softmax besides */
    SATTN_PRESET_ARRAYS = 128,  /* exp, tanh, sigmoid */
    SATTN_PRESET_LIMITS = 256,  /* only for goals.c, which says what is run on them */
    SATTN_PRESET_CALLS = 512,   /* call */
    SATTN_PRESET_LAYERS = 1024, /* additive, linear, gru */
    SATTN_PRESET_FULL = 4095,   /* every shape, with every op but call, which keeps to its own */
} sattn_preset;

/* What a shape is a call of. */
typedef enum sattn_shape_kind {
    SATTN_SHAPE_ATTENTION, /* or one of its steps */
    SATTN_SHAPE_ARRAY,     /* n_k numbers for exp, tanh or sigmoid; all other extents are 1 */
    SATTN_SHAPE_ALIGNMENT, /* additive: n_q decoder states, n_k encoder states, d = d_v features */
    SATTN_SHAPE_MAP,       /* linear: n_q rows, n_k outputs, d inputs; d_v is 1 */
    SATTN_SHAPE_GATES,     /* gru: n_q = n_k rows of d_v units, d = 3 d_v */
    SATTN_SHAPE_DECODER,   /* a step over n_k encoder states of d_v features; all else is d wide */
    SATTN_SHAPE_SELF,      /* a self-attention layer over n_q = n_k inputs of d = d_v features */
    SATTN_SHAPE_GENERAL, /* a general attention layer: n_q queries, n_k inputs, all d = d_v wide */
    SATTN_SHAPE_ATTEND,  /* an attention layer with maps of keys and values, the same extents */
} sattn_shape_kind;

/* Words of a decoder: those of Xu et al. (2015). */
enum { SATTN_SHAPE_WORDS = 10000 };

/* What a mask of the shape holds. */
typedef enum sattn_mask_content {
    SATTN_CONTENT_NONE = 0, /* no mask */
    SATTN_CONTENT_PADDING,  /* entry b of B lacks its last b / 2B of the keys; entry 0 lacks none */
    SATTN_CONTENT_CAUSAL,   /* bottom right, as a tensor */
    SATTN_CONTENT_BIAS,     /* a position bias that falls with the distance of query and key */
    SATTN_CONTENT_INPUT,    /* what the kind of input has (bench/verify/inputs.h) */
} sattn_mask_content;

typedef struct sattn_shape_mask {
    sattn_mask_content content;
    sattn_mask_kind kind;
    bool per_batch, per_head, per_query; /* false: extent 1 */
} sattn_shape_mask;

typedef struct sattn_shape {
    const char *name;
    const char *model;  /* what it is a part of */
    const char *source; /* project and file, or how derived */
    unsigned presets;   /* set of sattn_preset */
    int real_layer;     /* -1: inputs are made; else captured ones of this MiniLM layer */
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
    int64_t source_batch; /* 0: as batch; else the source's, of which `batch` entries are run */
    int64_t source_heads; /* 0: as n_q_heads; else the same for heads */
    int64_t window;       /* 0: off; else keys that a query sees, its own and those before it */
    double scale;         /* 0: 1/sqrt(d) */
    double softcap;       /* 0: off */
    int64_t n_heads;      /* that a self-attention layer cuts its features into */
    sattn_shape_mask mask;
    sattn_shape_kind kind;
    bool causal;
    bool has_alibi;      /* slopes 2^(-8 (h + 1) / n_q_heads) */
    bool has_sinks;      /* one per query head */
    bool is_interleaved; /* tensors are [batch, rows, heads, features], not heads before rows */
    bool is_packed;      /* a map's weights are packed */
} sattn_shape;

const sattn_shape *sattn_shapes(size_t *count);
const sattn_shape *sattn_shape_by_name(const char *name); /* NULL: no such shape */

/* Numbers that a layer's weights are; 0 of all other kinds. */
int64_t sattn_shape_weights(const sattn_shape *shape);

/* 0: no such preset. */
unsigned sattn_preset_by_name(const char *name);
/* The names of all presets, separated by commas. */
const char *sattn_preset_names(void);

/* "n=4096" for an array, "rows=1 outputs=1536 inputs=512 packed" for a map, "B=1 Tq=1 Tk=1000
 * D=512" for an alignment, "rows=1 units=512" for gates, "T=1000 states of 512, GRU of 512 units,
 * 10000 words" for a decoder, "T=512 D=768 H=12 causal" for a self-attention layer, "Tq=32 Tk=1000
 * D=512" for the other layers, else "B=1 Hq=16 Hkv=16 Tq=384 Tk=384 D=64 causal ..." */
void sattn_shape_describe(const sattn_shape *shape, char *text, size_t size);

#endif
