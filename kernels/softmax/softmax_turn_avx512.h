/* SPDX-License-Identifier: MIT
 *
 * softmax_turn_avx512.h: steps of three whole rows in one loop, in AVX-512.
 *
 * A row ends in a vector that overlaps the one before, as in softmax_rows_avx512.h; it is loaded
 * before that one is stored. */
#ifndef SATTN_KERNELS_SOFTMAX_TURN_AVX512_H
#define SATTN_KERNELS_SOFTMAX_TURN_AVX512_H

#include "kernels/softmax/softmax_rows_avx512.h"
#include "kernels/vec/fetch.h"

/* The vectors of a turn that outlive a pass of its loop. */
typedef struct turn_sums {
    __m512 top[2];    /* maxima of the next row */
    __m512 sum, part; /* weights of all key blocks, and of one */
} turn_sums;

/* The steps of `count` vectors, at most VEC_EACH, from column j on. */
SATTN_INLINE void turn_vectors(const softmax_turn *t, turn_sums *sums, int64_t j, __m512 base,
                               __m512 factor, const bool has_next, const bool has_own,
                               const bool has_done, const int count)
{
    __m512 p[VEC_EACH];
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            vec_fetch(t->p + j + u * LANES, SOFTMAX_AHEAD);
            p[u] = _mm512_sub_ps(_mm512_loadu_ps(t->s + j + u * LANES), base);
        }
        vec_exp_each_f32x16(p, count);
    }
    if (has_next) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            sums->top[u & 1] = raise(sums->top[u & 1], _mm512_loadu_ps(t->next + j + u * LANES));
    }
    if (has_done) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            float *const at = t->done + j + u * LANES;
            _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), factor));
        }
    }
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            _mm512_storeu_ps(t->p + j + u * LANES, p[u]);
            sums->part = _mm512_add_ps(sums->part, p[u]);
        }
    }
}

SATTN_INLINE void next_block(turn_sums *sums)
{
    sums->sum = _mm512_add_ps(sums->sum, sums->part);
    sums->part = _mm512_setzero_ps();
}

SATTN_INLINE void turn_of(softmax_turn *of, const bool has_next, const bool has_own,
                          const bool has_done)
{
    const softmax_turn t = *of; /* of its own, to stay in registers */
    const int64_t whole = t.n & -(int64_t)LANES;
    const int64_t last = t.n - LANES;
    const __m512 base = _mm512_set1_ps(t.base);
    const __m512 factor = _mm512_set1_ps(t.factor);
    __m512 own_tail = _mm512_setzero_ps();
    __m512 done_tail = _mm512_setzero_ps();
    turn_sums sums = {.sum = _mm512_setzero_ps(), .part = _mm512_setzero_ps()};
    SATTN_UNROLL(2)
    for (int u = 0; u < 2; ++u)
        sums.top[u] = _mm512_set1_ps(-INFINITY);
    if (has_next)
        sums.top[0] = raise(sums.top[0], _mm512_loadu_ps(t.next + last));
    if (has_own)
        own_tail = _mm512_sub_ps(_mm512_loadu_ps(t.s + last), base);
    if (has_done)
        done_tail = _mm512_mul_ps(_mm512_loadu_ps(t.done + last), factor);
    for (int64_t j = 0; j < whole;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < whole ? j + SATTN_KEY_BLOCK : whole;
        next_block(&sums);
        SATTN_NO_UNROLL
        for (; j + VEC_EACH * LANES <= stop; j += VEC_EACH * LANES)
            turn_vectors(&t, &sums, j, base, factor, has_next, has_own, has_done, VEC_EACH);
        SATTN_NO_UNROLL
        for (; j < stop; j += LANES)
            turn_vectors(&t, &sums, j, base, factor, has_next, has_own, has_done, 1);
    }
    if (has_next)
        of->max = vec_hmax_f32x16(_mm512_max_ps(sums.top[0], sums.top[1]));
    if (has_done && whole < t.n)
        _mm512_storeu_ps(t.done + last, done_tail);
    if (has_own && whole < t.n) {
        const __m512 p = vec_exp_f32x16(own_tail);
        _mm512_storeu_ps(t.p + last, p);
        if (whole % SATTN_KEY_BLOCK == 0)
            next_block(&sums);
        sums.part = _mm512_add_ps(sums.part, turned_back(p, whole - last, t.n - whole));
    }
    if (has_own)
        of->sum = vec_hsum_f32x16(_mm512_add_ps(sums.sum, sums.part));
}

#include "kernels/softmax/softmax_turn.h"

#endif
