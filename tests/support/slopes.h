/* SPDX-License-Identifier: MIT
 *
 * slopes.h: slopes of ALiBi for the heads of a group, and offsets from which distances are longer
 * than f32 has whole numbers for, or than int64_t has any. */
#ifndef SATTN_TESTS_SUPPORT_SLOPES_H
#define SATTN_TESTS_SUPPORT_SLOPES_H

#include <math.h>
#include <stdint.h>

typedef enum test_slopes {
    TEST_NO_SLOPES,
    TEST_SLOPES_ZERO,
    TEST_SLOPES_HALVING, /* 1, 2^-1, .. 2^-8, as the paper has them for 8 heads, and again */
    TEST_SLOPES_MIXED,   /* both signs, 0 among them, none a power of 2 */
    TEST_SLOPES_TINY,    /* down to denormals */
    TEST_SLOPES_STEEP,   /* only the nearest keys count */
    TEST_SLOPES_KINDS
} test_slopes;

static inline float test_slope(test_slopes kind, int64_t g)
{
    static const float mixed[] = {0.7f, -0.3f, 0.0f, 0.0707f, -1.0f / 3};
    static const float tiny[] = {1e-7f, -1e-20f, 1e-40f};
    switch (kind) {
    case TEST_SLOPES_HALVING:
        return ldexpf(1.0f, -(int)(g % 9));
    case TEST_SLOPES_MIXED:
        return mixed[g % 5];
    case TEST_SLOPES_TINY:
        return tiny[g % 3];
    case TEST_SLOPES_STEEP:
        return g % 2 ? 100.0f : 17.3f;
    case TEST_NO_SLOPES:
    case TEST_SLOPES_ZERO:
    case TEST_SLOPES_KINDS:
        break;
    }
    return 0.0f;
}

static const int64_t test_far_offsets[] = {((int64_t)1 << 24) + 1,
                                           -((int64_t)1 << 24) - 3,
                                           ((int64_t)1 << 25) + 5,
                                           INT32_MAX,
                                           INT32_MIN,
                                           (int64_t)INT32_MAX + 100,
                                           (int64_t)UINT32_MAX - 30,
                                           -((int64_t)1 << 32) - 1,
                                           ((int64_t)1 << 40) + 12345,
                                           -((int64_t)1 << 53) + 1,
                                           ((int64_t)1 << 62) + ((int64_t)1 << 38),
                                           INT64_MAX - 3,
                                           INT64_MAX,
                                           INT64_MIN + 7,
                                           INT64_MIN};
enum { TEST_FAR_OFFSETS = sizeof test_far_offsets / sizeof test_far_offsets[0] };

/* |i + offset - j| as the kernels' contract has it: exact, then the nearest float. The distance
 * fits uint64_t, of which unsigned differences are right whatever the signs. */
static inline float test_distance(int64_t i, int64_t offset, int64_t j)
{
    const int64_t key = j - i; /* offset - key is the distance, with its sign */
    const uint64_t distance = (uint64_t)offset - (uint64_t)key;
    return (float)(offset >= key ? distance : 0 - distance);
}

/* The score of a key that has `score` before ALiBi. */
static inline float test_add_alibi(float score, float slope, int64_t i, int64_t offset, int64_t j)
{
    return fmaf(-slope, test_distance(i, offset, j), score);
}

#endif
