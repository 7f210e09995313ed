/* SPDX-License-Identifier: MIT
 *
 * inputs.c: the generator and the kinds of data (inputs.h).
 *
 * Generator: SplitMix64 (Steele, Lea & Flood 2014) entered at any position, its start mixed from
 * seed and stream. Normal deviates are sums of twelve uniform ones (variance 1/12 each), taken as
 * 16-bit integers, so they are the same everywhere; square roots are correctly rounded too. */
#include "bench/verify/inputs.h"

#include "kernels/contract.h"

#include <math.h>
#include <string.h>

enum {
    STREAM_Q = 1,
    STREAM_K,
    STREAM_V,
    STREAM_DIRECTION, /* the one direction per KV head that special keys lie in */
    STREAM_PLACE,     /* slowly changing vectors that make neighbours alike */
    STREAM_TARGET,    /* which key a row attends to */
    STREAM_MASK,
    STREAM_BLIND,   /* which rows see no key */
    PLACE_STEP = 16 /* tokens between two independent places */
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t start_of(uint64_t seed, uint64_t stream)
{
    return mix(mix(seed + golden) + stream * golden);
}

static uint64_t bits_at(uint64_t start, uint64_t counter)
{
    return mix(start + (counter + 1) * golden);
}

uint64_t sattn_random_bits(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return bits_at(start_of(seed, stream), counter);
}

double sattn_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (double)(sattn_random_bits(seed, stream, counter) >> 11) * 0x1p-53;
}

/* Even and odd 16-bit integers are summed side by side, in 32 bits each. */
static float normal_at(uint64_t start, uint64_t counter)
{
    const uint64_t even = UINT64_C(0x0000ffff0000ffff);
    uint64_t sums = 0;
    for (uint64_t draw = 0; draw < 3; ++draw) {
        const uint64_t bits = bits_at(start, 3 * counter + draw);
        sums += (bits & even) + (bits >> 16 & even);
    }
    const int32_t sum = (int32_t)(sums & 0xffffffffu) + (int32_t)(sums >> 32);
    return (float)(sum - 6 * 65535) * 0x1p-16f;
}

float sattn_random_normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return normal_at(start_of(seed, stream), counter);
}

void sattn_random_normals(uint64_t seed, uint64_t stream, uint64_t counter, int64_t n,
                          float *values)
{
    const uint64_t start = start_of(seed, stream);
    for (int64_t i = 0; i < n; ++i)
        values[i] = normal_at(start, counter + (uint64_t)i);
}

static const struct {
    const char *name, *note;
} kinds[SATTN_INPUT_KINDS] = {
    [SATTN_INPUT_NORMAL] = {"normal", "Q, K, V ~ N(0, 1), scores of standard deviation 1"},
    [SATTN_INPUT_ATTENTION] = {"attention",
                               "scores spread as in trained models: std 2, first key +8, near +6"},
    [SATTN_INPUT_LARGE8] = {"large8", "scores of standard deviation 8"},
    [SATTN_INPUT_LARGE30] = {"large30", "scores of standard deviation 30"},
    [SATTN_INPUT_RISING] = {"rising", "each key block exceeds the last by more than 16"},
    [SATTN_INPUT_EQUAL] = {"equal", "all scores of a row equal, V all ones"},
    [SATTN_INPUT_ONE_HOT] = {"one-hot", "one key dominates each row"},
    [SATTN_INPUT_DENORMAL] = {"denormal", "V around FLT_MIN, mostly below it"},
    [SATTN_INPUT_TINY] = {"tiny", "Q and K so small that scores are around FLT_MIN"},
    [SATTN_INPUT_MASKED] = {"masked", "a third of the keys hidden at random, some rows see none"},
    [SATTN_INPUT_MASKED90] = {"masked90", "90 % of the keys hidden at random"},
    [SATTN_INPUT_BIAS1E30] = {"bias-1e30", "a bias of -1e30 on half of the scores"},
};

const char *sattn_input_name(sattn_input_kind kind)
{
    return (unsigned)kind < SATTN_INPUT_KINDS ? kinds[kind].name : NULL;
}

const char *sattn_input_note(sattn_input_kind kind)
{
    return (unsigned)kind < SATTN_INPUT_KINDS ? kinds[kind].note : NULL;
}

int sattn_input_from_name(const char *name)
{
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind)
        if (strcmp(name, kinds[kind].name) == 0)
            return kind;
    return -1;
}

typedef struct input_head {
    sattn_input_kind kind;
    uint64_t seed;
    const sattn_input_shape *shape;
    uint64_t kv; /* batch * n_kv_heads + KV head */
} input_head;

static float sign_of(const input_head *h, uint64_t stream, uint64_t counter)
{
    return sattn_random_bits(h->seed, stream, counter) >> 63 ? 1.0f : -1.0f;
}

/* Feature x of key j, or of a query, among `rows` of a head. */
static uint64_t counter_of(uint64_t rows_before, int64_t width, int64_t x)
{
    return rows_before * (uint64_t)width + (uint64_t)x;
}

static uint64_t keys_before(const input_head *h, int64_t j)
{
    return h->kv * (uint64_t)h->shape->n_k + (uint64_t)j;
}

/* +-1 for each feature, the same for all keys of a KV head. */
static float direction(const input_head *h, int64_t x)
{
    return sign_of(h, STREAM_DIRECTION, counter_of(h->kv, h->shape->d, x));
}

/* N(0, 1)-like vectors, similar for tokens less than PLACE_STEP apart. */
static float place(const input_head *h, int64_t token, int64_t x)
{
    const uint64_t knots = (uint64_t)(h->shape->n_q + h->shape->n_k) / PLACE_STEP + 2;
    const uint64_t knot = h->kv * knots + (uint64_t)token / PLACE_STEP;
    const float part = (float)(token % PLACE_STEP) / (float)PLACE_STEP;
    const uint64_t counter = counter_of(knot, h->shape->d, x);
    const uint64_t next = counter_of(knot + 1, h->shape->d, x);
    return (1.0f - part) * sattn_random_normal(h->seed, STREAM_PLACE, counter) +
           part * sattn_random_normal(h->seed, STREAM_PLACE, next);
}

/* Two vectors of this size in one direction have a score of `score` at scale 1/sqrt(d). */
static float size_for(const input_head *h, double score)
{
    return (float)sqrt(score / sqrt((double)h->shape->d));
}

/* Whose Q and K have the spread of trained attention. */
static bool is_attention(sattn_input_kind kind)
{
    return kind == SATTN_INPUT_ATTENTION || kind == SATTN_INPUT_MASKED90 ||
           kind == SATTN_INPUT_BIAS1E30;
}

static void fill_key(const input_head *h, int64_t j, float *k)
{
    const double root = sqrt((double)h->shape->d);
    const float local = size_for(h, 6);
    const float first = j == 0 ? size_for(h, 8) : 0.0f;
    const bool attends = is_attention(h->kind);
    const int64_t block = j / SATTN_KEY_BLOCK;
    const float rise = (float)(20.0 / root) * (float)block;
    for (int64_t x = 0; x < h->shape->d; ++x) {
        const uint64_t counter = counter_of(keys_before(h, j), h->shape->d, x);
        const float normal = sattn_random_normal(h->seed, STREAM_K, counter);
        k[x] = normal;
        if (attends)
            k[x] = normal + local * place(h, j, x) + first * direction(h, x);
        else if (h->kind == SATTN_INPUT_RISING)
            k[x] = rise * direction(h, x) + 0.25f * normal;
        else if (h->kind == SATTN_INPUT_EQUAL)
            k[x] = sattn_random_normal(h->seed, STREAM_K, counter_of(h->kv, h->shape->d, x));
        else if (h->kind == SATTN_INPUT_ONE_HOT)
            k[x] = sign_of(h, STREAM_K, counter);
        else if (h->kind == SATTN_INPUT_TINY)
            k[x] = 0x1p-63f * normal;
    }
}

static void fill_query(const input_head *h, uint64_t rows_before, int64_t i, float *q)
{
    const sattn_input_shape *const s = h->shape;
    const int64_t token = s->n_k > s->n_q ? i + s->n_k - s->n_q : i;
    const float local = size_for(h, 6);
    const float first = size_for(h, 8);
    const float peak = (float)(60.0 / sqrt((double)s->d));
    const bool attends = is_attention(h->kind);
    const uint64_t any = sattn_random_bits(h->seed, STREAM_TARGET, rows_before);
    const int64_t target = s->n_k > 0 ? (int64_t)(any % (uint64_t)s->n_k) : 0;
    for (int64_t x = 0; x < s->d; ++x) {
        const float normal =
            sattn_random_normal(h->seed, STREAM_Q, counter_of(rows_before, s->d, x));
        q[x] = normal;
        if (attends)
            q[x] = 2.0f * normal + local * place(h, token, x) + first * direction(h, x);
        else if (h->kind == SATTN_INPUT_LARGE8)
            q[x] = 8.0f * normal;
        else if (h->kind == SATTN_INPUT_LARGE30)
            q[x] = 30.0f * normal;
        else if (h->kind == SATTN_INPUT_RISING)
            q[x] = direction(h, x);
        else if (h->kind == SATTN_INPUT_ONE_HOT)
            q[x] = peak * sign_of(h, STREAM_K, counter_of(keys_before(h, target), s->d, x));
        else if (h->kind == SATTN_INPUT_TINY)
            q[x] = 0x1p-64f * normal;
    }
}

static void fill_value(const input_head *h, int64_t j, float *v)
{
    for (int64_t y = 0; y < h->shape->d_v; ++y) {
        const uint64_t counter = counter_of(keys_before(h, j), h->shape->d_v, y);
        v[y] = sattn_random_normal(h->seed, STREAM_V, counter);
        if (h->kind == SATTN_INPUT_EQUAL)
            v[y] = 1.0f;
        else if (h->kind == SATTN_INPUT_DENORMAL)
            v[y] *= 0x1p-127f;
    }
}

void sattn_input_fill(sattn_input_kind kind, uint64_t seed, const sattn_input_shape *shape,
                      float *q, float *k, float *v)
{
    const int64_t group = shape->n_kv_heads > 0 ? shape->n_q_heads / shape->n_kv_heads : 0;
    for (int64_t kv = 0; kv < shape->batch * shape->n_kv_heads; ++kv) {
        const input_head head = {kind, seed, shape, (uint64_t)kv};
        for (int64_t j = 0; j < shape->n_k; ++j) {
            const int64_t row = kv * shape->n_k + j;
            fill_key(&head, j, k + row * shape->d);
            fill_value(&head, j, v + row * shape->d_v);
        }
        for (int64_t r = 0; r < group * shape->n_q; ++r) {
            const int64_t row = kv * group * shape->n_q + r;
            fill_query(&head, (uint64_t)row, r % shape->n_q, q + row * shape->d);
        }
    }
}

sattn_mask_kind sattn_input_mask_kind(sattn_input_kind kind)
{
    if (kind == SATTN_INPUT_MASKED || kind == SATTN_INPUT_MASKED90)
        return SATTN_MASK_BOOL;
    return kind == SATTN_INPUT_BIAS1E30 ? SATTN_MASK_ADDITIVE : SATTN_MASK_NONE;
}

void sattn_input_fill_mask(sattn_input_kind kind, uint64_t seed, const sattn_input_shape *shape,
                           void *mask)
{
    const double hidden = kind == SATTN_INPUT_MASKED     ? 1.0 / 3.0
                          : kind == SATTN_INPUT_MASKED90 ? 0.9
                                                         : 0.5;
    uint64_t at = 0;
    for (int64_t i = 0; i < shape->n_q; ++i) {
        const bool is_blind = kind == SATTN_INPUT_MASKED &&
                              sattn_random_uniform(seed, STREAM_BLIND, (uint64_t)i) < 1.0 / 8.0;
        for (int64_t j = 0; j < shape->n_k; ++j, ++at) {
            const bool is_hit = is_blind || sattn_random_uniform(seed, STREAM_MASK, at) < hidden;
            if (kind == SATTN_INPUT_BIAS1E30) /* key 0 goes free: some key of a row has to */
                ((float *)mask)[at] = is_hit && j > 0 ? -1e30f : 0.0f;
            else
                ((uint8_t *)mask)[at] = !is_hit;
        }
    }
}
