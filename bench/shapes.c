/* SPDX-License-Identifier: MIT
 *
 * shapes.c: the table of named shapes, from its two files, and what can be asked of it. */
#include "bench/shapes.h"

#include <stdio.h>
#include <string.h>

#define QUICK   SATTN_PRESET_QUICK
#define MODELS  SATTN_PRESET_MODELS
#define DECODE  SATTN_PRESET_DECODE
#define REAL    SATTN_PRESET_REAL
#define DATA    SATTN_PRESET_DATA
#define STEPS   SATTN_PRESET_STEPS
#define LINES   SATTN_PRESET_LINES
#define ARRAYS  SATTN_PRESET_ARRAYS
#define LIMITS  SATTN_PRESET_LIMITS
#define CALLS   SATTN_PRESET_CALLS
#define LAYERS  SATTN_PRESET_LAYERS
#define LECTURE SATTN_PRESET_LECTURE

#define SIZES(b, hq, hkv, tq, tk, depth, depth_v)                                                  \
    .batch = b, .n_q_heads = hq, .n_kv_heads = hkv, .n_q = tq, .n_k = tk, .d = depth,              \
    .d_v = depth_v, .real_layer = -1
/* One head whose scores are so many lines of so many keys. */
#define LINES_OF(lines, keys) SIZES(1, 1, 1, lines, keys, 64, 64)
#define NUMBERS(n)            SIZES(1, 1, 1, 1, n, 1, 1), .kind = SATTN_SHAPE_ARRAY
#define ALIGNMENT(b, tq, tk, depth)                                                                \
    SIZES(b, 1, 1, tq, tk, depth, depth), .kind = SATTN_SHAPE_ALIGNMENT
#define MAP(rows, outputs, inputs)        SIZES(1, 1, 1, rows, outputs, inputs, 1), .kind = SATTN_SHAPE_MAP
#define PACKED_MAP(rows, outputs, inputs) MAP(rows, outputs, inputs), .is_packed = true
#define GATES(rows, units)                SIZES(1, 1, 1, rows, rows, 3 * (units), units), .kind = SATTN_SHAPE_GATES
#define DECODER(states, units, channels)                                                           \
    SIZES(1, 1, 1, 1, states, units, channels), .kind = SATTN_SHAPE_DECODER
#define SELF_LAYER(inputs, features, heads)                                                        \
    SIZES(1, 1, 1, inputs, inputs, features, features), .n_heads = heads, .kind = SATTN_SHAPE_SELF
#define GENERAL_LAYER(queries, inputs, features)                                                   \
    SIZES(1, 1, 1, queries, inputs, features, features), .kind = SATTN_SHAPE_GENERAL
#define ATTENTION_LAYER(queries, inputs, features)                                                 \
    SIZES(1, 1, 1, queries, inputs, features, features), .kind = SATTN_SHAPE_ATTEND
/* Sizes of the tree's own files; those of other files are taken from them. */
#define REAL_LAYER(number)                                                                         \
    .batch = 5, .n_q_heads = 12, .n_kv_heads = 12, .n_q = 247, .n_k = 247, .d = 32, .d_v = 32,     \
    .real_layer = number
#define KEY_MASK(k) .mask = {SATTN_CONTENT_PADDING, SATTN_MASK_##k, .per_batch = true}
#define ROW_MASK(k)                                                                                \
    .mask = {SATTN_CONTENT_PADDING, SATTN_MASK_##k, .per_batch = true, .per_query = true}
#define CAUSAL_MASK .mask = {SATTN_CONTENT_CAUSAL, SATTN_MASK_BOOL, .per_query = true}
#define HEAD_CAUSAL_MASK                                                                           \
    .mask = {SATTN_CONTENT_CAUSAL, SATTN_MASK_BOOL, .per_head = true, .per_query = true}
#define BIAS_MASK                                                                                  \
    .mask = {SATTN_CONTENT_BIAS, SATTN_MASK_ADDITIVE, .per_head = true, .per_query = true}

static const sattn_shape shapes[] = {
#include "bench/shapes.def"
#include "bench/shapes_limits.def"
};

const sattn_shape *sattn_shapes(size_t *count)
{
    *count = sizeof shapes / sizeof shapes[0];
    return shapes;
}

const sattn_shape *sattn_shape_by_name(const char *name)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
        if (strcmp(shapes[s].name, name) == 0)
            return &shapes[s];
    return NULL;
}

unsigned sattn_preset_by_name(const char *name)
{
    static const struct {
        const char *name;
        sattn_preset preset;
    } presets[] = {
        {"quick", QUICK}, {"models", MODELS}, {"decode", DECODE},   {"real", REAL},
        {"data", DATA},   {"limits", LIMITS}, {"lecture", LECTURE}, {"full", SATTN_PRESET_FULL}};
    for (size_t p = 0; p < sizeof presets / sizeof presets[0]; ++p)
        if (strcmp(presets[p].name, name) == 0)
            return presets[p].preset;
    return 0;
}

const char *sattn_preset_names(void)
{
    return "quick, models, decode, real, data, limits, lecture, full";
}

/* Of a decoder: W, three gates of the embedding and of the state, and a row for each word, of d
 * inputs; U and three gates of the context, of d_v; and v. Of a general attention layer: W, U and
 * v. */
int64_t sattn_shape_weights(const sattn_shape *shape)
{
    const int64_t d = shape->d;
    switch (shape->kind) {
    case SATTN_SHAPE_DECODER:
        return (d + 2 * 3 * d + SATTN_SHAPE_WORDS + (1 + 3) * shape->d_v + 1) * d;
    case SATTN_SHAPE_SELF:
        return 4 * d * d;
    case SATTN_SHAPE_GENERAL:
        return (2 * d + 1) * d;
    case SATTN_SHAPE_ATTEND:
        return 2 * d * d;
    default:
        return 0;
    }
}

static void describe_attention(const sattn_shape *shape, char *text, size_t size)
{
    char mask[48] = "", window[32] = "", softcap[32] = "";
    if (shape->mask.kind != SATTN_MASK_NONE)
        snprintf(mask, sizeof mask, " %s mask%s",
                 shape->mask.kind == SATTN_MASK_BOOL ? "bool" : "additive",
                 shape->mask.content == SATTN_CONTENT_CAUSAL ? " (causal)" : "");
    if (shape->window > 0)
        snprintf(window, sizeof window, " window=%lld", (long long)shape->window);
    if (shape->softcap > 0)
        snprintf(softcap, sizeof softcap, " softcap=%g", shape->softcap);
    char heads[48];
    if (shape->n_q_heads == shape->n_kv_heads)
        snprintf(heads, sizeof heads, "H=%lld", (long long)shape->n_q_heads);
    else
        snprintf(heads, sizeof heads, "Hq=%lld Hkv=%lld", (long long)shape->n_q_heads,
                 (long long)shape->n_kv_heads);
    char depth[48];
    if (shape->d == shape->d_v)
        snprintf(depth, sizeof depth, "D=%lld", (long long)shape->d);
    else
        snprintf(depth, sizeof depth, "D=%lld Dv=%lld", (long long)shape->d, (long long)shape->d_v);
    snprintf(text, size, "B=%lld %s Tq=%lld Tk=%lld %s%s%s%s%s%s%s%s%s", (long long)shape->batch,
             heads, (long long)shape->n_q, (long long)shape->n_k, depth,
             shape->causal ? " causal" : "", window, mask, softcap,
             shape->has_alibi ? " ALiBi" : "", shape->has_sinks ? " sinks" : "",
             shape->real_layer >= 0 ? " padded" : "", shape->is_interleaved ? " interleaved" : "");
}

void sattn_shape_describe(const sattn_shape *shape, char *text, size_t size)
{
    const long long n_q = shape->n_q, n_k = shape->n_k, d = shape->d;
    switch (shape->kind) {
    case SATTN_SHAPE_ATTENTION:
        describe_attention(shape, text, size);
        break;
    case SATTN_SHAPE_ARRAY:
        snprintf(text, size, "n=%lld", n_k);
        break;
    case SATTN_SHAPE_ALIGNMENT:
        snprintf(text, size, "B=%lld Tq=%lld Tk=%lld D=%lld%s", (long long)shape->batch, n_q, n_k,
                 d, shape->is_interleaved ? " interleaved" : "");
        break;
    case SATTN_SHAPE_MAP:
        snprintf(text, size, "rows=%lld outputs=%lld inputs=%lld%s", n_q, n_k, d,
                 shape->is_packed ? " packed" : "");
        break;
    case SATTN_SHAPE_GATES:
        snprintf(text, size, "rows=%lld units=%lld", n_q, (long long)shape->d_v);
        break;
    case SATTN_SHAPE_DECODER:
        snprintf(text, size, "T=%lld states of %lld, GRU of %lld units, %d words", n_k,
                 (long long)shape->d_v, d, SATTN_SHAPE_WORDS);
        break;
    case SATTN_SHAPE_SELF:
        snprintf(text, size, "T=%lld D=%lld H=%lld%s", n_k, d, (long long)shape->n_heads,
                 shape->causal ? " causal" : "");
        break;
    case SATTN_SHAPE_GENERAL:
    case SATTN_SHAPE_ATTEND:
        snprintf(text, size, "Tq=%lld Tk=%lld D=%lld", n_q, n_k, d);
        break;
    }
}
