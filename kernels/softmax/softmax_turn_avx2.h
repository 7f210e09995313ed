/* SPDX-License-Identifier: MIT
 *
 * softmax_turn_avx2.h: steps of three whole rows in one loop, in AVX2.
 *
 * A row ends in a vector that overlaps the one before, as in softmax_rows_avx2.h; it is loaded
 * before that one is stored. */
#ifndef SATTN_KERNELS_SOFTMAX_TURN_AVX2_H
#define SATTN_KERNELS_SOFTMAX_TURN_AVX2_H

#include "kernels/softmax/softmax_rows_avx2.h"
#include "kernels/vec/fetch.h"

enum { TURN_VECS = 3 }; /* per pass of the loop */

/* The vectors of a turn that outlive a pass of its loop. */
typedef struct turn_sums {
    __m256 top;       /* maxima of the next row */
    __m256 sum, part; /* weights of all key blocks, and of one */
} turn_sums;

/* The steps of `count` vectors, at most TURN_VECS, from column j on. Base and factor come from `of`
 * anew, since there are not registers for them too. */
SATTN_INLINE void turn_vectors(const softmax_turn *t, const softmax_turn *of, turn_sums *sums,
                               int64_t j, const bool has_next, const bool has_own,
                               const bool has_done, const int count)
{
    __m256 p[TURN_VECS];
    SATTN_KEEP_ORDER();
    if (has_own) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; u += 2) /* two to a line */
            vec_fetch(t->p + j + u * LANES, SOFTMAX_AHEAD);
        const __m256 base = _mm256_set1_ps(of->base);
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            p[u] = _mm256_sub_ps(_mm256_loadu_ps(t->s + j + u * LANES), base);
        vec_exp_each_f32x8(p, count);
    }
    if (has_next) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            sums->top = raise(sums->top, _mm256_loadu_ps(t->next + j + u * LANES));
    }
    if (has_done) {
        const __m256 factor = _mm256_set1_ps(of->factor);
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            float *const at = t->done + j + u * LANES;
            _mm256_storeu_ps(at, _mm256_mul_ps(_mm256_loadu_ps(at), factor));
        }
    }
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            _mm256_storeu_ps(t->p + j + u * LANES, p[u]);
            sums->part = _mm256_add_ps(sums->part, p[u]);
        }
    }
}

SATTN_INLINE void next_block(turn_sums *sums)
{
    sums->sum = _mm256_add_ps(sums->sum, sums->part);
    sums->part = _mm256_setzero_ps();
}

SATTN_INLINE void turn_of(softmax_turn *of, const bool has_next, const bool has_own,
                          const bool has_done)
{
    const softmax_turn t = *of; /* of its own, to stay in registers */
    const int64_t whole = t.n & -(int64_t)LANES;
    const int64_t last = t.n - LANES;
    __m256 own_tail = _mm256_setzero_ps();
    __m256 done_tail = _mm256_setzero_ps();
    turn_sums sums = {
        .top = _mm256_set1_ps(-INFINITY), .sum = _mm256_setzero_ps(), .part = _mm256_setzero_ps()};
    if (has_next)
        sums.top = raise(sums.top, _mm256_loadu_ps(t.next + last));
    if (has_own)
        own_tail = _mm256_sub_ps(_mm256_loadu_ps(t.s + last), _mm256_set1_ps(t.base));
    if (has_done)
        done_tail = _mm256_mul_ps(_mm256_loadu_ps(t.done + last), _mm256_set1_ps(t.factor));
    for (int64_t j = 0; j < whole;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < whole ? j + SATTN_KEY_BLOCK : whole;
        next_block(&sums);
        SATTN_NO_UNROLL
        for (; j + TURN_VECS * LANES <= stop; j += TURN_VECS * LANES)
            turn_vectors(&t, of, &sums, j, has_next, has_own, has_done, TURN_VECS);
        SATTN_NO_UNROLL
        for (; j < stop; j += LANES)
            turn_vectors(&t, of, &sums, j, has_next, has_own, has_done, 1);
    }
    if (has_next)
        of->max = vec_hmax_f32x8(sums.top);
    if (has_done && whole < t.n)
        _mm256_storeu_ps(t.done + last, done_tail);
    if (has_own && whole < t.n) {
        const __m256 p = vec_exp_f32x8(own_tail);
        _mm256_storeu_ps(t.p + last, p);
        if (whole % SATTN_KEY_BLOCK == 0)
            next_block(&sums);
        sums.part = _mm256_add_ps(sums.part, turned_back(p, whole - last, t.n - whole));
    }
    if (has_own)
        of->sum = vec_hsum_f32x8(_mm256_add_ps(sums.sum, sums.part));
}

#include "kernels/softmax/softmax_turn.h"

#endif
