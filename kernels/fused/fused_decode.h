/* SPDX-License-Identifier: MIT
 *
 * fused_decode.h: fused attention for few query rows, "lanes over features", the same for all ISAs.
 *
 * With few rows, lanes over queries would stay empty. Here the lanes of a vector hold neighbouring
 * features of one row of K or V, which is how they lie in memory; nothing but Q is rearranged. Each
 * block of K and V comes from memory once and serves all rows of a strip.
 *
 *   for each strip of up to FUSED_DECODE_ROWS rows
 *       Q = scale * Q, the vectors of a group of rows side by side
 *       for each block of 64 or 128 keys
 *           S = Q K^T             one accumulator per (row, key), then a transposing reduction
 *           softcap; ALiBi
 *           add the mask, hide what causal limit and window hide
 *           for each row: raise the reference value m where the block exceeds it by the lazy
 *               threshold; P = exp(S - m), in place; its sum, from zero, is added to the row's once
 *           O += P V              each tile from zero, added once
 *       O = O / sum
 *
 * Method: online softmax, Milakov & Gimelshein 2018, eq. 6, by blocks as in FlashAttention-2,
 * algorithm 1. S is row-major, so masks and limits are plain loops over a row.
 *
 * A row's bits must depend neither on the rows beside it nor on hidden keys, before its first or
 * behind its last. Hence every (row, key) pair has an accumulator of its own that runs over the
 * features in order, every accumulator goes through the same tree of additions, and the order in
 * which the AV product takes the keys follows from d_v alone. An ISA's tiles may differ in shape,
 * not in this. A strip's first block begins at the first key that one of its rows sees; hidden keys
 * weigh +0 and do not change a sum, as in fused_prefill.h. But that key decides which lane or
 * accumulator takes which keys, where keys are dealt to 2, 4, 8 or 16 of them in turn. So these are
 * added by halves: i and i + n / 2, of the sums i and i + n / 4, and so on. To deal from another
 * one on turns them in a circle, and swaps operands at most. */
#ifndef SATTN_KERNELS_FUSED_DECODE_H
#define SATTN_KERNELS_FUSED_DECODE_H

#include "kernels/fused/fused_strip.h"
#include "kernels/vec/score_tile.h"

enum {
    FUSED_DECODE_KEYS = 128,     /* most keys of a block; a multiple of every ISA's key tile */
    FUSED_DECODE_ROWS = 32,      /* most rows of a strip */
    FUSED_DECODE_NEAR = 2 << 10, /* bytes to prefetch ahead where K and V may be in a cache ... */
    FUSED_DECODE_FAR = 8 << 10,  /* ... and where they come from memory */
};

typedef struct fused_decode_state {
    int64_t d, d_v;
    int64_t q_pitch; /* floats per row of q: d rounded up to whole vectors */
    int64_t o_pitch; /* floats per row of o */
    int n_rows;
    float *q; /* scale * q, zeros behind d. Group of n rows from row r on: q + r * q_pitch, laid out
               * [vectors of a row][n][lanes] */
    float *s; /* [n_rows][FUSED_DECODE_KEYS] scores, then weights */
    float *o; /* [n_rows][o_pitch] */
    float *sum;                       /* [2][o_pitch] AV product of a block, for one or two rows */
    float row_max[FUSED_DECODE_ROWS]; /* reference value m, -inf until a key was seen */
    float row_sum[FUSED_DECODE_ROWS];
    float block_max[FUSED_DECODE_ROWS]; /* maximum over the visible keys of the block */
} fused_decode_state;

typedef struct fused_decode_block {
    int64_t first;  /* absolute index of its first key */
    int n_keys;     /* at least 1 */
    const float *k; /* row of the first key */
    const float *v;
    int64_t k_stride, v_stride;
    int64_t k_ahead, v_ahead; /* bytes from a row to the one worth prefetching with it */
} fused_decode_block;

/* ALiBi of one row at one block. */
typedef struct fused_decode_alibi {
    float slope;    /* what distances are multiplied by */
    float position; /* of the query, counted from the block's first key */
} fused_decode_alibi;

typedef struct fused_decode_ops {
    int lanes;
    /* s[r][j] = q[r] . k[j] and block_max, as if every key were visible; a NaN does not enter
     * block_max. May write s up to the end of the last key tile. */
    void (*score)(fused_decode_state *st, const fused_decode_block *block);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
    /* s[j] += slope * |position - j| for j < n, fused */
    void (*slope)(float *s, int n, const fused_decode_alibi *alibi);
    /* block_max from s[r][0 .. n_keys); a NaN is passed over */
    void (*maximum)(fused_decode_state *st, int n_keys);
    /* s = exp(s - m), in place; adds the block's sum to row_sum, its lanes by halves */
    void (*weigh)(fused_decode_state *st, int n_keys);
    /* exp(t) of one number, with the same polynomial */
    float (*exp)(float t);
    /* o += s v */
    void (*accumulate)(const fused_decode_state *st, const fused_decode_block *block);
} fused_decode_ops;

/* rows[0 .. n_keys) of K from `first` on, of which n_left >= 1 exist; behind the last, that again.
 */
SATTN_INLINE void fused_decode_rows(const float *rows[SCORE_KEYS], const float *first,
                                    int64_t stride, int n_left, const int n_keys)
{
    rows[0] = first;
    if (n_left >= n_keys) {
        SATTN_UNROLL(8)
        for (int i = 1; i < n_keys; ++i)
            rows[i] = rows[i - 1] + stride;
    } else {
        SATTN_UNROLL(8)
        for (int i = 1; i < n_keys; ++i)
            rows[i] = rows[i - 1] + (i < n_left ? stride : 0);
    }
}

static inline void fused_decode_pack(const fused_decode_state *st, const fused_strip *strip,
                                     int lanes, float scale)
{
    for (int first = 0, n = 0; first < st->n_rows; first += n) {
        n = score_group_rows(st->n_rows, first);
        for (int r = 0; r < n; ++r) {
            const float *const from = strip->q[first + r];
            float *to = st->q + first * st->q_pitch + (int64_t)r * lanes;
            int64_t x = 0;
            for (; x + lanes <= st->d; x += lanes, to += n * lanes)
                for (int lane = 0; lane < lanes; ++lane)
                    to[lane] = scale * from[x + lane];
            for (int lane = 0; x < st->d && lane < lanes; ++lane)
                to[lane] = x + lane < st->d ? scale * from[x + lane] : 0.0f;
        }
    }
}

static inline void fused_decode_mask_bool(float *s, const uint8_t *mask, int n)
{
    for (int j = 0; j < n; ++j)
        s[j] = mask[j] ? s[j] : -INFINITY;
}

static inline void fused_decode_mask_add(float *s, const float *mask, int n)
{
    for (int j = 0; j < n; ++j) {
        const float biased = s[j] + mask[j];
        s[j] = mask[j] != -INFINITY ? biased : -INFINITY;
    }
}

static inline void fused_decode_mask_constant(float *s, float bias, int n)
{
    for (int j = 0; j < n; ++j)
        s[j] = bias == -INFINITY ? -INFINITY : s[j] + bias;
}

/* Softcap and ALiBi, whether a key is visible or not. */
static inline void fused_decode_bend(const sattn_fused_args *a, const fused_decode_ops *ops,
                                     const fused_decode_state *st, const fused_strip *strip,
                                     const fused_decode_block *block)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        if (a->softcap != 0.0f)
            ops->cap(s, block->n_keys, a->softcap);
        if (a->visible.alibi_slopes && sattn_alibi_is_near(strip->position[r], block->first)) {
            const fused_decode_alibi alibi = {
                .slope = strip->slope[r], .position = (float)(strip->position[r] - block->first)};
            ops->slope(s, block->n_keys, &alibi);
        } else if (a->visible.alibi_slopes) {
            fused_add_far(strip, r, s, 1, block->first, block->n_keys);
        }
    }
}

/* Adds the mask row of row r to n scores from key j on, -inf where it hides, whatever s holds. */
static inline void fused_decode_mask(const sattn_fused_args *a, const fused_strip *strip, int r,
                                     float *s, int64_t j, int n)
{
    if (a->visible.mask_key_stride == 0)
        fused_decode_mask_constant(s, fused_strip_bias(strip, r, 0), n);
    else if (a->visible.mask_bool)
        fused_decode_mask_bool(s, strip->mask_bool[r] + j, n);
    else
        fused_decode_mask_add(s, strip->mask_add[r] + j, n);
}

/* -inf where mask, causal limit or window hide, whatever s holds there; the mask's bias elsewhere.
 */
static inline void fused_decode_hide(const sattn_fused_args *a, const fused_decode_state *st,
                                     const fused_strip *strip, const fused_decode_block *block)
{
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const int begin = fused_place(strip->key_begin[r], block->first, block->n_keys);
        const int end = fused_place(strip->key_end[r], block->first, block->n_keys);
        if (masked && begin < end)
            fused_decode_mask(a, strip, r, s + begin, block->first + begin, end - begin);
        for (int j = 0; j < begin; ++j)
            s[j] = -INFINITY;
        for (int j = end; j < block->n_keys; ++j)
            s[j] = -INFINITY;
    }
}

/* With nothing but -inf so far, any finite reference gives the weights 0 that are due. */
static inline float fused_decode_reference(const fused_decode_state *st, int r)
{
    return st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];
}

/* Moves the reference value to the block's maximum where it lags too far behind. */
static inline void fused_decode_raise(const fused_decode_ops *ops, fused_decode_state *st)
{
    for (int r = 0; r < st->n_rows; ++r) {
        if (!(st->block_max[r] - st->row_max[r] > SATTN_LAZY_THRESHOLD)) /* a sum may round up */
            continue;
        const float factor = ops->exp(st->row_max[r] - st->block_max[r]); /* 0 the first time */
        float *const o = st->o + r * st->o_pitch;
        st->row_max[r] = st->block_max[r];
        st->row_sum[r] *= factor;
        for (int64_t y = 0; y < st->o_pitch; ++y)
            o[y] = o[y] * factor + 0.0f; /* -0 becomes +0, which hidden keys leave alone */
    }
}

static inline void fused_decode_start(const sattn_fused_args *a, const fused_decode_ops *ops,
                                      fused_decode_state *st, const fused_strip *strip)
{
    st->n_rows = strip->n_rows;
    for (int r = 0; r < st->n_rows; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
    }
    for (int64_t at = 0; at < st->n_rows * st->o_pitch; ++at)
        st->o[at] = 0.0f;
    fused_decode_pack(st, strip, ops->lanes, a->scale);
}

static inline void fused_decode_store(const sattn_fused_args *a, const fused_decode_state *st,
                                      const fused_strip *strip)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const bool seen = fused_row_sees(a, strip, r, st->row_sum[r]);
        const float factor = fused_row_finish(a, strip, r, st->row_max[r], st->row_sum[r], seen);
        const float *const from = st->o + r * st->o_pitch;
        float *const to = strip->o[r];
        for (int64_t y = 0; y < a->d_v; ++y)
            to[y] = seen ? factor * from[y] : 0.0f;
    }
}

/* Keys of a block, a divisor of SATTN_KEY_BLOCK. Long blocks let K and V stream. Short ones are for
 * rows of which they, and not long ones, stay in the first cache for all groups of rows. It follows
 * from the widths alone, or a row's bits would depend on its neighbours. */
static inline int64_t fused_decode_block_keys(const sattn_fused_args *a)
{
    const int64_t width = a->d + a->d_v;
    return width > 192 && width <= 320 ? FUSED_DECODE_KEYS / 2 : FUSED_DECODE_KEYS;
}

/* Tiles of several query rows read K and V more slowly than memory brings them, and V by halves of
 * a row, an order that hardware prefetchers lose. So each line that is read prefetches the one that
 * lies a number of rows ahead; how far, in bytes. */
static inline int64_t fused_decode_ahead(const sattn_fused_args *a, int64_t n_keys, int64_t width,
                                         int64_t stride)
{
    const int64_t element = (int64_t)sizeof(float);
    const int64_t footprint = n_keys * (a->d + a->d_v) * element;
    int64_t bytes = footprint / 512; /* grows from near at 1 MB to far at 4 MB */
    bytes = bytes < FUSED_DECODE_NEAR ? FUSED_DECODE_NEAR : bytes;
    bytes = bytes > FUSED_DECODE_FAR ? FUSED_DECODE_FAR : bytes;
    const int64_t rows = (bytes + width * element - 1) / (width * element);
    return rows * stride * element;
}

static inline void fused_decode_keys(const sattn_fused_args *a, const fused_decode_ops *ops,
                                     fused_decode_state *st, const fused_strip *strip,
                                     const fused_decode_block *block)
{
    const bool bent = a->softcap != 0.0f || a->visible.alibi_slopes;
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    const bool cut =
        strip->key_begin_max > block->first || strip->key_end_min < block->first + block->n_keys;
    ops->score(st, block);
    if (bent)
        fused_decode_bend(a, ops, st, strip, block);
    if (masked || cut)
        fused_decode_hide(a, st, strip, block);
    if (bent || masked || cut)
        ops->maximum(st, block->n_keys);
    fused_decode_raise(ops, st);
    ops->weigh(st, block->n_keys);
    ops->accumulate(st, block);
}

static inline void fused_decode_strip(const sattn_fused_args *a, const fused_decode_ops *ops,
                                      fused_decode_state *st, const fused_strip *strip)
{
    const int64_t block_keys = fused_decode_block_keys(a);
    const int64_t begin = strip->key_begin_min;
    const int64_t end = strip->key_end_max;
    const int64_t k_ahead = fused_decode_ahead(a, end - begin, a->d, a->k_stride);
    const int64_t v_ahead = fused_decode_ahead(a, end - begin, a->d_v, a->v_stride);
    fused_decode_start(a, ops, st, strip);
    for (int64_t j = begin; j < end;) {
        const int64_t next = (j / block_keys + 1) * block_keys;
        const int64_t stop = next < end ? next : end;
        const fused_decode_block block = {.first = j,
                                          .n_keys = (int)(stop - j),
                                          .k = a->k + j * a->k_stride,
                                          .v = a->v + j * a->v_stride,
                                          .k_stride = a->k_stride,
                                          .v_stride = a->v_stride,
                                          .k_ahead = k_ahead,
                                          .v_ahead = v_ahead};
        fused_decode_keys(a, ops, st, strip, &block);
        j = stop;
    }
    fused_decode_store(a, st, strip);
}

static inline void fused_decode(const sattn_fused_args *a, const fused_decode_ops *ops)
{
    const int64_t n_rows = fused_row_count(a);
    fused_decode_state st = {.d = a->d, .d_v = a->d_v};
    st.q_pitch = (a->d + ops->lanes - 1) / ops->lanes * ops->lanes;
    st.o_pitch = (a->d_v + ops->lanes - 1) / ops->lanes * ops->lanes;
    st.q = a->scratch;
    st.s = st.q + FUSED_DECODE_ROWS * ((st.q_pitch + 15) / 16 * 16);
    st.o = st.s + FUSED_DECODE_ROWS * FUSED_DECODE_KEYS;
    st.sum = st.o + FUSED_DECODE_ROWS * st.o_pitch;
    fused_strip strip;
    for (int64_t first = 0; first < n_rows; first += FUSED_DECODE_ROWS) {
        const int64_t left = n_rows - first;
        fused_strip_fill(&strip, a, first,
                         left < FUSED_DECODE_ROWS ? (int)left : FUSED_DECODE_ROWS);
        fused_decode_strip(a, ops, &st, &strip);
    }
}

#endif
