/* SPDX-License-Identifier: MIT
 *
 * fused_plain.h: fused attention in plain C, the honest baseline of every hand-written kernel.
 *
 * One body, compiled twice: with vectorization off it is the strict scalar kernel, with the flags
 * of an ISA and OpenMP's simd pragmas it is what a compiler makes of a good plain program
 * (`autovec`). So it does what such a program would: a strip of query rows shares each block of K
 * and V while it is in cache, four keys share each read of q and of the output row, and exp is a
 * polynomial without branches, so that its loop vectorises.
 *
 *   for each strip of up to PLAIN_ROWS rows
 *       q = scale * q
 *       for each block of up to SATTN_KEY_BLOCK keys, for each row
 *           s = q . k for the keys that causal limit and window leave the row
 *           softcap; ALiBi
 *           hide what the mask hides, add its bias
 *           raise the reference value m where the block exceeds it by the lazy threshold
 *           p = exp(s - m); their sum, from zero, is added to the row's once
 *           o += p V, from zero, added once
 *       o = o / sum
 *
 * Online softmax: Milakov & Gimelshein 2018, algorithm 3; by blocks: FlashAttention-2, algorithm 1.
 *
 * Rows differ in where their keys begin and end, never in what is done to a key, so neighbours do
 * not change a row's bits. */
#ifndef SATTN_KERNELS_FUSED_PLAIN_H
#define SATTN_KERNELS_FUSED_PLAIN_H

#include "kernels/fused/fused_strip.h"
#include "kernels/vec/score_plain.h"
#include "kernels/vec/softcap_plain.h"
#include "kernels/vec/vec_plain.h"

#include <math.h>

enum {
    PLAIN_ROWS = SATTN_TILE_QUERIES_MAX / 2, /* leaves scratch for the block's output row */
    PLAIN_LANES = 16                         /* divides SATTN_KEY_BLOCK */
};

typedef struct plain_state {
    float *q;                  /* [PLAIN_ROWS][d], scaled   */
    float *o;                  /* [PLAIN_ROWS][d_v]         */
    float *part;               /* [d_v] o of one block      */
    float *s;                  /* [SATTN_KEY_BLOCK] scores, then weights, of one row */
    float row_max[PLAIN_ROWS]; /* reference value m, -inf until a key was seen */
    float row_sum[PLAIN_ROWS];
} plain_state;

/* ALiBi of row r and the n keys from `first` on. */
SATTN_INLINE void plain_alibi(float *s, const fused_strip *strip, int r, int64_t first, int n)
{
    const float slope = strip->slope[r];
    const int64_t query = strip->position[r];
    if (sattn_alibi_is_near(query, first)) {
        const int position = (int)(query - first);
        PLAIN_SIMD()
        for (int j = 0; j < n; ++j)
            s[j] = plain_add_slope(s[j], slope, fabsf((float)(position - j)));
    } else {
        for (int j = 0; j < n; ++j)
            s[j] = plain_add_slope(s[j], slope, sattn_alibi_distance(query, first + j));
    }
}

/* Hides n keys by a boolean mask; true if it lets one through. */
SATTN_INLINE bool plain_hide(float *s, const uint8_t *mask, int64_t mask_stride, int n)
{
    if (mask_stride == 0 && *mask != 0)
        return true;
    uint32_t any = 0;
    if (mask_stride == 0) {
        for (int j = 0; j < n; ++j)
            s[j] = -INFINITY;
    } else {
        PLAIN_SIMD(reduction(| : any))
        for (int j = 0; j < n; ++j) {
            s[j] = mask[j] != 0 ? s[j] : -INFINITY;
            any |= mask[j];
        }
    }
    return any != 0;
}

/* Adds a bias to n scores, -inf where it hides, whatever the score is; true if a key is visible. */
SATTN_INLINE bool plain_bias(float *s, const float *bias, int64_t bias_stride, int n)
{
    uint32_t any = 0;
    if (bias_stride == 0) {
        const float one = *bias;
        any = one != -INFINITY ? 1u : 0u;
        for (int j = 0; j < n; ++j)
            s[j] = any ? s[j] + one : -INFINITY;
    } else {
        PLAIN_SIMD(reduction(| : any))
        for (int j = 0; j < n; ++j) {
            const float kept = bias[j] != -INFINITY ? s[j] : -INFINITY;
            s[j] = kept + bias[j];
            any |= bias[j] != -INFINITY ? 1u : 0u;
        }
    }
    return any != 0;
}

/* The largest of n scores, a multiple of PLAIN_LANES; NaN is passed over. By lanes, since a maximum
 * over one variable is no reduction to a compiler that honours NaN. */
SATTN_INLINE float plain_max(const float *s, int n)
{
    float top[PLAIN_LANES];
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        top[lane] = -INFINITY;
    for (int j = 0; j < n; j += PLAIN_LANES) {
        PLAIN_SIMD()
        for (int lane = 0; lane < PLAIN_LANES; ++lane)
            top[lane] = s[j + lane] > top[lane] ? s[j + lane] : top[lane];
    }
    float max = -INFINITY;
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        max = top[lane] > max ? top[lane] : max;
    return max;
}

/* s = exp(s - m) for n scores, a multiple of PLAIN_LANES; returns their sum. Lanes are added by
 * halves, so that it does not matter in which of them the keys begin (fused_decode.h). */
SATTN_INLINE float plain_exp_sum(float *s, float m, int n)
{
    float part[PLAIN_LANES];
    for (int lane = 0; lane < PLAIN_LANES; ++lane)
        part[lane] = 0.0f;
    for (int j = 0; j < n; j += PLAIN_LANES) {
        PLAIN_SIMD()
        for (int lane = 0; lane < PLAIN_LANES; ++lane) {
            s[j + lane] = plain_fused_exp(s[j + lane] - m);
            part[lane] += s[j + lane];
        }
    }
    for (int half = PLAIN_LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane)
            part[lane] += part[lane + half];
    return part[0];
}

/* Turns n scores into weights, raising row r's reference value where it is due. */
SATTN_INLINE void plain_weigh(plain_state *st, int r, int n, int64_t d_v)
{
    float *const s = st->s;
    for (; n % PLAIN_LANES != 0; ++n)
        s[n] = -INFINITY;
    const float block_max = plain_max(s, n);
    const float old_max = st->row_max[r];
    if (block_max - old_max > SATTN_LAZY_THRESHOLD) { /* a sum may round up */
        const float factor = plain_exp(old_max - block_max);
        float *const o = st->o + r * d_v;
        PLAIN_SIMD()
        for (int64_t y = 0; y < d_v; ++y)
            o[y] *= factor;
        st->row_sum[r] *= factor;
        st->row_max[r] = block_max;
    }
    /* Before any score above -inf, -inf - m must be -inf, not NaN. */
    const float m = st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];
    st->row_sum[r] += plain_exp_sum(s, m, n);
}

/* o += p V over n keys */
SATTN_INLINE void plain_accumulate(float *o, float *part, const float *p, const float *v,
                                   int64_t v_stride, int n, int64_t d_v)
{
    for (int64_t y = 0; y < d_v; ++y)
        part[y] = 0.0f;
    int j = 0;
    for (; j + 4 <= n; j += 4, v += 4 * v_stride) {
        const float *const v1 = v + v_stride;
        const float *const v2 = v1 + v_stride;
        const float *const v3 = v2 + v_stride;
        const float p0 = p[j], p1 = p[j + 1], p2 = p[j + 2], p3 = p[j + 3];
        PLAIN_SIMD()
        for (int64_t y = 0; y < d_v; ++y) {
            float sum = plain_multiply_add(p0, v[y], part[y]);
            sum = plain_multiply_add(p1, v1[y], sum);
            sum = plain_multiply_add(p2, v2[y], sum);
            part[y] = plain_multiply_add(p3, v3[y], sum);
        }
    }
    for (; j < n; ++j, v += v_stride) {
        const float weight = p[j];
        PLAIN_SIMD()
        for (int64_t y = 0; y < d_v; ++y)
            part[y] = plain_multiply_add(weight, v[y], part[y]);
    }
    PLAIN_SIMD()
    for (int64_t y = 0; y < d_v; ++y)
        o[y] += part[y];
}

/* Keys [first, first + n) for row r; causal limit and window hide none of them. */
SATTN_INLINE void plain_block(const sattn_fused_args *a, plain_state *st, const fused_strip *strip,
                              int r, int64_t first, int n)
{
    const int64_t at = first * a->visible.mask_key_stride;
    float *const s = st->s;
    plain_scores(s, st->q + r * a->d, a->k + first * a->k_stride, a->k_stride, n, a->d);
    if (a->softcap != 0.0f)
        plain_softcap(s, n, a->softcap);
    if (a->visible.alibi_slopes)
        plain_alibi(s, strip, r, first, n);
    bool visible = true;
    if (a->visible.mask_bool)
        visible = plain_hide(s, strip->mask_bool[r] + at, a->visible.mask_key_stride, n);
    else if (a->visible.mask_add)
        visible = plain_bias(s, strip->mask_add[r] + at, a->visible.mask_key_stride, n);
    if (!visible)
        return;
    plain_weigh(st, r, n, a->d_v);
    plain_accumulate(st->o + r * a->d_v, st->part, s, a->v + first * a->v_stride, a->v_stride, n,
                     a->d_v);
}

SATTN_INLINE void plain_store(const sattn_fused_args *a, const plain_state *st,
                              const fused_strip *strip, int r)
{
    const float *const o = st->o + r * a->d_v;
    float *const to = strip->o[r];
    const bool seen = fused_row_sees(a, strip, r, st->row_sum[r]);
    const float factor = fused_row_finish(a, strip, r, st->row_max[r], st->row_sum[r], seen);
    if (!seen) {
        for (int64_t y = 0; y < a->d_v; ++y)
            to[y] = 0.0f;
        return;
    }
    PLAIN_SIMD()
    for (int64_t y = 0; y < a->d_v; ++y)
        to[y] = o[y] * factor;
}

SATTN_INLINE void plain_strip(const sattn_fused_args *a, plain_state *st, const fused_strip *strip)
{
    for (int r = 0; r < strip->n_rows; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
        for (int64_t y = 0; y < a->d_v; ++y)
            st->o[r * a->d_v + y] = 0.0f;
        PLAIN_SIMD()
        for (int64_t x = 0; x < a->d; ++x)
            st->q[r * a->d + x] = a->scale * strip->q[r][x];
    }
    for (int64_t first = strip->key_begin_min; first < strip->key_end_max;) {
        const int64_t next = (first / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        for (int r = 0; r < strip->n_rows; ++r) {
            const sattn_key_range keys = fused_row_keys(strip, r);
            const int64_t begin = keys.begin > first ? keys.begin : first;
            const int64_t end = keys.end < next ? keys.end : next;
            if (begin < end)
                plain_block(a, st, strip, r, begin, (int)(end - begin));
        }
        first = next;
    }
    for (int r = 0; r < strip->n_rows; ++r)
        plain_store(a, st, strip, r);
}

SATTN_INLINE void fused_plain(const sattn_fused_args *a)
{
    float *const scratch = a->scratch;
    plain_state st;
    st.s = scratch;
    st.q = st.s + SATTN_KEY_BLOCK;
    st.o = st.q + PLAIN_ROWS * a->d;
    st.part = st.o + PLAIN_ROWS * a->d_v;
    fused_strip strip;
    const int64_t n_rows = fused_row_count(a);
    for (int64_t first = 0; first < n_rows; first += PLAIN_ROWS) {
        fused_strip_fill(&strip, a, first, PLAIN_ROWS);
        plain_strip(a, &st, &strip);
    }
}

#endif
