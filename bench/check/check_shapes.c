/* SPDX-License-Identifier: MIT
 *
 * check_shapes.c: the shape classes and kinds of data of `simdattn check`. Sizes are those at which
 * kernels change their path: one key, less than a vector, a tile and one more or less, several key
 * blocks, heads that share K and V, rows that see nothing; and each thing that a call may do to
 * its scores, alone and with all the others. */
#include "bench/check/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SIZES(b, hq, hkv, q, k, x, y)                                                              \
    .batch = (b), .n_q_heads = (hq), .n_kv_heads = (hkv), .n_q = (q), .n_k = (k), .d = (x),        \
    .d_v = (y), .layer = SATTN_CHECK_NO_LAYER

static const sattn_check_shape shapes[] = {
    {"one-key", "one query, one key", SIZES(1, 1, 1, 1, 1, 8, 8)},
    {"narrow", "d and d_v of 1", SIZES(1, 2, 1, 3, 5, 1, 1)},
    {"decode-37", "one query, fewer keys than a block", SIZES(1, 4, 4, 1, 37, 64, 64)},
    {"decode-1025", "one query, nine key blocks", SIZES(1, 2, 2, 1, 1025, 64, 64)},
    {"decode-wide", "one query, d = 256", SIZES(1, 2, 2, 1, 130, 256, 256)},
    {"gqa-decode", "one query, 4 heads to a KV head", SIZES(1, 8, 2, 1, 200, 128, 128)},
    {"mqa-decode", "one query, 7 heads, one KV head", SIZES(1, 7, 1, 1, 129, 80, 80)},
    {"few-queries", "5 queries", SIZES(1, 2, 2, 5, 300, 64, 64)},
    {"few-gqa", "3 queries, 3 heads to a KV head", SIZES(2, 6, 2, 3, 65, 32, 32)},
    {"tile-less-one", "31 queries, 127 keys, d = 63", SIZES(1, 1, 1, 31, 127, 63, 63)},
    {"tile", "32 queries, 128 keys, d = 64", SIZES(1, 2, 2, 32, 128, 64, 64)},
    {"tile-and-one", "33 queries, 129 keys, d = 65", SIZES(1, 1, 1, 33, 129, 65, 65)},
    {"odd", "17 queries, 131 keys, d = 7, d_v = 3", SIZES(1, 1, 1, 17, 131, 7, 3)},
    {"square-49", "a window of a vision model", SIZES(2, 3, 3, 49, 49, 32, 32)},
    {"square-197", "a vision model", SIZES(1, 1, 1, 197, 197, 64, 64)},
    {"causal", "as many queries as keys", SIZES(1, 2, 2, 96, 96, 64, 64), .causal = true},
    {"causal-prefix", "more keys than queries", SIZES(1, 4, 2, 40, 300, 32, 32), .causal = true},
    {"causal-blind", "more queries than keys: the first see none", SIZES(1, 1, 1, 70, 20, 24, 24),
     .causal = true},
    {"lengths", "3 batch entries of different lengths", SIZES(3, 2, 2, 24, 140, 40, 40),
     .has_lengths = true},
    {"wide-value", "d = 16, d_v = 160", SIZES(1, 2, 2, 20, 100, 16, 160)},
    {"narrow-value", "d = 160, d_v = 16", SIZES(1, 2, 2, 20, 100, 160, 16)},
    {"bias", "an additive mask per head", SIZES(1, 2, 2, 40, 90, 64, 64), .has_bias = true},
    {"interleaved", "rows of all heads side by side", SIZES(2, 3, 3, 21, 150, 48, 48),
     .is_interleaved = true},
    {"scale", "a scale of -0.3", SIZES(1, 2, 2, 34, 70, 20, 20), .scale = -0.3f},
    {"long-row", "5000 keys, forty key blocks", SIZES(1, 1, 1, 2, 5000, 16, 16)},
    {"window", "the last 17 keys", SIZES(1, 2, 2, 64, 200, 32, 32), .has_window = true,
     .window_left = 16},
    {"window-both", "30 keys on each side", SIZES(1, 4, 2, 80, 100, 32, 32), .has_window = true,
     .window_left = 30, .window_right = 30},
    {"window-decode", "one query, the last 300 of 700 keys, 4 heads to a KV head",
     SIZES(1, 8, 2, 1, 700, 64, 64), .has_window = true, .window_left = 299, .window_right = -1},
    {"window-causal", "33 keys up to the query's own", SIZES(1, 2, 1, 90, 250, 64, 64),
     .causal = true, .has_window = true, .window_left = 32, .window_right = -1},
    {"softcap", "scores capped at 5", SIZES(1, 2, 2, 40, 150, 64, 64), .softcap = 5},
    {"softcap-decode", "one query, scores capped at 50", SIZES(1, 4, 2, 1, 260, 64, 64),
     .softcap = 50},
    {"alibi", "causal, a slope per head", SIZES(1, 6, 3, 50, 180, 32, 32), .causal = true,
     .has_alibi = true},
    {"alibi-both", "keys on both sides, a slope per head", SIZES(2, 2, 2, 35, 140, 40, 40),
     .has_lengths = true, .has_alibi = true},
    {"alibi-decode", "one query, a slope per head", SIZES(1, 8, 2, 1, 400, 64, 64),
     .has_alibi = true},
    {"sinks", "causal, a sink per head", SIZES(1, 6, 2, 40, 170, 32, 32), .causal = true,
     .has_sinks = true},
    {"sinks-blind", "a sink per head, rows that see no key", SIZES(1, 2, 1, 40, 20, 24, 24),
     .causal = true, .has_sinks = true},
    {"sinks-decode", "one query, a sink per head", SIZES(1, 8, 1, 1, 290, 64, 64),
     .has_sinks = true},
    {"everything", "lengths, window, softcap, ALiBi, mask and sinks",
     SIZES(2, 6, 2, 37, 210, 56, 48), .causal = true, .has_lengths = true, .has_window = true,
     .window_left = 90, .window_right = -1, .softcap = 20, .has_bias = true, .has_alibi = true,
     .has_sinks = true},
    {"everything-decode", "the same of one query", SIZES(2, 8, 2, 1, 500, 56, 48), .causal = true,
     .has_lengths = true, .has_window = true, .window_left = 270, .window_right = -1, .softcap = 20,
     .has_bias = true, .has_alibi = true, .has_sinks = true},
    {"group-16", "3 queries, 16 heads, one KV head", SIZES(1, 16, 1, 3, 150, 64, 64)},
    {"group-128-decode", "one query, 128 heads, one KV head", SIZES(1, 128, 1, 1, 140, 32, 32)},
    {"group-128", "3 causal queries, 128 heads, one KV head", SIZES(1, 128, 1, 3, 70, 16, 16),
     .causal = true},
    {"prefill-512", "512 queries and keys", SIZES(1, 2, 2, 512, 512, 64, 64), .full_only = true},
    {"causal-600", "600 causal queries, d = 128", SIZES(1, 2, 1, 600, 600, 128, 128),
     .causal = true, .full_only = true},
    {"decode-9000", "one query, 71 key blocks", SIZES(1, 4, 1, 1, 9000, 64, 64), .full_only = true},
    {"latent", "d = 576, d_v = 512", SIZES(1, 16, 1, 1, 700, 576, 512), .full_only = true},
    {"minilm-layer1", "a sentence model's layer 1", .layer = 1},
    {"minilm-layer3", "a sentence model's layer 3", .layer = 3},
    {"minilm-layer5", "a sentence model's layer 5", .layer = 5},
};

const sattn_check_shape *sattn_check_shapes(size_t *count)
{
    *count = sizeof shapes / sizeof shapes[0];
    return shapes;
}

/* Around every vector length and its multiples, and past a page. */
static const sattn_check_length lengths[] = {
    {"n1", 1, false},
    {"n2", 2, false},
    {"n3", 3, false},
    {"n4", 4, false},
    {"n5", 5, false},
    {"n7", 7, false},
    {"n8", 8, false},
    {"n9", 9, false},
    {"n15", 15, false},
    {"n16", 16, false},
    {"n17", 17, false},
    {"n31", 31, false},
    {"n32", 32, false},
    {"n33", 33, false},
    {"n63", 63, false},
    {"n64", 64, false},
    {"n65", 65, false},
    {"n127", 127, false},
    {"n200", 200, false},
    {"n1000", 1000, false},
    {"n4099", 4099, false},
    {"n20000", 20000, false},
    {"n1000000", 1000000, true},
};

const sattn_check_length *sattn_check_lengths(size_t *count)
{
    *count = sizeof lengths / sizeof lengths[0];
    return lengths;
}

static const sattn_check_range ranges[] = {
    {"unit", "-1 to 1", -1, 1, false},
    {"near-zero", "-0.001 to 0.001", -1e-3, 1e-3, false},
    {"denormals", "-1e-38 to 1e-38", -1e-38, 1e-38, false},
    {"moderate", "-9 to 9", -9, 9, false},
    {"weights", "-87.4 to 0, as a softmax has them", -87.4, 0, false},
    {"whole", "-110 to 95, all that exp has digits for", -110, 95, false},
    {"underflow", "-104 to -87, denormal results of exp", -104, -87, false},
    {"overflow", "88 to 89, around the largest exp", 88, 89, false},
    {"any", "any bit pattern", 0, 0, false},
    {"special", "zeros, infinities, NaN, ends of the range", 0, 0, true},
};

const sattn_check_range *sattn_check_ranges(size_t *count)
{
    *count = sizeof ranges / sizeof ranges[0];
    return ranges;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void sattn_check_range_fill(const sattn_check_range *range, uint64_t seed, float *x, int64_t n)
{
    static const float specials[] = {
        0.0f,        -0.0f,    INFINITY,    -INFINITY,   NAN,        -NAN,       FLT_MAX,
        -FLT_MAX,    FLT_MIN,  -FLT_MIN,    0x1p-149f,   -0x1p-149f, 88.722832f, 88.722839f,
        -103.97207f, -103.98f, -87.336540f, -87.336548f, 1.0f,       -1.0f,      9.5f};
    const uint64_t n_specials = sizeof specials / sizeof specials[0];
    const uint64_t stream = (uint64_t)n;
    for (int64_t e = 0; e < n; ++e) {
        const uint64_t at = (uint64_t)e;
        const uint64_t bits = sattn_random_bits(seed, stream, at);
        if (range->is_special)
            x[e] = specials[(at + bits % 2) % n_specials];
        else if (range->low == range->high)
            x[e] = float_of_bits((uint32_t)(bits >> 32));
        else
            x[e] = (float)(range->low +
                           (range->high - range->low) * sattn_random_uniform(seed, stream, at));
    }
}

bool sattn_check_full_only(const char *shape)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
        if (strcmp(shapes[s].name, shape) == 0)
            return shapes[s].full_only;
    for (size_t s = 0; s < sizeof lengths / sizeof lengths[0]; ++s)
        if (strcmp(lengths[s].name, shape) == 0)
            return lengths[s].full_only;
    return false;
}

bool sattn_check_wants(const sattn_check_options *options, const char *shape, const char *data)
{
    if (sattn_check_full_only(shape) && !options->full && options->shapes.count == 0)
        return false;
    return sattn_name_list_wants(&options->shapes, shape) &&
           sattn_name_list_wants(&options->data, data);
}
