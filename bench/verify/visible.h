/* SPDX-License-Identifier: MIT
 *
 * visible.h: which keys a row can see, once more and apart from the kernels' own answer: what one
 * of them gets wrong must not be wrong in the other in the same way. */
#ifndef SATTN_BENCH_VERIFY_VISIBLE_H
#define SATTN_BENCH_VERIFY_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

/* a + b, or the nearest that int64_t holds. */
static inline int64_t sattn_verify_add(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

typedef struct sattn_verify_limits {
    int64_t n_k;
    bool causal, has_window;
    int64_t offset, window_left, window_right; /* -1: unbounded on that side */
} sattn_verify_limits;

/* Keys [begin, end) that length, causal limit and window leave to query row i; end >= begin. */
typedef struct sattn_verify_keys {
    int64_t begin, end;
} sattn_verify_keys;

static inline sattn_verify_keys sattn_verify_visible(const sattn_verify_limits *limits, int64_t i)
{
    const int64_t self = sattn_verify_add(i, limits->offset);
    int64_t begin = 0;
    int64_t end = limits->n_k;
    if (limits->causal && self < end)
        end = sattn_verify_add(self, 1);
    if (limits->has_window && limits->window_right >= 0 &&
        sattn_verify_add(self, limits->window_right) < end)
        end = sattn_verify_add(sattn_verify_add(self, limits->window_right), 1);
    if (limits->has_window && limits->window_left >= 0) {
        /* Not from self: where that is held, the difference would be too small. */
        const int64_t shift = sattn_verify_add(limits->offset, -limits->window_left);
        if (sattn_verify_add(shift, i) > begin)
            begin = sattn_verify_add(shift, i);
    }
    return (sattn_verify_keys){begin, end > begin ? end : begin};
}

#endif
