/* SPDX-License-Identifier: MIT
 *
 * fuzz_bytes.h: numbers from the bytes of a fuzzer's input. Past its end every byte is 0, so a
 * short input is a plain call. */
#ifndef SATTN_TESTS_FUZZ_BYTES_H
#define SATTN_TESTS_FUZZ_BYTES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

static inline uint8_t fuzz_byte(fuzz_bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    --bytes->left;
    return *bytes->at++;
}

/* One of n choices. */
static inline int fuzz_choice(fuzz_bytes *bytes, int n)
{
    return fuzz_byte(bytes) % n;
}

/* A number that arithmetic on extents and strides may stumble over, or any number at all. */
static inline int64_t fuzz_odd_number(fuzz_bytes *bytes)
{
    static const int64_t edges[] = {
        -1,
        -2,
        INT64_MIN,
        INT64_MAX,
        INT64_MAX - 1,
        INT64_MIN + 1,
        (int64_t)1 << 31,
        ((int64_t)1 << 31) - 1,
        (int64_t)1 << 32,
        (int64_t)1 << 40,
        ((int64_t)1 << 40) + 1,
        (int64_t)1 << 61,
        (int64_t)1 << 62,
        127,
        128,
        129,
        1000,
    };
    enum { EDGES = sizeof edges / sizeof edges[0] };
    const uint8_t pick = fuzz_byte(bytes);
    uint64_t any = 0;
    if (pick < 8 * EDGES)
        return edges[pick % EDGES];
    for (int i = 0; i < 8; ++i)
        any = any << 8 | fuzz_byte(bytes);
    return (int64_t)any;
}

/* 0 .. most, rarely something else. */
static inline int64_t fuzz_extent(fuzz_bytes *bytes, int64_t most)
{
    const uint8_t pick = fuzz_byte(bytes);
    return pick < 250 ? pick % (most + 1) : fuzz_odd_number(bytes);
}

/* Mostly numbers of the size of real scores; the specials, and no numbers whose sums overflow. */
static inline float fuzz_float(fuzz_bytes *bytes)
{
    static const float specials[] = {NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f,
                                     1e-40f, -1e30f,   1e4f,      -88.0f, 0x1p-126f};
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    const uint8_t pick = fuzz_byte(bytes);
    if (pick < 246)
        return (float)(pick - 123) / 32.0f;
    return specials[pick - 246];
}

#endif
