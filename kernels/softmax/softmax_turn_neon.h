/* SPDX-License-Identifier: MIT
 *
 * softmax_turn_neon.h: steps of three whole rows in one loop, in NEON.
 *
 * A row ends in a vector that overlaps the one before, as in softmax_rows_neon.h; it is loaded
 * before that one is stored. */
#ifndef SATTN_KERNELS_SOFTMAX_TURN_NEON_H
#define SATTN_KERNELS_SOFTMAX_TURN_NEON_H

#include "kernels/softmax/softmax_rows_neon.h"
#include "kernels/vec/fetch.h"

enum { TURN_VECS = 2 }; /* of each row in a pass; the exponentials of more need more registers */

/* The vectors of a turn that outlive a pass of its loop. */
typedef struct turn_sums {
    float32x4_t top[2];    /* maxima of the next row */
    float32x4_t sum, part; /* weights of all key blocks, and of one */
} turn_sums;

/* The steps of `count` vectors, at most TURN_VECS, from column j on. */
SATTN_INLINE void turn_vectors(const softmax_turn *t, turn_sums *sums, int64_t j, float32x4_t base,
                               float32x4_t factor, const bool has_next, const bool has_own,
                               const bool has_done, const int count)
{
    float32x4_t p[TURN_VECS];
    if (has_own) {
        vec_fetch(t->p + j, SOFTMAX_AHEAD);
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u)
            p[u] = vec_exp_f32x4(vsubq_f32(vld1q_f32(t->s + j + u * LANES), base));
    }
    if (has_next) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u)
            sums->top[u & 1] = raise(sums->top[u & 1], vld1q_f32(t->next + j + u * LANES));
    }
    if (has_done) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u) {
            float *const at = t->done + j + u * LANES;
            vst1q_f32(at, vmulq_f32(vld1q_f32(at), factor));
        }
    }
    if (has_own) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u) {
            vst1q_f32(t->p + j + u * LANES, p[u]);
            sums->part = vaddq_f32(sums->part, p[u]);
        }
    }
}

SATTN_INLINE void next_block(turn_sums *sums)
{
    sums->sum = vaddq_f32(sums->sum, sums->part);
    sums->part = vdupq_n_f32(0.0f);
}

SATTN_INLINE void turn_of(softmax_turn *of, const bool has_next, const bool has_own,
                          const bool has_done)
{
    const softmax_turn t = *of; /* of its own, to stay in registers */
    const int64_t whole = t.n & -(int64_t)LANES;
    const int64_t last = t.n - LANES;
    const float32x4_t base = vdupq_n_f32(t.base);
    const float32x4_t factor = vdupq_n_f32(t.factor);
    float32x4_t own_tail = vdupq_n_f32(0.0f);
    float32x4_t done_tail = vdupq_n_f32(0.0f);
    turn_sums sums = {.sum = vdupq_n_f32(0.0f), .part = vdupq_n_f32(0.0f)};
    SATTN_UNROLL(2)
    for (int u = 0; u < 2; ++u)
        sums.top[u] = vdupq_n_f32(-INFINITY);
    if (has_next)
        sums.top[0] = raise(sums.top[0], vld1q_f32(t.next + last));
    if (has_own)
        own_tail = vsubq_f32(vld1q_f32(t.s + last), base);
    if (has_done)
        done_tail = vmulq_f32(vld1q_f32(t.done + last), factor);
    for (int64_t j = 0; j < whole;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < whole ? j + SATTN_KEY_BLOCK : whole;
        next_block(&sums);
        SATTN_NO_UNROLL
        for (; j + TURN_VECS * LANES <= stop; j += TURN_VECS * LANES)
            turn_vectors(&t, &sums, j, base, factor, has_next, has_own, has_done, TURN_VECS);
        SATTN_NO_UNROLL
        for (; j < stop; j += LANES)
            turn_vectors(&t, &sums, j, base, factor, has_next, has_own, has_done, 1);
    }
    if (has_next)
        of->max = vmaxvq_f32(vmaxq_f32(sums.top[0], sums.top[1]));
    if (has_done && whole < t.n)
        vst1q_f32(t.done + last, done_tail);
    if (has_own && whole < t.n) {
        const float32x4_t p = vec_exp_f32x4(own_tail);
        vst1q_f32(t.p + last, p);
        if (whole % SATTN_KEY_BLOCK == 0)
            next_block(&sums);
        sums.part = vaddq_f32(sums.part, turned_back(p, whole - last));
    }
    if (has_own)
        of->sum = vaddvq_f32(vaddq_f32(sums.sum, sums.part));
}

#include "kernels/softmax/softmax_turn.h"

#endif
